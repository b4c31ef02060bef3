//! The order of lists of sessions, and the list of the built-in examples.
//!
//! In: sessions. Out: summaries, newest first.

use super::digest::short_summary;
use crate::session::{Session, Summary};

/// Returns the summaries of the built-in examples, newest first, without reading their texts.
pub fn example_summaries(sessions: &[Session]) -> Vec<Summary> {
    let of = |session: &Session| {
        let path = session.header.id.file_name().into();
        Summary { path, example: true, ..short_summary(session) }
    };
    let mut all: Vec<Summary> = sessions.iter().map(of).collect();
    newest_first(&mut all, |summary| summary);
    all
}

/// Sorts by the time in the ids, and within one second by the time in the headers.
pub(super) fn newest_first<T>(all: &mut [T], summary: impl Fn(&T) -> &Summary) {
    all.sort_by(|one, other| {
        let (one, other) = (summary(one), summary(other));
        let stamp = |id: &str| id.rsplit_once('-').map_or(id.to_owned(), |(stamp, _)| stamp.to_owned());
        stamp(&other.id)
            .cmp(&stamp(&one.id))
            .then(other.created_ms.cmp(&one.created_ms))
            .then_with(|| other.id.cmp(&one.id))
    });
}
