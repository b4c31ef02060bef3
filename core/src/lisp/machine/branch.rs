//! Branches of parallel forms: machines of their own, on threads while some are free, on the caller's otherwise.
//!
//! What a branch gives does not depend on the thread that runs it: results stand in the order of the branches, and of
//! several errors that of the first branch counts.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use super::globals::Snapshot;
use super::{Globals, Limits, Machine, Target, World};
use crate::heap;
use crate::lisp::run::Stack;
use crate::lisp::{Call, Halt, R};
use crate::value::{Keyword, Map, Value, take_owed};

/// What a branch does: its machine and its number in, its value out.
type Work<'w> = &'w (dyn Fn(&mut Machine<'_>, usize) -> R + Sync);

/// What all branches of one form share.
struct Fork<'f> {
    /// The thread of the form itself.
    caller: ThreadId,
    work: Work<'f>,
    count: usize,
    world: &'f World<'f>,
    limits: &'f Limits,
    globals: Snapshot<'f>,
    journal: Option<Map>,
    keywords: BTreeSet<Keyword>,
    /// Which parallel form of the parent this is, and where the parent is.
    form: u32,
    branches: Vec<(u32, u32)>,
    serial: u64,
    steps: u64,
    depth: u64,
    deadline_ms: u64,
    /// The next branch that nobody has begun.
    next: AtomicUsize,
    /// The first branch known to have ended with an error; later ones need not begin.
    failed: AtomicUsize,
    ended: Mutex<Vec<Ended>>,
    /// Bytes that branches on the caller's thread left.
    own: AtomicI64,
}

/// What came of a branch.
struct Ended {
    branch: usize,
    result: R,
    calls: Vec<Call>,
    warnings: Vec<String>,
    keywords: BTreeSet<Keyword>,
    steps: u64,
    peak: i64,
    /// Bytes that the other branches know of; they are the parent's now.
    reported: i64,
    /// Bytes that its thread counted and that live on.
    bytes: i64,
}

/// The values of all branches, or the number and error of the first that failed.
type Joined = Result<Vec<Value>, (usize, Box<Halt>)>;

impl Machine<'_> {
    /// Does `count` pieces of work side by side and gives their values in order, or the number and error of the first
    /// that failed. Definitions and printed entries of branches are dropped; their tool calls are recorded.
    pub(crate) fn fork(&mut self, count: usize, work: Work<'_>) -> R<Joined> {
        self.hold(0)?;
        // What was compared so far is not the branches'.
        self.ticks(0)?;
        self.forms += 1;
        let ends = self.world.host.elapsed_ms().saturating_add(self.limits.parallel_timeout_ms);
        let fork = Fork {
            caller: thread::current().id(),
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
            depth: self.depth,
            deadline_ms: self.deadline_ms.map_or(ends, |deadline| deadline.min(ends)),
            next: AtomicUsize::new(0),
            failed: AtomicUsize::new(usize::MAX),
            // Made at its full size here: what grows on another thread is counted there.
            ended: Mutex::new(Vec::with_capacity(count)),
            own: AtomicI64::new(0),
        };
        let here = Stack::until(self.stack_end);
        let before = heap::live();
        thread::scope(|scope| {
            for _ in 1..count {
                if !self.world.shared.hire(self.limits.parallel_workers) {
                    break;
                }
                let fork = &fork;
                let helper = move |stack: &Stack| {
                    fork.help(stack);
                    fork.world.shared.dismiss();
                };
                if Stack::branch(scope, helper).is_err() {
                    self.world.shared.dismiss();
                    break;
                }
            }
            fork.help(&here);
        });
        // What threads need for themselves is made on one thread and freed on another: it is not the program's.
        heap::adopt(before + fork.own.load(Ordering::Relaxed) - heap::live());
        let mut ended = fork.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        ended.sort_by_key(|ended| ended.branch);
        self.join(ended)
    }

    /// Takes over what branches made, up to the first that failed.
    fn join(&mut self, ended: Vec<Ended>) -> R<Joined> {
        let (mut values, mut failed) = (Vec::with_capacity(ended.len()), None);
        for branch in ended {
            heap::adopt(branch.bytes);
            self.world.shared.hold(-branch.reported);
            if failed.is_some() {
                continue;
            }
            self.calls.extend(branch.calls);
            self.warnings.extend(branch.warnings);
            self.keywords.extend(branch.keywords);
            self.steps = self.steps.saturating_add(branch.steps);
            self.peak = self.peak.max(branch.peak);
            match branch.result {
                Ok(value) => values.push(value),
                Err(halt) => failed = Some((branch.branch, halt)),
            }
        }
        // The branches' steps are all counted only now.
        self.look(1)?;
        Ok(failed.map_or(Ok(values), Err))
    }
}

impl Fork<'_> {
    /// Does branches until none is left.
    fn help(&self, stack: &Stack) {
        let helper = thread::current().id() != self.caller;
        let targets = self.globals.targets();
        loop {
            let branch = self.next.fetch_add(1, Ordering::Relaxed);
            if branch >= self.count || branch > self.failed.load(Ordering::Relaxed) {
                return;
            }
            let mut ended = self.run(branch, stack, &targets);
            if !helper {
                // Counted on the caller's thread already.
                self.own.fetch_add(std::mem::take(&mut ended.bytes), Ordering::Relaxed);
            }
            if ended.result.is_err() {
                self.failed.fetch_min(branch, Ordering::Relaxed);
            }
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        }
    }

    fn run(&self, branch: usize, stack: &Stack, targets: &[Target]) -> Ended {
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
        machine.deadline_ms = Some(self.deadline_ms);
        let result = (self.work)(&mut machine, branch);
        let steps = (machine.steps() - self.steps).saturating_add(take_owed() as u64);
        let (peak, reported) = (machine.peak, machine.reported);
        let (calls, warnings, keywords) = (
            std::mem::take(&mut machine.calls),
            std::mem::take(&mut machine.warnings),
            std::mem::take(&mut machine.keywords),
        );
        drop(machine);
        let bytes = heap::live() - before;
        Ended { branch, result, calls, warnings, keywords, steps, peak, reported, bytes }
    }

    /// Where the numbers of a branch's closures begin: far from the parent's and from those of other branches.
    fn serial(&self, branch: u32) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.serial, self.form, branch).hash(&mut hasher);
        hasher.finish() >> 1
    }
}
