//! The messages between Emacs and the programs that connect to its socket, one JSON object a line.
//!
//! `doc/protocol.md` describes both directions. The program that serves Emacs listens there; what it passes on
//! has these types, too. Unknown fields are ignored and unknown types are reported, so that later
//! versions can add both.
//!
//! # Examples
//! ```
//! use todo_write::wire::socket::{Message, Role};
//!
//! let line = r#"{"type":"call","call":1,"session":"5e55","arguments":{"todos": []}}"#;
//! let Ok(Message::Call(call)) = serde_json::from_str(line) else { panic!() };
//! assert_eq!(call.session.as_deref(), Some("5e55"));
//! assert_eq!(call.arguments.unwrap().get(), r#"{"todos": []}"#);
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

/// The version of the protocol. Only equal ones fit.
pub const PROTOCOL: u32 = 2;

/// The end of a result that says that Emacs has not got the list. Transcript readers recognize it.
pub const NO_EMACS: &str = "[todo-write:no-emacs]";

/// A message to Emacs.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Message {
    /// The first message of a connection.
    Hello(Box<Hello>),
    /// A call to answer. Its meaning depends on the role in which the program makes it.
    Call(Call),
    /// The program no longer waits for the answer to the call of this number.
    #[allow(missing_docs)]
    Cancel { call: u64 },
    /// What the agent of a session does.
    Activity(SessionActivity),
    /// The sessions of the program have ended, perhaps since the agent was killed.
    #[allow(missing_docs)]
    Bye { killed: bool },
    /// A message of a type that this version does not know.
    Unknown,
}

/// What a program connects for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Its calls are those of `todo_write`.
    Tool,
    /// Its calls are questions to the user, of Claude Code, Codex or opencode.
    Permission,
    /// Its calls ask what to tell the agent.
    Note,
    /// It lives in the agent, whose sessions it reports: its calls are lists of the agent's own plan tool.
    Plan,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Identifies a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Hello {
    pub protocol: u32,
    pub roles: Vec<Role>,
    /// A random name, the same in each connection of the program.
    pub id: String,
    pub version: Option<String>,
    /// The agent, as it calls itself.
    pub client: Option<String>,
    /// The folder in which the agent works.
    pub project: Option<String>,
    /// The root of its project. A door finds it; what a program says of it is ignored.
    pub root: Option<String>,
    /// The program's process id.
    pub process: Option<u32>,
    /// The namespace of that id, as `/proc/self/ns/pid` names it.
    pub pid_domain: Option<String>,
    /// Whether that is another one than that of the door, which finds that out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The start of the program in milliseconds since the epoch.
    pub started: Option<u64>,
}

/// A call, which gets one answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Call {
    /// Its number in this connection.
    pub call: u64,
    /// A random id, the same if the program sends the call again.
    pub sent: Option<String>,
    /// The role in which the program makes it; needed if the program has several.
    pub role: Option<Role>,
    /// The time in milliseconds after which the program does not take the answer.
    pub until: Option<u64>,
    /// When the program got it from the agent, in milliseconds since the epoch.
    pub time: Option<u64>,
    pub session: Option<String>,
    /// How the program knows the session: `process`, `call`, `environment` or `event`.
    pub source: Option<String>,
    /// The id of the agent's tool call, which its transcript has.
    pub id: Option<String>,
    pub subagent: Option<String>,
    /// The subagent's task, in a few words.
    pub task: Option<String>,
    /// The input, JSON as it came.
    pub arguments: Option<Box<RawValue>>,
}

/// What the agent of a session does, as its process says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SessionActivity {
    pub session: String,
    /// The id of the subagent, if it is not the main agent.
    pub subagent: Option<String>,
    /// `working`, `waiting`, `idle`, `failed`, `suspended`, `unknown`, or `serving`: no more is known than that the
    /// program serves the session.
    pub activity: String,
    /// What it waits for, or why it failed.
    pub reason: Option<String>,
    pub title: Option<String>,
}

/// A message of Emacs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reply {
    /// Takes a `hello`.
    Welcome(Welcome),
    /// Answers a call.
    Answer(Answer),
    /// Says why the connection is closed next, a sentence for the agent.
    #[allow(missing_docs)]
    Refused { text: String },
    /// Says that there is something to tell the agent of a session, for which its program may ask.
    #[allow(missing_docs)]
    Tell { session: String },
    /// A message of a type that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Identifies Emacs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Welcome {
    pub protocol: u32,
    pub version: String,
    pub process: Option<u32>,
}

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Answer {
    pub call: u64,
    pub ok: bool,
    #[serde(default)]
    pub text: String,
    /// What the user decided, for the role `permission`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// The user's answer to a question of Claude Code, Codex or opencode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Decision {
    pub behavior: Behavior,
    /// The number of the suggestion that is allowed always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<usize>,
    /// The mode that follows a plan: `default`, `acceptEdits` or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The plan as the user edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The answers to each question, several if it takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<BTreeMap<String, Vec<String>>>,
    /// What the user says to a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether a no ends the agent's turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Behavior {
    Allow,
    #[default]
    Deny,
}

/// The type of a message, with the fields of those that have few.
#[derive(Deserialize)]
struct Type {
    r#type: String,
    protocol: Option<u32>,
    call: Option<u64>,
    #[serde(default)]
    killed: bool,
}

/// An internally tagged enum cannot hold JSON as it came, so `arguments` would be lost.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        let line = Box::<RawValue>::deserialize(deserializer)?;
        let line = line.get();
        let parse = || -> serde_json::Result<Message> {
            let Type { r#type, protocol, call, killed } = serde_json::from_str(line)?;
            Ok(match r#type.as_str() {
                // Another version may have other fields.
                "hello" if protocol.is_some_and(|protocol| protocol != PROTOCOL) => {
                    let protocol = protocol.unwrap_or_default();
                    Message::Hello(Box::new(Hello { protocol, ..Hello::default() }))
                }
                "hello" => Message::Hello(serde_json::from_str(line)?),
                "call" => Message::Call(serde_json::from_str(line)?),
                "cancel" => Message::Cancel { call: call.ok_or_else(|| de::Error::missing_field("call"))? },
                "activity" => Message::Activity(serde_json::from_str(line)?),
                "bye" => Message::Bye { killed },
                _ => Message::Unknown,
            })
        };
        parse().map_err(de::Error::custom)
    }
}

/// A message as a line.
///
/// # Errors
/// None for the messages of this module.
pub fn line(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_the_same_on_both_sides_with_its_arguments_as_they_came() {
        let given = r#"{"type":"call","call":7,"sent":null,"role":"tool","until":9,"time":null,"session":"s","source":null,"id":null,"subagent":null,"task":null,"arguments":{ "a":1.50,"a":1e400 }}"#;
        let message: Message = serde_json::from_str(given).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), given);
        let nested: Vec<Message> = serde_json::from_str(&format!("[{given}]")).unwrap();
        assert_eq!(serde_json::to_string(&nested[0]).unwrap(), given);
    }

    #[test]
    fn a_hello_of_another_version_is_one_whatever_its_fields_are() {
        for line in
            [r#"{"type":"hello","protocol":3,"roles":7}"#, r#"{"type":"hello","protocol":1,"role":"tool"}"#]
        {
            let Message::Hello(hello) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
            assert_ne!(hello.protocol, PROTOCOL);
        }
    }
}
