//! How this program gets to another machine: lines for a shell here. Nothing is run there.

use std::path::{Path, PathBuf};

use super::{run, shell};

/// Where agents there find the program.
const THERE: &str = "~/.todo-write/bin/todo-write-mcp";
/// Maximum length of what a machine says of itself, in characters.
const LONGEST: usize = 60;

/// Another machine.
#[derive(Default)]
pub struct Machine {
    /// A command that runs a line for a shell there, which is one more word.
    pub way: Vec<String>,
    /// What `uname -sm` prints there; if it is unknown, the machine counts as one of this kind.
    pub system: Option<String>,
    /// The folder of the sources of this program, if it is known.
    pub sources: Option<PathBuf>,
}

impl Machine {
    /// The lines, and what to say of them. PROGRAM is this one.
    pub fn lines(&self, program: &Path) -> (String, String) {
        let here = run::all(&[vec!["uname".to_owned(), "-sm".to_owned()]], Path::new("/"));
        let here = here.map(|kind| kind.trim().to_owned()).unwrap_or_else(|_| "unknown".to_owned());
        let Some(system) = self.system.as_ref().filter(|system| **system != here) else {
            return (self.copy(program), String::new());
        };
        let note = format!(
            "It is a machine of the kind {}, this one {here}. Where cargo is missing there, take the file\n\
             todo-write-mcp for its kind from the release, and put it to {THERE}.",
            plain(system)
        );
        (self.sources.as_deref().map(|sources| self.build(sources)).unwrap_or_default(), note)
    }

    /// The line that copies PROGRAM there.
    fn copy(&self, program: &Path) -> String {
        let command = format!("umask 077; mkdir -p ~/.todo-write/bin && cat >{THERE} && chmod 700 {THERE}");
        format!("{} <{}", self.line(&command), shell(&program.display().to_string()))
    }

    /// The lines that copy SOURCES there, and build the program.
    fn build(&self, sources: &Path) -> String {
        let unpack = "umask 077; mkdir -p ~/.todo-write/bin ~/.todo-write/todo-write \
                      && tar -C ~/.todo-write/todo-write -xf -";
        format!(
            "tar -C {} -cf - Cargo.toml Cargo.lock src mcp | {}\n{}",
            shell(&sources.display().to_string()),
            self.line(unpack),
            self.line("cargo install --path ~/.todo-write/todo-write/mcp --root ~/.todo-write")
        )
    }

    /// The line for a shell here that runs COMMAND there.
    fn line(&self, command: &str) -> String {
        let words = self.way.iter().map(String::as_str).chain([command]);
        words.map(shell).collect::<Vec<_>>().join(" ")
    }
}

/// TEXT of another machine as a part of a line.
fn plain(text: &str) -> String {
    text.chars().take(LONGEST).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
