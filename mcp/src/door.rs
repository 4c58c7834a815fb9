//! The sockets at which an Emacs may listen.

use std::fs::{Metadata, symlink_metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use todo_write::hub::door::usual;
use todo_write::told;
use tokio::net::UnixStream;

/// A socket of an Emacs.
#[derive(Clone, Debug, PartialEq)]
pub struct Door(pub PathBuf);

impl Door {
    /// The doors to try if none was given, the likeliest first.
    pub fn usual() -> Vec<Door> {
        usual().into_iter().map(Door).collect()
    }

    /// Connects; the error is a sentence if this door must not be used, and none if nothing listens.
    pub async fn open(&self) -> Result<UnixStream, Option<String>> {
        check(&self.0)?;
        UnixStream::connect(&self.0).await.map_err(|_| None)
    }

    /// Whether Emacs has something to tell a session. None if that cannot be known here: the socket exists
    /// without the folder.
    pub fn has_news(&self, session: &str) -> Option<bool> {
        let told = self.0.with_file_name("told");
        (told.is_dir() || !self.0.exists()).then(|| told.join(told::name_of(session)).exists())
    }
}

/// Checks that only this user can have made SOCKET. The error is a sentence if it may be another's, and
/// none if there is no socket.
fn check(socket: &Path) -> Result<(), Option<String>> {
    let name = socket.display();
    if socket.as_os_str().len() >= 100 {
        return Err(Some(format!(
            "The socket's name {name} is 100 bytes or longer; go on without the list."
        )));
    }
    let folder = socket.parent().unwrap_or(Path::new("/"));
    let (Ok(folder), Ok(file)) = (symlink_metadata(folder), symlink_metadata(socket)) else {
        return Err(None);
    };
    if folder.is_dir() && file.file_type().is_socket() && is_private(&folder) && is_private(&file) {
        return Ok(());
    }
    Err(Some(format!(
        "The socket {name} or its folder is not the user's alone; go on without the list, and tell the user."
    )))
}

/// Returns whether a file belongs to this user, and no other may use it.
fn is_private(file: &Metadata) -> bool {
    Some(file.uid()) == own_uid() && file.permissions().mode() & 0o077 == 0
}

/// The id of this process's user.
fn own_uid() -> Option<u32> {
    // The standard library only tells it of the other end of a socket.
    Some(UnixStream::pair().ok()?.0.peer_cred().ok()?.uid())
}
