//! Writing whole files: beside their place first and moved there, so that a crash leaves the old or the new.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Replaces the content of a file, or makes it. Its permissions stay.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("this is not the name of a file"))?;
    let beside = path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), std::process::id()));
    let permissions = fs::metadata(path).map(|found| found.permissions());
    let mut file = fs::File::create(&beside)?;
    // Before anything is in it: what only its owner may read is never readable by others.
    let written = permissions
        .map_or(Ok(()), |permissions| file.set_permissions(permissions))
        .and_then(|()| file.write_all(content))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err()
        && let Err(error) = fs::remove_file(&beside)
    {
        tracing::debug!(%error, path = %beside.display(), "removing a file");
    }
    written
}

/// The same in a folder that is made when it does not exist.
pub fn write_whole_in_folder(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_whole(path, content)
}
