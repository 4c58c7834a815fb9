//! Where Emacs may listen: its own sockets, sockets that SSH forwards here, and TCP ports.
//!
//! The server's sshd never removes a forwarded socket, and cannot replace one unless its settings say
//! so. So each connection by SSH gets a name of its own in the folder `~/.todo-write`; this module takes
//! the newest one first, and removes those to which nothing listens. For a TCP port, that folder holds
//! the token, `PORT.token`.

use std::fs::{Metadata, read_dir, remove_file, symlink_metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// The environment variable of tests that names the folder of the usual socket.
const SANDBOX: &str = "TODO_WRITE_SANDBOX";
/// A socket refuses connections in the moment between its creation and its use.
const GRACE: Duration = Duration::from_secs(10);
/// Maximum size of a file with a token.
const LARGEST_TOKEN: u64 = 1000;

/// Where an Emacs may listen.
#[derive(Clone, Debug, PartialEq)]
pub enum Door {
    /// A socket of Emacs on this machine, or mounted from another one.
    Socket(PathBuf),
    /// A socket that SSH forwards.
    Forwarded(PathBuf),
    /// A port on the loopback interface, and the file with its token.
    Port(u16, PathBuf),
}

/// The two directions of a connection.
pub type Streams = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

impl Door {
    /// The doors to try if none was given, the likeliest first.
    pub fn usual() -> Vec<Door> {
        let folders = match std::env::var(SANDBOX) {
            Ok(sandbox) => vec![sandbox],
            Err(_) => own_uid().map_or_else(Vec::new, |uid| {
                vec![format!("/run/user/{uid}/todo-write"), format!("/tmp/todo-write-{uid}")]
            }),
        };
        let own = folders.into_iter().map(|folder| Door::Socket(Path::new(&folder).join("socket")));
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        own.chain(home.into_iter().flat_map(|home| forwarded(&Path::new(&home).join(".todo-write"))))
            .collect()
    }

    /// Connects; the error is a sentence if this door must not be used, and none if nothing listens.
    pub async fn open(&self) -> Result<Streams, Option<String>> {
        match self {
            Door::Socket(file) | Door::Forwarded(file) => {
                check(file)?;
                match UnixStream::connect(file).await {
                    Ok(stream) => {
                        let (input, output) = stream.into_split();
                        Ok((Box::new(input), Box::new(output)))
                    }
                    Err(error) => {
                        if matches!(self, Door::Forwarded(_)) && error.kind() == ErrorKind::ConnectionRefused
                        {
                            remove_dead(file);
                        }
                        Err(None)
                    }
                }
            }
            Door::Port(port, _) => {
                let stream = TcpStream::connect(("127.0.0.1", *port)).await.map_err(|_| None)?;
                let (input, output) = stream.into_split();
                Ok((Box::new(input), Box::new(output)))
            }
        }
    }

    /// The token that Emacs asks for at this door; none for a socket. The error is a sentence.
    pub fn token(&self) -> Result<Option<String>, String> {
        let Door::Port(_, file) = self else { return Ok(None) };
        let is_token = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_ours = |data: &Metadata| data.is_file() && data.len() < LARGEST_TOKEN && is_private(data);
        symlink_metadata(file)
            .ok()
            .filter(is_ours)
            .and_then(|_| std::fs::read_to_string(file).ok())
            .map(|text| text.trim().to_owned())
            .filter(is_token)
            .map(Some)
            .ok_or_else(|| {
                format!("{} is not a token that only the user can read; tell the user.", file.display())
            })
    }

    /// Whether this is a tunnel and a newer one is among DOORS, which come newest first.
    pub fn has_newer(&self, doors: &[Door]) -> bool {
        let is_tunnel = |door: &&Door| !matches!(door, Door::Socket(_));
        is_tunnel(&self) && doors.iter().find(is_tunnel).is_some_and(|newest| newest != self)
    }

    /// Whether Emacs has something to tell the session whose file in the folder `told` is NAME. None if that
    /// cannot be known here: the socket exists without the folder, as when it is mounted from another
    /// machine, or it is a tunnel.
    pub fn has_news(&self, name: &str) -> Option<bool> {
        match self {
            Door::Socket(file) => {
                let told = file.with_file_name("told");
                (told.is_dir() || !file.exists()).then(|| told.join(name).exists())
            }
            Door::Forwarded(_) | Door::Port(..) => None,
        }
    }
}

/// The doors in FOLDER, newest first.
fn forwarded(folder: &Path) -> Vec<Door> {
    let mut doors: Vec<(Option<SystemTime>, Door)> = read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.path();
            let door = match file.extension()?.to_str()? {
                "socket" => Door::Forwarded(file.clone()),
                "token" => Door::Port(file.file_stem()?.to_str()?.parse().ok()?, file.clone()),
                _ => return None,
            };
            Some((symlink_metadata(&file).ok()?.modified().ok(), door))
        })
        .collect();
    // A token stays there for months, so its age says nothing about the connection.
    doors.sort_by_key(|(time, door)| (matches!(door, Door::Port(..)), std::cmp::Reverse(*time)));
    doors.into_iter().map(|(_, door)| door).collect()
}

/// Removes the socket FILE, to which nothing listens, unless it is new.
fn remove_dead(file: &Path) {
    let age = symlink_metadata(file).and_then(|data| data.modified()).ok();
    if age.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > GRACE) {
        let _ = remove_file(file);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions, create_dir, set_permissions};
    use std::os::unix::net::UnixListener;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("door-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        create_dir(&folder).unwrap();
        set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        folder
    }

    fn age(file: &Path, seconds: u64) {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        let status = std::process::Command::new("touch")
            .arg("-d")
            .arg(format!("@{}", time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()))
            .arg(file)
            .status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn forwarded_sockets_come_newest_first_and_ports_last() {
        let folder = folder("order");
        for (name, seconds) in [("a.socket", 300), ("b.socket", 100), ("c.socket", 200), ("4711.token", 0)] {
            File::create(folder.join(name)).unwrap();
            age(&folder.join(name), seconds);
        }
        for name in ["x", "told", "word.token", "99999.token"] {
            File::create(folder.join(name)).unwrap();
        }
        let socket = |name: &str| Door::Forwarded(folder.join(name));
        let port = Door::Port(4711, folder.join("4711.token"));
        assert_eq!(forwarded(&folder), [socket("b.socket"), socket("c.socket"), socket("a.socket"), port]);
    }

    #[test]
    fn only_a_tunnel_has_a_newer_door() {
        let [own, other] = ["/run/socket", "/tmp/socket"].map(|file| Door::Socket(file.into()));
        let [new, old] = ["new.socket", "old.socket"].map(|file| Door::Forwarded(file.into()));
        let port = Door::Port(4711, "4711.token".into());
        let doors = [own, other, new, old, port];
        let have_newer = doors.each_ref().map(|door| door.has_newer(&doors));
        assert_eq!(have_newer, [false, false, false, true, true]);
        assert!(!doors[4].has_newer(&doors[..2]), "no tunnel is left");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn dead_forwarded_sockets_are_removed_and_no_others() {
        let folder = folder("dead");
        let [old, new, own] = ["old.socket", "new.socket", "socket"].map(|name| folder.join(name));
        for file in [&old, &new, &own] {
            drop(UnixListener::bind(file).unwrap());
            set_permissions(file, Permissions::from_mode(0o600)).unwrap();
        }
        age(&old, 60);
        age(&own, 60);
        for door in [Door::Forwarded(old.clone()), Door::Forwarded(new.clone()), Door::Socket(own.clone())] {
            assert!(matches!(door.open().await, Err(None)));
        }
        assert_eq!([old.exists(), new.exists(), own.exists()], [false, true, true]);
        let live = folder.join("live.socket");
        let _listener = UnixListener::bind(&live).unwrap();
        set_permissions(&live, Permissions::from_mode(0o600)).unwrap();
        age(&live, 60);
        assert!(Door::Forwarded(live).open().await.is_ok());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_token_that_others_can_read_is_not_used() {
        let folder = folder("token");
        let file = folder.join("4711.token");
        let door = Door::Port(4711, file.clone());
        std::fs::write(&file, "0123456789abcdef".repeat(4) + "\n").unwrap();
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(door.token(), Ok(Some("0123456789abcdef".repeat(4))));
        set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(door.token().unwrap_err().contains("only the user can read"));
        std::fs::write(&file, "short").unwrap();
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert!(door.token().is_err());
    }
}
