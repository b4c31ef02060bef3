//! The names in memory: slots for the running program's globals, a map for all others.
//!
//! Definitions never change the input's memory: changes are merged at the end, so that a failed program changes
//! nothing. Definitions inside functions that builtins call (`map`, `reduce`, …) are undone when the function returns.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::World;
use super::function::{Callable, Closure};
use crate::lisp::{Binding, Memory};
use crate::value::{Function, Keyword, Value};

/// The first function that a global held during a run. It lives until the run ends, so that code may borrow it while
/// the function runs, whatever the program defines in the meantime.
pub(crate) type Target = OnceCell<Arc<Function>>;

/// The names in memory as a machine sees them.
pub(crate) struct Globals<'h> {
    slots: Vec<Global<'h>>,
    targets: &'h [Target],
    /// Names that only functions of earlier programs use.
    others: BTreeMap<Keyword, Global<'h>>,
    /// Values to restore, newest last.
    undo: Vec<(Key, Global<'h>)>,
    /// Number of active calls from builtins, whose definitions will be undone.
    scoped_calls: u32,
}

#[derive(Clone, Default)]
struct Global<'h> {
    value: Option<Value>,
    doc: Option<Arc<str>>,
    /// Defined by this run.
    changed: bool,
    /// The value, if it is a closure and the function in the target.
    closure: Option<&'h Closure>,
}

/// A snapshot of names and values.
pub(super) struct Snapshot<'h> {
    slots: Vec<Global<'h>>,
    others: BTreeMap<Keyword, Global<'h>>,
}

impl Snapshot<'_> {
    /// One empty target for each slot.
    pub(super) fn targets(&self) -> Vec<Target> {
        self.slots.iter().map(|_| Target::new()).collect()
    }
}

#[derive(Clone, Copy)]
enum Key {
    Slot(usize),
    Name(Keyword),
}

impl<'h> Globals<'h> {
    pub(super) fn new(world: &World<'h>, targets: &'h [Target]) -> Self {
        let slot = |(name, target): (&Keyword, &'h Target)| match world.memory.get(name) {
            Some(binding) => Global { closure: first(target, &binding.value), ..Global::of(binding) },
            None => Global::default(),
        };
        let slots = world.names.iter().zip(targets).map(slot).collect();
        Self { slots, targets, others: BTreeMap::new(), undo: Vec::new(), scoped_calls: 0 }
    }

    /// Takes a snapshot for branches.
    pub(super) fn snapshot(&self) -> Snapshot<'h> {
        Snapshot { slots: self.slots.clone(), others: self.others.clone() }
    }

    /// Restores a snapshot; definitions do not affect it.
    pub(super) fn restored(snapshot: &Snapshot<'h>, targets: &'h [Target]) -> Self {
        let slot = |(global, target): (&Global<'h>, &'h Target)| Global {
            closure: global.value.as_ref().and_then(|value| first(target, value)),
            ..global.clone()
        };
        let slots = snapshot.slots.iter().zip(targets).map(slot).collect();
        Self { slots, targets, others: snapshot.others.clone(), undo: Vec::new(), scoped_calls: 0 }
    }

    /// The value of the global with this number.
    #[inline]
    pub(crate) fn slot(&self, global: usize) -> Option<&Value> {
        self.slots.get(global)?.value.as_ref()
    }

    /// The closure of the global with this number, if it may be borrowed until the run ends.
    #[inline]
    pub(crate) fn closure(&self, global: usize) -> Option<&'h Closure> {
        self.slots.get(global)?.closure
    }

    /// The value of a name, for code of earlier programs.
    pub(crate) fn named<'g>(&'g self, world: &'g World<'_>, name: Keyword) -> Option<&'g Value> {
        match Self::key(world, name) {
            Key::Slot(at) => self.slot(at),
            Key::Name(name) => match self.others.get(&name) {
                Some(global) => global.value.as_ref(),
                None => world.memory.get(&name).map(|binding| &binding.value),
            },
        }
    }

    fn key(world: &World<'_>, name: Keyword) -> Key {
        world.names.iter().position(|have| *have == name).map_or(Key::Name(name), Key::Slot)
    }

    /// Defines a name by its number in the running program.
    pub(crate) fn define(&mut self, global: usize, value: Value, doc: Option<Arc<str>>) {
        self.set(Key::Slot(global), value, doc);
    }

    /// Defines a name, for code of an earlier program.
    pub(crate) fn define_named(&mut self, world: &World<'_>, name: Keyword, value: Value, doc: Option<Arc<str>>) {
        self.set(Self::key(world, name), value, doc);
    }

    fn set(&mut self, key: Key, value: Value, doc: Option<Arc<str>>) {
        let closure = match key {
            Key::Slot(at) => self.targets.get(at).and_then(|target| first(target, &value)),
            Key::Name(_) => None,
        };
        let old = self.replace(key, Global { value: Some(value), doc, changed: true, closure });
        if self.scoped_calls > 0 {
            self.undo.push((key, old));
        }
    }

    fn replace(&mut self, key: Key, global: Global<'h>) -> Global<'h> {
        match key {
            Key::Slot(at) => match self.slots.get_mut(at) {
                Some(slot) => std::mem::replace(slot, global),
                None => Global::default(),
            },
            // Restoring the empty global removes a name that did not exist before.
            Key::Name(name) => self.others.insert(name, global).unwrap_or_default(),
        }
    }

    /// Starts a call from a builtin: its definitions are undone by [`Globals::leave`].
    #[inline]
    pub(crate) fn enter(&mut self) -> usize {
        self.scoped_calls += 1;
        self.undo.len()
    }

    /// Ends the call.
    #[inline]
    pub(crate) fn leave(&mut self, mark: usize) {
        self.scoped_calls -= 1;
        if self.undo.len() > mark {
            self.restore(mark);
        }
    }

    /// The active calls from builtins, and the values to restore after them.
    pub(crate) fn position(&self) -> (u32, usize) {
        (self.scoped_calls, self.undo.len())
    }

    /// Ends the calls that began after a position, because one of them failed: their definitions are undone.
    pub(crate) fn recover(&mut self, (scoped_calls, mark): (u32, usize)) {
        if self.scoped_calls > scoped_calls {
            self.scoped_calls = scoped_calls;
            self.restore(mark);
        }
    }

    #[cold]
    fn restore(&mut self, mark: usize) {
        while self.undo.len() > mark {
            match self.undo.pop() {
                Some((Key::Name(name), old)) if old.value.is_none() => {
                    self.others.remove(&name);
                }
                Some((key, old)) => {
                    self.replace(key, old);
                }
                None => {}
            }
        }
    }

    /// The current value of a name.
    pub(crate) fn binding(&self, world: &World<'_>, name: Keyword) -> Option<Binding> {
        let global = match Self::key(world, name) {
            Key::Slot(at) => self.slots.get(at),
            Key::Name(name) => match self.others.get(&name) {
                None => return world.memory.get(&name).cloned(),
                other => other,
            },
        };
        global.and_then(Global::binding)
    }

    /// All bound names, sorted.
    pub(crate) fn names(&self, world: &World<'_>) -> Vec<Keyword> {
        let mut names: Vec<Keyword> = world.memory.keys().copied().chain(self.changed(world).map(|it| it.0)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The names defined by this run.
    fn changed<'g>(&'g self, world: &'g World<'_>) -> impl Iterator<Item = (Keyword, &'g Global<'h>)> {
        let slots = world.names.iter().copied().zip(&self.slots);
        slots.chain(self.others.iter().map(|(name, global)| (*name, global))).filter(|(_, global)| global.changed)
    }

    /// The values defined by this run.
    pub(super) fn defined<'g>(&'g self, world: &'g World<'_>) -> impl Iterator<Item = &'g Value> {
        self.changed(world).filter_map(|(_, global)| global.value.as_ref())
    }

    /// The memory after the run.
    pub(crate) fn memory(&self, world: &World<'_>) -> Memory {
        let mut memory = world.memory.clone();
        memory.extend(self.changed(world).filter_map(|(name, global)| Some((name, global.binding()?))));
        memory
    }
}

impl Global<'_> {
    fn of(binding: &Binding) -> Self {
        Self { value: Some(binding.value.clone()), doc: binding.doc.clone(), changed: false, closure: None }
    }

    fn binding(&self) -> Option<Binding> {
        self.value.as_ref().map(|value| Binding { value: value.clone(), doc: self.doc.clone() })
    }
}

/// Stores the function in the target if it is the first one; returns the closure there if the target holds this
/// function.
fn first<'h>(target: &'h Target, value: &Value) -> Option<&'h Closure> {
    let Value::Function(function) = value else { return None };
    match target.get_or_init(|| Arc::clone(function)) {
        kept if Arc::ptr_eq(kept, function) => match Callable::of(kept) {
            Some(Callable::Closure(closure)) => Some(closure),
            _ => None,
        },
        _ => None,
    }
}
