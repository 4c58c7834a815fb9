//! Calls to the running Emacs, each by one `emacsclient --eval`.
//!
//! The form's only argument is the call, JSON in base64, so Lisp never reads an agent's text.
//! `todo-write-mcp-call` also answers with JSON in base64: `{"text": …, "error": bool}`.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, remove_file};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// The answer if Emacs is absent, busy or stopped. Transcript readers recognize by its
/// beginning that Emacs has not got the list.
const SILENT: &str = "Emacs does not answer; go on without the list.";
const ABSENT: &str = "This Emacs has no todo-write; go on without the list.";
const TOO_LARGE: &str = "The list is larger than 1 MiB; send a shorter one.";

/// Maximum size of a call in bytes of JSON, and of one passed as an argument: Linux allows 128 KiB.
const LARGEST: usize = 1 << 20;
const LARGEST_ARGUMENT: usize = 90_000;

/// The answer to a call.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// Text for the agent.
    pub text: String,
    /// Whether the list was rejected or never reached Emacs.
    pub is_error: bool,
}

impl Answer {
    fn error(text: &str) -> Self {
        Answer { text: text.to_owned(), is_error: true }
    }
}

/// An Emacs and how `emacsclient` reaches it.
pub struct Emacs {
    program: OsString,
    options: Vec<OsString>,
    /// Serializes calls in the order of their arrival.
    turn: Mutex<()>,
}

impl Emacs {
    /// PROGRAM is an emacsclient; OPTIONS select the Emacs.
    pub fn new(program: OsString, options: Vec<OsString>) -> Self {
        Emacs { program, options, turn: Mutex::new(()) }
    }

    /// Passes CALL, an object, to Emacs and returns the answer, or an error after LIMIT.
    pub async fn ask(&self, mut call: Value, limit: Duration) -> Answer {
        // Emacs drops a call after this time, because the agent already has an error.
        call["until"] = json!(milliseconds(SystemTime::now() + limit));
        let call = call.to_string();
        if call.len() > LARGEST {
            return Answer::error(TOO_LARGE);
        }
        let asked = timeout(limit, async {
            let _turn = self.turn.lock().await;
            let (argument, _file) = argument(call)?;
            let output = self.command(&argument).output().await.ok()?;
            Some(read(&output))
        });
        asked.await.ok().flatten().unwrap_or_else(|| Answer::error(SILENT))
    }

    fn command(&self, argument: &str) -> Command {
        let form = format!(
            "(let (debug-on-error) (if (or (fboundp 'todo-write-mcp-call) (require 'todo-write-mcp nil t)) \
             (todo-write-mcp-call \"{}\") 'absent))",
            BASE64.encode(argument)
        );
        let mut command = Command::new(&self.program);
        command.args(&self.options).args(["--eval", &form]);
        // If there is no Emacs, emacsclient would run this editor and wait for it.
        command.env_remove("ALTERNATE_EDITOR");
        command.stdin(Stdio::null()).kill_on_drop(true);
        // C-c in the agent's terminal must not kill emacsclient.
        #[cfg(unix)]
        command.process_group(0);
        command
    }
}

/// Milliseconds since the epoch.
pub fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// The argument for CALL: the call itself, or the name of a private file with it.
fn argument(call: String) -> Option<(String, Option<PrivateFile>)> {
    if call.len() <= LARGEST_ARGUMENT {
        return Some((call, None));
    }
    let file = PrivateFile::with(call.as_bytes()).ok()?;
    Some((json!({ "file": file.path.to_str()? }).to_string(), Some(file)))
}

/// Parses the answer in OUTPUT of emacsclient, which must have succeeded.
fn read(output: &Output) -> Answer {
    let printed = output.stdout.trim_ascii();
    let answer = output.status.success().then_some(printed).and_then(|printed| {
        let json = BASE64.decode(printed.strip_prefix(b"\"")?.strip_suffix(b"\"")?).ok()?;
        let answer: Value = serde_json::from_slice(&json).ok()?;
        Some(Answer { text: answer["text"].as_str()?.to_owned(), is_error: answer["error"] == true })
    });
    answer.unwrap_or_else(|| Answer::error(if printed == b"absent" { ABSENT } else { SILENT }))
}

/// A file that only this user can read. Dropping it removes the file.
struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    fn with(content: &[u8]) -> std::io::Result<Self> {
        let random = || RandomState::new().hash_one(SystemTime::now());
        let name = format!("todo-write-{:016x}{:016x}", random(), random());
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file: File = options.open(&path)?;
        let this = PrivateFile { path };
        file.write_all(content)?;
        Ok(this)
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = remove_file(&self.path);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn printed(status: i32, text: &str) -> Answer {
        let stdout = text.as_bytes().to_vec();
        read(&Output { status: ExitStatus::from_raw(status), stdout, stderr: Vec::new() })
    }

    #[test]
    fn a_failure_of_emacsclient_invalidates_its_output() {
        let text = format!("\"{}\"\n", BASE64.encode(r#"{"text":"Fine","error":false}"#));
        assert_eq!(printed(0, &text), Answer { text: "Fine".into(), is_error: false });
        assert_eq!(printed(1 << 8, &text), Answer::error(SILENT));
        assert_eq!(printed(0, "nil\n"), Answer::error(SILENT));
        assert_eq!(printed(0, "absent\n"), Answer::error(ABSENT));
    }

    #[test]
    fn a_long_call_is_passed_in_a_private_temporary_file() {
        let call = "x".repeat(LARGEST_ARGUMENT + 1);
        let (argument, file) = argument(call.clone()).expect("a file");
        let path: Value = serde_json::from_str(&argument).expect("JSON");
        let path = PathBuf::from(path["file"].as_str().expect("a path"));
        assert_eq!(std::fs::read_to_string(&path).expect("the call"), call);
        assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        drop(file);
        assert!(!path.exists());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_missing_emacsclient_returns_the_error_for_an_absent_emacs() {
        let emacs = Emacs::new("/nowhere/emacsclient".into(), Vec::new());
        assert_eq!(emacs.ask(json!({}), Duration::from_secs(5)).await, Answer::error(SILENT));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_call_of_more_than_a_mebibyte_returns_an_error() {
        let emacs = Emacs::new("/nowhere/emacsclient".into(), Vec::new());
        let call = json!({"arguments": "x".repeat(LARGEST)});
        assert_eq!(emacs.ask(call, Duration::from_secs(5)).await, Answer::error(TOO_LARGE));
    }
}
