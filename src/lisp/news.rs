//! What Lisp is told of the program, as `todo-write-dyn--feed' returns it.

use serde::{Serialize, Serializer};

use super::shown::{self, ShownSummary};
use crate::journal::store::Changed;
use crate::thread::Outcome;
use crate::wire::program::{Message, SessionId};

/// One of the news: a message of the program, unless the module has made something else of it.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum News {
    Read {
        session: SessionId,
        thread: Option<String>,
        skipped: u64,
        warnings: Vec<String>,
        updates: Vec<Update>,
    },
    Progress(SessionId, Option<String>, Option<u64>),
    Changed(Vec<Changed>),
    Refused(String),
    #[serde(untagged)]
    Message(Message),
}

impl News {
    /// The session that it is about, if it is about one.
    pub(super) fn session(&self) -> Option<SessionId> {
        match self {
            News::Read { session, .. } | News::Progress(session, ..) => Some(*session),
            News::Message(message) => message.session(),
            _ => None,
        }
    }
}

/// The update of a thread by a transcript.
#[derive(Serialize)]
pub(super) struct Update {
    pub(super) thread: String,
    pub(super) outcome: Option<UpdateOutcome>,
}

/// An outcome, and the summary of its thread.
pub(super) struct UpdateOutcome(pub(super) Outcome, pub(super) ShownSummary);

impl Serialize for UpdateOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        shown::outcome(&self.0, &self.1, &[]).serialize(serializer)
    }
}
