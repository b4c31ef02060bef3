//! Writes whole files: a new file next to the old one is moved to its place, so that a crash leaves the old or the new.
//!
//! Devices, pipes and the open files of this process (`/dev/stdout`) are written to as they are, and never replaced.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::config::{create_private_dir, create_private_file};

/// Links that are followed from one to the next; more are a cycle.
const LINKS: usize = 40;

/// Place that a path leads to.
#[derive(Debug)]
enum Place {
    /// A file, or nothing yet: the path after all links.
    File(PathBuf),
    /// A device, a pipe, or a file that this process has open.
    Stream(PathBuf),
}

/// Returns the place that a path leads to. Links are followed, so that a link stays and its target is written. The file need not exist.
///
/// Errors: a folder, a socket or a disk; links in a circle.
fn place(path: &Path) -> io::Result<Place> {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        if descriptor(&target).is_some() {
            return Ok(Place::Stream(target));
        }
        if !is_link(&target) {
            let is_stream = match fs::metadata(&target) {
                Ok(found) => is_stream_type(found.file_type())?,
                Err(_) => false,
            };
            return Ok(if is_stream { Place::Stream(target) } else { Place::File(target) });
        }
        let next = fs::read_link(&target)?;
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Returns the number of the open file of this process that a path names (`/dev/fd/1`, which `/dev/stdout` leads to).
fn descriptor(path: &Path) -> Option<u32> {
    const FOLDERS: [&str; 2] = ["/proc/self/fd", "/dev/fd"];
    let is_open = FOLDERS.iter().any(|folder| path.parent() == Some(Path::new(folder)));
    path.file_name().filter(|_| is_open)?.to_str()?.parse().ok()
}

/// Returns whether what has this type is written to as it is. Errors: it cannot hold a text, or is a disk.
fn is_stream_type(found: fs::FileType) -> io::Result<bool> {
    if found.is_dir() {
        return Err(io::Error::other("this is a folder; name a file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;

        if found.is_socket() {
            return Err(io::Error::other("this is a socket; name a file"));
        }
        if found.is_block_device() {
            return Err(io::Error::other("this is a disk, whose content would be lost; name a file"));
        }
    }
    Ok(!found.is_file())
}

/// Opens a device, a pipe, or a file that this process has open, for adding to it. A pipe is open when someone reads it.
fn open_stream(path: &Path) -> io::Result<fs::File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;

        // With the position of the process: what it prints before and after stays whole.
        let own = match descriptor(path) {
            Some(1) => {
                io::stdout().flush()?;
                Some(io::stdout().as_fd().try_clone_to_owned()?)
            }
            Some(2) => Some(io::stderr().as_fd().try_clone_to_owned()?),
            _ => None,
        };
        if let Some(own) = own {
            return Ok(own.into());
        }
    }
    fs::OpenOptions::new().append(true).open(path)
}

/// Returns whether a path leads to a device or pipe: what is written to it cannot be replaced later.
pub fn is_stream(path: &Path) -> bool {
    matches!(place(path), Ok(Place::Stream(_)))
}

/// Returns the temporary path of a file, which is renamed when it is complete.
fn draft_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("not a file name"))?;
    Ok(path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), std::process::id())))
}

/// Checks, before long work, that its result can be written there. Leaves no file. A file is only replaced by one of its kind.
pub fn check_place(path: &Path, begins: &str) -> io::Result<()> {
    // A stream is not opened: the reader of a pipe would take its closing for the end.
    let Place::File(path) = place(path)? else { return Ok(()) };
    check_folder(&path)?;
    check_kind(&path, begins)?;
    let beside = draft_path(&path)?;
    fs::File::create(&beside)?;
    fs::remove_file(&beside)
}

/// Checks that the folder of a file exists. The error names it.
pub(super) fn check_folder(path: &Path) -> io::Result<()> {
    let Place::File(path) = place(path)? else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.filter(|folder| !folder.exists()).map_or(Ok(()), |folder| {
        Err(io::Error::new(io::ErrorKind::NotFound, format!("the folder {} does not exist", folder.display())))
    })
}

/// Checks that there is no file, or one that is empty or begins like this: other content would be lost.
fn check_kind(path: &Path, begins: &str) -> io::Result<()> {
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

/// Returns whether a file has content that would be lost if the path was written.
pub(super) fn has_content(path: &Path) -> io::Result<bool> {
    match place(path)? {
        Place::File(path) => Ok(fs::metadata(path).is_ok_and(|found| found.len() > 0)),
        Place::Stream(_) => Ok(false),
    }
}

/// Returns whether an error of a new file means that its disk or folder takes nothing, so that another folder may help.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    let kinds =
        [Kind::StorageFull, Kind::QuotaExceeded, Kind::FileTooLarge, Kind::ReadOnlyFilesystem, Kind::PermissionDenied];
    kinds.contains(&error.kind())
}

/// A file without content, for what is written piece by piece. Its permissions stay, and links are followed.
pub fn emptied(path: &Path) -> io::Result<fs::File> {
    fs::File::create(path)
}

/// Replaces the content of a file, or creates it. Keeps its permissions; follows links. A device or pipe gets the content.
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

/// Replaces the content of a file by way of a new one, which `create` creates and `write` fills. Devices and pipes are written to.
fn replace(
    path: &Path,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
    create: impl FnOnce(&Path) -> io::Result<fs::File>,
) -> io::Result<()> {
    let path = match place(path)? {
        Place::File(path) => path,
        Place::Stream(path) => return write(&mut open_stream(&path)?),
    };
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

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_written_to_and_stay() {
        use std::os::unix::fs::FileTypeExt as _;
        use std::os::unix::net::UnixListener;

        let null = Path::new("/dev/null");
        check_place(null, "text").unwrap();
        write_whole(null, b"text").unwrap();
        assert!(is_stream(null) && fs::metadata(null).unwrap().file_type().is_char_device());

        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        check_place(&pipe, "text").unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe)
        });
        write_lines(&pipe, ["a\n".to_owned(), "b\n".to_owned()].into_iter()).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), "a\nb\n");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());

        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, kind) in [(dir.path(), "a folder"), (&*socket, "a socket")] {
            for refused in [check_place(path, ""), write_whole(path, b"x")] {
                assert!(refused.unwrap_err().to_string().contains(kind), "{kind}");
            }
        }
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    }

    #[cfg(unix)]
    #[test]
    fn an_open_file_of_the_process_is_a_stream() {
        for path in ["/dev/stdout", "/dev/stderr", "/dev/fd/1"] {
            assert!(is_stream(Path::new(path)) && check_place(Path::new(path), "text").is_ok(), "{path}");
        }
        assert_eq!(descriptor(Path::new("/dev/fd/1/x")), None);
        assert_eq!(descriptor(Path::new("1")), None);
    }
}
