//! The result text for the model: short, plain, and only what it can act on.

use std::sync::Arc;

use crate::error::Problem;
use crate::list::change::{Change, ChangeKind};
use crate::list::input::{WHOLE_LIST, suggest_part};
use crate::list::item::{Item, Status};
use crate::list::merge::Conflict;
use crate::text::excerpt;

/// The number of names, problems and edits listed; the others are counted.
const LISTED: usize = 10;

/// The result of an accepted write: counts, the current task, notices, unfinished items that
/// vanished, and the user's edits since the agent's last view with their conflicts.
pub fn accepted(
    list: &[Arc<Item>],
    changes: &[Change<Arc<Item>>],
    notices: &[String],
    edits: &[Change<Arc<Item>>],
    conflicts: &[Conflict],
) -> String {
    let mut lines = vec![summary(list)];
    lines.extend(notices.iter().map(|notice| format!("Note: {notice}.")));
    let removals = changes.iter().filter(|change| change.kind == ChangeKind::Removed && !change.cancelled);
    let vanished = removals.filter_map(|change| change.previous_item.as_ref());
    let vanished: Vec<String> =
        vanished.filter(|item| item.status.is_open()).map(|item| quoted(&item.content)).collect();
    if !vanished.is_empty() {
        let them = if vanished.len() == 1 { "it" } else { "them" };
        lines.push(format!(
            "Dropped while unfinished: {}. To bring {them} back, send {them} again.",
            listed(&vanished)
        ));
    }
    lines.extend(edited(edits));
    lines.extend(bounded(conflicts.iter().map(conflict).collect()));
    lines.join("\n")
}

/// The user's edits, a sentence each.
pub fn edited(edits: &[Change<Arc<Item>>]) -> Vec<String> {
    bounded(edits.iter().filter_map(edit).collect())
}

/// The reminder of the user's items: `Still open, added by the user: "Ship it".`
pub(crate) fn still_open(items: &[Arc<Item>]) -> String {
    let names: Vec<String> = items.iter().map(|item| quoted(&item.content)).collect();
    format!("Still open, added by the user: {}.", listed(&names))
}

/// The beginning of the result of a refused write.
pub const REFUSED: &str = "Refused; the task list is unchanged.";

/// The result of a refused write: its problems, the first ten in full.
pub fn refused(problems: &[Problem]) -> String {
    let mut lines = vec![REFUSED.to_owned()];
    lines.extend(bounded(problems.iter().map(|problem| format!("{problem}.")).collect()));
    let text = lines.join("\n");
    if suggest_part(problems) { format!("{text} {WHOLE_LIST}") } else { text }
}

/// Why a write was refused, in a few words for the user: `status "blocked"`.
pub(crate) fn refusal(problems: &[Problem]) -> String {
    let Some((first, others)) = problems.split_first() else { return String::new() };
    let field = first.path.rsplit('.').next().unwrap_or_default();
    let reason = excerpt(&format!("{field} {}", first.received), 120);
    match others.len() {
        0 => reason,
        more => format!("{reason}, and {more} more problem{}", if more == 1 { "" } else { "s" }),
    }
}

/// The counts and the current task: `2/4 tasks completed. Current: Converting callbacks.`
pub fn summary(list: &[Arc<Item>]) -> String {
    if list.is_empty() {
        return "The task list is empty.".into();
    }
    let done = list.iter().filter(|item| !item.status.is_open()).count();
    let tasks = if list.len() == 1 { "task" } else { "tasks" };
    let current = list.iter().find(|item| item.status == Status::InProgress);
    let mut text = format!("{done}/{} {tasks} completed.", list.len());
    if let Some(item) = current {
        text.extend([" Current: ", &excerpt(&item.active_form, 80), "."]);
    }
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", excerpt(text, 80))
}

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(LISTED);
    if more > 0 {
        lines.truncate(LISTED);
        lines.push(format!("And {more} more."));
    }
    lines
}

/// The line about one edit of the user.
fn edit(change: &Change<Arc<Item>>) -> Option<String> {
    let (item, previous) = (change.item.as_ref(), change.previous_item.as_ref());
    let line = match (change.kind, item, previous) {
        (ChangeKind::Added, Some(item), _) => format!("added {} ({})", quoted(&item.content), item.status),
        (ChangeKind::Modified, Some(item), Some(previous)) if item.content != previous.content => {
            let status = match item.status {
                status if status == previous.status => String::new(),
                status => format!(" and set it to {status}"),
            };
            format!("renamed {} to {}{status}", quoted(&previous.content), quoted(&item.content))
        }
        (ChangeKind::StatusChanged | ChangeKind::Modified, Some(item), _) => {
            format!("set {} to {}", quoted(&item.content), item.status)
        }
        (ChangeKind::Removed, _, Some(previous)) => format!("deleted {}", quoted(&previous.content)),
        (ChangeKind::Reordered, ..) => {
            format!("moved task {} to place {}", change.previous_position? + 1, change.position? + 1)
        }
        _ => return None,
    };
    Some(format!("The user {line}."))
}

fn conflict(conflict: &Conflict) -> String {
    match conflict {
        Conflict::Field(item) => {
            format!("You and the user both changed {}; the user's version stands.", quoted(&item.content))
        }
        Conflict::Deleted(item) => format!("{} stays deleted, as the user wants.", quoted(&item.content)),
        Conflict::Dropped(item) => {
            format!("{} stays in the list: the user changed it.", quoted(&item.content))
        }
    }
}
