//! Lists as plain text, whose words the fuzzer can change, and the invariants of a list.
//!
//! A line is a task: its status (` `, `-` or `x`), its content, and, after tabs, its activeForm and
//! its id. An empty line starts the next list.

use std::collections::HashSet;
use std::sync::Arc;

use todo_write::list::item::{Draft, Item, Status};
use todo_write::text::{is_blank, one_line};

/// The maximum number of lines. More make a law slow and find no more mistakes.
const MOST: usize = 200;

/// The lists in a text; the first may be empty.
pub fn read(data: &[u8]) -> Vec<Vec<Draft>> {
    let text = String::from_utf8_lossy(data);
    let mut lists = vec![Vec::new()];
    for line in text.lines().take(MOST) {
        match draft(line) {
            Some(draft) => push(lists.last_mut().unwrap(), draft),
            None => lists.push(Vec::new()),
        }
    }
    lists
}

/// Adds a task, without its explicit id if an earlier task has that id: a valid write repeats none.
fn push(list: &mut Vec<Draft>, mut draft: Draft) {
    draft.hint = draft.hint.filter(|id| list.iter().all(|known| known.hint.as_ref() != Some(id)));
    list.push(draft);
}

fn draft(line: &str) -> Option<Draft> {
    let mut parts = line.split('\t');
    let first = parts.next()?;
    let (status, content) = match first.chars().next()? {
        '-' => (Status::InProgress, &first[1..]),
        'x' => (Status::Completed, &first[1..]),
        _ => (Status::Pending, first),
    };
    let said = |text: &str| {
        let line = one_line(text).0.into_owned();
        (!is_blank(&line)).then_some(line)
    };
    let content = said(content)?;
    let active_form = parts.next().and_then(said).unwrap_or_else(|| content.clone());
    let hint = parts.next().and_then(said);
    Some(Draft { hint, content, status, active_form, ..Draft::default() })
}

/// The lists as a text for [`read`].
pub fn write(lists: &[Vec<Draft>]) -> String {
    let mark = |status| match status {
        Status::Pending => ' ',
        Status::InProgress => '-',
        Status::Completed => 'x',
    };
    let line = |draft: &Draft| {
        let hint = draft.hint.as_deref().unwrap_or_default();
        format!("{}{}\t{}\t{hint}\n", mark(draft.status), draft.content, draft.active_form)
    };
    let lists: Vec<String> = lists.iter().map(|list| list.iter().map(line).collect()).collect();
    lists.join("\n")
}

/// All ids are different.
pub fn assert_unique(list: &[Arc<Item>]) {
    let mut seen = HashSet::new();
    for item in list {
        assert!(seen.insert(&item.id), "{} comes twice in {list:?}", item.id);
    }
}
