//! `todo-write-mcp setup`: which agents are here and what each gets; with the name of one, gives it the
//! tool, or takes it away.
//!
//! An agent is set up by its own command. This program writes no settings of other programs; what its
//! command cannot do is printed for the user to paste. It reads settings to tell who has the tool.

mod files;
mod ways;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use ways::{Context, Way};

/// The arguments, for readers.
pub const USAGE: &str = "\
Usage: todo-write-mcp setup [--json]
       todo-write-mcp setup AGENT [--remove] [OPTION...]

Shows which agents are here, and what each would get. With AGENT, gives it the tool
todo_write, by the agent's own command where it has one.
  --remove       take it away
  --folder DIR   let the agent start a copy of this program in DIR; default: this file
  --socket FILE  the socket of Emacs; default: the usual one
  --json         print a list of JSON objects, for Emacs
";

/// Does what ARGUMENTS say, and returns the status of the program.
pub fn run(arguments: impl Iterator<Item = OsString>) -> i32 {
    match act(arguments) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("todo-write-mcp setup: {why}");
            1
        }
    }
}

fn act(mut arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    let (mut agent, mut remove, mut as_json, mut folder, mut socket) = (None, false, false, None, None);
    while let Some(argument) = arguments.next() {
        let argument = text_of(argument)?;
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} lacks its value\n\n{USAGE}"));
        match argument.as_str() {
            "--remove" => remove = true,
            "--json" => as_json = true,
            "--folder" => folder = Some(absolute(value()?)?),
            "--socket" => socket = Some(text_of(value()?)?),
            "--help" => {
                print!("{USAGE}");
                return Ok(());
            }
            _ if !argument.starts_with('-') && agent.is_none() => agent = Some(argument),
            _ => return Err(format!("{argument} is not known\n\n{USAGE}")),
        }
    }
    let own = std::env::current_exe().map_err(|error| format!("this program is unknown: {error}"))?;
    let program = folder.as_ref().map_or(own.clone(), |folder| folder.join("todo-write-mcp"));
    let mut server = vec![text_of(program.clone().into_os_string())?];
    server.extend(socket.into_iter().flat_map(|file| ["--socket".to_owned(), file]));
    let context = Context { server, folder };
    let ways = ways::all(&context);
    let Some(agent) = agent else {
        if as_json {
            let value = |way: &Way| {
                json!({
                    "id": way.id,
                    "agent": way.agent,
                    "here": way.is_here,
                    "installed": way.installed,
                    "gives": way.gives,
                    "by": way.by(),
                })
            };
            println!("{}", Value::from_iter(ways.iter().map(value)));
        } else {
            ways.iter().for_each(|way| println!("{}", described(way)));
        }
        return Ok(());
    };
    let way = ways.iter().find(|way| way.id == agent).ok_or_else(|| {
        let ids: Vec<_> = ways.iter().map(|way| way.id).collect();
        format!("{agent} is none of {}", ids.join(", "))
    })?;
    if remove {
        take(way)?;
    } else {
        if program != own {
            files::copy(&own, &program)?;
        }
        // Some agents refuse to add what they have. Claude Code must not have the tool twice.
        let present = ways.iter().filter(|other| other.installed.is_some() && other.agent == way.agent);
        present.for_each(|other| drop(take(other)));
        way.files.as_ref().map_or(Ok(()), |files| files.write())?;
        way.add.iter().try_for_each(|command| run_command(command))?;
    }
    println!("{}", if remove { way.removed() } else { way.done() });
    Ok(())
}

fn take(way: &Way) -> Result<(), String> {
    // One that fails, such as for a plugin that is gone, does not keep the others.
    let results: Vec<_> = way.remove.iter().map(|command| run_command(command)).collect();
    way.files.as_ref().map_or(Ok(()), |files| files.delete())?;
    results.into_iter().collect()
}

/// Runs COMMAND, which prints for the user.
fn run_command(command: &[String]) -> Result<(), String> {
    let line = line(command);
    println!("$ {line}");
    match Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}' failed: {status}")),
        Err(error) => Err(format!("`{line}' did not run: {error}")),
    }
}

fn described(way: &Way) -> String {
    let state = match &way.installed {
        Some(_) => "has it",
        None if way.is_here => "does not have it",
        None => "is not installed here",
    };
    let by: String = way.by().iter().map(|line| format!("\n  {line}")).collect();
    format!("{}: {} {state}\n{}{by}\n", way.id, way.agent, way.gives)
}

fn absolute(name: OsString) -> Result<PathBuf, String> {
    let name = PathBuf::from(name);
    std::path::absolute(&name).map_err(|error| format!("{}: {error}", name.display()))
}

fn text_of(name: OsString) -> Result<String, String> {
    name.into_string().map_err(|name| format!("{} is not UTF-8", PathBuf::from(name).display()))
}

fn line(command: &[String]) -> String {
    command.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ")
}

/// WORD as a shell reads it.
fn shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
