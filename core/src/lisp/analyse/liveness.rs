//! Liveness: finds the last read of each local, so that its value may be moved out.
//!
//! One walk in reverse order of evaluation, with the set of slots that are read later on some path; a read of a slot
//! outside of the set is a last read. Reads that a loop jumps back to count as later. Inner functions were marked when
//! they were finished; creating one reads its captures.

use crate::lisp::ir::{Attempt, Capture, Entry, Expr, Level, Local, Modifier, Node, Pattern};

/// A set of slots; copying it does not allocate while slot numbers are small.
#[derive(Debug, Clone, Default)]
struct Slots {
    /// Slots 0 to 63.
    few: u64,
    /// All other slots, 64 per word.
    many: Vec<u64>,
}

impl Slots {
    fn insert(&mut self, slot: u32) {
        match bit_of(slot) {
            (None, bit) => self.few |= bit,
            (Some(at), bit) => {
                if at >= self.many.len() {
                    self.many.resize(at + 1, 0);
                }
                self.many[at] |= bit;
            }
        }
    }

    fn remove(&mut self, slot: u32) {
        match bit_of(slot) {
            (None, bit) => self.few &= !bit,
            (Some(at), bit) => {
                if let Some(word) = self.many.get_mut(at) {
                    *word &= !bit;
                }
            }
        }
    }

    fn contains(&self, slot: u32) -> bool {
        match bit_of(slot) {
            (None, bit) => self.few & bit != 0,
            (Some(at), bit) => self.many.get(at).is_some_and(|word| word & bit != 0),
        }
    }

    fn union(&mut self, other: &Self) {
        self.few |= other.few;
        if self.many.len() < other.many.len() {
            self.many.resize(other.many.len(), 0);
        }
        for (word, more) in self.many.iter_mut().zip(&other.many) {
            *word |= more;
        }
    }

    fn without(mut self, other: &Self) -> Self {
        self.few &= !other.few;
        for (word, less) in self.many.iter_mut().zip(&other.many) {
            *word &= !less;
        }
        self
    }
}

/// The word in `many` (`None` for `few`), and the bit in it.
fn bit_of(slot: u32) -> (Option<usize>, u64) {
    ((slot as usize / 64).checked_sub(1), 1 << (slot % 64))
}

/// Marks the last reads in a function: in its body and in the patterns of its arguments, in order.
pub(super) fn mark(body: &mut Node, patterns: &mut [&mut Pattern]) {
    let mut walk = Walk { jumps: Vec::new(), caught: Slots::default() };
    let mut live = Slots::default();
    walk.node(body, &mut live);
    for pattern in patterns.iter_mut().rev() {
        walk.pattern(pattern, &mut live);
    }
}

struct Walk {
    /// Slots read after a jump to the enclosing loops, innermost last. Without a loop the function restarts with all
    /// its slots bound again.
    jumps: Vec<Slots>,
    /// Slots that the handlers and final parts around this part read after an error at any place in it.
    caught: Slots,
}

impl Walk {
    /// Turns the live set after a node into the live set before it.
    fn node(&mut self, node: &mut Node, live: &mut Slots) {
        match &mut node.expr {
            Expr::Const(_)
            | Expr::Capture(_)
            | Expr::Myself
            | Expr::Global { .. }
            | Expr::Data(_)
            | Expr::Budget
            | Expr::History(_) => {}
            Expr::Local(local) => self.read(local, live),
            Expr::Raise(_) => *live = Slots::default(),
            Expr::Vector(nodes) | Expr::Set(nodes) | Expr::Do(nodes) | Expr::Builtin { args: nodes, .. } => {
                self.nodes(nodes, live);
            }
            Expr::Map(entries) => {
                for (key, value) in entries.iter_mut().rev() {
                    self.node(value, live);
                    self.node(key, live);
                }
            }
            Expr::If(parts) => {
                let [test, then, other] = &mut **parts;
                let mut branch = live.clone();
                self.node(then, &mut branch);
                self.node(other, live);
                live.union(&branch);
                self.node(test, live);
            }
            Expr::Cond(clauses) => self.clauses(clauses, live),
            Expr::And(nodes) | Expr::Or(nodes) => {
                let end = live.clone();
                for (from_last, node) in nodes.iter_mut().rev().enumerate() {
                    if from_last > 0 {
                        live.union(&end);
                    }
                    self.node(node, live);
                }
            }
            Expr::Case { subject, clauses, default } => {
                let end = live.clone();
                self.node(default, live);
                for (_, value) in clauses {
                    let mut branch = end.clone();
                    self.node(value, &mut branch);
                    live.union(&branch);
                }
                self.node(subject, live);
            }
            Expr::Let { binds, body } => {
                self.node(body, live);
                self.binds(binds, live);
            }
            Expr::Loop { binds, body } => {
                let mut touched = SlotUse::default();
                for (pattern, _) in binds.iter() {
                    touched.pattern(pattern);
                }
                touched.node(body);
                self.jumps.push(touched.reads.without(&touched.binds));
                self.node(body, live);
                self.jumps.pop();
                self.binds(binds, live);
            }
            Expr::Recur(args) => {
                *live = self.jumps.last().cloned().unwrap_or_default();
                self.nodes(args, live);
            }
            Expr::For { levels, body, .. } => self.iteration(levels, body, live),
            Expr::Fn { captures, .. } => {
                for capture in captures.iter_mut().rev() {
                    if let Capture::Local(local) = capture {
                        self.read(local, live);
                    }
                }
            }
            Expr::Call { callee, args } => {
                self.nodes(args, live);
                self.node(callee, live);
            }
            Expr::Tool { args, .. } | Expr::Try { args, .. } => self.node(args, live),
            Expr::Attempt(attempt) => self.attempt(attempt, live),
            Expr::Def { value, .. } => self.maybe(value, live),
            Expr::Return(value) | Expr::Fail(value) => {
                *live = Slots::default();
                self.node(value, live);
            }
            Expr::Task { id, body } => {
                self.maybe(body, live);
                self.node(id, live);
            }
            Expr::StepDone { id, summary } => {
                self.node(summary, live);
                self.node(id, live);
            }
            Expr::TaskReset(id) => self.node(id, live),
        }
    }

    fn nodes(&mut self, nodes: &mut [Node], live: &mut Slots) {
        for node in nodes.iter_mut().rev() {
            self.node(node, live);
        }
    }

    /// A node that may be skipped.
    fn maybe(&mut self, node: &mut Node, live: &mut Slots) {
        let end = live.clone();
        self.node(node, live);
        live.union(&end);
    }

    fn attempt(&mut self, attempt: &mut Attempt, live: &mut Slots) {
        let outer = self.caught.clone();
        if let Some(finally) = &mut attempt.finally {
            self.node(finally, live);
            self.caught.union(live);
        }
        let mut caught = live.clone();
        for handler in &mut attempt.handlers {
            let mut branch = live.clone();
            self.node(&mut handler.body, &mut branch);
            handler.reads_exception = branch.contains(handler.slot);
            branch.remove(handler.slot);
            caught.union(&branch);
        }
        self.caught.union(&caught);
        self.node(&mut attempt.body, live);
        live.union(&caught);
        self.caught = outer;
    }

    fn clauses(&mut self, clauses: &mut [(Node, Node)], live: &mut Slots) {
        let end = live.clone();
        for (test, value) in clauses.iter_mut().rev() {
            let mut branch = end.clone();
            self.node(value, &mut branch);
            live.union(&branch);
            self.node(test, live);
        }
    }

    fn binds(&mut self, binds: &mut [(Pattern, Node)], live: &mut Slots) {
        for (pattern, value) in binds.iter_mut().rev() {
            self.pattern(pattern, live);
            self.node(value, live);
        }
    }

    /// Each level ends by going to its next item, or to the next item of an enclosing level. `again` is the set of
    /// slots that these may read, without the slots that the level and inner levels bind again.
    fn iteration(&mut self, levels: &mut [Level], body: &mut Node, live: &mut Slots) {
        let end = live.clone();
        let mut touched = SlotUse::default();
        touched.node(body);
        for (outer, level) in levels.iter().enumerate() {
            if outer > 0 {
                touched.node(&level.source);
            }
            touched.level(level);
        }
        let mut bound = SlotUse::default();
        bound.node(body);
        let again = |bound: &SlotUse| {
            let mut again = touched.reads.clone().without(&bound.binds);
            again.union(&end);
            again
        };
        let depth = levels.len();
        for (at, level) in levels.iter_mut().enumerate().rev() {
            bound.level(level);
            let next = again(&bound);
            if at + 1 == depth {
                *live = next.clone();
                self.node(body, live);
            } else {
                live.union(&next);
            }
            for modifier in level.modifiers.iter_mut().rev() {
                match modifier {
                    Modifier::When(test) | Modifier::While(test) => {
                        live.union(&next);
                        self.node(test, live);
                    }
                    Modifier::Let(binds) => self.binds(binds, live),
                }
            }
            self.pattern(&mut level.pattern, live);
            live.union(&next);
            if at == 0 {
                live.union(&end);
            } else {
                bound.node(&level.source);
            }
            self.node(&mut level.source, live);
        }
    }

    fn read(&self, local: &mut Local, live: &mut Slots) {
        local.last = !live.contains(local.slot) && !self.caught.contains(local.slot);
        live.insert(local.slot);
    }

    fn pattern(&mut self, pattern: &mut Pattern, live: &mut Slots) {
        match pattern {
            Pattern::Slot(slot) => live.remove(*slot),
            Pattern::Ignore => {}
            Pattern::Vector { items, rest, whole, .. } => {
                if let Some(rest) = rest {
                    self.pattern(rest, live);
                }
                for item in items.iter_mut().rev() {
                    self.pattern(item, live);
                }
                if let Some(slot) = whole {
                    live.remove(*slot);
                }
            }
            Pattern::Map { entries, whole, .. } => {
                for Entry { pattern, default, .. } in entries.iter_mut().rev() {
                    self.pattern(pattern, live);
                    if let Some(default) = default {
                        self.maybe(default, live);
                    }
                }
                if let Some(slot) = whole {
                    live.remove(*slot);
                }
            }
        }
    }
}

/// The slots that a part of a function reads and binds.
#[derive(Debug, Default)]
struct SlotUse {
    reads: Slots,
    binds: Slots,
}

impl SlotUse {
    fn node(&mut self, node: &Node) {
        match &node.expr {
            Expr::Const(_)
            | Expr::Capture(_)
            | Expr::Myself
            | Expr::Global { .. }
            | Expr::Data(_)
            | Expr::Budget
            | Expr::History(_)
            | Expr::Raise(_) => {}
            Expr::Local(local) => self.reads.insert(local.slot),
            Expr::Vector(nodes)
            | Expr::Set(nodes)
            | Expr::Do(nodes)
            | Expr::And(nodes)
            | Expr::Or(nodes)
            | Expr::Recur(nodes)
            | Expr::Builtin { args: nodes, .. } => {
                for node in nodes {
                    self.node(node);
                }
            }
            Expr::Map(pairs) | Expr::Cond(pairs) => {
                for (one, two) in pairs {
                    self.node(one);
                    self.node(two);
                }
            }
            Expr::If(parts) => {
                for part in &**parts {
                    self.node(part);
                }
            }
            Expr::Case { subject, clauses, default } => {
                self.node(subject);
                for (_, value) in clauses {
                    self.node(value);
                }
                self.node(default);
            }
            Expr::Let { binds, body } | Expr::Loop { binds, body } => {
                self.binds(binds);
                self.node(body);
            }
            Expr::For { levels, body, .. } => {
                for level in levels {
                    self.node(&level.source);
                    self.level(level);
                }
                self.node(body);
            }
            Expr::Fn { captures, .. } => {
                for capture in captures {
                    if let Capture::Local(local) = capture {
                        self.reads.insert(local.slot);
                    }
                }
            }
            Expr::Call { callee, args } => {
                self.node(callee);
                for node in args {
                    self.node(node);
                }
            }
            Expr::Attempt(attempt) => {
                self.node(&attempt.body);
                for handler in &attempt.handlers {
                    self.binds.insert(handler.slot);
                    self.node(&handler.body);
                }
                if let Some(finally) = &attempt.finally {
                    self.node(finally);
                }
            }
            Expr::Tool { args: node, .. }
            | Expr::Try { args: node, .. }
            | Expr::Def { value: node, .. }
            | Expr::Return(node)
            | Expr::Fail(node)
            | Expr::TaskReset(node) => self.node(node),
            Expr::Task { id: one, body: two } | Expr::StepDone { id: one, summary: two } => {
                self.node(one);
                self.node(two);
            }
        }
    }

    fn binds(&mut self, binds: &[(Pattern, Node)]) {
        for (pattern, value) in binds {
            self.node(value);
            self.pattern(pattern);
        }
    }

    /// A level without its source collection.
    fn level(&mut self, level: &Level) {
        self.pattern(&level.pattern);
        for modifier in &level.modifiers {
            match modifier {
                Modifier::When(test) | Modifier::While(test) => self.node(test),
                Modifier::Let(binds) => self.binds(binds),
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Slot(slot) => self.binds.insert(*slot),
            Pattern::Ignore => {}
            Pattern::Vector { items, rest, whole, .. } => {
                for pattern in items.iter().chain(rest.as_deref()) {
                    self.pattern(pattern);
                }
                if let Some(slot) = whole {
                    self.binds.insert(*slot);
                }
            }
            Pattern::Map { entries, whole, .. } => {
                for entry in entries {
                    self.pattern(&entry.pattern);
                    if let Some(node) = &entry.default {
                        self.node(node);
                    }
                }
                if let Some(slot) = whole {
                    self.binds.insert(*slot);
                }
            }
        }
    }
}
