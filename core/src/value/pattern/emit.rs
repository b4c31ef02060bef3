//! Compilation: from the syntax tree of a regular expression to instructions.
//!
//! In: trees of the `fancy_regex` parser. Out: instructions. Groups keep the numbers of their order in the source, also
//! where a counted repetition expands to several copies of their part.

use std::collections::HashMap;
use std::sync::Arc;

use fancy_regex::{Absent, Assertion, BacktrackingControlVerb, Expr, LookAround};

use super::RegexRules;
use super::program::Class;
use super::program::{Anchor, Insn, MOST_INSNS, RegexError, Test};

/// Steps of building a set, per set and per range. A set with the letters of all languages has about 700 ranges.
const STEPS_PER_CLASS: usize = 200;
const STEPS_PER_RANGE: usize = 50;
/// Number of ranges after which no more sets are built.
const MOST_RANGES: usize = 10_000;

/// The compiler's state.
pub(super) struct Emitter {
    insns: Vec<Insn>,
    /// Groups seen so far, the whole match included.
    next_group: usize,
    groups: usize,
    slots: usize,
    rules: RegexRules,
    /// The meaning of `$`: `\z` in the source makes it strict, since both are equal in the tree.
    text_end: Anchor,
    /// The sets so far by their source: one that a counted repetition expands many times is built once.
    classes: HashMap<String, Option<Arc<Class>>>,
    /// Total ranges of all sets.
    ranges: usize,
}

impl Emitter {
    pub(super) fn new(source: &str, tree: &Expr, rules: RegexRules) -> Self {
        let groups = 1 + count_groups(tree);
        let text_end = match rules {
            _ if source.contains("\\z") => Anchor::TextEnd,
            RegexRules::Perl => Anchor::LastLineEnd,
            RegexRules::Java => Anchor::JavaLastLineEnd,
        };
        Self {
            insns: Vec::new(),
            next_group: 1,
            groups,
            slots: groups * 2,
            rules,
            text_end,
            classes: HashMap::new(),
            ranges: 0,
        }
    }

    /// The instructions, the number of groups, the number of slots, and the cost of compiling.
    pub(super) fn finish(self) -> (Vec<Insn>, usize, usize, usize) {
        let work = self.insns.len() + self.classes.len() * STEPS_PER_CLASS + self.ranges * STEPS_PER_RANGE;
        (self.insns, self.groups, self.slots, work)
    }

    /// The set with this source; `None` if it is not a set.
    fn class(&mut self, expression: &str) -> Result<Option<Arc<Class>>, RegexError> {
        if let Some(known) = self.classes.get(expression) {
            return Ok(known.clone());
        }
        if self.ranges > MOST_RANGES {
            return Err(RegexError::new("its character sets have too many ranges"));
        }
        let class = Class::of(expression).map(Arc::new);
        self.ranges += class.as_ref().map_or(0, |class| class.ranges());
        self.classes.insert(expression.to_owned(), class.clone());
        Ok(class)
    }

    fn literal(&mut self, c: char, casei: bool) -> Result<Test, RegexError> {
        if !casei {
            return Ok(Test::Char(c));
        }
        let mut text = String::from("(?i)");
        text.push_str(&fancy_regex::escape(c.encode_utf8(&mut [0; 4])));
        Ok(self.class(&text)?.map_or(Test::Char(c), Test::Class))
    }

    /// The test for an expression that matches exactly one character; `None` for others.
    fn single(&mut self, expr: &Expr) -> Result<Option<Test>, RegexError> {
        Ok(match expr {
            Expr::Any { newline: true, .. } => Some(Test::Any),
            Expr::Any { newline: false, .. } => Some(match self.rules {
                RegexRules::Perl => Test::Line,
                RegexRules::Java => Test::JavaLine,
            }),
            Expr::Literal { val, casei } => {
                let mut chars = val.chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) => Some(self.literal(only, *casei)?),
                    _ => None,
                }
            }
            Expr::Delegate { inner, casei } => {
                let class = if *casei { self.class(&format!("(?i){inner}"))? } else { self.class(inner)? };
                let class = class.ok_or_else(|| RegexError::new(format!("the set {inner} is not valid")))?;
                Some(Test::Class(class))
            }
            _ => None,
        })
    }

    fn add(&mut self, insn: Insn) -> Result<usize, RegexError> {
        if self.insns.len() >= MOST_INSNS {
            return Err(RegexError::new("it is too large after expanding its counted repetitions"));
        }
        self.insns.push(insn);
        Ok(self.insns.len() - 1)
    }

    pub(super) fn emit(&mut self, expr: &Expr) -> Result<(), RegexError> {
        match expr {
            Expr::Empty | Expr::Absent(Absent::Clear) => {}
            Expr::Literal { val, casei } => {
                for c in val.chars() {
                    let test = self.literal(c, *casei)?;
                    self.add(Insn::One(test))?;
                }
            }
            Expr::Any { .. } | Expr::Delegate { .. } => {
                let test = self.single(expr)?.ok_or_else(unsupported)?;
                self.add(Insn::One(test))?;
            }
            Expr::Assertion(assertion) => _ = self.add(Insn::At(self.place(*assertion)))?,
            Expr::GeneralNewline { .. } => self.newline()?,
            Expr::Concat(parts) => parts.iter().try_for_each(|part| self.emit(part))?,
            Expr::Alt(choices) => self.choices(choices)?,
            Expr::Group(inner) => {
                let group = self.next_group;
                self.next_group += 1;
                self.add(Insn::Save(group * 2))?;
                self.emit(inner)?;
                self.add(Insn::Save(group * 2 + 1))?;
            }
            Expr::LookAround(inner, kind) => self.look(inner, *kind)?,
            Expr::Repeat { child, lo, hi, greedy } => self.repeat(child, *lo, *hi, *greedy)?,
            Expr::Backref { group, casei } => _ = self.add(Insn::Again { group: *group, folded: *casei })?,
            Expr::AtomicGroup(inner) => self.part(inner, |end| Insn::Atomic { end })?,
            Expr::KeepOut => _ = self.add(Insn::Save(0))?,
            Expr::ContinueFromPreviousMatchEnd => _ = self.add(Insn::At(Anchor::SearchStart))?,
            Expr::Conditional { condition, true_branch, false_branch } => {
                self.conditional(condition, true_branch, false_branch)?;
            }
            Expr::BacktrackingControlVerb(BacktrackingControlVerb::Fail) => _ = self.add(Insn::Fail)?,
            Expr::BacktrackingControlVerb(BacktrackingControlVerb::Accept) => _ = self.add(Insn::Accept)?,
            _ => return Err(unsupported()),
        }
        Ok(())
    }

    fn place(&self, assertion: Assertion) -> Anchor {
        let [last_line_end, line_start, line_end] = match self.rules {
            RegexRules::Perl => [Anchor::LastLineEnd, Anchor::LineStart, Anchor::LineEnd],
            RegexRules::Java => [Anchor::JavaLastLineEnd, Anchor::JavaLineStart, Anchor::JavaLineEnd],
        };
        match assertion {
            Assertion::StartText => Anchor::TextStart,
            Assertion::EndText => self.text_end,
            Assertion::EndTextIgnoreTrailingNewlines { .. } => last_line_end,
            Assertion::StartLine { .. } | Assertion::StartLineOniguruma { .. } => line_start,
            Assertion::EndLine { .. } => line_end,
            Assertion::LeftWordBoundary => Anchor::WordStart,
            Assertion::LeftWordHalfBoundary => Anchor::NoWordBefore,
            Assertion::RightWordBoundary => Anchor::WordEnd,
            Assertion::RightWordHalfBoundary => Anchor::NoWordAfter,
            Assertion::WordBoundary => Anchor::WordBoundary,
            Assertion::NotWordBoundary => Anchor::NoWordBoundary,
        }
    }

    /// `\R`: atomically, `\r\n` as one or any character that ends a line.
    fn newline(&mut self) -> Result<(), RegexError> {
        let class = self.class(r"[\n\x0b\x0c\r\u{85}\u{2028}\u{2029}]")?.ok_or_else(unsupported)?;
        let atomic = self.add(Insn::Fail)?;
        let split = self.add(Insn::Fail)?;
        self.add(Insn::One(Test::Char('\r')))?;
        self.add(Insn::One(Test::Char('\n')))?;
        self.add(Insn::Accept)?;
        let second = self.add(Insn::One(Test::Class(class)))?;
        self.add(Insn::Accept)?;
        self.insns[split] = Insn::Split { first: split + 1, second };
        self.insns[atomic] = Insn::Atomic { end: self.insns.len() };
        Ok(())
    }

    fn choices(&mut self, choices: &[Expr]) -> Result<(), RegexError> {
        let mut exits = Vec::new();
        for (place, choice) in choices.iter().enumerate() {
            if place + 1 == choices.len() {
                self.emit(choice)?;
                break;
            }
            let split = self.add(Insn::Fail)?;
            self.emit(choice)?;
            exits.push(self.add(Insn::Fail)?);
            self.insns[split] = Insn::Split { first: split + 1, second: self.insns.len() };
        }
        let end = self.insns.len();
        for exit in exits {
            self.insns[exit] = Insn::Jump(end);
        }
        Ok(())
    }

    /// A part of the program that ends with `Accept`, after the instruction that runs it.
    fn part(&mut self, inner: &Expr, make: impl FnOnce(usize) -> Insn) -> Result<(), RegexError> {
        let head = self.add(Insn::Fail)?;
        self.emit(inner)?;
        self.add(Insn::Accept)?;
        self.insns[head] = make(self.insns.len());
        Ok(())
    }

    fn look(&mut self, inner: &Expr, kind: LookAround) -> Result<(), RegexError> {
        let negated = matches!(kind, LookAround::LookAheadNeg | LookAround::LookBehindNeg);
        if matches!(kind, LookAround::LookAhead | LookAround::LookAheadNeg) {
            return self.part(inner, |end| Insn::Ahead { negated, end });
        }
        let (min, max) = width(inner);
        self.part(inner, |end| Insn::Behind { negated, min, max, end })
    }

    fn repeat(&mut self, child: &Expr, min: usize, max: usize, greedy: bool) -> Result<(), RegexError> {
        if max < min {
            return Err(RegexError::new("a repetition's largest count is below its smallest"));
        }
        if let Some(test) = self.single(child)? {
            self.add(Insn::Run { test, min, max, greedy })?;
            return Ok(());
        }
        let group = self.next_group;
        for _ in 0..min {
            self.next_group = group;
            self.emit(child)?;
        }
        let split = |first, second| {
            if greedy { Insn::Split { first, second } } else { Insn::Split { first: second, second: first } }
        };
        self.next_group = group;
        if max == usize::MAX {
            let head = self.add(Insn::Fail)?;
            let mark = (width(child).0 == 0).then(|| {
                self.slots += 1;
                self.slots - 1
            });
            if let Some(mark) = mark {
                self.add(Insn::Save(mark))?;
            }
            self.emit(child)?;
            let check = mark.map(|_| self.add(Insn::Fail)).transpose()?;
            let exit = self.add(Insn::Jump(head))? + 1;
            if let (Some(mark), Some(check)) = (mark, check) {
                self.insns[check] = Insn::Progress { mark, exit };
            }
            self.insns[head] = split(head + 1, exit);
            return Ok(());
        }
        let mut heads = Vec::new();
        for _ in min..max {
            self.next_group = group;
            heads.push(self.add(Insn::Fail)?);
            self.emit(child)?;
        }
        self.next_group = group + count_groups(child);
        let end = self.insns.len();
        for head in heads {
            self.insns[head] = split(head + 1, end);
        }
        Ok(())
    }

    fn conditional(&mut self, condition: &Expr, yes: &Expr, no: &Expr) -> Result<(), RegexError> {
        let Expr::BackrefExistsCondition { group, .. } = condition else {
            // If the condition matches it is part of the match; otherwise the other branch begins at the same offset.
            let split = self.add(Insn::Fail)?;
            self.part(condition, |end| Insn::Atomic { end })?;
            self.emit(yes)?;
            let exit = self.add(Insn::Fail)?;
            let otherwise = self.insns.len();
            let group = self.next_group;
            self.next_group = group - count_groups(condition) - count_groups(yes);
            self.part(condition, |end| Insn::Ahead { negated: true, end })?;
            self.next_group = group;
            self.emit(no)?;
            self.insns[split] = Insn::Split { first: split + 1, second: otherwise };
            self.insns[exit] = Insn::Jump(self.insns.len());
            return Ok(());
        };
        let head = self.add(Insn::Fail)?;
        self.emit(yes)?;
        let exit = self.add(Insn::Fail)?;
        self.insns[head] = Insn::Matched { group: *group, otherwise: self.insns.len() };
        self.emit(no)?;
        self.insns[exit] = Insn::Jump(self.insns.len());
        Ok(())
    }
}

fn unsupported() -> RegexError {
    RegexError::new("recursion, absent operators and most control verbs are not supported")
}

/// Fewest and most characters that an expression matches; `usize::MAX` = unbounded.
fn width(expr: &Expr) -> (usize, usize) {
    let sum = |(min, max): (usize, usize), (least, most): (usize, usize)| {
        (min.saturating_add(least), max.saturating_add(most))
    };
    match expr {
        Expr::Any { .. } | Expr::Delegate { .. } => (1, 1),
        Expr::Literal { val, .. } => (val.chars().count(), val.chars().count()),
        Expr::GeneralNewline { .. } => (1, 2),
        Expr::Concat(parts) => parts.iter().map(width).fold((0, 0), sum),
        Expr::Alt(choices) => choices
            .iter()
            .map(width)
            .reduce(|(min, max), (least, most)| (min.min(least), max.max(most)))
            .unwrap_or_default(),
        Expr::Group(inner) => width(inner),
        Expr::AtomicGroup(inner) => width(inner),
        Expr::Repeat { child, lo, hi, .. } => {
            let (min, max) = width(child);
            (min.saturating_mul(*lo), if max == 0 { 0 } else { max.saturating_mul(*hi) })
        }
        Expr::Backref { .. } => (0, usize::MAX),
        Expr::Conditional { condition, true_branch, false_branch } => {
            let (min, max) = sum(width(condition), width(true_branch));
            let (least, most) = width(false_branch);
            (min.min(least), max.max(most))
        }
        _ => (0, 0),
    }
}

fn count_groups(expr: &Expr) -> usize {
    let inner: usize = expr.children_iter().map(count_groups).sum();
    inner + usize::from(matches!(expr, Expr::Group(_)))
}
