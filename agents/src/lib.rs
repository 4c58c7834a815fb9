//! What is outside of Emacs: the program `todo-write-mcp`, which finds, watches and reads the transcripts of
//! coding agents, listens on the socket for their programs, and keeps the connections to other machines.
//!
//! A reader turns the lines of one agent's transcripts into events ([`claude`], `codex`): bytes in, events
//! out. [`tail`] reads the lines appended to a file, and a [`follower`] does both for the files of one session.
//! [`describe`] identifies a session without reading all of its file. The [`hub`]
//! runs all of that, and reports to Emacs.
//!
//! Transcripts are untrusted: unknown lines are skipped, and memory is bounded. All that is cut into lines is cut by
//! [`lines`].

pub mod claude;
mod codex;
pub mod describe;
mod events;
pub mod field;
#[cfg(test)]
#[path = "../../test/rust/common/folder.rs"]
#[allow(unreachable_pub, dead_code)]
mod folder;
pub mod follower;
pub mod hub;
pub mod lines;
pub mod tail;
pub mod threads;
#[cfg(test)]
#[path = "../../test/rust/common/wait.rs"]
#[allow(unreachable_pub, dead_code)]
mod wait;
