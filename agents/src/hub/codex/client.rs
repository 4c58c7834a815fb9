//! A connection to the daemon: JSON in the frames of a WebSocket on a Unix socket.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use serde::Deserialize;
use serde_json::Value;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, HandshakeError, Message, WebSocket, client::client_with_config};

use crate::hub::door::place::{connection, is_private_folder, is_private_socket};
use todo_write::wire::bounds::WAIT;

/// The daemon's socket below the folder of Codex.
const SOCKET: &str = "app-server-control/app-server-control.sock";
/// Maximum size in bytes of a message. The history of a thread is one.
const LARGEST: usize = 16 << 20;

/// A message of the daemon: a request has an id and a method, a notification a method, and the result of a call an id.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    /// Null for an error.
    pub(super) result: Value,
}

pub(super) struct Client(WebSocket<UnixStream>);

impl Client {
    /// Connects to the daemon of a folder of Codex, which has that time to answer.
    pub(super) fn connect(folder: &Path, time: Duration) -> Result<Client, Error> {
        let stream = connect(folder).ok_or(Error::ConnectionClosed)?;
        stream.set_read_timeout(Some(time))?;
        stream.set_write_timeout(Some(WAIT))?;
        let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
        let shaken = client_with_config("ws://localhost/", stream, Some(config));
        shaken.map(|(socket, _)| Client(socket)).map_err(|error| match error {
            HandshakeError::Interrupted(_) => Error::Io(ErrorKind::TimedOut.into()),
            HandshakeError::Failure(error) => error,
        })
    }

    /// The next message, for which this waits so long at most; `None` if it has not come as a whole.
    pub(super) fn next(&mut self, time: Duration) -> Result<Option<Said>, Error> {
        self.0.get_ref().set_read_timeout(Some(time))?;
        match self.0.read() {
            Ok(Message::Text(text)) => serde_json::from_str(&text).map_err(|_| Error::ConnectionClosed),
            Ok(_) => Ok(None),
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a call, a notification, or the answer to a request.
    pub(super) fn send(&mut self, message: &Value) -> Result<(), Error> {
        self.0.send(Message::text(message.to_string()))
    }
}

/// Connects to the daemon of a folder of Codex; `None` if it has none, or one that another user could have
/// made or can reach. That never waits.
fn connect(folder: &Path) -> Option<UnixStream> {
    let stream = connection(&socket(folder)?).ok()?;
    // Other systems do not tell who listens. The folders are the user's.
    #[cfg(target_os = "linux")]
    if rustix::net::sockopt::socket_peercred(&stream).ok()?.uid != geteuid() {
        return None;
    }
    Some(stream)
}

/// The daemon's socket, which may be behind one link of the user's.
fn socket(folder: &Path) -> Option<PathBuf> {
    let named = folder.join(SOCKET);
    let data = fs::symlink_metadata(&named).ok()?;
    let is_own_link = data.is_symlink() && data.uid() == geteuid().as_raw();
    let file = if is_own_link { fs::read_link(&named).ok()? } else { named.clone() };
    let is_whole = file.is_absolute() && !file.components().any(|part| part.as_os_str() == "..");
    let is_safe = is_whole
        && is_private_folder(named.parent()?)
        && is_private_folder(file.parent()?)
        && is_private_socket(&file);
    is_safe.then_some(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Makes the socket of a folder unsafe.
    type Spoil<'s> = &'s dyn Fn(&Path);

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_socket_that_others_could_have_made_is_not_used() {
        let cases: [(&str, Spoil<'_>); 7] = [
            ("", &|_| {}),
            ("the folder of the link", &|home| set_mode(&home.join("app-server-control"), 0o755)),
            ("the folder of the socket", &|home| set_mode(&home.join("run"), 0o770)),
            ("the socket", &|home| set_mode(&home.join("run/5ha"), 0o666)),
            ("a link to a link", &|home| {
                symlink(home.join("run/5ha"), home.join("run/again")).unwrap();
                fs::remove_file(home.join(SOCKET)).unwrap();
                symlink(home.join("run/again"), home.join(SOCKET)).unwrap();
            }),
            ("a relative link", &|home| {
                fs::remove_file(home.join(SOCKET)).unwrap();
                symlink("../run/5ha", home.join(SOCKET)).unwrap();
            }),
            ("a link by another folder", &|home| {
                fs::remove_file(home.join(SOCKET)).unwrap();
                symlink(home.join("app-server-control/../run/5ha"), home.join(SOCKET)).unwrap();
            }),
        ];
        let home = std::env::temp_dir().join(format!("todo-write-place-{}", std::process::id()));
        for (what, spoil) in cases {
            for folder in ["app-server-control", "run"] {
                fs::create_dir_all(home.join(folder)).unwrap();
                set_mode(&home.join(folder), 0o700);
            }
            let _listener = UnixListener::bind(home.join("run/5ha")).unwrap();
            set_mode(&home.join("run/5ha"), 0o600);
            symlink(home.join("run/5ha"), home.join(SOCKET)).unwrap();
            spoil(&home);
            assert_eq!(connect(&home).is_some(), what.is_empty(), "{what}");
            fs::remove_dir_all(&home).unwrap();
        }
    }
}
