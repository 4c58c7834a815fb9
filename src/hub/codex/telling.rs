//! What the user says to sessions of Codex.
//!
//! Emacs has it until a session can take it: it is asked for once it is known whether a turn runs there. Then it goes
//! into that turn, where the agent reads it before its next step, or begins the next one. Edits alone begin none.
//!
//! For Emacs, a text that it gave away is told. So it is kept here until the daemon has taken it, also while the
//! daemon is away, and the user hears of one that the daemon does not take.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::client::Over;
use super::guest::{Guest, Outcome};
use super::question::Question;
use super::{Desk, Entrance, KNOWN, lock, parse};
use crate::hub::door::QUESTIONS_OF_ONE;
use crate::protocol::{Answer, Role};

/// How long a session that had nothing to hear is not asked about again, and a text is not offered again.
const REST: Duration = Duration::from_secs(2);
/// How often a text is offered.
const TRIES: u32 = 3;
/// How long a text is kept for a daemon that is away.
const LIFE: Duration = Duration::from_secs(120);
/// How long the user is told of a text that the daemon did not take.
const SHOWN: Duration = Duration::from_secs(600);

/// A call to the daemon.
pub(super) enum Call {
    /// Which turn runs in a session.
    Turn(String),
    /// Which turn runs in the session of the text of that number.
    Find(u64),
    /// The text of that number, for the turn that runs or the next one.
    Text(u64),
}

/// How far it is with each session.
#[derive(Default)]
pub(super) struct Telling {
    stages: BTreeMap<String, Stage>,
    /// What the daemon has not taken yet.
    texts: BTreeMap<u64, Text>,
    /// The number of the last text.
    last: u64,
    /// What the user is told of texts that the daemon did not take, and since when.
    lost: Vec<(Guest, Instant)>,
}

enum Stage {
    /// The daemon is asked which turn runs.
    Turn,
    /// Emacs is asked what to say, in the turn of that id if one runs, and whether that may begin a turn.
    Text(Guest, Option<String>, bool),
    /// Nothing more is asked for before that time.
    Rest(Instant),
}

/// A text that Emacs does not have any more.
struct Text {
    session: String,
    text: String,
    /// The turn that it is for.
    turn: Option<String>,
    /// Whether it may begin a turn.
    begins: bool,
    /// By which the daemon knows it, each time it is offered as a prompt.
    id: String,
    tries: u32,
    since: Instant,
    next: Next,
}

enum Next {
    /// It is offered then.
    Due(Instant),
    /// The daemon has been called.
    Called,
    /// It waits for a turn, which it may not begin.
    Held,
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
        let asked = self.stages.values();
        asked
            .filter_map(|stage| if let Stage::Text(guest, ..) = stage { Some(guest) } else { None })
            .chain(self.lost.iter().map(|(guest, _)| guest))
    }

    /// Says a text to a session, in that turn if it still runs; else it begins one if it may.
    pub(super) fn say(&mut self, session: &str, text: String, turn: Option<String>, begins: bool) {
        let held =
            self.texts.values_mut().find(|one| one.session == session && matches!(one.next, Next::Held));
        if let Some(held) = held {
            held.text = format!("{}\n{text}", held.text);
            held.turn = turn;
            held.begins |= begins;
            return held.offer();
        }
        self.last += 1;
        let (session, id, since) = (session.to_owned(), new_id(), Instant::now());
        let next = Next::Due(since);
        self.texts.insert(self.last, Text { session, text, turn, begins, id, tries: 0, since, next });
    }

    /// Notes that a session may have begun a turn.
    pub(super) fn wake(&mut self, session: &str) {
        let held = |one: &&mut Text| one.session == session && matches!(one.next, Next::Held);
        self.texts.values_mut().filter(held).for_each(Text::offer);
    }

    /// Notes that the connection to the daemon has ended, with all calls.
    pub(super) fn interrupt(&mut self) {
        self.stages.retain(|_, stage| !matches!(stage, Stage::Turn));
        for text in self.texts.values_mut().filter(|text| matches!(text.next, Next::Called)) {
            text.next = Next::Due(Instant::now());
        }
    }

    /// Takes the texts that Emacs gives, and says which ones the daemon did not take.
    pub(super) fn listen(&mut self, entrance: &Entrance) {
        self.stages.retain(|_, stage| !matches!(stage, Stage::Rest(until) if *until <= Instant::now()));
        let mut given = Vec::new();
        for (session, stage) in &mut self.stages {
            let Stage::Text(guest, turn, begins) = stage else { continue };
            guest.flush();
            let next = match guest.read() {
                Outcome::Open => continue,
                Outcome::Answered(Answer { ok: true, text, .. }) if !text.is_empty() => {
                    given.push((session.clone(), text, turn.take(), *begins));
                    None
                }
                Outcome::Answered(Answer { ok: true, .. }) if *begins && turn.is_some() => {
                    ask(entrance, session, turn.take(), false)
                }
                _ => None,
            };
            *stage = next.unwrap_or_else(rest);
        }
        for (session, text, turn, begins) in given {
            self.say(&session, text, turn, begins);
        }
        self.lost.retain_mut(|(guest, since)| {
            guest.flush();
            since.elapsed() < SHOWN && matches!(guest.read(), Outcome::Open)
        });
        let lost = &mut self.lost;
        self.texts.retain(|_, text| {
            // Without a way to the user now, it is kept.
            let guest = (text.is_lost() && lost.len() < QUESTIONS_OF_ONE).then(|| text.complain(entrance));
            let Some(Some(guest)) = guest else { return true };
            lost.push((guest, Instant::now()));
            false
        });
    }

    /// Makes the calls that are due; `call` calls the daemon.
    pub(super) fn call(
        &mut self,
        desk: &Mutex<Desk>,
        mut call: impl FnMut(&str, Value, Call) -> Result<(), Over>,
    ) -> Result<(), Over> {
        let known = lock(desk);
        let has_room = self.texts.len() < KNOWN;
        let is_busy = |session: &String| {
            let waits = |text: &Text| text.session == *session && !matches!(text.next, Next::Held);
            self.stages.contains_key(session) || self.texts.values().any(waits)
        };
        let due = known.news.intersection(&known.sessions).filter(|session| has_room && !is_busy(session));
        let due: Vec<String> = due.cloned().collect();
        let now = Instant::now();
        let is_ready = |text: &Text| {
            matches!(text.next, Next::Due(time) if time <= now)
                && !text.is_lost()
                && known.sessions.contains(&text.session)
        };
        let ready: Vec<u64> =
            self.texts.iter().filter(|(_, text)| is_ready(text)).map(|(number, _)| *number).collect();
        drop(known);
        for session in due {
            call("thread/turns/list", newest(&session), Call::Turn(session.clone()))?;
            self.stages.insert(session, Stage::Turn);
        }
        for number in ready {
            let Some(text) = self.texts.get_mut(&number) else { continue };
            text.next = Next::Called;
            match &text.turn {
                None if !text.begins => {
                    call("thread/turns/list", newest(&text.session), Call::Find(number))?;
                    continue;
                }
                None => call("thread/queue/add", text.queue(), Call::Text(number))?,
                Some(turn) => call("turn/steer", text.steer(turn), Call::Text(number))?,
            }
            text.tries += 1;
        }
        Ok(())
    }

    /// Takes the result of a call; `None` for an error.
    pub(super) fn take(
        &mut self,
        call: Call,
        result: Option<&RawValue>,
        entrance: &Entrance,
    ) -> Result<(), Over> {
        match call {
            Call::Turn(session) => {
                // Without an answer, Emacs keeps what it has.
                let running = result.map(running).transpose()?;
                let asked = running.and_then(|turn| ask(entrance, &session, turn, true));
                self.stages.insert(session, asked.unwrap_or_else(rest));
            }
            Call::Find(number) => {
                let turn = result.map(running).transpose()?.flatten();
                if let Some(text) = self.texts.get_mut(&number) {
                    text.next = if turn.is_some() { Next::Due(Instant::now()) } else { Next::Held };
                    text.turn = turn;
                }
            }
            Call::Text(number) if result.is_some() => {
                self.texts.remove(&number);
            }
            Call::Text(number) => {
                if let Some(text) = self.texts.get_mut(&number) {
                    // If it was for a turn, that has ended.
                    let pause = if text.turn.take().is_some() { Duration::ZERO } else { REST };
                    text.next = Next::Due(Instant::now() + pause);
                }
            }
        }
        Ok(())
    }
}

impl Text {
    /// Offers one that was held.
    fn offer(&mut self) {
        (self.tries, self.since) = (0, Instant::now());
        self.next = Next::Due(self.since);
    }

    /// Whether it is not offered any more.
    fn is_lost(&self) -> bool {
        match self.next {
            Next::Held => false,
            Next::Due(_) if self.tries >= TRIES => true,
            _ => self.since.elapsed() >= LIFE,
        }
    }

    /// Tells the user that Codex did not take it; `None` if that cannot be done now.
    fn complain(&self, entrance: &Entrance) -> Option<Guest> {
        let words = format!("Codex did not take this; say it in its terminal: {}", self.text);
        let arguments = Question::elsewhere(&words).arguments(None)?;
        Guest::ask(entrance, Role::Permission, &self.session, None, arguments)
    }

    /// The parameters that bring it into a turn.
    fn steer(&self, turn: &str) -> Value {
        json!({"threadId": self.session, "input": self.input(), "expectedTurnId": turn})
    }

    /// The parameters that make it the next prompt.
    fn queue(&self) -> Value {
        json!({"threadId": self.session, "input": self.input(), "clientUserMessageId": self.id,
               "responsesapiClientMetadata": null})
    }

    fn input(&self) -> Value {
        json!([{"type": "text", "text": self.text, "text_elements": []}])
    }
}

/// Asks Emacs what to say to a session: what may begin a turn, or else edits alone.
fn ask(entrance: &Entrance, session: &str, turn: Option<String>, begins: bool) -> Option<Stage> {
    let arguments = to_raw_value(&json!({"event": if begins { "Idle" } else { "Working" }})).ok()?;
    let guest = Guest::ask(entrance, Role::Note, session, None, arguments)?;
    Some(Stage::Text(guest, turn, begins))
}

fn rest() -> Stage {
    Stage::Rest(Instant::now() + REST)
}

/// The parameters that ask for the newest turn of a session.
fn newest(session: &str) -> Value {
    json!({"threadId": session, "limit": 1, "sortDirection": "desc", "itemsView": "notLoaded"})
}

/// The turn that runs.
fn running(result: &RawValue) -> Result<Option<String>, Over> {
    let turns: Turns = parse(result)?;
    let newest = turns.data.into_iter().next();
    Ok(newest.filter(|turn| turn.status == "inProgress").map(|turn| turn.id))
}

/// An id for a text. It is unique enough: it tells messages of one session apart.
fn new_id() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let number = LAST.fetch_add(1, Ordering::Relaxed) & 0xffff;
    format!(
        "{:08x}-{:04x}-4000-8000-{:08x}{number:04x}",
        (nanos >> 32) & 0xffff_ffff,
        (nanos >> 16) & 0xffff,
        std::process::id()
    )
}
