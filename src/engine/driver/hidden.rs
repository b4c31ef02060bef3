//! The hidden values of a run: which texts its messages must not show, and which of them a child run inherits.
//!
//! In: values of the context, of programs and of tool results. Out: masked message parts. Calls of parallel branches add to it at the same
//! time: what a child run inherits depends on what happened before it, never on a branch that runs at the same time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptc_core::lisp::Memory;
use ptc_core::lisp::firewall::is_hidden;
use ptc_core::lisp::hidden::HiddenTexts;
use ptc_core::value::Value;

use crate::event::{Address, MessagePart};
use crate::prompt::{TrustedTextPolicy, mask};

/// The hidden values of a run.
pub(super) struct HiddenValues {
    texts: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    /// All of them.
    all: HiddenTexts,
    /// Those that no parallel branch added.
    outside: HiddenTexts,
    /// Those of parallel branches, by the address of the call.
    branches: Vec<(Address, HiddenTexts)>,
}

impl HiddenValues {
    /// Those that a run inherits.
    pub(super) fn new(inherited: HiddenTexts) -> Self {
        Self { texts: Mutex::new(Texts { all: inherited.clone(), outside: inherited, branches: Vec::new() }) }
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hides the values of hidden names in this value, which appeared at this address.
    pub(super) fn collect(&self, at: &Address, value: &Value) {
        let mut found = HiddenTexts::default();
        found.collect(value);
        self.add(at, &found);
    }

    /// Like `collect`, for the definitions of a program.
    pub(super) fn collect_memory(&self, at: &Address, memory: &Memory) {
        let mut found = HiddenTexts::default();
        for (name, binding) in memory {
            if is_hidden(name.name()) {
                found.add(&binding.value);
            } else {
                found.collect(&binding.value);
            }
        }
        self.add(at, &found);
    }

    /// Hides these texts, which a run at this address hides.
    pub(super) fn add(&self, at: &Address, found: &HiddenTexts) {
        if found.is_empty() {
            return;
        }
        let mut texts = self.texts();
        texts.all.extend(found);
        if at.is_in_branch() {
            texts.branches.push((at.clone(), found.clone()));
        } else {
            texts.outside.extend(found);
        }
    }

    /// All texts.
    pub(super) fn all(&self) -> HiddenTexts {
        self.texts().all.clone()
    }

    /// The texts that a child run inherits which is called at this address with these arguments.
    pub(super) fn inherited(&self, at: &Address, args: &Value) -> HiddenTexts {
        let texts = self.texts();
        let mut inherited = texts.outside.clone();
        texts.branches.iter().filter(|(other, _)| !other.is_parallel_to(at)).for_each(|(_, found)| {
            inherited.extend(found);
        });
        inherited.collect(args);
        inherited
    }

    /// The parts with `<hidden>` in place of hidden values.
    pub(super) fn mask(&self, parts: &mut [MessagePart], policy: TrustedTextPolicy) {
        mask(parts, &self.texts().all, policy);
    }
}
