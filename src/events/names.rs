//! The names of files in the arguments of a tool call.
//!
//! Only fields for paths and for commands have names. The texts that a call writes, and what it tells, are not
//! searched: a program may mention `process.env`, a task "credentials". No shell is parsed: each word of a
//! command that has a slash or a period may be a name.

use crate::list::raw::Raw;

/// Ends of the keys of arguments that are names of files or folders, in lower case and without `_`.
const PATHS: &str =
    "path paths file files filename filenames dir directory folder uri glob include cwd workdir root";
/// Keys of arguments that are commands, or programs that may run commands.
const COMMANDS: [&str; 6] = ["command", "cmd", "commands", "script", "code", "input"];
/// The beginning and the end of a patch in the form of Codex, and of its lines that name files.
const PATCH: &str = "*** Begin Patch";
const PATCH_END: &str = "*** End Patch";
const PATCHED: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// What may be the name of a file.
pub(crate) struct Name<'a> {
    /// The name without quotes.
    pub text: &'a str,
    /// Whether it is a word of a command. The call of another name may hold the file's contents.
    pub is_word: bool,
}

/// What the texts of an argument are.
#[derive(Clone, Copy)]
enum Kind {
    Path,
    Command,
    Other,
}

/// The names of files that a call is given. A text is a command.
pub(crate) fn names<'a>(input: &'a Raw<'_>) -> Vec<Name<'a>> {
    let mut found = Vec::new();
    let is_command = matches!(input, Raw::Text(_) | Raw::List(_));
    add(input, if is_command { Kind::Command } else { Kind::Other }, &mut found);
    found
}

fn add<'a>(value: &'a Raw<'_>, kind: Kind, found: &mut Vec<Name<'a>>) {
    match (value, kind) {
        (Raw::List(values), _) => values.iter().for_each(|value| add(value, kind, found)),
        (Raw::Object(fields), _) => {
            for (key, value) in fields {
                let folded = key.to_lowercase().replace(['_', '-'], "");
                let kind = match folded.as_str() {
                    key if COMMANDS.contains(&key) => Kind::Command,
                    key if PATHS.split(' ').any(|end| key.ends_with(end)) => Kind::Path,
                    _ => Kind::Other,
                };
                add(value, kind, found);
            }
        }
        (Raw::Text(text), Kind::Path) => found.push(Name { text, is_word: false }),
        (Raw::Text(text), Kind::Command) => {
            let (before, rest) = text.split_once(PATCH).unwrap_or((text, ""));
            let (patch, after) = rest.split_once(PATCH_END).unwrap_or((rest, ""));
            // In a script, line feeds may be escaped.
            let lines = patch.split("\\n").flat_map(str::lines);
            let patched = lines.filter_map(|line| PATCHED.iter().find_map(|head| line.strip_prefix(head)));
            found.extend(patched.map(|name| Name { text: name.trim(), is_word: false }));
            found.extend([before, after].into_iter().flat_map(words));
        }
        _ => {}
    }
}

/// The words of a command that have a slash or a period; quoted texts, too, since a name may have blanks.
fn words(command: &str) -> impl Iterator<Item = Name<'_>> {
    let quotes = ['\'', '"', '`'];
    let is_end = move |c: char| c.is_whitespace() || quotes.contains(&c) || "\\;&|()<>[]".contains(c);
    let words = command.split(is_end).map(|word| word.trim_matches(['{', '}']));
    let words = words.chain(command.split(quotes).filter(|text| text.contains(' ')));
    words.filter(|word| word.contains(['/', '.'])).map(|text| Name { text, is_word: true })
}
