//! The folder `told` beside the socket. An empty file in it lets the hook of a session ask Emacs.
//!
//! The folder of the socket is the user's alone, but the user chose it: only empty files are deleted.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The folder beside a socket.
fn folder(socket: &Path) -> PathBuf {
    socket.with_file_name("told")
}

/// The file of a session beside a socket.
fn file(socket: &Path, session: &str) -> PathBuf {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let plain = |letter| if is_plain(letter) { letter } else { '_' };
    folder(socket).join(session.chars().take(100).map(plain).collect::<String>())
}

/// Makes the folder. Without it, hooks ask each time.
#[cfg(unix)]
pub(crate) fn make(socket: &Path) {
    let _ = fs::create_dir(folder(socket));
}

/// Makes the file of a session, or deletes it unless `is_wanted`. Without the file, the hook does not ask;
/// there is nothing to say to the user.
pub(crate) fn set(socket: &Path, session: &str, is_wanted: bool) {
    let file = file(socket, session);
    let _ = if is_wanted { File::create_new(&file).map(drop) } else { delete(&file) };
}

/// Whether Emacs has something to tell a session. None if that cannot be known here: the socket exists
/// without the folder.
pub fn has_news(socket: &Path, session: &str) -> Option<bool> {
    let is_known = folder(socket).is_dir() || !socket.exists();
    is_known.then(|| file(socket, session).exists())
}

/// Deletes the files of sessions and, if nothing else is in it, the folder.
#[cfg(unix)]
pub(crate) fn remove(socket: &Path) {
    let folder = folder(socket);
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let _ = delete(&entry.path());
    }
    let _ = fs::remove_dir(folder);
}

/// Deletes a file if it is empty.
fn delete(file: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(file)?;
    if data.is_file() && data.len() == 0 { fs::remove_file(file) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_session_names_a_file_elsewhere() {
        let name = |session: &str| file(Path::new("/run/socket"), session);
        assert_eq!(name("5e55-a000"), Path::new("/run/told/5e55-a000"));
        assert_eq!(name("../../x.y\0/ü"), Path::new("/run/told/______x_y___"));
        assert_eq!(name(&"x".repeat(1000)).as_os_str().len(), "/run/told/".len() + 100);
    }
}
