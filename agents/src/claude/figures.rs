//! What Claude Code tells of its work in figures: the tokens of responses, and the sums of subagents.

use super::line::tokens;
use super::{ClaudeReader, Origin};
use crate::events::push_recent;
use crate::field::{count, text};
use todo_write::events::session::Context;
use todo_write::events::work::{Tokens, Usage};
use todo_write::list::raw::Raw;
use todo_write::text::{beginning, excerpt};
use todo_write::wire::event::EventKind;

impl ClaudeReader {
    /// Counts the tokens of a model's message. Its lines repeat them with growing numbers.
    pub(super) fn usage(&mut self, origin: &Origin<'_>, message: &Raw<'_>, request: &str) {
        // A fork begins with copies of its session's lines, whose work is counted there.
        if origin.is_copied {
            return;
        }
        let told = message.get("usage").filter(|usage| **usage != Raw::Null);
        let Some(tokens) = told.map(tokens) else { return };
        let response = excerpt(&format!("{} {request}", text(message, "id")), 400);
        let place = self.responses.iter().rposition(|(known, _)| *known == response);
        let before = place.and_then(|place| self.responses.remove(place)).map(|(_, usage)| usage);
        let mut usage = before.clone().unwrap_or(Usage { at_least: true, ..Usage::default() });
        if tokens.sum() > usage.tokens.sum() {
            usage.tokens = tokens;
        }
        let model = Some(text(message, "model")).filter(|model| !model.is_empty());
        usage.model = usage.model.or_else(|| model.map(|model| beginning(model, 100)));
        usage.at_least &= text(message, "stop_reason").is_empty();
        push_recent(&mut self.responses, (response.clone(), usage.clone()));
        if before.as_ref() != Some(&usage) {
            // The next request has all of the conversation again.
            let tokens = Tokens { output: 0, ..usage.tokens }.sum();
            let context = Some(Context { tokens, limit: None }).filter(|_| tokens > 0);
            self.emit_work(origin, EventKind::Usage { response, usage, context });
        }
    }

    /// Emits the sums of a subagent's work, which count only if the subagent has no file.
    pub(super) fn emit_sums(&mut self, origin: &Origin<'_>, subagent: &str, call: &str, fields: &Raw<'_>) {
        let Some(stats) = fields.get("toolStats") else { return };
        let edits = count(stats, "editFileCount");
        if edits == 0 || self.sources.has_subagent(subagent) {
            return;
        }
        let kind = EventKind::OfSubagent {
            subagent: subagent.to_owned(),
            call: Some(call.to_owned()),
            kind: Box::new(EventKind::SubagentSums {
                added: count(stats, "linesAdded"),
                removed: count(stats, "linesRemoved"),
                edits,
            }),
        };
        self.events.push(origin.event(origin.source.clone(), kind));
    }

    /// Emits work, also for the main agent if it is a subagent's.
    pub(super) fn emit_work(&mut self, origin: &Origin<'_>, kind: EventKind) {
        let source = &origin.source;
        let Some(subagent) = source.subagent.clone() else {
            return self.events.push(origin.event(source.clone(), kind));
        };
        if let Some(main) = self.sources.main(&source.session) {
            let call = self.sources.root_call(source);
            let kind = EventKind::OfSubagent { subagent, call, kind: Box::new(kind.clone()) };
            self.events.push(origin.event(main, kind));
        }
        self.sources.hold(origin.event(source.clone(), kind), &mut self.events);
    }
}
