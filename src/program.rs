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

const fn program(
    name: &'static str,
    label: &'static str,
    client: &'static str,
    resume: Option<&'static str>,
) -> Program {
    Program { name, label, client, resume }
}

const PROGRAMS: [Program; 7] = [
    program("claude", "Claude Code", "claude-code", Some("--resume")),
    program("codex", "Codex", "codex-mcp-client", Some("resume")),
    program("copilot", "Copilot CLI", "copilot-cli", None),
    program("cursor", "Cursor", "cursor-vscode", None),
    program("gemini", "Gemini CLI", "gemini-cli-mcp-client", None),
    program("goose", "Goose", "goose", None),
    program("opencode", "opencode", "opencode", None),
];

impl Program {
    /// The program with this name, or that calls itself so.
    pub fn find(name: &str) -> Option<Program> {
        PROGRAMS.into_iter().find(|program| program.name == name || program.client == name)
    }
}

/// Why a program sends no plan, and what switches its own plan tool on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Planless {
    /// The reason, a phrase.
    why: &'static str,
    /// A setting that switches the tool on, if there is one.
    setting: Option<&'static str>,
    /// The place that the setting belongs into.
    place: Option<&'static str>,
}

impl Planless {
    /// What is known of an agent, by the name or label of its program, that used these models and sent no plan.
    pub fn of(agent: &str, models: &[String]) -> Option<Planless> {
        let agent = agent.to_lowercase();
        let program = PROGRAMS.into_iter().find(|program| agent.starts_with(program.name))?;
        let (why, setting, place) = match program.name {
            // It may still plan, or its model is not known.
            "claude" if models.is_empty() || models.iter().any(|model| plans_by_itself(model)) => {
                return None;
            }
            "claude" => (
                "this model has no plan tool in Claude Code",
                Some("CLAUDE_CODE_ENABLE_TODO_TOOLS=1"),
                Some("the environment of claude"),
            ),
            "codex" => (
                "newer versions of Codex have their plan tool off",
                Some("[tools.update_plan]\nenabled = true\n"),
                Some("config.toml of Codex"),
            ),
            "gemini" => ("Gemini CLI gives a plan tool to Gemini 2 only", None, None),
            _ => return None,
        };
        Some(Planless { why, setting, place })
    }
}

/// Whether Claude Code gives its plan tools to a model by itself: one up to these versions.
fn plans_by_itself(model: &str) -> bool {
    let mut parts = model.split('-').skip(1);
    let newest = match parts.next() {
        Some("opus") => (4, 7),
        Some("sonnet") => (4, 6),
        Some("haiku") => (4, 5),
        // Names of old models begin with their version.
        _ => return model.starts_with("claude-3"),
    };
    let Some(major) = parts.next().and_then(|part| part.parse::<u32>().ok()) else { return false };
    // A longer number is a date.
    let minor = parts.next().filter(|part| part.len() <= 2).and_then(|part| part.parse::<u32>().ok());
    model.starts_with("claude-") && (major, minor.unwrap_or_default()) <= newest
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
