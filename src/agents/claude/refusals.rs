//! Who refused a call of Claude Code, and why.
//!
//! Newer versions name in the line of the result who denied the call. The lines of subagents and of older
//! versions have the words for the model only.

use crate::events::payload::{Refusal, RefusedBy};
use crate::text::excerpt;

/// Maximum number of characters of a reason.
const LONGEST: usize = 300;

/// Who denied a call, by `toolDenialKind`; none if it was cancelled.
pub(super) fn refused_by(kind: &str) -> Option<RefusedBy> {
    match kind {
        "user-rejected" => Some(RefusedBy::User),
        "permission-rule" => Some(RefusedBy::Rule),
        "automode-blocked" => Some(RefusedBy::Auto),
        "automode-unavailable" | "automode-parsing-error" => Some(RefusedBy::NoAnswer),
        _ => None,
    }
}

/// The refusal that a result says in these words; none if the call was only malformed.
pub(super) fn refusal(content: &str, by: Option<RefusedBy>) -> Option<Refusal> {
    let is_of_check = content.starts_with("Permission for this action was denied by");
    let by = by.or_else(|| match content {
        _ if is_of_check => Some(RefusedBy::Auto),
        _ if content.starts_with("Permission") || content.starts_with("Claude requested permission") => {
            Some(RefusedBy::Rule)
        }
        _ if content.starts_with("<tool_use_error>") => None,
        _ => Some(RefusedBy::User),
    })?;
    let reason = match by {
        RefusedBy::Rule => None,
        RefusedBy::Auto | RefusedBy::NoAnswer => content.split_once("Reason: ").map(|(_, reason)| {
            // Advice for the model follows, after a period of its own.
            let reason = reason.split(" If you have other tasks").next().unwrap_or(reason);
            if reason.ends_with("..") { &reason[..reason.len() - 1] } else { reason }
        }),
        RefusedBy::User => match content.split_once("the user said:") {
            Some((_, words)) => Some(words),
            None if content.starts_with("The user doesn't want to") => None,
            // What the user says in place of an answer stands alone.
            None => Some(content),
        },
    };
    let line = reason.and_then(|reason| reason.trim_start().lines().next());
    let reason = line.map(|line| excerpt(line, LONGEST)).filter(|line| !line.is_empty());
    Some(Refusal { by, reason })
}
