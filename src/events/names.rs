//! The names of files in the arguments of a tool call.
//!
//! Only fields for paths and for commands have names. The texts that a call writes, and what it tells, are not
//! searched: a program may mention `process.env`, a task "credentials".

use std::borrow::Cow;

use crate::list::raw::Raw;
use crate::text::command::{self, Name};

/// Ends of the keys of arguments that are names of files or folders, in lower case and without `_`.
const PATHS: [&str; 15] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "dir",
    "directory",
    "folder",
    "uri",
    "glob",
    "include",
    "cwd",
    "workdir",
    "root",
];
/// Keys of arguments that are commands.
const COMMANDS: [&str; 3] = ["command", "cmd", "commands"];
/// Keys of arguments that are programs, which may run commands.
const PROGRAMS: [&str; 3] = ["script", "code", "input"];
/// The beginning of a patch in the form of Codex, and of its lines that name files.
const PATCH: &str = "*** Begin Patch";
const PATCHED: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The names of files that a call is given, and whether it may hold their contents. A text is a program, a
/// list a command.
pub(crate) fn names(input: &Raw<'_>) -> Vec<Name> {
    let mut found = Vec::new();
    match input {
        Raw::Text(text) => add_program(text, &mut found),
        Raw::List(_) => add_command(input, &mut found),
        _ => add_fields(input, &mut found),
    }
    found
}

fn add_fields(input: &Raw<'_>, found: &mut Vec<Name>) {
    match input {
        Raw::List(values) => values.iter().for_each(|value| add_fields(value, found)),
        Raw::Object(fields) => {
            for (key, value) in fields {
                let folded = key.to_lowercase().replace(['_', '-'], "");
                match value {
                    _ if COMMANDS.contains(&folded.as_str()) => add_command(value, found),
                    Raw::Text(text) if PROGRAMS.contains(&folded.as_str()) => add_program(text, found),
                    _ if PATHS.iter().any(|end| folded.ends_with(end)) => add_paths(value, found),
                    _ => add_fields(value, found),
                }
            }
        }
        _ => {}
    }
}

fn add_paths(value: &Raw<'_>, found: &mut Vec<Name>) {
    match value {
        Raw::Text(path) => found.push(Name { text: path.to_string(), is_written: true }),
        Raw::List(values) => values.iter().for_each(|value| add_paths(value, found)),
        other => add_fields(other, found),
    }
}

fn add_command(value: &Raw<'_>, found: &mut Vec<Name>) {
    match value {
        Raw::Text(text) => {
            add_patched(text, found);
            found.extend(command::names(text, false));
        }
        Raw::List(words) => {
            let text = |word: &Raw<'_>| match word {
                Raw::Text(text) => Some(Cow::into_owned(text.clone())),
                _ => None,
            };
            let words: Vec<String> = words.iter().filter_map(text).collect();
            words.iter().for_each(|word| add_patched(word, found));
            found.extend(command::names_of_words(words.iter().map(String::as_str)));
        }
        other => add_fields(other, found),
    }
}

fn add_program(text: &str, found: &mut Vec<Name>) {
    add_patched(text, found);
    if !text.starts_with(PATCH) {
        found.extend(command::names(text, true));
    }
}

/// Adds the files of a patch, which holds their contents.
fn add_patched(text: &str, found: &mut Vec<Name>) {
    if text.contains(PATCH) {
        let names = text.lines().filter_map(|line| PATCHED.iter().find_map(|head| line.strip_prefix(head)));
        found.extend(names.map(|name| Name { text: name.trim().to_owned(), is_written: true }));
    }
}
