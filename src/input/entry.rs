//! One task as it came, its keys sorted.

use std::borrow::Cow;

use crate::raw::Raw;
use crate::text::{excerpt, is_blank};

/// Keys that models send in place of `content`, the first one wins. A description often says more
/// than the task, so it comes last.
const ALIASES: [&str; 5] = ["step", "text", "subject", "title", "description"];

/// The keys of one task, sorted by what they mean here.
#[derive(Default)]
pub struct Entry<'r, 'a> {
    /// `content`.
    pub content: Option<&'r Raw<'a>>,
    /// What stands in for it, and under which key.
    pub alias: Option<(&'static str, &'r Raw<'a>)>,
    /// `status`.
    pub status: Option<&'r Raw<'a>>,
    /// `activeForm`.
    pub active_form: Option<&'r Raw<'a>>,
    /// `active_form`.
    pub active_form_alias: Option<&'r Raw<'a>>,
    /// `id`.
    pub id: Option<&'r Raw<'a>>,
    /// `priority`.
    pub priority: Option<&'r Raw<'a>>,
    /// All other keys.
    pub unknown: Vec<&'r str>,
}

impl<'r, 'a> Entry<'r, 'a> {
    /// Sorts the keys of an object.
    pub fn sort(fields: &'r [(Cow<'a, str>, Raw<'a>)]) -> Entry<'r, 'a> {
        let mut entry = Entry::default();
        for (key, value) in fields {
            match key.as_ref() {
                "content" => entry.content = Some(value),
                "status" => entry.status = Some(value),
                "activeForm" => entry.active_form = Some(value),
                "active_form" => entry.active_form_alias = Some(value),
                "id" => entry.id = Some(value),
                "priority" => entry.priority = Some(value),
                other => entry.unknown.push(other),
            }
        }
        if entry.active_form.is_some() && entry.active_form_alias.is_some() {
            entry.unknown.push("active_form");
        }
        if entry.content.is_none() {
            let value = |alias| fields.iter().rev().find(|(key, _)| key == alias).map(|(_, value)| value);
            entry.alias = ALIASES.into_iter().find_map(|alias| Some((alias, value(alias)?)));
            if let Some((alias, _)) = entry.alias {
                entry.unknown.retain(|key| *key != alias);
            }
        }
        entry
    }
}

/// An explicit id, where it is one.
pub fn hint(value: &Raw<'_>) -> Option<String> {
    match value {
        Raw::Text(text) if !is_blank(text) => Some(excerpt(text, 200)),
        Raw::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
