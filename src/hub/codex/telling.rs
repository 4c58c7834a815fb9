//! What the user says to sessions of Codex.
//!
//! Emacs has it until a session can take it: it is asked for once it is known whether a turn runs there. Then it goes
//! into that turn, where the agent reads it before its next step, or begins the next one.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::client::Over;
use super::guest::{Guest, Outcome};
use super::{Desk, Entrance, lock, parse};
use crate::protocol::{Answer, Role};

/// How long a session that had nothing to hear is not asked about again.
const REST: Duration = Duration::from_secs(2);

/// A call to the daemon.
pub(super) enum Call {
    /// Which turn runs in a session.
    Turn(String),
    /// A text for the turn that runs in a session.
    Steer(String, String),
    /// A text for the next turn.
    Queue,
}

/// How far it is with each session.
#[derive(Default)]
pub(super) struct Telling(BTreeMap<String, Stage>);

enum Stage {
    /// The daemon is asked which turn runs.
    Turn,
    /// Emacs is asked what to say, in the turn of that id if one runs.
    Text(Guest, Option<String>),
    /// Nothing more is asked for before that time.
    Rest(Instant),
}

#[derive(Deserialize)]
struct Turns {
    data: Vec<Turn>,
}

#[derive(Deserialize)]
struct Turn {
    id: String,
    status: String,
}

impl Telling {
    /// The questions to Emacs.
    pub(super) fn guests(&self) -> impl Iterator<Item = &Guest> {
        self.0.values().filter_map(|stage| if let Stage::Text(guest, _) = stage { Some(guest) } else { None })
    }

    /// Does what can be done; `call` calls the daemon.
    pub(super) fn advance(
        &mut self,
        desk: &Mutex<Desk>,
        mut call: impl FnMut(&str, Value, Call) -> Result<(), Over>,
    ) -> Result<(), Over> {
        self.0.retain(|_, stage| !matches!(stage, Stage::Rest(until) if *until <= Instant::now()));
        let known = lock(desk);
        let due = known.news.intersection(&known.sessions).filter(|session| !self.0.contains_key(*session));
        let due: Vec<String> = due.cloned().collect();
        drop(known);
        for session in due {
            let params =
                json!({"threadId": session, "limit": 1, "sortDirection": "desc", "itemsView": "notLoaded"});
            call("thread/turns/list", params, Call::Turn(session.clone()))?;
            self.0.insert(session, Stage::Turn);
        }
        for (session, stage) in &mut self.0 {
            let Stage::Text(guest, turn) = stage else { continue };
            guest.flush();
            match guest.read() {
                Outcome::Open => continue,
                Outcome::Answered(Answer { ok: true, text, .. }) if !text.is_empty() => match turn {
                    Some(turn) => {
                        let params = steer(session, &text, turn);
                        call("turn/steer", params, Call::Steer(session.clone(), text))?;
                    }
                    None => call("thread/queue/add", queue(session, &text), Call::Queue)?,
                },
                _ => {}
            }
            *stage = Stage::Rest(Instant::now() + REST);
        }
        Ok(())
    }

    /// Takes the result of a call; returns a call that is to be made next.
    pub(super) fn take(
        &mut self,
        call: Call,
        result: Option<&RawValue>,
        entrance: &Entrance,
    ) -> Result<Option<(&'static str, Value, Call)>, Over> {
        match (call, result) {
            (Call::Turn(session), result) => {
                let turns: Option<Turns> = result.map(parse).transpose()?;
                let newest = turns.and_then(|turns| turns.data.into_iter().next());
                let turn = newest.filter(|turn| turn.status == "inProgress").map(|turn| turn.id);
                let event = if turn.is_some() { "Working" } else { "Idle" };
                let arguments = to_raw_value(&json!({"event": event})).ok();
                let guest = arguments
                    .and_then(|arguments| Guest::ask(entrance, Role::Note, &session, None, arguments));
                let rest = Stage::Rest(Instant::now() + REST);
                self.0.insert(session, guest.map_or(rest, |guest| Stage::Text(guest, turn)));
                Ok(None)
            }
            // That turn has ended. Emacs does not have the text any more.
            (Call::Steer(session, text), None) => {
                Ok(Some(("thread/queue/add", queue(&session, &text), Call::Queue)))
            }
            (Call::Steer(..), Some(_)) | (Call::Queue, _) => Ok(None),
        }
    }
}

fn input(text: &str) -> Value {
    json!([{"type": "text", "text": text, "text_elements": []}])
}

/// The parameters that bring a text into the turn of a session.
pub(super) fn steer(session: &str, text: &str, turn: &str) -> Value {
    json!({"threadId": session, "input": input(text), "expectedTurnId": turn})
}

/// The parameters that make a text the next prompt of a session.
fn queue(session: &str, text: &str) -> Value {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let number = LAST.fetch_add(1, Ordering::Relaxed) & 0xffff;
    // Unique enough: it tells messages of one session apart.
    let id = format!(
        "{:08x}-{:04x}-4000-8000-{:08x}{number:04x}",
        (nanos >> 32) & 0xffff_ffff,
        (nanos >> 16) & 0xffff,
        std::process::id()
    );
    json!({"threadId": session, "input": input(text), "clientUserMessageId": id,
           "responsesapiClientMetadata": null})
}
