//! Names of files as agents write them. Nothing here looks at a disk.

use std::borrow::Cow;

/// The name of a file of a folder without `.`, `..` and empty parts; absolute if `folder` or `path` is.
///
/// A `..` that leads above the root is dropped, as by the system; one at the beginning of a relative name,
/// or after `~`, stays.
///
/// ```
/// # use todo_write::text::path::normal;
/// assert_eq!(normal("../b//./c", "/p/a"), "/p/b/c");
/// assert_eq!(normal("/p/../../x", ""), "/x");
/// assert_eq!(normal("~/../x", "/p"), "~/../x");
/// ```
pub fn normal<'p>(path: &'p str, folder: &str) -> Cow<'p, str> {
    let is_absolute =
        path.starts_with(['/', '~']) || path.get(1..3).is_some_and(|rest| rest.starts_with(":"));
    let whole = if is_absolute || folder.is_empty() {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(format!("{}/{path}", folder.trim_end_matches('/')))
    };
    let rest = whole.strip_prefix('/').unwrap_or(&whole);
    if rest.is_empty() || !rest.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return whole;
    }
    let root = if whole.starts_with('/') { "/" } else { "" };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        let is_start = |part: &str| part == ".." || part.starts_with('~') && root.is_empty();
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| !is_start(last)) => drop(parts.pop()),
            ".." if !root.is_empty() => {}
            part => parts.push(part),
        }
    }
    Cow::Owned(format!("{root}{}", parts.join("/")))
}

/// A name that begins with `~`, `$HOME` or `${HOME}` for this user's home, as an absolute one.
pub fn at_home(path: &str) -> Cow<'_, str> {
    let rest = ["~", "$HOME", "${HOME}"].into_iter().find_map(|home| path.strip_prefix(home));
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match rest.and_then(|rest| Some((std::env::home_dir()?, rest))) {
        Some((home, rest)) => Cow::Owned(format!("{}{rest}", home.to_string_lossy())),
        None => Cow::Borrowed(path),
    }
}

/// Whether a normal name can be that of a file below its root: it has no `..` and no NUL.
pub fn is_inside(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| part != "..")
}

/// Whether Emacs reads a method of reaching another machine in an absolute name, as in `/ssh:build:/x`.
pub fn has_method(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| first.contains(':'))
}

/// Whether Emacs reads more in an absolute name than a file of this machine: a method, or another beginning
/// at `//` or `/~`.
pub fn is_special(path: &str) -> bool {
    has_method(path) || path.contains("//") || path.contains("/~")
}

/// The name of a project on its own machine. In Emacs, the name of a remote project also has a prefix such
/// as `/ssh:build:`.
pub fn on_its_machine(project: &str) -> &str {
    let first = project.get(1..).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let is_remote = project.starts_with('/') && first.len() > 1 && first.ends_with(':');
    if is_remote { &project[1 + first.len()..] } else { project }
}
