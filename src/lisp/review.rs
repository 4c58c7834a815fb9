//! Lisp functions on review: what an agent changed since the user last looked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Instant;

use emacs::{Env, Result, Value, defun};
use serde::Serialize;

use super::read::{self, Key};
use super::threads::{load, wake, with_thread};
use super::work::{PartId, ShownWork, work_recorded};
use super::{border, now, serialized, with_module};
use crate::events::Millis;
use crate::events::comments::{Comment, Telling};
use crate::events::marks::{FileInEvent, Marks, Scope, Unseen};
use crate::events::review::{LARGEST_FILE, Net, NotComposed, net};
use crate::events::work::Part;
use crate::file;
use crate::text::path::has_method;

emacs::use_functions! { car cdr }

emacs::use_symbols! {
    say_wait => "todo-write-core-say-wait"
}

/// See `todo-write-new'.
#[defun]
fn new_work<'e>(env: &'e Env, thread: Key, id: PartId, path: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let path = read::optional("path", path, read::text)?;
        with_thread(env, &thread, |thread| {
            let work = thread.review().new_work(id.scope(path.as_deref()));
            work.map(|work| ShownWork::of(&work, false))
        })
    })
}

/// Mark changes of THREAD as reviewed if REVIEWED is non-nil, else as new; return the number of those that
/// were not.
///
/// ID and PATH are as in `todo-write-new'.
#[defun]
fn mark_changes<'e>(
    env: &'e Env,
    thread: Key,
    id: PartId,
    path: Value<'e>,
    reviewed: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let path = read::optional("path", path, read::text)?;
        let reviewed = reviewed.is_not_nil();
        wake(env, &thread)?;
        let count = with_module(|module| {
            let scope = id.scope(path.as_deref());
            Some(module.store.get_mut(&thread)?.change(|thread| thread.mark(scope, reviewed, now())))
        });
        Ok(i64::try_from(count.unwrap_or(0)).unwrap_or(i64::MAX))
    })
}

/// Mark FILES of THREAD as reviewed up to an observation each; return the former marks of those that changed.
///
/// FILES and the value are lists of conses, the name of a file and the number of an observation, or 0. If RAISES
/// is non-nil, files that are reviewed further stay so.
#[defun]
fn mark_files<'e>(env: &'e Env, thread: Key, files: Value<'e>, raises: Value<'e>) -> Result<Value<'e>> {
    serialized(env, || {
        let mut marks = Marks::new();
        for file in read::elements("files", files)? {
            let path = read::text("path", env.call(car, [file])?)?;
            marks.insert(path, read::whole_number("observation", env.call(cdr, [file])?)?);
        }
        let raises = raises.is_not_nil();
        load(env, &thread, serde_json::Map::new())?;
        let former = with_module(|module| {
            module.open(&thread).change(|thread| thread.mark_files(marks, raises, now()))
        });
        Ok(former.into_iter().collect::<Vec<_>>())
    })
}

/// Return what of the changes of THREAD since it was begun was not reviewed, or nil if all was.
///
/// The value is a plist: `:files`, the number of files, `:items`, the ids of the items in progress, and
/// `:turns`, the numbers of the turns.
#[defun]
fn unseen(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        with_thread(env, &thread, |thread| {
            let Unseen { files, items, turns } = thread.review().unseen();
            (!files.is_empty()).then(|| ShownUnseen {
                files: files.len(),
                items: items.into_iter().map(str::to_owned).collect(),
                turns: turns.into_iter().map(|turn| turn + 1).collect(),
            })
        })
    })
}

/// See `todo-write-plan-unseen-files'.
#[defun]
fn unseen_files(env: &Env, thread: Key) -> Result<Value<'_>> {
    border(env, || with_thread(env, &thread, |thread| thread.review().unseen().files.len()))
}

#[derive(Serialize)]
struct ShownUnseen {
    files: usize,
    items: Vec<String>,
    turns: Vec<usize>,
}

/// Return what the user said to the agent of THREAD, oldest first, a list of plists.
///
/// Their keys are `:id`, that of the observation, `:number`, its number, `:timestamp`, `:text`, `:path`, `:line`
/// and `:quote`, those of the lines that it is about, or nil, `:told`, t if the agent was told, and `:copied`, t if
/// it was copied, since no message reaches the agent.
#[defun]
fn comments(env: &Env, thread: Key) -> Result<Value<'_>> {
    serialized(env, || {
        with_thread(env, &thread, |thread| {
            let all = thread.comments().all();
            all.map(|kept| ShownComment {
                id: format!("o{}", kept.number),
                number: kept.number,
                timestamp: kept.timestamp,
                comment: kept.comment.clone(),
                told: kept.telling == Telling::Told,
                copied: kept.telling == Telling::Copied,
            })
            .collect::<Vec<_>>()
        })
    })
}

#[derive(Serialize)]
struct ShownComment {
    id: String,
    number: u64,
    timestamp: Millis,
    #[serde(flatten)]
    comment: Comment,
    told: bool,
    copied: bool,
}

/// Return the number of files of THREAD that have new changes after the observation with the number NEWEST.
///
/// ID and PATH are as in `todo-write-new'.
#[defun]
fn review_newer<'e>(
    env: &'e Env,
    thread: Key,
    id: PartId,
    path: Value<'e>,
    newest: Value<'e>,
) -> Result<Value<'e>> {
    border(env, || {
        let path = read::optional("path", path, read::text)?;
        let newest: u64 = read::whole_number("newest", newest)?;
        let of = Scope { numbers: (newest.saturating_add(1), u64::MAX), ..id.scope(path.as_deref()) };
        with_thread(env, &thread, |thread| {
            let new = thread.review().changes(of).filter(|(_, is_new)| *is_new);
            new.map(|(change, _)| &change.file.path).collect::<HashSet<_>>().len()
        })
    })
}

/// Return the new changes of THREAD, file by file, up to the last one that is meant.
///
/// ID and PATH are as in `todo-write-new'. ENTRY is the id of an observation, whose changes are meant then, or
/// nil. If ALL is non-nil, reviewed ones of those meant are among them. LIMIT is the maximum number of files, or
/// nil.
///
/// The value is a plist: `:newest`, the number of the observation with the newest change of THREAD, `:more`,
/// the number of files beyond LIMIT, and `:files`, a list of plists: `:path`; `:patch`, the net difference,
/// empty if all cancels out; `:reason`, why that is not one difference, a string or nil; `:until`, the number of
/// the last observation with one that is new, or nil; and `:items`, the ids of the items in progress at all of
/// them.
#[defun]
fn review_files<'e>(
    env: &'e Env,
    thread: Key,
    id: PartId,
    path: Value<'e>,
    entry: Value<'e>,
    all: Value<'e>,
    limit: Value<'e>,
) -> Result<Value<'e>> {
    serialized(env, || {
        let path = read::optional("path", path, read::text)?;
        let mut of = id.scope(path.as_deref());
        if let Some(entry) = read::optional("entry", entry, read::text)? {
            let number = entry.strip_prefix('o').and_then(|number| number.parse().ok()).unwrap_or(0);
            of.numbers = (number, number);
        }
        let all = all.is_not_nil();
        let limit = read::optional("limit", limit, read::whole_number)?;
        let mut chosen = Chosen { limit: limit.unwrap_or(usize::MAX), ..Chosen::default() };
        let (newest, project) = with_thread(env, &thread, |thread| {
            let review = thread.review();
            review.shown(of, all).for_each(|(change, is_new)| chosen.add(change, is_new));
            (review.newest(), thread.project().to_owned())
        })?;
        let more = chosen.places.len() - chosen.files.len();
        let files = net_files(env, &thread, chosen, &project)?;
        Ok(ShownReview { newest, more, files })
    })
}

#[derive(Serialize)]
struct ShownReview {
    newest: u64,
    more: usize,
    files: Vec<ShownFile>,
}

#[derive(Serialize)]
struct ShownFile {
    path: String,
    patch: String,
    reason: Option<&'static str>,
    until: Option<u64>,
    items: Vec<String>,
}

/// The changes to be shown.
#[derive(Default)]
struct Chosen {
    /// The maximum number of files.
    limit: usize,
    /// Their files, in the order of the first change.
    files: Vec<ChosenFile>,
    /// The places of the files, and of those beyond the limit.
    places: HashMap<String, usize>,
}

#[derive(Default)]
struct ChosenFile {
    path: String,
    /// The numbers of the observations with the changes.
    numbers: BTreeSet<u64>,
    /// The number of the last observation with a new change.
    until: Option<u64>,
    /// The ids of the items in progress at the changes.
    items: BTreeSet<String>,
}

impl Chosen {
    fn add(&mut self, change: FileInEvent<'_>, is_new: bool) {
        let (path, next) = (&change.file.path, self.places.len());
        let place = *self.places.entry(path.clone()).or_insert(next);
        if place == self.files.len() && place < self.limit {
            self.files.push(ChosenFile { path: path.clone(), ..ChosenFile::default() });
        }
        let Some(file) = self.files.get_mut(place) else { return };
        file.numbers.insert(change.of.number);
        file.items.extend(change.of.items.iter().cloned());
        if is_new {
            file.until = Some(change.of.number);
        }
    }
}

/// The net difference of each file.
fn net_files(env: &Env, thread: &Key, chosen: Chosen, project: &str) -> Result<Vec<ShownFile>> {
    let Chosen { files, places, .. } = chosen;
    let Some(first) = files.iter().filter_map(|file| file.numbers.first()).min() else {
        return Ok(Vec::new());
    };
    let all = work_recorded(env, thread, Part::Whole, *first..u64::MAX)?;
    let mut changes = vec![Vec::new(); files.len()];
    for (one, file) in all.iter().flat_map(|one| one.payload.files().iter().map(move |file| (one, file))) {
        let place = places.get(&file.path).copied();
        if let Some((place, of_file)) = place.and_then(|place| Some((place, changes.get_mut(place)?)))
            && files[place].numbers.contains(&one.number)
        {
            of_file.push(file.clone());
        }
    }
    let (count, begun) = (files.len(), Instant::now());
    let shown = files.into_iter().zip(changes).enumerate().map(|(done, (file, changes))| {
        let ChosenFile { path, until, items, .. } = file;
        let at = Path::new(project).join(&path);
        // `C-g' ends it here.
        env.call(say_wait, (begun.elapsed().as_secs_f64(), done * 100 / count))?;
        let text = text_of(&at, &path, project);
        let now = text.as_ref().map(Option::as_deref).map_err(|reason| *reason);
        let (reason, patch) = match net(&path, project, now, &changes) {
            Net::Nothing => (None, String::new()),
            Net::Difference(patch) => (None, patch),
            Net::Patches(reason, patch) => (Some(reason.as_str()), patch),
        };
        Ok(ShownFile { path, patch, reason, until, items: items.into_iter().collect() })
    });
    shown.collect()
}

/// The text of a file as it is now; none if it does not exist.
fn text_of(path: &Path, name: &str, project: &str) -> std::result::Result<Option<String>, NotComposed> {
    // Names are those of the project's machine.
    if has_method(name) || has_method(project) {
        return Err(NotComposed::Elsewhere);
    }
    match file::read_text(path, LARGEST_FILE as u64) {
        Ok(text) => Ok(Some(text)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound => Ok(None),
            ErrorKind::FileTooLarge => Err(NotComposed::TooLarge),
            ErrorKind::InvalidData => Err(NotComposed::Binary),
            _ => Err(NotComposed::Unreadable),
        },
    }
}
