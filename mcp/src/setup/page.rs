//! The page that the setup prints: a section for each thing to do, its state, and what is left.

use std::collections::HashSet;

use serde_json::{Value, json as object};

use super::agents::{Agent, Commands, Context, Extra, Settings, Way};
use super::json::{self, Goal};
use super::opencode::{self, Present};
use super::plugin::{self, Plugin};
use super::{Done, changed, file, lines};

/// A part of the page.
struct Section {
    title: String,
    text: String,
    /// Options that do what the text says, each with a label.
    offers: Vec<(&'static str, String)>,
}

/// What is printed.
#[derive(Default)]
pub struct Page {
    sections: Vec<Section>,
    /// Commands or settings for users who do it by hand.
    copy: String,
    /// What is not done, each a clause.
    open: Vec<String>,
    /// What to say if nothing is open.
    closing: String,
    /// What would change in the settings.
    pub diff: String,
    /// Whether something that was asked for was not done.
    pub has_failed: bool,
}

impl Page {
    /// The page about AGENT, after what was done.
    pub fn new(agent: &Agent, context: &Context, remove: bool, done: Done) -> Page {
        let has_failed = [&done.run, &done.written, &done.extra, &done.file]
            .iter()
            .any(|step| matches!(step, Some(Err(_))));
        let mut page = Page { has_failed, ..Page::default() };
        page.way(agent, context, remove, done.run);
        if let Some(settings) = &agent.settings {
            page.settings(agent, settings, context, remove, done.written);
        }
        if let Some(plugin) = &agent.file {
            page.file(plugin, context, remove, done.file);
        }
        if let Some(extra) = &agent.extra {
            page.extra(extra, context, remove, done.extra);
        }
        if !remove {
            for (title, text) in &agent.notes {
                page.add(title, text.clone(), None);
            }
        }
        page.close(agent, remove);
        page
    }

    fn add(&mut self, title: &str, text: String, offers: impl IntoIterator<Item = (&'static str, String)>) {
        let offers = offers.into_iter().collect();
        self.sections.push(Section { title: title.to_owned(), text, offers });
    }

    /// Adds the section about a setting that the user may decline. It never is among what is left to do.
    fn extra(
        &mut self,
        extra: &Extra,
        context: &Context,
        remove: bool,
        done: Option<Result<String, String>>,
    ) {
        let Extra { title, settings, declined } = extra;
        let name = context.shown(&settings.file);
        let present = file::read(&settings.file).ok().flatten();
        let present = present.and_then(|text| json::value(&text, &settings.edits[0].path));
        let write = |label: &str| vec![("--edits", format!("{label} {name}"))];
        let (state, offers) = match (present, remove) {
            (Some(Value::Bool(true)), true) => ("It is on.", write("Take it out of")),
            (_, true) => return,
            (Some(Value::Bool(true)), false) => ("It is on.", Vec::new()),
            (Some(_), false) => ("You have switched it off there.", Vec::new()),
            (None, false) if declined.exists() => ("You did not want it.", write("Switch it on in")),
            (None, false) => {
                let no = ("--no-edits", "Do not offer it again".to_owned());
                ("", write("Switch it on in").into_iter().chain([no]).collect())
            }
        };
        let wanted = json::apply("", &settings.edits).unwrap_or_default();
        let wanted = indented(wanted.trim_end());
        let text = if remove { String::new() } else { format!("{}\n\n{wanted}", settings.purpose) };
        self.add(title, join(&[&text, state, &outcome(done)]), offers);
    }

    /// Adds the section about what gives AGENT the tool.
    fn way(&mut self, agent: &Agent, context: &Context, remove: bool, done: Option<Result<String, String>>) {
        let title = match &agent.way {
            Way::Plugin(_) if remove => "Remove the plugin for Claude Code".to_owned(),
            Way::Plugin(_) => "The plugin for Claude Code".to_owned(),
            _ if remove => format!("Take the tool todo_write away from {}", agent.label),
            _ => format!("Give {} the tool todo_write", agent.label),
        };
        match &agent.way {
            Way::Commands(way) => self.commands(&title, way, context, remove, done),
            Way::Plugin(plugin) => self.plugin(&title, plugin, context, remove, done),
            // The text is that of the settings.
            Way::Settings => self.add(&title, String::new(), None),
            Way::Paste { place, text } => {
                let (verb, shown) = match remove {
                    true => ("Remove todo-write from", String::new()),
                    false => ("Put this into", format!(":\n\n{}", indented(text))),
                };
                self.copy = text.clone();
                self.open.push(format!("{} {place}", verb.to_lowercase()));
                self.add(&title, format!("{verb} {place}{shown}"), None);
            }
        }
    }

    /// Adds the section about an agent's commands.
    fn commands(
        &mut self,
        title: &str,
        way: &Commands,
        context: &Context,
        remove: bool,
        done: Option<Result<String, String>>,
    ) {
        let (state, is_done) = match &way.entry {
            None if remove => ("It does not have the tool.", true),
            None => ("", false),
            Some(_) if remove => ("", false),
            Some(entry) if *entry == context.server => ("It has the tool.", true),
            Some(_) => ("It has the tool by another command, which is replaced.", false),
        };
        let commands = match (&way.entry, remove) {
            (_, true) => vec![way.remove.clone()],
            (None, false) => vec![way.add.clone()],
            (Some(_), false) => vec![way.remove.clone(), way.add.clone()],
        };
        let name = commands[commands.len() - 1][..3].join(" ");
        let lines = lines(&commands);
        let run = match (is_done, &done) {
            (true, _) => String::new(),
            (_, Some(_)) => indented(&lines),
            (_, None) => format!("Run this in a shell:\n\n{}", indented(&lines)),
        };
        if !is_done {
            self.open.push(format!("run `{name}'"));
        }
        let can_run = context.has_program(&commands[0][0]) && !is_done;
        self.add(
            title,
            join(&[state, &run, &outcome(done)]),
            can_run.then(|| ("--run", format!("Run `{name}'"))),
        );
        self.copy = lines;
    }

    /// Adds the section about the plugin for Claude Code.
    fn plugin(
        &mut self,
        title: &str,
        plugin: &Plugin,
        context: &Context,
        remove: bool,
        done: Option<Result<String, String>>,
    ) {
        let (state, is_done) = match (plugin.is_enabled, remove) {
            (true, false) if plugin.is_current() => ("It is installed.", true),
            (true, false) => ("It is installed in another version, which is replaced.", false),
            (false, false) => ("", false),
            (true, true) => ("It is installed.", false),
            (false, true) => ("It is not installed.", true),
        };
        let (purpose, verb, commands) = match remove {
            true => ("", "remove", Plugin::remove()),
            false => (plugin::PURPOSE, "install", plugin.install()),
        };
        self.copy = lines(&[context.own_command("claude-plugin", remove)]);
        let how = format!(
            "This command does it in a shell, by Claude Code's own commands:\n\n{}\n\n{}",
            indented(&self.copy),
            indented(&lines(&commands).replace("claude plugin", "=> claude plugin"))
        );
        let text = join(&[purpose, state, if is_done { "" } else { &how }, &outcome(done)]);
        if !is_done {
            self.open.push(format!("{verb} the plugin"));
        }
        let can_run = context.has_program("claude") && !is_done;
        let verb = if remove { "Remove" } else { "Install" };
        self.add(title, text, can_run.then(|| ("--run", format!("{verb} the plugin"))));
    }

    /// Adds the section about a file that the agent runs.
    fn file(
        &mut self,
        plugin: &opencode::Plugin,
        context: &Context,
        remove: bool,
        done: Option<Result<String, String>>,
    ) {
        let name = context.shown(&plugin.file);
        let (state, offer) = match (&plugin.present, remove) {
            (Present::Nothing, false) => {
                (format!("It is a new file of {} lines.", plugin.text.lines().count()), "Write")
            }
            (Present::Other(_), false) => {
                ("There is another version, which is replaced.".to_owned(), "Write")
            }
            (Present::Current, false) => ("It is installed.".to_owned(), ""),
            (Present::Newer(version), false) => {
                (format!("Version {version} is installed, which is newer."), "")
            }
            (Present::Nothing, true) => ("It is not installed.".to_owned(), ""),
            (Present::Foreign(why), true) => (format!("{name} {why}."), ""),
            (Present::Foreign(why), false) => {
                self.open.push(format!("see what {name} is"));
                (format!("{name} {why}."), "")
            }
            (_, true) => ("It is installed.".to_owned(), "Delete"),
        };
        let offer = (!offer.is_empty()).then_some(offer);
        if let Some(verb) = offer {
            self.open.push(format!("{} {name}", verb.to_lowercase()));
            self.diff.push_str(&plugin.diff(&name, remove));
        }
        let purpose = if remove { "" } else { opencode::PURPOSE };
        let text = join(&[purpose, &state, &outcome(done)]);
        self.add(
            &format!("The plugin {name}"),
            text,
            offer.map(|verb| ("--write", format!("{verb} {name}"))),
        );
    }

    /// Adds the section about SETTINGS.
    fn settings(
        &mut self,
        agent: &Agent,
        settings: &Settings,
        context: &Context,
        remove: bool,
        done: Option<Result<String, String>>,
    ) {
        let name = context.shown(&settings.file);
        let link = match file::target(&settings.file) {
            Ok(target) if target != settings.file => format!(" (a link to {})", context.shown(&target)),
            _ => String::new(),
        };
        let is_way = matches!(agent.way, Way::Settings);
        let clause = match (is_way, remove) {
            (true, _) => format!("write {name}"),
            (false, true) => format!("take the settings out of {name}"),
            (false, false) => format!("write the settings into {name}, if you want them"),
        };
        let purpose = if remove { "" } else { settings.purpose };
        let wanted = json::apply("", &settings.edits).unwrap_or_default();
        if is_way {
            self.copy = wanted.trim_end().to_owned();
        }
        let mut offer = None;
        let text = match changed(settings, context, remove) {
            Err(why) => {
                self.open.push(format!("{clause} by hand"));
                let verb = if remove { "Remove" } else { "Add" };
                join(&[purpose, &why, &format!("{verb} this yourself:\n\n{}", wanted.trim_end())])
            }
            Ok((old, new)) if old == new => {
                let has = if remove { "The file has none of them." } else { "The file has these settings." };
                join(&[purpose, has])
            }
            Ok((old, new)) => {
                self.open.push(clause);
                self.diff = file::diff(&name, &old, &new, &ours(settings));
                offer = Some(("--write", format!("Write {name}")));
                join(&[purpose, self.diff.trim_end()])
            }
        };
        let text = join(&[&text, &outcome(done)]);
        match self.sections.last_mut().filter(|section| section.text.is_empty()) {
            Some(section) => {
                (section.text, section.offers) =
                    (format!("In {name}{link}:\n\n{text}"), offer.into_iter().collect());
            }
            None => self.add(&format!("Settings in {name}{link}"), text, offer),
        }
    }

    /// What to say if nothing is open.
    fn close(&mut self, agent: &Agent, remove: bool) {
        let name = if agent.id == "claude-plugin" { "Claude Code" } else { agent.label };
        self.closing = match remove {
            true => format!("{name} has nothing of this."),
            false => format!("Nothing is left to do. Start {name} again if it runs."),
        };
    }

    /// The page for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            text.push_str(&format!("{}\n\n{}\n", section.title, section.text));
            for (option, label) in &section.offers {
                text.push_str(&format!("\n  {option}: {label}\n"));
            }
            text.push('\n');
        }
        if self.open.is_empty() {
            return text + &format!("Done\n\n{}\n", self.closing);
        }
        let clauses: String = self.open.iter().map(|clause| format!("- {clause}\n")).collect();
        text + &format!("Not done yet\n\n{clauses}")
    }

    /// The page for Emacs.
    pub fn to_json(&self) -> Value {
        let sections: Vec<Value> = self
            .sections
            .iter()
            .map(|Section { title, text, offers }| {
                let offer = |(option, label): &(&str, String)| object!({"option": option, "label": label});
                let offers: Vec<Value> = offers.iter().map(offer).collect();
                object!({"title": title, "text": text, "offers": offers})
            })
            .collect();
        object!({
            "sections": sections,
            "copy": self.copy,
            "open": self.open,
            "closing": self.closing,
        })
    }
}

/// All strings that SETTINGS write.
fn ours(settings: &Settings) -> HashSet<String> {
    let mut ours = HashSet::new();
    for edit in &settings.edits {
        match &edit.goal {
            Goal::Is(value) | Goal::Hook(value) => file::strings(value, &mut ours),
            Goal::Has(strings) => ours.extend(strings.iter().map(|string| (*string).to_owned())),
        }
    }
    ours
}

/// What came of a step, for the page.
fn outcome(done: Option<Result<String, String>>) -> String {
    match done {
        None => String::new(),
        Some(Ok(text) | Err(text)) => text.trim_end().to_owned(),
    }
}

/// PARTS that are not empty, with an empty line between them.
fn join(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
