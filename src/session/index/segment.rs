//! One file of the index: the lines of some sessions for the list, and their texts, equal ones once.
//!
//! ```text
//! ptc-workbench-index 4\n
//! six numbers of 8 bytes: lengths and checksums of the three parts
//! entries   JSON lines, one per session
//! refs      per text: its length, and where it stands (session, field, program, address)
//! texts     one behind the other
//! ```
//!
//! In: digests. Out: bytes, and from bytes the same again. It must never trust them: what does not add up is no segment.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::digest::{Digest, Facts, Field};
use crate::event::Address;
use crate::session::Summary;

const MAGIC: &[u8] = b"ptc-workbench-index 4\n";
const HEAD: usize = MAGIC.len() + 6 * 8;

/// A file as it was when it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Stamp {
    /// Its size.
    pub(super) bytes: u64,
    /// When it was changed, in ns since 1970.
    pub(super) changed_ns: u64,
}

/// A session in the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) stamp: Stamp,
    pub(super) summary: Summary,
    pub(super) facts: Facts,
}

/// Where a text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place<'b> {
    pub(super) session: usize,
    pub(super) field: Field,
    pub(super) program: Option<(usize, usize)>,
    pub(super) at: &'b str,
}

/// Collects digests for one file.
#[derive(Debug, Default)]
pub(super) struct Builder {
    entries: Vec<Entry>,
    texts: Vec<u8>,
    refs: Vec<Ref>,
    /// Which texts have this length and checksum.
    known: HashMap<(usize, u32), Vec<usize>>,
}

/// A text of a [`Builder`].
#[derive(Debug)]
struct Ref {
    /// Its bytes in the texts.
    bytes: Range<usize>,
    /// Number of its places.
    count: usize,
    /// Its places, written already.
    places: Vec<u8>,
}

impl Builder {
    pub(super) fn add(&mut self, stamp: Stamp, digest: Digest) {
        let session = self.entries.len();
        self.entries.push(Entry { stamp, summary: digest.summary, facts: digest.facts });
        for text in digest.texts {
            self.place(
                text.body.as_bytes(),
                &Place { session, field: text.field, program: text.program, at: text.at.as_str() },
            );
        }
    }

    /// Takes over a session of another segment.
    pub(super) fn adopt(&mut self, entry: Entry) -> usize {
        self.entries.push(entry);
        self.entries.len() - 1
    }

    pub(super) fn place(&mut self, text: &[u8], place: &Place<'_>) {
        let alike = self.known.entry((text.len(), crc32fast::hash(text))).or_default();
        let known = alike.iter().copied().find(|index| self.texts[self.refs[*index].bytes.clone()] == *text);
        let index = known.unwrap_or_else(|| {
            alike.push(self.refs.len());
            let start = self.texts.len();
            self.texts.extend_from_slice(text);
            self.refs.push(Ref { bytes: start..self.texts.len(), count: 0, places: Vec::new() });
            self.refs.len() - 1
        });
        let Ref { count, places: out, .. } = &mut self.refs[index];
        *count += 1;
        write_number(out, place.session);
        let field = Field::ALL.iter().position(|field| *field == place.field).unwrap_or_default();
        write_number(out, field);
        let (start, end) = place.program.unwrap_or_default();
        write_number(out, start);
        write_number(out, end);
        write_number(out, place.at.len());
        out.extend_from_slice(place.at.as_bytes());
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of text so far.
    pub(super) fn text_bytes(&self) -> usize {
        self.texts.len()
    }

    /// The file.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut entries = Vec::new();
        for entry in &self.entries {
            serde_json::to_writer(&mut entries, entry)?;
            entries.push(b'\n');
        }
        let mut refs = Vec::new();
        for Ref { bytes, count, places } in &self.refs {
            write_number(&mut refs, bytes.len());
            write_number(&mut refs, *count);
            refs.extend_from_slice(places);
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

/// Where the parts of a file stand, and what they add up to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    parts: [(u64, u64); 3],
}

impl Head {
    /// Bytes at the start of the file that [`Self::read`] and [`entries`] need.
    pub(super) const BYTES: usize = HEAD;

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.strip_prefix(MAGIC)?.get(..6 * 8)?.chunks_exact(8);
        let mut number = || Some(u64::from_le_bytes(numbers.next()?.try_into().ok()?));
        let mut parts = [(0, 0); 3];
        for part in &mut parts {
            *part = (number()?, number()?);
        }
        Some(Self { parts })
    }

    /// Bytes of the entries, right behind the head.
    pub(super) fn entries_bytes(&self) -> u64 {
        self.parts[0].0
    }

    /// How long the whole file is.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        self.parts.iter().try_fold(HEAD as u64, |sum, (length, _)| sum.checked_add(*length))
    }

    /// The entries, when they are as they were written.
    pub(super) fn entries(&self, bytes: &[u8]) -> Option<Vec<Entry>> {
        if u64::from(crc32fast::hash(bytes)) != self.parts[0].1 {
            return None;
        }
        bytes.split_inclusive(|byte| *byte == b'\n').map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

/// The texts of a file.
#[derive(Debug)]
pub(super) struct Texts<'b> {
    refs: &'b [u8],
    texts: &'b [u8],
}

impl<'b> Texts<'b> {
    /// The texts in the bytes of a file, when they are as they were written.
    pub(super) fn read(bytes: &'b [u8]) -> Option<Self> {
        let head = Head::read(bytes)?;
        let mut rest = bytes.get(HEAD..)?;
        let mut parts = [&[][..]; 3];
        for (part, (length, crc)) in parts.iter_mut().zip(head.parts) {
            let (this, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            if u64::from(crc32fast::hash(this)) != crc {
                return None;
            }
            (*part, rest) = (this, after);
        }
        let [_, refs, texts] = parts;
        rest.is_empty().then_some(Self { refs, texts })
    }

    /// Shows each text with its places; `None` when the parts do not fit together.
    pub(super) fn each(&self, mut see: impl FnMut(&'b str, Places<'b>)) -> Option<()> {
        let (mut refs, mut texts) = (self.refs, self.texts);
        while !refs.is_empty() {
            let length = read_number(&mut refs)?;
            let count = read_number(&mut refs)?;
            let (text, rest) = texts.split_at_checked(length)?;
            texts = rest;
            let places = Places { refs, left: count };
            for _ in 0..count {
                skip_place(&mut refs)?;
            }
            see(std::str::from_utf8(text).ok()?, places);
        }
        texts.is_empty().then_some(())
    }
}

/// The places of one text.
#[derive(Debug, Clone)]
pub(super) struct Places<'b> {
    refs: &'b [u8],
    left: usize,
}

impl<'b> Iterator for Places<'b> {
    type Item = Place<'b>;

    fn next(&mut self) -> Option<Place<'b>> {
        self.left = self.left.checked_sub(1)?;
        let session = read_number(&mut self.refs)?;
        let field = *Field::ALL.get(read_number(&mut self.refs)?)?;
        let (start, end) = (read_number(&mut self.refs)?, read_number(&mut self.refs)?);
        let length = read_number(&mut self.refs)?;
        let (at, rest) = self.refs.split_at_checked(length)?;
        self.refs = rest;
        let program = (end > start).then_some((start, end));
        Some(Place { session, field, program, at: std::str::from_utf8(at).ok()? })
    }
}

impl Place<'_> {
    pub(super) fn address(&self) -> Address {
        Address::from(self.at)
    }
}

fn skip_place(refs: &mut &[u8]) -> Option<()> {
    for _ in 0..4 {
        read_number(refs)?;
    }
    let length = read_number(refs)?;
    *refs = refs.get(length..)?;
    Some(())
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
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
