//! Calls of Claude Code's tools, and what their results change.

use super::edits::FileEdit;
use super::outcomes::effect;
use super::tasks::{TaskResult, TaskUpdate};
use super::{ClaudeReader, Origin};
use crate::events::{PendingCall, push_recent, result};
use crate::field::{shortened, text};
use todo_write::events::git;
use todo_write::events::work::is_shell;
use todo_write::list::input;
use todo_write::list::raw::Raw;
use todo_write::text::excerpt;
use todo_write::wire::event::{Effect, EventKind, PlanResult};
use todo_write::wire::socket::NO_EMACS;

#[derive(Debug)]
pub(super) struct ToolCall {
    /// Whether a fork copied it. Only the line of a call says that, not the line of its result.
    is_copied: bool,
    tool: Tool,
}

/// The tools whose calls matter, with their arguments.
#[derive(Debug)]
enum Tool {
    List(PlanResult),
    /// A list sent to an Emacs.
    EmacsList(PlanResult),
    Create(TaskUpdate),
    Update(TaskUpdate),
    ReadTasks,
    Subagent,
    Edit(FileEdit),
    Shell {
        may_commit: bool,
    },
    Other,
}

impl ClaudeReader {
    pub(super) fn call(&mut self, origin: &Origin<'_>, (id, name): (&str, &str), input: &Raw<'_>) {
        self.is_denied &= origin.source.subagent.is_some();
        let list = || input::read(input, &self.options);
        let tool = match name {
            "TodoWrite" => Tool::List(list()),
            "TaskCreate" | "TaskUpdate" | "TaskList" if origin.is_copied => Tool::Other,
            "TaskCreate" => Tool::Create(TaskUpdate::read(input)),
            "TaskUpdate" => Tool::Update(TaskUpdate::read(input)),
            "TaskList" => Tool::ReadTasks,
            "Task" | "Agent" => {
                self.sources.start(&origin.source, id, input);
                Tool::Subagent
            }
            _ if name.starts_with("mcp__") && name.ends_with("__todo_write") => Tool::EmacsList(list()),
            _ if is_shell(name) => Tool::Shell { may_commit: git::may_commit(text(input, "command")) },
            _ => FileEdit::read(name, input).map_or(Tool::Other, Tool::Edit),
        };
        let is_list = matches!(tool, Tool::List(_) | Tool::EmacsList(_));
        let shown = (!is_list).then(|| shortened(input).to_string());
        let hidden = self.events.policy.hidden(&origin.source.folder, input).filter(|_| !is_list);
        let call = ToolCall { is_copied: origin.is_copied, tool };
        let event = PendingCall::begin(&mut self.calls, (id, name), (shown, hidden), origin.time, call);
        self.emit(origin, event);
    }

    /// Takes the result of a call. `fields` are what Claude Code itself keeps of it: null if there is nothing, or a text
    /// or an array by some tools.
    pub(super) fn result(
        &mut self,
        origin: &Origin<'_>,
        id: &str,
        content: String,
        is_error: bool,
        fields: &Raw<'_>,
    ) {
        if !self.seen.insert(&origin.source.session, "result", id) {
            return;
        }
        let call = PendingCall::end(&mut self.calls, id);
        let fields = call.as_ref().map_or(&Raw::Null, |_| fields);
        let details = TaskResult { text: &content, fields, time: origin.time };
        let is_error = is_error || call.is_some() && details.is_refusal();
        let may_commit = match call.as_ref().map(|call| &call.effect.tool) {
            Some(Tool::Shell { may_commit }) => Some(*may_commit),
            _ => None,
        };
        let mut effect = effect(&content, fields, is_error, origin, may_commit);
        let counts = !call.as_ref().is_some_and(|call| call.effect.is_copied);
        let is_own = counts && origin.source.subagent.is_none();
        let command = text(fields, "backgroundTaskId");
        if !command.is_empty() && is_own {
            push_recent(&mut self.commands, excerpt(command, 100));
        }
        if !counts {
            effect = Effect::default();
        }
        let agent = text(fields, "agentId");
        if !agent.is_empty() {
            self.sources.set_call(agent, id);
            self.emit_sums(origin, agent, id, fields);
        }
        let mut event = result(call.as_ref(), id, content.clone(), is_error, origin.time, effect);
        let (called, call_id) = call.as_ref().map(|call| (call.time, call.id.clone())).unwrap_or_default();
        match call.map(|call| call.effect.tool) {
            Some(Tool::Edit(edit)) if !is_error && counts => {
                if let EventKind::Result { effect, .. } = &mut event {
                    effect.files.push(edit.result(fields, &content));
                }
            }
            // This result only says that a subagent runs in the background.
            Some(Tool::Subagent) if is_error || !content.starts_with("Async agent launched") => {
                self.end_subagent(id, origin.time);
            }
            Some(Tool::EmacsList(list)) => {
                // Without an Emacs, the list is the agent's plan all the same.
                let counts = !is_error || content.trim_end().ends_with(NO_EMACS);
                if counts {
                    self.sources.use_own_tasks(&origin.source, false);
                }
                let list = counts.then_some(list);
                self.emit(origin, EventKind::EmacsCall { id: call_id, called, list });
            }
            Some(tool) if !is_error || details.is_not_found() => self.apply(origin, tool, details),
            _ => {}
        }
        match &event {
            EventKind::Result { effect, name, .. } if !effect.files.is_empty() || is_shell(name) => {
                self.emit_work(origin, event);
            }
            _ => self.emit(origin, event),
        }
    }

    fn apply(&mut self, origin: &Origin<'_>, tool: Tool, result: TaskResult<'_>) {
        if let Tool::List(list) = tool {
            // A hook may have changed the list.
            let list = match result.fields.get("newTodos") {
                Some(todos @ Raw::List(_)) => input::read(todos, &self.options),
                _ => list,
            };
            return self.emit(origin, EventKind::List(list));
        }
        // Subagents share the tasks of their session.
        let Some(source) = self.sources.main(&origin.source.session) else { return };
        if matches!(tool, Tool::Create(_) | Tool::Update(_)) {
            self.sources.use_own_tasks(&source, true);
        }
        let is_shown = self.sources.uses_own_tasks(&source);
        let Some(tasks) = self.sources.tasks(&source) else { return };
        let is_changed = match tool {
            Tool::Create(update) => {
                tasks.create(update, result, origin.clears);
                true
            }
            Tool::Update(update) => {
                tasks.update(update, result);
                true
            }
            Tool::ReadTasks => tasks.apply_list(result),
            _ => false,
        };
        // Reading the tasks does not make them the plan again.
        if is_changed && is_shown {
            let list = tasks.plan(&self.options);
            self.emit(&Origin { source, ..*origin }, EventKind::List(list));
        }
    }
}
