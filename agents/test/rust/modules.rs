//! No two files of a folder use each other, not even by a third one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders below this one, and itself.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.filter(|path| path.is_dir()).flat_map(|path| folders(&path));
    below.chain([folder.to_owned()]).collect()
}

/// The names after `prefix` in the code, without inner tests and comments.
fn named(source: &str, prefix: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod ").next().unwrap();
    let code = code.lines().filter_map(|line| line.split("//").next());
    let names = code.flat_map(|line| line.split(prefix).skip(1));
    names
        .filter_map(|rest| rest.split(|c: char| c != '_' && !c.is_ascii_lowercase()).next())
        .map(str::to_owned)
        .collect()
}

/// What each file of a folder uses of the others.
fn uses(folder: &Path, prefix: &str) -> BTreeMap<String, BTreeSet<String>> {
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files = files.iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "rs"));
    let named = files.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let below = folder.join(&name);
        let mut used = named(&fs::read_to_string(path).unwrap(), prefix);
        if prefix == "crate::" && below.is_dir() {
            for file in folders(&below).iter().flat_map(|one| fs::read_dir(one).unwrap()) {
                used.extend(
                    fs::read_to_string(file.unwrap().path())
                        .map(|text| named(&text, prefix))
                        .unwrap_or_default(),
                );
            }
        }
        used.remove(&name);
        (name, used)
    });
    named.collect()
}

#[test]
fn no_files_of_a_folder_use_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for folder in folders(&root) {
        let prefix = if folder == root { "crate::" } else { "super::" };
        let mut left = uses(&folder, prefix);
        // A file that uses none of those left is above no circle.
        while let Some(name) = left
            .iter()
            .find(|(_, used)| used.iter().all(|used| !left.contains_key(used)))
            .map(|(name, _)| name.clone())
        {
            left.remove(&name);
        }
        assert!(left.is_empty(), "in {} these use each other: {left:?}", folder.display());
    }
}
