//! What the user says to Claude Code: which messages are prompts.
//!
//! Claude Code, its hooks and its extensions write in the user's name, too, beside and in the user's own
//! messages. A command is a prompt only if a model answers it: `/review` is, `/model` is not.

use std::sync::Arc;

use super::line::{tagged, without_added};
use super::sources::TitleSource;
use super::{ClaudeReader, Origin};
use crate::field::title;
use todo_write::events::Millis;
use todo_write::wire::event::{EventKind, Source};

/// The beginnings of messages that are no prompts: notes of Claude Code and its hooks, and commands that the
/// user ran in the shell.
const NO_PROMPTS: [&str; 10] = [
    "[Request interrupted",
    "<task-notification>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-prompt-submit-hook>",
    "<user-memory-input>",
    "Caveat:",
    "This session is being continued",
];

/// A command with its arguments, which is a prompt if the model answers.
#[derive(Debug)]
pub(super) struct SlashCommand {
    source: Arc<Source>,
    uuid: String,
    time: Option<Millis>,
    text: String,
}

impl ClaudeReader {
    /// Reads the text of a message in the user's name. `is_of_user` tells whether the user may have sent it.
    pub(super) fn said(&mut self, origin: &Origin<'_>, text: &str, is_of_user: bool) {
        // It warns the model of the next line, a command of the user that is no prompt.
        let is_caveat = ["<local-command-caveat>", "Caveat: "].iter().any(|start| text.starts_with(start));
        let is_local = std::mem::replace(&mut self.is_command_local, is_caveat);
        let text = without_added(text).trim();
        let is_command = ["<command-name>", "<command-message>"].iter().any(|tag| text.starts_with(tag));
        match tagged(text, "command-name").filter(|_| is_command) {
            _ if !is_of_user => {}
            // A subagent has no commands.
            Some(_) if origin.source.subagent.is_some() => {}
            Some(name) => {
                if !is_local {
                    self.is_idle = false;
                    self.emit(origin, EventKind::TurnBegun);
                }
                let arguments = text.split_once("<command-args>").map_or("", |(_, rest)| rest);
                let arguments = arguments.split("</command-args>").next().unwrap_or_default().trim();
                let text = format!("{name} {arguments}").trim().to_owned();
                let (source, uuid) = (origin.source.clone(), origin.uuid.to_owned());
                self.command = Some(SlashCommand { source, uuid, time: origin.time, text });
            }
            None if text.is_empty() || NO_PROMPTS.iter().any(|start| text.starts_with(start)) => {}
            None => self.prompt(origin, text.to_owned()),
        }
    }

    fn prompt(&mut self, origin: &Origin<'_>, prompt: String) {
        let is_main = origin.source.subagent.is_none();
        if is_main {
            (self.is_idle, self.is_denied, self.command) = (false, false, None);
        }
        if let Some(title) = title(&prompt) {
            self.set_title(origin, TitleSource::Prompt, title);
        }
        self.emit(origin, EventKind::Prompt(prompt));
    }

    /// Makes the user's last command a prompt, which a model answers.
    pub(super) fn answer_command(&mut self, origin: &Origin<'_>) {
        let is_answer = |command: &mut SlashCommand| command.source == origin.source;
        if let Some(SlashCommand { source, uuid, time, text }) = self.command.take_if(is_answer) {
            self.prompt(&Origin { source, uuid: &uuid, time, ..*origin }, text);
        }
    }
}
