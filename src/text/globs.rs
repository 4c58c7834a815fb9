//! Globs of files and folders.
//!
//! `*` and `?` match no slash, and `?` matches one byte. `**` matches any number of folders. `[ab]` and `{a,b}`
//! are alternatives.

use fast_glob::glob_match;

/// Number of bytes of the longest names that systems take.
const LONGEST: usize = 4096;

/// Whether a glob matches a file or a folder above it: one without a slash any part of the name, another
/// one the name from its beginning. `!` at the beginning, which would match all others, matches nothing.
///
/// ```
/// # use todo_write::text::globs::matches;
/// assert!(matches("*.pem", "/home/me/keys.pem/old") && !matches("*.pem", "/home/me/pem"));
/// assert!(matches("/home/*/keys", "/home/me/keys/a") && !matches("/home/*/keys", "/home/keys"));
/// ```
pub fn matches(glob: &str, path: &str) -> bool {
    if glob.starts_with('!') {
        return false;
    }
    if !glob.contains('/') {
        return path.split('/').any(|part| glob_match(glob, part));
    }
    let ends = memchr::memchr_iter(b'/', path.as_bytes()).chain([path.len()]);
    ends.filter(|end| *end > 0).take_while(|end| *end <= LONGEST).any(|end| glob_match(glob, &path[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It would take hours if its time grew with the square of its length.
    #[test]
    fn a_glob_is_compared_with_a_long_name_in_time() {
        assert!(!matches("/**/secret", &"/a".repeat(500_000)));
    }

    #[test]
    fn globs_match_files_folders_and_what_is_below_them() {
        for (glob, path, expected) in [
            (".env", "/p/.env", true),
            (".env", "/p/.environment", false),
            (".env.*", "/p/.env.local", true),
            ("*.pem", "/p/keys/a.pem", true),
            ("secret", "/p/secret/a/b", true),
            ("/home/me/secret", "/home/me/secret/a", true),
            ("/home/me/secret", "/home/me/secrets", false),
            ("/home/*/secret", "/home/me/secret", true),
            ("/home/*/secret", "/home/me/you/secret", false),
            ("/home/**/secret", "/home/me/you/secret", true),
            ("/home/**/secret", "/home/me/you/secrets", false),
            ("**/secret/*.?", "/home/secret/a.e/b", true),
            ("**/secret/*.?", "/home/secret/a/b.c", false),
            ("/a*b*/c", "/abab/c/d", true),
            ("/a?*", "/a/b", false),
            ("{a,b}.key", "/p/b.key", true),
            ("!.env", "/p/a", false),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} {path}");
        }
    }
}
