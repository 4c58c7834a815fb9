//! What an agent did in Git: commits, pushes and pull requests.
//!
//! Some agents tell it. Otherwise, a command that has succeeded, and what it printed, say so. This only
//! approximates the shell: what was done without being printed is not found.

use serde::{Deserialize, Serialize};

use crate::text::excerpt;
use crate::wire::wire_names;

wire_names! {
    /// The kinds of operations.
    pub enum GitKind {
        /// A commit.
        Commit = "commit",
        /// A branch was pushed.
        Push = "push",
        /// A branch was merged.
        Merge = "merge",
        /// The branch was put on top of another one.
        Rebase = "rebase",
        /// A pull request.
        PullRequest = "pullRequest",
    }
}

/// One operation. What is not known is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitOperation {
    /// What it is.
    pub kind: GitKind,
    /// What became of the commit or the pull request, such as `amended` or `created`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The commit's id, most often its first digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The first line of the commit's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The number of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Maximum number of operations of a command.
const MOST_OPERATIONS: usize = 20;
/// Maximum number of characters of each text.
const LONGEST: usize = 200;
/// The parts of a command and of what it printed that are read, in bytes.
const READ: usize = 64 * 1024;

impl GitOperation {
    /// An operation of which nothing else is known.
    pub fn new(kind: GitKind) -> GitOperation {
        GitOperation { kind, action: None, id: None, title: None, branch: None, number: None, url: None }
    }

    /// The commit with an id, if that can be one.
    pub(crate) fn commit(id: &str) -> Option<GitOperation> {
        is_id(id).then(|| GitOperation { id: Some(id.to_owned()), ..GitOperation::new(GitKind::Commit) })
    }

    /// The operation on a branch.
    pub(crate) fn of_branch(kind: GitKind, branch: &str) -> GitOperation {
        GitOperation { branch: Some(excerpt(branch, LONGEST)), ..GitOperation::new(kind) }
    }

    /// The pull request at an address, if that can be one.
    pub(crate) fn pull_request(url: &str) -> Option<GitOperation> {
        let number = url.trim_end_matches('/').rsplit('/').next()?.parse().ok()?;
        let url = is_address(url).then(|| url.to_owned())?;
        Some(GitOperation { number: Some(number), url: Some(url), ..GitOperation::new(GitKind::PullRequest) })
    }

    /// Drops the texts, of which nothing must be recorded.
    pub(crate) fn hide(&mut self) {
        (self.title, self.branch, self.url) = (None, None, None);
    }
}

/// Whether a text is the address of a page, of plain characters only.
pub(crate) fn is_address(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    text.len() <= 500 && rest.is_some_and(|rest| rest.contains('/') && rest.chars().all(is_plain))
}

fn is_id(text: &str) -> bool {
    (7..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// What a command that succeeded did, by what it printed.
///
/// ```
/// # use todo_write::events::git::operations;
/// let done = operations("git commit -qm x; git commit -m y", "[main 699336a] Second\n 1 file changed");
/// assert_eq!(done[0].id.as_deref(), Some("699336a"));
/// assert_eq!(done[0].title.as_deref(), Some("Second"));
/// assert_eq!(operations("cat log", "[main 699336a] Second"), []);
/// ```
pub fn operations(command: &str, output: &str) -> Vec<GitOperation> {
    let command = start_of(command);
    // Most commands have nothing to do with it.
    if !["git", "gh"].iter().any(|program| command.contains(program)) {
        return Vec::new();
    }
    let commands: Vec<Vec<String>> = simple_commands(command);
    let of_git: Vec<&[String]> = commands.iter().filter_map(|words| git_arguments(words)).collect();
    let runs = |names: &[&str]| of_git.iter().any(|words| names.contains(&words[0].as_str()));
    let lines = || start_of(output).lines();
    let mut found = Vec::new();
    if runs(&["commit", "cherry-pick", "revert"]) {
        found.extend(lines().filter_map(commit_line));
        if found.is_empty() {
            let titles: Vec<&str> = of_git.iter().filter_map(|words| message(words)).collect();
            found.extend(lines().filter_map(|line| logged(line, &titles)));
        }
    }
    if runs(&["push"]) {
        found.extend(lines().filter_map(pushed));
    }
    if commands.iter().any(|words| words.windows(3).any(|three| three == ["gh", "pr", "create"])) {
        let created = |line: &str| {
            let request = GitOperation::pull_request(line.trim())?;
            Some(GitOperation { action: Some("created".into()), ..request })
        };
        found.extend(lines().find_map(created));
    }
    found.truncate(MOST_OPERATIONS);
    found
}

fn start_of(text: &str) -> &str {
    let end = (0..=text.len().min(READ)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// The line that `git commit` prints: `[BRANCH ID] TITLE`.
fn commit_line(line: &str) -> Option<GitOperation> {
    let (head, title) = line.strip_prefix('[')?.split_once("] ")?;
    let (branch, id) = head.rsplit_once(' ')?;
    let branch = branch.trim_end_matches(" (root-commit)");
    let commit = GitOperation::commit(id)?;
    Some(GitOperation {
        title: Some(excerpt(title, LONGEST)),
        branch: Some(excerpt(branch, LONGEST)).filter(|branch| branch != "detached HEAD"),
        ..commit
    })
}

/// The line `ID TITLE` of a log, after a commit with this title that printed nothing.
fn logged(line: &str, titles: &[&str]) -> Option<GitOperation> {
    let (id, title) = line.split_once(' ')?;
    titles.contains(&title).then_some(())?;
    Some(GitOperation { title: Some(excerpt(title, LONGEST)), ..GitOperation::commit(id)? })
}

/// The line that `git push` prints for a branch: `OLD..NEW  FROM -> TO`.
fn pushed(line: &str) -> Option<GitOperation> {
    let (head, branch) = line.trim_end().rsplit_once(" -> ")?;
    let head = head.trim_start();
    let is_done = head.starts_with("* [new branch]") || head.split(' ').any(|word| word.contains(".."));
    (is_done && !branch.contains(' ')).then(|| GitOperation::of_branch(GitKind::Push, branch))
}

/// The subcommand of `git` and its arguments.
fn git_arguments(words: &[String]) -> Option<&[String]> {
    let program = words.iter().position(|word| word == "git" || word.ends_with("/git"))?;
    let mut rest = &words[program + 1..];
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        let skipped = if matches!(option.as_str(), "-C" | "-c") { 2 } else { 1 };
        rest = rest.get(skipped..)?;
    }
    (!rest.is_empty()).then_some(rest)
}

/// The first line of the message among the arguments of `git commit`.
fn message(words: &[String]) -> Option<&str> {
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
    let option = words.iter().position(|word| is_short(word) || word == "--message");
    let text = match option {
        Some(place) => words.get(place + 1)?.as_str(),
        None => words.iter().find_map(|word| word.strip_prefix("--message="))?,
    };
    text.lines().next().filter(|_| words[0] == "commit")
}

/// The words of the commands in a script, without quotes.
fn simple_commands(script: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut letters = script.chars();
    while let Some(c) = letters.next() {
        match c {
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                while let Some(inner) = letters.next().filter(|inner| *inner != c) {
                    let escaped = (inner == '\\' && c == '"').then(|| letters.next()).flatten();
                    text.push(escaped.unwrap_or(inner));
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next().filter(|next| *next != '\n')),
            ';' | '&' | '|' | '(' | ')' | '\n' => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    commands.push(words);
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(command: &str, output: &str) -> Vec<String> {
        let words = |one: GitOperation| {
            let texts = [one.action, one.id, one.title, one.branch, one.url];
            texts.into_iter().flatten().fold(one.kind.to_string(), |all, text| format!("{all} {text}"))
        };
        operations(command, output).into_iter().map(words).collect()
    }

    #[test]
    fn a_commit_is_known_by_the_line_that_it_prints() {
        for (command, output, expected) in [
            ("git commit -m x", "[main 699336a] Second", vec!["commit 699336a Second main"]),
            (
                "cd a && git -C b -c user.name=x commit -am 'y z'",
                "[a/b 699336a] y z\n 1 file",
                vec!["commit 699336a y z a/b"],
            ),
            ("git commit -m x", "[main (root-commit) 699336a] First", vec!["commit 699336a First main"]),
            ("git commit -m x", "[detached HEAD 699336a] First", vec!["commit 699336a First"]),
            (
                "git commit -m x; git commit -m y",
                "[m 699336a] x\n[m 799336a] y",
                vec!["commit 699336a x m", "commit 799336a y m"],
            ),
            ("git revert HEAD", "[main 699336a] Revert \"x\"", vec!["commit 699336a Revert \"x\" main"]),
            // A quiet one is known by the log.
            (
                "git commit -qam 'Second' && git log --oneline | head -1",
                "12650ba Second",
                vec!["commit 12650ba Second"],
            ),
            (
                "git commit -q --message=Second && git log --oneline",
                "12650ba Second\n12650bb First",
                vec!["commit 12650ba Second"],
            ),
            ("git commit -qm Second", "", vec![]),
            ("git log --oneline", "12650ba Second", vec![]),
            ("git status", "[main 699336a] Second", vec![]),
            ("git commit -m x", "[main 69933] Second\n[main] x\n[main 699336A] x", vec![]),
            ("digits; ghosts", "[main 699336a] Second", vec![]),
        ] {
            assert_eq!(said(command, output), expected, "{command}: {output}");
        }
    }

    #[test]
    fn a_push_and_a_pull_request_are_known_by_what_they_print() {
        for (command, output, expected) in [
            ("git push origin main", "To ../r\n   12650ba..699336a  main -> main", vec!["push main"]),
            ("git push -u origin a", "To r\n * [new branch]      a -> a", vec!["push a"]),
            ("git push", "To r\n ! [rejected]        a -> a (fetch first)", vec![]),
            (
                "gh pr create --fill",
                "https://github.com/o/r/pull/42\n",
                vec!["pullRequest created https://github.com/o/r/pull/42"],
            ),
            ("gh pr view", "https://github.com/o/r/pull/42", vec![]),
            (
                "gh pr create",
                "https://github.com/o/r/pull/x\nhttps://a/1;ls\njavascript://a/1\nhttps://\u{fc}/1",
                vec![],
            ),
        ] {
            assert_eq!(said(command, output), expected, "{command}: {output}");
        }
    }

    #[test]
    fn what_is_read_and_kept_is_bounded() {
        let many = "[m 699336a] x\n".repeat(10_000);
        assert_eq!(operations("git commit", &many).len(), MOST_OPERATIONS);
        let long = operations("git commit", &format!("[m 699336a] {}", "x".repeat(60_000)));
        assert!(long[0].title.as_ref().unwrap().chars().count() <= LONGEST + 1);
        let late = format!("{}\n[m 699336a] x", "\u{fc}".repeat(READ));
        assert_eq!(operations("git commit", &late), []);
        for open in ["git commit -m '", "git commit -m \"a\\", "git -c", "git -C a", "git", "\\"] {
            assert_eq!(operations(open, ""), [], "{open}");
        }
    }
}
