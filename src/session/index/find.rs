//! Searches the texts of a segment for the terms of a query.
//!
//! In: a query, texts with their locations. Out: matches with address and excerpt.

use super::digest::Field;
use super::query::{Query, Term};
use super::segment::{SegmentTexts, TextLocation};
use crate::event::Address;

/// Bytes of an excerpt before the start of the match, and after it.
const BEFORE: usize = 40;
const AFTER: usize = 100;

/// Maximum number of matches stored per session; further matches are only counted.
const MAX_MATCHES: usize = 20;

/// A location at which a term of a query occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMatch {
    /// The run, turn or call.
    pub at: Address,
    /// The kind of text.
    pub field: Field,
    /// Part of the line that contains the match.
    pub excerpt: String,
    /// Byte range of the match in the excerpt.
    pub highlight: (usize, usize),
}

/// Terms and matches found in one session.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionMatches {
    /// One bit per term that occurs.
    terms: u32,
    pub(super) matches: Vec<SearchMatch>,
    /// Number of all matches, stored or not.
    pub(super) count: usize,
}

impl SessionMatches {
    /// Returns whether the session satisfies the terms of the query.
    pub(super) fn satisfies(&self, query: &Query) -> bool {
        query.terms.iter().enumerate().all(|(bit, term)| ((self.terms >> bit) & 1 == 1) != term.absent)
    }

    pub(super) fn add_term(&mut self, bit: usize, found: impl FnOnce() -> Option<SearchMatch>) {
        self.terms |= 1 << bit;
        self.add_match(found);
    }

    /// Counts a match, and stores it below the maximum.
    pub(super) fn add_match(&mut self, found: impl FnOnce() -> Option<SearchMatch>) {
        if self.matches.len() < MAX_MATCHES {
            self.matches.extend(found());
        }
        self.count += 1;
    }
}

/// Searches texts; `wanted` selects sessions. `None` when the segment is damaged.
pub(super) fn search_texts(query: &Query, texts: &SegmentTexts<'_>, wanted: &[bool]) -> Option<Vec<SessionMatches>> {
    let mut found = vec![SessionMatches::default(); wanted.len()];
    let is_wanted = |location: &TextLocation<'_>| wanted.get(location.session) == Some(&true);
    texts.for_each(|text, locations| {
        // SegmentTexts of excluded sessions are not searched.
        if !locations.clone().any(|location| is_wanted(&location)) {
            return;
        }
        for (bit, term) in query.terms.iter().enumerate() {
            let Some(first) = term.pattern.find(text) else { continue };
            for location in locations.clone().filter(is_wanted) {
                let Some((field, span)) = find_span(query, term, text, &location, (first.start(), first.end())) else {
                    continue;
                };
                let matched = || (!term.absent).then(|| excerpt(text, span, field, location.address()));
                if let Some(found) = found.get_mut(location.session) {
                    found.add_term(bit, matched);
                }
            }
        }
    })?;
    Some(found)
}

/// Returns the first occurrence of a term at this location in a searched field.
fn find_span(
    query: &Query,
    term: &Term,
    text: &str,
    location: &TextLocation<'_>,
    first: (usize, usize),
) -> Option<(Field, (usize, usize))> {
    let field = |span: (usize, usize)| match location.program {
        Some((start, end)) if (start..end).contains(&span.0) => Field::Program,
        _ => location.field,
    };
    let is_searched = |span: (usize, usize)| query.fields.is_empty() || query.fields.contains(&field(span));
    if is_searched(first) {
        return Some((field(first), first));
    }
    // Only a reply that contains a program has two fields.
    location.program?;
    let spans = term.pattern.find_iter(text).map(|found| (found.start(), found.end()));
    spans.into_iter().find(|span| is_searched(*span)).map(|span| (field(span), span))
}

/// Returns the match with the text around it on its line.
pub(super) fn excerpt(text: &str, span: (usize, usize), field: Field, at: Address) -> SearchMatch {
    let line_start = text[..span.0].rfind('\n').map_or(0, |end| end + 1);
    let line_end = text[span.0..].find('\n').map_or(text.len(), |end| span.0 + end);
    let floor = |mut at: usize| {
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let from = floor(span.0.saturating_sub(BEFORE)).max(line_start);
    let to = floor((span.0 + AFTER).min(text.len())).min(line_end).max(span.0);
    let (before, after) = (if from > line_start { "…" } else { "" }, if to < line_end { "…" } else { "" });
    let start = before.len() + span.0 - from;
    let end = before.len() + span.1.min(to) - from;
    SearchMatch { at, field, excerpt: format!("{before}{}{after}", &text[from..to]), highlight: (start, end) }
}
