//! The names and slots of one function while it is analysed.
//!
//! It must never give a slot to two locals that can be read at the same time.

use std::rc::Rc;

use hashbrown::HashMap;

use super::Analyser;
use crate::lisp::ir::{Capture, Local};

/// A function that is being analysed.
#[derive(Debug, Default)]
pub(super) struct Scope {
    locals: HashMap<Rc<str>, Bound>,
    /// The names in the order they were declared, each with what it stood for before.
    declared: Vec<(Rc<str>, Option<Bound>)>,
    next: u32,
    /// Slots the frame needs.
    pub(super) size: u32,
    /// What the function closes over.
    pub(super) captures: Vec<Capture>,
    places: HashMap<(u8, u32), u32>,
    /// Counts that `recur` must have, innermost loop last.
    pub(super) targets: Vec<usize>,
}

/// What a local name stands for.
#[derive(Debug, Clone, Copy)]
enum Bound {
    Slot(u32),
    Myself,
}

/// Where the value of a local name is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Slot(u32),
    Capture(u32),
    Myself,
}

/// A point to go back to at the end of a scope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    declared: usize,
    next: u32,
}

impl Scope {
    /// Begins an inner scope.
    pub(super) fn enter(&self) -> Mark {
        Mark { declared: self.declared.len(), next: self.next }
    }

    /// Ends it: its names are forgotten, its slots free.
    pub(super) fn leave(&mut self, mark: Mark) {
        self.forget(mark);
        self.next = mark.next;
    }

    /// Forgets the names declared since, but keeps their slots.
    pub(super) fn forget(&mut self, mark: Mark) {
        for (name, before) in self.declared.drain(mark.declared..).rev() {
            match before {
                Some(before) => self.locals.insert(name, before),
                None => self.locals.remove(&name),
            };
        }
    }

    /// A slot of its own until the scope ends.
    pub(super) fn slot(&mut self) -> u32 {
        let slot = self.next;
        self.next += 1;
        self.size = self.size.max(self.next);
        slot
    }

    /// Names a slot.
    pub(super) fn declare(&mut self, name: &str, slot: u32) {
        self.bind(name, Bound::Slot(slot));
    }

    /// Names the function itself.
    pub(super) fn declare_myself(&mut self, name: &str) {
        self.bind(name, Bound::Myself);
    }

    fn bind(&mut self, name: &str, bound: Bound) {
        let name: Rc<str> = name.into();
        let before = self.locals.insert(Rc::clone(&name), bound);
        self.declared.push((name, before));
    }

    fn find(&self, name: &str) -> Option<Place> {
        self.locals.get(name).map(|bound| match bound {
            Bound::Slot(slot) => Place::Slot(*slot),
            Bound::Myself => Place::Myself,
        })
    }

    /// The names that can be seen.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.locals.keys().map(|name| &**name)
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
    /// Where a local of this name is found from the innermost function; captures are added on the way.
    pub(super) fn local(&mut self, name: &str) -> Option<Place> {
        let (level, found) =
            self.functions.iter().enumerate().rev().find_map(|(level, scope)| Some((level, scope.find(name)?)))?;
        Some(self.functions.iter_mut().skip(level + 1).fold(found, |place, scope| scope.capture(place)))
    }

    /// Is there a local of this name?
    pub(super) fn is_local(&self, name: &str) -> bool {
        self.functions.iter().any(|scope| scope.find(name).is_some())
    }
}
