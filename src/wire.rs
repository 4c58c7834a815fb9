//! What crosses from the program outside to Emacs: [`event`]s of transcripts, the messages of the [`program`], and those
//! of the programs of agents that come by its [`socket`]; how bytes become [`lines`], and the [`bounds`] of both sides.

/// The definition of the tool `todo_write`, as MCP has it. Because of its `_meta`, Claude Code shows the tool to the
/// model without a search.
pub const TOOL: &str = include_str!("wire/tool.json");

pub mod bounds;
pub mod event;
pub mod lines;
pub mod program;
pub mod socket;
