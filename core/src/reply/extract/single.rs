//! Single values: a reply, or the content of a fence, that is one value without brackets.
//!
//! In: the search and a part of the reply. Out: true if the part was such a value, which was then offered.

use super::super::fixes::{Fix, FixKind};
use super::super::options::Recovery;
use super::super::options::{AnswerShape, Scalar};
use super::super::outcome::Rule;
use super::super::repair::{Edge, Read};
use super::{Search, stop};
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{JsonError, Node};

impl Search<'_> {
    /// Offers a single value, or one of the expected words, if it fills `span`; true if it does.
    pub(super) fn scalar(&mut self, rule: Rule, span: Span, edge: Edge) -> bool {
        let text = span.text(self.reply);
        if let AnswerShape::Scalar(Scalar::Words(words)) = self.want
            && let Some(word) = self.word(words, text)
            && edge != Edge::Cut
        {
            let json = Json { node: Node::Str(word), span };
            let fixes = vec![Fix { kind: FixKind::BareWord, at: span }];
            self.offer(rule, span.start, Read { json, fixes, end: span.end, visited: text.len() });
            return true;
        }
        let Ok(read) = self.read(span.start, span.end, self.recovery, edge) else { return false };
        if read.end != span.end || matches!(read.json.node, Node::List(_) | Node::Object(_)) {
            return false;
        }
        if edge == Edge::Cut && !matches!(read.json.node, Node::Str(_)) {
            let message = "the reply was cut after this value".to_owned();
            let cut = stop(JsonError { message, offset: span.end, incomplete: true });
            self.fault(rule, span, cut);
        } else {
            self.offer(rule, span.start, read);
        }
        true
    }

    /// True if `text` is one of the expected words.
    pub(super) fn is_word(&self, text: &str) -> bool {
        matches!(self.want, AnswerShape::Scalar(Scalar::Words(words)) if self.word(words, text).is_some())
    }

    /// The expected word that equals `text`; lenient ignores case and surrounding marks.
    fn word(&self, words: &[String], text: &str) -> Option<String> {
        let same = |word: &&String| match self.recovery {
            Recovery::Strict => false,
            Recovery::Standard => word.as_str() == text,
            Recovery::Lenient => {
                let bare = text.trim_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace());
                word.as_str() == text || word.to_lowercase() == bare.to_lowercase()
            }
        };
        words.iter().find(same).cloned()
    }

    /// Offers `span` if it is a single value where brackets are expected: valid JSON of the wrong shape. True if it is.
    pub(super) fn misplaced(&mut self, rule: Rule, span: Span) -> bool {
        if self.want.admits_scalar() || self.edge(span.end) == Edge::Cut {
            return false;
        }
        let Ok(read) = self.read(span.start, span.end, Recovery::Strict, Edge::Closed) else { return false };
        let is_single = read.end == span.end && !matches!(read.json.node, Node::List(_) | Node::Object(_));
        if is_single {
            self.offer(rule, span.start, read);
        }
        is_single
    }
}
