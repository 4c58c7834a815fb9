//! Threads on disk: an append-only file for each, with one JSON record a line.
//!
//! `file` appends records, `line` encodes them, and `folder` names and locks the files. A line is
//! a record only if it ends in a line feed and its checksum is right, so a record is on disk completely
//! or not at all. [`saved`] is a thread with its journal, and [`store`] has all threads of a folder.

mod file;
mod folder;
pub(crate) mod history;
pub mod kept;
mod line;
mod opening;
mod percent;
pub mod saved;
pub mod search;
mod snapshot;
pub mod store;

pub use file::{Durability, Journal, OpenedJournal, begin, open};
pub use folder::{Journals, bad_file, delete, files_of, is_held};
pub use line::decode;
pub use percent::Percent;
