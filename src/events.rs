//! What happens in a thread beside its list: events, the work they add up to, and what of them is kept.

pub mod edit;
pub mod observation;
pub mod patch;
pub mod payload;
pub mod policy;
pub mod stream;
pub mod work;

/// Milliseconds since the Unix epoch.
pub type Millis = u64;
