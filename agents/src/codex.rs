//! The Codex CLI's transcripts, called rollouts: `sessions/Y/M/D/rollout-TIME-ID.jsonl`.
//!
//! A session begins with a line `session_meta`. Resuming repeats this line; a fork repeats all
//! lines of its session. Plans are arguments of `update_plan`, which the model calls as a function;
//! those of scripts in code mode are not read. Events mark the beginning and the end of turns.

pub(crate) mod line;
pub(crate) mod subagent;

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::json;

use crate::events::{Events, Goals, Held, PendingCall, PendingCalls, RecentNames, push_recent, result};
use crate::field::{
    LONGEST, LONGEST_OUTPUT, folder, is_true, millis, number, parse, shortened, text, texts, title,
};
use line::{goal, goal_state, is_known, item_name, payload, tokens};
use subagent::{Sent, Subagents};
use todo_write::events::Millis;
use todo_write::events::git;
use todo_write::events::payload::{FileEntry, Refusal, RefusedBy};
use todo_write::events::session::{Context, Goal, GoalState};
use todo_write::events::work::{CallOutcome, Tokens, Usage, is_shell};
use todo_write::list::input::{self, Options};
use todo_write::list::item::Status;
use todo_write::list::raw::Raw;
use todo_write::list::report::REFUSED;
use todo_write::text::{beginning, excerpt};
use todo_write::wire::bounds::ENTRIES;
use todo_write::wire::event::{Agent, Effect, Event, EventKind, PlanResult, Source, lenient};

/// Reported once in a session whose plan cannot be read.
const UNREAD: &str = "A script sets the plan; plans in scripts are not read.";

/// In the output of a call that the user interrupted.
const ABORTED: &str = "aborted by user";

/// The beginnings of messages in the user's name that Codex writes.
const NO_PROMPTS: [&str; 5] = [
    "<subagent_notification>",
    "<environment_context>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    INTERNAL,
];

/// The beginning of what Codex itself tells the model, and what it says when the user takes a goal back.
const INTERNAL: &str = "<codex_internal_context";
const GOAL_CLEARED: &str = "User cleared the goal.";

/// Reads the rollout of a session.
#[derive(Debug, Default)]
pub(crate) struct CodexReader {
    options: Options,
    session: Option<Arc<Source>>,
    /// The calls and outputs read so far.
    seen: RecentNames,
    calls: PendingCalls<CallKind>,
    time: Option<Millis>,
    has_title: bool,
    /// The newest prompts of this turn that came only as an event or, if true, only as an item of the newer
    /// log. Some versions have each prompt as both.
    prompts: VecDeque<(String, bool)>,
    error: Option<String>,
    /// Whether the last call of this turn was denied.
    is_denied: bool,
    /// Whether [`UNREAD`] was recorded.
    is_unread: bool,
    /// Whether the lines are the session's own: a fork repeats its parent's first.
    is_own: bool,
    /// The subagent whose lines they are, and those that were sent out.
    subagent: Option<Sent>,
    held: Held,
    subagents: Subagents,
    model: Option<String>,
    /// The last message. The log has most of them twice.
    message: String,
    /// The name of the response whose tokens are not known yet.
    response: Option<String>,
    total: Tokens,
    /// How many tokens the context can hold.
    window: Option<u64>,
    goals: Goals,
    /// Whether the log had a command of the current script.
    has_items: bool,
    pub(super) events: Events,
}

/// The effect of a call once its output arrives.
#[derive(Debug)]
enum CallKind {
    /// A plan, if the output accepts it.
    Plan(PlanResult),
    /// A list sent to an Emacs.
    EmacsList(PlanResult),
    /// A script that sends a list to an Emacs.
    EmacsScript,
    /// A script that runs commands.
    Commands,
    Command {
        may_commit: bool,
    },
    /// The agent ends its goal in this state.
    Goal(GoalState),
    Other,
}

const LONGEST_ID: usize = 190;

/// The tool that sends out a subagent.
const SPAWN: &str = "spawn_agent";

/// The beginning of the ids of what a script does.
const IN_SCRIPT: &str = "exec-";

impl CodexReader {
    pub(crate) fn new(options: Options) -> CodexReader {
        CodexReader { options: lenient(options), is_own: true, ..CodexReader::default() }
    }

    pub(crate) fn session(&self) -> Option<&Arc<Source>> {
        self.session.as_ref()
    }

    /// Reads a line, without its line feed.
    pub(crate) fn read_line(&mut self, bytes: &[u8]) {
        let mut whole = Vec::new();
        let line = parse(bytes, &mut whole);
        self.events.unreadable += u64::from(!line.as_ref().is_some_and(is_known));
        if let Some(line) = &line {
            self.value(line);
        }
    }

    fn value(&mut self, line: &Raw<'_>) {
        if let Some(time) = millis(text(line, "timestamp"))
            && self.time.replace(time).is_none()
        {
            self.events.date(time);
        }
        let payload = payload(line);
        let own = self.session.as_ref().map(|own| own.subagent.as_ref().unwrap_or(&own.session));
        self.is_own |= own.is_some_and(|own| text(payload, "turn_id") >= own.as_str());
        let kind = text(line, "type");
        // The others are of the agent that sent out the subagent which is read.
        let is_read =
            self.subagent.is_none() || self.is_own || matches!(kind, "session_meta" | "turn_context");
        if !is_read {
            return;
        }
        match kind {
            "session_meta" => self.meta(payload),
            "event_msg" => self.event(text(payload, "type"), line),
            "response_item" => self.item(text(payload, "type"), line),
            "turn_context" => {
                self.model = Some(text(payload, "model"))
                    .filter(|model| !model.is_empty())
                    .map(|model| beginning(model, 100));
            }
            "token_usage_record" => {
                let of = |key| tokens(payload.get(key)?);
                if let (Some(usage), Some(total)) = (of("usage"), of("thread_token_usage")) {
                    self.total = total;
                    self.tokens(line, usage, usage);
                }
            }
            _ => {}
        }
    }

    /// The first such line names the session. Later ones repeat it or name a fork's origin.
    fn meta(&mut self, payload: &Raw<'_>) {
        let id = beginning(text(payload, "id"), LONGEST_ID);
        if self.session.is_none() && !id.is_empty() {
            let main = || Arc::new(Source::main(Agent::Codex, &id, folder(payload, "cwd")));
            self.session = Some(self.subagent.as_ref().map_or_else(main, |subagent| subagent.source.clone()));
            // A fork names the session whose lines it repeats.
            self.is_own = text(payload, "forked_from_id").is_empty();
        }
    }

    fn event(&mut self, kind: &str, line: &Raw<'_>) {
        let payload = payload(line);
        let said = |key| texts(payload.get(key), LONGEST);
        match kind {
            "task_started" => {
                (self.error, self.is_denied) = (None, false);
                self.window = number(payload, "model_context_window").or(self.window);
                self.goals.forget_end();
                self.prompts.clear();
                self.emit(line, EventKind::TurnBegun);
            }
            "task_complete" => {
                let error = self.error.take().filter(|_| text(payload, "last_agent_message").is_empty());
                let is_denied = std::mem::take(&mut self.is_denied) && error.is_none();
                if error.is_some() || is_denied || !self.goals.hold_end() {
                    let end = EventKind::turn_ended(error);
                    self.emit(line, if is_denied { EventKind::Denied } else { end });
                }
            }
            "turn_aborted" => {
                let by_user = matches!(text(payload, "reason"), "" | "interrupted");
                let end = match (std::mem::take(&mut self.is_denied), by_user) {
                    (true, _) => EventKind::Denied,
                    (false, true) => EventKind::Interrupted,
                    (false, false) => EventKind::turn_ended(None),
                };
                self.emit(line, end);
            }
            "thread_goal_updated" => {
                if let Some(goal) = payload.get("goal").and_then(goal) {
                    self.set_goal(line, goal);
                }
            }
            "error" => self.error = Some(excerpt(&said("message"), 200)).filter(|error| !error.is_empty()),
            "user_message" => self.prompt(line, &said("message"), false),
            "thread_name_updated" if !text(payload, "thread_name").is_empty() => {
                self.has_title = true;
                self.emit(line, EventKind::Title(excerpt(text(payload, "thread_name"), 100)));
            }
            "item_completed" => self.completed(line),
            "agent_message" => self.message(line, &said("message")),
            "token_count" => {
                let info = payload.get("info").unwrap_or(&Raw::Null);
                self.window = number(info, "model_context_window").or(self.window);
                let of = |key| tokens(info.get(key)?);
                if let Some(total) = of("total_token_usage").filter(|total| *total != self.total) {
                    let before = std::mem::replace(&mut self.total, total);
                    let tokens = total.combine(before, u64::saturating_sub);
                    self.tokens(line, tokens, of("last_token_usage").unwrap_or_default());
                }
            }
            "patch_apply_end" if is_true(payload, "success") => {
                let mut effect = Effect { outcome: Some(CallOutcome::Ok), ..Effect::default() };
                add_changes(payload.get("changes"), &mut effect);
                self.done(line, text(payload, "call_id"), "apply_patch", String::new(), effect);
            }
            _ => {}
        }
    }

    fn prompt(&mut self, line: &Raw<'_>, prompt: &str, is_item: bool) {
        let prompt = prompt.trim();
        // What a subagent is told, another agent says.
        let is_of_user = self.subagent.is_none() && !NO_PROMPTS.iter().any(|start| prompt.starts_with(start));
        if prompt.is_empty() || !is_of_user {
            return;
        }
        let is_same = |(told, was_item): &(String, bool)| *told == prompt && *was_item != is_item;
        if let Some(place) = self.prompts.iter().position(is_same) {
            self.prompts.remove(place);
            return;
        }
        push_recent(&mut self.prompts, (prompt.to_owned(), is_item));
        if let Some(title) = title(prompt).filter(|_| !std::mem::replace(&mut self.has_title, true)) {
            self.emit(line, EventKind::Title(title));
        }
        // A fork repeats the prompts of its parent, whose turns they are.
        if self.is_own {
            self.emit(line, EventKind::Prompt(prompt.to_owned()));
        }
    }

    /// Reads an item of the newer log.
    fn completed(&mut self, line: &Raw<'_>) {
        let Some(item) = payload(line).get("item") else { return };
        self.note_sent(item);
        let (id, status) = (text(item, "id"), text(item, "status"));
        let exit_code = item.get("exit_code").and_then(|code| code.to_json().as_i64());
        let outcome = match (status, exit_code) {
            ("declined", _) => CallOutcome::Refused,
            (_, Some(0)) | ("completed", None) => CallOutcome::Ok,
            (_, Some(_)) | ("failed", None) => CallOutcome::Failed,
            _ => CallOutcome::Unknown,
        };
        let mut effect = Effect { outcome: Some(outcome), exit_code, ..Effect::default() };
        match text(item, "type") {
            "UserMessage" => self.prompt(line, &texts(item.get("content"), LONGEST), true),
            "CommandExecution" => {
                self.has_items = true;
                let output = texts(item.get("aggregated_output"), LONGEST_OUTPUT);
                self.done(line, id, "exec_command", output, effect);
            }
            "FileChange" if matches!(status, "completed" | "declined") => {
                if status == "completed" {
                    add_changes(item.get("changes"), &mut effect);
                }
                self.done(line, id, "apply_patch", String::new(), effect);
            }
            _ => {}
        }
    }

    /// Records a result that came as an event. The output of the same call is then ignored.
    fn done(&mut self, line: &Raw<'_>, id: &str, name: &str, content: String, effect: Effect) {
        if !self.is_new("output", id) {
            return;
        }
        let call = PendingCall::end(&mut self.calls, id);
        self.is_denied = effect.outcome == Some(CallOutcome::Refused);
        let mut effect = if self.is_own { effect } else { Effect::default() };
        // A shell or a script may run the tool that changes files.
        let is_command = call.as_ref().map_or_else(|| id.starts_with(IN_SCRIPT), |call| is_shell(&call.name));
        effect.files.iter_mut().for_each(|file| file.by_command = is_command);
        let command = payload(line).get("item").and_then(|item| item.get("command"));
        if effect.outcome == Some(CallOutcome::Ok) && command.is_some_and(may_commit) {
            effect.git = git::commits(&content);
        }
        if effect.outcome == Some(CallOutcome::Refused) {
            effect.refusal = Some(Refusal { by: RefusedBy::User, reason: None });
        }
        let is_error = effect.outcome == Some(CallOutcome::Failed);
        let mut event = result(call.as_ref(), id, content, is_error, self.time, effect);
        if let EventKind::Result { name: known, excluded, .. } = &mut event {
            if known.is_empty() {
                name.clone_into(known);
            }
            // The commands of a script have no calls of their own.
            let named = || self.events.policy.hidden(self.folder(), command?)?.name;
            *excluded = excluded.take().or_else(named);
        }
        self.emit(line, event);
    }

    fn message(&mut self, line: &Raw<'_>, text: &str) {
        let text = text.trim();
        // The log has most messages twice.
        if !text.is_empty() && self.message != text {
            text.clone_into(&mut self.message);
            self.emit(line, EventKind::Message(text.to_owned()));
        }
    }

    /// Notes that a response begins: its tokens, which come later, belong to this moment.
    fn begin_response(&mut self, line: &Raw<'_>) {
        if self.response.is_none() && self.is_own {
            self.response = Some(excerpt(&format!("{} {}", text(line, "timestamp"), item_name(line)), 250));
            self.emit_usage(line, Usage::default(), None);
        }
    }

    /// Records the tokens of a response, `last` those of the last one alone.
    fn tokens(&mut self, line: &Raw<'_>, tokens: Tokens, last: Tokens) {
        self.begin_response(line);
        let size = last.sum();
        let context = Some(Context { tokens: size, limit: self.window }).filter(|_| size > 0);
        self.emit_usage(line, Usage { tokens, model: self.model.clone(), at_least: false }, context);
        self.response = None;
    }

    fn set_goal(&mut self, line: &Raw<'_>, goal: Goal) {
        // A fork repeats what its parent was given.
        if !self.is_own {
            return;
        }
        self.goals.set(goal, EventKind::turn_ended(None)).for_each(|kind| self.emit(line, kind));
    }

    fn emit_usage(&mut self, line: &Raw<'_>, usage: Usage, context: Option<Context>) {
        if let (true, Some(response)) = (self.is_own, self.response.clone()) {
            let kind = EventKind::Usage { response, usage, context };
            self.emit(line, kind);
        }
    }

    fn item(&mut self, kind: &str, line: &Raw<'_>) {
        let payload = payload(line);
        let role = if kind == "message" { text(payload, "role") } else { "" };
        let is_said = role == "assistant";
        if is_said || matches!(kind, "reasoning" | "function_call" | "custom_tool_call" | "local_shell_call")
        {
            self.begin_response(line);
        }
        let said = texts(payload.get("content"), LONGEST);
        if is_said {
            self.message(line, &said);
        }
        if role == "user"
            && said.starts_with(INTERNAL)
            && said.contains(GOAL_CLEARED)
            && let Some(goal) = self.goals.with_state(GoalState::Cleared)
        {
            self.set_goal(line, goal);
        }
        let (id, name) = (text(payload, "call_id"), text(payload, "name"));
        match kind {
            "reasoning" => {
                let thoughts = texts(payload.get("summary"), LONGEST);
                if !thoughts.trim().is_empty() {
                    self.emit(line, EventKind::Thoughts(thoughts.trim().to_owned()));
                }
            }
            _ if id.is_empty() => {}
            "function_call" | "custom_tool_call" if !name.is_empty() && self.is_new("call", id) => {
                self.call(line, id, name);
            }
            "function_call_output" | "custom_tool_call_output" if self.is_new("output", id) => {
                self.output(line, id);
            }
            _ => {}
        }
    }

    fn is_new(&mut self, kind: &str, id: &str) -> bool {
        let session = self.session.as_ref().map_or("", |session| session.session.as_str());
        self.seen.insert(session, kind, id)
    }

    fn call(&mut self, line: &Raw<'_>, id: &str, name: &str) {
        let payload = payload(line);
        let (arguments, script) = (text(payload, "arguments"), text(payload, "input"));
        let is_emacs = name.ends_with("todo_write")
            && [name, text(payload, "namespace")].iter().any(|server| server.starts_with("mcp__"));
        let parsed: Raw<'_> = serde_json::from_str(arguments).unwrap_or(Raw::Null);
        let effect = match name {
            "update_plan" => plan(&parsed, &self.options).map(CallKind::Plan),
            "exec" if script.contains("todo_write(") => Some(CallKind::EmacsScript),
            "update_goal" => {
                let state = parsed.get("status").and_then(Raw::as_str).and_then(goal_state);
                state.map(|(state, _)| CallKind::Goal(state))
            }
            _ if is_emacs => Some(CallKind::EmacsList(input::read(&parsed, &self.options))),
            _ => None,
        };
        if name == SPAWN {
            self.note_spawn(id, &parsed);
        }
        if name == "exec" && script.contains("update_plan(") && !std::mem::replace(&mut self.is_unread, true)
        {
            self.emit(line, EventKind::Unread(UNREAD.into()));
        }
        let words = Raw::Text(if script.is_empty() { arguments } else { script }.into());
        let (whole, input) = match &parsed {
            Raw::Null => (&words, json!({ "input": shortened(&words) })),
            _ => (&parsed, shortened(&parsed)),
        };
        let is_list = matches!(&effect, Some(CallKind::Plan(_) | CallKind::EmacsList(_)));
        let input = (!is_list).then(|| input.to_string());
        let hidden = self.events.policy.hidden(self.folder(), whole).filter(|_| !is_list);
        let effect = effect.unwrap_or_else(|| match name {
            "exec" if script.contains("exec_command(") => CallKind::Commands,
            _ if is_shell(name) => {
                let command = ["cmd", "command"].iter().find_map(|key| parsed.get(key));
                CallKind::Command { may_commit: command.is_some_and(may_commit) }
            }
            _ => CallKind::Other,
        });
        self.has_items = false;
        let event = PendingCall::begin(&mut self.calls, (id, name), (input, hidden), self.time, effect);
        self.emit(line, event);
    }

    fn folder(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.folder)
    }

    fn output(&mut self, line: &Raw<'_>, id: &str) {
        let content = texts(payload(line).get("output"), LONGEST_OUTPUT);
        let call = PendingCall::end(&mut self.calls, id);
        if call.as_ref().is_some_and(|call| call.name == SPAWN) {
            self.note_output(id, &content);
        }
        let is_plan = call.as_ref().is_some_and(|call| call.name == "update_plan");
        let is_error = is_plan && content != "Plan updated";
        let effect = call.as_ref().map(|call| effect_of(call, &content, is_error, self.has_items));
        let mut effect = effect.unwrap_or_default();
        // The log does not tell a denial in the terminal from an interruption: both abort the call.
        self.is_denied = effect.outcome == Some(CallOutcome::Refused) && !content.contains(ABORTED);
        if let (Some(CallOutcome::Ok), Some(CallKind::Command { may_commit: true })) =
            (effect.outcome, call.as_ref().map(|call| &call.effect))
        {
            effect.git = git::commits(&content);
        }
        if !self.is_own {
            effect = Effect::default();
        }
        let event = result(call.as_ref(), id, content.clone(), is_error, self.time, effect);
        let (called, id) = call.as_ref().map(|call| (call.time, call.id.clone())).unwrap_or_default();
        let list = match call.map(|call| call.effect) {
            Some(CallKind::Plan(plan)) if !is_error => Some(EventKind::List(plan)),
            // A refusal is a text.
            Some(CallKind::Goal(state)) if content.starts_with('{') => {
                self.goals.with_state(state).into_iter().for_each(|goal| self.set_goal(line, goal));
                None
            }
            Some(CallKind::EmacsList(plan)) => {
                let list = Some(plan).filter(|_| !content.contains(REFUSED));
                Some(EventKind::EmacsCall { id, called, list })
            }
            // Its list, which Emacs has if it took the call, stands at this line.
            Some(CallKind::EmacsScript) => Some(EventKind::EmacsCall { id, called, list: None }),
            _ => None,
        };
        if let Some(list) = list {
            self.emit(line, list);
        }
        self.emit(line, event);
    }

    fn emit(&mut self, line: &Raw<'_>, kind: EventKind) {
        let Some(source) = self.session.clone() else { return };
        let name = Some(item_name(line)).filter(|name| !name.is_empty());
        let uuid = beginning(name.unwrap_or(text(line, "timestamp")), LONGEST_ID);
        self.pass(Event { source, uuid, time: self.time, place: None, kind });
    }
}

/// Adds the changed files of `{PATH: CHANGE}` to the effect of a call. A move deletes one file and creates another.
fn add_changes(changes: Option<&Raw<'_>>, effect: &mut Effect) {
    let Some(Raw::Object(changes)) = changes else { return };
    effect.more_files = changes.len() > ENTRIES;
    let changes = changes.iter().filter(|(_, change)| matches!(change, Raw::Object(_)));
    for (path, change) in changes.take(ENTRIES) {
        let [kind, content, diff] = ["type", "content", "unified_diff"].map(|key| text(change, key));
        let target = change.get("move_path").and_then(Raw::as_str);
        effect.files.push(match kind {
            "add" => FileEntry::between(path, None, Some(content)),
            "delete" => FileEntry::between(path, Some(content), None),
            _ => {
                let file = FileEntry::with_hunks(target.unwrap_or(path), diff.to_owned());
                FileEntry { created: target.is_some(), ..file }
            }
        });
        if target.is_some() {
            let path = path.to_string();
            effect.files.push(FileEntry { path, deleted: true, ..FileEntry::default() });
        }
    }
}

/// Whether a command may make commits. It may be a list of words: a shell, its options and a script.
fn may_commit(command: &Raw<'_>) -> bool {
    match command {
        Raw::Text(text) => git::may_commit(text),
        Raw::List(words) => {
            let texts: Vec<&str> = words.iter().filter_map(Raw::as_str).collect();
            git::may_commit(&texts.join(" "))
        }
        _ => false,
    }
}

/// What a call did, by its output.
fn effect_of(call: &PendingCall<CallKind>, content: &str, is_error: bool, has_items: bool) -> Effect {
    let head = content.split("Output:").next().unwrap_or_default();
    let is_shell = is_shell(&call.name);
    let code = ["Process exited with code ", "Exit code: "]
        .iter()
        .find_map(|mark| number_after(head, mark))
        .or_else(|| number_after(content, "\"exit_code\":").filter(|_| content.starts_with('{')));
    let is_by_policy = content.starts_with("approval policy is ");
    let is_refused =
        is_by_policy || [ABORTED, "rejected by user", "Rejected("].iter().any(|text| content.contains(text));
    let outcome = match code {
        Some(0) => CallOutcome::Ok,
        Some(_) => CallOutcome::Failed,
        None if head.contains("Process running with session ID") => CallOutcome::Background,
        None if is_refused => CallOutcome::Refused,
        None if is_shell => CallOutcome::Unknown,
        None if is_error => CallOutcome::Failed,
        None => CallOutcome::Ok,
    };
    let is_script = matches!(call.effect, CallKind::Commands);
    let outcome = if is_script { CallOutcome::Unknown } else { outcome };
    let by_rule = is_by_policy || content.contains("by user approval settings");
    let by = if by_rule { RefusedBy::Rule } else { RefusedBy::User };
    let is_denied = outcome == CallOutcome::Refused && !content.contains(ABORTED);
    Effect {
        outcome: Some(outcome),
        exit_code: code.filter(|_| is_shell),
        // The log of newer versions has an item for each command of a script.
        is_command: (is_script && !has_items).then_some(true),
        refusal: is_denied.then_some(Refusal { by, reason: None }),
        ..Effect::default()
    }
}

fn number_after(text: &str, mark: &str) -> Option<i64> {
    let rest = text.split_once(mark)?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Reads the arguments of `update_plan`; `None` if Codex refuses them.
fn plan(arguments: &Raw<'_>, options: &Options) -> Option<PlanResult> {
    let Some(Raw::List(steps)) = arguments.get("plan") else { return None };
    let is_valid = |step: &Raw<'_>| step.get("status")?.as_str().and_then(Status::parse);
    steps.iter().all(|step| is_valid(step).is_some()).then(|| input::read(arguments, options))
}
