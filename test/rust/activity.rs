//! What an agent does, by three facts: cases and laws.

use std::cmp::Reverse;

use proptest::prelude::*;
use serde_json::Map;
use todo_write::journal::store::{Changed, Store};
use todo_write::list::input::{Options, read_text};
use todo_write::thread::WriteOptions;
use todo_write::thread::activity::By::{File, Host, Lines, Program};
use todo_write::thread::activity::{
    Activity, Background, By, Decision, Doing, End, Ending, Fact, Facts, Process, Reported, Turn,
};

const KEY: &str = "claude:s";
const IDLE: Process = Process::Idle { has_commands: false };

fn asked(at: u64) -> Fact {
    Fact::Request(Some(Reported::new(("rm -rf ~".into(), None), Program, at)))
}

/// What the file of the process says.
fn file(what: Process, at: u64) -> Fact {
    Fact::Process(Reported::new(what, File, at))
}

/// What the connection of its program says.
fn program(what: Process, at: u64) -> Fact {
    Fact::Process(Reported::new(what, Program, at))
}

fn turn(by: By, what: Turn, at: u64) -> Fact {
    Fact::Turn(Reported::new(what, by, at))
}

fn end(ending: impl Into<Option<Ending>>) -> End {
    End::new(ending, None)
}

fn over(ending: Ending) -> Turn {
    Turn::Over(end(ending))
}

fn failed() -> Turn {
    Turn::Over(End { has_failed: true, ..end(Ending::Error) })
}

fn left(commands: u32, subagents: u32) -> Turn {
    Turn::Over(End { background: Background { commands, subagents }, ..end(Ending::EndOfTurn) })
}

fn gone(ending: Ending) -> Process {
    Process::Gone(end(ending))
}

fn trace() -> Process {
    Process::Gone(End { is_trace: true, ..end(Ending::Killed) })
}

fn user_left() -> Process {
    Process::Gone(End { is_left: true, ..end(Ending::SessionEnded) })
}

fn waits() -> Process {
    Process::Waiting { why: None, in_turn: true }
}

fn dialog() -> Process {
    Process::Waiting { why: None, in_turn: false }
}

/// The decision after these facts, in this order.
fn decided(told: &[Fact]) -> Decision {
    let mut facts = Facts::default();
    told.iter().for_each(|fact| facts.tell(fact.clone()));
    facts.decide()
}

/// What an agent does and how it ended.
fn shown(told: &[Fact]) -> (Doing, Option<Ending>) {
    let decision = decided(told);
    (decision.doing, decision.ending)
}

/// The kind of a fact, and who tells it.
fn kind(fact: &Fact) -> u8 {
    match fact {
        Fact::Request(_) | Fact::Pid(..) => 0,
        Fact::Process(_) => 1,
        Fact::Turn(told) => 6 - told.by as u8,
    }
}

#[test]
fn what_an_agent_does_follows_from_three_facts() {
    use Doing::{Failed, Idle, Suspended, Unknown, Waiting, Working};
    use Ending::{Denied, EndOfTurn, Error, Killed, SessionEnded};
    use Process::{Busy, Lost, Stopped};
    use Turn::{Guess, Runs, Waits};
    #[rustfmt::skip]
    let cases: &[(&str, &[Fact], Doing, Option<Ending>)] = &[
        ("its file says that it works", &[file(Busy, 9)], Working, None),
        ("its file says that it waits", &[file(waits(), 9)], Waiting, None),
        ("its file says that it is idle", &[file(IDLE, 9)], Idle, Some(EndOfTurn)),
        ("its file has an unknown word", &[file(Process::Unknown, 9), turn(Lines, Runs(None), 8)], Unknown, None),
        ("its file has an unknown word, but its turn is over",
         &[file(Process::Unknown, 9), turn(Lines, over(EndOfTurn), 8)], Idle, Some(EndOfTurn)),
        ("it is suspended", &[file(Stopped, 9), turn(Lines, Runs(None), 8)], Suspended, None),
        ("it is suspended with an open request", &[asked(7), file(Stopped, 9)], Waiting, None),
        ("a subagent asks after the turn", &[file(IDLE, 9), asked(10)], Waiting, None),
        ("No or Esc, and the file is ahead", &[file(IDLE, 9), turn(Lines, Runs(None), 5)], Idle, Some(EndOfTurn)),
        ("No or Esc, once the lines are read", &[file(IDLE, 9), turn(Lines, over(Denied), 8)], Idle, Some(Denied)),
        ("the turn failed, and the file is idle", &[file(IDLE, 9), turn(Lines, failed(), 8)], Failed, Some(Error)),
        ("an error of an earlier turn", &[turn(Host, failed(), 3), file(IDLE, 9), turn(Lines, Runs(None), 5)],
         Idle, Some(EndOfTurn)),
        ("a turn of a session that lives again", &[file(IDLE, 9), turn(Lines, over(SessionEnded), 8)],
         Idle, Some(EndOfTurn)),
        ("it exited during a turn", &[file(gone(SessionEnded), 9), turn(Lines, Runs(None), 5)], Idle, Some(SessionEnded)),
        ("it exited just after its turn", &[file(gone(SessionEnded), 9), turn(Lines, over(EndOfTurn), 8)],
         Idle, Some(EndOfTurn)),
        ("it was idle and exited", &[file(IDLE, 5), file(gone(SessionEnded), 9)], Idle, Some(EndOfTurn)),
        ("it was denied and exited", &[file(gone(SessionEnded), 9), turn(Lines, over(Denied), 8)],
         Idle, Some(Denied)),
        ("it was killed", &[file(gone(Killed), 9), turn(Lines, Runs(None), 5)], Idle, Some(Killed)),
        ("it was killed while it was idle", &[file(gone(Killed), 9), turn(Lines, over(EndOfTurn), 5)],
         Idle, Some(Killed)),
        ("it left its file, during a turn", &[file(trace(), 9), turn(Lines, Runs(None), 5)], Idle, Some(Killed)),
        ("it left its file, and a later turn ended well", &[file(trace(), 9), turn(Lines, over(EndOfTurn), 8)],
         Idle, Some(EndOfTurn)),
        ("it was killed, resumed and left", &[file(user_left(), 9), turn(Lines, over(Killed), 8)],
         Idle, Some(SessionEnded)),
        ("it was killed, which its journal tells", &[file(trace(), 9), turn(Lines, over(Killed), 8)],
         Idle, Some(Killed)),
        ("it exited, and the session goes on elsewhere", &[file(gone(SessionEnded), 9), turn(Lines, Runs(None), 12)],
         Working, None),
        ("Codex works", &[turn(Lines, Runs(None), 5)], Working, None),
        ("Codex, whose terminal was killed, is silent", &[turn(Lines, Turn::Unknown, 5)], Unknown, None),
        ("Codex is silent, and its program tells", &[turn(Lines, Turn::Unknown, 5), turn(Program, Runs(None), 9)], Working, None),
        ("Codex called the tool, and its turn ended", &[turn(Program, Runs(None), 7), turn(Lines, over(EndOfTurn), 9)],
         Idle, Some(EndOfTurn)),
        ("Codex called the tool in its next turn", &[turn(Program, Runs(None), 11), turn(Lines, over(EndOfTurn), 9)],
         Working, None),
        ("the connection of its program broke", &[program(Lost(None), 9)], Unknown, None),
        ("the connection of its program broke, and its process works",
         &[program(Lost(None), 9), file(Busy, 5)], Working, None),
        ("the connection of its program broke, and its lines tell", &[program(Lost(None), 9), turn(Lines, Runs(None), 5)],
         Working, None),
        ("the program that follows it is lost", &[file(Lost(None), 9), turn(Lines, Runs(None), 5)], Unknown, None),
        ("a host has its turn", &[turn(Host, Runs(None), 5), turn(Lines, over(EndOfTurn), 9)], Working, None),
        ("a host has its turn, and its process is gone", &[turn(Host, Runs(None), 5), file(gone(SessionEnded), 9)],
         Working, None),
        ("a host's turn waits", &[turn(Host, Waits(None), 5), turn(Lines, Runs(None), 9)], Waiting, None),
        ("a host's turn ended, and its lines come late", &[turn(Host, over(EndOfTurn), 9), turn(Lines, Runs(None), 5)],
         Idle, Some(EndOfTurn)),
        ("a session of a host goes on in a terminal", &[turn(Host, over(EndOfTurn), 9), turn(Lines, Runs(None), 20)],
         Working, None),
        ("a host only says that it failed", &[turn(Host, Turn::Failed(None), 9)], Failed, None),
        ("a host says that it failed, and its process is idle", &[turn(Host, Turn::Failed(None), 8), file(IDLE, 9)],
         Failed, None),
        ("a host only says that it is idle", &[turn(Host, Turn::Idle, 9)], Idle, None),
        ("a host guesses", &[turn(Host, Guess(Waiting, None), 9)], Waiting, None),
        ("a host guesses while the process knows", &[turn(Host, Guess(Waiting, None), 9), file(Busy, 5)],
         Working, None),
        ("a dialog that the user opened", &[file(IDLE, 5), file(dialog(), 9)], Idle, Some(EndOfTurn)),
        ("a dialog within a turn", &[file(Busy, 5), file(dialog(), 9)], Waiting, None),
        ("a dialog that was open before, within a turn", &[file(dialog(), 9), turn(Lines, Runs(None), 5)], Waiting, None),
        ("a dialog that was open before, between turns", &[file(dialog(), 9), turn(Lines, over(EndOfTurn), 5)],
         Idle, Some(EndOfTurn)),
        ("a dialog that stays open as the next turn begins",
         &[file(IDLE, 5), file(dialog(), 9), turn(Lines, Runs(None), 10)], Waiting, None),
        ("a turn began as another one ended, and the host knows of it",
         &[turn(Program, Runs(None), 9), turn(Lines, over(EndOfTurn), 9)], Working, None),
        ("a dialog of the user, and lines of the turn before",
         &[file(IDLE, 5), file(dialog(), 9), turn(Lines, Runs(None), 3)], Idle, Some(EndOfTurn)),
    ];
    assert_eq!(shown(&[]), (Unknown, None));
    for (name, told, doing, ending) in cases {
        assert_eq!(shown(told), (*doing, *ending), "{name}");
        let mut backwards = told.to_vec();
        // The facts of one kind by one teller keep their order.
        backwards.sort_by_key(|fact| Reverse(kind(fact)));
        assert_eq!(shown(&backwards), (*doing, *ending), "{name}, in another order");
    }
}

/// The lines of the manual's table, each as its words for the request, the process, the turn and the activity.
fn lines_of_the_manual() -> Vec<[&'static str; 4]> {
    let manual = include_str!("../../doc/todo-write.org");
    let mut lines = manual.lines().skip_while(|line| !line.starts_with("request  process"));
    let header = lines.next().unwrap();
    let [process, turn, activity] = ["process", "turn", "activity"].map(|word| header.find(word).unwrap());
    let cell = |line: &'static str, from, to| line.get(from..to).or(line.get(from..)).unwrap_or("").trim();
    let lines = lines.take_while(|line| !line.starts_with("#+end"));
    lines
        .map(|line| {
            let [request, process, turn, activity] =
                [(0, process), (process, turn), (turn, activity), (activity, 99)]
                    .map(|(from, to)| cell(line, from, to));
            [request, process, turn, activity]
        })
        .collect()
}

#[test]
fn the_first_line_of_the_manual_that_fits_says_what_an_agent_does() {
    let processes = [
        (Process::Unknown, ""),
        (Process::Busy, "busy"),
        (IDLE, "idle"),
        (waits(), "waiting"),
        (dialog(), "dialog"),
        (Process::Stopped, "stopped"),
        (gone(Ending::SessionEnded), "gone"),
        (gone(Ending::Killed), "gone"),
        (Process::Lost(None), "lost"),
    ];
    let turns = [
        (Turn::Unknown, &[][..], ""),
        (Turn::Runs(None), &["runs"], "working"),
        (Turn::Waits(None), &["waits"], "waiting"),
        (Turn::Failed(None), &["failed"], "failed"),
        (failed(), &["failed"], "failed"),
        (over(Ending::EndOfTurn), &["ended"], ""),
        (left(0, 1), &["ended", "subagents left"], ""),
        (Turn::Idle, &["idle"], ""),
        (Turn::Guess(Doing::Waiting, None), &["guessed"], "waiting"),
    ];
    let lines = lines_of_the_manual();
    let mut used = vec![false; lines.len()];
    let fits =
        |cell: &str, words: &[&str]| cell.is_empty() || cell.split(", ").any(|word| words.contains(&word));
    for is_open in [false, true] {
        for (process, process_word) in &processes {
            for (event, turn_words, said) in &turns {
                let request = if is_open { "open" } else { "" };
                let at = lines.iter().position(|[of_request, of_process, of_turn, _]| {
                    fits(of_request, &[request])
                        && fits(of_process, &[process_word])
                        && fits(of_turn, turn_words)
                });
                let at = at.unwrap();
                used[at] = true;
                let word = if lines[at][3] == "as guessed" { said } else { lines[at][3] };
                let mut told = vec![file(process.clone(), 5), turn(Lines, event.clone(), 9)];
                told.extend(is_open.then(|| asked(9)));
                let decision = decided(&told);
                assert_eq!(decision.doing.as_str(), word, "{process:?} {event:?}");
                assert_eq!(decision.is_guess, !is_open && lines[at][2] == "guessed", "{process:?} {event:?}");
            }
        }
    }
    assert!(used.iter().all(|used| *used), "{lines:?}");
}

#[test]
fn the_first_ending_of_a_turn_counts_unless_a_later_one_is_more_exact() {
    use Ending::{Denied, EndOfTurn, Killed, SessionEnded};
    for (endings, counts) in [
        (&[Denied, EndOfTurn, SessionEnded, Killed][..], Denied),
        (&[EndOfTurn, SessionEnded], EndOfTurn),
        (&[EndOfTurn, Killed], Killed),
        (&[SessionEnded, EndOfTurn], EndOfTurn),
        (&[EndOfTurn, Denied], Denied),
    ] {
        for (first, later) in [(Host, Host), (Lines, Lines), (Host, Lines), (Lines, Host)] {
            let told = endings.iter().enumerate().map(|(number, ending)| {
                turn(if number == 0 { first } else { later }, over(*ending), 200 + number as u64)
            });
            let told: Vec<Fact> = [turn(first, Turn::Runs(None), 1)].into_iter().chain(told).collect();
            assert_eq!(shown(&told).1, Some(counts), "{endings:?}");
        }
    }
    let told = [turn(Host, over(Denied), 1), turn(Host, Turn::Runs(None), 2), turn(Host, over(EndOfTurn), 3)];
    assert_eq!(shown(&told).1, Some(EndOfTurn));
}

#[test]
fn the_most_exact_end_gives_the_reason() {
    let because = |ending: Option<Ending>, reason: &str, at| {
        turn(Lines, Turn::Over(End::new(ending, Some(reason.to_owned()))), at)
    };
    let pause = |told: &[Fact]| {
        let decision = decided(told);
        (decision.pause, decision.ending)
    };
    let interrupted = because(Some(Ending::EndOfTurn), "interrupted by the user", 8);
    for told in [vec![file(IDLE, 9)], vec![file(IDLE, 9), file(gone(Ending::SessionEnded), 10)]] {
        let told: Vec<Fact> = told.into_iter().chain([interrupted.clone()]).collect();
        assert_eq!(pause(&told).0.as_deref(), Some("interrupted by the user"));
    }
    let quiet = because(None, "quiet since noon", 8);
    assert_eq!(pause(&[file(IDLE, 9), quiet.clone()]).0.as_deref(), Some("end of turn"));
    assert_eq!(pause(&[quiet]), (Some("quiet since noon".to_owned()), None));
}

#[test]
fn a_background_command_leaves_its_agent_idle_and_is_said() {
    let told = [file(Process::Idle { has_commands: true }, 9), turn(Lines, over(Ending::Denied), 8)];
    let decision = decided(&told);
    assert_eq!((decision.doing, decision.reason.as_deref()), (Doing::Idle, Some("1 in background")));
    assert_eq!(decision.ending, Some(Ending::Denied));
}

#[test]
fn what_still_runs_is_counted_by_the_lines_as_far_as_the_process_says_that_it_runs() {
    use Process::Busy;
    let shell = Process::Idle { has_commands: true };
    for (process, lines, doing, background) in [
        (&Busy, left(0, 1), Doing::Idle, 1),
        (&Busy, left(2, 1), Doing::Idle, 3),
        // It goes on when they have returned.
        (&Busy, left(2, 0), Doing::Working, 0),
        (&Busy, Turn::Runs(None), Doing::Working, 0),
        (&shell, left(3, 0), Doing::Idle, 3),
        (&shell, left(0, 0), Doing::Idle, 1),
        (&IDLE, left(3, 0), Doing::Idle, 0),
        // Nothing of an agent that has ended runs.
        (&gone(Ending::SessionEnded), left(3, 1), Doing::Idle, 0),
    ] {
        let decision = decided(&[turn(Lines, lines.clone(), 8), file(process.clone(), 9)]);
        assert_eq!((decision.doing, decision.background), (doing, background), "{process:?} {lines:?}");
    }
}

#[test]
fn a_session_that_the_user_left_is_left_until_it_goes_on() {
    let is_left = |told: &[Fact]| decided(told).is_left;
    assert!(is_left(&[file(user_left(), 9)]));
    // The turn before ended well, by any source.
    assert!(is_left(&[file(IDLE, 5), file(user_left(), 9)]));
    assert!(is_left(&[file(user_left(), 9), turn(Lines, over(Ending::Denied), 8)]));
    assert!(is_left(&[file(IDLE, 5), program(user_left(), 9)]));
    assert!(!is_left(&[file(user_left(), 9), turn(Program, Turn::Runs(None), 12)]));
    assert!(!is_left(&[program(user_left(), 9), turn(Lines, Turn::Runs(None), 12), file(IDLE, 15)]));
    assert!(!is_left(&[file(gone(Ending::SessionEnded), 9)]));
    // That it was left is news, although it was idle before.
    let mut agent = Agent::new();
    agent.tell(file(IDLE, 5));
    assert!(agent.tell(program(user_left(), 9)).is_transition);
}

#[test]
fn the_process_of_an_agent_is_its_own_if_that_is_known() {
    let mut facts = Facts::default();
    let mut known = |fact: Fact| {
        facts.tell(fact);
        facts.pid()
    };
    assert_eq!(known(turn(Host, Turn::Runs(None), 1)), None);
    assert_eq!(known(Fact::Request(Some(Reported::new(("?".into(), Some(30)), Program, 2)))), Some(30));
    assert_eq!(known(Fact::Pid(Program, Some(20))), Some(20));
    assert_eq!(known(Fact::Pid(File, Some(10))), Some(10));
    assert_eq!(known(Fact::Pid(File, None)), Some(20));
    assert_eq!(known(Fact::Request(None)), Some(20));
    assert_eq!(known(Fact::Pid(Program, None)), None);
}

/// An agent whose plan has an open item.
struct Agent(Store);

impl Agent {
    fn new() -> Agent {
        let mut store = Store::default();
        let call = r#"{"todos": [{"content": "Dig", "status": "in_progress", "activeForm": "Digging"}]}"#;
        let plan = read_text(call, &Options::default()).unwrap();
        store.open(KEY, Map::new(), 1).change(|thread| thread.write(plan, WriteOptions::default(), 1));
        Agent(store)
    }

    fn tell(&mut self, fact: Fact) -> Changed {
        self.0.tell(KEY, [fact], 100)
    }

    /// Why the plan is paused, how the agent ended, and what it does, by the journal.
    fn recorded(&mut self) -> (Option<String>, Option<Ending>, Activity) {
        let activity = self.0.get(KEY).unwrap().unwrap().agent_activity().clone();
        (activity.paused, activity.ending, activity.activity)
    }
}

#[test]
fn the_end_of_a_turn_ends_its_requests_but_not_those_of_a_process_that_waits() {
    use Process::{Busy, Stopped};
    for (before, end, is_open) in [
        (None, turn(Host, over(Ending::EndOfTurn), 9), false),
        (None, turn(Host, Turn::Unknown, 9), true),
        (Some(Busy), file(IDLE, 9), false),
        (Some(Busy), file(gone(Ending::Killed), 9), false),
        (Some(Busy), file(Stopped, 9), true),
        (Some(waits()), turn(Lines, over(Ending::EndOfTurn), 9), true),
        (Some(IDLE), file(IDLE, 9), true),
        // A subagent may ask.
        (Some(Busy), turn(Lines, left(0, 1), 9), true),
    ] {
        let mut agent = Agent::new();
        if let Some(before) = before {
            agent.tell(file(before, 1));
        }
        agent.tell(asked(5));
        agent.tell(end.clone());
        let is_waiting = agent.0.agents.decision(KEY).unwrap().doing == Doing::Waiting;
        assert_eq!(is_waiting && agent.tell(Fact::Request(None)).is_transition, is_open, "{end:?}");
    }
}

#[test]
fn the_plan_is_paused_and_goes_on_with_what_its_agent_does() {
    use Process::{Busy, Lost, Stopped};
    let ended = Some(Ending::EndOfTurn);
    let killed = Process::Gone(End::new(Ending::Killed, Some("killed".into())));
    let mut agent = Agent::new();
    for (name, process, (paused, ending, activity)) in [
        ("works", Busy, (None, None, Activity::Working)),
        ("stops", Stopped, (Some("suspended"), None, Activity::Working)),
        ("waits", waits(), (None, None, Activity::Waiting)),
        ("ends", IDLE, (Some("end of turn"), ended, Activity::Idle)),
        ("stops", Stopped, (Some("suspended"), None, Activity::Idle)),
        ("is killed", killed, (Some("killed"), Some(Ending::Killed), Activity::Idle)),
        ("is resumed", IDLE, (Some("end of turn"), ended, Activity::Idle)),
        ("waits", waits(), (None, None, Activity::Waiting)),
        ("does something unknown", Process::Unknown, (None, None, Activity::Working)),
        ("is lost", Lost(None), (None, None, Activity::Idle)),
        ("works", Busy, (None, None, Activity::Working)),
        (
            "is lost for a minute",
            Lost(Some("no connection".into())),
            (Some("no connection"), None, Activity::Idle),
        ),
    ] {
        agent.tell(file(process, 9));
        assert_eq!(agent.recorded(), (paused.map(str::to_owned), ending, activity), "it {name}");
    }
}

#[test]
fn a_pause_of_the_user_stays_until_the_agent_works_again() {
    let mut agent = Agent::new();
    agent.tell(turn(Host, Turn::Runs(None), 1));
    agent.0.get_mut(KEY).unwrap().change(|thread| thread.set_paused(Some("lunch".into()), 2));
    agent.tell(turn(Host, Turn::Runs(None), 2));
    let lunch = Some("lunch".to_owned());
    assert_eq!(agent.recorded(), (lunch.clone(), None, Activity::Working));
    agent.tell(turn(Host, over(Ending::EndOfTurn), 3));
    assert_eq!(agent.recorded(), (lunch, Some(Ending::EndOfTurn), Activity::Idle));
    agent.tell(turn(Host, Turn::Runs(None), 4));
    assert_eq!(agent.recorded().0, None);
}

#[test]
fn a_finished_plan_is_not_paused() {
    let mut agent = Agent(Store::default());
    agent.0.open(KEY, Map::new(), 1);
    agent.tell(turn(Host, over(Ending::Killed), 3));
    assert_eq!(agent.recorded(), (None, Some(Ending::Killed), Activity::Idle));
}

fn process() -> impl Strategy<Value = Process> {
    prop::sample::select(vec![
        Process::Busy,
        Process::Busy,
        IDLE,
        IDLE,
        waits(),
        dialog(),
        Process::Stopped,
        Process::Unknown,
        Process::Lost(None),
        Process::Lost(Some("lost".into())),
        gone(Ending::SessionEnded),
        gone(Ending::Killed),
        user_left(),
    ])
}

fn event() -> impl Strategy<Value = Turn> {
    prop::sample::select(vec![
        Turn::Runs(None),
        Turn::Runs(None),
        Turn::Runs(None),
        Turn::Waits(Some("why".into())),
        Turn::Idle,
        Turn::Failed(Some("why".into())),
        Turn::Unknown,
        Turn::Guess(Doing::Waiting, None),
        failed(),
        over(Ending::EndOfTurn),
        over(Ending::Denied),
        over(Ending::SessionEnded),
        Turn::Over(End::new(None, Some("quiet".into()))),
        left(1, 1),
    ])
}

fn told() -> impl Strategy<Value = Fact> {
    let by = || prop::sample::select(vec![Program, Lines, Host]);
    prop_oneof![
        (process(), any::<bool>(), 1_u64..50)
            .prop_map(|(what, of_file, at)| { if of_file { file(what, at) } else { program(what, at) } }),
        (by(), event(), 1_u64..50).prop_map(|(by, what, at)| turn(by, what, at)),
    ]
}

#[test]
fn that_nobody_can_tell_what_it_does_is_told_as_well() {
    for fact in [program(Process::Unknown, 9), turn(Program, Turn::Unknown, 9), turn(Lines, Turn::Unknown, 9)]
    {
        let mut agent = Agent::new();
        assert!(agent.tell(fact.clone()).is_transition, "{fact:?}");
        assert_eq!(agent.0.agents.decision(KEY), Some(&Decision::new(Doing::Unknown, 9)), "{fact:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_which_of_the_facts_came_first(
        processes in prop::collection::vec((process(), 1_u64..50), 0..6),
        event in (event(), 1_u64..50),
        place in 0_usize..6,
    ) {
        let mut told: Vec<Fact> = processes.into_iter().map(|(what, at)| file(what, at)).collect();
        let event = turn(Lines, event.0, event.1);
        let last: Vec<Fact> = told.iter().cloned().chain([event.clone()]).collect();
        told.insert(place.min(told.len()), event);
        prop_assert_eq!(decided(&told), decided(&last));
    }

    #[test]
    fn a_repeated_fact_changes_nothing(told in prop::collection::vec(told(), 1..12)) {
        let mut agent = Agent::new();
        told.iter().for_each(|fact| drop(agent.tell(fact.clone())));
        let facts = agent.0.agents.facts(KEY).unwrap();
        let (process, turn) = (facts.process.clone(), facts.turn.clone());
        let before = agent.recorded();
        for fact in [Fact::Process(process), Fact::Turn(turn)] {
            prop_assert!(!agent.tell(fact).is_news());
        }
        prop_assert_eq!(agent.recorded(), before);
    }

    #[test]
    fn a_guess_never_beats_a_fact(told in prop::collection::vec(told(), 0..12), at in 1_u64..50) {
        let mut facts = Facts::default();
        told.into_iter().for_each(|fact| facts.tell(fact));
        let (process, by_lines) = (facts.process.what.clone(), facts.turn.by != Host);
        let before = (facts.turn.what.clone(), facts.decide());
        facts.tell(turn(Host, Turn::Guess(Doing::Waiting, None), at));
        let decision = facts.decide();
        prop_assert!(!decision.is_guess || process == Process::Unknown);
        if by_lines && !matches!(before.0, Turn::Unknown | Turn::Guess(..)) {
            prop_assert_eq!(decision, before.1);
        }
    }

    #[test]
    fn an_open_request_always_waits_and_closing_it_restores_what_the_others_say(
        told in prop::collection::vec(told(), 0..12),
    ) {
        let mut facts = Facts::default();
        told.into_iter().for_each(|fact| facts.tell(fact));
        let before = facts.decide();
        facts.tell(asked(7));
        let open = facts.decide();
        prop_assert_eq!((open.doing, open.reason.as_deref(), open.is_guess), (Doing::Waiting, Some("rm -rf ~"), false));
        facts.tell(Fact::Request(None));
        prop_assert_eq!(before, facts.decide());
    }

    #[test]
    fn what_is_shown_and_the_clock_agree(told in prop::collection::vec(told(), 1..12)) {
        let mut agent = Agent::new();
        for fact in told {
            agent.tell(fact);
            let (paused, ending, activity) = agent.recorded();
            let runs = paused.is_none() && activity == Activity::Working;
            let Some(decision) = agent.0.agents.decision(KEY).cloned() else { continue };
            match decision.doing {
                _ if decision.is_guess => {}
                Doing::Unknown if !decision.is_lost => {}
                Doing::Working => prop_assert!(runs),
                _ => prop_assert!(!runs, "{decision:?}"),
            }
            let is_over = matches!(decision.doing, Doing::Idle | Doing::Failed);
            prop_assert!(is_over || decision.doing == Doing::Unknown || decision.is_guess || ending.is_none());
            prop_assert!(!is_over || decision.pause.is_none() || ending == decision.ending);
        }
    }

    #[test]
    fn since_stays_while_the_activity_does(told in prop::collection::vec(told(), 1..12)) {
        let mut agent = Agent::new();
        let mut before: Option<Decision> = None;
        for fact in told {
            agent.tell(fact);
            let after = agent.0.agents.decision(KEY).cloned();
            if let (Some(before), Some(after)) = (&before, &after)
                && (before.doing, &before.reason) == (after.doing, &after.reason)
            {
                prop_assert_eq!(before.since, after.since);
            }
            before = after;
        }
    }
}
