//! Looking for terms in the texts of a segment: which sessions hold them all, and where.
//!
//! In: a query, texts with their places. Out: matches with the address and a piece of the text around the words.

use super::digest::Field;
use super::query::{Query, Term};
use super::segment::{Place, Texts};
use crate::event::Address;

/// Bytes of an excerpt before the words and behind their beginning.
const BEFORE: usize = 40;
const BEHIND: usize = 100;

/// Matches that are kept of one session; the others are counted.
const MOST_MATCHES: usize = 20;

/// A place where the words of a query stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The run, turn or call.
    pub at: Address,
    /// What kind of text it is.
    pub field: Field,
    /// A piece of one line of it.
    pub excerpt: String,
    /// First and one-past-last byte of the words in the excerpt.
    pub highlight: (usize, usize),
}

/// What one session holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// A bit per term that occurs.
    terms: u32,
    pub(super) matches: Vec<Match>,
    /// All matches, those that are not kept included.
    pub(super) count: usize,
}

impl Held {
    /// Does the session hold what the query asks for?
    pub(super) fn suits(&self, query: &Query) -> bool {
        query.terms.iter().enumerate().all(|(bit, term)| ((self.terms >> bit) & 1 == 1) != term.absent)
    }

    pub(super) fn see(&mut self, bit: usize, found: impl FnOnce() -> Option<Match>) {
        self.terms |= 1 << bit;
        self.count(found);
    }

    /// Counts a place, and keeps it while there is room.
    pub(super) fn count(&mut self, found: impl FnOnce() -> Option<Match>) {
        if self.matches.len() < MOST_MATCHES {
            self.matches.extend(found());
        }
        self.count += 1;
    }
}

/// Looks through texts; `wanted` says which of the sessions count. `None` when the segment is damaged.
pub(super) fn look(query: &Query, texts: &Texts<'_>, wanted: &[bool]) -> Option<Vec<Held>> {
    let mut held = vec![Held::default(); wanted.len()];
    let counts = |place: &Place<'_>| wanted.get(place.session) == Some(&true);
    texts.each(|text, places| {
        // What filters leave out is not searched.
        if !places.clone().any(|place| counts(&place)) {
            return;
        }
        for (bit, term) in query.terms.iter().enumerate() {
            let Some(first) = term.pattern.find(text) else { continue };
            for place in places.clone().filter(counts) {
                let Some((field, span)) = found_in(query, term, text, &place, (first.start(), first.end())) else {
                    continue;
                };
                let found = || (!term.absent).then(|| excerpt(text, span, field, place.address()));
                if let Some(held) = held.get_mut(place.session) {
                    held.see(bit, found);
                }
            }
        }
    })?;
    Some(held)
}

/// Where the term stands in a text of this place: the first time in a field that is looked at.
fn found_in(
    query: &Query,
    term: &Term,
    text: &str,
    place: &Place<'_>,
    first: (usize, usize),
) -> Option<(Field, (usize, usize))> {
    let field = |span: (usize, usize)| match place.program {
        Some((start, end)) if (start..end).contains(&span.0) => Field::Program,
        _ => place.field,
    };
    let looked_at = |span: (usize, usize)| query.fields.is_empty() || query.fields.contains(&field(span));
    if looked_at(first) {
        return Some((field(first), first));
    }
    // Only a reply with a program in it is of two fields.
    place.program?;
    let spans = term.pattern.find_iter(text).map(|found| (found.start(), found.end()));
    spans.into_iter().find(|span| looked_at(*span)).map(|span| (field(span), span))
}

/// The words with what stands around them on their line.
pub(super) fn excerpt(text: &str, span: (usize, usize), field: Field, at: Address) -> Match {
    let line_start = text[..span.0].rfind('\n').map_or(0, |end| end + 1);
    let line_end = text[span.0..].find('\n').map_or(text.len(), |end| span.0 + end);
    let floor = |mut place: usize| {
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        place
    };
    let from = floor(span.0.saturating_sub(BEFORE)).max(line_start);
    let to = floor((span.0 + BEHIND).min(text.len())).min(line_end).max(span.0);
    let (before, behind) = (if from > line_start { "…" } else { "" }, if to < line_end { "…" } else { "" });
    let start = before.len() + span.0 - from;
    let end = before.len() + span.1.min(to) - from;
    Match { at, field, excerpt: format!("{before}{}{behind}", &text[from..to]), highlight: (start, end) }
}
