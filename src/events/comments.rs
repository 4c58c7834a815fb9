//! What the user says to an agent, kept until the agent was told.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::events::Millis;
use crate::events::observation::Observation;
use crate::events::payload::{Fields, Update};

/// The largest number of comments of a thread that are known.
pub(crate) const MOST: usize = 1_000;

/// What the user says, perhaps of lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Comment {
    /// What the user says.
    pub text: String,
    /// The absolute name of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The number of the first line in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The lines, as a part of a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// A comment and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptComment {
    /// The number of its observation.
    pub number: u64,
    /// When it was made.
    pub timestamp: Millis,
    /// The comment.
    pub comment: Comment,
    /// Whether the agent was told, or the user has a copy to tell it.
    pub telling: Telling,
}

/// How far an agent was told of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Telling {
    /// It was not told yet.
    Untold,
    /// No message reaches it: the comment was copied for the user, who can paste it there.
    Copied,
    /// It was told.
    Told,
}

/// The comments of a thread, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Comments(VecDeque<KeptComment>);

impl Comments {
    /// Adds what an observation says of comments.
    pub(crate) fn note(&mut self, observation: &Observation) {
        let Fields::StateUpdate(Some(update)) = &observation.payload.fields else { return };
        let (numbers, told) = match update {
            Update::Comment(comment) => {
                if self.0.len() == MOST {
                    // Only a damaged journal has too many that are not told.
                    let told = self.0.iter().position(|kept| kept.telling != Telling::Untold).unwrap_or(0);
                    self.0.remove(told);
                }
                let Observation { number, timestamp, .. } = *observation;
                let (comment, telling) = (comment.clone(), Telling::Untold);
                return self.0.push_back(KeptComment { number, timestamp, comment, telling });
            }
            Update::CopiedComments(numbers) => (numbers, Telling::Copied),
            Update::ToldComments(numbers) => (numbers, Telling::Told),
            _ => return,
        };
        for kept in self.0.iter_mut().filter(|kept| numbers.contains(&kept.number)) {
            kept.telling = told;
        }
    }

    /// Whether a further one would be lost, or another one, since the agent was told of none.
    pub(crate) fn are_full(&self) -> bool {
        self.0.len() == MOST && self.0.iter().all(|kept| kept.telling == Telling::Untold)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &KeptComment> {
        self.0.iter()
    }
}
