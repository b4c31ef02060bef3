//! The lines of a session in memory, compressed: another folder takes all of them when the file is lost.
//!
//! In: lines, in the order of the file. Out: the same bytes. Session text shrinks to about a tenth. It must never read
//! the file again: the file may have been changed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Buffer size for reading an existing file, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// All lines of a session.
pub(super) struct LineCopy {
    encoder: DeflateEncoder<Vec<u8>>,
    bytes: u64,
    lines: u64,
    /// The first line with its line end.
    header: Vec<u8>,
}

impl LineCopy {
    /// Creates a copy without lines.
    pub(super) fn new() -> Self {
        let encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        Self { encoder, bytes: 0, lines: 0, header: Vec::new() }
    }

    /// Reads the first bytes of an existing file.
    pub(super) fn read(path: &Path, end_bytes: u64) -> io::Result<Self> {
        let mut copy = Self::new();
        let mut file = File::open(path)?.take(end_bytes);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk)? {
                0 => break,
                length => copy.add(&chunk[..length])?,
            }
        }
        if copy.bytes == end_bytes {
            return Ok(copy);
        }
        Err(io::Error::other(format!("it has {} bytes, {end_bytes} were read before", copy.bytes)))
    }

    /// Adds bytes at the end.
    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.lines == 0 {
            let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
            self.header.extend_from_slice(&bytes[..end]);
        }
        self.bytes += bytes.len() as u64;
        self.lines += bytes.split(|byte| *byte == b'\n').skip(1).count() as u64;
        self.encoder.write_all(bytes)
    }

    /// Writes all bytes.
    pub(super) fn write_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.encoder.flush()?;
        let mut decoder = DeflateDecoder::new(self.encoder.get_ref().as_slice()).take(self.bytes);
        let written = io::copy(&mut decoder, out)?;
        if written == self.bytes { Ok(()) } else { Err(io::Error::other("the lines in memory are incomplete")) }
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of events: lines after the header.
    pub(super) fn events(&self) -> u64 {
        self.lines.saturating_sub(1)
    }

    /// Returns the header line with its line end.
    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_back_whenever_they_are_asked_for() {
        let mut copy = LineCopy::new();
        let mut all = Vec::new();
        for number in 0..1_000 {
            let line = format!("{{\"s\":{number},\"text\":\"ü\"}}\n");
            copy.add(line.as_bytes()).unwrap();
            all.extend(line.into_bytes());
            if number % 99 == 0 {
                let mut out = Vec::new();
                copy.write_to(&mut out).unwrap();
                assert_eq!(out, all);
            }
        }
        assert_eq!((copy.bytes(), copy.events()), (all.len() as u64, 999));
        assert_eq!(copy.header(), "{\"s\":0,\"text\":\"ü\"}\n".as_bytes());
    }
}
