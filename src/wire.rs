//! What crosses from the program outside to Emacs: [`event`]s of transcripts, the messages of the [`program`], and those
//! of the programs of agents that come by its [`socket`].

pub mod event;
pub mod program;
pub mod socket;
