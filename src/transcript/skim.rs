//! What lists need of a line of long ago, found without parsing it.
//!
//! A session of months has hundreds of megabytes, and of nearly all of them nothing is left to
//! show. Quotes inside JSON strings are escaped, so what is looked for here cannot be part of a
//! text. Where a line looks unusual, it is parsed.

/// What to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skim<'l> {
    /// It may concern a list, or a title.
    Parse,
    /// It only continues the chain of a subagent.
    Link {
        /// Names the line.
        uuid: &'l str,
        /// Names the line before.
        parent: &'l str,
    },
    /// It concerns no list.
    Nothing,
}

/// Lines of titles are short.
const TITLE: usize = 1_024;

/// Looks at a line.
pub fn skim(bytes: &[u8]) -> Skim<'_> {
    let Ok(line) = std::str::from_utf8(bytes) else { return Skim::Nothing };
    if !is_compact(line) || (line.len() < TITLE && line.contains("Title\":")) {
        return Skim::Parse;
    }
    if line.contains("\"tool_use\"") && (line.contains("\"name\":\"T") || line.contains("\"name\":\"Agent\""))
    {
        return Skim::Parse;
    }
    if !line.contains("\"isSidechain\":true") {
        return Skim::Nothing;
    }
    match (after(line.find("\"parentUuid\":\""), line, 14), after(line.rfind("\"uuid\":\""), line, 8)) {
        (Some(parent), Some(uuid)) => Skim::Link { uuid, parent },
        // The first line of a subagent, which tells what it was sent for.
        _ => Skim::Parse,
    }
}

/// Whether the line is written without spaces, as Claude Code does.
fn is_compact(line: &str) -> bool {
    let start = line.as_bytes().iter().take(64);
    start.clone().zip(start.skip(1)).all(|pair| pair != (&b':', &b' ')) && line.starts_with('{')
}

/// The string that starts `skip` bytes behind a place.
fn after(place: Option<usize>, line: &str, skip: usize) -> Option<&str> {
    line.get(place? + skip..)?.split_once('"').map(|(text, _)| text)
}
