//! The shared state of all machines of one run: the input, the host, and counters of the whole run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::lisp::{AbsentData, Host, Memory, ReturnScope, ToolInfo};
use crate::value::{Keyword, Value};

static NOTHING: Value = Value::Nil;
static EMPTY_MEMORY: Memory = BTreeMap::new();

/// The environment of a program.
#[derive(Clone)]
pub(crate) struct World<'h> {
    pub(crate) host: &'h dyn Host,
    pub(crate) tools: &'h [ToolInfo],
    pub(crate) context: &'h Value,
    pub(crate) absent_data: AbsentData,
    /// Writes to maps need the exact key (the dialect `reference`).
    pub(crate) exact_keys: bool,
    pub(crate) firewall: bool,
    pub(crate) return_scope: ReturnScope,
    pub(crate) history: &'h [Value],
    pub(crate) budget: &'h Value,
    pub(crate) memory: &'h Memory,
    /// The names of the running program's globals, by number.
    pub(crate) names: &'h [Keyword],
    /// The running program's number.
    pub(crate) unit: u64,
    /// Different symbols and keywords in the program's text.
    pub(crate) symbols: u64,
    pub(crate) shared: &'h SharedCounters,
}

/// Counters of all branches.
#[derive(Debug, Default)]
pub(crate) struct SharedCounters {
    /// Busy worker threads.
    workers: AtomicU64,
    /// Tool calls started.
    tool_calls: AtomicU64,
    /// Heap and stack bytes of all branches and of the machines that wait for them.
    bytes: AtomicI64,
    /// The positions of the branches that compute now; a branch that waits for its own branches is not among them.
    computing: Mutex<BTreeSet<BranchPosition>>,
}

/// The position of a branch: the number of each enclosing parallel form, and the branch in it.
pub(crate) type BranchPosition = Vec<(u32, u32)>;

impl SharedCounters {
    /// Bytes of all branches together.
    pub(crate) fn bytes(&self) -> i64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds to the bytes of all branches; negative to subtract.
    pub(crate) fn add_bytes(&self, bytes: i64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds a branch to those that compute.
    pub(crate) fn begin_computing(&self, position: &[(u32, u32)]) {
        self.computing.lock().unwrap_or_else(PoisonError::into_inner).insert(position.to_vec());
    }

    /// Removes a branch from those that compute.
    pub(crate) fn end_computing(&self, position: &[(u32, u32)]) {
        self.computing.lock().unwrap_or_else(PoisonError::into_inner).remove(position);
    }

    /// True for the first of the branches that compute, in the order of their positions.
    pub(crate) fn is_first_computing(&self, position: &[(u32, u32)]) -> bool {
        let computing = self.computing.lock().unwrap_or_else(PoisonError::into_inner);
        computing.first().is_none_or(|first| first.as_slice() >= position)
    }

    /// Counts a tool call; false if the limit is exceeded.
    pub(crate) fn begin_call(&self, limit: Option<u64>) -> bool {
        self.tool_calls.fetch_add(1, Ordering::Relaxed) < limit.unwrap_or(u64::MAX)
    }

    /// Reserves a worker thread if one is free.
    pub(crate) fn acquire_worker(&self, limit: u64) -> bool {
        let acquire_worker = |busy| (busy < limit).then_some(busy + 1);
        self.workers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, acquire_worker).is_ok()
    }

    /// Frees a worker thread.
    pub(crate) fn release_worker(&self) {
        self.workers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<'h> World<'h> {
    /// An empty environment.
    pub(crate) fn bare(host: &'h dyn Host, shared: &'h SharedCounters) -> Self {
        Self {
            host,
            tools: &[],
            context: &NOTHING,
            absent_data: AbsentData::Nil,
            exact_keys: false,
            firewall: false,
            return_scope: ReturnScope::Run,
            history: &[],
            budget: &NOTHING,
            memory: &EMPTY_MEMORY,
            names: &[],
            unit: 0,
            symbols: 0,
            shared,
        }
    }
}
