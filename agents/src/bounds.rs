//! The four bounds of what comes from outside. Each is checked where bytes enter; what is inside is trusted.

use std::time::Duration;

/// Maximum number of bytes of a line.
pub(crate) const LINE: usize = 8 * 1024 * 1024;
/// The number of bytes of one peer that wait to be taken, from which on its writer waits or it is given up.
pub(crate) const IN_FLIGHT: usize = 1024 * 1024;
/// Maximum number of entries of a table that others fill.
pub(crate) const ENTRIES: usize = 5_000;
/// The time for which anything waits for an answer, after which it goes on without it.
pub(crate) const WAIT: Duration = Duration::from_secs(1);
