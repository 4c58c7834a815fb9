//! What a hub and the one of `todo-write-mcp serve` on another machine say to each other, a line of
//! JSON each.
//!
//! The program's first line is [`greeting`], after a line feed: a login shell may have printed
//! something before. Only the number in it must match, so that versions of the program and of Emacs
//! may differ. The commands follow, the first of them [`Command::Hello`], and reports until the end of
//! either stream.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::door::ConnectionId;
use super::{Message, Scope, SessionId, Settings};
use crate::agents::Agent;
use crate::protocol::{Answer, Welcome};

/// The version of these messages.
pub const PROTOCOL: u32 = 1;
/// The word before it in the program's first line.
pub const WORD: &str = "todo-write-serve";
/// Maximum number of bytes that are skipped before that line.
pub const BANNER: usize = 64 * 1024;
/// Maximum number of bytes of a line. Pieces have 64 KiB, but a list or a patch is sent as a whole.
pub const LARGEST: usize = 8 * 1024 * 1024;
/// The time after which the program says that it lives if it has nothing else to say.
pub const PULSE: Duration = Duration::from_secs(5);
/// The silence after which a machine counts as lost.
pub const SILENCE: Duration = Duration::from_secs(20);
/// Maximum number of sessions of a machine that are followed.
pub const SESSIONS: usize = 1_000;

/// The program's first line.
pub fn greeting() -> String {
    format!("{WORD} {PROTOCOL}")
}

/// What a hub tells the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Which Emacs it is.
    Hello {
        /// A name that no other Emacs has, the same in each connection.
        id: String,
        /// The user, host and process of the Emacs, for a person.
        name: String,
    },
    /// The options.
    Set(Settings),
    /// The folders of agents in place of the usual ones, if there are any, and which sessions are searched.
    Homes(Vec<(Agent, PathBuf)>, Scope),
    /// Follows the session in a file, from its beginning.
    Follow(SessionId, PathBuf),
    /// Ends that.
    Stop(SessionId),
    /// Wants [`Message::Ready`] of a session.
    Check(SessionId),
    /// Searches for sessions.
    Search,
    /// Opens the socket there for agents' programs, who are told this of Emacs, or closes it.
    Door(Option<Welcome>),
    /// Answers a call that came through the socket.
    Answer(ConnectionId, Answer),
    /// Makes or deletes the file that lets the hook `note` of a session ask.
    Tell(String, bool),
    /// Tells the programs that report sessions that there is something to say to the agent of this one.
    Ring(String),
    /// Wants the [`Message::Choices`] of this round: the newest sessions in each folder.
    Choose(u64, Scope),
}

/// What the program tells the hub.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// The answer to [`Command::Hello`].
    Welcome {
        /// The version of the program.
        version: String,
        /// A sentence for the user about what does not work there.
        note: Option<String>,
    },
    /// The Emacs is not served, with the reason. The program ends.
    Refused(String),
    /// It lives.
    Pulse,
    /// What the program's hub reports. Numbers of sessions and rounds are those of the commands, and files are
    /// named as on the program's machine.
    Hub(Message),
}
