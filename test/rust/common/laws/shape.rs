//! A decoded tree reads the same as its JSON text.

use std::borrow::Cow;

use arbitrary::{Result, Unstructured};
use todo_write::list::input::{Options, SeveralInProgress, read, read_text};
use todo_write::list::raw::Raw;

use super::input::{check, options, strict_accepts_what_needs_no_notice};

const KEYS: [&str; 12] = [
    "content",
    "status",
    "activeForm",
    "active_form",
    "priority",
    "id",
    "description",
    "title",
    "step",
    "todos",
    "",
    "details",
];
const TEXTS: [&str; 16] = [
    "pending",
    "in_progress",
    "completed",
    "Done",
    " doing ",
    "blocked",
    "high",
    "LOW",
    "todo-3",
    "task_a",
    "Mend the parser",
    "",
    " \u{200b}",
    "a\nb\u{7}",
    "\u{1b}[31m第一",
    "null",
];

/// The first byte selects the user's options, the rest is the tree.
pub fn holds(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let options = options(data.arbitrary().unwrap_or_default());
    let tree = input(&mut data).unwrap_or(Raw::Null);
    let decoded = read(&tree, &options);
    check(&decoded, &options);
    let text = tree.to_json().to_string();
    assert_eq!(read_text(&text, &options), decoded, "{tree:?}");
    let lenient = Options { several_in_progress: SeveralInProgress::Allow, ..options };
    strict_accepts_what_needs_no_notice(&text, &lenient);
}

type Tree = Raw<'static>;

/// A tree that usually resembles a call.
fn input(data: &mut Unstructured<'_>) -> Result<Tree> {
    if data.ratio(1, 16)? {
        return value(data, 3);
    }
    let todos = if data.ratio(1, 16)? { value(data, 3)? } else { list(data, entry)? };
    let mut fields = vec![(Cow::Borrowed("todos"), todos)];
    if data.ratio(1, 16)? {
        fields.push((Cow::Borrowed("extra"), value(data, 1)?));
    }
    Ok(Raw::Object(fields))
}

fn entry(data: &mut Unstructured<'_>) -> Result<Tree> {
    if data.ratio(1, 32)? {
        return value(data, 2);
    }
    let mut fields = Vec::new();
    for (key, usual) in [("content", "Ship it"), ("status", "pending"), ("activeForm", "Shipping it")] {
        match data.int_in_range(0..=15)? {
            0 => {}
            1 => fields.push((key.into(), value(data, 1)?)),
            2..=8 => fields.push((key.into(), text(data)?)),
            _ => fields.push((key.into(), Raw::Text(usual.into()))),
        }
    }
    while !data.is_empty() && data.ratio(1, 4)? {
        let key = *data.choose(&KEYS)?;
        if fields.iter().all(|(known, _)| known != key) {
            fields.push((key.into(), value(data, 1)?));
        }
    }
    Ok(Raw::Object(fields))
}

fn value(data: &mut Unstructured<'_>, depth: usize) -> Result<Tree> {
    Ok(match data.int_in_range(0..=if depth == 0 { 5 } else { 7 })? {
        0 => Raw::Null,
        1 => Raw::Bool(data.arbitrary()?),
        2 => Raw::Number(data.arbitrary::<i64>()?.into()),
        3 => Raw::Number(data.arbitrary::<u64>()?.into()),
        4 | 5 => text(data)?,
        6 => list(data, |data| value(data, depth - 1))?,
        _ => {
            let mut fields: Vec<(Cow<'static, str>, Tree)> = Vec::new();
            while fields.len() < KEYS.len() && data.ratio(1, 2)? {
                let key = KEYS[fields.len()];
                fields.push((key.into(), value(data, depth - 1)?));
            }
            Raw::Object(fields)
        }
    })
}

fn text(data: &mut Unstructured<'_>) -> Result<Tree> {
    let text = if data.ratio(1, 4)? { data.arbitrary::<&str>()? } else { *data.choose(&TEXTS)? };
    Ok(Raw::Text(text.to_owned().into()))
}

fn list(
    data: &mut Unstructured<'_>,
    mut each: impl FnMut(&mut Unstructured<'_>) -> Result<Tree>,
) -> Result<Tree> {
    let mut values = Vec::new();
    while values.len() < 40 && data.ratio(3, 4)? {
        values.push(each(data)?);
    }
    Ok(Raw::List(values))
}
