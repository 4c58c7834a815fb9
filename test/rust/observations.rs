//! The observations of a thread and their delivery.

use std::sync::Arc;

use crate::common::{Completed, InProgress, Pending, thread, write};
use serde_json::{Map, json};
use todo_write::error::Problem;
use todo_write::events::git::{GitKind, GitOperation};
use todo_write::events::observation::{Details, Filter, Metadata, Observation, Payload, Phase, Type};
use todo_write::events::payload::Derived;
use todo_write::events::policy::Policy;
use todo_write::events::work::CallOutcome;
use todo_write::list::item::Status;
use todo_write::thread::{Edit, Thread};

type Tasks<'a> = &'a [(&'a str, Status)];

const PLAN: [(&str, Status); 2] = [("Read the code", InProgress), ("Ship it", Pending)];

fn all(thread: &Thread) -> Vec<Arc<Observation>> {
    thread.observed(&Filter::default())
}

fn kinds(observations: &[Arc<Observation>]) -> Vec<&str> {
    observations.iter().map(|observation| observation.kind().as_str()).collect()
}

fn say(thread: &mut Thread, kind: Type, text: &str) -> Arc<Observation> {
    thread.observe(Payload::new(kind, json!(text)), Details::default(), 5)
}

fn update(thread: &Thread, revision: u64) -> Option<Derived> {
    let todo_list = thread.list_at(revision).unwrap();
    let changes = thread.revisions().iter().find(|one| one.number == revision).unwrap().changes.clone();
    Some(Derived::Plan { revision, todo_list, changes })
}

fn status(thread: &Thread, place: usize, previous: Status) -> Option<Derived> {
    let (item, previous_status) = (thread.list()[place].clone(), Some(previous));
    Some(Derived::Status { item, previous_status })
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
        update(&thread, 1),
        update(&thread, 2),
        status(&thread, 0, InProgress),
        status(&thread, 1, Pending),
        update(&thread, 3),
        update(&thread, 4),
    ];
    assert_eq!(recorded.len(), expected.len());
    for (n, (observation, derived)) in recorded.iter().zip(expected).enumerate() {
        assert_eq!((observation.number, &observation.payload.derived), (n as u64 + 1, &derived));
    }
    assert_eq!(recorded[3].payload.metadata.step_description.as_deref(), Some("Ship it"));
    assert_eq!(recorded.iter().map(|o| o.timestamp).collect::<Vec<_>>(), [10, 20, 20, 20, 30, 40]);
}

#[test]
fn a_rename_records_a_status_change_only_with_another_status() {
    let (update, change) = ("PLAN_UPDATE", "ITEM_STATUS_CHANGE");
    for (status, expected) in
        [(InProgress, &[update, update, change, update][..]), (Pending, &[update, update, update])]
    {
        let mut thread = thread();
        write(&mut thread, &[("Read the code of the parser", Pending)], 1);
        write(&mut thread, &[("Read the code of the parser twice", status)], 2);
        thread.edit(Edit::Rename { id: "t1".into(), content: "Read it".into() }, 3).unwrap();
        assert_eq!(thread.list()[0].id, "t1");
        assert_eq!(kinds(&all(&thread)), expected);
    }
}

#[test]
fn a_refusal_is_recorded_until_its_reason_changes_or_a_list_is_accepted() {
    let mut thread = thread();
    let tasks = [("Read", Pending)];
    write(&mut thread, &tasks, 1);
    let problem = |place: &str| vec![Problem::new(place, "nothing", "a text")];
    for (place, recorded) in [("todos[0]", 1), ("todos[0]", 1), ("todos[1]", 2)] {
        assert!(!thread.refuse(problem(place), 2).ok);
        assert_eq!(all(&thread).len(), 1 + recorded, "{place}");
    }
    for _ in 0..2 {
        write(&mut thread, &tasks, 3);
        assert_eq!(all(&thread).len(), 4);
    }
}

#[test]
fn an_edit_by_the_user_does_not_end_a_refusal() {
    let mut thread = thread();
    write(&mut thread, &[("Read", Pending)], 1);
    thread.refuse(vec![Problem::new("todos[0]", "nothing", "a text")], 2);
    thread.edit(Edit::Add { content: "Rake".into(), position: None }, 3).unwrap();
    let before = all(&thread).len();
    write(&mut thread, &[("Read", Pending)], 4);
    assert_eq!(all(&thread).len(), before + 1);
}

fn thought(content: serde_json::Value, token: &str) -> Payload {
    let metadata = Metadata { token_type: Some(token.to_owned()), ..Metadata::default() };
    Payload { metadata, ..Payload::new(Type::Thoughts, content) }
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
        let metadata = &thought.payload.metadata;
        assert_eq!(metadata.phase.map(Phase::as_str), Some(phase));
        assert_eq!((metadata.step_id.as_deref(), thought.parent_id.as_deref()), (step, step), "{phase}");
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
        ..Details::default()
    };
    let said = thread.observe(thought(json!({"text": "Hm"}), "EXECUTION_LLM_THINKING"), details, 7);
    assert_eq!((said.title.as_str(), said.trace_id.as_deref()), ("A thought", Some("trace 7")));
    assert_eq!(
        (said.parent_id.as_deref(), said.payload.metadata.step_description.as_deref()),
        (Some("t2"), Some("Ship it"))
    );
    assert_eq!(said.payload.metadata.token_type.as_deref(), Some("EXECUTION_LLM_THINKING"));
    let planning = Details { phase: Some(Some(Phase::Planning)), ..Details::default() };
    let said = thread.observe(Payload::new(Type::Thoughts, json!("Hm")), planning, 8);
    let Metadata { phase, step_id, .. } = &said.payload.metadata;
    assert_eq!((*phase, step_id.as_deref()), (Some(Phase::Planning), None));
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
fn any_json_that_a_host_reports_survives_the_journal() {
    let contents = [
        json!(null),
        json!("words"),
        json!([1, {"text": 2}]),
        json!({"text": ["not", "a", "text"], "more": null}),
        json!({"id": 7, "name": "ls", "input": {"path": "/"}, "content": [1.5], "isError": "yes", "cost": 0.25}),
        json!({"input": -1, "output": 3, "model": null, "price": {"usd": 1}}),
    ];
    let metadata = json!({
        "phase": "execution", "timestamp": "yesterday", "exitCode": 1.5, "outcome": "odd", "files": [{"path": 1}],
        "items": "all", "callId": 9, "hidden": null, "goal": {"text": 1}, "cost": "much", "toldComments": null, "command": false, "durationMs": 12, "mine": [true, {"a": 1}],
    });
    for &(kind, name) in Type::NAMES {
        for content in &contents {
            let json = json!({
                "number": 3, "type": name, "timestamp": 5, "title": "T", "traceId": "r", "parentId": "t1",
                "content": content, "metadata": metadata,
            });
            let observation: Observation = serde_json::from_value(json.clone()).unwrap();
            assert_eq!((observation.kind(), &observation.payload.content), (kind, content));
            assert_eq!(serde_json::to_value(&observation).unwrap(), json);
        }
    }
}

#[test]
fn known_fields_of_the_expected_type_are_read() {
    let json = r#"{"number":1,"type":"TOOL_EXECUTION","timestamp":5,"title":"T","content":{"id":"c","name":"Bash",
        "content":"","isError":false},"metadata":{"callId":"c","exitCode":-1,"outcome":"failed","items":["t1"],
        "files":[{"path":"/a","added":2,"removed":0,"created":true,"patch":"@@"}],"timestamp":4}}"#;
    let observation: Observation = serde_json::from_str(json).unwrap();
    let call = observation.payload.call().unwrap();
    assert_eq!((call.call_id.as_deref(), call.exit_code, call.timestamp), (Some("c"), Some(-1), Some(4)));
    assert_eq!(
        (call.outcome, call.items.as_deref()),
        (Some(CallOutcome::Failed), Some(&["t1".to_owned()][..]))
    );
    let file = &observation.payload.files()[0];
    assert_eq!((file.path.as_str(), file.added, file.created, file.deleted), ("/a", 2, true, false));
    assert!(call.extra.is_empty());
}

#[test]
fn a_filter_selects_observations_that_meet_all_conditions() {
    let mut thread = thread();
    say(&mut thread, Type::Intent, "Mend it");
    write(&mut thread, &PLAN, 1);
    thread.observe(thought(json!("1"), "EXECUTION_LLM_THINKING"), Details::default(), 2);
    thread.observe(thought(json!("2"), "EXECUTION_LLM_RESPONSE"), Details::default(), 3);
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
        let numbers: Vec<u64> = thread.observed(&filter).iter().map(|o| o.number).collect();
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
    assert_eq!(kinds(&thread.take_observations()), ["PLAN_UPDATE"]);
    assert_eq!(kinds(&thread.take_observations()), [""; 0]);
    say(&mut thread, Type::Plan, "1");
    say(&mut thread, Type::Thoughts, "2");
    assert_eq!(kinds(&thread.take_observations()), ["PLAN", "THOUGHTS"]);
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
        thread.take_observations();
        write(&mut thread, &tasks, 1);
    }
    let recorded = thread.take_observations();
    assert_eq!(recorded.len(), 21);
    assert_eq!(recorded[0].kind(), Type::PlanUpdate);
    say(&mut thread, Type::Thoughts, "Done");
    assert_eq!(kinds(&all(&thread)), ["THOUGHTS"]);
}

#[test]
fn a_commit_whose_message_names_an_excluded_file_keeps_its_title() {
    let policy = Policy { excluded: vec![".env".into()], ..Policy::default() };
    let title_of = |input: serde_json::Value| {
        let mut commit = GitOperation::new(GitKind::Commit);
        commit.title = Some("Read .env".into());
        let metadata = Metadata { git: Some(vec![commit]), ..Metadata::default() };
        let content = json!({"name": "Bash", "input": input});
        let payload = Payload { metadata, ..Payload::new(Type::ToolCall, content) };
        let observed = thread().observe_allowed(&policy, payload, Details::default(), 5);
        let call = observed.payload.call().unwrap();
        assert_eq!(call.hidden, Some(true));
        call.git.as_ref().unwrap()[0].title.clone()
    };
    assert_eq!(title_of(json!({"command": "git commit -m 'Read .env'"})).as_deref(), Some("Read .env"));
    assert_eq!(title_of(json!({"path": "/p/.env"})), None);
}
