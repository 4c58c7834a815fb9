//! The sockets at which an Emacs may listen.

use std::fs::symlink_metadata;
use std::path::{Path, PathBuf};

use todo_write::hub::door::{is_private_folder, is_private_socket, usual};
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
    if symlink_metadata(socket).is_err() {
        return Err(None);
    }
    if is_private_folder(folder) && is_private_socket(socket) {
        return Ok(());
    }
    Err(Some(format!(
        "The socket {name} or its folder is not the user's alone; go on without the list, and tell the user."
    )))
}
