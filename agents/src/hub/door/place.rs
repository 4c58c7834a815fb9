//! The socket's file: where it is, who may use it, and who listens to it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::geteuid;

use todo_write::wire::program::DoorState as State;

/// The environment variable of tests that names the folder of the usual socket.
const SANDBOX: &str = "TODO_WRITE_SANDBOX";
/// The size in bytes from which on systems refuse a name.
const LONGEST_NAME: usize = 100;

/// The usual socket, by the same rule for all programs of this user.
pub fn usual() -> PathBuf {
    if let Some(sandbox) = std::env::var_os(SANDBOX) {
        return Path::new(&sandbox).join("socket");
    }
    let user = geteuid().as_raw();
    let run = PathBuf::from(format!("/run/user/{user}"));
    if is_private_folder(&run) {
        return run.join("todo-write/socket");
    }
    format!("/tmp/todo-write-{user}/socket").into()
}

/// The file beside another one that has its name and this suffix.
pub fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// The socket of this process. Its file is deleted with this.
pub(super) struct Held {
    file: PathBuf,
    /// The device and number of the file.
    made: (u64, u64),
    /// The file beside it that who has the socket locks, and in which the process of its Emacs stands.
    _lock: File,
}

impl Drop for Held {
    fn drop(&mut self) {
        // The user may have deleted it with its lock, and another process have made one since.
        if identity(&self.file).is_ok_and(|there| there == self.made) {
            // The thread that accepts connections gets a last one.
            let _ = connection(&self.file);
            // It is gone, or of no use to others.
            let _ = fs::remove_file(&self.file);
        }
    }
}

/// The device and number of a file.
fn identity(file: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(file).map(|data| (data.dev(), data.ino()))
}

/// Listens to a socket for the Emacs of a process, unless another one has it. The system ends the lock of a process
/// that ends.
/// The error is who has it, or why it cannot be opened.
pub(super) fn enter(file: &Path, emacs: Option<u32>) -> Result<(UnixListener, Held), State> {
    prepare(file).map_err(State::Failed)?;
    let failed = |error| State::Failed(format!("The socket {} cannot be opened: {error}", file.display()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut lock = options.open(beside(file, "lock")).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            lock.take(20).read_to_string(&mut process).map_err(failed)?;
            return Err(State::Client(process.parse().ok()));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let listen = || {
        lock.set_len(0)?;
        write!(lock, "{}", emacs.map_or_else(String::new, |emacs| emacs.to_string()))?;
        // It gets its name once it has its mode. An earlier process may have left one under either name.
        let aside = beside(file, "new");
        let _ = fs::remove_file(&aside);
        let listener = UnixListener::bind(&aside)?;
        fs::set_permissions(&aside, Permissions::from_mode(0o700))?;
        fs::rename(&aside, file)?;
        let made = identity(file)?;
        Ok((listener, Held { file: file.to_owned(), made, _lock: lock }))
    };
    listen().map_err(failed)
}

/// Makes the folder of a socket, and checks that only this user can use both.
fn prepare(file: &Path) -> Result<(), String> {
    let name = file.display();
    let folder = file.parent().unwrap_or(Path::new("/"));
    if file.as_os_str().len() >= LONGEST_NAME {
        return Err(format!("The socket's name {name} is 100 bytes or longer; set todo-write-socket"));
    }
    make_private(folder)?;
    if fs::symlink_metadata(file).is_ok() && !is_private_socket(file) {
        return Err(format!("{name} is not a socket of yours alone"));
    }
    Ok(())
}

/// Makes a folder that no other user can use, unless it is there.
/// The error is a sentence, also about one that others can use.
pub fn make_private(folder: &Path) -> Result<(), String> {
    if fs::symlink_metadata(folder).is_err() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| format!("The folder {} cannot be made: {error}", folder.display()))?;
    }
    if is_private_folder(folder) {
        return Ok(());
    }
    Err(format!("The folder {} must be yours alone, with mode 0700", folder.display()))
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
