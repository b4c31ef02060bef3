//! The state shared by the agents of one tree: turns, levels, waits for the user, allowed tools.
//!
//! Agents of parallel branches use it at the same time: everything is locked.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::event::{self, Envelope};

/// The state shared by the agents of one tree. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Turns that are left; not known before the root run starts.
    turns: Arc<Mutex<Option<u32>>>,
    /// Levels of agents that the root run allows; not known before it starts.
    levels: Arc<OnceLock<u32>>,
    /// The time in which a run of the tree waited for the user.
    waits: Arc<Mutex<Waits>>,
    /// The waits according to the recorded events.
    recorded: Arc<Mutex<event::Waits>>,
    /// Definitions of tools that may be called.
    allowed: Arc<Mutex<HashSet<String>>>,
    /// Held while the user is asked for consent.
    consent: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Waits {
    over: Duration,
    /// The number of current waits, and the start of the first of them.
    now: Option<(u32, Instant)>,
}

impl Tree {
    /// The turns left in a tree that starts with `start` turns.
    pub(super) fn remaining(&self, start: u32) -> u32 {
        *self.turns.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(start)
    }

    /// Like `remaining`, and uses one turn: branches that begin at the same time never get the same last turn.
    pub(super) fn take(&self, start: u32) -> u32 {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let left = *turns.get_or_insert(start);
        *turns = Some(left.saturating_sub(1));
        left
    }

    /// The time waited for the user so far, the current wait included. Waits at the same time count once.
    pub(super) fn waited(&self) -> Duration {
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.over + waits.now.map(|(_, since)| since.elapsed()).unwrap_or_default()
    }

    /// Takes the next event of the tree and shows the waits that it knows by now.
    pub(super) fn record(&self, envelope: &Envelope, look: impl FnOnce(&event::Waits)) {
        let mut waits = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        waits.apply(envelope);
        look(&waits);
    }

    /// Levels of agents that the root run allows; the first caller is the root run, and its own number counts.
    pub(super) fn levels(&self, own: u32) -> u32 {
        *self.levels.get_or_init(|| own)
    }

    /// Returns whether tools of this definition may be called without consent.
    pub(super) fn allows(&self, definition: &str) -> bool {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).contains(definition)
    }

    /// Allows tools of this definition from now on.
    pub(super) fn allow(&self, definition: String) {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(definition);
    }

    /// The right to ask for consent.
    pub(super) async fn asking(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.consent.lock().await
    }

    /// A wait begins.
    fn wait(&self) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.now = Some(waits.now.map_or((1, Instant::now()), |(count, since)| (count + 1, since)));
    }

    /// A wait begins; it ends when the guard is dropped.
    pub(super) fn waiting(&self) -> WaitGuard<'_> {
        self.wait();
        WaitGuard(self)
    }

    /// A wait ends.
    fn end_wait(&self) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        match waits.now {
            Some((1, since)) => {
                waits.over += since.elapsed();
                waits.now = None;
            }
            Some((count, since)) => waits.now = Some((count - 1, since)),
            None => {}
        }
    }
}

/// A wait for the user; it ends when it is dropped.
pub(super) struct WaitGuard<'t>(&'t Tree);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.end_wait();
    }
}
