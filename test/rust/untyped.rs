//! The pure diff of any two lists. Its kinds and edge cases are in test/lisp/todo-write-seeds-tests.el.

use proptest::prelude::*;
use serde_json::{Value, json};
use todo_write::error::Error;
use todo_write::list::change::{Change, ChangeKind, Entry};
use todo_write::list::untyped::{self, UntypedItem};

use crate::common::laws::change::wire;

fn diffed(previous: &Value, current: &Value) -> Result<(Vec<Change<UntypedItem>>, Vec<String>), Error> {
    untyped::diff(previous, current)
}

fn diff(previous: &Value, current: &Value) -> Vec<Change<UntypedItem>> {
    diffed(previous, current).unwrap().0
}

fn applied(list: &Value, changes: &Value) -> Result<Value, Error> {
    let list = untyped::apply(list, changes)?;
    Ok(list.iter().map(|entry| Value::Object(entry.fields().clone())).collect())
}

fn kinds(changes: &[Change<UntypedItem>]) -> Vec<(&str, &str)> {
    changes.iter().map(|c| (c.kind.as_str(), c.item_id.as_str())).collect()
}

fn task(id: &str, description: &str) -> Value {
    json!({"id": id, "description": description, "status": "pending"})
}

#[test]
fn ids_identify_items_even_if_they_are_positional() {
    for (a, b) in [("1", "2"), ("todo-1", "todo-2"), ("", " "), ("日本", "😀")] {
        let changes = diff(&json!([task(a, "Same"), task(b, "Same")]), &json!([task(b, "Same")]));
        assert_eq!(kinds(&changes), [("removed", a)]);
    }
    let numbers = diff(&json!([{"id": 1, "content": "A"}]), &json!([{"id": 2, "content": "A"}]));
    assert_eq!(kinds(&numbers), [("added", "2"), ("removed", "1")]);
}

#[test]
fn without_ids_the_texts_identify_items() {
    let cases = [
        (json!([{"content": "Read the code"}]), json!([{"content": "Read the code"}]), vec![]),
        (json!([{"content": "Read the code"}]), json!([{"content": "Buy milk"}]), vec!["added", "removed"]),
        (
            json!([{"content": "Read the code", "status": "pending"}]),
            json!([{"content": "Read the code", "status": "completed"}]),
            vec!["status_changed"],
        ),
        (
            json!([{"content": "A task"}, {"content": "A task"}]),
            json!([{"content": "A task"}]),
            vec!["removed"],
        ),
        (
            json!([{"description": "Parse input"}, {"description": "Draw rows"}, {"description": "Ship it"}]),
            json!([{"description": "Ship it"}, {"description": "Parse input"}, {"description": "Draw rows"}]),
            vec!["reordered"],
        ),
        // One item without an id is sufficient.
        (
            json!([task("1", "Read the code")]),
            json!([{"description": "Read the code", "status": "pending"}]),
            vec![],
        ),
    ];
    for (previous, current, expected) in cases {
        let changes = diff(&previous, &current);
        let kinds: Vec<&str> = changes.iter().map(|change| change.kind.as_str()).collect();
        assert_eq!(kinds, expected, "{previous} → {current}");
    }
}

#[test]
fn a_new_item_without_an_id_never_gets_the_key_of_an_old_one() {
    let previous = json!([task("t2", "Read the code"), task("t3", "Ship it")]);
    let current =
        json!([{"description": "Buy milk"}, {"description": "Read the code"}, {"description": "Sing"}]);
    let changes = diff(&previous, &current);
    let added: Vec<&str> =
        changes.iter().filter(|c| c.kind == ChangeKind::Added).map(|c| c.item_id.as_str()).collect();
    assert_eq!(added.len(), 2);
    assert!(added[0] != added[1] && !added.contains(&"t2") && !added.contains(&"t3"), "{added:?}");
}

#[test]
fn a_repeated_id_is_an_error() {
    let (sound, no_ids) = (json!([task("1", "A")]), json!([{"content": "A"}]));
    let twice = json!([task("x", "A"), task("y", "B"), task("x", "C")]);
    let number = json!([{"id": 7}, {"id": "7"}]);
    let partly = json!([task("x", "A"), {"content": "B"}, task("x", "C")]);
    for (list, id) in [(&twice, "x"), (&number, "7"), (&partly, "x")] {
        for other in [&sound, &no_ids, &Value::Null, &json!([])] {
            for (result, place) in [(diffed(list, other), "previous"), (diffed(other, list), "current")] {
                match result {
                    Err(Error::DuplicateId { which, id: twice }) => {
                        assert_eq!((which, twice.as_str()), (place, id))
                    }
                    other => panic!("{list}: {other:?}"),
                }
            }
        }
        assert!(matches!(applied(list, &json!([])), Err(Error::DuplicateId { .. })), "{list}");
    }
}

#[test]
fn an_argument_that_is_not_a_list_of_objects_is_a_named_error() {
    let sound = json!([task("1", "A")]);
    for wrong in [json!({}), json!("list"), json!(3), json!(true), json!([1]), json!([null]), json!([[]])] {
        for (result, place) in [(diffed(&wrong, &sound), "previous"), (diffed(&sound, &wrong), "current")] {
            assert!(
                matches!(&result, Err(Error::Argument(wrong)) if wrong.path.starts_with(place)),
                "{wrong}: {result:?}"
            );
        }
        assert!(matches!(applied(&wrong, &json!([])), Err(Error::Argument { .. })), "{wrong}");
    }
    for wrong in [
        json!([{"type": "exploded", "itemId": "1"}]),
        json!([{"type": "added"}]),
        json!("changes"),
        json!([1]),
        json!([{"type": "removed", "itemId": "2", "timestamp": 0, "previousItem": task("2", "B"),
                "previousPosition": 0}]),
        json!([{"type": "added", "itemId": "1", "timestamp": 0, "item": task("1", "A"), "position": 0}]),
    ] {
        let result = applied(&sound, &wrong);
        assert!(
            matches!(&result, Err(Error::Argument(wrong)) if wrong.path.starts_with("changes")),
            "{wrong}: {result:?}"
        );
    }
}

#[test]
fn the_time_of_the_update_is_ignored_among_other_changes() {
    let (mut old, mut new) = (task("1", "A"), task("1", "B"));
    (old["updatedTimestamp"], new["updatedTimestamp"]) = (json!(1), json!(2));
    assert_eq!(*diff(&json!([old]), &json!([new]))[0].fields, ["description"]);
    new["description"] = json!("A");
    new["status"] = json!("completed");
    assert_eq!(kinds(&diff(&json!([old]), &json!([new]))), [("status_changed", "1")]);
    new["createdAt"] = json!(1);
    assert_eq!(*diff(&json!([old]), &json!([new]))[0].fields, ["status", "createdAt"]);
}

#[test]
fn an_item_that_depends_on_one_that_is_gone_is_named_in_a_warning() {
    let with = |id: Value, dependencies: Value| json!({"id": id, "title": "T", "dependencies": dependencies});
    let warnings = |previous: &Value, current: &Value| diffed(previous, current).unwrap().1;
    let before = json!([task("a", "A"), with(json!(2), json!([])), with(json!("c"), json!(["a", 2, "x"]))]);
    let after = json!([with(json!("c"), json!(["a", 2, "x"])), with(json!("d"), json!(["c"]))]);
    assert_eq!(
        warnings(&before, &after),
        [r#""c" depends on "a", which is gone"#, r#""c" depends on "2", which is gone"#]
    );
    assert_eq!(warnings(&before, &before), [""; 0], "x was never there");
    assert_eq!(warnings(&Value::Null, &after), [""; 0]);
    assert_eq!(warnings(&after, &json!([with(json!("d"), json!("c"))])), [""; 0], "no list of ids");
}

#[test]
fn changes_are_an_array_or_an_object_with_one_or_nil() {
    let (previous, current) = (json!([task("1", "A"), task("2", "B")]), json!([task("2", "C")]));
    let changes = wire(&diff(&previous, &current));
    let whole = json!({"timestamp": 1, "changes": changes, "added": []});
    assert_eq!(applied(&previous, &changes).unwrap(), current);
    assert_eq!(applied(&previous, &whole).unwrap(), current);
    assert_eq!(applied(&previous, &Value::Null).unwrap(), previous);
}

/// Entries with few different texts, statuses and other fields.
fn entries(ids: bool) -> impl Strategy<Value = Value> {
    let entry = (0..40u8, 0..6u8, 0..3usize, prop::option::of(0..3u8));
    prop::collection::vec(entry, 0..40).prop_map(move |entries| {
        let mut seen = std::collections::HashSet::new();
        entries
            .into_iter()
            .filter(|(id, ..)| !ids || seen.insert(*id))
            .map(|(id, text, status, extra)| {
                let status = ["pending", "in_progress", "completed"][status];
                let mut entry = json!({"content": format!("Do the work {text}"), "status": status});
                if ids {
                    entry["id"] = json!(id.to_string());
                }
                if let Some(extra) = extra {
                    entry["result"] = json!({"deep": [extra]});
                }
                entry
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changes_by_id_lead_from_one_list_to_the_other(a in entries(true), b in entries(true)) {
        prop_assert_eq!(applied(&a, &wire(&diff(&a, &b))).unwrap(), b);
    }

    #[test]
    fn changes_without_ids_lead_from_one_list_to_the_other(a in entries(false), b in entries(false)) {
        prop_assert_eq!(applied(&a, &wire(&diff(&a, &b))).unwrap(), b);
    }

    #[test]
    fn a_list_does_not_differ_from_itself(a in entries(true), b in entries(false)) {
        prop_assert_eq!(wire(&diff(&a, &a)), json!([]));
        prop_assert_eq!(wire(&diff(&b, &b)), json!([]));
    }

    #[test]
    fn keys_stay_unique_with_ids_on_one_side_only(a in entries(true), b in entries(false)) {
        let changes = diff(&a, &b);
        let mut added: Vec<&str> =
            changes.iter().filter(|c| c.kind == ChangeKind::Added).filter_map(|c| Some(c.item.as_ref()?.id())).collect();
        let count = added.len();
        added.sort_unstable();
        added.dedup();
        prop_assert_eq!(added.len(), count);
    }
}
