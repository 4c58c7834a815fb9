//! What the user says to an agent, kept until the agent was told.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::events::Millis;
use crate::events::observation::Observation;
use crate::events::payload::{Metadata, Type};

/// The largest number of comments of a thread that are known.
const MOST: usize = 1_000;

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
    pub timestamp: Millis,
    pub comment: Comment,
    /// Whether the agent was told, or the user has a copy to tell it.
    pub telling: Telling,
}

/// How far an agent was told of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Telling {
    Untold,
    /// No message reaches it: the comment was copied for the user, who can paste it there.
    Copied,
    Told,
}

/// The comments of a thread, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Comments(VecDeque<KeptComment>);

impl Comments {
    /// Adds what an observation says of comments.
    pub(crate) fn note(&mut self, observation: &Observation) {
        let Observation { number, timestamp, payload, .. } = observation;
        if payload.kind != Type::StateUpdate {
            return;
        }
        if let Some(comment) = &payload.metadata.comment {
            if self.0.len() == MOST {
                let told = self.0.iter().position(|kept| kept.telling != Telling::Untold).unwrap_or(0);
                self.0.remove(told);
            }
            let (comment, telling) = (comment.clone(), Telling::Untold);
            self.0.push_back(KeptComment { number: *number, timestamp: *timestamp, comment, telling });
        }
        let Metadata { told_comments, copied_comments, .. } = &payload.metadata;
        for (numbers, telling) in [(copied_comments, Telling::Copied), (told_comments, Telling::Told)] {
            let is_meant = |kept: &&mut KeptComment| numbers.iter().flatten().any(|one| *one == kept.number);
            self.0.iter_mut().filter(is_meant).for_each(|kept| kept.telling = telling);
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &KeptComment> {
        self.0.iter()
    }
}
