//! How a call of Claude Code ended, who refused it and why, and what a command did beside its output.
//!
//! Newer versions name in the line of the result who denied the call. The lines of subagents and of older
//! versions have the words for the model only.

use super::Origin;
use super::edits::add_diff;
use crate::field::{is_true, text};
use todo_write::events::git::{self, GitKind, GitOperation};
use todo_write::events::payload::{Refusal, RefusedBy};
use todo_write::events::work::CallOutcome;
use todo_write::list::raw::Raw;
use todo_write::text::{beginning, excerpt};
use todo_write::wire::event::Effect;

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

/// A version from which on the line of each denied call names who denied it, but for subagents' lines.
const DENIALS_NAMED: [u32; 3] = [2, 1, 331];

/// How a result begins whose call the user rejected.
const REJECTED: &str = "The user doesn't want to";

/// The refusal that a result says in these words; none if the call was malformed, or could not run.
fn refusal(content: &str, origin: &Origin<'_>) -> Option<Refusal> {
    let is_of_check = content.starts_with("Permission for this action was denied by");
    // Where the user cannot be asked, the kind names the user all the same.
    let is_unasked = content.starts_with("Claude requested permission");
    let names_denials =
        origin.source.subagent.is_none() && origin.version.is_some_and(|version| version >= DENIALS_NAMED);
    let by = origin.refused_by.filter(|_| !is_unasked).or_else(|| match content {
        _ if is_of_check => Some(RefusedBy::Auto),
        _ if is_unasked || content.starts_with("Permission") => Some(RefusedBy::Rule),
        _ if content.starts_with("<tool_use_error>") => None,
        _ if names_denials && !content.starts_with(REJECTED) => None,
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
            None if content.starts_with(REJECTED) => None,
            // What the user says in place of an answer stands alone.
            None => Some(content),
        },
    };
    let line = reason.and_then(|reason| reason.trim_start().lines().next());
    let reason = line.map(|line| excerpt(line, LONGEST)).filter(|line| !line.is_empty());
    Some(Refusal { by, reason })
}

/// Whether a result says that the call was denied, or that the command never ran.
fn is_refusal(content: &str, origin: &Origin<'_>, is_command: bool) -> bool {
    let is_denied = content.starts_with(REJECTED) || content.starts_with("Permission");
    // Since version 2, what the user says in place of an answer stands alone.
    let is_modern = origin.version.is_none_or(|[major, ..]| major != 1);
    is_denied || is_command && (is_modern || content.starts_with("<tool_use_error>"))
}

/// What a call did. `may_commit` tells of a command whether it may have made commits.
pub(super) fn effect(
    content: &str,
    fields: &Raw<'_>,
    is_error: bool,
    origin: &Origin<'_>,
    may_commit: Option<bool>,
) -> Effect {
    let interrupted = is_true(fields, "interrupted");
    let outcome = match is_error {
        false if !text(fields, "backgroundTaskId").is_empty() => CallOutcome::Background,
        false if interrupted => CallOutcome::Failed,
        false => CallOutcome::Ok,
        // It stays refused, whatever the text says.
        true if origin.refused_by.is_some() => CallOutcome::Refused,
        true if interrupted || code_in(content).is_some() => CallOutcome::Failed,
        true if is_refusal(content, origin, may_commit.is_some()) => CallOutcome::Refused,
        true => CallOutcome::Failed,
    };
    let mut effect = Effect { outcome: Some(outcome), ..Effect::default() };
    match (outcome, may_commit) {
        (CallOutcome::Refused, _) => effect.refusal = refusal(content, origin),
        (CallOutcome::Failed, Some(_)) => effect.exit_code = code_in(content),
        (CallOutcome::Ok, Some(may_commit)) => {
            // Else the text says why another code is no failure.
            effect.exit_code = text(fields, "returnCodeInterpretation").is_empty().then_some(0);
            if let Some(diff @ Raw::Object(_)) = fields.get("bashEditDiff") {
                add_diff(diff, &mut effect);
            }
            if may_commit {
                // The text for the model may be cut.
                let stdout = text(fields, "stdout");
                effect.git = git::commits(if stdout.is_empty() { content } else { stdout });
            }
            if let Some(told) = fields.get("gitOperation") {
                add_operations(told, &mut effect.git);
            }
        }
        _ => {}
    }
    effect
}

/// The number in `Exit code N` at the beginning of a text.
fn code_in(content: &str) -> Option<i64> {
    let rest = content.strip_prefix("Exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Adds the operations of `gitOperation` of a result to the commits that are known by what the command printed, which
/// has their titles.
fn add_operations(operation: &Raw<'_>, known: &mut Vec<GitOperation>) {
    let text = |part: &str, key: &str| operation.get(part)?.get(key)?.as_str();
    let word = |part: &str, key: &str| text(part, key).map(|text| beginning(text, 40));
    if let Some(told) = text("commit", "sha").and_then(GitOperation::commit) {
        let place = known.iter().position(|one| one.kind == GitKind::Commit && one.id == told.id);
        let place = place.unwrap_or_else(|| {
            known.push(told);
            known.len() - 1
        });
        known[place].action = word("commit", "kind").filter(|kind| kind != "committed");
    }
    if let Some(branch) = text("push", "branch") {
        known.push(GitOperation::of_branch(GitKind::Push, branch));
    }
    if let Some(branch) = text("branch", "ref") {
        let is_rebase = text("branch", "action") == Some("rebased");
        let kind = if is_rebase { GitKind::Rebase } else { GitKind::Merge };
        known.push(GitOperation::of_branch(kind, branch));
    }
    if let Some(fields @ Raw::Object(_)) = operation.get("pr") {
        let number = fields.get("number").and_then(|number| number.to_json().as_u64());
        let told = text("pr", "url").and_then(GitOperation::pull_request);
        let told = told.unwrap_or_else(|| GitOperation { number, ..GitOperation::new(GitKind::PullRequest) });
        known.push(GitOperation { action: word("pr", "action"), ..told });
    }
}
