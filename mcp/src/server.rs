//! The MCP server of an agent. It has one tool, `todo_write`, and keeps no list.

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use percent_encoding::percent_decode_str;
use rmcp::model::*;
use rmcp::service::{Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::emacs::{Emacs, milliseconds};

const NAME: &str = "todo_write";
const INSTRUCTIONS: &str = "The user watches the list of todo_write in Emacs and can edit it. \
    The tool's result tells you of their edits: keep them in your next list.";
/// The definition of the tool; a test compares it with `todo-write-tool-schema`. Because of its `_meta`,
/// Claude Code shows the tool to the model without a search.
const TOOL: &str = include_str!("tool.json");

/// Time limit of a call, including all waiting.
pub const LIMIT: Duration = Duration::from_secs(5);
/// Time limit for the client's roots.
const ROOTS_LIMIT: Duration = Duration::from_secs(1);

/// Environment variables with the ids of sessions, by client. Other clients ignore them, because an
/// agent started by another one inherits its environment.
const SESSION_VARIABLES: [(&str, &str); 2] =
    [("claude-code", "CLAUDE_CODE_SESSION_ID"), ("copilot-cli", "COPILOT_AGENT_SESSION_ID")];

/// The server of one process.
pub struct Server {
    emacs: Emacs,
    /// Start time, which distinguishes this process from later ones with the same id.
    started: u64,
    project: OnceCell<String>,
    /// Sessions that made a call and end with this process.
    sessions: Mutex<Vec<Value>>,
}

impl Server {
    /// A server that passes its calls to EMACS.
    pub fn new(emacs: Emacs) -> Self {
        let started = milliseconds(SystemTime::now());
        Server { emacs, started, project: OnceCell::new(), sessions: Mutex::default() }
    }

    /// Notifies Emacs that the sessions of this process have ended.
    pub async fn end(&self, limit: Duration) {
        let sessions = self.sessions.lock().map(|sessions| sessions.clone()).unwrap_or_default();
        if !sessions.is_empty() {
            self.emacs.ask(json!({ "ended": sessions }), limit).await;
        }
    }

    async fn call(&self, context: &RequestContext<RoleServer>, arguments: Value) -> CallToolResult {
        let start = Instant::now();
        let client = context.client_info().map(|client| client.name).unwrap_or_default();
        let session = session(&context.meta, &client);
        let process = std::process::id();
        let mut call =
            json!({ "client": client, "session": session, "process": process, "started": self.started });
        if let Ok(mut sessions) = self.sessions.lock()
            && !sessions.contains(&call)
        {
            sessions.push(call.clone());
        }
        call["project"] = self.project.get_or_init(|| project(context)).await.as_str().into();
        // The store parses the text, so nothing in between changes the values.
        call["arguments"] = arguments.to_string().into();
        let answer = self.emacs.ask(call, LIMIT.saturating_sub(start.elapsed())).await;
        let content = vec![ContentBlock::text(answer.text)];
        if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
    }
}

/// The id of the client's session, from the call (Codex) or the environment.
fn session(meta: &RequestMetaObject, client: &str) -> Option<String> {
    let given = ["threadId", "sessionId"].iter().find_map(|key| Some(meta.get(*key)?.as_str()?.to_owned()));
    given.or_else(|| {
        let (_, variable) = SESSION_VARIABLES.iter().find(|(name, _)| *name == client)?;
        std::env::var(variable).ok()
    })
}

/// The project's folder: the client's first root, or the working directory of this process.
async fn project(context: &RequestContext<RoleServer>) -> String {
    let has_roots = context.client_capabilities().is_some_and(|capabilities| capabilities.roots.is_some());
    let root = if has_roots { root(&context.peer).await } else { None };
    root.or_else(|| Some(std::env::current_dir().ok()?.to_str()?.to_owned())).unwrap_or_default()
}

// The next version of the protocol removes roots; the versions that this server supports have them.
#[expect(deprecated)]
async fn root(peer: &Peer<RoleServer>) -> Option<String> {
    let roots = timeout(ROOTS_LIMIT, peer.list_roots()).await.ok()?.ok()?.roots;
    let path = roots.first()?.uri.strip_prefix("file://")?;
    Some(percent_decode_str(path).decode_utf8().ok()?.into_owned())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("todo-write", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    // Later versions have no `initialize`, so the client's name and roots would be unknown.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool =
            serde_json::from_str(TOOL).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != NAME {
            return Err(unknown_tool(&request.name));
        }
        Ok(self.call(&context, request.arguments.map_or(Value::Null, Value::Object)).await.into())
    }

    // Handles calls whose arguments are not an object: Emacs repairs a bare list and refuses the rest.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "tools/call" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let mut params = request.params.unwrap_or_default();
        if params["name"] != NAME {
            return Err(unknown_tool(params["name"].as_str().unwrap_or_default()));
        }
        let result = self.call(&context, params["arguments"].take()).await;
        Ok(CustomResult::new(json!({ "content": result.content, "isError": result.is_error })))
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("Unknown tool: {name}"), None)
}
