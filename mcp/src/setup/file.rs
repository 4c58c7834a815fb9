//! Reading and writing the settings of other programs, and showing what changes in them.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Maximum size of a file of settings in bytes; Claude Code keeps much else in one of its own.
const LARGEST: u64 = 64 << 20;
/// Lines shown around a change.
const CONTEXT: usize = 3;

/// The text of a regular file, none if there is no file. The error is a clause.
pub fn read(file: &Path) -> Result<Option<String>, String> {
    match todo_write::file::read(file, LARGEST) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// Writes NEW to FILE, or to the file to which that links, and the text before to a backup, whose name
/// is returned. If it fails, FILE is as it was. The error is a clause.
pub fn write(file: &Path, new: &str) -> Result<Option<PathBuf>, String> {
    let file = target(file)?;
    let cannot = |error: std::io::Error| format!("cannot be written: {error}");
    let old = fs::metadata(&file).ok();
    if old.as_ref().is_some_and(|data| data.permissions().readonly()) {
        return Err("is read-only".to_owned());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    let backup = match &old {
        None => None,
        Some(data) => {
            let mut name = file.clone().into_os_string();
            name.push("~");
            let text = fs::read(&file).map_err(cannot)?;
            replace(Path::new(&name), &text, Some(data)).map_err(cannot)?;
            Some(PathBuf::from(name))
        }
    };
    replace(&file, new.as_bytes(), old.as_ref()).map_err(cannot)?;
    Ok(backup)
}

/// The file to which FILE links, else FILE; the former need not exist. The error is a clause.
pub fn target(file: &Path) -> Result<PathBuf, String> {
    let mut file = file.to_owned();
    for _ in 0..32 {
        match fs::read_link(&file) {
            Ok(link) => file = file.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(file),
        }
    }
    Err("is a link that leads to itself".to_owned())
}

/// Makes TEXT the contents of FILE in one step, with the permissions of OLD.
fn replace(file: &Path, text: &[u8], old: Option<&fs::Metadata>) -> std::io::Result<()> {
    let mut name = file.to_owned().into_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(name);
    let written = OpenOptions::new().write(true).create_new(true).open(&new).and_then(|mut output| {
        output.write_all(text)?;
        if let Some(data) = old {
            output.set_permissions(data.permissions())?;
        }
        output.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&new, file));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// Copies the program FROM to TO, unless TO has the same bytes. A running program cannot be overwritten,
/// but replaced.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{} cannot be written: {error}", to.display());
    let bytes = fs::read(from).map_err(|error| format!("{} cannot be read: {error}", from.display()))?;
    if fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    replace(to, &bytes, fs::metadata(from).ok().as_ref()).map_err(cannot)
}

/// The change from OLD to NEW of the file NAME as a unified diff, to be read. Values in it that are not
/// OURS are shown as `…`: settings have keys and tokens.
pub fn diff(name: &str, old: &str, new: &str, ours: &HashSet<String>) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut text = format!("--- {name}\n+++ {name}\n");
    let mut unified = diff.unified_diff();
    for hunk in unified.context_radius(CONTEXT).iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value().trim_end_matches(['\n', '\r']);
            text.push_str(&format!("{sign}{}\n", masked(line, ours)));
        }
    }
    text
}

/// LINE of JSON with `…` for each string that is neither a key nor in OURS.
fn masked(line: &str, ours: &HashSet<String>) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('"') {
        let mut escaped = false;
        let end = rest[start + 1..].find(|letter| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        let Some(end) = end.map(|end| start + end + 2) else { break };
        let literal = &rest[start..end];
        let is_key = rest[end..].trim_start().starts_with(':');
        let is_ours = serde_json::from_str(literal).is_ok_and(|string: String| ours.contains(&string));
        shown.push_str(&rest[..start]);
        shown.push_str(if is_key || is_ours { literal } else { "…" });
        rest = &rest[end..];
    }
    shown + rest
}

/// All strings in VALUE.
pub fn strings(value: &Value, into: &mut HashSet<String>) {
    match value {
        Value::String(string) => drop(into.insert(string.clone())),
        Value::Array(values) => values.iter().for_each(|value| strings(value, into)),
        Value::Object(members) => members.values().for_each(|value| strings(value, into)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_others_are_not_shown() {
        let ours = HashSet::from(["/x".to_owned()]);
        for (line, shown) in [
            (r#"  "KEY": "sk-1\"2", "n": 3,"#, r#"  "KEY": …, "n": 3,"#),
            (r#""command": "/x", "args": ["a", "/x"]"#, r#""command": "/x", "args": […, "/x"]"#),
            (r#"{"a" : "b\\","c":"ä"}"#, r#"{"a" : …,"c":…}"#),
            ("}", "}"),
        ] {
            assert_eq!(masked(line, &ours), shown);
        }
    }
}
