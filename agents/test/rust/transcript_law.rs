//! A transcript with any bytes reads the same in one piece and in two.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use todo_write::journal::store::{Storage, Store};
use todo_write::list::input::Options;
use todo_write::list::item::Status;
use todo_write::recorder::Recorder;
use todo_write_mcp::describe::describe;
use todo_write_mcp::follower::{Appended, Follower};

use crate::common::laws::lists::assert_unique;
use crate::common::{Folder, record};

/// The current time in this law.
const NOW: u64 = 1_800_000_000_000;

/// The first byte selects where to cut the file in two, the rest is the file.
pub fn holds(data: &[u8]) {
    let (first, bytes) = data.split_first().unwrap_or((&0, &[]));
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    let path = folder.path().join("session.jsonl");
    fs::write(&path, bytes).unwrap();
    if let Some(head) = describe(&path) {
        assert!(!head.session.is_empty());
    }
    let at_once = follow(&path, &[]);
    fs::remove_file(&path).unwrap();
    let cut = bytes.len() * usize::from(*first) / 255;
    fs::write(&path, &bytes[..cut]).unwrap();
    assert_eq!(follow(&path, &bytes[cut..]), at_once);
}

/// Reads all that the files of a session have.
pub fn read_all(follower: &mut Follower) -> io::Result<Appended> {
    let mut all = follower.read()?;
    while all.is_partial {
        let next = follower.read()?;
        (all.bytes, all.is_partial) = (all.bytes + next.bytes, next.is_partial);
        all.events.extend(next.events);
    }
    Ok(all)
}

type Lists = BTreeMap<String, Vec<(String, Status)>>;

/// The lists after following the file, and after appending `more` to it.
fn follow(path: &Path, more: &[u8]) -> Lists {
    let storage = Storage { folder: None::<PathBuf>, history_limit: 1_000, ..Storage::default() };
    let mut store = Store::new(storage);
    let mut recorder = Recorder::default();
    let mut follower = Follower::new(path.to_owned(), Options::default());
    for bytes in [&[], more] {
        OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
        let news = read_all(&mut follower).unwrap();
        for update in record(&mut recorder, &mut store, &news.events, NOW) {
            let thread = store.get(&update.thread).unwrap().unwrap();
            assert!(update.outcome.is_none_or(|outcome| outcome.revision == thread.revisions().last()));
        }
    }
    let mut lists = Lists::new();
    for thread in store.loaded() {
        assert_unique(thread.list());
        let times: Vec<u64> = thread.revisions().iter().map(|revision| revision.stamp.timestamp).collect();
        assert!(times.is_sorted() && times.last().is_none_or(|last| *last <= NOW), "{times:?}");
        let tasks = thread.list().iter().map(|item| (item.content.clone(), item.status)).collect();
        lists.insert(thread.key().to_owned(), tasks);
    }
    lists
}
