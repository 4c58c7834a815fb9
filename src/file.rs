//! Opens files that others can place.
//!
//! Opening a pipe blocks until it has a writer, reading a device may never end, and any file may have
//! more bytes than memory. So this module's [`open`] is the only way to such a file, and every reader
//! has a bound.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Opens a regular file for reading. A link to one is followed.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file, or an error of the file system.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    // The type is checked after opening, since another file may take this one's place before that. The
    // flags keep the call from waiting for a writer, and a terminal from becoming the process's own.
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// The metadata of a regular file.
///
/// # Errors
/// As [`open`].
pub fn metadata(path: &Path) -> io::Result<fs::Metadata> {
    let data = fs::metadata(path)?;
    if data.is_file() { Ok(data) } else { Err(not_regular()) }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Reads the first bytes of a file, at most `most`.
///
/// # Errors
/// As [`open`].
pub fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    start_of(open(path)?, most)
}

fn start_of(file: File, most: u64) -> io::Result<Vec<u8>> {
    // Files in /proc do not tell their length, and reading would begin with a few bytes.
    let mut bytes = Vec::with_capacity(4_096);
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`] if it has more than `most` bytes, else as [`open`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, most)
}

fn read_open(file: File, most: u64) -> io::Result<Vec<u8>> {
    let bytes = start_of(file, most + 1)?;
    if bytes.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Reads a file as text.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if it is not UTF-8 or has a NUL, else as [`read`].
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text(read(path, most)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Reads the text of a file below a folder; `None` if there is no such file yet.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] if a link leads out of the folder, else as [`read_text`].
pub fn text_below(folder: &Path, path: &Path, most: u64) -> io::Result<Option<String>> {
    let (path, is_new) = true_name(path)?;
    let folder = fs::canonicalize(folder)?;
    let below = path.strip_prefix(&folder).map_err(|_| io::ErrorKind::PermissionDenied)?;
    if is_new { Ok(None) } else { text(read_open(open_below(&folder, below)?, most)?).map(Some) }
}

/// Opens a regular file by its name below a folder. No link is followed: a name that [`true_name`] returned has one
/// only if it was put there since.
#[cfg(unix)]
fn open_below(folder: &Path, below: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut file = File::from(openat(CWD, folder, flags | OFlags::DIRECTORY, Mode::empty())?);
    for name in below {
        let opened = openat(&file, name, flags | OFlags::NOFOLLOW, Mode::empty());
        file = File::from(opened.map_err(|error| match error {
            rustix::io::Errno::LOOP => io::ErrorKind::PermissionDenied.into(),
            error => io::Error::from(error),
        })?);
    }
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

#[cfg(not(unix))]
fn open_below(folder: &Path, below: &Path) -> io::Result<File> {
    open(&folder.join(below))
}

/// The name of a file without links, and whether it does not exist. Of one that does not, the folders that
/// do not exist either are as given.
fn true_name(path: &Path) -> io::Result<(PathBuf, bool)> {
    let mut above = path;
    loop {
        match fs::canonicalize(above) {
            Ok(found) if above == path => return Ok((found, false)),
            Ok(found) => return Ok((found.join(path.strip_prefix(above).unwrap_or(path)), true)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // A link that leads nowhere.
            Err(error) if above.is_symlink() => return Err(error),
            Err(error) => match (above.parent(), above.file_name()) {
                (Some(parent), Some(_)) => above = parent,
                // It ends with `..`, or is relative.
                _ => return Err(error),
            },
        }
    }
}

/// The coarsest resolution of modification times in use.
const CLOCK_TICK: Duration = Duration::from_secs(2);

/// Whether a later change certainly gets another modification time.
pub fn is_certain(modified: SystemTime) -> bool {
    modified.elapsed().is_ok_and(|age| age > CLOCK_TICK)
}

/// The modification time of a file.
pub fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_takes_the_place_of_a_file_or_folder_between_check_and_opening_is_not_followed() {
        let top = std::env::temp_dir().join(format!("todo-write-file-{}", std::process::id()));
        let (project, outside) = (top.join("project"), top.join("outside"));
        for folder in [&project.join("src"), &outside] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("a"), "text").unwrap();
        }
        let text = || text_below(&project, &project.join("src/a"), 10).unwrap();
        assert_eq!(text().as_deref(), Some("text"));
        let project = fs::canonicalize(&project).unwrap();
        let opened = || open_below(&project, Path::new("src/a")).map_err(|error| error.kind());
        assert!(opened().is_ok());
        // What was checked before is a link now: first the file, then its folder.
        fs::remove_file(project.join("src/a")).unwrap();
        symlink(outside.join("a"), project.join("src/a")).unwrap();
        assert_eq!(opened().unwrap_err(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(project.join("src")).unwrap();
        symlink(&outside, project.join("src")).unwrap();
        assert!(opened().is_err());
        fs::remove_dir_all(top).unwrap();
    }
}
