//! What happens in a thread beside its list: events, the work they add up to, and what of them is kept.

pub mod comments;
pub mod edit;
pub mod git;
pub mod marks;
mod names;
pub mod observation;
pub mod patch;
pub mod payload;
pub mod policy;
pub mod review;
pub mod session;
pub mod stream;
pub mod turns;
pub mod work;

use std::collections::VecDeque;
use std::time::SystemTime;

/// Milliseconds since the Unix epoch.
pub type Millis = u64;

/// A time in milliseconds since the epoch; `None` if it is before that.
pub fn millis_of(time: SystemTime) -> Option<Millis> {
    time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis().try_into().ok()
}

/// Appends to a queue of limited length; returns the element that had to make room.
pub fn push_bounded<T>(queue: &mut VecDeque<T>, limit: usize, new: T) -> Option<T> {
    let oldest = if queue.len() >= limit { queue.pop_front() } else { None };
    queue.push_back(new);
    oldest
}
