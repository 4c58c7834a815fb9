//! What a session is, by the beginning and the end of its file.

use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::claude::line::Line;
use super::claude::prompt;
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

/// Bytes at the beginning, and at the end, in which a session tells what it is.
const HEAD: u64 = 256 * 1024;
const END: u64 = 16 * 1024;

/// Describes a transcript by its beginning, and by its end, where Claude Code writes titles.
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
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    file.take(END).read_to_end(&mut bytes).ok()?;
    for line in bytes.split(|byte| *byte == b'\n').filter_map(Line::parse) {
        if let Some(title) = line.custom_title.or(line.ai_title) {
            head.title = Some(excerpt(&title.0, 100));
        }
    }
    (!head.session.is_empty()).then_some(head)
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
        let by_person = line.kind == Some("user") && line.is_meta != Some(true);
        if let Some(message) = line.message.as_ref().filter(|_| by_person) {
            let texts = message.content.0.iter().filter_map(|block| block.text.as_ref());
            self.title = texts.filter_map(|text| prompt(&text.0)).next().map(|text| excerpt(&text, 100));
        }
    }
}
