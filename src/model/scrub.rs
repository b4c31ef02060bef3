//! The removal of known secrets from everything that is shown or stored.
//!
//! In: texts, bytes and data from services and tools. Out: the same with a mask in place of each secret. Texts are decoded first
//! ([`DecodedText`](super::decoded_text::DecodedText)); `docs/security.md` lists the forms that are recognised. It must never let a secret
//! through because it arrived in pieces.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use ptc_core::value::Json;
use ptc_core::value::json::{self, Member, Node};

use super::ModelError;
use super::secret::{MASK, SECRET_MIN_BYTES, Secret};
use super::secret::{generation, late_secrets};
use super::secret_index::SecretIndex;

/// Maximum bytes that a stream holds back; longer separators within a secret are not looked through.
const HELD_MAX: usize = 4 << 10;

/// Bytes at the end of what a stream has shown that are searched together with what follows.
const SHOWN_BYTES: usize = 32;

/// Bytes at the end of a body that are searched for the start of a secret.
const GROWING_MAX: usize = 16 << 10;

/// Letters and digits at the end of a body that do not count as the start of a secret.
const GROWING_LETTERS: usize = 3;

/// Secrets that are added when the process learns them later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Growth {
    /// None.
    #[default]
    Fixed,
    /// All of them.
    Growing,
}

/// An index, and the number of late secrets when it was made.
type MadeIndex = (u64, Arc<SecretIndex>);

/// Removes known secrets from texts.
#[derive(Clone, Default)]
pub struct Scrub {
    secrets: Vec<Secret>,
    growth: Growth,
    /// The index of these and of late secrets, with the number of the latter; made when it is first used.
    index: Arc<RwLock<Option<MadeIndex>>>,
}

impl fmt::Debug for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrub({} secrets)", self.secrets.len())
    }
}

impl Scrub {
    /// Knows these secrets; those shorter than [`SECRET_MIN_BYTES`] are omitted.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let is_long = |secret: &Secret| secret.expose().len() >= SECRET_MIN_BYTES;
        let mut secrets: Vec<_> = secrets.into_iter().filter(is_long).collect();
        secrets.sort_by(|one, other| one.expose().cmp(other.expose()));
        secrets.dedup();
        Self::of(secrets, Growth::Fixed)
    }

    fn of(secrets: Vec<Secret>, growth: Growth) -> Self {
        Self { secrets, growth, index: Arc::default() }
    }

    /// Also masks secrets that this process learns later: keys of commands and tokens.
    #[must_use]
    pub fn with_late_secrets(self) -> Self {
        Self::of(self.secrets, Growth::Growing)
    }

    /// The index, with the secrets that were learned since it was made.
    fn index(&self) -> Arc<SecretIndex> {
        let made = self.index.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((number, index)) = made
            && (self.growth == Growth::Fixed || number == generation())
        {
            return index;
        }
        let (number, index) = indexed(&self.secrets, self.growth);
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = Some((number, Arc::clone(&index)));
        index
    }

    /// Also masks these secrets.
    #[must_use]
    pub fn knowing(self, more: impl IntoIterator<Item = Secret>) -> Self {
        let growth = self.growth;
        let more: Vec<Secret> = more.into_iter().filter(|secret| !self.secrets.contains(secret)).collect();
        if more.is_empty() {
            return self;
        }
        let all = Self::new(self.secrets.into_iter().chain(more));
        if growth == Growth::Growing { all.with_late_secrets() } else { all }
    }

    /// The same with the secrets of another one as well.
    #[must_use]
    pub fn with_secrets_of(self, other: &Self) -> Self {
        self.knowing(other.secrets.iter().cloned())
    }

    /// Returns whether no secret is known.
    pub fn is_empty(&self) -> bool {
        self.index().is_empty()
    }

    /// The text with [`MASK`] in place of each secret, in whatever form, and how many there were.
    pub fn clean(&self, text: &str) -> (String, usize) {
        let found = self.find(text);
        (masked(text, &found), found.len())
    }

    /// The positions of the secrets in a text: in order, without overlaps.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.index().find(text.as_bytes());
        for place in &mut found {
            place.start = text.floor_char_boundary(place.start);
            place.end = text.ceil_char_boundary(place.end);
        }
        found
    }

    /// The positions of secrets that adjacent texts make together, by text.
    pub fn find_across(&self, texts: &[&str]) -> Vec<Vec<Range<usize>>> {
        self.index().find_across(texts)
    }

    /// [`Scrub::clean`] without the count.
    pub fn text(&self, text: &str) -> String {
        self.clean(text).0
    }

    /// Data without secrets in its texts and names, also those that adjacent texts make together; `None` when there are none.
    pub fn json(&self, data: &Json) -> Option<Json> {
        if self.index().is_empty() {
            return None;
        }
        let mut texts = Vec::new();
        collect_texts(data, &mut texts);
        let across = self.find_across(&texts);
        let found = texts.iter().zip(across).map(|(text, mut places)| {
            places.extend(self.find(text));
            super::secret_index::apart(places)
        });
        let found: Vec<Vec<Range<usize>>> = found.collect();
        let mut count = found.iter().map(Vec::len).sum::<usize>();
        let clean = self.with_masks(data, &mut found.into_iter(), &mut count);
        (count > 0).then_some(clean)
    }

    /// JSON text without secrets; text that is not JSON too.
    pub fn json_text(&self, text: &str) -> String {
        let Ok(data) = json::parse(text) else { return self.text(text) };
        self.json(&data).map_or_else(|| text.to_owned(), |clean| clean.to_text())
    }

    fn with_masks(&self, data: &Json, found: &mut impl Iterator<Item = Vec<Range<usize>>>, count: &mut usize) -> Json {
        match &data.node {
            Node::Str(text) => Json::str(masked(text, &found.next().unwrap_or_default())),
            Node::List(items) => {
                let items: Vec<Json> = items.iter().map(|item| self.with_masks(item, found, count)).collect();
                Json::list(items)
            }
            Node::Object(members) => {
                let mut clean = Vec::with_capacity(members.len());
                for Member { key, value, .. } in members {
                    let (key, keys) = self.clean(key);
                    *count += keys;
                    clean.push((key, self.with_masks(value, found, count)));
                }
                Json::object(clean)
            }
            _ => data.clone(),
        }
    }

    /// The error with every text cleaned.
    #[must_use]
    pub fn error(&self, mut error: ModelError) -> ModelError {
        error.message = self.text(&error.message);
        error.hint = error.hint.map(|hint| self.text(&hint));
        error
    }

    /// Overwrites each secret with `*`, byte for byte, so that places do not move. Returns how many there were.
    pub fn blot(&self, bytes: &mut [u8]) -> usize {
        let found = self.index().find(bytes);
        for place in &found {
            if let Some(place) = bytes.get_mut(place.clone()) {
                place.fill(b'*');
            }
        }
        found.len()
    }

    /// The last of these places where bytes can be cut so that no secret is, not even one that the next bytes complete; 0 when there is
    /// none. And the number of secrets after it.
    pub fn uncut(&self, bytes: &[u8], places: impl Iterator<Item = usize>) -> (usize, usize) {
        let index = self.index();
        if index.is_empty() {
            return (bytes.len(), 0);
        }
        let (found, growing) = (index.find(bytes), growing_from(&index, bytes));
        let cuts_none =
            |cut: &usize| *cut <= growing && !found.iter().any(|secret| secret.start < *cut && *cut < secret.end);
        let cut = places.filter(cuts_none).max().unwrap_or_default();
        (cut, found.iter().filter(|secret| secret.start >= cut).count())
    }
}

/// Returns the offset from which the end of the bytes could become a secret when more follows.
fn growing_from(index: &SecretIndex, bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(GROWING_MAX);
    from + index.growing_from(bytes.get(from..).unwrap_or_default())
}

/// The index of these secrets and, for a growing one, of those learned late, with the number of the latter.
fn indexed(secrets: &[Secret], growth: Growth) -> MadeIndex {
    let (number, late) = match growth {
        Growth::Fixed => (0, Vec::new()),
        Growth::Growing => late_secrets(),
    };
    (number, Arc::new(SecretIndex::of(secrets.iter().chain(&late).map(Secret::expose))))
}

/// The texts of data in order, names of members not included.
fn collect_texts<'j>(data: &'j Json, out: &mut Vec<&'j str>) {
    match &data.node {
        Node::Str(text) => out.push(text),
        Node::List(items) => items.iter().for_each(|item| collect_texts(item, out)),
        Node::Object(members) => members.iter().for_each(|member| collect_texts(&member.value, out)),
        _ => {}
    }
}

/// The text with [`MASK`] at these places.
fn masked(text: &str, places: &[Range<usize>]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for place in places {
        clean.push_str(text.get(at..place.start).unwrap_or_default());
        clean.push_str(MASK);
        at = place.end;
    }
    clean.push_str(text.get(at..).unwrap_or_default());
    clean
}

/// A cleaned piece of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CleanPiece {
    /// Text that may be shown now.
    pub(super) text: String,
    /// Secrets that were masked in it.
    pub(super) found: usize,
    /// One of them arrived in several pieces.
    pub(super) is_joined: bool,
}

/// A text that arrives in pieces, cleaned: what could become a secret waits for the next piece.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// The end of what was shown: letters that occur in a secret are held back from the third one on.
    shown: String,
    pending: String,
}

impl Stream {
    /// Takes a piece; returns what may be shown now.
    pub(super) fn push(&mut self, scrub: &Scrub, piece: &str) -> CleanPiece {
        let carried = self.pending.len();
        self.pending.push_str(piece);
        if scrub.index().is_empty() {
            return CleanPiece { text: std::mem::take(&mut self.pending), ..CleanPiece::default() };
        }
        let (text, before) = (format!("{}{}", self.shown, self.pending), self.shown.len());
        let found = pending_places(scrub.find(&text), before);
        let mut ready = text.floor_char_boundary(scrub.index().growing_from(text.as_bytes())).saturating_sub(before);
        if self.pending.len() - ready > HELD_MAX {
            ready = self.pending.len();
        }
        // A secret that more text could make longer waits as well.
        for place in found.iter().rev() {
            if place.start < ready && place.end > ready {
                ready = place.start;
            }
        }
        self.release(ready, carried, &found)
    }

    /// Returns the text that was held back until the end.
    pub(super) fn finish(&mut self, scrub: &Scrub) -> CleanPiece {
        let (text, before) = (format!("{}{}", self.shown, self.pending), self.shown.len());
        let found = pending_places(scrub.find(&text), before);
        self.release(self.pending.len(), 0, &found)
    }

    /// Returns whether the text so far ends within a possible secret.
    pub(super) fn is_growing(&self) -> bool {
        self.pending.bytes().filter(u8::is_ascii_alphanumeric).count() > GROWING_LETTERS
    }

    fn release(&mut self, ready: usize, carried: usize, found: &[Range<usize>]) -> CleanPiece {
        let rest = self.pending.split_off(ready);
        let text = std::mem::replace(&mut self.pending, rest);
        let found: Vec<Range<usize>> = found.iter().filter(|place| place.end <= ready).cloned().collect();
        let is_joined = found.iter().any(|place| place.start < carried && place.end > carried);
        let text = masked(&text, &found);
        self.shown.push_str(&text);
        self.shown = self.shown.split_off(self.shown.ceil_char_boundary(self.shown.len().saturating_sub(SHOWN_BYTES)));
        CleanPiece { text, found: found.len(), is_joined }
    }
}

/// A search for secrets in bytes that come in pieces.
#[derive(Debug, Default)]
pub(super) struct ByteScan {
    /// The end of the bytes so far, which is searched together with what follows.
    held: Vec<u8>,
    is_growing: bool,
}

impl ByteScan {
    /// Takes a piece; returns whether a secret is in it, or in the bytes that it completes.
    pub(super) fn push(&mut self, scrub: &Scrub, piece: &[u8]) -> bool {
        let index = scrub.index();
        if index.is_empty() {
            return false;
        }
        self.held.extend_from_slice(piece);
        let has_secret = !index.find(&self.held).is_empty();
        let growing = growing_from(&index, &self.held);
        let end = self.held.get(growing..).unwrap_or_default();
        self.is_growing = end.iter().filter(|byte| byte.is_ascii_alphanumeric()).count() > GROWING_LETTERS;
        self.held.drain(..growing.saturating_sub(SHOWN_BYTES));
        has_secret
    }

    /// Returns whether the bytes so far end within a possible secret.
    pub(super) fn is_growing(&self) -> bool {
        self.is_growing
    }
}

/// The places of secrets in the pending text, which follows `before` bytes of shown text.
fn pending_places(found: Vec<Range<usize>>, before: usize) -> Vec<Range<usize>> {
    let found = found.into_iter().filter(|place| place.end > before);
    found.map(|place| place.start.saturating_sub(before)..place.end - before).collect()
}

#[cfg(test)]
mod tests;
