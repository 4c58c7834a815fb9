//! The user's prompts.

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

/// The text between two tags.
pub fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
}
