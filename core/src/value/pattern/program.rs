//! What a regular expression is compiled to: instructions for the backtracking search.

use std::sync::Arc;

use fancy_regex::{Error, Expr, ParseError};

use super::class::Class;
use super::emit::Emitter;
use super::perl;

/// Most instructions of one program. Counted repetitions are written out, so that short sources can be large.
pub(super) const MOST_INSNS: usize = 20_000;

/// Why a source is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPattern {
    /// What is wrong.
    pub problem: String,
    /// Where, as a byte offset in the source.
    pub offset: Option<usize>,
}

impl BadPattern {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), offset: None }
    }
}

/// A test of one character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    /// This one.
    Char(char),
    /// Any but a newline.
    Line,
    /// Any.
    Any,
    /// One of a set.
    Class(Arc<Class>),
}

impl Test {
    #[inline]
    pub(super) fn passes(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::Line => c != '\n',
            Self::Any => true,
            Self::Class(class) => class.contains(c),
        }
    }
}

/// A condition on a place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    TextStart,
    TextEnd,
    /// The end, or before a newline that ends the text.
    LastLineEnd,
    LineStart,
    LineEnd,
    SearchStart,
    WordStart,
    WordEnd,
    NoWordBefore,
    NoWordAfter,
    WordBoundary,
    NoWordBoundary,
}

/// One instruction. Those that hold an `end` are followed by a part of the program that ends with `Accept` before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Insn {
    /// One character.
    One(Test),
    /// One character again and again.
    Run { test: Test, min: usize, max: usize, greedy: bool },
    /// A condition on the place.
    At(Place),
    /// Tries `first`, then `second`.
    Split { first: usize, second: usize },
    /// Goes on elsewhere.
    Jump(usize),
    /// Keeps the place in a slot; groups have two each, marks of loops come after them.
    Save(usize),
    /// Leaves a loop whose body matched nothing since `mark` was saved.
    Progress { mark: usize, exit: usize },
    /// What a group matched, once more.
    Again { group: usize, folded: bool },
    /// Goes to `otherwise` unless the group matched.
    Matched { group: usize, otherwise: usize },
    /// What follows is as the part says, but nothing is consumed.
    Ahead { negated: bool, end: usize },
    /// What precedes, `min` to `max` characters, is as the part says.
    Behind { negated: bool, min: usize, max: usize, end: usize },
    /// The part without coming back to its choices.
    Atomic { end: usize },
    /// Never matches.
    Fail,
    /// The program, or a part of it, has matched.
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
    /// What the first character of every match passes, if that can be said.
    pub(super) first: Option<Test>,
    /// A character that every match holds, if that can be said.
    pub(super) held: Option<char>,
    /// Steps that compiling took.
    work: usize,
}

impl Program {
    pub(super) fn new(source: &str) -> Result<Self, BadPattern> {
        let spelled = perl::respelled(source)?;
        let tree = Expr::parse_tree(&spelled).map_err(|error| {
            let problem = explain(&spelled, &error);
            // Places in another text would mislead.
            if *spelled == *source { problem } else { BadPattern { offset: None, ..problem } }
        })?;
        let mut emitter = Emitter::new(&spelled, &tree.expr);
        emitter.emit(&tree.expr)?;
        let (mut insns, groups, slots, work) = emitter.finish();
        insns.push(Insn::Accept);
        let names = tree.named_groups.iter().map(|(name, group)| (name.as_str().into(), *group)).collect();
        let (first, held) = (first(&insns), held(&insns));
        Ok(Self { insns, slots, groups, names, first, held, work })
    }

    /// Groups, the whole match included.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Steps that compiling took.
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

/// The last character of those that stand before the first choice.
fn held(insns: &[Insn]) -> Option<char> {
    let certain = insns.iter().take_while(|insn| {
        matches!(insn, Insn::One(_) | Insn::Run { .. } | Insn::Save(_))
            || matches!(insn, Insn::At(place) if *place != Place::SearchStart)
    });
    certain
        .filter_map(|insn| match insn {
            Insn::One(Test::Char(c)) | Insn::Run { test: Test::Char(c), min: 1.., .. } => Some(*c),
            _ => None,
        })
        .last()
}

fn explain(source: &str, error: &Error) -> BadPattern {
    let Error::ParseError(offset, error) = error else {
        return BadPattern::new("it refers to a group that does not exist, or uses a feature that is not supported");
    };
    let problem = match error {
        ParseError::UnclosedOpenParen => "a '(' is never closed".to_owned(),
        ParseError::InvalidRepeat => "the repetition is not written like {2}, {2,} or {2,5}".to_owned(),
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
        ParseError::TargetNotRepeatable => "there is nothing that could be repeated".to_owned(),
        ParseError::InvalidGroupName => "the group's name is not valid".to_owned(),
        _ if source.get(*offset..).is_some_and(|rest| rest.starts_with(')')) => "a ')' has no '(' before it".to_owned(),
        _ => "it cannot be read".to_owned(),
    };
    BadPattern { problem, offset: Some(*offset) }
}
