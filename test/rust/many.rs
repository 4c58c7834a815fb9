//! Many plans in one process, and one plan in two Emacsen.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{
    Completed, Folder, InProgress, KEY, Pending, contents, copied, edit, ended, kept, open, plan, store,
    wait_until, write,
};
use serde_json::Map;
use todo_write::journal::store::{Storage, Store};
use todo_write::journal::{folder_of, segment};
use todo_write::list::item::Status;
use todo_write::thread::activity::Ending;
use todo_write::thread::{Edit, State, Thread, WriteOptions};

const PLANS: usize = 300;

#[test]
fn threads_whose_agents_have_stopped_leave_memory_and_come_back_as_they_were() {
    let folder = Folder::new();
    let mut living = store(folder.path());
    let key = |n: usize| format!("thread {n}");
    let about = Map::from_iter([("parent".to_owned(), "the parent".into())]);
    for n in 0..PLANS {
        living.open(&key(n), about.clone(), 1).change(|thread| {
            write(thread, &[("Task", InProgress)], 2);
            // The agents of ten threads work on, and the ends of ten others were not delivered.
            if n % 30 != 0 {
                thread.follow(&ended(Ending::EndOfTurn, "end of turn"), 3);
            }
            if n % 30 != 1 {
                drop(thread.take_observations());
            }
        });
    }
    let loaded: HashSet<String> = living.loaded().map(|thread| thread.key().to_owned()).collect();
    assert!(loaded.len() <= 100, "{} threads are in memory", loaded.len());
    assert!((0..PLANS).filter(|n| n % 30 < 2).all(|n| loaded.contains(&key(n))));
    assert_eq!(living.children("the parent").len(), PLANS);
    let gone = key((0..PLANS).find(|n| !loaded.contains(&key(*n))).unwrap());
    let thread = living.get(&gone).unwrap().unwrap();
    assert_eq!((thread.pause_reason(), thread.ending()), (Some("end of turn"), Some(Ending::EndOfTurn)));
    // The host's next word still finds it, and its agent is still known to be idle.
    let thread = living.get_mut(&gone).unwrap();
    thread.change(|thread| {
        write(thread, &[("Task", InProgress)], 10);
        thread.follow(&ended(Ending::EndOfTurn, "end of turn"), 20);
        thread.edit(Edit::Status { id: "t1".into(), status: Completed }, 30).unwrap();
        thread.edit(Edit::Status { id: "t1".into(), status: InProgress }, 40).unwrap();
    });
    assert_eq!(thread.times("t1").unwrap().spent(1_000), 11);
    assert_eq!(living.take_warnings(), Vec::<String>::new());
}

/// The options of the Emacs with this name.
fn storage_of(name: &str, folder: &Path) -> Storage {
    let (folder, emacs) = (Some(folder.to_owned()), Some(name.to_owned()));
    Storage { folder, emacs, history_limit: 1_000, ..Storage::default() }
}

/// A store of the Emacs with this name.
fn of_emacs(name: &str, folder: &Path) -> Store {
    Store::new(storage_of(name, folder))
}

#[test]
fn a_plan_that_another_emacs_writes_is_read_and_changed() {
    let folder = Folder::new();
    let (mut first, mut second) = (of_emacs("1", folder.path()), of_emacs("2", folder.path()));
    assert!(second.get(KEY).unwrap().is_none());
    for task in ["Write", "Send"] {
        write(open(&mut first), &[("Read", InProgress), (task, Pending)], 3);
        let thread = second.get(KEY).unwrap().unwrap();
        assert_eq!((contents(thread.list()), thread.state()), (vec!["Read", task], State::Active));
    }
    edit(open(&mut second), Edit::Add { content: "Mine".into(), position: None }, 4);
    let outcome = write(open(&mut first), &[("Read", Completed), ("Send", Pending)], 5);
    assert!(outcome.result.contains("The user added \"Mine\""), "{}", outcome.result);
    for store in [&mut first, &mut second] {
        store.refresh(KEY);
        let thread = store.get(KEY).unwrap().unwrap();
        assert_eq!((contents(thread.list()), thread.revisions().last()), (vec!["Read", "Send", "Mine"], 4));
        assert_eq!(store.take_warnings(), [""; 0]);
    }
}

#[test]
fn only_a_dead_emacs_ends_its_plan() {
    let folder = Folder::new();
    write(open(&mut of_emacs("1", folder.path())), &[("Read", InProgress)], 2);
    for (lives, state) in [(true, State::Active), (false, State::Paused)] {
        let mut reader = of_emacs("2", folder.path());
        assert_eq!(reader.unsettled(KEY).unwrap().as_deref(), Some("1"));
        reader.settle(KEY, lives);
        assert_eq!(reader.get(KEY).unwrap().unwrap().state(), state);
        assert_eq!(reader.unsettled(KEY).unwrap(), None);
    }
    // Looking at it has changed nothing.
    let mut writer = of_emacs("1", folder.path());
    assert_eq!(writer.get(KEY).unwrap().unwrap().state(), State::Active);
}

#[test]
fn what_could_not_be_saved_comes_after_what_others_saved() {
    let folder = Folder::new();
    let (mut first, mut second) = (of_emacs("1", folder.path()), of_emacs("2", folder.path()));
    write(open(&mut first), &[("Read", InProgress), ("Send", Pending)], 2);
    // Another process holds the lock.
    let lock = fs::File::open(folder_of(folder.path(), KEY).join("lock")).unwrap();
    lock.lock().unwrap();
    write(open(&mut first), &[("Read", Completed), ("Send", InProgress), ("Of the agent", Pending)], 3);
    assert!(open(&mut first).is_unsaved());
    assert!(first.take_warnings()[0].contains("another Emacs is changing it"));
    lock.unlock().unwrap();
    drop(lock);
    edit(open(&mut second), Edit::Add { content: "Of the user".into(), position: None }, 4);
    open(&mut first).change(|thread| thread.set_paused(None, 5));
    assert!(!open(&mut first).is_unsaved());
    second.refresh(KEY);
    for store in [&mut first, &mut second] {
        let thread = store.get(KEY).unwrap().unwrap();
        let mut found = contents(thread.list());
        found.sort_unstable();
        assert_eq!(found, ["Of the agent", "Of the user", "Read", "Send"]);
        assert_eq!(thread.list().iter().map(|item| &item.id).collect::<HashSet<_>>().len(), 4);
        assert_eq!((thread.revisions().last(), thread.current().unwrap().content.as_str()), (3, "Send"));
    }
}

#[test]
fn the_agent_is_told_once_of_what_it_was_told_before_the_others_saved_theirs() {
    let folder = Folder::new();
    let (mut first, mut second) = (of_emacs("1", folder.path()), of_emacs("2", folder.path()));
    let add = |content: &str| Edit::Add { content: content.into(), position: None };
    let unanswered = WriteOptions { is_unanswered: true, ..WriteOptions::default() };
    open(&mut first).change(|thread| thread.write(plan(&[("Read", InProgress)]), unanswered, 2));
    let rename = Edit::Rename { id: "t1".into(), content: "Rake".into() };
    edit(open(&mut first), rename, 3);
    let lock = fs::File::open(folder_of(folder.path(), KEY).join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(open(&mut first).change(Thread::take_untold), ["The user renamed \"Read\" to \"Rake\"."]);
    drop(lock);
    edit(open(&mut second), add("Sow"), 4);
    assert_eq!(open(&mut first).change(Thread::take_untold), ["The user added \"Sow\" (pending)."]);
    assert_eq!(open(&mut second).change(Thread::take_untold), [""; 0]);
}

/// Set in the processes that change one plan: the folder, their name, and how many changes they make.
const CHANGER: &str = "TODO_WRITE_TEST_CHANGER";

fn changer(folder: &Path, name: &str, changes: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let settings = format!("{}\n{name}\n{changes}", folder.display());
    command.args(["--exact", "many::two_emacsen_change_one_plan_and_lose_nothing", "--nocapture"]);
    command.env(CHANGER, settings).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Adds a task by each change, and says in a file beside the plan that it was accepted.
fn change_again_and_again(settings: &str) {
    let [folder, name, changes] = settings.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let mut store = of_emacs(name, Path::new(folder));
    for n in 0..changes.parse().unwrap() {
        let content = format!("Task {n} of {name}");
        open(&mut store).change(|thread| {
            if n % 2 == 0 {
                thread.edit(Edit::Add { content: content.clone(), position: None }, n).unwrap();
            } else {
                let listed: Vec<(String, Status)> =
                    thread.list().iter().map(|item| (item.content.clone(), item.status)).collect();
                let mut tasks: Vec<(&str, Status)> =
                    listed.iter().map(|(content, status)| (content.as_str(), *status)).collect();
                tasks.push((&content, Pending));
                thread.write(plan(&tasks), WriteOptions::default(), n);
            }
        });
        // The other process may hold the lock for long on a slow machine.
        while open(&mut store).is_unsaved() {
            open(&mut store).change(|_| ());
        }
        fs::write(Path::new(folder).with_extension(format!("accepted-{name}-{n}")), "").unwrap();
    }
}

fn accepted(folder: &Path) -> HashSet<String> {
    let entries = fs::read_dir(folder.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    let stem = format!("{}.accepted-", folder.file_name().unwrap().to_str().unwrap());
    let of_change = |name: std::ffi::OsString| {
        let name = name.to_str()?.strip_prefix(&stem)?.to_owned();
        let (name, n) = name.rsplit_once('-')?;
        Some(format!("Task {n} of {name}"))
    };
    entries.filter_map(of_change).collect()
}

#[test]
fn two_emacsen_change_one_plan_and_lose_nothing() {
    if let Ok(settings) = std::env::var(CHANGER) {
        return change_again_and_again(&settings);
    }
    let outer = Folder::new();
    fs::create_dir(outer.path()).unwrap();
    let folder = outer.path().join("plans");
    // One of them is killed now and then.
    let mut steady = changer(&folder, "steady", 100).spawn().unwrap();
    for round in 0..5 {
        let mut killed = changer(&folder, &format!("killed{round}"), 1_000).spawn().unwrap();
        wait_until("some changes", || {
            accepted(&folder).iter().filter(|one| one.contains(&format!("killed{round}"))).count() > 10
        });
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    assert!(steady.wait().unwrap().success());
    let mut store = of_emacs("reader", &folder);
    let thread = store.get(KEY).unwrap().unwrap();
    let listed = contents(thread.list());
    let all: HashSet<String> = listed.iter().map(ToString::to_string).collect();
    assert_eq!(all.len(), listed.len(), "a task is there twice");
    let accepted = accepted(&folder);
    assert!(accepted.len() > 150 && accepted.iter().all(|task| all.contains(task)));
    assert_eq!(all.iter().filter(|task| task.ends_with("steady")).count(), 100);
}

#[test]
fn two_emacsen_that_change_a_plan_by_turns_show_the_same() {
    change_by_turns(None, 2_000);
}

#[test]
fn two_emacsen_that_begin_segments_by_turns_show_the_same() {
    change_by_turns(Some(0), 200);
}

fn change_by_turns(segment: Option<u64>, changes: u64) {
    let folder = Folder::new();
    let mut both = ["1", "2"].map(|name| Store::new(Storage { segment, ..storage_of(name, folder.path()) }));
    for n in 0..changes {
        let turn = usize::from(n % 3 == 0);
        let content = format!("Task {}", n % 7);
        open(&mut both[turn]).change(|thread| match n % 5 {
            0 => drop(thread.edit(Edit::Add { content, position: Some(0) }, n)),
            1 => drop(thread.undo(n)),
            _ => drop(thread.write(
                plan(&[(&content, InProgress), ("Ship it", Pending)]),
                WriteOptions::default(),
                n,
            )),
        });
        let other = &mut both[1 - turn];
        if n % 10 == 0 {
            other.refresh(KEY);
            let list = open(other).list().clone();
            assert_eq!(&list, open(&mut both[turn]).list(), "change {n}");
        }
    }
    let last = both.each_mut().map(|store| {
        store.refresh(KEY);
        open(store).revisions().last()
    });
    assert_eq!(last[0], last[1]);
    assert_eq!(both.iter_mut().flat_map(Store::take_warnings).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn lists_of_plans_read_small_files_and_few_journals() {
    let folder = Folder::new();
    let mut before = store(folder.path());
    for n in 0..20 {
        write(before.open(&format!("plan {n}"), Map::new(), 1), &[("Task", Pending)], 100 + n);
    }
    before.summarize();
    // One has gone on since, and one has lost its small file.
    write(before.open("plan 3", Map::new(), 1), &[("Task", Completed)], 200);
    fs::remove_file(folder_of(folder.path(), "plan 4").join("summary.json")).unwrap();
    // A journal that cannot be read shows that it was not.
    fs::write(
        segment(&folder_of(folder.path(), "plan 5"), 1),
        fs::read(segment(&folder_of(folder.path(), "plan 5"), 1))
            .unwrap()
            .iter()
            .map(|_| b'x')
            .collect::<Vec<u8>>(),
    )
    .unwrap();
    let mut after = store(folder.path());
    let (plans, old) = after.kept(0);
    assert_eq!((plans.len(), old), (19, 2));
    let (plans, old) = after.kept(1);
    assert_eq!((plans.len(), old, plans[0].key.as_str()), (19, 1, "plan 3"));
    let (plans, old) = after.kept(2);
    assert_eq!((plans.len(), old, plans[0].key.as_str(), plans[0].summary.completed), (20, 0, "plan 3", 1));
    assert_eq!(after.kept(0).1, 0, "what was read is written");
    let copy = copied(folder.path());
    assert_eq!(kept(&mut store(copy.path())).len(), 20);
}
