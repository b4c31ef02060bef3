//! The names and slots of the functions that are being analysed.
//!
//! It must never assign one slot to two locals that can be read at the same time.

use hashbrown::HashMap;

use super::Analyser;
use crate::lisp::ir::{Capture, Local};
use crate::value::Keyword;

/// The visible locals of all functions around the current form.
#[derive(Debug, Default)]
pub(super) struct Locals {
    /// The innermost meaning of each name.
    seen: HashMap<Keyword, LocalBinding>,
    /// The names in order of declaration, each with its previous meaning.
    declared: Vec<(Keyword, Option<LocalBinding>)>,
}

/// The meaning of a local name in the function that binds it.
#[derive(Debug, Clone, Copy)]
struct LocalBinding {
    /// The level of that function, 0 for the outermost.
    level: usize,
    source: LocalSource,
}

/// The location of a local's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalSource {
    Slot(u32),
    Capture(u32),
    Myself,
}

/// A function under analysis.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Number of locals declared outside of it.
    outside: usize,
    next: u32,
    /// Slots that the frame needs.
    pub(super) size: u32,
    /// The captures of the function.
    pub(super) captures: Vec<Capture>,
    places: HashMap<(u8, u32), u32>,
    /// Argument counts of `recur`, innermost loop last.
    pub(super) targets: Vec<usize>,
    /// The current part is one of `try`, which `recur` cannot leave.
    pub(super) is_part_of_try: bool,
}

/// A point to return to at the end of a scope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    declared: usize,
    next: u32,
}

impl Locals {
    fn declare(&mut self, name: Keyword, bound: LocalBinding) {
        let before = self.seen.insert(name, bound);
        self.declared.push((name, before));
    }

    /// Forgets the names declared since the mark.
    fn forget(&mut self, declared: usize) {
        for (name, before) in self.declared.drain(declared..).rev() {
            match before {
                Some(before) => self.seen.insert(name, before),
                None => self.seen.remove(&name),
            };
        }
    }

    /// The visible names.
    pub(super) fn names(&self) -> impl Iterator<Item = Keyword> {
        self.seen.keys().copied()
    }
}

impl Scope {
    /// A new slot, free again at the end of the scope.
    pub(super) fn slot(&mut self) -> u32 {
        let slot = self.next;
        self.next += 1;
        self.size = self.size.max(self.next);
        slot
    }

    /// The capture of a value that the creator of this function finds at this location.
    fn capture(&mut self, source: LocalSource) -> LocalSource {
        let (key, capture) = match source {
            LocalSource::Slot(slot) => ((0, slot), Capture::Local(Local { slot, last: false })),
            LocalSource::Capture(outer) => ((1, outer), Capture::Outer(outer)),
            LocalSource::Myself => ((2, 0), Capture::Myself),
        };
        let captures = &mut self.captures;
        LocalSource::Capture(*self.places.entry(key).or_insert_with(|| {
            captures.push(capture);
            u32::try_from(captures.len() - 1).unwrap_or(u32::MAX)
        }))
    }
}

impl Analyser<'_> {
    /// Begins a function.
    pub(super) fn enter_function(&mut self) {
        self.functions.push(Scope { outside: self.locals.declared.len(), ..Scope::default() });
    }

    /// Leaves the innermost function and forgets its locals.
    pub(super) fn leave_function(&mut self) -> Scope {
        let scope = self.functions.pop().unwrap_or_default();
        self.locals.forget(scope.outside);
        scope
    }

    /// Begins an inner scope.
    pub(super) fn enter(&mut self) -> Mark {
        Mark { declared: self.locals.declared.len(), next: self.scope().next }
    }

    /// Leaves an inner scope: its names are forgotten, its slots are free.
    pub(super) fn leave(&mut self, mark: Mark) {
        self.forget(mark);
        self.scope().next = mark.next;
    }

    /// Forgets the names declared since the mark, but keeps their slots.
    pub(super) fn forget(&mut self, mark: Mark) {
        self.locals.forget(mark.declared);
    }

    /// Gives a slot of the innermost function a name.
    pub(super) fn declare(&mut self, name: Keyword, slot: u32) {
        self.bind(name, LocalSource::Slot(slot));
    }

    /// Declares the name of the innermost function itself.
    pub(super) fn declare_myself(&mut self, name: Keyword) {
        self.bind(name, LocalSource::Myself);
    }

    fn bind(&mut self, name: Keyword, source: LocalSource) {
        let level = self.functions.len() - 1;
        self.locals.declare(name, LocalBinding { level, source });
    }

    /// Finds a local of this name from the innermost function; adds captures on the way.
    pub(super) fn local(&mut self, name: Keyword) -> Option<LocalSource> {
        let LocalBinding { level, source } = *self.locals.seen.get(&name)?;
        Some(self.functions.iter_mut().skip(level + 1).fold(source, |source, scope| scope.capture(source)))
    }

    /// True if there is a local of this name.
    pub(super) fn is_local(&self, name: Keyword) -> bool {
        self.locals.seen.contains_key(&name)
    }
}
