//! A cheap pre-filter for old transcript lines.
//!
//! A session of months has hundreds of megabytes, and nearly all of its lines have nothing that
//! is still shown. Quotes inside JSON strings are escaped, so the keys that are looked for here
//! cannot be part of a text. A line that looks unusual is parsed.

/// What an old line may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relevance<'l> {
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

/// Lines of titles, of the ends of turns and of interruptions are short.
const SHORT: usize = 1_024;

const MARKS: [&str; 3] = ["Title\":", "\"turn_duration\"", "[Request interrupted by user"];

/// Tools that change a list, or start a subagent that may.
const TOOLS: [&str; 3] = ["\"name\":\"T", "\"name\":\"Agent\"", "__todo_write\""];

/// Tells what a line may hold, without parsing it.
pub fn relevance(bytes: &[u8]) -> Relevance<'_> {
    let Ok(line) = std::str::from_utf8(bytes) else { return Relevance::Nothing };
    let may_be = |texts: &[&str]| texts.iter().any(|text| line.contains(text));
    if !is_compact(line) || (line.len() < SHORT && may_be(&MARKS)) {
        return Relevance::Parse;
    }
    if line.contains("\"tool_use\"") && may_be(&TOOLS) {
        return Relevance::Parse;
    }
    if !line.contains("\"isSidechain\":true") {
        return Relevance::Nothing;
    }
    match (after(line.find("\"parentUuid\":\""), line, 14), after(line.rfind("\"uuid\":\""), line, 8)) {
        (Some(parent), Some(uuid)) => Relevance::Link { uuid, parent },
        // The first line of a subagent, which tells what it was sent for.
        _ => Relevance::Parse,
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
