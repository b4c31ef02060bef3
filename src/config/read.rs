//! Reading text files with a limit on their size.
//!
//! In: paths. Out: text, or an error that names the problem. Files that another file names are regular files, opened
//! without blocking: a pipe, a device or an endless file is an error at once. Files that the user names on the command
//! line may be pipes. Whether a definition may name a file is decided in `tool::FileAccess`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use ptc_core::limits::{FILE_BYTES, INPUT_FILE_BYTES, Limit};

/// Reads a theme, the configuration, a key or a file of the program; links are followed.
pub fn read_regular_file(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    // Opening a pipe for reading waits for a writer otherwise.
    #[cfg(unix)]
    set_flags(&mut options, rustix::fs::OFlags::NONBLOCK);
    read_to_limit(open(&options, path)?)
}

/// Reads a file whose path is resolved; a path that became a link since is an error.
pub fn read_resolved_file(path: &Path) -> io::Result<String> {
    read_to_limit(open_resolved_file(path)?)
}

/// Opens a file whose path is resolved, for a reader that limits what it reads at once.
pub fn open_resolved_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    set_flags(&mut options, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW);
    open(&options, path)
}

/// Like `read_resolved_file`, as bytes, for input files.
pub fn read_resolved_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    set_flags(&mut options, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW);
    bytes_to_limit(open(&options, path)?, INPUT_FILE_BYTES)
}

/// Reads an input from a regular file that the user names.
pub fn read_named_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    set_flags(&mut options, rustix::fs::OFlags::NONBLOCK);
    bytes_to_limit(open(&options, path)?, INPUT_FILE_BYTES)
}

#[cfg(unix)]
fn set_flags(options: &mut OpenOptions, flags: rustix::fs::OFlags) {
    if let Ok(flags) = i32::try_from(flags.bits()) {
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
}

fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a device or a pipe may have effects: its kind is known before it is opened, and checked again after.
    check_kind(&std::fs::metadata(path)?)?;
    let file = options.clone().read(true).open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

fn check_kind(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::other("it is a folder; name a file"));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is a pipe or a device; name a regular file"));
    }
    Ok(())
}

/// Reads a file that the user names; it may be a pipe.
pub fn read_named_file(path: &Path) -> io::Result<String> {
    read_to_limit(File::open(path)?)
}

fn read_to_limit(file: File) -> io::Result<String> {
    let bytes = bytes_to_limit(file, FILE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

fn bytes_to_limit(file: File, limit: Limit) -> io::Result<Vec<u8>> {
    let most = limit.most();
    let mut bytes = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes)? as u64;
    if read > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes (`{}`)", limit.name)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn devices_pipes_folders_and_files_above_file_bytes_are_refused_at_once() {
        let problem = |path: &Path| read_regular_file(path).unwrap_err().to_string();
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(problem(Path::new("/dev/zero")).contains("a pipe or a device"));
        assert!(problem(dir.path()).contains("a folder"));
        let pipe = at("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(problem(&pipe).contains("a pipe or a device"));
        std::os::unix::fs::symlink("/dev/zero", at("link")).unwrap();
        assert!(problem(&at("link")).contains("a pipe or a device"));
        File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
        assert!(problem(&at("sparse")).contains("`file_bytes`"));
        assert!(read_named_file(Path::new("/dev/zero")).unwrap_err().to_string().contains("`file_bytes`"));
        std::fs::write(at("text"), "x").unwrap();
        std::os::unix::fs::symlink(at("text"), at("good link")).unwrap();
        assert_eq!(read_regular_file(&at("good link")).unwrap(), "x");
    }
}
