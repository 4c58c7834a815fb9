//! Lines of an invented session, as Claude Code writes them.

use serde::Deserialize;
use serde_json::{Value, json};
use todo_write::list::item::Status;

use crate::{Todo, draft, sent};

/// The number of tasks in the list of a session.
const TASKS: usize = 12;

/// What an agent does besides writing its list.
#[derive(Clone, Copy, Debug)]
pub enum Session {
    /// Thinks and calls a tool with a result of two thousand characters before each new list.
    Usual,
    /// Creates tasks and updates them one by one, as later versions do.
    OneByOne,
    /// Calls a tool with a result of a hundred thousand characters, half of them escaped.
    LongAnswers,
    /// Nothing: only lines of kinds without lists.
    OtherLines,
}

impl std::fmt::Display for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Session {
    /// The user's prompt and the lines of `turns` turns.
    pub fn lines(self, turns: usize) -> Vec<Vec<u8>> {
        let prompt = ("user", json!([{ "type": "text", "text": "Go through the records" }]));
        let said = std::iter::once(prompt).chain((0..turns).flat_map(|turn| self.turn(turn)));
        said.enumerate().map(|(n, (kind, content))| line(n, kind, &content)).collect()
    }

    fn turn(self, turn: usize) -> Vec<(&'static str, Value)> {
        match self {
            Session::Usual => {
                let mut said = vec![thought(turn)];
                said.extend(tool(
                    turn,
                    "Bash",
                    json!({ "command": "make test" }),
                    &"passed \"ok\"\n".repeat(160),
                ));
                said.extend(todo_write(turn));
                said
            }
            Session::OneByOne => {
                let number = (turn / 2 % TASKS + 1).to_string();
                let draft = draft(turn, 0);
                let (name, input) = if turn < TASKS {
                    ("TaskCreate", json!({ "subject": draft.content, "activeForm": draft.active_form }))
                } else {
                    let status = if turn.is_multiple_of(2) { "in_progress" } else { "completed" };
                    ("TaskUpdate", json!({ "taskId": number, "status": status }))
                };
                tool(turn, name, input, &format!("Task #{} created successfully", turn + 1)).into()
            }
            Session::LongAnswers => {
                let mut said: Vec<_> =
                    tool(turn, "Read", json!({ "file_path": "/project/a" }), &"x\t\"".repeat(33_000)).into();
                said.extend(todo_write(turn));
                said
            }
            Session::OtherLines => {
                vec![("progress", json!([{ "type": "text", "text": "still at it".repeat(20) }]))]
            }
        }
    }
}

fn thought(turn: usize) -> (&'static str, Value) {
    let text = format!("Step {turn}: {}", "what to do next, and why. ".repeat(20));
    ("assistant", json!([{ "type": "thinking", "thinking": text }]))
}

fn todo_write(turn: usize) -> [(&'static str, Value); 2] {
    let todos: Vec<Value> = (0..TASKS).map(|n| sent(&draft(n, turn % TASKS))).collect();
    tool(turn, "TodoWrite", json!({ "todos": todos }), "Todos have been modified successfully")
}

/// A call and its result.
fn tool(turn: usize, name: &str, input: Value, answer: &str) -> [(&'static str, Value); 2] {
    let id = format!("toolu_{name}_{turn}");
    [
        ("assistant", json!([{ "type": "tool_use", "id": id, "name": name, "input": input }])),
        ("user", json!([{ "type": "tool_result", "tool_use_id": id, "content": answer }])),
    ]
}

fn line(n: usize, kind: &str, content: &Value) -> Vec<u8> {
    let line = json!({
        "parentUuid": n.checked_sub(1).map(uuid),
        "isSidechain": false,
        "cwd": "/project",
        "sessionId": uuid(0),
        "type": kind,
        "message": { "id": format!("msg_{n}"), "role": kind, "content": content },
        "uuid": uuid(n),
        "timestamp": format!("2026-01-31T{:02}:{:02}:{:02}.000Z", n / 3_600 % 24, n / 60 % 60, n % 60),
    });
    line.to_string().into_bytes()
}

fn uuid(n: usize) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

/// A line of [`Session::lines`], for serde_json alone: the yardstick of reading.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    #[serde(rename = "type")]
    pub kind: String,
    pub uuid: String,
    pub session_id: String,
    pub timestamp: String,
    pub message: Message,
}

#[derive(Deserialize)]
pub struct Message {
    pub id: String,
    pub content: Vec<Block>,
}

#[derive(Deserialize)]
pub struct Block {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: Option<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub thinking: Option<String>,
    pub input: Option<Input>,
    pub tool_use_id: Option<String>,
    pub content: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    #[serde(default)]
    pub todos: Vec<Todo<Status>>,
    pub command: Option<String>,
    pub file_path: Option<String>,
    pub subject: Option<String>,
    pub active_form: Option<String>,
    pub task_id: Option<String>,
    pub status: Option<Status>,
}
