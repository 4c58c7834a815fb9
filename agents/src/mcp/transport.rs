//! JSON-RPC 2.0 over stdin and stdout, one message a line.
//!
//! Each line that has an id gets an answer. Invalid UTF-8 becomes U+FFFD.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::value::RawValue;
use serde_json::{Value, json};

pub const PARSE_ERROR: i32 = -32700;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;

/// The fields of an object, not parsed: the arguments of a call are passed on as they came.
pub type Fields = BTreeMap<String, Box<RawValue>>;

/// A valid message of the client.
#[derive(Debug)]
pub enum Message {
    Request { id: Value, method: String, params: Fields },
    Notification { method: String },
    Response { id: Value, result: Value },
}

/// Writes a message. If that fails, the client has gone, and the input ends next.
pub fn send(message: &Value) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{message}").and_then(|()| output.flush());
}

/// Parses a message. The error is the answer to an invalid one, if it needs an answer.
pub fn parse(line: &[u8]) -> Result<Message, Option<Value>> {
    let text = String::from_utf8_lossy(line);
    if text.trim().is_empty() {
        return Err(None);
    }
    let fields: Fields = serde_json::from_str(&text)
        .map_err(|error| Some(refusal(Value::Null, PARSE_ERROR, &format!("Not a message: {error}"))))?;
    let is_version_2 = field(&fields, "jsonrpc") == "2.0";
    let id = fields.get("id").and_then(|id| serde_json::from_str::<Value>(id.get()).ok());
    if !fields.contains_key("method") {
        let is_response = fields.contains_key("result") || fields.contains_key("error");
        return match id {
            Some(id) if is_version_2 && is_response => {
                Ok(Message::Response { id, result: field(&fields, "result") })
            }
            _ => Err(Some(refusal(Value::Null, -32600, "Invalid request"))),
        };
    }
    let method = field(&fields, "method").as_str().filter(|_| is_version_2).map(str::to_owned);
    // They may be missing or null.
    let params = fields.get("params").map_or("null", |params| params.get());
    let params = serde_json::from_str(params).map(Option::<Fields>::unwrap_or_default);
    match (id, method, params) {
        (None, Some(method), Ok(_)) => Ok(Message::Notification { method }),
        (Some(id), Some(method), Ok(params)) if id.is_string() || id.is_i64() || id.is_u64() => {
            Ok(Message::Request { id, method, params })
        }
        (id, ..) => Err(id.map(|id| refusal(id, INVALID_PARAMS, "Invalid params"))),
    }
}

/// The value of a field, or null if it is missing or too deeply nested.
pub fn field(fields: &Fields, name: &str) -> Value {
    fields.get(name).and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
}

pub fn success(id: Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub fn refusal(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn invalid_utf_8_and_lone_surrogates_are_passed_on() {
        for text in [b"\\ud800".as_slice(), b"\xff"] {
            let line =
                [br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":""#, text, br#""}}"#].concat();
            assert!(parse(&line).is_ok());
        }
    }
}
