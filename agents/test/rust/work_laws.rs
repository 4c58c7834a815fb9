//! Laws of the sums of work: they add up. That neither a restart, the way a transcript is read nor a crash changes
//! them is shown in `transcript/recorded.rs`.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, json};
use todo_write::events::observation::{Details, Metadata, Payload, Type};
use todo_write::events::policy::Policy;
use todo_write::events::turns::Turn;
use todo_write::events::work::{CallOutcome, Part, Work};
use todo_write::journal::store::Store;
use todo_write::list::item::Status;
use todo_write::thread::Thread;

use crate::common::{Completed, Folder, InProgress, KEY, Pending, open, store, write};

/// The tasks of all lists.
const TASKS: [&str; 3] = ["Mix the dough", "Heat the oven", "Bake the bread"];
const NOW: u64 = 4_000_000_000_000;

#[derive(Clone, Debug)]
enum Act {
    List([Status; 3]),
    Edit { file: usize, removed: usize, added: usize },
    Command { is_ok: bool },
    Prompt,
}

fn act() -> impl Strategy<Value = Act> {
    let status = || select(vec![Pending, InProgress, Completed]);
    prop_oneof![
        2 => [status(), status(), status()].prop_map(Act::List),
        3 => (0..3usize, 0..4usize, 1..4usize)
            .prop_map(|(file, removed, added)| Act::Edit { file, removed, added }),
        2 => any::<bool>().prop_map(|is_ok| Act::Command { is_ok }),
        2 => Just(Act::Prompt),
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 1..40)
}

/// Leaves at most one task in progress.
fn alone(acts: Vec<Act>) -> Vec<Act> {
    let one = |act| match act {
        Act::List(mut statuses) => {
            let first = statuses.iter().position(|status| *status == InProgress);
            for (place, status) in statuses.iter_mut().enumerate() {
                if *status == InProgress && Some(place) != first {
                    *status = Pending;
                }
            }
            Act::List(statuses)
        }
        other => other,
    };
    acts.into_iter().map(one).collect()
}

fn text(name: char, lines: usize) -> String {
    (0..lines).map(|line| format!("\t{name}{line}\n")).collect()
}

/// Reports the acts of a host, of which every one takes some tokens.
fn report(thread: &mut Thread, policy: &Policy, acts: &[Act]) {
    for (number, act) in acts.iter().enumerate() {
        let now = 10 + number as u64;
        let response = Map::from_iter([("response".to_owned(), json!(format!("r{number}")))]);
        let usage = json!({"input": number, "output": 3, "cacheRead": 5, "cacheWrite": 1});
        let usage = Payload::read(Type::Usage, usage, response);
        thread.observe_allowed(policy, usage, Details::default(), now);
        let mut call = Metadata { call_id: Some(format!("c{number}")), ..Metadata::default() };
        let name = match act {
            Act::List(statuses) => {
                let tasks: Vec<_> = TASKS.into_iter().zip(*statuses).collect();
                write(thread, &tasks, now);
                continue;
            }
            Act::Edit { file, removed, added } => {
                let (old, new) = (text('a', *removed), text('b', *added));
                let file = json!({"path": format!("/p/{file}"), "oldText": old, "newText": new});
                call.files = Some(policy.read_files("/p", &[file]));
                "Edit"
            }
            Act::Command { is_ok } => {
                call.outcome = Some(if *is_ok { CallOutcome::Ok } else { CallOutcome::Failed });
                "Bash"
            }
            Act::Prompt => {
                thread.observe(Payload::new(Type::Intent, number.into()), Details::default(), now);
                continue;
            }
        };
        let content = json!({"name": name, "content": text('x', 80)});
        let payload = Payload { metadata: call, ..Payload::new(Type::ToolExecution, content) };
        thread.observe_allowed(policy, payload, Details::default(), now);
    }
}

type AllFigures = (Vec<Option<Work>>, Vec<(Turn, Vec<Option<Work>>)>);

/// The figures of all parts, and the turns with their parts.
fn all_figures(store: &mut Store) -> AllFigures {
    let parts = figures(store);
    let Some(thread) = store.get(KEY).unwrap() else { return (parts, Vec::new()) };
    let ids: Vec<String> = (1..=200).map(|number| format!("t{number}")).collect();
    let named = [Part::Whole, Part::Outside].into_iter().chain(ids.iter().map(|id| Part::Item(id)));
    let named: Vec<Part<'_>> = named.collect();
    let of_turn = |turn| named.iter().map(|part| thread.work_in_turn(turn, *part).cloned()).collect();
    let turns = thread.turns().iter().cloned().enumerate().map(|(place, turn)| (turn, of_turn(place)));
    (parts, turns.collect())
}

/// The sums of some works.
fn added<'w>(works: impl IntoIterator<Item = &'w Option<Work>>) -> [u64; 9] {
    works.into_iter().flatten().fold([0; 9], |mut all, work| {
        all.iter_mut().zip(sums(work)).for_each(|(sum, more)| *sum += more);
        all
    })
}

/// The figures of all parts: the whole, what is outside any task, and each task ever.
fn figures(store: &mut Store) -> Vec<Option<Work>> {
    let Some(thread) = store.get(KEY).unwrap() else { return Vec::new() };
    let ids = (1..=200).map(|number| format!("t{number}"));
    let parts = ids.map(|id| thread.work(Part::Item(&id)).cloned());
    [thread.work(Part::Whole).cloned(), thread.work(Part::Outside).cloned()]
        .into_iter()
        .chain(parts)
        .collect()
}

/// Figures that can be added up.
fn sums(work: &Work) -> [u64; 9] {
    let (commands, tokens) = (&work.commands, &work.tokens);
    [
        work.added,
        work.removed,
        work.edits,
        commands.run,
        commands.failed,
        work.responses,
        tokens.input,
        tokens.output,
        tokens.cache_read + tokens.cache_write,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_parts_add_up_where_no_work_is_shared(acts in acts().prop_map(alone)) {
        let folder = Folder::new();
        let mut store = store(folder.path());
        open(&mut store).change(|thread| report(thread, &Policy::default(), &acts));
        let all = figures(&mut store);
        let whole = all[0].as_ref().map_or([0; 9], sums);
        let mut parts = [0; 9];
        for part in all[1..].iter().flatten() {
            prop_assert_eq!(part.sharers, 0);
            parts.iter_mut().zip(sums(part)).for_each(|(sum, more)| *sum += more);
        }
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn the_turns_add_up_to_the_work_of_the_thread(acts in acts()) {
        let folder = Folder::new();
        let mut store = store(folder.path());
        open(&mut store).change(|thread| report(thread, &Policy::default(), &acts));
        let (parts, turns) = all_figures(&mut store);
        for (place, part) in parts.iter().enumerate() {
            prop_assert_eq!(added(turns.iter().map(|(_, parts)| &parts[place])), added([part]));
        }
        let prompts = turns.iter().filter(|(turn, _)| turn.prompt.is_some()).count();
        prop_assert_eq!(prompts, acts.iter().filter(|act| matches!(act, Act::Prompt)).count());
        prop_assert!(turns.iter().skip(1).all(|(turn, _)| turn.prompt.is_some()));
    }
}

#[test]
fn the_models_that_work_names_are_bounded() {
    let mut thread = Thread::new(KEY, Map::new(), 10);
    for number in 0..1_000 {
        let usage = json!({"output": 1, "model": format!("model {number}")});
        thread.observe(Payload::new(Type::Usage, usage), Details::default(), NOW);
    }
    let work = thread.work(Part::Whole).unwrap();
    assert_eq!((work.models.len(), work.responses), (100, 1_000));
}
