//! The modules depend downwards only, as CONTRIBUTING.org draws them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// The line of each module in the drawing.
fn drawn() -> HashMap<String, usize> {
    let text = fs::read_to_string("CONTRIBUTING.org").unwrap();
    let (_, section) = text.split_once("* Modules\n").unwrap();
    let block = section.split("#+begin_example\n").nth(1).unwrap().split("#+end_example").next().unwrap();
    let lines = block.lines().enumerate();
    lines.flat_map(|(n, line)| line.split_whitespace().map(move |word| (word.to_owned(), n))).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The modules that a source names after `prefix`, without comments.
fn named<'s>(source: &'s str, prefix: &'s str) -> impl Iterator<Item = &'s str> {
    let code = source.lines().filter_map(|line| line.split("//").next());
    code.flat_map(move |line| line.split(prefix).skip(1))
        .filter_map(|rest| rest.split(|c: char| c != '_' && !c.is_ascii_lowercase()).next())
}

/// The part of a file's path after `src/`, without its suffix.
fn module(path: &Path) -> Option<String> {
    let part = path.components().nth(1)?.as_os_str().to_str()?;
    Some(part.strip_suffix(".rs").unwrap_or(part).to_owned())
}

fn is_above(lines: &HashMap<String, usize>, user: &str, used: &str) -> bool {
    matches!((lines.get(user), lines.get(used)), (Some(user), Some(used)) if user < used)
}

#[test]
fn a_module_uses_only_modules_drawn_below_it() {
    let modules = drawn();
    for path in files(Path::new("src")) {
        let source = fs::read_to_string(&path).unwrap();
        let here = module(&path).unwrap();
        if here == "lib" {
            continue;
        }
        for used in named(&source, "crate::").filter(|used| *used != here) {
            assert!(is_above(&modules, &here, used), "{} uses {used}", path.display());
        }
    }
}

#[test]
fn each_module_is_drawn_and_each_single_file_has_its_reason() {
    let text = fs::read_to_string("CONTRIBUTING.org").unwrap();
    let (_, reasons) = text.split_once("The other modules are single files").unwrap();
    let (reasons, _) = reasons.split_once("\n\n").unwrap();
    let entries = fs::read_dir("src").unwrap().map(|entry| entry.unwrap().path());
    let names = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let names: BTreeSet<String> = names.filter(|name| name != "lib").collect();
    assert_eq!(names, drawn().into_keys().collect());
    for name in names.iter().filter(|name| !Path::new("src").join(name).is_dir()) {
        assert!(reasons.contains(&format!("={name}=")), "{name} has no reason");
    }
}
