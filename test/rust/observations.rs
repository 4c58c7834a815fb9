//! The observations of a thread and their delivery.

use std::sync::Arc;

use crate::common::{Completed, InProgress, Pending, plan, thread, write};
use serde_json::{Map, json};
use todo_write::events::observation::{Content, Details, Filter, Observation, Phase, Type};
use todo_write::list::item::Status;
use todo_write::thread::{Edit, Thread, WriteOptions};

type Tasks<'a> = &'a [(&'a str, Status)];

const PLAN: [(&str, Status); 2] = [("Read the code", InProgress), ("Ship it", Pending)];

fn all(thread: &Thread) -> Vec<Arc<Observation>> {
    thread.observations().select(&Filter::default())
}

fn kinds(observations: &[Arc<Observation>]) -> Vec<&str> {
    observations.iter().map(|observation| observation.kind.as_str()).collect()
}

fn say(thread: &mut Thread, kind: Type, text: &str) -> Arc<Observation> {
    thread.observe(kind, json!(text), Details::default(), 5)
}

#[test]
fn a_revision_records_plan_update_and_its_status_changes() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 10);
    write(&mut thread, &[("Read the code", Completed), ("Ship it", InProgress), ("Rest", Pending)], 20);
    thread.edit(Edit::Move { id: "t3".into(), position: 0 }, 30).unwrap();
    thread.undo(40).unwrap();
    let recorded = all(&thread);
    let expected = [
        ("PLAN_UPDATE", Content::Revision(1)),
        ("PLAN_UPDATE", Content::Revision(2)),
        (
            "ITEM_STATUS_CHANGE",
            Content::Status { item: thread.list()[0].clone(), previous: Some(InProgress) },
        ),
        ("ITEM_STATUS_CHANGE", Content::Status { item: thread.list()[1].clone(), previous: Some(Pending) }),
        ("PLAN_UPDATE", Content::Revision(3)),
        ("PLAN_UPDATE", Content::Revision(4)),
    ];
    assert_eq!(recorded.len(), expected.len());
    for (n, (observation, (kind, content))) in recorded.iter().zip(expected).enumerate() {
        assert_eq!((observation.kind.as_str(), &observation.content), (kind, &content));
        assert_eq!(observation.number, n as u64 + 1);
    }
    assert_eq!(recorded.iter().map(|o| o.timestamp).collect::<Vec<_>>(), [10, 20, 20, 20, 30, 40]);
}

#[test]
fn a_status_change_has_its_item_as_parent() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    thread.edit(Edit::Status { id: "t2".into(), status: Completed }, 2).unwrap();
    let changes = thread.observations().select(&Filter { step: Some("t2".into()), ..Filter::default() });
    assert_eq!(kinds(&changes), ["ITEM_STATUS_CHANGE"]);
    assert_eq!(changes[0].metadata_str("stepDescription"), Some("Ship it"));
}

#[test]
fn a_rename_with_another_status_records_a_status_change() {
    let mut thread = thread();
    write(&mut thread, &[("Read the code of the parser", Pending)], 1);
    write(&mut thread, &[("Read the code of the parser twice", InProgress)], 2);
    assert_eq!(thread.list()[0].id, "t1");
    assert_eq!(kinds(&all(&thread)), ["PLAN_UPDATE", "PLAN_UPDATE", "ITEM_STATUS_CHANGE"]);
}

#[test]
fn a_status_that_is_kept_is_not_recorded_as_a_change() {
    let mut thread = thread();
    write(&mut thread, &[("Read", Completed)], 1);
    thread.write(
        plan(&[("Read", Pending), ("Ship", Pending)]),
        WriteOptions { keep_completed: true, ..WriteOptions::default() },
        2,
    );
    assert_eq!(kinds(&all(&thread)), ["PLAN_UPDATE", "PLAN_UPDATE"]);
}

#[test]
fn the_phase_and_the_step_follow_from_the_list() {
    let cases: [(Tasks<'_>, &str, Option<&str>); 4] = [
        (&[], "planning", None),
        (&PLAN, "execution", Some("t1")),
        (&[("Read", Pending)], "execution", None),
        (&[("Read", Completed)], "synthesis", None),
    ];
    for (tasks, phase, step) in cases {
        let mut thread = thread();
        write(&mut thread, tasks, 1);
        let thought = say(&mut thread, Type::Thoughts, "Hm");
        assert_eq!(thought.metadata_str("phase"), Some(phase));
        assert_eq!((thought.metadata_str("stepId"), thought.parent_id.as_deref()), (step, step), "{phase}");
    }
}

#[test]
fn a_host_may_set_phase_step_trace_and_title() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    let details = Details {
        title: Some("A thought".into()),
        trace_id: Some("trace 7".into()),
        parent_id: Some("t2".into()),
        phase: Some(Some(Phase::Execution)),
        metadata: Map::from_iter([("tokenType".to_owned(), json!("EXECUTION_LLM_THINKING"))]),
    };
    let said = thread.observe(Type::Thoughts, json!({"text": "Hm"}), details, 7);
    assert_eq!((said.title.as_str(), said.trace_id.as_deref()), ("A thought", Some("trace 7")));
    assert_eq!(
        (said.parent_id.as_deref(), said.metadata_str("stepDescription")),
        (Some("t2"), Some("Ship it"))
    );
    assert_eq!(said.metadata_str("tokenType"), Some("EXECUTION_LLM_THINKING"));
    let planning = Details { phase: Some(Some(Phase::Planning)), ..Details::default() };
    let said = thread.observe(Type::Thoughts, json!("Hm"), planning, 8);
    assert_eq!((said.metadata_str("phase"), said.metadata_str("stepId")), (Some("planning"), None));
}

#[test]
fn the_newest_title_is_the_threads_title() {
    let mut thread = thread();
    assert_eq!(thread.title(), None);
    say(&mut thread, Type::Title, "First");
    say(&mut thread, Type::Title, "Second");
    assert_eq!(thread.title(), Some("Second"));
}

#[test]
fn every_type_survives_serialization() {
    for &(kind, name) in Type::NAMES {
        assert_eq!((kind.as_str(), Type::parse(name)), (name, Some(kind)));
        assert_eq!(serde_json::to_value(kind).unwrap(), json!(name));
    }
    assert_eq!(Type::parse("plan_update"), None);
}

#[test]
fn a_filter_selects_observations_that_meet_all_conditions() {
    let mut thread = thread();
    say(&mut thread, Type::Intent, "Mend it");
    write(&mut thread, &PLAN, 1);
    let token = |kind: &str| Details {
        metadata: Map::from_iter([("tokenType".to_owned(), json!(kind))]),
        ..Details::default()
    };
    thread.observe(Type::Thoughts, json!("1"), token("EXECUTION_LLM_THINKING"), 2);
    thread.observe(Type::Thoughts, json!("2"), token("EXECUTION_LLM_RESPONSE"), 3);
    write(&mut thread, &[("Read the code", Completed), ("Ship it", Completed)], 4);
    say(&mut thread, Type::Thoughts, "3");
    let any = Filter::default;
    let cases = [
        (Filter { kind: Some(Type::Thoughts), ..any() }, vec![3, 4, 8]),
        (Filter { kind: Some(Type::Thoughts), phase: Some(Phase::Execution), ..any() }, vec![3, 4]),
        (Filter { phase: Some(Phase::Planning), ..any() }, vec![1]),
        (Filter { token_type: Some("EXECUTION_LLM_RESPONSE".into()), ..any() }, vec![4]),
        (Filter { kind: Some(Type::Intent), token_type: Some("X".into()), ..any() }, vec![]),
        (Filter { step: Some("t2".into()), ..any() }, vec![7]),
        (Filter { limit: Some(2), ..any() }, vec![7, 8]),
        (Filter { limit: Some(0), ..any() }, vec![]),
        (Filter { kind: Some(Type::PlanUpdate), limit: Some(1), ..any() }, vec![5]),
        (any(), (1..=8).collect()),
    ];
    for (filter, expected) in cases {
        let numbers: Vec<u64> = thread.observations().select(&filter).iter().map(|o| o.number).collect();
        assert_eq!(numbers, expected, "{filter:?}");
    }
}

#[test]
fn memory_keeps_the_newest_observations_up_to_the_limit() {
    let mut thread = Thread::new("bounded", Map::new(), 5);
    (0..100).for_each(|n| drop(say(&mut thread, Type::Thoughts, &n.to_string())));
    let kept = all(&thread);
    assert_eq!(kept.iter().map(|o| o.number).collect::<Vec<_>>(), [96, 97, 98, 99, 100]);
}

#[test]
fn each_observation_is_delivered_once_in_order() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    assert_eq!(kinds(&thread.observations_mut().take_new()), ["PLAN_UPDATE"]);
    assert_eq!(kinds(&thread.observations_mut().take_new()), [""; 0]);
    say(&mut thread, Type::Plan, "1");
    say(&mut thread, Type::Thoughts, "2");
    assert_eq!(kinds(&thread.observations_mut().take_new()), ["PLAN", "THOUGHTS"]);
    assert_eq!(all(&thread).len(), 3);
}

#[test]
fn a_change_larger_than_the_limit_is_delivered_whole() {
    let mut thread = Thread::new("bounded", Map::new(), 3);
    let tasks =
        |status| -> Vec<(String, Status)> { (0..20).map(|n| (format!("Task {n}"), status)).collect() };
    for status in [Pending, Completed] {
        let tasks = tasks(status);
        let tasks: Vec<(&str, Status)> =
            tasks.iter().map(|(text, status)| (text.as_str(), *status)).collect();
        thread.observations_mut().take_new();
        write(&mut thread, &tasks, 1);
    }
    let recorded = thread.observations_mut().take_new();
    assert_eq!(recorded.len(), 21);
    assert_eq!(recorded[0].kind, Type::PlanUpdate);
    assert_eq!(all(&thread).len(), 3);
}
