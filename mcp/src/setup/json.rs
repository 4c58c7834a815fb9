//! Changes to JSON settings of other programs. Only what changes is touched: the order, unknown members,
//! numbers, blanks and line breaks of the rest stay byte by byte.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// One setting, by its path of keys.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The keys from the top to the member.
    pub path: Vec<&'static str>,
    /// What the member must be.
    pub goal: Goal,
}

/// What a member must be.
#[derive(Clone, Debug)]
pub enum Goal {
    /// This value.
    Is(Value),
    /// An array with at least these strings.
    Has(Vec<&'static str>),
    /// An array with this group of hooks, whose only hook runs this program. One that does so already is
    /// replaced; the other hooks of its group stay.
    Hook(Value),
}

impl Edit {
    /// The member at PATH is VALUE.
    pub fn is(path: &[&'static str], value: Value) -> Edit {
        Edit { path: path.to_vec(), goal: Goal::Is(value) }
    }

    /// The array at PATH has STRINGS.
    pub fn has(path: &[&'static str], strings: &[&'static str]) -> Edit {
        Edit { path: path.to_vec(), goal: Goal::Has(strings.to_vec()) }
    }

    /// The array at PATH has VALUE, an object that runs this program.
    pub fn hook(path: &[&'static str], value: Value) -> Edit {
        Edit { path: path.to_vec(), goal: Goal::Hook(value) }
    }
}

/// Whether HOOK, JSON, runs this program: the first word of its command is that, in any folder.
fn is_ours(hook: &str) -> bool {
    let command = serde_json::from_str::<Value>(hook).ok().map(|hook| hook["command"].clone());
    let Some(Value::String(command)) = command else { return false };
    let name = Path::new(&first_word(&command)).file_name().map(ToOwned::to_owned);
    name.is_some_and(|name| name == "todo-write-mcp" || name == "todo-write-mcp.exe")
}

/// The first word of COMMAND, of which a shell would take the quotes away.
fn first_word(command: &str) -> String {
    let (mut word, mut quote, mut letters) = (String::new(), None, command.trim_start().chars());
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(end)) if letter == end => quote = None,
            ('\\', None) => word.extend(letters.next()),
            (letter, None) if letter.is_whitespace() => break,
            (letter, _) => word.push(letter),
        }
    }
    word
}

/// The hooks of GROUP, JSON, each as it stands in the text.
fn hooks(group: &str) -> Vec<&str> {
    find(group, &["hooks"]).and_then(elements).unwrap_or_default()
}

/// TEXT, an object or blank, with EDITS. The error is a clause that says what TEXT is not and where.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut text = checked(text)?;
    for edit in edits {
        text = with(&text, edit)?;
    }
    Ok(text)
}

/// TEXT without what EDITS put there, and without objects and arrays that become empty by that.
pub fn undo(text: &str, edits: &[Edit]) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let mut text = checked(text)?;
    for edit in edits {
        text = without(&text, edit);
    }
    Ok(text)
}

/// The value at PATH in TEXT, if TEXT is an object that has it.
pub fn value(text: &str, path: &[&str]) -> Option<Value> {
    serde_json::from_str(find(text, path)?).ok()
}

fn checked(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Ok("{}\n".to_owned());
    }
    match serde_json::from_str::<&RawValue>(text) {
        // Its own words may quote the text.
        Err(error) => Err(format!(
            "is not plain JSON at line {}, column {}; comments and trailing commas are not",
            error.line(),
            error.column()
        )),
        Ok(_) if members(text).is_none() => Err("is not a JSON object".to_owned()),
        Ok(_) => Ok(text.to_owned()),
    }
}

/// The members of an object, in order, each value as it stands in the text.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object).map(Members)
    }
}

fn members(object: &str) -> Option<Vec<(String, &str)>> {
    let Members(members) = serde_json::from_str(object).ok()?;
    Some(members.into_iter().map(|(key, value)| (key, value.get())).collect())
}

/// The value of KEY. As everywhere, the last of several counts.
fn get<'a>(members: &[(String, &'a str)], key: &str) -> Option<&'a str> {
    members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
}

/// The text of the value at PATH.
fn find<'a>(text: &'a str, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(text.trim(), |object, key| get(&members(object)?, key))
}

/// The elements of an array, each as it stands in the text.
fn elements(array: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

fn with(text: &str, Edit { path, goal }: &Edit) -> Result<String, String> {
    let mut object = text.trim();
    for (depth, key) in path.iter().enumerate() {
        let members = members(object)
            .ok_or_else(|| format!("has a member {} that is not an object", path[..depth].join(".")))?;
        let Some(value) = get(&members, key) else {
            let last = members.last().map(|(_, value)| *value);
            let value = match goal {
                Goal::Is(value) => value.clone(),
                Goal::Has(strings) => strings.iter().copied().collect(),
                Goal::Hook(value) => Value::Array(vec![value.clone()]),
            };
            let value = path[depth + 1..].iter().rfold(value, |value, key| serde_json::json!({*key: value}));
            let style = Style::of(text);
            let member = format!("{}: {}", Value::from(*key), style.pretty(&value, depth + 1));
            return Ok(inserted(text, object, last, &[member], depth + 1, &style));
        };
        object = value;
    }
    match goal {
        Goal::Is(value) if serde_json::from_str::<Value>(object).ok().as_ref() == Some(value) => {
            Ok(text.to_owned())
        }
        Goal::Is(value) => Ok(replaced(text, object, &Style::of(text).pretty(value, path.len()))),
        Goal::Hook(value) => {
            let present = elements(object)
                .ok_or_else(|| format!("has a member {} that is not an array", path.join(".")))?;
            let style = Style::of(text);
            let new = style.pretty(value, path.len() + 1);
            Ok(match present.iter().find(|group| hooks(group).into_iter().any(is_ours)) {
                Some(group) if value_is(group, value) => text.to_owned(),
                Some(group) => match hooks(group)[..] {
                    [_] => replaced(text, group, &new),
                    ref hooks => {
                        let ours = hooks.iter().find(|hook| is_ours(hook)).copied().unwrap_or_default();
                        let goal = &value["hooks"][0];
                        let new = style.pretty(goal, path.len() + 3);
                        if value_is(ours, goal) { text.to_owned() } else { replaced(text, ours, &new) }
                    }
                },
                None => inserted(text, object, present.last().copied(), &[new], path.len() + 1, &style),
            })
        }
        Goal::Has(strings) => {
            let present = elements(object)
                .ok_or_else(|| format!("has a member {} that is not an array", path.join(".")))?;
            let lacking: Vec<String> = strings
                .iter()
                .filter(|string| !present.iter().any(|element| is_string(element, string)))
                .map(|string| Value::from(*string).to_string())
                .collect();
            if lacking.is_empty() {
                return Ok(text.to_owned());
            }
            Ok(inserted(text, object, present.last().copied(), &lacking, path.len() + 1, &Style::of(text)))
        }
    }
}

fn is_string(json: &str, string: &str) -> bool {
    serde_json::from_str::<Value>(json).is_ok_and(|value| value == string)
}

fn without(text: &str, Edit { path, goal }: &Edit) -> String {
    let Some(value) = find(text, path) else { return text.to_owned() };
    match goal {
        // What the user has changed since is theirs; an entry of ours has our name.
        Goal::Is(goal) if goal.is_object() || value_is(value, goal) => without_member(text, path),
        Goal::Is(_) => text.to_owned(),
        Goal::Has(_) | Goal::Hook(_) => {
            let is_all_ours = |element: &str| match goal {
                Goal::Has(strings) => strings.iter().any(|string| is_string(element, string)),
                _ => !hooks(element).is_empty() && hooks(element).into_iter().all(is_ours),
            };
            let Some(present) = elements(value) else { return text.to_owned() };
            // The user may have put hooks into the group of ours.
            let part =
                present.iter().filter(|element| matches!(goal, Goal::Hook(_)) && !is_all_ours(element));
            let mut found = part.filter_map(|group| {
                let hooks = hooks(group);
                let at = hooks.iter().position(|hook| is_ours(hook))?;
                Some(removed(text, find(group, &["hooks"])?, &hooks, at))
            });
            if let Some(text) = found.next() {
                return without(&text, &Edit { path: path.clone(), goal: goal.clone() });
            }
            match present.iter().position(|element| is_all_ours(element)) {
                None => text.to_owned(),
                Some(_) if present.iter().all(|element| is_all_ours(element)) => without_member(text, path),
                Some(at) => {
                    let text = removed(text, value, &present, at);
                    without(&text, &Edit { path: path.clone(), goal: goal.clone() })
                }
            }
        }
    }
}

fn value_is(json: &str, goal: &Value) -> bool {
    serde_json::from_str::<Value>(json).is_ok_and(|value| value == *goal)
}

/// TEXT without the member at PATH, and without the objects that have no other member.
fn without_member(text: &str, path: &[&str]) -> String {
    for depth in (0..path.len()).rev() {
        let Some(object) = find(text, &path[..depth]) else { break };
        let Some(members) = members(object) else { break };
        if members.len() > 1 || depth == 0 {
            let values: Vec<&str> = members.iter().map(|(_, value)| *value).collect();
            let last = members.iter().rposition(|(key, _)| key == path[depth]);
            return last.map_or_else(|| text.to_owned(), |at| removed(text, object, &values, at));
        }
    }
    text.to_owned()
}

/// Where PART, a slice of TEXT, begins and ends.
fn span(text: &str, part: &str) -> (usize, usize) {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    (start, start + part.len())
}

fn replaced(text: &str, part: &str, new: &str) -> String {
    let (start, end) = span(text, part);
    format!("{}{new}{}", &text[..start], &text[end..])
}

/// TEXT with NEW after LAST, the last value in CONTAINER, whose members or elements are DEPTH levels deep.
fn inserted(
    text: &str,
    container: &str,
    last: Option<&str>,
    new: &[String],
    depth: usize,
    style: &Style,
) -> String {
    let (start, end) = span(text, container);
    let is_line = container.starts_with('[') && !container.contains('\n');
    let at = last.map_or(start + 1, |last| span(text, last).1);
    let (line, close) =
        if is_line { (String::new(), String::new()) } else { (style.line(depth), style.line(depth - 1)) };
    let separator = if is_line { ", ".to_owned() } else { format!(",{line}") };
    let before = match last {
        Some(_) => &separator,
        None => &line,
    };
    // The last value's line may go on with blanks before the bracket.
    let rest = &text[at..end - 1];
    let rest = if rest.contains('\n') && last.is_some() { rest } else { &close };
    format!("{}{before}{}{rest}{}", &text[..at], new.join(&separator), &text[end - 1..])
}

/// TEXT without the value at AT of VALUES, those in CONTAINER, and without its key and comma.
fn removed(text: &str, container: &str, values: &[&str], at: usize) -> String {
    let (start, end) = span(text, container);
    let (_, value_end) = span(text, values[at]);
    let from = if at == 0 { start + 1 } else { span(text, values[at - 1]).1 };
    if values.len() == 1 {
        return format!("{}{}", &text[..from], &text[end - 1..]);
    }
    if at > 0 {
        return format!("{}{}", &text[..from], &text[value_end..]);
    }
    // The blanks before the first one stay for the second.
    let blanks = text[from..].len() - text[from..].trim_start().len();
    let rest = text[value_end..].trim_start().trim_start_matches(',').trim_start();
    format!("{}{rest}", &text[..from + blanks])
}

/// How a file is written.
struct Style {
    newline: &'static str,
    indent: String,
}

impl Style {
    fn of(text: &str) -> Style {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indent: String = text
            .lines()
            .map(|line| line.chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect::<String>())
            .find(|blanks| !blanks.is_empty() && blanks.len() <= 8)
            .unwrap_or_else(|| "  ".to_owned());
        Style { newline, indent }
    }

    /// The beginning of a line at DEPTH.
    fn line(&self, depth: usize) -> String {
        format!("{}{}", self.newline, self.indent.repeat(depth))
    }

    /// VALUE on lines of its own, the later ones at DEPTH.
    fn pretty(&self, value: &Value, depth: usize) -> String {
        match value {
            Value::Object(members) if !members.is_empty() => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, value)| {
                        let key = Value::from(key.as_str());
                        format!("{}{key}: {}", self.line(depth + 1), self.pretty(value, depth + 1))
                    })
                    .collect();
                format!("{{{}{}}}", members.join(","), self.line(depth))
            }
            Value::Array(elements) => {
                let elements: Vec<String> =
                    elements.iter().map(|element| self.pretty(element, depth)).collect();
                format!("[{}]", elements.join(", "))
            }
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edits() -> Vec<Edit> {
        vec![
            Edit::has(&["permissions", "allow"], &["tool"]),
            Edit::has(&["permissions", "deny"], &["A", "B"]),
            Edit::is(&["mcp", "todo"], json!({"command": "/x", "args": ["--socket", "y"]})),
            Edit::is(&["on"], json!(false)),
        ]
    }

    #[test]
    fn only_what_changes_is_touched() {
        let old = "{\n    \"z\": 1.50, \"big\": 123456789012345678901234567890,\n\
                   \x20   \"permissions\": {\"allow\": [\"Bash(ls)\"], \"ask\": [null, {} ]},\n    \"a\": \"\\u00e4\"\n}";
        let new = "{\n    \"z\": 1.50, \"big\": 123456789012345678901234567890,\n\
                   \x20   \"permissions\": {\"allow\": [\"Bash(ls)\", \"tool\"], \"ask\": [null, {} ],\n\
                   \x20       \"deny\": [\"A\", \"B\"]\n    },\n    \"a\": \"\\u00e4\",\n\
                   \x20   \"mcp\": {\n        \"todo\": {\n            \"command\": \"/x\",\n\
                   \x20           \"args\": [\"--socket\", \"y\"]\n        }\n    },\n    \"on\": false\n}";
        assert_eq!(apply(old, &edits()).unwrap(), new);
    }

    #[test]
    fn a_new_file_is_written_in_the_usual_style() {
        let new = "{\n  \"permissions\": {\n    \"allow\": [\"tool\"],\n    \"deny\": [\"A\", \"B\"]\n  },\n  \
                   \"mcp\": {\n    \"todo\": {\n      \"command\": \"/x\",\n      \"args\": [\"--socket\", \"y\"]\n    }\n  },\n  \
                   \"on\": false\n}\n";
        assert_eq!(apply("", &edits()).unwrap(), new);
        assert_eq!(apply(" \n", &edits()).unwrap(), new);
    }

    #[test]
    fn a_repetition_changes_nothing_and_undo_gives_the_text_before() {
        for old in [
            "{}\n",
            "{\"a\": 1}",
            "{\n\t\"a\": 1\n}\n",
            "{\r\n  \"a\": [1]\r\n}\r\n",
            "{\n  \"permissions\": {\n    \"deny\": [\n      \"C\"\n    ]\n  }\n}",
            "{\n  \"permissions\": {\n    \"allow\": [\"x\"]\n  },\n  \"mcp\": {\n    \"b\": {}\n  }\n}",
        ] {
            let new = apply(old, &edits()).unwrap();
            assert_eq!(apply(&new, &edits()).unwrap(), new);
            assert_eq!(new.contains("\r\n"), old.contains("\r\n"));
            let back = undo(&new, &edits()).unwrap();
            let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(parsed(&back), parsed(old), "{back}");
            if old.contains('\n') && old != "{}\n" {
                assert_eq!(back, old);
            }
        }
    }

    #[test]
    fn an_entry_of_ours_is_replaced_and_not_mixed_with_the_old_one() {
        let old = r#"{"mcp": {"todo": {"command": "/old", "args": ["--tcp", "1"], "more": 1}}}"#;
        let new: Value = serde_json::from_str(&apply(old, &edits()).unwrap()).unwrap();
        assert_eq!(new["mcp"]["todo"], json!({"command": "/x", "args": ["--socket", "y"]}));
    }

    #[test]
    fn undo_leaves_what_the_user_has() {
        let text = r#"{"on": true, "permissions": {"deny": ["C", "A", "D", "B"], "allow": "tool"}}"#;
        let left = undo(text, &edits()).unwrap();
        assert_eq!(left, r#"{"on": true, "permissions": {"deny": ["C", "D"], "allow": "tool"}}"#);
        assert_eq!(undo("", &edits()).unwrap(), "");
    }

    #[test]
    fn a_hook_stands_beside_those_of_others_and_replaces_its_own() {
        let hook = |program: &str| {
            let command = json!({"type": "command", "command": format!("{program} waiting")});
            vec![Edit::hook(&["hooks", "N"], json!({"matcher": "T", "hooks": [command]}))]
        };
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for old in [r#"{"a": 1}"#, r#"{"hooks": {"N": [{"hooks": []}]}}"#, "{\n  \"hooks\": {\"N\": []}\n}"] {
            let new =
                apply(&apply(old, &hook("/a/todo-write-mcp")).unwrap(), &hook("/b/todo-write-mcp")).unwrap();
            let all = parsed(&new)["hooks"]["N"].as_array().unwrap().clone();
            let ours: Vec<_> = all.iter().filter(|hook| hook["matcher"] == "T").collect();
            assert_eq!(ours.len(), 1, "{new}");
            assert_eq!(ours[0]["hooks"][0]["command"], "/b/todo-write-mcp waiting");
            assert_eq!(apply(&new, &hook("/b/todo-write-mcp")).unwrap(), new);
            let left = parsed(&undo(&new, &hook("/c/todo-write-mcp")).unwrap());
            assert!(!left.to_string().contains("todo-write-mcp"), "{left}");
            assert_eq!(left["a"], parsed(old)["a"]);
        }
        assert!(apply(r#"{"hooks": {"N": {}}}"#, &hook("x")).is_err());
    }

    #[test]
    fn hooks_of_the_user_stay_in_our_group_and_beside_it() {
        let hook = |command: &str| json!({"type": "command", "command": command});
        let edits = |program: &str| {
            let ours = hook(&format!("{program} waiting"));
            vec![Edit::hook(&["hooks", "N"], json!({"matcher": "T", "hooks": [ours]}))]
        };
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let notes = json!({"hooks": [hook("cat ~/todo-write-mcp/notes"), hook("bell")]});
        for program in ["/old/todo-write-mcp", "'/my old/todo-write-mcp'", "/my\\ old/todo-write-mcp"] {
            let ours = hook(&format!("{program} waiting"));
            let with = |new: Value| json!({"hooks": {"N": [notes, {"matcher": "T", "hooks": [hook("a"), new, hook("z")]}]}});
            let old = serde_json::to_string_pretty(&with(ours)).unwrap();
            let new = apply(&old, &edits("/new/todo-write-mcp")).unwrap();
            assert_eq!(parsed(&new), with(hook("/new/todo-write-mcp waiting")));
            assert_eq!(apply(&new, &edits("/new/todo-write-mcp")).unwrap(), new);
            let left = json!({"hooks": {"N": [notes, {"matcher": "T", "hooks": [hook("a"), hook("z")]}]}});
            assert_eq!(parsed(&undo(&new, &edits("/x/todo-write-mcp")).unwrap()), left);
        }
        let text = json!({"hooks": {"N": [notes]}}).to_string();
        assert_eq!(undo(&text, &edits("/x/todo-write-mcp")).unwrap(), text);
        let new = parsed(&apply(&text, &edits("/x/todo-write-mcp")).unwrap());
        assert_eq!(new["hooks"]["N"][0], notes);
        assert_eq!(new["hooks"]["N"][1]["hooks"][0]["command"], "/x/todo-write-mcp waiting");
    }

    #[test]
    fn what_is_not_plain_json_is_refused_with_the_place() {
        let error = |text| apply(text, &edits()).unwrap_err();
        assert!(
            error("{\n  // mine \"secret\"\n}").contains("at line 2, column 3"),
            "{}",
            error("{\n  // mine")
        );
        assert!(error("{\"a\": 1,}").contains("at line 1, column 9"));
        assert!(error("{\"a\": 1} x").contains("plain JSON"));
        assert_eq!(error("[]"), "is not a JSON object");
        assert_eq!(error(r#"{"permissions": []}"#), "has a member permissions that is not an object");
        assert_eq!(
            error(r#"{"permissions": {"allow": {}}}"#),
            "has a member permissions.allow that is not an array"
        );
        for text in ["{//", "[]"] {
            assert!(undo(text, &edits()).is_err());
        }
    }

    #[test]
    fn deep_and_repeated_members_are_no_trouble() {
        let deep = format!("{{\"d\": {}{}, \"on\": 1, \"on\": true}}", "[".repeat(5000), "]".repeat(5000));
        let new = apply(&deep, &edits()).unwrap();
        assert!(new.contains("\"on\": 1, \"on\": false"));
    }
}
