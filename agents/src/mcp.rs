//! The bridge: MCP over standard input and output for one tool, whose calls go to Emacs.

pub mod calls;
pub mod emacs;
pub mod server;
pub mod session;
mod transport;
