//! Finds the start of JSON in a reply that still arrives, and feeds it to the push parser.
//!
//! In: pieces of a reply. Out: the stage, and the JSON so far. Reasoning parts, prose, fence marks and blocks of other
//! languages are skipped byte by byte; only the last few bytes that could become a tag are kept.

use super::JsonPush;
use super::state::Phase;
use crate::reply::fence::Tag;
use crate::reply::options::AnswerShape;
use crate::reply::{reasoning, scan};
use crate::text::Span;

/// Longest fence tag that is recognized.
const LONGEST_TAG: usize = 32;
/// Bytes kept from a bracket on, to decide whether it begins JSON.
const HEAD: usize = 256;

/// The kind of text that a reply currently consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyStage {
    /// Text outside of JSON.
    Prose,
    /// Reasoning between tags.
    Reasoning,
    /// JSON.
    Json,
}

/// An incremental reader of replies.
#[derive(Debug, Clone)]
pub struct ReplyPush {
    want: AnswerShape,
    at: usize,
    mode: Mode,
    /// A bracket or a double quote precedes on this line: a tag after it is text.
    after_json: bool,
    /// Text that could become a reasoning tag.
    tag: Option<String>,
    /// This line is blank so far.
    blank_line: bool,
    /// Consecutive fence characters.
    run: Run,
    fence: Option<Tag>,
    json: Option<Found>,
    /// The last JSON that became invalid before any of it was read.
    stump: Option<Found>,
    /// The start of the last text read as JSON.
    head: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Mode {
    Prose,
    Reasoning,
    /// After an opening fence mark: the tag so far, and whether the mark began its line.
    Info {
        tag: String,
        first: bool,
    },
    Json,
}

/// Consecutive fence characters.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    mark: char,
    length: usize,
    /// It began its line.
    first: bool,
}

#[derive(Debug, Clone)]
struct Found {
    push: JsonPush,
    rank: Rank,
}

/// The rank of a JSON value: a later one is shown only if its rank is higher, even if the earlier one is invalid or
/// empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Prose,
    Fence,
    JsonFence,
}

impl ReplyPush {
    /// A reader that searches for the expected shape.
    pub fn new(want: AnswerShape) -> Self {
        Self {
            want,
            at: 0,
            mode: Mode::Prose,
            after_json: false,
            tag: None,
            blank_line: true,
            run: Run::default(),
            fence: None,
            json: None,
            stump: None,
            head: String::new(),
        }
    }

    /// Takes the next piece of the reply.
    pub fn push(&mut self, piece: &str) {
        let mut rest = piece;
        while !rest.is_empty() {
            let taken = if self.mode == Mode::Json { self.in_json(rest) } else { self.outside(rest) };
            if self.json.is_some() || self.stump.is_some() {
                let room = HEAD.saturating_sub(self.head.len());
                let kept = rest[..taken].char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room);
                self.head.push_str(&rest[..kept.last().unwrap_or(0)]);
            }
            self.at += taken;
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// The kind of the current text.
    pub fn stage(&self) -> ReplyStage {
        match self.mode {
            Mode::Prose | Mode::Info { .. } => ReplyStage::Prose,
            Mode::Reasoning => ReplyStage::Reasoning,
            Mode::Json => ReplyStage::Json,
        }
    }

    /// The JSON so far; spans refer to the whole reply.
    pub fn json(&self) -> Option<&JsonPush> {
        self.json.as_ref().map(|found| &found.push)
    }

    /// JSON that became invalid before any of it was read; `None` for a bracket of prose, such as that of `{name}`.
    pub fn broken(&self) -> Option<&JsonPush> {
        self.meant().map(|found| &found.push)
    }

    fn meant(&self) -> Option<&Found> {
        self.stump.as_ref().filter(|_| scan::looks_like_json(&self.head, Span::new(0, self.head.len())))
    }

    fn in_json(&mut self, rest: &str) -> usize {
        let Some(found) = &mut self.json else {
            self.mode = Mode::Prose;
            return 0;
        };
        let taken = found.push.push(rest);
        match found.push.phase() {
            Phase::Complete => self.mode = Mode::Prose,
            Phase::Failed => {
                self.mode = Mode::Prose;
                if found.push.value().is_none_or(|partial| is_empty(&partial.json)) {
                    self.stump = self.json.take();
                }
            }
            Phase::Empty | Phase::Open => {}
        }
        taken
    }

    /// Consumes one character outside of JSON (or a run of plain ones).
    fn outside(&mut self, rest: &str) -> usize {
        let special = |b: u8| matches!(b, b'<' | b'>' | b'{' | b'[' | b'"' | b'`' | b'~' | b'\n');
        if self.tag.is_none() && !rest.starts_with(|c: char| u8::try_from(c).is_ok_and(special)) {
            let plain = &rest[..rest.bytes().position(special).unwrap_or(rest.len())];
            self.end_run();
            match &mut self.mode {
                Mode::Info { tag, .. } => tag.extend(plain.chars().take(LONGEST_TAG.saturating_sub(tag.len()))),
                _ => self.blank_line &= plain.trim_start().is_empty(),
            }
            return plain.len();
        }
        let Some(c) = rest.chars().next() else { return 0 };
        if self.in_tag(c) {
            return c.len_utf8();
        }
        let fenceable = self.mode == Mode::Prose;
        if matches!(c, '`' | '~') && fenceable {
            if self.run.mark != c {
                self.end_run();
                self.run = Run { mark: c, length: 0, first: self.blank_line };
            }
            self.run.length += 1;
            self.blank_line = false;
            return 1;
        }
        self.end_run();
        self.blank_line = c == '\n' || (self.blank_line && c.is_whitespace());
        match (&mut self.mode, c) {
            (Mode::Info { tag, first }, '\n' | '{' | '[' | '"' | '`') => {
                let meaning = Tag::of(tag.trim().split(' ').next().unwrap_or_default());
                let code = c == '`' || *first || meaning != Tag::Other;
                self.fence = code.then_some(if c == '`' { Tag::Other } else { meaning });
                self.mode = Mode::Prose;
                return 0;
            }
            (Mode::Info { tag, .. }, _) if tag.len() < LONGEST_TAG => tag.push(c),
            (_, '\n') => self.after_json = false,
            (Mode::Prose, '{' | '[') => {
                self.after_json = true;
                if self.starts(c) {
                    self.json = Some(Found { push: JsonPush::at(self.at), rank: self.rank() });
                    (self.stump, self.head) = (None, String::new());
                    self.mode = Mode::Json;
                    return 0;
                }
            }
            (Mode::Prose, '"') => self.after_json = true,
            (mode, '<') if *mode == Mode::Reasoning || !self.after_json => self.tag = Some("<".to_owned()),
            _ => {}
        }
        c.len_utf8()
    }

    /// Continues a possible reasoning tag; false when `c` is not part of it.
    fn in_tag(&mut self, c: char) -> bool {
        let Some(mut tag) = self.tag.take() else { return false };
        if !(c.is_ascii_alphabetic() || c == '/' && tag == "<" || c == '>') {
            return false;
        }
        tag.push(c);
        if c != '>' {
            self.tag = (tag.len() <= LONGEST_TAG).then_some(tag);
            return true;
        }
        let name = tag.trim_matches(['<', '>', '/']);
        if reasoning::TAGS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let closing = tag.starts_with("</");
            if closing && self.mode != Mode::Reasoning {
                // The opening tag was in the template: all text before was reasoning.
                (self.json, self.stump, self.fence) = (None, None, None);
            }
            self.mode = if closing { Mode::Prose } else { Mode::Reasoning };
        }
        true
    }

    /// Ends a run of fence characters: three or more open or close a fence (tildes only at the start of a line).
    fn end_run(&mut self) {
        let Run { mark, length, first } = std::mem::take(&mut self.run);
        if length >= 3 && self.mode == Mode::Prose && (mark == '`' || first) && self.fence.take().is_none() {
            self.mode = Mode::Info { tag: String::new(), first };
        }
    }

    /// True if JSON that should be shown starts with this bracket.
    fn starts(&self, bracket: char) -> bool {
        let fits = bracket == '{' || matches!(self.want, AnswerShape::List | AnswerShape::Any);
        let better = match self.json.as_ref().or(self.meant()) {
            None => true,
            Some(found) => self.rank() > found.rank,
        };
        fits && better && self.fence != Some(Tag::Other)
    }

    fn rank(&self) -> Rank {
        match self.fence {
            Some(Tag::Json) => Rank::JsonFence,
            Some(Tag::Untagged) => Rank::Fence,
            Some(Tag::Other) | None => Rank::Prose,
        }
    }
}

/// True if nothing was read after the bracket.
fn is_empty(json: &crate::value::Json) -> bool {
    json.items().is_some_and(<[_]>::is_empty) || json.members().is_some_and(<[_]>::is_empty)
}
