//! The small file of a plan: what lists of plans show, so that none of them is opened.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::folder;
use crate::events::Millis;
use crate::thread::Thread;
use crate::thread::summary::Summary;

/// A plan that has a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct KeptPlan {
    pub key: String,
    pub about: Map<String, Value>,
    /// The time of its last revision or observation.
    pub modified: Millis,
    pub summary: Summary,
    /// The number of files with changes that were not reviewed.
    #[serde(default)]
    pub new: usize,
    /// The number of the newest segment, and the length of what was read of it.
    place: (u64, u64),
}

/// Most bytes of such a file that are read.
const LARGEST: u64 = 1024 * 1024;

const NAME: &str = "summary.json";

impl KeptPlan {
    pub(super) fn of(thread: &Thread, place: (u64, u64)) -> KeptPlan {
        KeptPlan {
            key: thread.key().to_owned(),
            about: thread.about().clone(),
            modified: thread.last_time(),
            summary: Summary::of(thread),
            new: thread.review.unseen_files(),
            place,
        }
    }

    /// What the file in the folder of a plan has, and whether it stands for the journal as it is.
    pub(super) fn read(folder: &Path) -> Option<(KeptPlan, bool)> {
        let bytes = crate::file::read(&folder.join(NAME), LARGEST).ok()?;
        let kept: KeptPlan = serde_json::from_slice(&bytes).ok()?;
        let (number, length) = kept.place;
        let path = match number {
            0 => folder::of_earlier_version(folder)?,
            _ => folder::segment(folder, number),
        };
        let is_current = fs::metadata(path).is_ok_and(|data| data.len() == length)
            && !folder::segment(folder, number + 1).exists();
        Some((kept, is_current))
    }
}

/// Replaces the file of a plan in its folder. If that fails, the journal is read for lists.
pub(super) fn write(folder: &Path, thread: &Thread, place: (u64, u64)) {
    let replace = || {
        folder::create(folder)?;
        let json = serde_json::to_vec(&KeptPlan::of(thread, place))?;
        let new = std::process::id().to_string();
        folder::replace(&folder.join(NAME), &new, [&json, &[]], false)
    };
    let _: io::Result<()> = replace();
}
