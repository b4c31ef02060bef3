//! Other readings of a value whose strings hold unescaped quotes: a value that could also be another one is refused.
//!
//! In: the search, a value that was read and accepted. Out: the quote in doubt, if a string that ends later gives another value that the
//! caller accepts too. The number of readings is bounded.

use super::super::fixes::{Fix, FixKind};
use super::super::repair::{PutOff, Read, read_otherwise};
use super::Search;
use crate::value::json::Node;

/// Strings of a value that are also read with other ends, and how many ends of each.
const OTHER_STRINGS: usize = 6;
const OTHER_ENDS: usize = 3;

impl Search<'_> {
    /// The first repair of a value that could be read in another way, as another value that the caller accepts too.
    pub(super) fn other_reading(&mut self, start: usize, read: &Read) -> Option<usize> {
        let doubtful = doubtful_quote(read)?;
        let limit = self.reply.len();
        for string in 0..OTHER_STRINGS {
            for ends in 1..=OTHER_ENDS {
                if self.is_exhausted() {
                    return None;
                }
                let other = PutOff { string, ends };
                let other = read_otherwise(&self.reply[..limit], start, self.recovery, self.edge(limit), other);
                self.visited += other.as_ref().map_or_else(|stop| stop.visited, |read| read.visited);
                let Ok(other) = other else { continue };
                if other.json != read.json && (self.accept)(&other.json).is_ok() {
                    return Some(doubtful);
                }
            }
        }
        None
    }
}

/// The first unescaped quote of a value that may be in the wrong string: one of an odd number in its string, or any if the text after it
/// needed other repairs. Quotes in pairs in a text that is regular otherwise belong to their string.
fn doubtful_quote(read: &Read) -> Option<usize> {
    let is_quote = |fix: &&Fix| fix.kind == FixKind::InnerQuote;
    let first = read.fixes.iter().find(is_quote)?.at.start;
    if read.fixes.iter().any(|fix| fix.kind.may_follow_a_wrong_end()) {
        return Some(first);
    }
    let mut pending = vec![&read.json];
    while let Some(json) = pending.pop() {
        match &json.node {
            Node::List(items) => pending.extend(items),
            Node::Object(members) => pending.extend(members.iter().map(|member| &member.value)),
            Node::Str(_) => {
                let within = |fix: &&Fix| (json.span.start..json.span.end).contains(&fix.at.start);
                let quotes: Vec<&Fix> = read.fixes.iter().filter(is_quote).filter(within).collect();
                if quotes.len() % 2 == 1 {
                    return quotes.first().map(|fix| fix.at.start);
                }
            }
            _ => {}
        }
    }
    None
}
