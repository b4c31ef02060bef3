//! Writes whole files: a new file next to the old one is moved to its place, so that a crash leaves the old or the new.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::config::{create_private_dir, create_private_file};

/// Links that are followed from one to the next; more are a cycle.
const LINKS: usize = 40;

/// Returns the file that a path leads to. Links are followed, so that a link stays and its target is written. The file need not exist.
fn target(path: &Path) -> io::Result<PathBuf> {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        if !is_link(&target) {
            return Ok(target);
        }
        let next = fs::read_link(&target)?;
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Returns the temporary path of a file, which is renamed when it is complete.
fn draft_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("not a file name"))?;
    Ok(path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), std::process::id())))
}

/// Checks, before long work, that its result can be written there. Leaves no file. A file is only replaced by one of its kind, see
/// [`check_kind`].
pub fn check_place(path: &Path, begins: &str) -> io::Result<()> {
    let path = target(path)?;
    check_folder(&path)?;
    if path.is_dir() {
        return Err(io::Error::other("this is a folder"));
    }
    check_kind(&path, begins)?;
    let beside = draft_path(&path)?;
    fs::File::create(&beside)?;
    fs::remove_file(&beside)
}

/// Checks that the folder of a file exists. The error names it.
pub(super) fn check_folder(path: &Path) -> io::Result<()> {
    let path = target(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.filter(|folder| !folder.exists()).map_or(Ok(()), |folder| {
        Err(io::Error::new(io::ErrorKind::NotFound, format!("the folder {} does not exist", folder.display())))
    })
}

/// Checks that there is no file, or one that is empty or begins like this: other content would be lost.
pub fn check_kind(path: &Path, begins: &str) -> io::Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let mut start = Vec::new();
    fs::File::open(path)?.take(begins.len() as u64).read_to_end(&mut start)?;
    if start.is_empty() || start == begins.as_bytes() {
        return Ok(());
    }
    Err(io::Error::other("a file of another kind exists there and would be overwritten; choose another name"))
}

/// A file without content, for what is written piece by piece. Its permissions stay, and links are followed.
pub fn emptied(path: &Path) -> io::Result<fs::File> {
    fs::File::create(path)
}

/// Replaces the content of a file, or creates it. Keeps its permissions; follows links.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, |file| file.write_all(content), |new| fs::File::create(new))
}

/// Like `write_whole`, from an iterator of lines, each with its line end.
pub fn write_lines(path: &Path, lines: impl Iterator<Item = String>) -> io::Result<()> {
    let write = |file: &mut fs::File| {
        let mut buffered = io::BufWriter::new(file);
        for line in lines {
            buffered.write_all(line.as_bytes())?;
        }
        buffered.flush()
    };
    replace(path, write, |new| fs::File::create(new))
}

/// Like `write_whole`, for a private file of the program in a folder that is created if necessary.
pub fn write_whole_private(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    replace(path, |file| file.write_all(content), create_private_file)
}

/// Replaces the content of a file by way of a new one, which `create` creates and `write` fills.
fn replace(
    path: &Path,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
    create: impl FnOnce(&Path) -> io::Result<fs::File>,
) -> io::Result<()> {
    let path = target(path)?;
    let beside = draft_path(&path)?;
    let permissions = fs::metadata(&path).map(|found| found.permissions());
    let mut file = create(&beside)?;
    // Before anything is in it: what only its owner may read is never readable by others.
    let written = permissions
        .map_or(Ok(()), |permissions| file.set_permissions(permissions))
        .and_then(|()| write(&mut file))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err()
        && let Err(error) = fs::remove_file(&beside)
    {
        tracing::debug!(%error, path = %beside.display(), "removing a file");
    }
    written
}

/// Like `write_whole`, in a folder that is created if necessary.
pub fn write_whole_in_folder(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_whole(path, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_file_is_written() {
        use std::os::unix::fs::symlink;

        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("own")).unwrap();
        fs::write(at("own/file"), "old").unwrap();
        symlink("own/file", at("near")).unwrap();
        symlink(at("near"), at("far")).unwrap();
        symlink("own/new", at("open")).unwrap();
        symlink("round", at("round")).unwrap();
        write_whole(&at("far"), b"new").unwrap();
        write_whole(&at("open"), b"made").unwrap();
        assert_eq!(fs::read_to_string(at("own/file")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("own/new")).unwrap(), "made");
        let links = ["near", "far", "open"].map(|name| fs::symlink_metadata(at(name)).unwrap().is_symlink());
        assert_eq!(links, [true; 3]);
        assert_eq!(fs::read_dir(at("own")).unwrap().count(), 2, "nothing is left beside them");
        assert!(write_whole(&at("round"), b"x").is_err() && check_place(&at("round"), "").is_err());
        check_place(&at("far"), "new").unwrap();
    }
}
