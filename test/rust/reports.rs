//! What an agent does, by the reports of several sources: cases and laws.

use proptest::prelude::*;
use todo_write::reports::Source::{Bridge, Host, Process, Request, Transcript};
use todo_write::reports::{
    Background, Decision, Doing, Report, Reports, Rest, SOURCES, Source, Table, Weight, What,
};
use todo_write::reports::{Step, decide};
use todo_write::thread::activity::{Activity, AgentActivity, Ending};

const KEY: &str = "claude:s";
const ONE_COMMAND: Background = Background { commands: 1, subagents: 0 };

fn state(what: What, at: u64) -> Report {
    Report::new(what, Weight::State, at)
}

fn event(what: What, at: u64) -> Report {
    Report::new(what, Weight::Event, at)
}

fn guess(what: What, at: u64) -> Report {
    Report::new(what, Weight::Guess, at)
}

fn dialog() -> What {
    What::Dialog { rested: None }
}

fn over(ending: Ending) -> What {
    What::Rest(Rest::end(Some(ending)))
}

fn failed() -> What {
    What::Rest(Rest { has_failed: true, ..Rest::end(Some(Ending::Error)) })
}

fn trace() -> What {
    What::Rest(Rest { is_trace: true, ..Rest::end(Some(Ending::Killed)) })
}

/// The decision after these reports, in this order.
fn decided(said: &[(Source, Report)]) -> Option<Decision> {
    let mut reports = Reports::default();
    for (source, report) in said {
        reports.set(*source, Some(report.clone()));
    }
    decide(&reports)
}

/// A moment, the reports, and what they come to.
type Case<'a> = (&'a str, &'a [(Source, Report)], Shown);

/// What an agent does, how it ended, and whether that is a guess.
type Shown = (Doing, Option<Ending>, bool);

/// What is shown after these reports.
fn shown(said: &[(Source, Report)]) -> Shown {
    decided(said).map_or((Doing::Unknown, None, false), |one| (one.doing, one.ending, one.is_inferred))
}

#[test]
fn what_an_agent_does_follows_from_all_reports() {
    use Doing::*;
    use Ending::{Denied, EndOfTurn, Error, Killed, SessionEnded};
    let rest = || What::Rest(Rest::default());
    let end = || over(EndOfTurn);
    let works = || What::Working;
    #[rustfmt::skip]
    let cases: &[Case<'_>] = &[
        ("its file says that it works", &[(Process, state(works(), 9))], (Working, None, false)),
        ("its file says that it waits", &[(Process, state(What::Waiting, 9))], (Waiting, None, false)),
        ("its file says that it is idle", &[(Process, state(end(), 9))], (Idle, Some(EndOfTurn), false)),
        ("its file has an unknown word", &[(Process, state(What::Unknown, 9)), (Transcript, event(works(), 8))],
         (Unknown, None, true)),
        ("its file has an unknown word, but its turn is over",
         &[(Process, state(What::Unknown, 9)), (Transcript, event(end(), 8))], (Idle, Some(EndOfTurn), false)),
        ("it is suspended", &[(Process, state(What::Suspended, 9)), (Transcript, event(works(), 8))],
         (Suspended, None, false)),
        ("it is suspended with an open request",
         &[(Request, state(What::Waiting, 7)), (Process, state(What::Suspended, 9))], (Waiting, None, false)),
        ("a subagent asks after the turn", &[(Process, state(end(), 9)), (Request, state(What::Waiting, 10))],
         (Waiting, None, false)),
        ("No or Esc, and the file is ahead", &[(Process, state(end(), 9)), (Transcript, event(works(), 5))],
         (Idle, Some(EndOfTurn), false)),
        ("No or Esc, once the lines are read",
         &[(Process, state(end(), 9)), (Transcript, event(over(Denied), 8))], (Idle, Some(Denied), false)),
        ("the turn failed, and the file is idle", &[(Process, state(end(), 9)), (Transcript, event(failed(), 8))],
         (Failed, Some(Error), false)),
        ("an error of an earlier turn", &[(Host, event(failed(), 3)), (Process, state(end(), 9)),
         (Transcript, event(works(), 5))], (Idle, Some(EndOfTurn), false)),
        ("it exited during a turn", &[(Process, event(over(SessionEnded), 9)), (Transcript, event(works(), 5))],
         (Idle, Some(SessionEnded), false)),
        ("it exited just after its turn", &[(Process, event(over(SessionEnded), 9)), (Transcript, event(end(), 8))],
         (Idle, Some(EndOfTurn), false)),
        ("it was denied and exited", &[(Process, event(over(SessionEnded), 9)), (Transcript, event(over(Denied), 8))],
         (Idle, Some(Denied), false)),
        ("it was killed", &[(Process, event(over(Killed), 9)), (Transcript, event(works(), 5))],
         (Idle, Some(Killed), false)),
        ("it was killed while it was idle", &[(Process, event(over(Killed), 9)), (Transcript, event(end(), 5))],
         (Idle, Some(Killed), false)),
        ("it left its file, during a turn", &[(Process, event(trace(), 9)), (Transcript, event(works(), 5))],
         (Idle, Some(Killed), false)),
        ("it left its file, and a later turn ended well",
         &[(Process, event(trace(), 9)), (Transcript, event(end(), 8))], (Idle, Some(EndOfTurn), false)),
        ("it exited, and the session goes on elsewhere",
         &[(Process, event(over(SessionEnded), 9)), (Transcript, event(works(), 12))], (Working, None, false)),
        ("Codex works", &[(Transcript, event(works(), 5))], (Working, None, false)),
        ("Codex, whose terminal was killed, is silent", &[(Transcript, guess(What::Unknown, 5))],
         (Unknown, None, true)),
        ("Codex is silent, and its program tells", &[(Transcript, guess(What::Unknown, 5)),
         (Bridge, event(works(), 9))], (Working, None, false)),
        ("Codex called the tool, and its turn ended",
         &[(Bridge, event(works(), 7)), (Transcript, event(end(), 9))], (Idle, Some(EndOfTurn), false)),
        ("Codex called the tool in its next turn",
         &[(Bridge, event(works(), 11)), (Transcript, event(end(), 9))], (Working, None, false)),
        ("the connection of its program broke", &[(Bridge, guess(What::Lost, 9))], (Unknown, None, true)),
        ("the connection of its program broke, and its process works",
         &[(Bridge, guess(What::Lost, 9)), (Process, state(works(), 5))], (Working, None, false)),
        ("a host has its turn", &[(Host, state(works(), 5)), (Transcript, event(end(), 9))],
         (Working, None, false)),
        ("a host's turn ended, and its lines come late",
         &[(Host, event(end(), 9)), (Transcript, event(works(), 5))], (Idle, Some(EndOfTurn), false)),
        ("a session of a host goes on in a terminal",
         &[(Host, event(end(), 9)), (Transcript, event(works(), 20))], (Working, None, false)),
        ("a host only says that it is idle", &[(Host, event(rest(), 9))], (Idle, None, false)),
        ("a host guesses", &[(Host, guess(What::Waiting, 9))], (Waiting, None, true)),
        ("a host guesses while the process knows",
         &[(Host, guess(What::Waiting, 9)), (Process, state(works(), 5))], (Working, None, false)),
        ("a dialog that the user opened", &[(Process, state(end(), 5)), (Process, state(dialog(), 9))],
         (Idle, Some(EndOfTurn), false)),
        ("a dialog within a turn", &[(Process, state(works(), 5)), (Process, state(dialog(), 9))],
         (Waiting, None, false)),
        ("a dialog that was open before, within a turn",
         &[(Process, state(dialog(), 9)), (Transcript, event(works(), 5))], (Waiting, None, false)),
        ("a dialog that was open before, between turns",
         &[(Process, state(dialog(), 9)), (Transcript, event(end(), 5))], (Idle, Some(EndOfTurn), false)),
        ("a dialog that stays open as the next turn begins",
         &[(Process, state(end(), 5)), (Process, state(dialog(), 9)), (Transcript, event(works(), 10))],
         (Waiting, None, false)),
        ("a turn began as another one ended, and the host knows of it",
         &[(Host, event(works(), 9)), (Transcript, event(end(), 9))], (Working, None, false)),
        ("a dialog of the user, and lines of the turn before",
         &[(Process, state(end(), 5)), (Process, state(dialog(), 9)), (Transcript, event(works(), 3))],
         (Idle, Some(EndOfTurn), false)),
    ];
    for (name, said, expected) in cases {
        assert_eq!(shown(said), *expected, "{name}");
        let mut backwards: Vec<_> = said.to_vec();
        // The reports of one source keep their order.
        backwards.sort_by_key(|(source, _)| std::cmp::Reverse(*source));
        assert_eq!(shown(&backwards), *expected, "{name}, in another order");
    }
}

#[test]
fn the_most_exact_end_gives_the_reason() {
    let process = state(over(Ending::EndOfTurn), 9);
    let lines = event(over(Ending::EndOfTurn), 8).because(Some("interrupted by the user".into()));
    let decision = decided(&[(Process, process.clone()), (Transcript, lines)]).unwrap();
    assert_eq!(decision.pause.as_deref(), Some("interrupted by the user"));
    let quiet = event(What::Rest(Rest::end(None)), 8).because(Some("quiet since noon".into()));
    let decision = decided(&[(Process, process), (Transcript, quiet.clone())]).unwrap();
    assert_eq!(decision.pause.as_deref(), Some("end of turn"));
    let decision = decided(&[(Transcript, quiet)]).unwrap();
    assert_eq!((decision.pause.as_deref(), decision.ending), (Some("quiet since noon"), None));
}

#[test]
fn a_background_command_leaves_its_agent_idle_and_is_said() {
    let shell = Report { background: ONE_COMMAND, ..state(over(Ending::EndOfTurn), 9) };
    let decision = decided(&[(Process, shell), (Transcript, event(over(Ending::Denied), 8))]).unwrap();
    assert_eq!((decision.doing, decision.reason.as_deref()), (Doing::Idle, Some("1 in background")));
    assert_eq!(decision.ending, Some(Ending::Denied));
}

#[test]
fn what_still_runs_is_counted_by_the_lines_as_far_as_the_process_says_that_it_runs() {
    let left = |commands, subagents| Report {
        background: Background { commands, subagents },
        ..event(over(Ending::EndOfTurn), 8)
    };
    let (busy, idle) = (state(What::Working, 9), state(over(Ending::EndOfTurn), 9));
    let shell = Report { background: ONE_COMMAND, ..idle.clone() };
    for (process, lines, doing, background) in [
        (&busy, left(0, 1), Doing::Idle, 1),
        (&busy, left(2, 1), Doing::Idle, 3),
        // It goes on when they have returned.
        (&busy, left(2, 0), Doing::Working, 0),
        (&busy, event(What::Working, 10), Doing::Working, 0),
        (&shell, left(3, 0), Doing::Idle, 3),
        (&shell, left(0, 0), Doing::Idle, 1),
        (&idle, left(3, 0), Doing::Idle, 0),
        // Nothing of an agent that has ended runs.
        (&event(over(Ending::SessionEnded), 9), left(3, 1), Doing::Idle, 0),
    ] {
        let decision = decided(&[(Transcript, lines.clone()), (Process, process.clone())]).unwrap();
        assert_eq!((decision.doing, decision.background), (doing, background), "{process:?} {lines:?}");
    }
}

#[test]
fn a_session_that_the_user_left_is_left_until_it_goes_on() {
    let left = || event(What::Rest(Rest { is_left: true, ..Rest::end(Some(Ending::SessionEnded)) }), 9);
    let is_left = |said: &[(Source, Report)]| decided(said).is_some_and(|decision| decision.is_left);
    assert!(is_left(&[(Process, left())]));
    // The turn before ended well, by any source.
    assert!(is_left(&[(Process, state(over(Ending::EndOfTurn), 5)), (Process, left())]));
    assert!(is_left(&[(Process, left()), (Transcript, event(over(Ending::Denied), 8))]));
    assert!(is_left(&[(Process, state(over(Ending::EndOfTurn), 5)), (Bridge, left())]));
    assert!(!is_left(&[(Process, left()), (Bridge, event(What::Working, 12))]));
    assert!(!is_left(&[
        (Bridge, left()),
        (Transcript, event(What::Working, 12)),
        (Process, state(over(Ending::EndOfTurn), 15))
    ]));
    assert!(!is_left(&[(Process, event(over(Ending::SessionEnded), 9))]));
    // That it was left is news, although it was idle before.
    let mut table = Table::default();
    steps(&mut table, vec![(Process, Some(state(over(Ending::EndOfTurn), 5)))]);
    assert!(steps(&mut table, vec![(Bridge, Some(left()))]).iter().any(|step| step.is_transition));
}

#[test]
fn the_process_of_an_agent_is_its_own_if_that_is_known() {
    let mut table = Table::default();
    let mut known = |source, report: Option<Report>| {
        table.report(KEY, source, report);
        table.process(KEY)
    };
    assert_eq!(known(Host, Some(event(What::Working, 1))), None);
    assert_eq!(known(Request, Some(state(What::Waiting, 2).of_process(Some(30)))), Some(30));
    assert_eq!(known(Bridge, Some(event(What::Working, 3).of_process(Some(20)))), Some(20));
    assert_eq!(known(Process, Some(state(What::Working, 4).of_process(Some(10)))), Some(10));
    assert_eq!(known(Process, Some(event(over(Ending::SessionEnded), 5))), Some(20));
    assert_eq!(known(Bridge, Some(guess(What::Lost, 6))), None);
}

/// Says all reports to a table; returns the steps.
fn steps(table: &mut Table, said: Vec<(Source, Option<Report>)>) -> Vec<Step> {
    let step = |(source, report)| {
        table.report(KEY, source, report);
        table.step(KEY)
    };
    said.into_iter().filter_map(step).collect()
}

#[test]
fn the_end_of_a_turn_ends_its_requests_but_not_those_of_a_process_that_waits() {
    let request = (Request, Some(state(What::Waiting, 5)));
    let subagents = Background { commands: 0, subagents: 1 };
    for (before, end, is_open) in [
        (None, (Host, event(over(Ending::EndOfTurn), 9)), false),
        (None, (Host, guess(What::Unknown, 9)), true),
        (Some((Process, state(What::Working, 1))), (Process, state(over(Ending::EndOfTurn), 9)), false),
        (Some((Process, state(What::Working, 1))), (Process, event(over(Ending::Killed), 9)), false),
        (Some((Process, state(What::Working, 1))), (Process, state(What::Suspended, 9)), true),
        (Some((Process, state(What::Waiting, 1))), (Transcript, event(over(Ending::EndOfTurn), 9)), true),
        (
            Some((Process, state(over(Ending::EndOfTurn), 1))),
            (Process, state(over(Ending::EndOfTurn), 9)),
            true,
        ),
        // A subagent may ask.
        (
            Some((Process, state(What::Working, 1))),
            (Transcript, Report { background: subagents, ..event(over(Ending::EndOfTurn), 9) }),
            true,
        ),
    ] {
        let mut table = Table::default();
        let before = before.map(|(source, report)| (source, Some(report)));
        steps(&mut table, before.into_iter().chain([request.clone()]).collect());
        steps(&mut table, vec![(end.0, Some(end.1.clone()))]);
        assert_eq!(table.last(KEY, Request).is_some(), is_open, "{end:?}");
    }
}

#[test]
fn the_plan_is_paused_and_goes_on_with_what_its_agent_does() {
    let decisions = [
        ("works", state(What::Working, 1), (None, None, Activity::Working)),
        ("stops", state(What::Suspended, 2), (Some("suspended"), None, Activity::Working)),
        ("waits", state(What::Waiting, 3), (None, None, Activity::Waiting)),
        (
            "ends",
            state(over(Ending::EndOfTurn), 4),
            (Some("end of turn"), Some(Ending::EndOfTurn), Activity::Idle),
        ),
        ("stops", state(What::Suspended, 5), (Some("suspended"), None, Activity::Idle)),
        (
            "is killed",
            event(over(Ending::Killed), 6).because(Some("killed".into())),
            (Some("killed"), Some(Ending::Killed), Activity::Idle),
        ),
        (
            "is resumed",
            state(over(Ending::EndOfTurn), 7),
            (Some("end of turn"), Some(Ending::EndOfTurn), Activity::Idle),
        ),
        ("waits", state(What::Waiting, 8), (None, None, Activity::Waiting)),
        ("does something unknown", state(What::Unknown, 9), (None, None, Activity::Working)),
        ("is lost", guess(What::Lost, 10), (None, None, Activity::Idle)),
        ("works", state(What::Working, 11), (None, None, Activity::Working)),
    ];
    let (mut table, mut current) = (Table::default(), AgentActivity::default());
    for (name, report, (paused, ending, activity)) in decisions {
        for step in steps(&mut table, vec![(Process, Some(report))]) {
            current = step.applied(&current, true);
        }
        let expected = AgentActivity { paused: paused.map(str::to_owned), ending, activity };
        assert_eq!(current, expected, "it {name}");
    }
}

#[test]
fn a_pause_of_the_user_stays_until_the_agent_works_again() {
    let lunch = || AgentActivity { paused: Some("lunch".into()), ..AgentActivity::default() };
    let mut table = Table::default();
    steps(&mut table, vec![(Host, Some(state(What::Working, 1)))]);
    assert!(steps(&mut table, vec![(Host, Some(state(What::Working, 2)))]).is_empty());
    let step = steps(&mut table, vec![(Host, Some(event(over(Ending::EndOfTurn), 3)))]).pop().unwrap();
    let ended = step.applied(&lunch(), true);
    assert_eq!((ended.paused.as_deref(), ended.ending), (Some("lunch"), Some(Ending::EndOfTurn)));
    let step = steps(&mut table, vec![(Host, Some(state(What::Working, 4)))]).pop().unwrap();
    assert_eq!(step.applied(&ended, true).paused, None);
}

#[test]
fn a_finished_plan_is_not_paused() {
    let mut table = Table::default();
    let step = steps(&mut table, vec![(Host, Some(event(over(Ending::Killed), 3)))]).pop().unwrap();
    let after = step.applied(&AgentActivity::default(), false);
    assert_eq!((after.paused, after.ending), (None, Some(Ending::Killed)));
}

fn what() -> impl Strategy<Value = What> {
    let ending = prop::sample::select(vec![
        None,
        Some(Ending::EndOfTurn),
        Some(Ending::SessionEnded),
        Some(Ending::Killed),
        Some(Ending::Denied),
    ]);
    prop_oneof![
        3 => Just(What::Working),
        2 => Just(What::Waiting),
        1 => Just(dialog()),
        1 => Just(What::Suspended),
        1 => Just(What::Unknown),
        1 => Just(What::Lost),
        1 => Just(failed()),
        1 => Just(What::Rest(Rest::default())),
        4 => (ending, any::<bool>())
            .prop_map(|(ending, is_left)| What::Rest(Rest { is_left, ..Rest::end(ending) })),
    ]
}

fn said() -> impl Strategy<Value = (Source, Report)> {
    let weight = prop::sample::select(vec![Weight::State, Weight::Event, Weight::Guess]);
    let source = prop::sample::select(SOURCES[1..].to_vec());
    let reason = prop::option::of(Just("because".to_owned()));
    (source, what(), weight, 1_u64..50, reason).prop_map(|(source, what, weight, at, reason)| {
        (source, Report::new(what, weight, at).because(reason))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_reports_of_different_sources_does_not_matter(
        said in prop::collection::vec(said(), 0..12),
        keys in prop::collection::vec(any::<u8>(), 5),
    ) {
        let mut other = said.clone();
        other.sort_by_key(|(source, _)| keys[*source as usize]);
        prop_assert_eq!(decided(&said), decided(&other));
    }

    #[test]
    fn a_repeated_report_changes_nothing(said in prop::collection::vec(said(), 1..12), at in 0_usize..12) {
        let mut table = Table::default();
        let all = said.iter().map(|(source, report)| (*source, Some(report.clone()))).collect();
        steps(&mut table, all);
        let (source, _) = &said[at % said.len()];
        let again = table.last(KEY, *source).cloned();
        prop_assert!(steps(&mut table, vec![(*source, again)]).is_empty());
    }

    #[test]
    fn a_guess_never_beats_a_fact(said in prop::collection::vec(said(), 0..12)) {
        let mut last: Vec<Option<Report>> = vec![None; SOURCES.len()];
        for (source, report) in &said {
            last[*source as usize] = Some(report.clone());
        }
        let is_fact = |report: &&Report| report.weight != Weight::Guess;
        if last.iter().flatten().any(|report| is_fact(&report)) {
            let mut reports = Reports::default();
            for (source, report) in &said {
                reports.set(*source, Some(report.clone()));
            }
            let all = decide(&reports);
            for source in SOURCES {
                if reports.get(source).is_some_and(|report| report.weight == Weight::Guess) {
                    reports.set(source, None);
                }
            }
            prop_assert_eq!(all, decide(&reports));
        }
    }

    #[test]
    fn an_open_request_always_waits_and_closing_it_restores_what_the_others_say(
        said in prop::collection::vec(said(), 0..12),
    ) {
        let asked = state(What::Waiting, 7).because(Some("rm -rf ~".into()));
        let mut reports = Reports::default();
        for (source, report) in &said {
            reports.set(*source, Some(report.clone()));
        }
        let before = decide(&reports);
        reports.set(Request, Some(asked));
        let open = decide(&reports).unwrap();
        prop_assert_eq!((open.doing, open.reason.as_deref(), open.is_inferred), (Doing::Waiting, Some("rm -rf ~"), false));
        reports.set(Request, None);
        prop_assert_eq!(before, decide(&reports));
    }

    #[test]
    fn what_is_shown_and_the_clock_agree(said in prop::collection::vec(said(), 1..12), is_open in any::<bool>()) {
        let (mut table, mut current) = (Table::default(), AgentActivity::default());
        for (source, report) in said {
            for step in steps(&mut table, vec![(source, Some(report))]) {
                current = step.applied(&current, is_open);
                let decision = step.decision.unwrap();
                let runs = current.paused.is_none() && current.activity == Activity::Working;
                match decision.doing {
                    _ if decision.is_inferred && !decision.is_lost => {}
                    Doing::Working => prop_assert!(runs),
                    _ => prop_assert!(!runs, "{decision:?} {current:?}"),
                }
                let is_over = matches!(decision.doing, Doing::Idle | Doing::Failed);
                prop_assert!(is_over || decision.is_inferred || current.ending.is_none());
                prop_assert!(decision.is_lost || !is_over || decision.pause.is_none() || current.ending == decision.ending);
            }
        }
    }

    #[test]
    fn since_stays_while_the_activity_does(said in prop::collection::vec(said(), 1..12)) {
        let mut table = Table::default();
        for (source, report) in said {
            for step in steps(&mut table, vec![(source, Some(report))]) {
                let (Some(before), Some(after)) = (step.before, step.decision) else { continue };
                if (before.doing, &before.reason) == (after.doing, &after.reason) {
                    prop_assert_eq!(before.since, after.since);
                }
            }
        }
    }
}
