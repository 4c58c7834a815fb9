//! A cheap pre-filter for old transcript lines.
//!
//! A session of months has hundreds of megabytes of lines, nearly all of which are irrelevant.
//! JSON escapes quotes inside strings, so a text cannot contain the keys searched for here. Lines
//! with unusual formatting are parsed.

/// What an old line may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relevance<'l> {
    /// Perhaps a list, a title or the end of a turn.
    Parse,
    /// Only a link in a subagent's chain of lines.
    Link {
        /// The id of the line.
        uuid: &'l str,
        /// The id of the line before.
        parent: &'l str,
    },
    /// Nothing of interest.
    Nothing,
}

/// Maximum length of lines with titles, ends of turns and interruptions.
const SHORT: usize = 1_024;

const MARKS: [&str; 3] = ["Title\":", "\"turn_duration\"", "[Request interrupted by user"];

/// Tools that change a list or start a subagent.
const TOOLS: [&str; 3] = ["\"name\":\"T", "\"name\":\"Agent\"", "__todo_write\""];

/// Classifies a line without parsing it.
pub(crate) fn relevance(bytes: &[u8]) -> Relevance<'_> {
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
        // The first line of a subagent holds its prompt.
        _ => Relevance::Parse,
    }
}

/// Whether the line has no spaces between keys and values, as Claude Code writes it.
fn is_compact(line: &str) -> bool {
    let start = line.as_bytes().iter().take(64);
    start.clone().zip(start.skip(1)).all(|pair| pair != (&b':', &b' ')) && line.starts_with('{')
}

/// The JSON string that starts `skip` bytes after `place`.
fn after(place: Option<usize>, line: &str, skip: usize) -> Option<&str> {
    line.get(place? + skip..)?.split_once('"').map(|(text, _)| text)
}
