//! What comes from outside: threads that find, watch and read the sessions of agents.
//!
//! The owner of a [`Hub`] gives it commands and takes messages from it, and never waits for a file. The queue is
//! bounded: when it is full, those who fill it wait.
//!
//! One thread, one thing: a *root* is an agent's home, or a file system on which another file is, and has a thread that
//! owns all that is known of it; so have each look for a project, and each pipe of a machine. What hangs holds its own
//! thread and nothing else.
//!
//! Each file uses only those before it:
//! - `home`, `project`: folders; `door`: the socket; `queue`: what is reported;
//! - `watch`, `around`, `session`, `search`, `root`: what is read here;
//! - `bound`, `machine`: what is read elsewhere; `codex`: questions of its daemon;
//! - `handle`: the hub; `bell`: the way to Emacs; `serve`: the program.

mod around;
pub mod bell;
mod bound;
pub mod codex;
pub mod door;
mod handle;
pub mod home;
mod machine;
mod project;
mod queue;
mod root;
mod search;
pub mod serve;
mod session;
mod watch;

pub use handle::{Hub, Local};
