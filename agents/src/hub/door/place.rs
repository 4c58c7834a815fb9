//! The socket's file: where it is, who may use it, and who listens to it.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::geteuid;

/// The environment variable of tests that names the folder of the usual socket.
const SANDBOX: &str = "TODO_WRITE_SANDBOX";
/// The size in bytes from which on systems refuse a name.
const LONGEST_NAME: usize = 100;

/// The usual sockets: the first is the one to open, and all may have one that is open.
pub fn usual() -> Vec<PathBuf> {
    if let Some(sandbox) = std::env::var_os(SANDBOX) {
        return vec![Path::new(&sandbox).join("socket")];
    }
    let user = geteuid().as_raw();
    let run = PathBuf::from(format!("/run/user/{user}"));
    let own = PathBuf::from(format!("/tmp/todo-write-{user}/socket"));
    if is_private_folder(&run) { vec![run.join("todo-write/socket"), own] } else { vec![own] }
}

/// What is at a socket's file.
#[derive(Debug)]
pub(super) enum Entered {
    /// This process listens to it.
    Open(UnixListener),
    /// Another process does; the connection to it.
    Client(UnixStream),
    /// Another process does, and has no time.
    Busy,
}

/// What a process has of a socket while its thread uses it.
#[derive(Debug, Default)]
pub(super) enum Held {
    #[default]
    Nothing,
    /// The device and number of the file that it made.
    File((u64, u64)),
    /// The connection to the process that listens.
    Client(UnixStream),
}

impl Held {
    /// Gives it back, which ends what the thread waits for. The file is deleted if it is still this one.
    pub(super) fn leave(self, file: &Path) {
        match self {
            Held::File(made) if identity(file).is_ok_and(|there| there == made) => {
                // The thread that accepts connections gets a last one.
                let _ = connection(file);
                // It is gone, or of no use to others.
                let _ = fs::remove_file(file);
            }
            Held::Client(stream) => drop(stream.shutdown(Shutdown::Both)),
            Held::File(_) | Held::Nothing => {}
        }
    }
}

/// The device and number of a file.
fn identity(file: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(file).map(|data| (data.dev(), data.ino()))
}

/// Listens to a socket, or connects to the process that does.
pub(super) fn enter(file: &Path) -> Result<(Entered, Held), String> {
    // Doors of one process have one name for what they make aside.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    prepare(file)?;
    // Another process may open it at the same time.
    for _ in 0..3 {
        match connection(file) {
            Ok(stream) => {
                let held = stream.try_clone().map_or(Held::Nothing, Held::Client);
                return Ok((Entered::Client(stream), held));
            }
            Err(Errno::AGAIN) => return Ok((Entered::Busy, Held::Nothing)),
            Err(Errno::CONNREFUSED) => delete_stale(file).map_err(|error| said(file, &error))?,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(said(file, &error.into())),
        }
        match listen(file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map_err(|error| said(file, &error)),
        }
    }
    Ok((Entered::Busy, Held::Nothing))
}

fn said(file: &Path, error: &io::Error) -> String {
    format!("The socket {} cannot be opened: {error}", file.display())
}

/// Makes the folder of a socket, and checks that only this user can use both.
fn prepare(file: &Path) -> Result<(), String> {
    let name = file.display();
    let folder = file.parent().unwrap_or(Path::new("/"));
    if file.as_os_str().len() >= LONGEST_NAME {
        return Err(format!("The socket's name {name} is 100 bytes or longer; set todo-write-socket"));
    }
    if fs::symlink_metadata(folder).is_err() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| format!("The folder {} cannot be made: {error}", folder.display()))?;
    }
    if !is_private_folder(folder) {
        return Err(format!("The folder {} must be yours alone, with mode 0700", folder.display()));
    }
    if fs::symlink_metadata(file).is_ok() && !is_private_socket(file) {
        return Err(format!("{name} is not a socket of yours alone"));
    }
    Ok(())
}

/// Whether there is a folder that no other user can use. Links are not followed.
pub fn is_private_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir() && is_private(&data))
}

/// Whether there is a socket that no other user can use. Links are not followed.
pub fn is_private_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket() && is_private(&data))
}

fn is_private(data: &Metadata) -> bool {
    data.uid() == geteuid().as_raw() && data.mode() & 0o077 == 0
}

/// A connection to a socket. That never waits: a full queue is [`Errno::AGAIN`].
pub fn connection(file: &Path) -> Result<UnixStream, Errno> {
    let socket: OwnedFd = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    connect(&socket, &SocketAddrUnix::new(file)?)?;
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(UnixStream::from(socket))
}

/// Makes the socket under another name, so that no process meets it before it has its mode and can be reached.
fn listen(file: &Path) -> io::Result<(Entered, Held)> {
    let aside = aside(file);
    // An earlier process of this id may have left it.
    let _ = fs::remove_file(&aside);
    let made = || -> io::Result<_> {
        let listener = UnixListener::bind(&aside)?;
        fs::set_permissions(&aside, Permissions::from_mode(0o700))?;
        fs::hard_link(&aside, file)?;
        Ok((Entered::Open(listener), Held::File(identity(&aside)?)))
    };
    let made = made();
    // It is gone, or of no use to others.
    let _ = fs::remove_file(&aside);
    made
}

/// The name under which this process makes or deletes a socket.
fn aside(file: &Path) -> PathBuf {
    let mut aside = file.as_os_str().to_owned();
    aside.push(format!(".{}", std::process::id()));
    PathBuf::from(aside)
}

/// Deletes a socket to which nothing listens.
fn delete_stale(file: &Path) -> io::Result<()> {
    let aside = aside(file);
    match fs::rename(file, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    }
    // Another Emacs may have replaced the file since.
    if matches!(connection(&aside), Err(Errno::CONNREFUSED)) {
        fs::remove_file(&aside)
    } else {
        fs::rename(&aside, file)
    }
}
