//! Edits that replace parts of a text, as Claude Code's tools make them.
//!
//! The arguments of a call are short, but their result may be huge: each occurrence of one letter can be
//! replaced by a page. So matches are counted and sizes added before anything is replaced.

use crate::text::lines::{LARGEST, MOST_LINES, compare_within};

/// The largest number of edits of one call that are applied or compared.
pub const MOST_EDITS: usize = 50;

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text that is replaced, or nothing for the whole of a new file.
    pub old: String,
    /// The text that comes in its place.
    pub new: String,
    /// Whether each occurrence is replaced, or only the first.
    pub all: bool,
}

/// Why edits were not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotApplied {
    /// A text to be replaced does not occur.
    Missing,
    /// There are more than [`MOST_EDITS`] edits, or a text is larger than [`LARGEST`] before or after one.
    TooLarge,
}

/// The text after edits, in order.
///
/// ```
/// # use todo_write::events::edit::{Edit, NotApplied, apply};
/// let edit = |old: &str, new: &str, all| Edit { old: old.into(), new: new.into(), all };
/// assert_eq!(apply("one\none\n", &[edit("one", "1", true), edit("1\n", "", false)]).as_deref(), Ok("1\n"));
/// assert_eq!(apply("aaa", &[edit("a", &"b".repeat(400_000), true)]), Err(NotApplied::TooLarge));
/// ```
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, NotApplied> {
    if edits.len() > MOST_EDITS || text.len() > LARGEST {
        return Err(NotApplied::TooLarge);
    }
    edits.iter().try_fold(text.to_owned(), |text, edit| edit.applied(&text))
}

/// The hunks of each pair of an old and a new text, or none if they are too many or too large to be
/// compared within the bound of one comparison.
pub fn compare_all(pairs: &[(&str, &str)]) -> Option<Vec<String>> {
    let size = |side: fn(&(&str, &str)) -> usize| pairs.iter().map(side).sum::<usize>();
    if pairs.len() > MOST_EDITS || size(|(old, _)| old.len()).max(size(|(_, new)| new.len())) > LARGEST {
        return None;
    }
    let mut left = MOST_LINES;
    Some(pairs.iter().map(|(old, new)| compare_within(&mut left, old, new).hunks).collect())
}

impl Edit {
    fn applied(&self, text: &str) -> Result<String, NotApplied> {
        if self.old.is_empty() {
            return if text.is_empty() {
                within(self.new.len()).map(|()| self.new.clone())
            } else {
                Err(NotApplied::Missing)
            };
        }
        // An empty text also takes the line feed with it.
        let line = format!("{}\n", self.old);
        let takes_line = self.new.is_empty() && !self.old.ends_with('\n') && text.contains(&line);
        let gone = if takes_line { &line } else { &self.old };
        let count = text.matches(gone.as_str()).take(if self.all { usize::MAX } else { 1 }).count();
        if count == 0 {
            return Err(NotApplied::Missing);
        }
        let rest = text.len() - count * gone.len();
        within(rest.saturating_add(count.saturating_mul(self.new.len())))?;
        Ok(text.replacen(gone, &self.new, count))
    }
}

fn within(size: usize) -> Result<(), NotApplied> {
    if size <= LARGEST { Ok(()) } else { Err(NotApplied::TooLarge) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit { old: old.into(), new: new.into(), all }
    }

    #[test]
    fn the_size_of_a_result_is_known_before_anything_is_replaced() {
        let text = "a".repeat(LARGEST);
        // The result would have a terabyte.
        assert_eq!(apply(&text, &[edit("a", &text, true)]), Err(NotApplied::TooLarge));
        assert_eq!(apply(&text, &[edit("a", "bb", false)]), Err(NotApplied::TooLarge));
        assert_eq!(apply(&text, &[edit("a", "b", true)]), Ok("b".repeat(LARGEST)));
        assert_eq!(apply("a", &vec![edit("a", "aa", true); 26]), Err(NotApplied::TooLarge));
    }

    #[test]
    fn only_so_many_edits_of_a_text_that_is_not_too_large_are_applied() {
        let edits = |count| vec![edit("a", "a", false); count];
        assert!(apply("a", &edits(MOST_EDITS)).is_ok());
        assert_eq!(apply("a", &edits(MOST_EDITS + 1)), Err(NotApplied::TooLarge));
        assert_eq!(apply(&"a".repeat(LARGEST + 1), &[]), Err(NotApplied::TooLarge));
    }

    #[test]
    fn an_edit_that_does_not_occur_is_not_applied() {
        assert_eq!(apply("a", &[edit("b", "c", false)]), Err(NotApplied::Missing));
        assert_eq!(apply("a", &[edit("", "c", false)]), Err(NotApplied::Missing));
        assert_eq!(apply("", &[edit("", "c", false)]).as_deref(), Ok("c"));
    }
}
