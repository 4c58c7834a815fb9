//! The MCP server of an agent. It has one tool, `todo_write`, and keeps no list.
//!
//! One thread reads the client's lines and answers what needs no Emacs. Another one, in `calls`, has the
//! connection to Emacs and answers calls in their order, so a slow Emacs delays nothing else.

use std::io;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::calls::{Calls, Client, ToolCall, result};
use super::emacs::{Emacs, no_time};
use super::transport::{
    Fields, INVALID_PARAMS, METHOD_NOT_FOUND, Message, PARSE_ERROR, field, parse, refusal, send, success,
};
use crate::signal::on_signal;
use todo_write::wire::TOOL;
use todo_write::wire::bounds::LINE;
use todo_write_mcp::lines::{Line, Lines};

const NAME: &str = "todo_write";
const INSTRUCTIONS: &str = "The user watches the list of todo_write in Emacs and can edit it. \
    The tool's result tells you of their edits: keep them in your next list.";

/// The supported versions of MCP, the latest first. Later ones have no `initialize`, so the client's name
/// and roots would be unknown.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The id of the request for the client's roots, the only request of this program.
const ROOTS: &str = "roots";
/// Maximum number of calls that wait.
const MOST_CALLS: usize = 16;

/// Time limit of the end, in which Emacs hears of it.
const END_LIMIT: Duration = Duration::from_millis(1600);

/// Serves the client on stdin and stdout until it or the user ends the program.
pub fn run(emacs: Emacs) {
    let (calls, queue) = sync_channel(MOST_CALLS);
    let (end, ended) = channel();
    let (running, stopped) = channel::<()>();
    let (roots, told) = channel();
    let answerer = Calls::new(emacs, told);
    thread::spawn(move || {
        answerer.run(&queue);
        drop(running);
    });
    let (signalled, mut server) = (end.clone(), Server { client: None, calls: calls.clone(), roots });
    on_signal(move || _ = signalled.send(()));
    thread::spawn(move || {
        let mut lines = Lines::new(io::stdin(), LINE);
        while let Ok(Some(line)) = lines.next_line() {
            match line {
                Line::Whole(line) => server.take(line).iter().for_each(send),
                Line::TooLong => send(&refusal(Value::Null, PARSE_ERROR, "The line is too long")),
            }
        }
        end.send(())
    });
    let _ = ended.recv();
    // Behind so many calls it would come too late.
    let _ = calls.try_send(None);
    let _ = stopped.recv_timeout(END_LIMIT);
}

/// What the client said so far, and where to pass on the rest.
struct Server {
    client: Option<Client>,
    calls: SyncSender<Option<ToolCall>>,
    roots: Sender<Option<String>>,
}

impl Server {
    /// Takes a line of the client; returns what to send to it now, if anything.
    fn take(&mut self, line: &[u8]) -> Option<Value> {
        match parse(line) {
            Ok(Message::Request { id, method, params }) => return self.request(id, &method, params),
            // A call cannot be cancelled, since Emacs may have the list; MCP lets it be answered all the same.
            Ok(Message::Notification { method }) if method == "notifications/initialized" => {
                let roots = || json!({"jsonrpc": "2.0", "id": ROOTS, "method": "roots/list"});
                return self.client.as_ref().filter(|client| client.has_roots).map(|_| roots());
            }
            Ok(Message::Response { id, result }) if id == ROOTS => {
                // At the end, nothing takes it.
                let _ = self.roots.send(result["roots"][0]["uri"].as_str().map(str::to_owned));
            }
            Ok(_) => {}
            Err(answer) => return answer,
        }
        None
    }

    fn request(&mut self, id: Value, method: &str, params: Fields) -> Option<Value> {
        let result = match method {
            "initialize" => self.initialize(&params),
            "ping" => Some(json!({})),
            "tools/list" => serde_json::from_str::<Value>(TOOL).ok().map(|tool| json!({"tools": [tool]})),
            "tools/call" => return self.call(id, params),
            _ => return Some(refusal(id, METHOD_NOT_FOUND, &format!("Unknown method: {method}"))),
        };
        Some(match result {
            Some(result) => success(id, result),
            None => refusal(id, INVALID_PARAMS, "Invalid params"),
        })
    }

    fn initialize(&mut self, params: &Fields) -> Option<Value> {
        let [asked, client, capabilities] =
            ["protocolVersion", "clientInfo", "capabilities"].map(|name| field(params, name));
        let asked = asked.as_str()?;
        self.client = Some(Client {
            name: client["name"].as_str()?.to_owned(),
            has_roots: !capabilities["roots"].is_null(),
        });
        Some(json!({
            "protocolVersion": VERSIONS.iter().find(|version| **version == asked).unwrap_or(&VERSIONS[0]),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "todo-write", "version": env!("CARGO_PKG_VERSION")},
            "instructions": INSTRUCTIONS,
        }))
    }

    fn call(&mut self, id: Value, mut params: Fields) -> Option<Value> {
        let name = field(&params, "name");
        if name != NAME {
            let name = name.as_str().unwrap_or_default();
            return Some(refusal(id, INVALID_PARAMS, &format!("Unknown tool: {name}")));
        }
        let Some(client) = self.client.clone() else {
            return Some(refusal(id, INVALID_PARAMS, "initialize comes first"));
        };
        let call = ToolCall {
            client,
            arrival: Instant::now(),
            time: SystemTime::now(),
            meta: field(&params, "_meta"),
            // Also what is no object: Emacs repairs a bare list and refuses the rest.
            arguments: params.remove("arguments").or_else(|| to_raw_value(&Value::Null).ok()),
            id: id.clone(),
        };
        self.calls.try_send(Some(call)).err().map(|_| success(id, result(&no_time())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;

    fn request(id: u32, method: &str, params: &str) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into_bytes()
    }

    fn initialize(version: &str) -> Vec<u8> {
        let client = json!({"name": "bare", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {"roots": {}}, "clientInfo": client});
        request(0, "initialize", &params.to_string())
    }

    /// A server, and the calls that it passes on.
    type Served = (Server, Receiver<Option<ToolCall>>);

    fn early() -> Served {
        let (calls, queue) = sync_channel(MOST_CALLS);
        (Server { client: None, calls, roots: channel().0 }, queue)
    }

    fn initialized() -> Served {
        let mut served = early();
        assert!(served.0.take(&initialize(VERSIONS[0])).is_some());
        served
    }

    fn call(id: u32) -> Vec<u8> {
        request(id, "tools/call", r#"{"name":"todo_write"}"#)
    }

    #[test]
    fn requests_are_answered_by_their_method() {
        let mut server = initialized().0;
        let mut ask = |method| server.take(&request(1, method, "{}")).unwrap();
        assert_eq!(ask("ping"), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        let tool = &ask("tools/list")["result"]["tools"][0];
        assert_eq!((&tool["name"], &tool["_meta"]["anthropic/alwaysLoad"]), (&json!(NAME), &json!(true)));
        for method in ["server/discover", "resources/list", "no/such"] {
            assert_eq!(ask(method)["error"]["code"], METHOD_NOT_FOUND);
        }
    }

    #[test]
    fn a_client_gets_the_version_that_it_asks_for_if_that_is_known() {
        for (asked, given) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-06-18", "2025-06-18"),
            ("1999-01-01", VERSIONS[0]),
            ("2026-07-28", VERSIONS[0]),
        ] {
            let answer = early().0.take(&initialize(asked)).unwrap();
            assert_eq!(answer["result"]["protocolVersion"], given);
        }
    }

    #[test]
    fn notifications_are_not_answered_also_before_a_session() {
        let cancelled = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let early_one = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let (mut early, mut server) = (early().0, initialized().0);
        assert_eq!(
            [early.take(early_one), early.take(cancelled), server.take(cancelled)],
            [None, None, None]
        );
    }

    #[test]
    fn requests_whose_parameters_cannot_be_meant_are_refused() {
        let (mut early, mut server) = (early().0, initialized().0);
        for answer in [
            early.take(&call(1)),
            early.take(&request(1, "initialize", r#"{"protocolVersion":"2025-11-25"}"#)),
            early.take(&request(1, "initialize", r#"{"protocolVersion":7}"#)),
            server.take(&request(1, "tools/call", r#"{"name":"other"}"#)),
            server.take(&request(1, "tools/call", "{}")),
            server.take(&request(1, "tools/call", "[]")),
        ] {
            assert_eq!(answer.unwrap()["error"]["code"], INVALID_PARAMS);
        }
    }

    #[test]
    fn a_call_has_its_arguments_as_they_came() {
        for (given, expected) in [
            (r#","arguments":{ "a":1.50,"a":1e400 }"#, r#"{ "a":1.50,"a":1e400 }"#),
            (r#","arguments":[7]"#, "[7]"),
            ("", "null"),
        ] {
            let line = request(1, "tools/call", &format!(r#"{{"name":"todo_write"{given}}}"#));
            let (mut server, queue) = initialized();
            assert_eq!(server.take(&line), None);
            let call = queue.try_recv().unwrap().unwrap();
            assert_eq!((call.arguments.unwrap().get(), call.client.name.as_str()), (expected, "bare"));
        }
    }

    #[test]
    fn no_more_than_a_few_calls_wait() {
        let (mut server, queue) = initialized();
        for id in 0..MOST_CALLS {
            assert_eq!(server.take(&call(id as u32)), None);
        }
        assert_eq!(server.take(&call(99)).unwrap()["result"]["isError"], true);
        drop(queue.try_recv());
        assert_eq!(server.take(&call(99)), None);
    }

    #[test]
    fn the_first_root_is_taken_from_the_answer_to_its_request() {
        let roots = json!([{"uri": "file:///a"}, {"uri": "file:///b"}]);
        for (id, roots, expected) in
            [(ROOTS, &roots, Some(Some("file:///a"))), (ROOTS, &json!([]), Some(None)), ("x", &roots, None)]
        {
            let (sender, told) = channel();
            let mut server = Server { roots: sender, ..initialized().0 };
            let asked = server.take(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();
            assert_eq!((&asked["method"], &asked["id"]), (&json!("roots/list"), &json!(ROOTS)));
            let line = json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}});
            assert_eq!(server.take(line.to_string().as_bytes()), None);
            assert_eq!(told.try_recv().ok().as_ref().map(Option::as_deref), expected);
        }
    }
}
