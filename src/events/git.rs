//! What an agent did in Git: commits, pushes and pull requests, as some agents tell it.
//!
//! Of others, only commits are known: by the line that `git commit` prints.

use serde::{Deserialize, Serialize};

use crate::named::wire_names;
use crate::text::excerpt;

wire_names! {
    /// The kinds of operations.
    #[allow(missing_docs)]
    pub enum GitKind {
        Commit = "commit",
        Push = "push",
        Merge = "merge",
        Rebase = "rebase",
        PullRequest = "pullRequest",
    }
}

/// One operation. What is not known is none.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitOperation {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Maximum number of commits of a command.
const MOST_COMMITS: usize = 20;
/// Maximum number of characters of each text.
const LONGEST: usize = 200;

impl GitOperation {
    /// An operation of which nothing else is known.
    pub fn new(kind: GitKind) -> GitOperation {
        GitOperation { kind, action: None, id: None, title: None, branch: None, number: None, url: None }
    }

    /// The commit with an id, if that can be one.
    pub fn commit(id: &str) -> Option<GitOperation> {
        is_id(id).then(|| GitOperation { id: Some(id.to_owned()), ..GitOperation::new(GitKind::Commit) })
    }

    /// The operation on a branch.
    pub fn of_branch(kind: GitKind, branch: &str) -> GitOperation {
        GitOperation { branch: Some(excerpt(branch, LONGEST)), ..GitOperation::new(kind) }
    }

    /// The pull request at an address, if that can be one.
    pub fn pull_request(url: &str) -> Option<GitOperation> {
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

/// Whether a command mentions what makes commits in Git: only then its output tells some.
pub fn may_commit(command: &str) -> bool {
    command.contains("git") && ["commit", "cherry-pick", "revert"].iter().any(|verb| command.contains(verb))
}

/// The commits that a successful command printed.
///
/// ```
/// # use todo_write::events::git::commits;
/// let commits = commits("[main 699336a] Second\n 1 file changed");
/// assert_eq!(commits[0].id.as_deref(), Some("699336a"));
/// assert_eq!(commits[0].title.as_deref(), Some("Second"));
/// ```
pub fn commits(output: &str) -> Vec<GitOperation> {
    output.lines().filter_map(commit_line).take(MOST_COMMITS).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_the_line_that_it_prints() {
        for (output, expected) in [
            ("[main 699336a] Second\n 1 file changed", vec!["699336a Second main"]),
            ("[a/b 699336a] y z", vec!["699336a y z a/b"]),
            ("[main (root-commit) 699336a] First", vec!["699336a First main"]),
            ("[detached HEAD 699336a] First", vec!["699336a First"]),
            ("[m 699336a] x\n[m 799336a] y", vec!["699336a x m", "799336a y m"]),
            ("12650ba Second", vec![]),
            ("[main 69933] Second\n[main] x\n[main 699336A] x", vec![]),
        ] {
            let words = |one: GitOperation| {
                let texts = [one.id, one.title, one.branch];
                texts.into_iter().flatten().collect::<Vec<_>>().join(" ")
            };
            assert_eq!(commits(output).into_iter().map(words).collect::<Vec<_>>(), expected, "{output}");
        }
    }

    #[test]
    fn commits_of_a_command_are_bounded() {
        assert_eq!(commits(&"[m 699336a] x\n".repeat(10_000)).len(), MOST_COMMITS);
        let long = commits(&format!("[m 699336a] {}", "x".repeat(60_000)));
        assert!(long[0].title.as_ref().unwrap().chars().count() <= LONGEST + 1);
    }
}
