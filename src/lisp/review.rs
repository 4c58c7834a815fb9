//! Lisp functions on review: what an agent changed since the user last looked.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emacs::{Env, IntoLisp, Result, Value, defun};

use super::read::{self, Key};
use super::threads::with_thread;
use super::work::{PartId, ShownWork};
use super::{border, elsewhere, now, ser, with_module};
use crate::error::Error;
use crate::events::observation::Observation;
use crate::events::review::{ChangeId, FileChanged, LARGEST_FILE, Net, NotComposed, net};
use crate::events::work::Part;
use crate::file;

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
        let (wanted, names, project) = with_thread(env, &thread, |thread| {
            let new = thread.review().new_changes(id.scope(path.as_deref()));
            let mut names: Vec<String> = Vec::new();
            let mut seen = HashSet::new();
            let mut wanted = HashSet::new();
            for (change, name) in new {
                wanted.insert(change);
                if seen.insert(name) {
                    names.push(name.to_owned());
                }
            }
            (wanted, names, thread.project().to_owned())
        })?;
        if names.is_empty() {
            return Ok(String::new());
        }
        let recorded = with_module(|module| module.store.recorded(&thread));
        let kept = names.clone();
        let changes = elsewhere::ask(env, move |_| {
            let all = recorded.work(Part::Whole, 0..u64::MAX)?;
            Ok::<_, Error>(kept.iter().map(|name| changes_of(name, &wanted, &all)).collect::<Vec<_>>())
        })??;
        let root = PathBuf::from(&project);
        let (mut left, mut patch) = (names.into_iter().zip(changes).collect::<Vec<_>>(), String::new());
        let count = left.len();
        left.reverse();
        elsewhere::ask_at(env, &root, move |progress| {
            let Some((name, changes)) = left.pop() else { return Some(std::mem::take(&mut patch)) };
            patch.push_str(&net_of(&name, &project, &changes));
            progress.set((count - left.len(), count));
            None
        })
    })
}

/// The changes of a file from the first of those wanted on.
fn changes_of(name: &str, wanted: &HashSet<ChangeId>, all: &[Arc<Observation>]) -> Vec<FileChanged> {
    let files = all.iter().flat_map(|one| {
        let files = (0..).zip(one.metadata.files.iter().flatten());
        files.filter(|(_, file)| file.path == name).map(|(place, file)| ((one.number, place), file))
    });
    let from = files.skip_while(|(id, _)| !wanted.contains(id));
    from.map(|(id, file)| FileChanged::of(file, !wanted.contains(&id))).collect()
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
    if is_remote(name) || is_remote(project) && !name.starts_with('/') {
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

/// Whether Emacs would find a file of this name on another machine.
fn is_remote(name: &str) -> bool {
    let rest = name.strip_prefix('/');
    rest.and_then(|rest| rest.split_once(':')).is_some_and(|(method, _)| !method.contains('/'))
}
