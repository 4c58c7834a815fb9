//! What a session of Copilot CLI does, by its file of events.
//!
//! Copilot writes `session-state/SESSION/events.jsonl` in its folder, a JSON object a line. Version 1.0.102
//! says there that it asks for a permission, and that this was answered. A turn has several steps, each with
//! a message of the model; the last one calls no tool.

use std::collections::BTreeMap;
use std::fs::{File, symlink_metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;
use todo_write::protocol::SessionActivity;

/// The name by which Copilot CLI calls itself.
pub const COPILOT: &str = "copilot-cli";
/// How much is read at once, and the longest line that counts.
const LARGEST: u64 = 1 << 20;
/// Questions that are open at once.
const QUESTIONS: usize = 20;

/// A session, whose events are read from now on.
pub struct Copilot {
    session: String,
    file: PathBuf,
    offset: u64,
    /// The last line, which is incomplete.
    rest: Vec<u8>,
    /// What it asks, by the id of the request.
    asked: BTreeMap<String, String>,
    /// Whether the last message of the model calls tools.
    calls: bool,
    is_idle: bool,
}

impl Copilot {
    /// The session of that id, which works now. Its file may be yet to be written.
    pub fn new(session: &str) -> Option<Copilot> {
        if session.is_empty() || session.contains(['/', '\\', '.']) {
            return None;
        }
        let home = std::env::var_os("COPILOT_HOME").filter(|name| !name.is_empty()).map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".copilot")))?;
        let file = home.join("session-state").join(session).join("events.jsonl");
        let written = symlink_metadata(&file).map_or(0, |data| data.len());
        Some(Copilot::reading(session, file, written))
    }

    fn reading(session: &str, file: PathBuf, offset: u64) -> Copilot {
        Copilot {
            session: session.to_owned(),
            file,
            offset,
            rest: Vec::new(),
            asked: BTreeMap::new(),
            calls: true,
            is_idle: false,
        }
    }

    /// The session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// What it does, by the events so far.
    pub fn state(&mut self) -> SessionActivity {
        if let Some(new) = self.read() {
            self.rest.extend(new);
            let text = std::mem::take(&mut self.rest);
            let end = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
            text[..end].split(|byte| *byte == b'\n').for_each(|line| self.note(line));
            if ((text.len() - end) as u64) < LARGEST {
                self.rest = text[end..].to_vec();
            }
        }
        let reason = self.asked.values().next().cloned();
        let activity = match (&reason, self.is_idle) {
            (Some(_), _) => "waiting",
            (None, true) => "idle",
            (None, false) => "working",
        };
        SessionActivity {
            session: self.session.clone(),
            subagent: None,
            activity: activity.to_owned(),
            reason,
            title: None,
        }
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        let length = symlink_metadata(&self.file).ok().filter(|data| data.is_file())?.len();
        if length <= self.offset {
            // It was written again, from its beginning.
            self.offset = length;
            return None;
        }
        let mut file = File::open(&self.file).ok()?;
        file.seek(SeekFrom::Start(self.offset)).ok()?;
        let mut text = Vec::new();
        file.take(LARGEST).read_to_end(&mut text).ok()?;
        self.offset += text.len() as u64;
        Some(text)
    }

    /// Takes LINE, an event. One that is not known changes nothing.
    fn note(&mut self, line: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Value>(line) else { return };
        let data = &event["data"];
        match event["type"].as_str().unwrap_or_default() {
            "permission.requested" => {
                if let Some(id) = data["requestId"].as_str()
                    && self.asked.len() < QUESTIONS
                {
                    self.asked.insert(id.to_owned(), reason(&data["permissionRequest"]));
                }
            }
            "permission.completed" => {
                data["requestId"].as_str().map(|id| self.asked.remove(id));
            }
            "user.message" | "assistant.turn_start" => self.is_idle = false,
            "assistant.message" => {
                self.calls = data["toolRequests"].as_array().is_some_and(|calls| !calls.is_empty());
            }
            "assistant.turn_end" => self.is_idle = !self.calls,
            "abort" => {
                self.asked.clear();
                self.is_idle = true;
            }
            _ => {}
        }
    }
}

/// What REQUEST asks for, in a line of 200 characters.
fn reason(request: &Value) -> String {
    let names = ["fullCommandText", "fileName", "path", "url", "toolName", "intention", "kind"];
    let text = names.iter().find_map(|name| request[name].as_str().filter(|text| !text.trim().is_empty()));
    text.unwrap_or("permission").split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A session whose file has no event yet, and a function that adds lines to it.
    fn session(name: &str) -> (Copilot, impl FnMut(&str)) {
        let file = std::env::temp_dir().join(format!("copilot-{}-{name}.jsonl", std::process::id()));
        let mut handle = File::create(&file).unwrap();
        (Copilot::reading("s1", file, 0), move |text: &str| handle.write_all(text.as_bytes()).unwrap())
    }

    fn state(copilot: &mut Copilot) -> (String, Option<String>) {
        let SessionActivity { activity, reason, .. } = copilot.state();
        (activity, reason)
    }

    fn event(kind: &str, data: &str) -> String {
        format!("{{\"type\":\"{kind}\",\"data\":{data}}}\n")
    }

    #[test]
    fn it_waits_from_a_question_to_its_answer_and_is_idle_after_the_last_step() {
        let (mut copilot, mut add) = session("waits");
        let working = ("working".to_owned(), None);
        assert_eq!(state(&mut copilot), working);
        add(&event("assistant.message", r#"{"toolRequests":[{"name":"bash"}]}"#));
        let asks = r#"{"requestId":"r1","permissionRequest":{"kind":"shell","fullCommandText":"npm\ntest"}}"#;
        add(&event("permission.requested", asks));
        assert_eq!(state(&mut copilot), ("waiting".to_owned(), Some("npm test".to_owned())));
        add(&event("permission.completed", r#"{"requestId":"r2"}"#));
        assert_eq!(state(&mut copilot).0, "waiting");
        add(&event("permission.completed", r#"{"requestId":"r1","result":{"kind":"approved"}}"#));
        add(&event("assistant.turn_end", "{}"));
        assert_eq!(state(&mut copilot), working);
        add(&event("assistant.message", r#"{"toolRequests":[]}"#));
        add(&event("assistant.turn_end", "{}"));
        assert_eq!(state(&mut copilot).0, "idle");
        add(&event("user.message", "{}"));
        assert_eq!(state(&mut copilot), working);
    }

    #[test]
    fn its_file_may_be_written_after_its_first_call() {
        let file = std::env::temp_dir().join(format!("copilot-{}-later.jsonl", std::process::id()));
        let mut copilot = Copilot::reading("s1", file.clone(), 0);
        assert_eq!(state(&mut copilot).0, "working");
        std::fs::write(file, event("permission.requested", r#"{"requestId":"r1"}"#)).unwrap();
        assert_eq!(state(&mut copilot).0, "waiting");
    }

    #[test]
    fn an_abort_ends_what_was_asked() {
        let (mut copilot, mut add) = session("abort");
        add(&event("permission.requested", r#"{"requestId":"r1"}"#));
        assert_eq!(state(&mut copilot), ("waiting".to_owned(), Some("permission".to_owned())));
        add(&event("abort", "{}"));
        assert_eq!(state(&mut copilot).0, "idle");
    }

    #[test]
    fn what_is_no_event_changes_nothing_and_lines_may_come_in_parts() {
        let (mut copilot, mut add) = session("parts");
        add("{]\n[]\n\n{\"type\":7}\n{\"type\":\"permission.requested\",\"data\":{\"requ");
        assert_eq!(state(&mut copilot).0, "working");
        add("estId\":\"r1\"}}\n");
        assert_eq!(state(&mut copilot).0, "waiting");
        for number in 0..100 {
            add(&event("permission.requested", &format!("{{\"requestId\":\"q{number}\"}}")));
        }
        add(&"x".repeat(3 << 20));
        for _ in 0..5 {
            copilot.state();
        }
        assert!(copilot.asked.len() <= QUESTIONS && (copilot.rest.len() as u64) < LARGEST);
    }
}
