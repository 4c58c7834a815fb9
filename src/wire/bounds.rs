//! The bounds of what comes from outside. Each is checked where bytes enter; what is inside is trusted.

use std::time::Duration;

/// Maximum number of bytes of a line.
pub const LINE: usize = 8 * 1024 * 1024;
/// Maximum number of bytes of a call. As many bytes of one peer may wait to be taken; then its writer waits, or it is
/// given up.
pub const CALL: usize = 1024 * 1024;
/// Maximum number of bytes of a small file, and of what is read of a stream at once.
pub const SMALL_FILE: usize = 64 * 1024;
/// Maximum number of entries of a table that others fill.
pub const ENTRIES: usize = 5_000;
/// The time for which anything waits for an answer, after which it goes on without it.
pub const WAIT: Duration = Duration::from_secs(1);
