//! `todo-write-mcp setup AGENT`: shows how an agent gets the tool, and does it where the user says so.
//!
//! The page that it prints has a section for each thing to do. It is made again from what the files say
//! after anything was done, so it never claims more than they have.

mod agents;
mod file;
mod json;
mod machine;
mod opencode;
mod page;
mod plugin;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use agents::{Agent, Context, NAMES, Settings, Way};
use machine::Machine;
use opencode::Present;
use page::Page;
use plugin::Plugin;
use serde_json::json;

/// The arguments, for readers.
pub const USAGE: &str = "\
Usage: todo-write-mcp setup AGENT [--remove] [--run] [--write] [OPTION...]
       todo-write-mcp setup --machine [OPTION...] -- WORD...
       todo-write-mcp setup --list

Shows how AGENT gets the tool todo_write, or with --remove how to take it away.
With --machine, shows how this program gets to another machine, on which the command
WORD... runs a line for a shell, such as ssh -l me build.
  --run          run the agent's own commands
  --write        write the agent's settings; the old ones are kept as FILE~
  --print        do nothing (the default)
  --edits        let Claude Code tell what its commands change
  --no-edits     remember that you do not want that
  --diff         print only what would change in the settings
  --project DIR  for the agents of one project
  --folder DIR   let agents start a copy of this program in DIR; default: this file
  --socket FILE  the socket of Emacs; default: the usual one
  --json         print a JSON object, for Emacs
  --state        print only whether AGENT has the tool, or the plugin and its program, in JSON
  --system KIND  what uname -sm prints on the machine; default: what it prints here
  --sources DIR  the sources of this program, for a machine of another kind
  --list         print the names of the agents
";

/// What the user asks for.
#[derive(Default)]
struct Options {
    agent: Option<String>,
    remove: bool,
    run: bool,
    write: bool,
    edits: bool,
    no_edits: bool,
    diff: bool,
    json: bool,
    state: bool,
    list: bool,
    help: bool,
    machine: Option<Machine>,
    project: Option<PathBuf>,
    folder: Option<PathBuf>,
    socket: Option<OsString>,
}

/// What was done now, in words.
#[derive(Default)]
struct Done {
    run: Option<Result<String, String>>,
    written: Option<Result<String, String>>,
    extra: Option<Result<String, String>>,
    file: Option<Result<String, String>>,
}

/// Does what ARGUMENTS say, and returns the status of the program.
pub fn run(arguments: impl Iterator<Item = OsString>) -> i32 {
    match parse(arguments).and_then(act) {
        Ok(status) => status,
        Err(why) => {
            eprintln!("todo-write-mcp setup: {why}");
            1
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        let mut value = || arguments.next().ok_or_else(|| format!("{text} lacks its value\n\n{USAGE}"));
        match text.as_str() {
            "--print" => {
                (options.run, options.write, options.edits, options.no_edits) = (false, false, false, false);
            }
            "--edits" => options.edits = true,
            "--no-edits" => options.no_edits = true,
            "--remove" => options.remove = true,
            "--run" => options.run = true,
            "--write" => options.write = true,
            "--diff" => options.diff = true,
            "--json" => options.json = true,
            "--state" => options.state = true,
            "--list" => options.list = true,
            "--machine" => drop(options.machine.get_or_insert_default()),
            "--system" => options.machine.get_or_insert_default().system = Some(text_of(value()?)?),
            "--sources" => options.machine.get_or_insert_default().sources = Some(absolute(value()?)?),
            "--" if options.machine.is_some() => {
                let way = arguments.by_ref().map(text_of).collect::<Result<_, _>>()?;
                options.machine.get_or_insert_default().way = way;
            }
            "--project" => options.project = Some(absolute(value()?)?),
            "--folder" => options.folder = Some(absolute(value()?)?),
            "--socket" => options.socket = Some(value()?),
            "--help" => options.help = true,
            _ if !text.starts_with('-') && options.agent.is_none() => options.agent = Some(text),
            _ => return Err(format!("{text} is not known\n\n{USAGE}")),
        }
    }
    Ok(options)
}

fn absolute(name: OsString) -> Result<PathBuf, String> {
    let name = PathBuf::from(name);
    std::path::absolute(&name).map_err(|error| format!("{}: {error}", name.display()))
}

fn text_of(name: OsString) -> Result<String, String> {
    name.into_string().map_err(|name| format!("{} is not UTF-8", PathBuf::from(name).display()))
}

fn act(options: Options) -> Result<i32, String> {
    if options.help {
        print!("{USAGE}");
        return Ok(0);
    }
    if options.list {
        NAMES.iter().for_each(|(id, label, _)| println!("{id}\t{label}"));
        return Ok(0);
    }
    if let Some(machine) = &options.machine {
        return show_machine(machine, options.json);
    }
    let name = options.agent.as_deref().ok_or(USAGE)?;
    let (id, label, has_projects) = NAMES
        .iter()
        .find(|(id, label, _)| name.eq_ignore_ascii_case(id) || name.eq_ignore_ascii_case(label))
        .ok_or_else(|| format!("{name} is not an agent that --list names"))?;
    if let Some(project) = &options.project {
        if !has_projects {
            return Err(format!("{label} has no settings of a project for this; leave out --project"));
        }
        if !project.is_dir() {
            return Err(format!("{} is not a folder", project.display()));
        }
    }
    let context = context(&options)?;
    if options.state {
        let state = agents::agent(id, label, &context)
            .state()
            .ok_or_else(|| format!("the settings of {label} are not read; leave out --state"))?;
        println!("{state}");
        return Ok(0);
    }
    let mut done = Done::default();
    // The commands may write the same file, so they come first.
    if options.run {
        done.run = run_way(&agents::agent(id, label, &context), &context, options.remove);
    }
    if options.write {
        let agent = agents::agent(id, label, &context);
        done.written = agent.settings.as_ref().and_then(|settings| write(settings, &context, options.remove));
        done.file = agent.file.and_then(|plugin| write_file(&plugin, &context, options.remove));
    }
    if options.edits || options.no_edits {
        let Some(extra) = agents::agent(id, label, &context).extra else {
            return Err(format!("{label} has no such setting here; leave out --edits and --no-edits"));
        };
        done.extra = if options.edits {
            let _ = std::fs::remove_file(&extra.declined);
            write(&extra.settings, &context, options.remove)
        } else {
            file::write(&extra.declined, "")
                .err()
                .map(|why| Err(format!("{} {why}.", context.shown(&extra.declined))))
        };
    }
    let page = Page::new(&agents::agent(id, label, &context), &context, options.remove, done);
    if options.json {
        println!("{}", page.to_json());
    } else if options.diff {
        print!("{}", page.diff);
    } else {
        print!("{}", page.to_text());
    }
    Ok(page.has_failed.into())
}

/// Prints how this program gets to MACHINE, and returns the status of the program.
fn show_machine(machine: &Machine, as_json: bool) -> Result<i32, String> {
    if machine.way.is_empty() {
        return Err(format!("--machine lacks -- and the command that runs a line there\n\n{USAGE}"));
    }
    let own = std::env::current_exe().map_err(|error| format!("this program is unknown: {error}"))?;
    let (lines, note) = machine.lines(&own);
    if as_json {
        println!("{}", json!({"lines": lines, "note": note}));
    } else {
        println!("{}", format!("{lines}\n\n{note}").trim());
    }
    Ok(0)
}

fn context(options: &Options) -> Result<Context, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program is unknown: {error}"))?;
    let program = match &options.folder {
        None => own,
        Some(folder) => {
            let copy = folder.join("todo-write-mcp");
            file::copy(&own, &copy)?;
            copy
        }
    };
    let mut server = vec![text_of(program.into_os_string())?];
    if let Some(socket) = &options.socket {
        server.extend(["--socket".to_owned(), text_of(socket.clone())?]);
    }
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let mut context = Context {
        variables: variables.collect(),
        server,
        project: options.project.clone(),
        plugin: PathBuf::new(),
        folder: None,
    };
    let folder = options.folder.clone().unwrap_or_else(|| {
        let data = context.folder("XDG_DATA_HOME");
        data.unwrap_or_else(|| context.home().join(".local/share")).join("todo-write")
    });
    context.plugin = folder.join("claude");
    context.folder = options.folder.clone();
    Ok(context)
}

/// WORD as a shell reads it.
fn shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// COMMANDS as lines for a shell.
fn lines(commands: &[Vec<String>]) -> String {
    let line = |command: &Vec<String>| command.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ");
    commands.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs the commands of AGENT; none if it has no commands. Returns what they print.
fn run_way(agent: &Agent, context: &Context, remove: bool) -> Option<Result<String, String>> {
    let folder = context.working_folder();
    match &agent.way {
        Way::Commands(way) if remove => Some(run::all(from_ref(&way.remove), &folder)),
        Way::Commands(way) => {
            // Some agents refuse to add what they have.
            if way.entry.is_some() {
                let _ = run::all(from_ref(&way.remove), &folder);
            }
            Some(run::all(from_ref(&way.add), &folder))
        }
        Way::Plugin(plugin) if remove => {
            Some(run::all(&Plugin::remove(), &folder).and_then(|output| plugin.delete().map(|()| output)))
        }
        Way::Plugin(plugin) => Some(install(plugin, context, &folder)),
        Way::Settings | Way::Paste { .. } => None,
    }
}

/// Installs the plugin in place of an earlier one, and of the tool without a plugin.
fn install(plugin: &Plugin, context: &Context, folder: &Path) -> Result<String, String> {
    if let Way::Commands(way) = agents::agent("claude", "", context).way
        && way.entry.is_some()
    {
        let _ = run::all(from_ref(&way.remove), folder);
    }
    if plugin.is_enabled {
        let _ = run::all(&Plugin::remove(), folder);
    }
    plugin.write()?;
    run::all(&plugin.install(), folder)
}

/// The text of the settings of AGENT, and what becomes of it. The error is a sentence.
fn changed(settings: &Settings, context: &Context, remove: bool) -> Result<(String, String), String> {
    let change = || {
        let old = file::read(&settings.file)?.unwrap_or_default();
        let new = if remove { json::undo } else { json::apply }(&old, &settings.edits)?;
        Ok((old, new))
    };
    change().map_err(|why: String| format!("{} {why}.", context.shown(&settings.file)))
}

/// Writes or deletes the file of PLUGIN; none if that changes nothing.
fn write_file(plugin: &opencode::Plugin, context: &Context, remove: bool) -> Option<Result<String, String>> {
    let name = context.shown(&plugin.file);
    let done = match (&plugin.present, remove) {
        (Present::Foreign(_), _)
        | (Present::Nothing, true)
        | (Present::Current | Present::Newer(_), false) => {
            return None;
        }
        (_, true) => plugin.delete().map(|()| format!("{name} is deleted.")),
        (_, false) => plugin.write().map(|backup| {
            let kept = backup.map(|file| format!(" The old file is {}.", context.shown(&file)));
            format!("{name} is written.{}", kept.unwrap_or_default())
        }),
    };
    Some(done.map_err(|why| format!("{name} {why}.")))
}

/// Writes SETTINGS; none if that changes nothing.
fn write(settings: &Settings, context: &Context, remove: bool) -> Option<Result<String, String>> {
    let name = context.shown(&settings.file);
    let written = changed(settings, context, remove).and_then(|(old, new)| {
        if old == new || (remove && old.trim().is_empty()) {
            return Ok(None);
        }
        let backup = file::write(&settings.file, &new).map_err(|why| format!("{name} {why}."))?;
        let kept = backup.map(|file| format!(" The old file is {}.", context.shown(&file)));
        Ok(Some(format!("{name} is written.{}", kept.unwrap_or_default())))
    });
    written.transpose()
}
