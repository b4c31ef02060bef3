//! One file of the index: summaries of some sessions, and their texts, each distinct text stored once.
//!
//! ```text
//! ptc-workbench-index 9\n
//! six 8-byte numbers: lengths and checksums of the three parts
//! entries   JSON lines, one per session
//! refs      per text: its length and its locations (session, field, program, address)
//! texts     concatenated
//! ```
//!
//! In: digests. Out: bytes, and the digests parsed from such bytes. The bytes are untrusted: a file with a wrong
//! checksum or structure is rejected.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::digest::{Digest, Facts, Field};
use crate::event::Address;
use crate::session::Summary;

const MAGIC: &[u8] = b"ptc-workbench-index 9\n";
const HEADER_BYTES: usize = MAGIC.len() + 6 * 8;

/// Size and modification time of a file when it was indexed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct FileStamp {
    /// Size in bytes.
    pub(super) bytes: u64,
    /// Modification time in ns since 1970.
    pub(super) changed_ns: u64,
}

/// An indexed session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct IndexEntry {
    pub(super) stamp: FileStamp,
    pub(super) summary: Summary,
    pub(super) facts: Facts,
}

/// Location of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextLocation<'b> {
    pub(super) session: usize,
    pub(super) field: Field,
    pub(super) program: Option<(usize, usize)>,
    pub(super) at: &'b str,
}

/// Builds one segment file from digests.
#[derive(Debug, Default)]
pub(super) struct SegmentBuilder {
    entries: Vec<IndexEntry>,
    texts: Vec<u8>,
    refs: Vec<StoredText>,
    /// Indexes of the texts with this length and checksum.
    known: HashMap<(usize, u32), Vec<usize>>,
}

/// A text of a [`SegmentBuilder`].
#[derive(Debug)]
struct StoredText {
    /// Its byte range in the texts.
    bytes: Range<usize>,
    /// Number of its locations.
    count: usize,
    /// Its locations, serialized.
    locations: Vec<u8>,
}

impl SegmentBuilder {
    pub(super) fn add(&mut self, stamp: FileStamp, digest: Digest) {
        let session = self.entries.len();
        self.entries.push(IndexEntry { stamp, summary: digest.summary, facts: digest.facts });
        for text in digest.texts {
            self.add_text(
                text.body.as_bytes(),
                &TextLocation { session, field: text.field, program: text.program, at: text.at.as_str() },
            );
        }
    }

    /// Adds a session of another segment without its texts; returns its number.
    pub(super) fn add_entry(&mut self, entry: IndexEntry) -> usize {
        self.entries.push(entry);
        self.entries.len() - 1
    }

    pub(super) fn add_text(&mut self, text: &[u8], location: &TextLocation<'_>) {
        let candidates = self.known.entry((text.len(), crc32fast::hash(text))).or_default();
        let known = candidates.iter().copied().find(|index| self.texts[self.refs[*index].bytes.clone()] == *text);
        let index = known.unwrap_or_else(|| {
            candidates.push(self.refs.len());
            let start = self.texts.len();
            self.texts.extend_from_slice(text);
            self.refs.push(StoredText { bytes: start..self.texts.len(), count: 0, locations: Vec::new() });
            self.refs.len() - 1
        });
        let StoredText { count, locations: out, .. } = &mut self.refs[index];
        *count += 1;
        write_number(out, location.session);
        let field = Field::ALL.iter().position(|field| *field == location.field).unwrap_or_default();
        write_number(out, field);
        let (start, end) = location.program.unwrap_or_default();
        write_number(out, start);
        write_number(out, end);
        write_number(out, location.at.len());
        out.extend_from_slice(location.at.as_bytes());
    }

    pub(super) fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    pub(super) fn into_entries(self) -> Vec<IndexEntry> {
        self.entries
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes of text so far.
    pub(super) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut entries = Vec::new();
        for entry in &self.entries {
            serde_json::to_writer(&mut entries, entry)?;
            entries.push(b'\n');
        }
        let mut refs = Vec::new();
        for StoredText { bytes, count, locations } in &self.refs {
            write_number(&mut refs, bytes.len());
            write_number(&mut refs, *count);
            refs.extend_from_slice(locations);
        }
        let mut out = MAGIC.to_vec();
        for part in [&entries, &refs, &self.texts] {
            out.extend_from_slice(&(part.len() as u64).to_le_bytes());
            out.extend_from_slice(&u64::from(crc32fast::hash(part)).to_le_bytes());
        }
        for part in [&entries, &refs, &self.texts] {
            out.extend_from_slice(part);
        }
        Ok(out)
    }
}

/// Lengths and checksums of the parts of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentHeader {
    parts: [(u64, u64); 3],
}

impl SegmentHeader {
    /// Number of bytes that [`Self::read`] needs.
    pub(super) const BYTES: usize = HEADER_BYTES;

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.strip_prefix(MAGIC)?.get(..6 * 8)?.chunks_exact(8);
        let mut number = || Some(u64::from_le_bytes(numbers.next()?.try_into().ok()?));
        let mut parts = [(0, 0); 3];
        for part in &mut parts {
            *part = (number()?, number()?);
        }
        Some(Self { parts })
    }

    /// Returns the length of the entries, which follow the header.
    pub(super) fn entries_bytes(&self) -> u64 {
        self.parts[0].0
    }

    /// Returns the length of the whole file.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        self.parts.iter().try_fold(HEADER_BYTES as u64, |sum, (length, _)| sum.checked_add(*length))
    }

    /// Parses the entries; `None` when the checksum is wrong.
    pub(super) fn entries(&self, bytes: &[u8]) -> Option<Vec<IndexEntry>> {
        if u64::from(crc32fast::hash(bytes)) != self.parts[0].1 {
            return None;
        }
        bytes.split_inclusive(|byte| *byte == b'\n').map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

/// The texts of a file.
#[derive(Debug)]
pub(super) struct SegmentTexts<'b> {
    refs: &'b [u8],
    texts: &'b [u8],
}

impl<'b> SegmentTexts<'b> {
    /// Parses the texts of a file; `None` when a checksum or length is wrong.
    pub(super) fn read(bytes: &'b [u8]) -> Option<Self> {
        let header = SegmentHeader::read(bytes)?;
        let mut rest = bytes.get(HEADER_BYTES..)?;
        let mut parts = [&[][..]; 3];
        for (part, (length, crc)) in parts.iter_mut().zip(header.parts) {
            let (this, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            if u64::from(crc32fast::hash(this)) != crc {
                return None;
            }
            (*part, rest) = (this, after);
        }
        let [_, refs, texts] = parts;
        rest.is_empty().then_some(Self { refs, texts })
    }

    /// Passes each text with its locations to `visit`; `None` when the data is inconsistent.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&'b str, TextLocations<'b>)) -> Option<()> {
        let (mut refs, mut texts) = (self.refs, self.texts);
        while !refs.is_empty() {
            let length = read_number(&mut refs)?;
            let count = read_number(&mut refs)?;
            let (text, rest) = texts.split_at_checked(length)?;
            texts = rest;
            let locations = TextLocations { refs, remaining: count };
            for _ in 0..count {
                skip_location(&mut refs)?;
            }
            visit(std::str::from_utf8(text).ok()?, locations);
        }
        texts.is_empty().then_some(())
    }
}

/// Iterator over the locations of one text.
#[derive(Debug, Clone)]
pub(super) struct TextLocations<'b> {
    refs: &'b [u8],
    remaining: usize,
}

impl<'b> Iterator for TextLocations<'b> {
    type Item = TextLocation<'b>;

    fn next(&mut self) -> Option<TextLocation<'b>> {
        self.remaining = self.remaining.checked_sub(1)?;
        let session = read_number(&mut self.refs)?;
        let field = *Field::ALL.get(read_number(&mut self.refs)?)?;
        let (start, end) = (read_number(&mut self.refs)?, read_number(&mut self.refs)?);
        let length = read_number(&mut self.refs)?;
        let (at, rest) = self.refs.split_at_checked(length)?;
        self.refs = rest;
        let program = (end > start).then_some((start, end));
        Some(TextLocation { session, field, program, at: std::str::from_utf8(at).ok()? })
    }
}

impl TextLocation<'_> {
    pub(super) fn address(&self) -> Address {
        Address::from(self.at)
    }
}

fn skip_location(refs: &mut &[u8]) -> Option<()> {
    for _ in 0..4 {
        read_number(refs)?;
    }
    let length = read_number(refs)?;
    *refs = refs.get(length..)?;
    Some(())
}

/// Writes a number as LEB128: seven bits per byte, lowest first; the highest bit marks continuation.
fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(0x80 | u8::try_from(number & 0x7f).unwrap_or_default());
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or_default());
}

fn read_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
