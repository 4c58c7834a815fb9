//! The MCP server of an agent. It has one tool, `todo_write`, and keeps no list.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use percent_encoding::percent_decode_str;
use rmcp::model::*;
use rmcp::service::{Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use todo_write::protocol::{Call, SessionActivity};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{sleep, timeout};

use crate::emacs::{Emacs, milliseconds};
use crate::session::{Agent, CLAUDE, Subagent, claude_folder, subagent};

const NAME: &str = "todo_write";
const INSTRUCTIONS: &str = "The user watches the list of todo_write in Emacs and can edit it. \
    The tool's result tells you of their edits: keep them in your next list.";
/// The definition of the tool; a test compares it with `todo-write-tool-schema`. Because of its `_meta`,
/// Claude Code shows the tool to the model without a search.
const TOOL: &str = include_str!("tool.json");

/// Time limit of a call, including all waiting.
pub const LIMIT: Duration = Duration::from_secs(5);
const ROOTS_LIMIT: Duration = Duration::from_secs(1);

/// Environment variables with the ids of sessions, by client. Other clients ignore them, because an
/// agent started by another one inherits its environment.
const SESSION_VARIABLES: [(&str, &str); 2] =
    [(CLAUDE, "CLAUDE_CODE_SESSION_ID"), ("copilot-cli", "COPILOT_AGENT_SESSION_ID")];

/// Where Claude Code says in a call's metadata which id the call has in the transcript. The others do not.
const CALL_ID: &str = "claudecode/toolUseId";

/// Time between polls of the agent's process, and between attempts to reconnect.
const PAUSE: Duration = Duration::from_millis(500);

pub struct Server {
    emacs: Emacs,
    is_introduced: OnceCell<()>,
    claude: Mutex<Claude>,
    /// Whether a call came since the activity was last told. Then the next poll tells it again, also if it
    /// is the same: Emacs takes the agent of a call to be working, but the turn may be over since.
    has_called: AtomicBool,
}

/// What is known of Claude Code, if that started this program.
#[derive(Default)]
struct Claude {
    folder: Option<PathBuf>,
    agent: Option<Agent>,
    last_activity: Option<SessionActivity>,
    /// The subagents that called and have not returned, with their sessions.
    subagents: Vec<(String, Subagent)>,
}

impl Server {
    pub fn new(emacs: Emacs) -> Self {
        Server {
            emacs,
            is_introduced: OnceCell::new(),
            claude: Mutex::default(),
            has_called: AtomicBool::default(),
        }
    }

    /// Reconnects whenever Emacs comes back, and reports what the agent does.
    pub async fn keep_up(&self) {
        loop {
            sleep(PAUSE).await;
            self.emacs.keep_up().await;
            self.tell_activity().await;
        }
    }

    /// Notifies Emacs that the sessions of this process have ended.
    pub async fn end(&self, limit: Duration) {
        let claude = self.claude.lock().await;
        let is_killed = || claude.agent.as_ref().is_some_and(Agent::is_killed);
        // A killed process closes its files just before it is dead.
        for _ in 0..10 {
            if claude.agent.is_none() || is_killed() {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        self.emacs.bye(is_killed(), limit).await;
    }

    async fn call(&self, context: &RequestContext<RoleServer>, arguments: Value) -> CallToolResult {
        let (start, time) = (Instant::now(), milliseconds(SystemTime::now()));
        self.is_introduced.get_or_init(|| self.introduce(context)).await;
        let client = context.client_info().map(|client| client.name).unwrap_or_default();
        let call = Call {
            time: Some(time),
            id: given(&context.meta, CALL_ID),
            // The store parses the arguments, so nothing in between changes them.
            arguments: to_raw_value(&arguments).ok(),
            ..self.caller(&context.meta, &client).await
        };
        // Of a process, `tell_activity` tells more.
        let served = call.session.clone().filter(|_| call.source.as_deref() != Some("process"));
        let answer = self.emacs.ask(call, LIMIT.saturating_sub(start.elapsed())).await;
        self.has_called.store(true, Ordering::Relaxed);
        if let Some(session) = served {
            let activity = "serving".to_owned();
            self.emacs.remember(SessionActivity { session, activity, ..SessionActivity::default() }).await;
        }
        let content = vec![ContentBlock::text(answer.text)];
        if answer.ok { CallToolResult::success(content) } else { CallToolResult::error(content) }
    }

    /// Tells Emacs which agent this is, and where it works.
    async fn introduce(&self, context: &RequestContext<RoleServer>) {
        let project = project(context).await;
        let client = context.client_info();
        self.emacs.introduce(|hello| {
            hello.client = client.as_ref().map(|client| client.name.clone());
            hello.client_version = client.as_ref().map(|client| client.version.clone());
            hello.project = Some(project);
        });
    }

    /// A call of the session and the subagent that make the one with META.
    async fn caller(&self, meta: &RequestMetaObject, client: &str) -> Call {
        let given = |key: &str| given(meta, key);
        let of = |session: String, source: &str| Call {
            session: Some(session),
            source: Some(source.to_owned()),
            ..Call::default()
        };
        if client == CLAUDE {
            let mut claude = self.claude.lock().await;
            if let Some(SessionActivity { session, .. }) = claude.state() {
                let folder = claude.folder.clone();
                drop(claude);
                let call = given(CALL_ID);
                let subagent = match (folder, call) {
                    (Some(folder), Some(call)) => subagent(&folder, &session, &call).await,
                    _ => None,
                };
                if let Some(subagent) = &subagent {
                    let known = (session.clone(), subagent.clone());
                    let mut claude = self.claude.lock().await;
                    if !claude.subagents.contains(&known) {
                        claude.subagents.push(known);
                    }
                }
                let (subagent, task) =
                    subagent.map_or((None, None), |subagent| (Some(subagent.id), subagent.task));
                return Call { subagent, task, ..of(session, "process") };
            }
        }
        // Codex gives each subagent a thread of its own.
        let turn = meta.get("x-codex-turn-metadata");
        let parent = turn.and_then(|turn| Some(turn.get("parent_thread_id")?.as_str()?.to_owned()));
        if let (Some(parent), Some(thread)) = (parent, given("threadId")) {
            return Call { subagent: Some(thread), ..of(parent, "call") };
        }
        if let Some(session) = ["threadId", "sessionId"].into_iter().find_map(given) {
            return of(session, "call");
        }
        let variable = SESSION_VARIABLES.iter().find(|(name, _)| *name == client);
        let session = variable.and_then(|(_, variable)| std::env::var(variable).ok());
        session.map_or_else(Call::default, |session| of(session, "environment"))
    }

    /// Tells Emacs what the agent and its subagents do, if that changed since the last time.
    async fn tell_activity(&self) {
        let mut claude = self.claude.lock().await;
        if claude.agent.is_none() {
            return;
        }
        if self.has_called.swap(false, Ordering::Relaxed) {
            claude.last_activity = None;
        }
        if let Some(activity) = claude.state()
            && claude.last_activity.as_ref() != Some(&activity)
        {
            claude.last_activity = Some(activity.clone());
            self.emacs.tell(activity.clone()).await;
            self.emacs.remember(activity).await;
        }
        let (finished, working) =
            claude.subagents.drain(..).partition(|(_, subagent): &(String, Subagent)| subagent.is_finished());
        claude.subagents = working;
        for (session, subagent) in finished {
            let (subagent, activity) = (Some(subagent.id), "idle".to_owned());
            self.emacs
                .tell(SessionActivity { session, subagent, activity, ..SessionActivity::default() })
                .await;
        }
    }
}

impl Claude {
    /// What the session of the process above this one does.
    fn state(&mut self) -> Option<SessionActivity> {
        if self.agent.is_none() {
            self.folder = claude_folder();
            self.agent = Agent::find(self.folder.as_ref()?);
        }
        self.agent.as_ref()?.state()
    }
}

/// A text in the metadata of a call.
fn given(meta: &RequestMetaObject, key: &str) -> Option<String> {
    Some(meta.get(key)?.as_str()?.to_owned())
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
