//! The files that Claude Code keeps beside a transcript `PROJECTS/PROJECT/SESSION.jsonl`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::tasks::Task;
use todo_write::events::{Millis, millis_of};
use todo_write::file::{self, modified};
use todo_write::list::raw::Raw;
use todo_write::wire::bounds::{ENTRIES, LINE, SMALL_FILE};

/// Reads a small file of JSON; `None` also if it is half written.
pub fn json<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&file::read(file, SMALL_FILE as u64).ok()?).ok()
}

/// The id of a subagent in the name of its transcript.
pub fn subagent_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")
}

/// `agent-ID.meta.json`, beside a subagent's transcript.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubagentMeta {
    pub(crate) tool_use_id: Option<String>,
    /// The subagent's task, in a few words.
    pub description: Option<String>,
    /// Whether it has returned.
    pub finished: bool,
}

impl SubagentMeta {
    pub(crate) fn path(transcript: &Path) -> PathBuf {
        transcript.with_extension("meta.json")
    }

    /// That of a subagent with this transcript.
    pub fn read(transcript: &Path) -> Option<SubagentMeta> {
        json(&SubagentMeta::path(transcript))
    }
}

/// The title that the user gave a session: `SESSION/custom-title.json`.
pub(crate) fn custom_title(transcript: &Path) -> Option<String> {
    let file: serde_json::Value = json(&transcript.with_extension("").join("custom-title.json"))?;
    Some(file.get("customTitle")?.as_str()?.to_owned())
}

/// A session's tasks and when they last changed, from `tasks/SESSION/N.json` beside `projects`.
///
/// `None` if there are no files, unless Claude Code left `.highwatermark`, the highest number, when
/// it cleared the list.
pub(crate) fn tasks(transcript: &Path) -> Option<(Vec<Task>, Option<Millis>)> {
    let projects = transcript.parent()?.parent().filter(|folder| folder.ends_with("projects"))?;
    let folder = projects.with_file_name("tasks").join(transcript.file_stem()?);
    let files = fs::read_dir(&folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut numbered: Vec<(u64, PathBuf)> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.parse().ok()?, path)))
        .take(ENTRIES)
        .collect();
    numbered.sort();
    if numbered.is_empty() && modified(&folder.join(".highwatermark")).is_none() {
        return None;
    }
    let mut left = LINE;
    let task = |(_, path): &(u64, PathBuf)| {
        let bytes = file::read(path, SMALL_FILE.min(left) as u64).ok()?;
        left -= bytes.len();
        Task::read(&serde_json::from_slice::<Raw<'_>>(&bytes).ok()?)
    };
    let tasks = numbered.iter().filter_map(task).collect();
    let times = numbered.iter().filter_map(|(_, path)| modified(path)).max();
    Some((tasks, times.and_then(millis_of)))
}
