//! The shape in which nearly every call arrives, read in one pass and without a tree: tasks with
//! the three keys of the schema, and nothing about them to be said. Whatever is not that is left
//! to [`super::read`], which reads anything.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::{Options, Plan, Task, in_progress};
use crate::item::{Draft, Status};
use crate::text::{is_blank, one_line};

/// The plan of a text, if it is as plain as that.
pub fn read<'a>(text: &'a str, options: &Options) -> Option<Plan<'a>> {
    let Call(drafts) = serde_json::from_str(text).ok()?;
    plan(drafts, options)
}

/// The plan of tasks that are known to have no other key.
pub fn read_tasks<'a>(tasks: &[Task<'a>], options: &Options) -> Option<Plan<'a>> {
    plan(tasks.iter().map(draft).collect::<Option<_>>()?, options)
}

fn plan<'a>(drafts: Vec<Draft<'a>>, options: &Options) -> Option<Plan<'a>> {
    // As many bytes are never fewer characters.
    let is_short = |text: &str| text.len() <= options.max_length;
    let fits = drafts.len() <= options.max_items
        && in_progress(&drafts) < 2
        && drafts.iter().all(|draft| is_short(&draft.content) && is_short(&draft.active_form));
    fits.then(|| Plan { drafts, notices: Vec::new() })
}

fn draft<'a>(task: &Task<'a>) -> Option<Draft<'a>> {
    Some(Draft {
        content: line(task.content)?,
        status: Status::parse(task.status)?,
        active_form: line(task.active_form)?,
        priority: None,
        hint: None,
    })
}

/// A text that is not blank, on one line, of which nothing but white space was dropped.
fn line(text: &str) -> Option<Cow<'_, str>> {
    let (line, dropped) = one_line(text);
    (!dropped && !is_blank(&line)).then_some(line)
}

/// An object with `todos` alone. Not derived, and neither is [`Entry`]: derived ones take arrays
/// for objects.
struct Call<'a>(Vec<Draft<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Call<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CallVisitor)
    }
}

struct CallVisitor;

impl<'de> Visitor<'de> for CallVisitor {
    type Value = Call<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain call")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Call<'de>, A::Error> {
        match access.next_entry::<&str, Vec<Entry<'de>>>()? {
            Some(("todos", entries)) if access.next_key::<&str>()?.is_none() => {
                Ok(Call(entries.into_iter().map(|Entry(draft)| draft).collect()))
            }
            _ => Err(unlike()),
        }
    }
}

struct Entry<'a>(Draft<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Entry<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain task")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Entry<'de>, A::Error> {
        let (mut content, mut status, mut active_form) = (None, None, None);
        while let Some(key) = access.next_key::<&str>()? {
            let is_first = match key {
                "content" => content.replace(access.next_value::<Line<'de>>()?).is_none(),
                "activeForm" => active_form.replace(access.next_value::<Line<'de>>()?).is_none(),
                "status" => status.replace(access.next_value::<&str>()?).is_none(),
                _ => false,
            };
            if !is_first {
                return Err(unlike());
            }
        }
        match (content, status.and_then(Status::parse), active_form) {
            (Some(Line(content)), Some(status), Some(Line(active_form))) => {
                Ok(Entry(Draft { content, status, active_form, priority: None, hint: None }))
            }
            _ => Err(unlike()),
        }
    }
}

/// See [`line`].
struct Line<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Line<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(LineVisitor)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Line<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Line<'de>, E> {
        line(text).map(Line).ok_or_else(unlike)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Line<'de>, E> {
        line(text).map(|line| Line(Cow::Owned(line.into_owned()))).ok_or_else(unlike)
    }
}

/// Nobody reads it: the call is read again as what it is.
fn unlike<E: Error>() -> E {
    E::custom("not plain")
}
