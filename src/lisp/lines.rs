#![allow(unreachable_pub)]
//! The messages of programs that connect to the socket of Emacs, one JSON object a line.
//!
//! `doc/protocol.md` describes both directions. This module only parses: `todo-write-socket.el`
//! keeps the connections and writes the answers. Unknown fields are ignored and unknown types are
//! reported, so that later versions can add both.
//!
//! # Examples
//! ```
//! use todo_write::protocol::{Message, parse};
//!
//! let line = r#"{"type":"call","call":1,"session":"5e55","arguments":{"todos": []}}"#;
//! let Ok(Message::Call(call)) = parse(line) else { panic!() };
//! assert_eq!(call.session.as_deref(), Some("5e55"));
//! assert_eq!(call.arguments.unwrap().get(), r#"{"todos": []}"#);
//! ```

use serde::Deserialize;
use serde_json::value::RawValue;

/// A message to Emacs.
#[derive(Debug)]
pub enum Message<'l> {
    /// The first message of a connection.
    Hello(Box<Hello>),
    /// A call to answer. Its meaning depends on the program's role.
    Call(Call<'l>),
    /// The program no longer waits for the answer to a call.
    Cancel(Cancel),
    /// What the agent of a session does.
    Activity(SessionActivity),
    /// The sessions of the program have ended.
    Bye(Bye),
    /// A message of a type that this version does not know.
    Unknown(String),
}

/// Identifies a program.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hello {
    /// The version of the protocol.
    pub protocol: u32,
    /// What the program is for: `tool`, `permission`, `note` or `check`.
    pub role: String,
    /// A random name, the same in each connection of the program.
    pub id: String,
    /// The program's version.
    pub version: Option<String>,
    /// The agent, as it calls itself.
    pub client: Option<String>,
    /// The agent's version.
    pub client_version: Option<String>,
    /// The folder in which the agent works.
    pub project: Option<String>,
    /// The program's process id.
    pub process: Option<u32>,
    /// The namespace of that id, as `/proc/self/ns/pid` names it.
    pub pid_domain: Option<String>,
    /// The start of the program in milliseconds since the epoch.
    pub started: Option<u64>,
    /// The time of this message by the program's clock.
    pub now: Option<u64>,
    /// The time of the first call that did not reach Emacs since the last connection.
    pub lost: Option<u64>,
    /// Whether the program was started with options of an earlier version.
    pub outdated: bool,
    /// The folder of Claude Code, if it is not the usual one.
    pub claude_folder: Option<String>,
    /// The folder of Codex, if it is not the usual one.
    pub codex_folder: Option<String>,
    /// On a TCP port, what Emacs must answer to.
    pub nonce: Option<String>,
    /// On a TCP port, the proof that the program has the token.
    pub proof: Option<String>,
}

/// A call, which gets one answer.
#[derive(Debug, Deserialize)]
pub struct Call<'l> {
    /// Its number in this connection.
    pub call: u64,
    /// The time in milliseconds after which the program does not take the answer.
    pub until: Option<u64>,
    /// The id of the agent's session.
    pub session: Option<String>,
    /// How the program knows the session: `process`, `call` or `environment`.
    pub source: Option<String>,
    /// The id of the subagent that calls.
    pub subagent: Option<String>,
    /// The subagent's task, in a few words.
    pub task: Option<String>,
    /// The input, JSON as it came.
    #[serde(borrow)]
    pub arguments: Option<&'l RawValue>,
}

/// Withdraws a call.
#[derive(Debug, Deserialize)]
pub struct Cancel {
    /// The number of the call.
    pub call: u64,
}

/// What the agent of a session does, as its process says.
#[derive(Debug, Deserialize)]
pub struct SessionActivity {
    /// The id of the agent's session.
    pub session: String,
    /// The id of the subagent, if it is not the main agent.
    pub subagent: Option<String>,
    /// `working`, `waiting`, `idle`, `suspended` or `unknown`.
    pub activity: String,
    /// What it waits for. Programs of version 0.1.0 say `why`.
    #[serde(alias = "why")]
    pub reason: Option<String>,
}

/// The end of the program's sessions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Bye {
    /// Whether the agent was killed.
    pub killed: bool,
}

#[derive(Deserialize)]
struct Type {
    r#type: String,
}

/// Parses a line.
///
/// # Errors
/// An error of the JSON, or of a field that is missing or has the wrong type.
pub fn parse(line: &str) -> serde_json::Result<Message<'_>> {
    let Type { r#type } = serde_json::from_str(line)?;
    Ok(match r#type.as_str() {
        "hello" => Message::Hello(serde_json::from_str(line)?),
        "call" => Message::Call(serde_json::from_str(line)?),
        "cancel" => Message::Cancel(serde_json::from_str(line)?),
        "activity" => Message::Activity(serde_json::from_str(line)?),
        "bye" => Message::Bye(serde_json::from_str(line)?),
        _ => Message::Unknown(r#type),
    })
}
