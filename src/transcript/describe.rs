//! What a session is, by the beginning and the end of its file.

use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::claude::files::custom_title;
use super::claude::line::Line;
use super::claude::prompt::{prompt, title};
use super::field::millis;
use crate::clock::Millis;
use crate::text::excerpt;

/// What is known of a session without reading all of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The session's id.
    pub session: String,
    /// The working directory.
    pub folder: Option<String>,
    /// The title, or the first prompt.
    pub title: Option<String>,
    /// When it began.
    pub begun: Option<Millis>,
    /// Whether it is a subagent's.
    pub is_subagent: bool,
}

/// Bytes at the beginning in which a session says what it is.
const HEAD: u64 = 256 * 1024;
/// Bytes at the end in which Claude Code repeats the title; of a large file, more are looked at.
const END: [u64; 2] = [16 * 1024, 1024 * 1024];

/// Describes a transcript by its beginning, by its end and by the title beside it.
pub fn describe(path: &Path) -> Option<Head> {
    let mut file = fs::File::open(path).ok()?;
    let mut head = Head::default();
    let mut reader = BufReader::new(&file).take(HEAD);
    let mut bytes = Vec::new();
    while head.title.is_none() && reader.read_until(b'\n', &mut bytes).ok()? > 0 {
        if let Some(line) = Line::parse(&bytes) {
            head.take(&line);
        }
        bytes.clear();
    }
    if head.session.is_empty() {
        return None;
    }
    let length = file.metadata().ok()?.len();
    let mut title = custom_title(path);
    for size in END {
        if title.is_none() {
            file.seek(SeekFrom::Start(length.saturating_sub(size))).ok()?;
            bytes.clear();
            (&file).take(size).read_to_end(&mut bytes).ok()?;
            title = last_title(&bytes);
        }
    }
    head.title = title.map(|title| excerpt(&title, 100)).or(head.title);
    Some(head)
}

/// The last title in some lines; the user's goes before the agent's.
fn last_title(bytes: &[u8]) -> Option<String> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| line.len() < 1_024);
    let lines = lines.filter(|line| std::str::from_utf8(line).is_ok_and(|line| line.contains("Title\":")));
    let (mut custom, mut own) = (None, None);
    for line in lines.filter_map(Line::parse) {
        custom = line.custom_title.or(custom);
        own = line.ai_title.or(own);
    }
    custom.or(own).map(|title| title.0)
}

impl Head {
    fn take(&mut self, line: &Line<'_>) {
        if self.session.is_empty()
            && let Some(session) = line.session_id
        {
            self.session = session.to_owned();
            self.is_subagent = line.is_sidechain == Some(true);
        }
        self.folder = self.folder.take().or_else(|| line.cwd.as_ref().map(|cwd| cwd.0.clone()));
        self.begun = self.begun.or_else(|| line.timestamp.and_then(millis));
        let is_prompt = line.kind == Some("user") && line.is_meta != Some(true);
        if let Some(message) = line.message.as_ref().filter(|_| is_prompt) {
            let texts = message.content.0.iter().filter_map(|block| block.text.as_ref());
            self.title = texts.filter_map(|text| title(&prompt(&text.0)?)).next();
        }
    }
}
