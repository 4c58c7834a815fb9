//! The folder `told` beside the socket. An empty file in it lets the hook of a session ask Emacs.
//!
//! Users choose the folder of the socket, and what is in it may be replaced at any moment. So all is done
//! by the descriptors of that folder and of `told`, no link is followed, and only empty files of sessions
//! are deleted.

use std::io;
use std::path::Path;

/// Makes the folder in `folder`, if it is missing.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if `folder` is not this user's alone, or the error of the system.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    system::make(folder)
}

/// Makes the file `name`, or deletes it unless `is_wanted`. The folder must exist.
///
/// # Errors
/// As [`make`], and [`io::ErrorKind::InvalidInput`] for a name that no session has.
pub(crate) fn set(folder: &Path, name: &str, is_wanted: bool) -> io::Result<()> {
    if !is_name(name.as_bytes()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    system::set(folder, name, is_wanted)
}

/// Deletes the files of sessions and, if nothing else is in it, the folder.
///
/// # Errors
/// As [`make`].
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    system::remove(folder)
}

/// The name of the file of a session.
pub fn name_of(session: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    session.chars().take(100).map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

fn is_name(name: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.iter().all(is_plain)
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
    use rustix::io::Errno;

    const NAME: &str = "told";
    const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    pub(super) fn make(folder: &Path) -> io::Result<()> {
        match mkdirat(private(folder)?, NAME, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn set(folder: &Path, name: &str, is_wanted: bool) -> io::Result<()> {
        let told = openat(private(folder)?, NAME, FOLDER, Mode::empty())?;
        if !is_wanted {
            return Ok(delete(&told, name.as_bytes())?);
        }
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match openat(&told, name, new, Mode::RUSR | Mode::WUSR) {
            Ok(_) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn remove(folder: &Path) -> io::Result<()> {
        let folder = private(folder)?;
        let told = openat(&folder, NAME, FOLDER, Mode::empty())?;
        for entry in Dir::read_from(&told)? {
            let entry = entry?;
            if super::is_name(entry.file_name().to_bytes()) {
                delete(&told, entry.file_name().to_bytes())?;
            }
        }
        match unlinkat(&folder, NAME, AtFlags::REMOVEDIR) {
            // Something else is in it.
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the folder of the socket.
    fn private(folder: &Path) -> io::Result<OwnedFd> {
        let folder = openat(CWD, folder, FOLDER, Mode::empty())?;
        let data = fstat(&folder)?;
        let is_ours = data.st_uid == rustix::process::geteuid().as_raw();
        if is_ours && !Mode::from_raw_mode(data.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
            Ok(folder)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }

    /// Deletes a file if it is empty.
    fn delete(told: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        match statat(told, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(data)
                if data.st_size == 0 && FileType::from_raw_mode(data.st_mode) == FileType::RegularFile =>
            {
                unlinkat(told, name, AtFlags::empty())
            }
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Without sockets in folders, no hook asks.
#[cfg(not(unix))]
mod system {
    use std::io;
    use std::path::Path;

    pub(super) fn make(_folder: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn set(_folder: &Path, _name: &str, _is_wanted: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn remove(_folder: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_session_names_a_file_elsewhere() {
        assert_eq!(name_of("5e55-a000"), "5e55-a000");
        assert_eq!(name_of("../../x.y\0/ü"), "______x_y___");
        assert_eq!(name_of(&"x".repeat(1000)).len(), 100);
    }
}
