//! The names and slots of the functions that are being analysed.
//!
//! It must never give a slot to two locals that can be read at the same time.

use hashbrown::HashMap;

use super::Analyser;
use crate::lisp::ir::{Capture, Local};
use crate::value::Keyword;

/// The locals that can be seen, of all functions around the current form.
#[derive(Debug, Default)]
pub(super) struct Locals {
    /// What each name stands for, innermost first to be found.
    seen: HashMap<Keyword, Bound>,
    /// The names in the order they were declared, each with what it stood for before.
    declared: Vec<(Keyword, Option<Bound>)>,
}

/// What a local name stands for, in the function that binds it.
#[derive(Debug, Clone, Copy)]
struct Bound {
    /// Which function it is, from the outermost.
    level: usize,
    place: Place,
}

/// Where the value of a local name is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Slot(u32),
    Capture(u32),
    Myself,
}

/// A function that is being analysed.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// How many locals were declared outside of it.
    outside: usize,
    next: u32,
    /// Slots the frame needs.
    pub(super) size: u32,
    /// What the function closes over.
    pub(super) captures: Vec<Capture>,
    places: HashMap<(u8, u32), u32>,
    /// Counts that `recur` must have, innermost loop last.
    pub(super) targets: Vec<usize>,
}

/// A point to go back to at the end of a scope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    declared: usize,
    next: u32,
}

impl Locals {
    fn declare(&mut self, name: Keyword, bound: Bound) {
        let before = self.seen.insert(name, bound);
        self.declared.push((name, before));
    }

    /// Forgets the names declared since that many were.
    fn forget(&mut self, declared: usize) {
        for (name, before) in self.declared.drain(declared..).rev() {
            match before {
                Some(before) => self.seen.insert(name, before),
                None => self.seen.remove(&name),
            };
        }
    }

    /// The names that can be seen.
    pub(super) fn names(&self) -> impl Iterator<Item = Keyword> {
        self.seen.keys().copied()
    }
}

impl Scope {
    /// A slot of its own until the scope ends.
    pub(super) fn slot(&mut self) -> u32 {
        let slot = self.next;
        self.next += 1;
        self.size = self.size.max(self.next);
        slot
    }

    /// The capture that brings in what the maker of this function finds at `place`.
    fn capture(&mut self, place: Place) -> Place {
        let (key, capture) = match place {
            Place::Slot(slot) => ((0, slot), Capture::Local(Local { slot, last: false })),
            Place::Capture(outer) => ((1, outer), Capture::Outer(outer)),
            Place::Myself => ((2, 0), Capture::Myself),
        };
        let captures = &mut self.captures;
        Place::Capture(*self.places.entry(key).or_insert_with(|| {
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

    /// Ends the innermost function: its locals are forgotten.
    pub(super) fn leave_function(&mut self) -> Scope {
        let scope = self.functions.pop().unwrap_or_default();
        self.locals.forget(scope.outside);
        scope
    }

    /// Begins an inner scope.
    pub(super) fn enter(&mut self) -> Mark {
        Mark { declared: self.locals.declared.len(), next: self.scope().next }
    }

    /// Ends it: its names are forgotten, its slots free.
    pub(super) fn leave(&mut self, mark: Mark) {
        self.forget(mark);
        self.scope().next = mark.next;
    }

    /// Forgets the names declared since, but keeps their slots.
    pub(super) fn forget(&mut self, mark: Mark) {
        self.locals.forget(mark.declared);
    }

    /// Names a slot of the innermost function.
    pub(super) fn declare(&mut self, name: Keyword, slot: u32) {
        self.bind(name, Place::Slot(slot));
    }

    /// Names the innermost function itself.
    pub(super) fn declare_myself(&mut self, name: Keyword) {
        self.bind(name, Place::Myself);
    }

    fn bind(&mut self, name: Keyword, place: Place) {
        let level = self.functions.len() - 1;
        self.locals.declare(name, Bound { level, place });
    }

    /// Where a local of this name is found from the innermost function; captures are added on the way.
    pub(super) fn local(&mut self, name: Keyword) -> Option<Place> {
        let Bound { level, place } = *self.locals.seen.get(&name)?;
        Some(self.functions.iter_mut().skip(level + 1).fold(place, |place, scope| scope.capture(place)))
    }

    /// Is there a local of this name?
    pub(super) fn is_local(&self, name: Keyword) -> bool {
        self.locals.seen.contains_key(&name)
    }
}
