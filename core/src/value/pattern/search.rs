//! The search: runs instructions over a text, with a stack of remaining choices.
//!
//! Every backtracking step is counted against a limit per start of a match, and all work is reported to the caller
//! while it is done, who may stop it.

use super::program::{Anchor, Insn, Program, Test, ends_java_line};
use crate::limits::REGEX_STEPS;

/// Work between two reports.
const REPORT: usize = 256;
/// Maximum number of choices that may be open at once.
const MOST_CHOICES: usize = 200_000;
/// Maximum number of backtracking steps of one search over all starts: work that is quadratic in the text ends as too complex, not
/// at the program's deadline.
const MOST_STEPS: u64 = 50 * REGEX_STEPS.max;
/// The value of a slot without an offset.
const UNSET: usize = usize::MAX;

/// The reason why a search has no result.
#[derive(Debug)]
pub(crate) enum SearchError<E> {
    /// It exceeds the limit of backtracking.
    TooComplex,
    /// The caller stopped it.
    Stopped(E),
}

/// The byte ranges of a match and its groups; group 0 is the match.
pub(crate) type Captures = Vec<Option<(usize, usize)>>;

/// A search in one text.
pub(crate) struct Search<'p, 't, F> {
    program: &'p Program,
    text: &'t str,
    report: F,
    slots: Vec<usize>,
    choices: Vec<Choice>,
    /// The start offset of the search: `\G`.
    begin: usize,
    work: usize,
    /// Backtracking steps of the current start, and of all starts.
    steps: u64,
    all: u64,
}

/// An alternative to try, or a change to undo when backtracking.
#[derive(Clone, Copy)]
enum Choice {
    Branch {
        pc: usize,
        at: usize,
    },
    Undo {
        slot: usize,
        was: usize,
    },
    /// A greedy run that may shrink down to `low`.
    Shrink {
        pc: usize,
        low: usize,
        at: usize,
    },
    /// A reluctant run at `pc` that may grow.
    Grow {
        pc: usize,
        at: usize,
        left: usize,
    },
}

impl<'p, 't, E, F: FnMut(usize) -> Result<(), E>> Search<'p, 't, F> {
    /// A search that reports its work, in steps of about 10 ns.
    pub(crate) fn new(program: &'p Program, text: &'t str, report: F) -> Self {
        let slots = vec![UNSET; program.slots];
        Self { program, text, report, slots, choices: Vec::new(), begin: 0, work: 0, steps: 0, all: 0 }
    }

    /// The first match that begins at or after `from`; with `filled`, a match that begins exactly there must not be
    /// empty.
    pub(crate) fn find(&mut self, from: usize, filled: NonEmpty) -> Result<Option<Captures>, SearchError<E>> {
        self.begin = from;
        let mut at = from;
        let anchored = matches!(
            self.program.insns.iter().find(|insn| !matches!(insn, Insn::Save(_))),
            Some(Insn::At(Anchor::TextStart))
        );
        if let Some(required) = self.program.required {
            let rest = &self.text[from..];
            self.count(rest.len() / 64)?;
            if !rest.contains(required) {
                return Ok(None);
            }
        }
        loop {
            if let Some(first) = &self.program.first {
                let rest = &self.text[at..];
                let skipped = match first {
                    Test::Char(c) => rest.find(*c),
                    test => rest.find(|c| test.passes(c)),
                };
                let Some(skipped) = skipped else {
                    self.count(rest.len() / 8)?;
                    return Ok(None);
                };
                self.count(skipped / 8)?;
                at += skipped;
            }
            if let Some(end) = self.start(at, None, filled == NonEmpty::AtStart && at == from)? {
                return Ok(Some(self.found(at, end)));
            }
            let Some(c) = self.text[at..].chars().next() else { return Ok(None) };
            if anchored {
                return Ok(None);
            }
            at += c.len_utf8();
        }
    }

    /// The match of the whole text.
    pub(crate) fn whole(&mut self) -> Result<Option<Captures>, SearchError<E>> {
        self.begin = 0;
        let end = self.text.len();
        Ok(self.start(0, Some(end), false)?.map(|end| self.found(0, end)))
    }

    fn found(&self, start: usize, end: usize) -> Captures {
        // `\K` moves the start of the match.
        let start = if self.slots[0] == UNSET { start } else { self.slots[0].min(end) };
        let group = |group: usize| {
            let (from, to) = (self.slots[group * 2], self.slots[group * 2 + 1]);
            (from <= to && to != UNSET).then_some((from, to))
        };
        std::iter::once(Some((start, end))).chain((1..self.program.groups).map(group)).collect()
    }

    fn start(&mut self, at: usize, must_end: Option<usize>, filled: bool) -> Result<Option<usize>, SearchError<E>> {
        self.slots.fill(UNSET);
        self.choices.clear();
        self.steps = 0;
        let end = Acceptance { end: must_end, not: filled.then_some(at) };
        self.run(0, at, end)
    }

    #[inline]
    fn count(&mut self, work: usize) -> Result<(), SearchError<E>> {
        self.work += work;
        if self.work < REPORT {
            return Ok(());
        }
        (self.report)(std::mem::take(&mut self.work)).map_err(SearchError::Stopped)
    }

    fn push(&mut self, choice: Choice) -> Result<(), SearchError<E>> {
        if self.choices.len() >= MOST_CHOICES {
            return Err(SearchError::TooComplex);
        }
        self.choices.push(choice);
        Ok(())
    }

    fn save(&mut self, slot: usize, anchor: usize) -> Result<(), SearchError<E>> {
        let was = std::mem::replace(&mut self.slots[slot], anchor);
        self.push(Choice::Undo { slot, was })
    }

    /// Runs the program from `pc` until it accepts; returns the end offset. On success the choices inside remain open,
    /// on failure all are undone.
    fn run(&mut self, mut pc: usize, mut at: usize, wanted: Acceptance) -> Result<Option<usize>, SearchError<E>> {
        let base = self.choices.len();
        let program = self.program;
        loop {
            self.count(1)?;
            let next = match &program.insns[pc] {
                Insn::One(test) => self.one(test, at).map(|after| (pc + 1, after)),
                Insn::Run { test, min, max, greedy } => self.repeat(pc, test, [*min, *max], *greedy, at)?,
                Insn::At(anchor) => self.is_at(*anchor, at).then_some((pc + 1, at)),
                Insn::Split { first, second } => {
                    self.push(Choice::Branch { pc: *second, at })?;
                    Some((*first, at))
                }
                Insn::Jump(to) => Some((*to, at)),
                Insn::Save(slot) => {
                    self.save(*slot, at)?;
                    Some((pc + 1, at))
                }
                Insn::Progress { mark, exit } => Some((if self.slots[*mark] == at { *exit } else { pc + 1 }, at)),
                Insn::Again { group, folded } => self.again(*group, *folded, at)?.map(|after| (pc + 1, after)),
                Insn::Matched { group, otherwise } => {
                    let matched = self.slots.get(group * 2 + 1).is_some_and(|end| *end != UNSET);
                    Some((if matched { pc + 1 } else { *otherwise }, at))
                }
                Insn::Atomic { end } => self.part(pc + 1, at, Acceptance::default())?.map(|after| (*end, after)),
                Insn::Ahead { negated, end } => {
                    let matched = self.look(*negated, |search| search.part(pc + 1, at, Acceptance::default()))?;
                    matched.then_some((*end, at))
                }
                Insn::Behind { negated, min, max, end } => {
                    let matched = self.look(*negated, |search| search.preceding_part(pc + 1, at, [*min, *max]))?;
                    matched.then_some((*end, at))
                }
                Insn::Accept if wanted.allows(at) => return Ok(Some(at)),
                Insn::Fail | Insn::Accept => None,
            };
            match next {
                Some(next) => (pc, at) = next,
                None => match self.back(base)? {
                    Some(next) => (pc, at) = next,
                    None => return Ok(None),
                },
            }
        }
    }

    /// Backtracks to the last choice with an alternative.
    fn back(&mut self, base: usize) -> Result<Option<(usize, usize)>, SearchError<E>> {
        while self.choices.len() > base {
            let Some(choice) = self.choices.pop() else { return Ok(None) };
            if let Choice::Undo { slot, was } = choice {
                self.slots[slot] = was;
                continue;
            }
            self.steps += 1;
            self.all += 1;
            if self.steps > REGEX_STEPS.max || self.all > MOST_STEPS {
                return Err(SearchError::TooComplex);
            }
            self.count(1)?;
            match choice {
                Choice::Branch { pc, at } => return Ok(Some((pc, at))),
                Choice::Shrink { pc, low, at } => {
                    let at = at - self.text[..at].chars().next_back().map_or(0, char::len_utf8);
                    if at > low {
                        self.choices.push(Choice::Shrink { pc, low, at });
                    }
                    return Ok(Some((pc, at)));
                }
                Choice::Grow { pc, at, left } => {
                    let Insn::Run { test, .. } = &self.program.insns[pc] else { continue };
                    if let Some(after) = self.one(test, at) {
                        if left > 1 {
                            self.choices.push(Choice::Grow { pc, at: after, left: left - 1 });
                        }
                        return Ok(Some((pc + 1, after)));
                    }
                }
                Choice::Undo { .. } => {}
            }
        }
        Ok(None)
    }

    #[inline]
    fn one(&self, test: &Test, at: usize) -> Option<usize> {
        let byte = *self.text.as_bytes().get(at)?;
        if byte.is_ascii() {
            return test.passes(char::from(byte)).then_some(at + 1);
        }
        let c = self.text[at..].chars().next()?;
        test.passes(c).then(|| at + c.len_utf8())
    }

    fn repeat(
        &mut self,
        pc: usize,
        test: &Test,
        [min, max]: [usize; 2],
        greedy: bool,
        start: usize,
    ) -> Result<Option<(usize, usize)>, SearchError<E>> {
        let (mut at, mut count, mut low) = (start, 0, start);
        let most = if greedy { max } else { min };
        while count < most {
            let Some(after) = self.one(test, at) else { break };
            at = after;
            count += 1;
            if count == min {
                low = at;
            }
        }
        self.count((at - start) / 4)?;
        if count < min {
            return Ok(None);
        }
        if greedy && at > low {
            self.push(Choice::Shrink { pc: pc + 1, low, at })?;
        } else if !greedy && max > min {
            self.push(Choice::Grow { pc, at, left: max - min })?;
        }
        Ok(Some((pc + 1, at)))
    }

    fn again(&mut self, group: usize, folded: bool, at: usize) -> Result<Option<usize>, SearchError<E>> {
        let (Some(&from), Some(&to)) = (self.slots.get(group * 2), self.slots.get(group * 2 + 1)) else {
            return Ok(None);
        };
        if to == UNSET || from > to {
            return Ok(None);
        }
        self.count((to - from) / 16)?;
        let (own, rest) = (&self.text[from..to], &self.text[at..]);
        if !folded {
            return Ok(rest.starts_with(own).then(|| at + own.len()));
        }
        let mut rest = rest.chars();
        let length = |rest: &std::str::Chars<'_>| self.text.len() - rest.as_str().len();
        let same = own.chars().all(|c| rest.next().is_some_and(|d| c == d || c.to_lowercase().eq(d.to_lowercase())));
        Ok(same.then(|| length(&rest)))
    }

    /// Runs a part and discards the choices it left; its saved offsets can still be undone.
    fn part(&mut self, pc: usize, at: usize, wanted: Acceptance) -> Result<Option<usize>, SearchError<E>> {
        let base = self.choices.len();
        let end = self.run(pc, at, wanted)?;
        if end.is_some() {
            let mut kept = base;
            for anchor in base..self.choices.len() {
                let choice = self.choices[anchor];
                if matches!(choice, Choice::Undo { .. }) {
                    self.choices[kept] = choice;
                    kept += 1;
                }
            }
            self.choices.truncate(kept);
        }
        Ok(end)
    }

    /// Evaluates a look-around. Offsets saved by a negated one are undone.
    fn look(
        &mut self,
        negated: bool,
        part: impl FnOnce(&mut Self) -> Result<Option<usize>, SearchError<E>>,
    ) -> Result<bool, SearchError<E>> {
        let base = self.choices.len();
        let matched = part(self)?.is_some();
        if negated {
            while self.choices.len() > base {
                if let Some(Choice::Undo { slot, was }) = self.choices.pop() {
                    self.slots[slot] = was;
                }
            }
        }
        Ok(matched != negated)
    }

    fn preceding_part(
        &mut self,
        pc: usize,
        end: usize,
        [min, max]: [usize; 2],
    ) -> Result<Option<usize>, SearchError<E>> {
        let text = self.text;
        let starts = text[..end].char_indices().rev().map(|(start, _)| start);
        let starts_after = std::iter::once(end).chain(starts).skip(min);
        let mut left = max - min;
        for start in starts_after {
            self.count(1)?;
            let wanted = Acceptance { end: Some(end), not: None };
            if let Some(end) = self.part(pc, start, wanted)? {
                return Ok(Some(end));
            }
            if left == 0 {
                break;
            }
            left -= 1;
        }
        Ok(None)
    }

    fn is_at(&self, anchor: Anchor, at: usize) -> bool {
        let (before, after) = (&self.text[..at], &self.text[at..]);
        let word_before = || before.chars().next_back().is_some_and(is_word);
        let word_after = || after.chars().next().is_some_and(is_word);
        match anchor {
            Anchor::TextStart => at == 0,
            Anchor::TextEnd => after.is_empty(),
            Anchor::LastLineEnd => after.is_empty() || after == "\n",
            Anchor::LineStart => at == 0 || (before.ends_with('\n') && !after.is_empty()),
            Anchor::LineEnd => after.is_empty() || after.starts_with('\n'),
            Anchor::JavaLastLineEnd => {
                is_java_line_end(before, after) && (after == "\r\n" || after.chars().nth(1).is_none())
            }
            Anchor::JavaLineStart => at == 0 || (is_java_line_start(before, after) && !after.is_empty()),
            Anchor::JavaLineEnd => is_java_line_end(before, after),
            Anchor::SearchStart => at == self.begin,
            Anchor::WordStart => !word_before() && word_after(),
            Anchor::WordEnd => word_before() && !word_after(),
            Anchor::NoWordBefore => !word_before(),
            Anchor::NoWordAfter => !word_after(),
            Anchor::WordBoundary => word_before() != word_after(),
            Anchor::NoWordBoundary => word_before() == word_after(),
        }
    }
}

/// True at the end of the text and before the end of a line, but not within `\r\n`.
fn is_java_line_end(before: &str, after: &str) -> bool {
    let is_end = after.chars().next().is_none_or(ends_java_line);
    is_end && !(before.ends_with('\r') && after.starts_with('\n'))
}

/// True after the end of a line, but not within `\r\n`.
fn is_java_line_start(before: &str, after: &str) -> bool {
    before.ends_with(ends_java_line) && !(before.ends_with('\r') && after.starts_with('\n'))
}

/// The requirement on a match at the start of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NonEmpty {
    /// It must not be empty.
    AtStart,
    /// It may be empty.
    Nowhere,
}

/// The offsets at which the program may accept.
#[derive(Debug, Clone, Copy, Default)]
struct Acceptance {
    /// Only at this offset.
    end: Option<usize>,
    /// Not at this offset.
    not: Option<usize>,
}

impl Acceptance {
    fn allows(self, at: usize) -> bool {
        self.end.is_none_or(|end| end == at) && self.not != Some(at)
    }
}

fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    regex_syntax::try_is_word_character(c).unwrap_or(false)
}
