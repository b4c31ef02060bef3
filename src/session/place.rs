//! Checks that a session file is still the one that was opened, with everything that was written to it.
//!
//! In: the open file, its path, what was written. Out: what happened to the file, in words. It must never change the
//! file.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// State of a file after the last write to it.
#[derive(Debug, Clone, Copy)]
pub struct WrittenFile<'w> {
    /// Length in bytes.
    pub end_bytes: u64,
    /// Bytes after the end are the trace of a failed write.
    pub is_torn: bool,
    /// The first line with its line end.
    pub header: &'w [u8],
    /// CRC-32 of all bytes.
    pub checksum: u32,
}

/// Checks that the path leads to the open file, that it has the length that was written, and its header. Reads one line.
pub(super) fn check_place(file: &File, path: &Path, written: &WrittenFile<'_>) -> io::Result<()> {
    let found = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(io::Error::other("it was removed")),
        found => found?,
    };
    let own = file.metadata()?;
    if !is_same(&own, &found) {
        return Err(io::Error::other("another file is in its place"));
    }
    let (length, end) = (found.len(), written.end_bytes);
    if length < end {
        return Err(io::Error::other(format!("it was cut to {length} bytes, {end} were written")));
    }
    if length > end && !written.is_torn {
        return Err(io::Error::other(format!("another program has written to it: {length} bytes instead of {end}")));
    }
    let mut header = vec![0; written.header.len()];
    File::open(path)?.read_exact(&mut header)?;
    if header == written.header { Ok(()) } else { Err(overwritten()) }
}

/// Like `check_place`, and compares all bytes: reads the whole file.
pub(super) fn check_content(file: &File, path: &Path, written: &WrittenFile<'_>) -> io::Result<()> {
    check_place(file, path, written)?;
    let mut content = File::open(path)?.take(written.end_bytes);
    let (mut sum, mut chunk) = (crc32fast::Hasher::new(), vec![0; 64 * 1024]);
    loop {
        match content.read(&mut chunk)? {
            0 => break,
            length => sum.update(&chunk[..length]),
        }
    }
    if sum.finalize() == written.checksum { Ok(()) } else { Err(overwritten()) }
}

/// Returns whether the path leads to this open file.
pub(super) fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => Ok(is_same(&file.metadata()?, &found?)),
    }
}

fn overwritten() -> io::Error {
    io::Error::other("it was overwritten")
}

#[cfg(unix)]
fn is_same(own: &Metadata, found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (own.dev(), own.ino()) == (found.dev(), found.ino())
}

/// Files have no stable number here: length and content are compared.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
