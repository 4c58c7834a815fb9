//! What crosses from the program outside to Emacs: [`event`]s of transcripts, the messages of the [`program`], and those
//! of the programs of agents that come by its [`socket`]; how bytes become [`lines`], and the [`bounds`] of both sides.

pub mod bounds;
pub mod event;
pub mod lines;
pub mod program;
pub mod socket;
