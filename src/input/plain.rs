//! The shape in which nearly every call arrives, read in one pass and without a tree: tasks with
//! the three keys of the schema, and nothing about them to be said. Whatever is not that is left
//! to [`super::read`], which reads anything.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::{Options, Plan, in_progress};
use crate::item::{Draft, Status};
use crate::text::{is_blank, one_line};

/// The plan, if it is as plain as that.
pub fn read<'a>(text: &'a str, options: &Options) -> Option<Plan<'a>> {
    let Call(drafts) = serde_json::from_str(text).ok()?;
    // As many bytes are never fewer characters.
    let is_short = |text: &str| text.len() <= options.max_length;
    let fits = drafts.len() <= options.max_items
        && in_progress(&drafts) < 2
        && drafts.iter().all(|draft| is_short(&draft.content) && is_short(&draft.active_form));
    fits.then(|| Plan { drafts, notices: Vec::new() })
}

/// An object with `todos` alone. Not derived, and neither is [`Task`]: derived ones take arrays
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
        match access.next_entry::<&str, Vec<Task<'de>>>()? {
            Some(("todos", tasks)) if access.next_key::<&str>()?.is_none() => {
                Ok(Call(tasks.into_iter().map(|Task(draft)| draft).collect()))
            }
            _ => Err(unlike()),
        }
    }
}

struct Task<'a>(Draft<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Task<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TaskVisitor)
    }
}

struct TaskVisitor;

impl<'de> Visitor<'de> for TaskVisitor {
    type Value = Task<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain task")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Task<'de>, A::Error> {
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
                Ok(Task(Draft { content, status, active_form, priority: None, hint: None }))
            }
            _ => Err(unlike()),
        }
    }
}

/// A text that is not blank, on one line, of which nothing but white space was dropped.
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
        let (line, dropped) = one_line(text);
        if dropped || is_blank(&line) { Err(unlike()) } else { Ok(Line(line)) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Line<'de>, E> {
        let (line, dropped) = one_line(text);
        if dropped || is_blank(&line) { Err(unlike()) } else { Ok(Line(Cow::Owned(line.into_owned()))) }
    }
}

/// Nobody reads it: the call is read again as what it is.
fn unlike<E: Error>() -> E {
    E::custom("not plain")
}
