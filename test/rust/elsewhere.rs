//! Journals that are opened, replayed and read by threads of the hub, for a store on this one.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Map, json};
use todo_write::hub::{Hub, Settings};
use todo_write::journal::search::Query;
use todo_write::journal::store::{Progress, Store, Work};
use todo_write::journal::{files_of, is_held};
use todo_write::text::fnv1a;
use todo_write::thread::activity::Activity;
use todo_write::thread::{Edit, State};

use crate::common::{DEADLINE, Folder, KEY, PLAN, contents, file, open, receive, store, wait_until, write};

/// A store on a folder, and the hub that works on its files.
struct Reader {
    hub: Hub,
    store: Store,
}

impl Reader {
    fn new(folder: &Path) -> Reader {
        Reader { hub: Hub::new(Settings::default(), Box::new(|| {})), store: store(folder) }
    }

    /// Calls until the work is done that the hub gets.
    fn wait(&mut self, mut call: impl FnMut(&mut Store, &mut dyn FnMut(&Path, Work)) -> Progress) {
        let Reader { hub, store } = self;
        wait_until("the hub", || {
            call(store, &mut |folder, work| hub.run_once(folder, work)) == Progress::Done
        });
    }

    fn make_ready(&mut self) {
        let patience = Duration::from_millis(1);
        self.wait(|store, hub| store.ready(KEY, &Map::new(), 9, patience, hub));
    }

    fn read(&mut self) {
        self.wait(|store, hub| store.read(KEY, Duration::from_millis(1), hub));
    }
}

/// A folder with the journal of a thread.
fn recorded() -> Folder {
    let folder = Folder::new();
    let mut store = store(folder.path());
    write(open(&mut store), &PLAN, 2);
    open(&mut store).change(|thread| thread.set_activity(Activity::Working, 3));
    folder
}

fn journals(folder: &Folder) -> usize {
    fs::read_dir(folder.path()).unwrap().count()
}

#[test]
fn a_thread_that_a_hub_opened_is_in_memory_as_if_the_store_had_opened_it() {
    let (folder, other) = (recorded(), recorded());
    let mut reader = Reader::new(folder.path());
    reader.make_ready();
    let mut alone = store(other.path());
    let (ours, theirs) = (open(&mut reader.store), open(&mut alone));
    assert_eq!(contents(ours.list()), contents(theirs.list()));
    assert_eq!((ours.state(), ours.pause_reason()), (State::Paused, theirs.pause_reason()));
    ours.change(|thread| thread.edit(Edit::Add { content: "Rest".into(), position: None }, 10)).unwrap();
    let size = fs::metadata(file(folder.path())).unwrap().len();
    assert!(size > fs::metadata(file(other.path())).unwrap().len());
    assert_eq!(journals(&folder), 1);
}

#[test]
fn how_much_of_a_journal_is_read_is_known_while_it_is_read() {
    let folder = recorded();
    let call = |store: &mut Store, work: &mut dyn FnMut(&Path, Work)| store.read(KEY, Duration::ZERO, work);
    let open = |store: &mut Store, work: &mut dyn FnMut(&Path, Work)| {
        store.ready(KEY, &Map::new(), 9, Duration::ZERO, work)
    };
    for call in [&call as &dyn Fn(&mut Store, &mut dyn FnMut(&Path, Work)) -> Progress, &open] {
        let mut store = store(folder.path());
        let mut begun = None;
        assert_eq!(call(&mut store, &mut |_, work| begun = Some(work)), Progress::UnderWay);
        assert_eq!(store.percent(KEY), None);
        begun.unwrap()();
        assert_eq!(store.percent(KEY), Some(99));
        assert_eq!(call(&mut store, &mut |_, _| unreachable!()), Progress::Done);
        assert_eq!(store.percent(KEY), None);
    }
}

#[test]
fn a_change_waits_for_the_journal_that_a_hub_is_opening() {
    let folder = recorded();
    let mut store = store(folder.path());
    let (sender, receiver) = channel::<Work>();
    let progress = store.ready(KEY, &Map::new(), 9, Duration::ZERO, |_, work| sender.send(work).unwrap());
    assert_eq!(progress, Progress::UnderWay);
    let worker = std::thread::spawn(move || receiver.recv().unwrap()());
    // The journal is locked until the thread is handed over, and must not seem to be another Emacs's.
    open(&mut store).change(|thread| thread.edit(Edit::Delete { id: "t1".into() }, 10)).unwrap();
    worker.join().unwrap();
    assert_eq!(store.get(KEY).unwrap().unwrap().list().len(), PLAN.len() - 1);
    assert_eq!((journals(&folder), store.take_warnings()), (1, Vec::new()));
}

#[test]
fn a_journal_that_was_closed_is_opened_again_by_a_hub() {
    let folder = recorded();
    let mut store = store(folder.path());
    open(&mut store);
    let mut works: Vec<Work> = Vec::new();
    let ready = |store: &mut Store, works: &mut Vec<Work>| {
        store.ready(KEY, &Map::new(), 9, Duration::ZERO, |_, work| works.push(work))
    };
    assert_eq!((ready(&mut store, &mut works), works.len()), (Progress::Done, 0));
    store.close_journals();
    assert_eq!((ready(&mut store, &mut works), works.len()), (Progress::UnderWay, 1));
    assert!(!is_held(&file(folder.path())));
    works.remove(0)();
    assert_eq!((ready(&mut store, &mut works), works.len()), (Progress::Done, 0));
    assert!(is_held(&file(folder.path())));
    write(open(&mut store), &PLAN[..1], 10);
    assert_eq!((journals(&folder), store.take_warnings()), (1, Vec::new()));
    // Another process writes to it while it is closed.
    store.close_journals();
    write(open(&mut self::store(folder.path())), &PLAN[1..], 11);
    assert_eq!((ready(&mut store, &mut works), works.len()), (Progress::UnderWay, 1));
    works.remove(0)();
    assert_eq!((ready(&mut store, &mut works), works.len()), (Progress::UnderWay, 1), "it has another one");
    works.remove(0)();
    assert_eq!((ready(&mut store, &mut works), works.len()), (Progress::Done, 0));
    assert_eq!(contents(store.get(KEY).unwrap().unwrap().list()), [PLAN[0].0]);
    assert_eq!(journals(&folder), 2);
    assert!(store.take_warnings()[0].contains("another Emacs has written"));
}

#[test]
fn a_thread_without_a_journal_is_ready_and_gets_none_before_it_is_changed() {
    let folder = Folder::new();
    let mut reader = Reader::new(folder.path());
    reader.make_ready();
    reader.read();
    assert!(!folder.path().exists() && reader.store.seen(KEY).unwrap().is_none());
    write(open(&mut reader.store), &PLAN, 2);
    assert_eq!(journals(&folder), 1);
}

#[test]
fn a_journal_that_another_process_holds_is_left_to_it_by_the_hub() {
    let folder = recorded();
    let mut holder = store(folder.path());
    open(&mut holder);
    let mut reader = Reader::new(folder.path());
    // It is read as it is, also by a hub that readies the thread for what it follows.
    for read in [Reader::make_ready, Reader::read] {
        read(&mut reader);
        assert_eq!(reader.store.seen(KEY).unwrap().unwrap().list().len(), PLAN.len());
    }
    // A change begins another journal.
    assert_eq!(journals(&folder), 1);
    write(open(&mut reader.store), &PLAN[..1], 10);
    assert_eq!(journals(&folder), 2);
    assert!(reader.store.take_warnings()[0].contains("another Emacs has the journal"));
}

#[test]
fn what_a_hub_reads_is_what_the_store_reads_and_follows_the_file() {
    let folder = recorded();
    let mut reader = Reader::new(folder.path());
    let mut writer = store(folder.path());
    for tasks in [1, 2] {
        write(open(&mut writer), &PLAN[..tasks], 10);
        reader.read();
        assert_eq!(reader.store.seen(KEY).unwrap().unwrap().list().len(), tasks);
    }
    // Once the other process has ended, its agent works no more.
    writer.close_journals();
    reader.read();
    assert_eq!(
        reader.store.seen(KEY).unwrap().unwrap().state(),
        store(folder.path()).get(KEY).unwrap().unwrap().state()
    );
}

#[test]
fn a_panic_ends_only_its_piece_of_work() {
    let folder = recorded();
    let mut reader = Reader::new(folder.path());
    let Reader { hub, store } = &mut reader;
    let panics = |folder: &Path, work: Work| {
        hub.run_once(folder, move || {
            let _work = work;
            panic!("while it is replayed");
        });
    };
    let progress = store.ready(KEY, &Map::new(), 9, DEADLINE, panics);
    assert_eq!(progress, Progress::Failed);
    reader.make_ready();
    assert_eq!(open(&mut reader.store).list().len(), PLAN.len());
    assert_eq!(journals(&folder), 1);
}

#[test]
fn a_journal_that_is_opened_for_a_store_that_is_gone_is_closed_again() {
    let folder = recorded();
    let mut first = store(folder.path());
    let mut works = Vec::new();
    first.ready(KEY, &Map::new(), 9, Duration::ZERO, |_, work| works.push(work));
    drop(first);
    works.into_iter().for_each(|work| work());
    let mut next = store(folder.path());
    open(&mut next);
    assert_eq!((journals(&folder), next.take_warnings()), (1, Vec::new()));
}

#[test]
fn a_plan_that_is_not_forgotten_after_all_loses_nothing() {
    let folder = recorded();
    let mut store = store(folder.path());
    open(&mut store);
    // Its file is gone when the user is told so; a quit before that keeps the thread.
    store.deletion(KEY).run().unwrap();
    assert_eq!(journals(&folder), 0);
    write(open(&mut store), &PLAN[..2], 10);
    assert_eq!((journals(&folder), open(&mut store).revisions().last()), (1, 2));
    drop(store);
    assert_eq!(open(&mut crate::common::store(folder.path())).revisions().last(), 2);
}

#[test]
fn pieces_of_work_in_a_folder_keep_their_order_and_let_others_go_between_their_parts() {
    let hub = Hub::new(Settings::default(), Box::new(|| {}));
    let root = Path::new("/journals");
    let (sender, receiver) = channel();
    let (go, wait) = channel::<()>();
    hub.run_once(root, move || wait.recv().unwrap_or_default());
    let (long, short) = (sender.clone(), sender);
    let mut left = 3;
    hub.run(root, move || {
        left -= 1;
        long.send("long").unwrap();
        left > 0
    });
    hub.run_once(root, move || short.send("short").unwrap());
    go.send(()).unwrap();
    assert_eq!(receiver.iter().collect::<Vec<_>>(), ["long", "short", "long", "long"]);
}

#[test]
fn a_folder_that_does_not_answer_stops_no_other() {
    let hub = Hub::new(Settings::default(), Box::new(|| {}));
    let (go, wait) = channel::<()>();
    hub.run_once(Path::new("/stuck"), move || wait.recv().unwrap_or_default());
    let (sender, receiver) = channel();
    hub.run_once(Path::new("/other"), move || sender.send(()).unwrap());
    receive("the other one", &receiver);
    drop(go);
}

#[test]
fn a_wide_search_finds_the_newest_places_of_all_threads_in_memory_and_on_disk() {
    let folder = recorded();
    let mut both = store(folder.path());
    let loaded = both.open("loaded", Map::new(), 1);
    write(loaded, &[("Mend the fence", crate::common::Pending)], 20);
    let later = json!({"record": "thread", "format": 1_000, "thread": "later", "timestamp": 1, "about": {}});
    let later = later.to_string();
    let sum = fnv1a(later.as_bytes());
    let line = format!("{},\"sum\":\"{sum:016x}\"}}\n", later.strip_suffix('}').unwrap());
    fs::write(files_of(folder.path(), "later").next().unwrap(), line).unwrap();
    let mut search = both.wide_search(Query::of("mend").unwrap(), 10);
    let mut parts = 1;
    while search.step() {
        parts += 1;
        assert!(search.progress().0 < search.progress().1);
    }
    assert_eq!((parts, search.progress()), (4, (3, 3)));
    let places: Vec<_> =
        search.places.iter().map(|place| (place.thread.as_str(), &*place.found.line)).collect();
    assert_eq!(places, [("loaded", "Mend the fence"), (KEY, "Mend the parser")]);
    assert!(search.unreadable[0].to_string().contains("another version of todo-write wrote it"));
}
