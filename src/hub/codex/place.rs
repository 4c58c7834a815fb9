//! Where the daemon's socket is, and whether it is the user's alone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::hub::door::place::{connection, is_private_folder, is_private_socket};

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
        && is_private_folder(named.parent()?)
        && is_private_folder(file.parent()?)
        && is_private_socket(&file);
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
