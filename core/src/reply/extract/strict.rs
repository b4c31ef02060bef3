//! Level strict: the whole reply, or one fence around it, is JSON.
//!
//! In: the search and the reply without its reasoning. Out: the value is offered, or the first error is recorded.

use super::super::fence::{self, End, Fence};
use super::super::options::Recovery;
use super::super::outcome::Rule;
use super::super::repair::{Edge, Stop};
use super::super::{reasoning, scan};
use super::{Search, stop};
use crate::text::Span;
use crate::value::json::JsonError;

impl Search<'_> {
    /// Strict: after the whole reply, tries the one closed fence around it.
    pub(super) fn strict(&mut self, rest: &[Span]) {
        let Some(first) = rest.first() else { return };
        if let [only] = rest
            && let [Fence { tag, span, content, end: End::Closed }] = fence::find(self.reply, *only)[..]
            && let Some(rule) = Rule::of_fence(tag)
            && reasoning::trim(self.reply, span) == *only
        {
            let content = reasoning::trim(self.reply, content);
            if !self.whole(rule, content) && !self.misplaced(rule, content) {
                let stop = self.strict_error(content);
                self.fault(rule, content, stop);
            }
        } else if scan::next_start(self.reply, Span::new(first.start, self.reply.len())).is_some() {
            let stop = self.strict_error(*first);
            self.fault(Rule::Whole, *first, stop);
        }
    }

    /// The reason why a span is not valid JSON.
    pub(super) fn strict_error(&mut self, span: Span) -> Stop {
        match self.read(span.start, span.end, Recovery::Strict, Edge::Closed) {
            Err(stop) => stop,
            Ok(read) => {
                let message = "expected only JSON, found text after it".to_owned();
                stop(JsonError { message, offset: read.end, incomplete: false })
            }
        }
    }
}
