//! Where the daemon's socket is, and whether it is the user's alone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::hub::door::place::{Kind, connection, is_private};

/// The daemon's socket below the folder of Codex.
const SOCKET: &str = "app-server-control/app-server-control.sock";

/// Connects to the daemon of a folder of Codex; `None` if it has none, or one that another user could have
/// made or can reach. That never waits.
pub(super) fn connect(folder: &Path) -> Option<UnixStream> {
    let stream = connection(&socket(folder)?).ok()?;
    is_own(&stream).then_some(stream)
}

/// The daemon's socket, which may be behind one link of the user's.
fn socket(folder: &Path) -> Option<PathBuf> {
    let named = folder.join(SOCKET);
    let data = fs::symlink_metadata(&named).ok()?;
    let own = geteuid().as_raw();
    let file =
        if data.is_symlink() && data.uid() == own { fs::read_link(&named).ok()? } else { named.clone() };
    let is_whole = file.is_absolute() && !file.components().any(|part| part.as_os_str() == "..");
    let is_safe = is_whole
        && is_private(named.parent()?, Kind::Folder)
        && is_private(file.parent()?, Kind::Folder)
        && is_private(&file, Kind::Socket);
    is_safe.then_some(file)
}

/// Whether a process of the user listens at the other end.
#[cfg(target_os = "linux")]
fn is_own(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == geteuid())
}

/// This system does not tell who listens. The folders are the user's.
#[cfg(not(target_os = "linux"))]
fn is_own(_stream: &UnixStream) -> bool {
    true
}
