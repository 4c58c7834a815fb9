//! The modules depend downwards only, as CONTRIBUTING.org draws them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// The line of each module in the drawings: in that of the crate, or of `agents`.
fn drawn() -> [HashMap<String, usize>; 2] {
    let text = fs::read_to_string("CONTRIBUTING.org").unwrap();
    let (_, section) = text.split_once("* Modules\n").unwrap();
    let mut blocks = section.split("#+begin_example\n").skip(1).map(|block| {
        let lines = block.split("#+end_example").next().unwrap().lines().enumerate();
        lines.flat_map(|(n, line)| line.split_whitespace().map(move |word| (word.to_owned(), n))).collect()
    });
    [blocks.next().unwrap(), blocks.next().unwrap()]
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

/// The part of a file's path after `src/` at `depth`, without its suffix.
fn module(path: &Path, depth: usize) -> Option<String> {
    let part = path.components().nth(depth + 1)?.as_os_str().to_str()?;
    Some(part.strip_suffix(".rs").unwrap_or(part).to_owned())
}

fn is_above(lines: &HashMap<String, usize>, user: &str, used: &str) -> bool {
    matches!((lines.get(user), lines.get(used)), (Some(user), Some(used)) if user < used)
}

#[test]
fn a_module_uses_only_modules_drawn_below_it() {
    let [modules, readers] = drawn();
    for path in files(Path::new("src")) {
        let source = fs::read_to_string(&path).unwrap();
        let here = module(&path, 0).unwrap();
        if here == "lib" {
            continue;
        }
        // Tests in the sources wait as the others do.
        for used in named(&source, "crate::").filter(|used| *used != here && *used != "wait") {
            assert!(is_above(&modules, &here, used), "{} uses {used}", path.display());
        }
        let Some(reader) = module(&path, 1).filter(|_| here == "agents") else { continue };
        let prefix = if path.components().count() == 3 { "super::" } else { "crate::agents::" };
        let others = named(&source, prefix).filter(|used| !used.is_empty() && *used != reader);
        for used in others.filter(|used| *used != "lenient") {
            assert!(is_above(&readers, &reader, used), "{} uses {used}", path.display());
        }
    }
}

#[test]
fn each_module_is_drawn_and_each_single_file_has_its_reason() {
    let [modules, readers] = drawn();
    let text = fs::read_to_string("CONTRIBUTING.org").unwrap();
    let (_, reasons) = text.split_once("The other modules are single files").unwrap();
    let (reasons, _) = reasons.split_once("\n\n").unwrap();
    for (folder, drawn) in [("src", modules), ("src/agents", readers)] {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let names = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
        let names: BTreeSet<String> = names.filter(|name| name != "lib").collect();
        assert_eq!(names, drawn.into_keys().collect(), "in {folder}");
        for name in names.iter().filter(|name| folder == "src" && !Path::new(folder).join(name).is_dir()) {
            assert!(reasons.contains(&format!("={name}=")), "{name} has no reason");
        }
    }
}
