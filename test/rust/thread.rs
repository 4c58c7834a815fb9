//! A thread's states, revisions, undo, ids and times.

use crate::common::{
    Completed, Folder, InProgress, PLAN, Pending, draft, ended, ids, open, plan, store, thread, write,
};
use todo_write::list::change::ChangeKind;
use todo_write::list::input::Plan;
use todo_write::list::item::{Draft, Status};
use todo_write::thread::activity::{Decision, Doing, Ending};
use todo_write::thread::{Edit, State, Thread, WriteOptions};

type Tasks<'a> = &'a [(&'a str, Status)];

fn set(id: &str, status: Status) -> Edit {
    Edit::Status { id: id.into(), status }
}

#[test]
fn a_task_that_waited_for_one_that_left_the_list_is_named_in_a_notice_once() {
    let task = |hint: &str, blocked_by: &[&str]| Draft {
        hint: Some(hint.into()),
        blocked_by: blocked_by.iter().map(|id| id.to_string()).collect(),
        ..draft(hint, Pending)
    };
    let mut thread = thread();
    let mut write = |drafts: Vec<Draft>| {
        let plan = Plan { drafts, ..Plan::default() };
        thread.write(plan, WriteOptions::default(), 1).notices
    };
    let none: [&str; 0] = [];
    assert_eq!(write(vec![task("sift", &[]), task("bake", &["sift"]), task("eat", &["bake"])]), none);
    let left = [r#""bake" waited for "sift", which left the list"#];
    assert_eq!(write(vec![task("bake", &["sift"]), task("eat", &["bake"])]), left);
    assert_eq!(write(vec![task("bake", &["sift"]), task("eat", &["bake"])]), none);
    let outcome = thread.edit(Edit::Delete { id: "t2".into() }, 2).unwrap();
    assert_eq!(outcome.notices, [r#""eat" waited for "bake", which left the list"#]);
}

#[test]
fn the_state_follows_from_the_list_and_the_pause() {
    let cases: [(Tasks<'_>, State, State); 6] = [
        (&[], State::Empty, State::Empty),
        (&[("A", Pending)], State::Active, State::Paused),
        (&[("A", InProgress)], State::Active, State::Paused),
        (&[("A", Completed), ("B", Pending)], State::Active, State::Paused),
        (&[("A", Completed)], State::Done, State::Done),
        (&[("A", Completed), ("B", Completed)], State::Done, State::Done),
    ];
    for (tasks, running, interrupted) in cases {
        let mut thread = thread();
        write(&mut thread, tasks, 1);
        assert_eq!((thread.state(), thread.pause_reason()), (running, None), "{tasks:?}");
        thread.set_paused(Some("C-g".into()), 2);
        assert_eq!(thread.state(), interrupted, "{tasks:?}");
        assert_eq!(thread.pause_reason(), (interrupted == State::Paused).then_some("C-g"), "{tasks:?}");
        thread.set_paused(None, 3);
        assert_eq!((thread.state(), thread.pause_reason()), (running, None), "{tasks:?}");
    }
}

#[test]
fn a_pause_keeps_the_list_and_its_first_reason() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    let list = thread.list().clone();
    thread.set_paused(Some("the user".into()), 2);
    thread.set_paused(Some("the host died".into()), 3);
    assert_eq!((thread.list(), thread.pause_reason()), (&list, Some("the user")));
    assert_eq!(thread.revisions().last(), 1);
}

#[test]
fn a_write_ends_the_pause_even_if_it_changes_nothing() {
    for tasks in [&PLAN[..], &PLAN[1..]] {
        let mut thread = thread();
        write(&mut thread, &PLAN, 1);
        thread.set_paused(Some("C-g".into()), 2);
        write(&mut thread, tasks, 3);
        assert_eq!(thread.state(), State::Active);
    }
}

#[test]
fn an_edit_does_not_end_a_pause() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    thread.set_paused(Some("C-g".into()), 2);
    thread.edit(set("t3", InProgress), 3).unwrap();
    assert_eq!(thread.state(), State::Paused);
    assert_eq!(thread.times("t3").unwrap().spent(100), 0);
}

#[test]
fn a_repeated_list_is_no_change_even_if_an_agent_id_moved_to_another_item() {
    let hinted = |draft: Draft, id: &str| Draft { hint: Some(id.into()), ..draft };
    let lists = [
        vec![hinted(draft("Fix login", Pending), "auth")],
        vec![
            Draft { active_form: "On: Fix login".into(), ..draft("Document login", Pending) },
            hinted(draft("Document API", Pending), "auth"),
        ],
    ];
    let mut thread = thread();
    for drafts in lists {
        let plan = || Plan { drafts: drafts.clone(), ..Plan::default() };
        thread.write(plan(), WriteOptions::default(), 1);
        assert_eq!(thread.write(plan(), WriteOptions::default(), 2).changes, []);
    }
    assert_eq!(ids(thread.list()), ["t1", "t2"]);
}

#[test]
fn a_list_of_a_revision_that_is_not_there_is_an_error() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    let error = thread.list_at(2).unwrap_err().to_string();
    assert_eq!(error, "no revision 2 in thread a thread; it has 0 to 1");
}

#[test]
fn the_result_has_the_counts_and_the_current_task() {
    let cases: [(Tasks<'_>, &str); 5] = [
        (&[], "The task list is empty."),
        (&[("A", Pending)], "0/1 task completed."),
        (&[("A", Completed), ("B", Pending)], "1/2 tasks completed."),
        (&PLAN, "1/3 tasks completed. Current: On: Mend the parser."),
        (&[("A", Completed)], "1/1 task completed."),
    ];
    for (tasks, text) in cases {
        assert_eq!(write(&mut thread(), tasks, 1).result, text);
    }
}

#[test]
fn the_result_names_vanished_items_only_if_they_are_unfinished() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    let result = write(&mut thread, &[], 2).result;
    assert_eq!(
        result.lines().collect::<Vec<_>>(),
        [
            "The task list is empty.",
            "Dropped while unfinished: \"Mend the parser\", \"Ship it\". To bring them back, send them again."
        ]
    );
    thread.undo(3).unwrap();
    assert!(!write(&mut thread, &PLAN[1..], 4).result.contains("Dropped"));
}

#[test]
fn the_names_of_vanished_items_are_bounded() {
    let mut thread = thread();
    let long = "x".repeat(2_000);
    let names: Vec<String> = (0..500).map(|n| format!("Task {n} {long}")).collect();
    let tasks: Vec<_> = names.iter().map(|name| (name.as_str(), Pending)).collect();
    write(&mut thread, &tasks, 1);
    let result = write(&mut thread, &[], 2).result;
    assert!(result.contains(" and 490 more. To bring them back"), "{result}");
    assert!(result.chars().count() < 1_200);
}

#[test]
fn repeated_undo_goes_back_to_the_first_revision() {
    let mut thread = thread();
    write(&mut thread, &PLAN[..1], 1);
    write(&mut thread, &PLAN[..2], 2);
    thread.edit(set("t2", Completed), 3).unwrap();
    let lists: Vec<_> = (0..3).map(|n| thread.list_at(n).unwrap()).collect();
    for list in lists.iter().rev() {
        thread.undo(4).unwrap();
        assert_eq!(thread.list(), list);
    }
    assert_eq!(thread.undo(5).unwrap_err().to_string(), "nothing to undo in thread a thread");
    assert_eq!(thread.revisions().last(), 6);
}

#[test]
fn undo_after_a_new_change_reverts_that_change() {
    let mut thread = thread();
    write(&mut thread, &PLAN[..1], 1);
    write(&mut thread, &PLAN[..2], 2);
    thread.undo(3).unwrap();
    let undone = thread.list().clone();
    thread.edit(set("t1", Pending), 4).unwrap();
    thread.undo(5).unwrap();
    assert_eq!(thread.list(), &undone);
}

#[test]
fn a_completed_item_stays_completed_only_if_the_user_wants_it() {
    for (keep, status) in [(true, Completed), (false, Pending)] {
        let mut thread = thread();
        write(&mut thread, &PLAN, 1);
        let mut next = PLAN;
        next[0].1 = Pending;
        let outcome =
            thread.write(plan(&next), WriteOptions { keep_completed: keep, ..WriteOptions::default() }, 2);
        assert_eq!(thread.list()[0].status, status);
        assert_eq!(outcome.forced, if keep { vec!["t1"] } else { vec![] });
        assert_eq!(outcome.changes.is_empty(), keep);
        assert_eq!(outcome.notices.len(), usize::from(keep));
    }
}

/// The time of the start and of the completion, the intervals in progress, and the time spent.
type Spans = (Option<u64>, Option<u64>, Vec<(u64, u64)>, u64);

/// The times of `t1` after it has these statuses at 10, 20, 30 …; a `None` removes it.
fn times_of(steps: &[Option<Status>]) -> Spans {
    let mut thread = thread();
    for (n, status) in steps.iter().enumerate() {
        let tasks = Vec::from_iter(status.map(|status| ("Task", status)));
        write(&mut thread, &tasks, 10 * (n as u64 + 1));
    }
    let times = thread.times("t1").unwrap();
    assert_eq!(times.created, 10);
    (times.started, times.completed, times.intervals.clone(), times.spent(1_000))
}

#[test]
fn times_follow_the_status() {
    let (p, i, c) = (Some(Pending), Some(InProgress), Some(Completed));
    assert_eq!(times_of(&[p]), (None, None, vec![], 0));
    assert_eq!(times_of(&[i]), (Some(10), None, vec![], 990));
    assert_eq!(times_of(&[c]), (None, Some(10), vec![], 0));
    assert_eq!(times_of(&[p, i, c]), (Some(20), Some(30), vec![(20, 30)], 10));
    assert_eq!(times_of(&[i, p, i, c]), (Some(10), Some(40), vec![(10, 20), (30, 40)], 20));
    assert_eq!(times_of(&[i, c, i]), (Some(10), None, vec![(10, 20)], 980));
    assert_eq!(times_of(&[i, None]), (Some(10), None, vec![(10, 20)], 10));
    assert_eq!(times_of(&[i, c, None]), (Some(10), Some(20), vec![(10, 20)], 10));
}

#[test]
fn no_time_runs_during_a_pause() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 100);
    thread.set_paused(Some("C-g".into()), 150);
    assert_eq!(thread.times("t2").unwrap().spent(500), 50);
    thread.set_paused(None, 600);
    assert_eq!(thread.times("t2").unwrap().spent(610), 60);
    let mut next = PLAN;
    next[1].1 = Completed;
    write(&mut thread, &next, 700);
    assert_eq!(thread.times("t2").unwrap().intervals, [(100, 150), (600, 700)]);
}

fn spent(thread: &Thread, now: u64) -> u64 {
    thread.times("t2").unwrap().spent(now)
}

#[test]
fn no_time_runs_while_the_agent_waits_or_is_idle() {
    for doing in [Doing::Waiting, Doing::Idle] {
        let mut thread = thread();
        write(&mut thread, &PLAN, 100);
        thread.follow(&Decision::new(doing, 0), 150);
        assert_eq!((thread.state(), spent(&thread, 500)), (State::Active, 50), "{doing:?}");
        thread.edit(set("t2", Pending), 510).unwrap();
        thread.edit(set("t2", InProgress), 520).unwrap();
        assert_eq!(spent(&thread, 590), 50, "{doing:?}");
        thread.follow(&Decision::new(Doing::Working, 0), 600);
        assert_eq!(spent(&thread, 610), 60, "{doing:?}");
    }
}

#[test]
fn a_turn_that_ends_with_open_items_pauses_the_thread() {
    for writes in [true, false] {
        let mut thread = thread();
        write(&mut thread, &PLAN, 100);
        thread.follow(&ended(Ending::EndOfTurn, "end of turn"), 150);
        assert_eq!((thread.pause_reason(), spent(&thread, 500)), (Some("end of turn"), 50));
        if writes {
            write(&mut thread, &PLAN, 600);
        } else {
            thread.follow(&Decision::new(Doing::Working, 0), 600);
        }
        assert_eq!((thread.state(), spent(&thread, 610)), (State::Active, 60));
    }
}

#[test]
fn the_end_of_a_turn_leaves_a_finished_list_and_an_earlier_pause_alone() {
    let mut thread = thread();
    thread.follow(&ended(Ending::EndOfTurn, "before the list"), 1);
    assert_eq!(thread.state(), State::Empty);
    write(&mut thread, &PLAN[..1], 2);
    thread.follow(&ended(Ending::EndOfTurn, "all done"), 3);
    assert_eq!(thread.state(), State::Done);
    write(&mut thread, &PLAN, 4);
    assert_eq!(thread.state(), State::Active);
    thread.set_paused(Some("the user".into()), 5);
    thread.follow(&ended(Ending::EndOfTurn, "cancelled"), 6);
    assert_eq!(thread.pause_reason(), Some("the user"));
}

#[test]
fn a_write_does_not_end_the_agents_waiting() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 100);
    thread.follow(&Decision::new(Doing::Waiting, 0), 150);
    write(&mut thread, &PLAN, 200);
    assert_eq!(spent(&thread, 500), 50);
}

#[test]
fn a_clock_that_goes_backwards_subtracts_no_time() {
    let mut thread = thread();
    write(&mut thread, &[("Task", InProgress)], 1_000);
    write(&mut thread, &[("Task", Completed)], 400);
    assert_eq!(thread.times("t1").unwrap().spent(2_000), 0);
}

#[test]
fn undo_restores_the_times_of_an_item() {
    let mut thread = thread();
    write(&mut thread, &[("Task", InProgress)], 10);
    write(&mut thread, &[("Task", Completed)], 30);
    write(&mut thread, &[], 40);
    thread.undo(50).unwrap();
    let times = thread.times("t1").unwrap();
    assert_eq!((times.created, times.completed, times.spent(90)), (10, Some(30), 20));
}

#[test]
fn a_cancelled_item_is_not_reported_as_vanished() {
    let folder = Folder::new();
    let mut kept = store(folder.path());
    let thread = open(&mut kept);
    write(thread, &PLAN, 1);
    // The cancelled task matches the item exactly, so the similar task is new.
    let drafts = vec![draft("Mend the other parser", Pending)];
    let plan = Plan { drafts, cancelled: vec![draft("mend the parser", Pending)], ..Plan::default() };
    let outcome = thread.change(|thread| thread.write(plan, WriteOptions::default(), 2));
    let removed: Vec<_> =
        outcome.changes.iter().filter(|change| change.kind == ChangeKind::Removed).collect();
    let said: Vec<_> = removed.iter().map(|change| (change.item_id.as_str(), change.cancelled)).collect();
    assert_eq!(said, [("t1", false), ("t2", true), ("t3", false)]);
    assert!(outcome.result.contains("Dropped while unfinished: \"Ship it\"."), "{}", outcome.result);
    assert_eq!(ids(thread.list()), ["t4"]);
    drop(kept);
    let mut again = store(folder.path());
    let thread = open(&mut again);
    assert_eq!(thread.revisions().iter().last().unwrap().changes, outcome.changes);
    assert_eq!(thread.changes_between(1, 2).unwrap(), outcome.changes);
    let all = thread.changes_between(0, 2).unwrap();
    assert!(all.iter().all(|change| !change.cancelled), "{all:?}");
}

#[test]
fn a_cancelled_task_without_an_item_changes_nothing() {
    let mut thread = thread();
    write(&mut thread, &PLAN, 1);
    let cancelled = vec![draft("Write a novel", Pending)];
    let outcome = thread.write(Plan { cancelled, ..plan(&PLAN) }, WriteOptions::default(), 2);
    assert_eq!((outcome.changes.len(), outcome.revision), (0, 1));
    write(&mut thread, &[("Write a play", Pending)], 3);
    assert_eq!(ids(thread.list()), ["t4"]);
}
