//! The user's prompts, and the titles that sessions without one take from them.

use crate::text::excerpt;

/// The text of a prompt without the markup that Claude Code puts around its own commands; none
/// where the user asked for nothing.
pub fn prompt(text: &str) -> Option<String> {
    if let Some(command) = inside(text, "command-name") {
        let arguments = inside(text, "command-args").unwrap_or_default();
        return Some(format!("{command} {arguments}").trim().to_owned());
    }
    let text = text.trim();
    let own = ["<local-command", "<bash-", "<system-reminder", "<task-notification", "Caveat: "];
    (!text.is_empty() && !own.iter().any(|start| text.starts_with(start))).then(|| text.to_owned())
}

/// The title that a prompt makes; none for a bare command such as `/clear`.
pub fn title(prompt: &str) -> Option<String> {
    if prompt.starts_with('/') && !prompt.contains(char::is_whitespace) {
        return None;
    }
    let plan = prompt.strip_prefix("Implement the following plan:").map(str::trim_start);
    let Some(plan) = plan else { return Some(excerpt(prompt, 80)) };
    let heading = plan.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let heading = heading.strip_prefix("Plan:").unwrap_or(heading).trim();
    (!heading.is_empty()).then(|| excerpt(heading, 80))
}

/// The text between two tags.
pub fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
}
