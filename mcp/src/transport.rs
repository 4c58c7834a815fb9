//! MCP over stdin and stdout, with one JSON message per line.
//!
//! The SDK's transport does not answer lines with invalid UTF-8 or a lone surrogate, and its server ends
//! the session at a notification before `initialize`. This transport answers every line that has an id
//! and drops early notifications.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdin, Stdout, stdin, stdout};
use tokio::sync::Mutex;

pub struct Stdio {
    input: BufReader<Stdin>,
    output: Arc<Mutex<Stdout>>,
    /// The incomplete current line. It is kept here because `receive` can be cancelled at any await.
    line: Vec<u8>,
    initialized: bool,
}

impl Stdio {
    pub fn new() -> Self {
        let output = Arc::new(Mutex::new(stdout()));
        Stdio { input: BufReader::new(stdin()), output, line: Vec::new(), initialized: false }
    }

    /// Returns whether MESSAGE is allowed now: only requests are before `initialize`.
    fn admits(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let ClientJsonRpcMessage::Request(request) = message {
            self.initialized |= matches!(request.request, ClientRequest::InitializeRequest(_));
            return true;
        }
        self.initialized
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        write(self.output.clone(), serde_json::to_vec(&item))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while self.input.read_until(b'\n', &mut self.line).await.is_ok_and(|length| length > 0) {
            match parse(&std::mem::take(&mut self.line)) {
                Ok(message) if self.admits(&message) => return Some(message),
                Err(Some(answer)) => {
                    tokio::spawn(write(self.output.clone(), serde_json::to_vec(&answer)));
                }
                _ => {}
            }
        }
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.lock().await.flush().await
    }
}

async fn write(output: Arc<Mutex<Stdout>>, line: serde_json::Result<Vec<u8>>) -> io::Result<()> {
    let mut line = line?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// Parses a message. The error is the answer to an invalid one, if it needs an answer.
fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, Option<Value>> {
    let text = replace_lone_surrogates(&String::from_utf8_lossy(line));
    if text.trim().is_empty() {
        return Err(None);
    }
    serde_json::from_str(&text).map_err(|_| {
        // Raw values have no depth limit, so this finds the id of a call that is nested too deeply.
        let message = match serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(&text) {
            Ok(message) => message,
            Err(error) => return Some(refusal(Value::Null, -32700, &format!("Not a message: {error}"))),
        };
        let id = message.get("id").and_then(|id| serde_json::from_str(id.get()).ok());
        match (id, message.contains_key("method")) {
            (Some(id), true) => Some(refusal(id, -32602, "Invalid params")),
            (None, true) => None,
            _ => Some(refusal(Value::Null, -32600, "Invalid request")),
        }
    })
}

fn refusal(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Replaces lone surrogates, which serde_json rejects, by `\uFFFD`.
fn replace_lone_surrogates(json: &str) -> String {
    let mut result = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(place) = rest.find('\\') {
        result.push_str(&rest[..place]);
        rest = &rest[place..];
        let length = match (escaped(rest), rest.get(6..).and_then(escaped)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                result.push_str("\\uFFFD");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // A backslash and the escaped character.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        result.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    result.push_str(rest);
    result
}

/// The code unit of the `\uXXXX` at the beginning of TEXT.
fn escaped(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (given, expected) in [
            (r#""a\ud83d\ude00b""#, r#""a\ud83d\ude00b""#),
            (r#""a\ud83db""#, r#""a\uFFFDb""#),
            (r#""\ude00\ud83d""#, r#""\uFFFD\uFFFD""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\uFFFD\ud83d\ude00""#),
            (r#""\\ud83d \n \u00e4""#, r#""\\ud83d \n \u00e4""#),
            ("\"\\ud8", "\"\\ud8"),
            ("\"é\\", "\"é\\"),
        ] {
            assert_eq!(replace_lone_surrogates(given), expected);
        }
    }

    fn answer(line: &[u8]) -> (Value, Value) {
        let mut answer = parse(line).expect_err("not a message").expect("an answer");
        (answer["id"].take(), answer["error"]["code"].take())
    }

    #[test]
    fn an_invalid_line_gets_an_answer_with_its_id() {
        assert_eq!(answer(b"{"), (Value::Null, json!(-32700)));
        assert_eq!(answer(b"[1]"), (Value::Null, json!(-32700)));
        assert_eq!(answer(br#"{"id":3}"#), (Value::Null, json!(-32600)));
        let deep = format!(r#"{{"id":4,"method":"ping","jsonrpc":"2.0","params":{}"#, "[".repeat(500));
        assert_eq!(answer((deep + &"]".repeat(500) + "}").as_bytes()), (json!(4), json!(-32602)));
        assert_eq!(answer(br#"{"id":"x","method":7,"jsonrpc":"2.0"}"#), (json!("x"), json!(-32602)));
    }

    #[test]
    fn an_invalid_notification_gets_no_answer() {
        assert_eq!(parse(br#"{"method":7,"jsonrpc":"2.0"}"#).err(), Some(None));
        assert_eq!(parse(b"  \n").err(), Some(None));
    }

    #[test]
    fn invalid_utf_8_and_lone_surrogates_are_accepted() {
        for text in [b"\\ud800".as_slice(), b"\xff"] {
            let line =
                [br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":""#, text, br#""}}"#].concat();
            assert!(parse(&line).is_ok());
        }
    }
}
