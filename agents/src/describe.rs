//! Describes a session by the beginning and the end of its file.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::claude::ClaudeReader;
use crate::claude::files::custom_title;
use crate::claude::line::parse;
use crate::codex::{self, CodexReader};
use crate::field::{folder, is_true, text};
use todo_write::file;
use todo_write::list::input::Options;
use todo_write::list::raw::Raw;
use todo_write::text::excerpt;
use todo_write::wire::event::{Agent, Event, EventKind};
use todo_write::wire::program::Description;

/// Bytes read at the beginning.
const HEAD: u64 = 256 * 1024;
/// Bytes read at the end, where Claude Code repeats the title. The second number is tried if the first
/// finds none.
const END: [u64; 2] = [16 * 1024, 1024 * 1024];

/// Describes a transcript; `None` if it names no session.
pub fn describe(path: &Path) -> Option<Description> {
    let mut file = file::open(path).ok()?;
    let mut reader = BufReader::new(&file).take(HEAD);
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes).ok()?;
    if codex::line::is_first(&bytes) {
        return describe_rollout(&bytes, reader);
    }
    let mut description = Description {
        agent: Agent::Claude,
        session: String::new(),
        folder: None,
        title: None,
        is_subagent: false,
        has_processes: false,
    };
    let mut lines = ClaudeReader::new(Options::default());
    loop {
        if let Some(line) = parse(&bytes, &mut Vec::new()) {
            if description.session.is_empty() {
                text(&line, "sessionId").clone_into(&mut description.session);
                description.is_subagent = is_true(&line, "isSidechain");
            }
            description.has_processes |= !text(&line, "entrypoint").is_empty();
            description.folder = description.folder.take().or_else(|| field(&line, "cwd"));
            lines.read_line(&bytes);
            description.title = first_title(lines.take_events());
        }
        bytes.clear();
        let is_known = description.title.is_some() || description.is_subagent;
        if is_known || reader.read_until(b'\n', &mut bytes).ok()? == 0 {
            break;
        }
    }
    if description.session.is_empty() {
        return None;
    }
    let length = file.metadata().ok()?.len();
    let mut title = custom_title(path);
    for (number, size) in END.into_iter().enumerate() {
        if title.is_none() || number == 0 {
            file.seek(SeekFrom::Start(length.saturating_sub(size))).ok()?;
            bytes.clear();
            (&file).take(size).read_to_end(&mut bytes).ok()?;
            let (told, folder) = last_told(&bytes);
            (title, description.folder) = (title.or(told), folder.or(description.folder));
        }
    }
    description.title = title.map(|title| excerpt(&title, 100)).or(description.title);
    Some(description)
}

/// Describes a rollout of Codex by its first line and the first prompt.
fn describe_rollout(first: &[u8], mut rest: impl BufRead) -> Option<Description> {
    let mut whole = Vec::new();
    let line = crate::field::parse(first, &mut whole)?;
    let meta = codex::line::payload(&line);
    let mut reader = CodexReader::new(Options::default());
    reader.read_line(first);
    let mut bytes = Vec::new();
    let mut title = None;
    while title.is_none() && rest.read_until(b'\n', &mut bytes).ok()? > 0 {
        reader.read_line(&bytes);
        bytes.clear();
        title = first_title(reader.events.take());
    }
    Some(Description {
        agent: Agent::Codex,
        session: reader.session()?.session.clone(),
        folder: field(meta, "cwd"),
        title,
        is_subagent: codex::line::is_subagent(meta),
        has_processes: false,
    })
}

/// The last title in some lines, where the user's takes precedence over the agent's, and the folder to which the
/// session moved last.
fn last_told(bytes: &[u8]) -> (Option<String>, Option<String>) {
    let marks: [&[u8]; 2] = [b"Title\":", b"\"relocatedCwd\":"];
    let tells = |line: &&[u8]| marks.iter().any(|mark| memchr::memmem::find(line, mark).is_some());
    let (mut custom, mut own, mut folder) = (None, None, None);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| line.len() < 8_192).filter(tells) {
        if let Some(line) = parse(line, &mut Vec::new()) {
            custom = field(&line, "customTitle").or(custom);
            own = field(&line, "aiTitle").or(own);
            folder = field(&line, "relocatedCwd").or(folder);
        }
    }
    (custom.or(own), folder)
}

fn field(line: &Raw<'_>, name: &str) -> Option<String> {
    Some(folder(line, name)).filter(|text| !text.is_empty())
}

fn first_title(events: Vec<Event>) -> Option<String> {
    events.into_iter().find_map(|event| match event.kind {
        EventKind::Title(title) => Some(title),
        _ => None,
    })
}
