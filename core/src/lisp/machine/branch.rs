//! Branches of parallel forms: each has its own machine, on a worker thread while one is free, otherwise on the
//! caller's thread.
//!
//! The result of a branch does not depend on its thread or on concurrent branches: each has the full limits, less what
//! its parent had used. Results are in the order of the branches; of several errors that of the first branch counts,
//! and a shared limit is exceeded by the first branch in that order that is too much.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::globals::Snapshot;
use super::{Globals, Limits, Machine, Target, World, stack_address};
use crate::heap;
use crate::lisp::stack::{Stack, catch_panic};
use crate::lisp::{Call, Error, EvalResult, Halt};
use crate::reasons::Reason;
use crate::value::{Keyword, Map, Value, take_uncharged};

/// The work of a branch: gets its machine and its number, returns its value.
type Work<'w> = &'w (dyn Fn(&mut Machine<'_>, usize) -> EvalResult + Sync);

/// The shared state of the branches of one form.
struct ParallelForm<'f> {
    work: Work<'f>,
    count: usize,
    world: &'f World<'f>,
    limits: &'f Limits,
    globals: Snapshot<'f>,
    journal: Option<Map>,
    keywords: BTreeSet<Keyword>,
    /// The number of this parallel form in its parent, and the parent's position.
    form: u32,
    branches: Vec<(u32, u32)>,
    serial: u64,
    steps: u64,
    held_bytes: i64,
    depth: u64,
    deadline_ms: u64,
    /// The next branch to start.
    next: AtomicUsize,
    failure: Arc<BranchFailure>,
    ended: Mutex<Vec<BranchResult>>,
    /// Total steps and bytes of the finished branches.
    spent: AtomicU64,
    retained: AtomicI64,
}

/// The first branch of a form that is known to have failed: later ones need not start, and those that run can stop,
/// because their results are dropped.
#[derive(Debug)]
pub(super) struct BranchFailure {
    branch: AtomicUsize,
    /// The form around this one, and the branch of it that started this one.
    outer: Option<(Arc<BranchFailure>, usize)>,
}

impl BranchFailure {
    /// True if a branch before this one has failed, here or in a form around.
    pub(super) fn precedes(&self, branch: usize) -> bool {
        let (mut form, mut branch) = (self, branch);
        loop {
            if form.branch.load(Ordering::Relaxed) < branch {
                return true;
            }
            let Some((outer, number)) = &form.outer else { return false };
            (form, branch) = (outer, *number);
        }
    }
}

/// The result of a branch.
struct BranchResult {
    branch: usize,
    result: EvalResult,
    calls: Vec<Call>,
    warnings: Vec<String>,
    keywords: BTreeSet<Keyword>,
    steps: u64,
    peak: i64,
    /// Bytes that are still allocated.
    bytes: i64,
}

/// The values of all branches, or the number and error of the first that failed.
type BranchValues = Result<Vec<Value>, (usize, Box<Halt>)>;

impl Machine<'_> {
    /// Runs `count` pieces of work in parallel and returns their values in order, or the number and error of the first
    /// that failed. Definitions and printed entries of branches are dropped; their tool calls are recorded.
    pub(crate) fn fork(&mut self, count: usize, work: Work<'_>) -> EvalResult<BranchValues> {
        self.reserve(count.saturating_mul(size_of::<BranchResult>()))?;
        // Branches are skipped only because of what other branches used.
        self.check_form()?;
        let held_bytes = self.held_bytes();
        self.forms += 1;
        let stack_start = self.report_bytes();
        let shared = self.world.shared;
        shared.end_computing(&self.branches);
        let ends = self.world.host.elapsed_ms().saturating_add(self.limits.parallel_timeout_ms);
        let fork = ParallelForm {
            work,
            count,
            world: &self.world,
            limits: &self.limits,
            globals: self.globals.snapshot(),
            journal: self.journal.clone(),
            keywords: self.keywords.clone(),
            form: self.forms,
            branches: self.branches.clone(),
            serial: self.serial,
            steps: self.steps(),
            held_bytes,
            depth: self.depth,
            deadline_ms: self.deadline_ms.map_or(ends, |deadline| deadline.min(ends)),
            next: AtomicUsize::new(0),
            failure: Arc::new(BranchFailure { branch: AtomicUsize::new(usize::MAX), outer: self.failure.clone() }),
            // Allocated at full size here: growth on another thread would be charged to that thread.
            ended: Mutex::new(Vec::with_capacity(count)),
            spent: AtomicU64::new(0),
            retained: AtomicI64::new(0),
        };
        let here = Stack::until(self.stack_end);
        let before = heap::live();
        thread::scope(|scope| {
            for _ in 1..count {
                if !self.world.shared.acquire_worker(self.limits.parallel_workers) {
                    break;
                }
                let fork = &fork;
                let helper = move |stack: &Stack| {
                    fork.run_branches(stack, stack_address());
                    fork.world.shared.release_worker();
                };
                if Stack::branch(scope, helper).is_err() {
                    self.world.shared.release_worker();
                    break;
                }
            }
            fork.run_branches(&here, stack_start);
        });
        // The allocations of branches are charged one by one. What threads allocate for themselves is made on one
        // thread and freed on another: it is not charged to the program.
        heap::adopt(before - heap::live());
        if !self.branches.is_empty() {
            shared.begin_computing(&self.branches);
        }
        let mut ended = fork.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        ended.sort_by_key(|ended| ended.branch);
        self.join(ended, held_bytes)
    }

    /// Takes over the results of the branches, up to the first that failed or exceeds a limit. `held_bytes` is the memory
    /// held before.
    fn join(&mut self, ended: Vec<BranchResult>, mut held_bytes: i64) -> EvalResult<BranchValues> {
        let (mut values, mut failed) = (Vec::with_capacity(ended.len()), None);
        for branch in ended {
            heap::adopt(branch.bytes);
            self.world.shared.add_bytes(-branch.bytes);
            held_bytes = held_bytes.saturating_add(branch.bytes.max(0));
            if failed.is_some() {
                continue;
            }
            self.calls.extend(branch.calls);
            self.warnings.extend(branch.warnings);
            self.keywords.extend(branch.keywords);
            self.steps = self.steps.saturating_add(branch.steps);
            self.peak = self.peak.max(branch.peak);
            match self.check_steps().and_then(|()| self.check_bytes(held_bytes, 0)).and(branch.result) {
                Ok(value) => values.push(value),
                Err(halt) => failed = Some((branch.branch, halt)),
            }
        }
        if self.branches.is_empty() {
            self.withdraw_bytes();
        }
        self.check_form()?;
        Ok(failed.map_or(Ok(values), Err))
    }
}

/// Bytes that all branches may hold together beyond the memory limit, before the first of them fails.
const PARALLEL_ROOM_BYTES: u64 = 24 << 20;
/// Time between two looks of a branch that waits for memory.
const MEMORY_WAIT: Duration = Duration::from_millis(1);

/// The memory of all branches together.
///
/// Each branch has the full limit, so that its result does not depend on the others. While all together exceed it, only
/// the first branch in order computes; the others wait until memory is free or they are the first.
impl Machine<'_> {
    /// Brings the total of all branches up to date with the heap and stack of this one; returns the current address in
    /// the stack.
    fn report_bytes(&mut self) -> usize {
        let address = stack_address();
        let stack = i64::try_from(self.stack_start.saturating_sub(address)).unwrap_or(0);
        self.set_reported(self.held_bytes() - self.inherited + stack);
        address
    }

    /// Removes this machine from the total of all branches.
    fn withdraw_bytes(&mut self) {
        self.set_reported(0);
    }

    fn set_reported(&mut self, bytes: i64) {
        self.world.shared.add_bytes(bytes - self.reported);
        self.reported = bytes;
    }

    /// Waits while all branches together would exceed the limit with `more` bytes, unless this branch is the first of
    /// them; fails if it is the first and they exceed the limit by far.
    pub(super) fn check_shared_bytes(&mut self, more: i64) -> EvalResult<()> {
        self.report_bytes();
        let limit = self.limits.memory_bytes;
        let exceeds = |machine: &Self, most: u64| {
            u64::try_from(machine.world.shared.bytes().saturating_add(more)).unwrap_or(0) > most
        };
        while exceeds(self, limit) {
            if self.world.shared.is_first_computing(&self.branches) {
                if !exceeds(self, limit.saturating_add(PARALLEL_ROOM_BYTES)) {
                    return Ok(());
                }
                let problem = format!("the parallel branches together exceed the memory limit of {limit} bytes by far");
                let hint = "Start fewer branches, nest parallel forms less deeply, or hold less data in each branch";
                return Error::new(Reason::MemoryExceeded, problem).hint(hint).halt();
            }
            self.check_stop()?;
            thread::sleep(MEMORY_WAIT);
        }
        Ok(())
    }
}

impl ParallelForm<'_> {
    /// Runs branches until none is left. The native stack from `stack_start` on is theirs.
    fn run_branches(&self, stack: &Stack, stack_start: usize) {
        let targets = self.globals.targets();
        while !self.exceeds_limits() {
            let branch = self.next.fetch_add(1, Ordering::Relaxed);
            if branch >= self.count || self.failure.precedes(branch) {
                return;
            }
            let ended = self.run(branch, stack, stack_start, &targets);
            if ended.result.is_err() {
                self.failure.branch.fetch_min(branch, Ordering::Relaxed);
            }
            self.spent.fetch_add(ended.steps, Ordering::Relaxed);
            self.retained.fetch_add(ended.bytes.max(0), Ordering::Relaxed);
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        }
    }

    /// True if the finished branches together exceed a limit. All branches before them were started, so the limit is
    /// exceeded when they are joined in order, unless an earlier one fails.
    fn exceeds_limits(&self) -> bool {
        let steps = self.steps.saturating_add(self.spent.load(Ordering::Relaxed));
        let held_bytes = self.held_bytes.saturating_add(self.retained.load(Ordering::Relaxed));
        steps > self.limits.steps || u64::try_from(held_bytes).unwrap_or(0) > self.limits.memory_bytes
    }

    fn run(&self, branch: usize, stack: &Stack, stack_start: usize, targets: &[Target]) -> BranchResult {
        let before = heap::live();
        let number = u32::try_from(branch).unwrap_or(u32::MAX);
        let mut machine = Machine::of(self.world.clone(), self.limits.clone(), &[]);
        machine.globals = Globals::restored(&self.globals, targets);
        machine.begin(stack, self.serial(number), self.journal.clone());
        machine.keywords.clone_from(&self.keywords);
        machine.branches.clone_from(&self.branches);
        machine.branches.push((self.form, number));
        machine.steps = self.steps;
        machine.depth = self.depth;
        machine.baseline -= self.held_bytes;
        machine.inherited = self.held_bytes;
        machine.stack_start = stack_start;
        machine.failure = Some((Arc::clone(&self.failure), branch));
        machine.deadline_ms = Some(self.deadline_ms);
        let shared = self.world.shared;
        shared.begin_computing(&machine.branches);
        let result = catch_panic(|| {
            let value = (self.work)(&mut machine, branch)?;
            machine.leaving(value)
        });
        shared.end_computing(&machine.branches);
        machine.withdraw_bytes();
        let steps = (machine.steps() - self.steps).saturating_add(take_uncharged() as u64);
        let peak = machine.peak;
        let (calls, warnings, keywords) = (
            std::mem::take(&mut machine.calls),
            std::mem::take(&mut machine.warnings),
            std::mem::take(&mut machine.keywords),
        );
        drop(machine);
        let bytes = heap::live() - before;
        shared.add_bytes(bytes);
        BranchResult { branch, result, calls, warnings, keywords, steps, peak, bytes }
    }

    /// The first number for a branch's closures: far from those of the parent and of other branches.
    fn serial(&self, branch: u32) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.serial, self.form, branch).hash(&mut hasher);
        hasher.finish() >> 1
    }
}
