//! The programs whose agents are known, and what the key of a thread says of its agent.

use serde::Serialize;

/// A program whose agents are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// What threads and transcripts call it.
    pub name: &'static str,
    /// What users read.
    pub label: &'static str,
    /// What it calls itself as an MCP client.
    pub client: &'static str,
    /// The argument before the id of a session that it takes up again. Those that have it are followed: there is a
    /// reader of their transcripts, and the key of a session's thread is `NAME:ID`.
    pub resume: Option<&'static str>,
}

const PROGRAMS: [Program; 7] = [
    Program { name: "claude", label: "Claude Code", client: "claude-code", resume: Some("--resume") },
    Program { name: "codex", label: "Codex", client: "codex-mcp-client", resume: Some("resume") },
    Program { name: "copilot", label: "Copilot CLI", client: "copilot-cli", resume: None },
    Program { name: "cursor", label: "Cursor", client: "cursor-vscode", resume: None },
    Program { name: "gemini", label: "Gemini CLI", client: "gemini-cli-mcp-client", resume: None },
    Program { name: "goose", label: "Goose", client: "goose", resume: None },
    Program { name: "opencode", label: "opencode", client: "opencode", resume: None },
];

impl Program {
    /// The program with this name, or that calls itself so.
    pub fn find(name: &str) -> Option<Program> {
        PROGRAMS.into_iter().find(|program| program.name == name || program.client == name)
    }
}

/// Whose a thread is, as its key says: `PROGRAM:SESSION`, or `mcp:CLIENT:SESSION` of a program that is not followed,
/// with `MACHINE/` before it on another machine, and `/SUBAGENT` behind it for a subagent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Identity<'k> {
    /// The name of the machine, `None` for this one.
    pub machine: Option<&'k str>,
    /// The name of the program, or of the host; `None` for a key of another form.
    pub program: Option<&'k str>,
    /// The id of the session; `None` for a key of another form.
    pub session: Option<&'k str>,
    /// The id of the subagent.
    pub subagent: Option<&'k str>,
    /// See [`Program::resume`].
    pub resume: Option<&'static str>,
}

impl<'k> Identity<'k> {
    /// What a key says.
    ///
    /// ```
    /// # use todo_write::program::Identity;
    /// let identity = Identity::of("build/claude:5e55/a1");
    /// assert_eq!((identity.machine, identity.program), (Some("build"), Some("claude")));
    /// assert_eq!((identity.session, identity.subagent), (Some("5e55"), Some("a1")));
    /// let identity = Identity::of("mcp:gemini-cli-mcp-client:7-17");
    /// assert_eq!((identity.machine, identity.program, identity.session), (None, Some("gemini"), Some("7-17")));
    /// ```
    pub fn of(key: &'k str) -> Identity<'k> {
        let machine = key.split_once('/').filter(|(name, rest)| is_machine(name) && has_program(rest));
        let (machine, key) = machine.map_or((None, key), |(machine, key)| (Some(machine), key));
        let Some((program, rest)) = key.split_once(':') else {
            return Identity { machine, program: None, session: None, subagent: None, resume: None };
        };
        let (client, rest) = match rest.split_once(':') {
            Some((client, rest)) if program == "mcp" => (Some(client), rest),
            _ => (None, rest),
        };
        let (session, subagent) =
            rest.split_once('/').map_or((rest, None), |(session, subagent)| (session, Some(subagent)));
        let known = Program::find(client.unwrap_or(program));
        Identity {
            machine,
            program: known.map(|known| known.name).or(client).or(Some(program)),
            session: Some(session),
            subagent,
            resume: known.and_then(|known| known.resume).filter(|_| client.is_none()),
        }
    }
}

fn is_machine(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn has_program(key: &str) -> bool {
    key.split_once(':')
        .is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()))
}
