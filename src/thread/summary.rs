//! What a line about a plan shows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::activity::{Ending, PROCESS_ENDED};
use super::{State, Thread};
use crate::events::session::{Cost, Goal};
use crate::list::item::Item;

/// A summary of a thread, without its list.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub revision: u64,
    /// The number of completed items, and of all but those in `yours`.
    pub completed: usize,
    pub total: usize,
    /// The number of the user's items that the agent cannot be told of.
    pub yours: usize,
    pub current: Option<Arc<Item>>,
    pub state: State,
    pub title: Option<String>,
    /// The first line of the first prompt.
    pub prompt: Option<String>,
    pub reason: Option<String>,
    pub ending: Option<Ending>,
    /// What was wrong with the agent's last list, if that was refused.
    pub refused: Option<String>,
    pub goal: Option<Goal>,
    /// How full the context is, in percent, and the number of tokens in it.
    pub context: Option<u64>,
    pub context_tokens: Option<u64>,
    pub cost: Option<String>,
}

impl Summary {
    /// The current summary of a thread.
    pub fn of(thread: &Thread) -> Summary {
        let (list, yours) = (thread.list(), thread.untold());
        let context = thread.session().context;
        Summary {
            revision: thread.revisions().last(),
            completed: list.iter().filter(|item| !item.status.is_open()).count(),
            total: list.len() - yours,
            yours,
            current: thread.current().cloned(),
            state: thread.state(),
            title: thread.title().map(str::to_owned),
            prompt: thread.first_prompt(),
            reason: thread.pause_reason().map(str::to_owned),
            ending: thread.ending(),
            refused: thread.refused.clone(),
            goal: thread.session().goal().cloned(),
            context: context.and_then(|context| context.percent()),
            context_tokens: context.map(|context| context.tokens),
            cost: thread.session().cost.as_ref().map(Cost::to_string),
        }
    }

    /// The summary once the Emacs that wrote the plan has ended; see [`Thread::end_process`].
    pub(crate) fn end_process(&mut self) {
        if self.state == State::Active {
            (self.state, self.reason) = (State::Paused, Some(PROCESS_ENDED.to_owned()));
        }
    }
}
