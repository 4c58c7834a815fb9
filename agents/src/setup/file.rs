//! Writing files of our own, which an agent may run meanwhile.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Makes BYTES the contents of FILE in one step, with PERMISSIONS if given.
pub fn write(file: &Path, bytes: &[u8], permissions: Option<Permissions>) -> Result<(), String> {
    let new = PathBuf::from(format!("{}.{}.new", file.display(), std::process::id()));
    let write = || {
        fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
        let mut output = OpenOptions::new().write(true).create_new(true).open(&new)?;
        output.write_all(bytes)?;
        permissions.map_or(Ok(()), |permissions| output.set_permissions(permissions))?;
        fs::rename(&new, file)
    };
    write().map_err(|error: std::io::Error| {
        let _ = fs::remove_file(&new);
        format!("{} cannot be written: {error}", file.display())
    })
}

/// Copies the program FROM to TO, unless TO has the same bytes.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", from.display());
    let bytes = fs::read(from).map_err(cannot)?;
    if fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    write(to, &bytes, Some(fs::metadata(from).map_err(cannot)?.permissions()))
}

/// Deletes FILE, if it is there.
pub fn delete(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{} cannot be deleted: {error}", file.display()))
        }
        _ => Ok(()),
    }
}
