//! Processes of which tests need only the number.

use std::process::{Child, Command, Stdio};

/// A process that lives until it is killed, or dropped.
pub fn living() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// The number of a process that has ended.
pub fn dead() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}
