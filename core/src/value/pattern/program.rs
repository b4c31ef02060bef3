//! Compiled regular expressions: instructions for the backtracking search, and the sets of characters in them.

use std::sync::Arc;

use fancy_regex::{Error, Expr, ParseError};
use regex_syntax::hir::{Class as Ranges, HirKind};

use super::RegexRules;
use super::emit::Emitter;
use super::perl;

/// Maximum number of instructions of one program. Counted repetitions are expanded, so a short source can be large.
pub(super) const MOST_INSNS: usize = 20_000;

/// A syntax error in a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegexError {
    /// The problem.
    pub problem: String,
    /// Its byte offset in the source.
    pub offset: Option<usize>,
}

impl RegexError {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), offset: None }
    }
}

/// A test of one character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    /// This character.
    Char(char),
    /// Any character except a newline.
    Line,
    /// Any character except those that end a line in Java.
    JavaLine,
    /// Any character.
    Any,
    /// A character of a set.
    Class(Arc<Class>),
}

impl Test {
    #[inline]
    pub(super) fn passes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::Line => c != '\n',
            Self::JavaLine => !ends_java_line(c),
            Self::Any => true,
            Self::Class(class) => class.contains(c),
        }
    }
}

/// True for a character that ends a line in Java.
#[inline]
pub(super) fn ends_java_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A condition on an offset in the text. Java's lines also end with `\r\n` and other characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    TextStart,
    TextEnd,
    /// The end, or the offset before a newline that ends the text.
    LastLineEnd,
    LineStart,
    LineEnd,
    JavaLastLineEnd,
    JavaLineStart,
    JavaLineEnd,
    SearchStart,
    WordStart,
    WordEnd,
    NoWordBefore,
    NoWordAfter,
    WordBoundary,
    NoWordBoundary,
}

/// One instruction. Those with an `end` are followed by a part of the program that ends with `Accept` before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Insn {
    /// Matches one character.
    One(Test),
    /// Matches one character repeatedly.
    Run { test: Test, min: usize, max: usize, greedy: bool },
    /// Checks a condition on the offset.
    At(Anchor),
    /// Tries `first`, then `second`.
    Split { first: usize, second: usize },
    /// Continues at another instruction.
    Jump(usize),
    /// Saves the offset in a slot; groups have two slots each, followed by the marks of loops.
    Save(usize),
    /// Leaves a loop whose body matched nothing since `mark` was saved.
    Progress { mark: usize, exit: usize },
    /// Matches the text of a group again.
    Again { group: usize, folded: bool },
    /// Continues at `otherwise` unless the group matched.
    Matched { group: usize, otherwise: usize },
    /// Looks ahead: the part must match here (or must not), but nothing is consumed.
    Ahead { negated: bool, end: usize },
    /// Looks behind: the part must match (or must not) the preceding `min` to `max` characters.
    Behind { negated: bool, min: usize, max: usize, end: usize },
    /// Matches a part without backtracking into it.
    Atomic { end: usize },
    /// Never matches.
    Fail,
    /// Ends the program, or a part of it, with a match.
    Accept,
}

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) insns: Vec<Insn>,
    /// Slots: two per group, the whole match being group 0, then the marks.
    pub(super) slots: usize,
    /// Groups, the whole match included.
    pub(super) groups: usize,
    /// Names of groups with their numbers.
    names: Vec<(Box<str>, usize)>,
    /// A test that the first character of every match passes, if known.
    pub(super) first: Option<Test>,
    /// A character that every match contains, if known.
    pub(super) required: Option<char>,
    /// Steps of compiling.
    work: usize,
}

impl Program {
    pub(super) fn new(source: &str, rules: RegexRules) -> Result<Self, RegexError> {
        let spelled = perl::translated(source, rules)?;
        let tree = Expr::parse_tree(&spelled).map_err(|error| {
            let problem = explain(&spelled, &error);
            // An offset in the translated source would be misleading.
            if *spelled == *source { problem } else { RegexError { offset: None, ..problem } }
        })?;
        let mut emitter = Emitter::new(&spelled, &tree.expr, rules);
        emitter.emit(&tree.expr)?;
        let (mut insns, groups, slots, work) = emitter.finish();
        insns.push(Insn::Accept);
        let names = tree.named_groups.iter().map(|(name, group)| (name.as_str().into(), *group)).collect();
        let (first, required) = (first(&insns), required(&insns));
        Ok(Self { insns, slots, groups, names, first, required, work })
    }

    /// Groups, the whole match included.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Steps of compiling.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    /// The number of the group with this name.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(have, _)| **have == *name).map(|(_, group)| *group)
    }
}

fn first(insns: &[Insn]) -> Option<Test> {
    insns.iter().find(|insn| !matches!(insn, Insn::Save(_))).and_then(|insn| match insn {
        Insn::One(test) | Insn::Run { test, min: 1.., .. } => Some(test.clone()),
        _ => None,
    })
}

/// The last literal character before the first choice.
fn required(insns: &[Insn]) -> Option<char> {
    let certain = insns.iter().take_while(|insn| {
        matches!(insn, Insn::One(_) | Insn::Run { .. } | Insn::Save(_))
            || matches!(insn, Insn::At(place) if *place != Anchor::SearchStart)
    });
    certain
        .filter_map(|insn| match insn {
            Insn::One(Test::Char(c)) | Insn::Run { test: Test::Char(c), min: 1.., .. } => Some(*c),
            _ => None,
        })
        .last()
}

fn explain(source: &str, error: &Error) -> RegexError {
    let Error::ParseError(offset, error) = error else {
        return RegexError::new("it refers to a group that does not exist, or uses a feature that is not supported");
    };
    let problem = match error {
        ParseError::UnclosedOpenParen => "a '(' is never closed".to_owned(),
        ParseError::InvalidRepeat => "a repetition must be written like {2}, {2,} or {2,5}".to_owned(),
        ParseError::RecursionExceeded => "groups are nested too deeply".to_owned(),
        ParseError::TrailingBackslash => "it ends with a single '\\'".to_owned(),
        ParseError::InvalidEscape(escape) => format!("the escape {escape} is unknown"),
        ParseError::UnclosedUnicodeName => "a '{' after \\p, \\x or \\u is never closed".to_owned(),
        ParseError::InvalidHex | ParseError::InvalidCodepointValue => "the character code is not valid".to_owned(),
        ParseError::InvalidClass => "a '[' is never closed, or the set is not valid".to_owned(),
        ParseError::UnknownFlag(flag) => format!("the flag {flag} is unknown"),
        ParseError::InvalidBackref | ParseError::InvalidGroupNameBackref(_) => {
            "it refers to a group that does not exist".to_owned()
        }
        ParseError::TargetNotRepeatable => "there is nothing to repeat".to_owned(),
        ParseError::InvalidGroupName => "the group's name is not valid".to_owned(),
        _ if source.get(*offset..).is_some_and(|rest| rest.starts_with(')')) => "a ')' has no '(' before it".to_owned(),
        _ => "it cannot be read".to_owned(),
    };
    RegexError { problem, offset: Some(*offset) }
}

/// A set of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class {
    ascii: u128,
    /// Ranges beyond ASCII, sorted, both ends included.
    rest: Box<[(char, char)]>,
}

impl Class {
    /// The characters that an expression for one character matches; `None` for any other expression.
    pub(super) fn of(expression: &str) -> Option<Self> {
        let parsed = regex_syntax::Parser::new().parse(expression).ok()?;
        let mut ranges = Vec::new();
        match parsed.kind() {
            HirKind::Class(Ranges::Unicode(class)) => {
                ranges.extend(class.ranges().iter().map(|range| (range.start(), range.end())));
            }
            HirKind::Class(Ranges::Bytes(class)) => {
                ranges.extend(class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))));
            }
            HirKind::Literal(literal) => {
                let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
                let (Some(only), None) = (chars.next(), chars.next()) else { return None };
                ranges.push((only, only));
            }
            _ => return None,
        }
        Some(Self::from_ranges(ranges))
    }

    fn from_ranges(ranges: Vec<(char, char)>) -> Self {
        let mut ascii = 0;
        for (first, last) in &ranges {
            for code in (*first as u32)..=(*last as u32).min(127) {
                ascii |= 1_u128 << code;
            }
        }
        Self { ascii, rest: ranges.into_iter().filter(|(_, last)| !last.is_ascii()).collect() }
    }

    /// The number of ranges beyond ASCII.
    pub(super) fn ranges(&self) -> usize {
        self.rest.len()
    }

    /// True if the character is in the set.
    #[inline]
    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> (c as u32) & 1 == 1;
        }
        let after = self.rest.partition_point(|(first, _)| *first <= c);
        after > 0 && self.rest[after - 1].1 >= c
    }
}
