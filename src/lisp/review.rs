//! Lisp functions on review: what an agent changed since the user last looked.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::elsewhere::Progress;
use super::read::{self, Key};
use super::threads::with_thread;
use super::work::{PartId, ShownWork};
use super::{border, elsewhere, now, ser, with_module};
use crate::error::Error;
use crate::events::observation::Observation;
use crate::events::review::{ChangeId, FileChanged, LARGEST_FILE, Net, NotComposed, net};
use crate::events::work::Part;
use crate::file;
use crate::hub::mount_of;
use crate::text::path::has_method;

/// See `todo-write-new'.
#[defun]
fn new_work<'e>(env: &'e Env, thread: Key, id: PartId, path: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = read::optional("path", path, read::text)?;
        let work = with_thread(env, &thread, |thread| {
            let work = thread.review().new_work(id.scope(path.as_deref()));
            work.map(|work| ShownWork::of(&work, false))
        })?;
        work.map(|work| ser::to_lisp(env, &work)).transpose()?.into_lisp(env)
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
        elsewhere::read(env, &thread)?;
        if with_module(|module| Ok::<_, Error>(module.store.seen(&thread)?.is_none()))? {
            return Ok(0);
        }
        elsewhere::open(env, &thread, &serde_json::Map::new())?;
        let count = with_module(|module| {
            let scope = id.scope(path.as_deref());
            module.open(&thread).change(|thread| thread.mark(scope, reviewed, now()))
        });
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    })
}

/// See `todo-write-review-patch'.
#[defun]
fn review_patch<'e>(env: &'e Env, thread: Key, id: PartId, path: Value<'e>) -> Result<Value<'e>> {
    border(env, || {
        let path = read::optional("path", path, read::text)?;
        let (wanted, names, places, project) = with_thread(env, &thread, |thread| {
            let (mut wanted, mut names, mut places) = (HashSet::new(), Vec::new(), HashMap::new());
            for (change, name) in thread.review().new_changes(id.scope(path.as_deref())) {
                wanted.insert(change);
                places.entry(name.to_owned()).or_insert_with(|| {
                    names.push(name.to_owned());
                    names.len() - 1
                });
            }
            (wanted, names, places, thread.project().to_owned())
        })?;
        if names.is_empty() {
            return Ok(String::new());
        }
        let history = with_module(|module| module.store.history(&thread));
        let changes = elsewhere::ask(env, move |_| {
            Ok::<_, Error>(changes_of(places, &wanted, &history.work(Part::Whole, 0..u64::MAX)?))
        })??;
        let (progress, count, mut patch) = (Arc::new(Progress::default()), names.len(), String::new());
        for (n, (name, changes)) in names.into_iter().zip(changes).enumerate() {
            // Each file may be on another file system, of which one may hang.
            let root = mount_of(&Path::new(&project).join(&name));
            let project = project.clone();
            let net = move |_: &Progress| Some(net_of(&name, &project, &changes));
            patch.push_str(&elsewhere::ask_at(env, &root, &progress, net)?);
            progress.set((n + 1, count));
        }
        Ok(patch)
    })
}

/// For each file, at its place, the changes from the first of those wanted on.
fn changes_of(
    places: HashMap<String, usize>,
    wanted: &HashSet<ChangeId>,
    all: &[Arc<Observation>],
) -> Vec<Vec<FileChanged>> {
    let mut changes = vec![Vec::new(); places.len()];
    for one in all {
        for (n, file) in (0..).zip(one.metadata.files.iter().flatten()) {
            let Some(of_file) = places.get(&file.path).and_then(|place| changes.get_mut(*place)) else {
                continue;
            };
            let is_wanted = wanted.contains(&(one.number, n));
            if is_wanted || !of_file.is_empty() {
                of_file.push(FileChanged::of(file, !is_wanted));
            }
        }
    }
    changes
}

fn net_of(name: &str, project: &str, changes: &[FileChanged]) -> String {
    let text = text_of(name, project);
    let text = text.as_ref().map(Option::as_deref).map_err(|reason| *reason);
    match net(name, project, text, changes) {
        Net::Nothing => String::new(),
        Net::Difference(patch) | Net::Patches(_, patch) => patch,
    }
}

/// The text of a file as it is now; none if it does not exist.
fn text_of(name: &str, project: &str) -> std::result::Result<Option<String>, NotComposed> {
    if has_method(name) || has_method(project) && !name.starts_with('/') {
        return Err(NotComposed::Elsewhere);
    }
    let path = Path::new(project).join(name);
    match file::read_start(&path, LARGEST_FILE as u64 + 1) {
        Ok(bytes) if bytes.len() > LARGEST_FILE => Err(NotComposed::TooLarge),
        Ok(bytes) if bytes.contains(&0) => Err(NotComposed::Binary),
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| NotComposed::Binary),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(_) => Err(NotComposed::Unreadable),
    }
}
