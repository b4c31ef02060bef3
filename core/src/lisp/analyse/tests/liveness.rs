//! Last reads: no path reads a slot after its value was moved out, and values are moved where they can be.

use proptest::prelude::*;

use super::{analysed, analysed_in, show};
use crate::lisp::Dialect;
use crate::lisp::ir::{Attempt, Capture, Entry, Expr, Level, Local, Modifier, Node, Pattern};

#[test]
fn values_are_moved_at_their_last_read() {
    let cases = [
        ("(fn [m x] (f m x))", "(fn [m x] 2 0 1 (call (global f) 0! 1!))"),
        ("(fn [m] (f m (g m)))", "(fn [m] 1 0 (call (global f) 0 (call (global g) 0!)))"),
        ("(fn [m x] (if x (f m) (g m x)))", "(fn [m x] 2 0 1 (if 1 (call (global f) 0!) (call (global g) 0! 1!)))"),
        ("(let [a xs] (fn [] a))", "(let 0 (global xs) (fn [] 0 <0!> ^0))"),
        ("(let [a xs] (f (fn [] a) a))", "(let 0 (global xs) (call (global f) (fn [] 0 <0> ^0) 0!))"),
        (
            "(let [a xs] (loop [i 0] (if (f a) (recur a) a)))",
            "(let 0 (global xs) (loop 1 0 (if (call (global f) 0) (recur 0) 0!)))",
        ),
        (
            "(let [a xs] (doseq [x xs] (f a x)) a)",
            "(let 0 (global xs) (do (doseq 1 (global xs); (call (global f) 0 1!)) 0!))",
        ),
        ("(let [a xs] (for [x a y x] (f x y)))", "(let 0 (global xs) (for 1 0!; 2 1; (call (global f) 1 2!)))"),
        ("(let [a xs] (for [x xs y a] y))", "(let 0 (global xs) (for 1 (global xs); 2 0; 2!))"),
        ("(let [a xs] (and a (f a) a))", "(let 0 (global xs) (and 0 (call (global f) 0) 0!))"),
        ("(let [a xs b xs] (if (return a) b b))", "(let 0 (global xs) 1 (global xs) (if (return 0!) 1! 1!))"),
        ("(let [a xs {:keys [b] :or {b a}} xs] b)", "(let 0 (global xs) {:b 1 or 0!} (global xs) 1!)"),
    ];
    for (source, expected) in cases {
        assert_eq!(analysed(source).map(|program| show::program(&program)), Ok(expected.to_owned()), "{source}");
    }
}

/// The slots that may have been moved out, followed forward along all paths. Panics if one of them is read.
type Moved = std::collections::BTreeSet<u32>;

#[derive(Default)]
struct Check {
    /// Slots that may have been moved out when the enclosing loops restart, innermost last.
    loops: Vec<Moved>,
    /// Slots that were moved out in the enclosing parts whose errors are caught, innermost last.
    attempts: Vec<Moved>,
}

/// The state after a node; `None` if no path continues.
type After = Option<Moved>;

fn join(one: After, two: After) -> After {
    match (one, two) {
        (Some(one), Some(two)) => Some(&one | &two),
        (one, two) => one.or(two),
    }
}

impl Check {
    fn read(&mut self, local: Local, moved: &mut Moved) {
        assert!(!moved.contains(&local.slot), "slot {} is read after its value was moved", local.slot);
        if local.last {
            moved.insert(local.slot);
            for moved in &mut self.attempts {
                moved.insert(local.slot);
            }
        }
    }

    fn all<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>, moved: Moved) -> After {
        nodes.into_iter().try_fold(moved, |moved, node| self.node(node, moved))
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each kind of node")]
    fn node(&mut self, node: &Node, mut moved: Moved) -> After {
        match &node.expr {
            Expr::Local(local) => self.read(*local, &mut moved),
            Expr::Vector(nodes) | Expr::Set(nodes) | Expr::Do(nodes) | Expr::Builtin { args: nodes, .. } => {
                return self.all(nodes, moved);
            }
            Expr::Map(pairs) => return self.all(pairs.iter().flat_map(|(key, value)| [key, value]), moved),
            Expr::If(parts) => {
                let moved = self.node(&parts[0], moved)?;
                return join(self.node(&parts[1], moved.clone()), self.node(&parts[2], moved));
            }
            Expr::Cond(clauses) => {
                let mut end = None;
                for (test, value) in clauses {
                    moved = match self.node(test, moved) {
                        Some(moved) => moved,
                        None => return end,
                    };
                    end = join(end, self.node(value, moved.clone()));
                }
                return join(end, Some(moved));
            }
            Expr::And(nodes) | Expr::Or(nodes) => {
                let mut end = None;
                for node in nodes {
                    moved = match self.node(node, moved) {
                        Some(moved) => moved,
                        None => return end,
                    };
                    end = join(end, Some(moved.clone()));
                }
                return end;
            }
            Expr::Case { subject, clauses, default } => {
                let moved = self.node(subject, moved)?;
                let end = self.node(default, moved.clone());
                return clauses.iter().fold(end, |end, (_, value)| join(end, self.node(value, moved.clone())));
            }
            Expr::Let { binds, body } => {
                let moved = self.binds(binds, moved)?;
                return self.node(body, moved);
            }
            Expr::Loop { binds, body } => {
                let mut moved = self.binds(binds, moved)?;
                loop {
                    self.loops.push(Moved::new());
                    let end = self.node(body, moved.clone());
                    let mut again = self.loops.pop().unwrap_or_default();
                    for (pattern, _) in binds {
                        self.bind(pattern, &mut again);
                    }
                    if again.is_subset(&moved) {
                        return end;
                    }
                    moved.extend(again);
                }
            }
            Expr::Recur(args) => {
                let moved = self.all(args, moved)?;
                if let Some(again) = self.loops.last_mut() {
                    again.extend(moved);
                }
                return None;
            }
            Expr::For { levels, body, .. } => return self.levels(levels, body, moved),
            Expr::Fn { captures, lambda } => {
                for capture in captures {
                    if let Capture::Local(local) = capture {
                        self.read(*local, &mut moved);
                    }
                }
                let mut inner = Check::default();
                let mut fresh = Moved::new();
                lambda.params.iter().chain(&lambda.rest).for_each(|pattern| inner.bind(pattern, &mut fresh));
                inner.node(&lambda.body, fresh);
            }
            Expr::Call { callee, args } => {
                let moved = self.node(callee, moved)?;
                return self.all(args, moved);
            }
            Expr::Tool { args: node, .. } | Expr::Try { args: node, .. } | Expr::TaskReset(node) => {
                return self.node(node, moved);
            }
            Expr::Attempt(attempt) => return self.attempt(attempt, moved),
            Expr::Def { value, .. } => return join(Some(moved.clone()), self.node(value, moved)),
            Expr::Return(value) | Expr::Fail(value) => {
                self.node(value, moved);
                return None;
            }
            Expr::Task { id, body } => {
                let moved = self.node(id, moved)?;
                return join(Some(moved.clone()), self.node(body, moved));
            }
            Expr::StepDone { id, summary } => return self.all([&**id, &**summary], moved),
            Expr::Raise(_) => return None,
            Expr::Const(_)
            | Expr::Capture(_)
            | Expr::Myself
            | Expr::Global { .. }
            | Expr::Data(_)
            | Expr::Budget
            | Expr::History(_) => {}
        }
        Some(moved)
    }

    /// An error may occur at any place of the body and of the handlers.
    fn attempt(&mut self, attempt: &Attempt, moved: Moved) -> After {
        self.attempts.push(moved.clone());
        let mut end = self.node(&attempt.body, moved);
        let caught = self.attempts.last().cloned().unwrap_or_default();
        for handler in &attempt.handlers {
            let mut caught = caught.clone();
            caught.remove(&handler.slot);
            end = join(end, self.node(&handler.body, caught));
        }
        let caught = self.attempts.pop().unwrap_or_default();
        match &attempt.finally {
            None => end,
            Some(finally) => {
                self.node(finally, caught);
                self.node(finally, end?)
            }
        }
    }

    /// One level of an iteration with zero, one or more items, repeated until the set of moved slots is stable.
    fn levels(&mut self, levels: &[Level], body: &Node, moved: Moved) -> After {
        let Some((level, inner)) = levels.split_first() else {
            return self.node(body, moved);
        };
        let mut moved = self.node(&level.source, moved)?;
        loop {
            let before = moved.clone();
            let mut item = moved.clone();
            self.bind(&level.pattern, &mut item);
            let mut item = Some(item);
            for modifier in &level.modifiers {
                let Some(now) = item else { break };
                item = match modifier {
                    Modifier::When(test) | Modifier::While(test) => {
                        let after = self.node(test, now);
                        moved.extend(after.iter().flatten());
                        after
                    }
                    Modifier::Let(binds) => self.binds(binds, now),
                };
            }
            if let Some(item) = item {
                moved.extend(self.levels(inner, body, item).iter().flatten());
            }
            if moved == before {
                return Some(moved);
            }
        }
    }

    fn binds(&mut self, binds: &[(Pattern, Node)], mut moved: Moved) -> After {
        for (pattern, value) in binds {
            moved = self.node(value, moved)?;
            self.bind(pattern, &mut moved);
        }
        Some(moved)
    }

    fn bind(&mut self, pattern: &Pattern, moved: &mut Moved) {
        match pattern {
            Pattern::Slot(slot) => {
                moved.remove(slot);
            }
            Pattern::Ignore => {}
            Pattern::Vector { items, rest, whole, .. } => {
                if let Some(slot) = whole {
                    moved.remove(slot);
                }
                items.iter().chain(rest.as_deref()).for_each(|pattern| self.bind(pattern, moved));
            }
            Pattern::Map { entries, whole, .. } => {
                if let Some(slot) = whole {
                    moved.remove(slot);
                }
                for Entry { pattern, default, .. } in entries {
                    if let Some(default) = default {
                        let after = self.node(default, moved.clone());
                        moved.extend(after.iter().flatten());
                    }
                    self.bind(pattern, moved);
                }
            }
        }
    }
}

/// Generates expressions over a few names, with every form that branches, loops, binds or captures.
fn expression() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(vec!["a", "b", "c"]);
    let leaf = prop_oneof![4 => name().prop_map(str::to_owned), 1 => Just("1".to_owned())];
    leaf.prop_recursive(5, 60, 3, move |inner| {
        let three = (inner.clone(), inner.clone(), inner.clone());
        let shape = prop::sample::select(vec![
            "(f # # #)",
            "[# # #]",
            "{# # :k #}",
            "(do # # #)",
            "(if # # #)",
            "(when # # #)",
            "(cond # # # #)",
            "(and # # #)",
            "(or # # #)",
            "(case # 1 # #)",
            "(let [@ # @ #] #)",
            "(let [[@ & @ :as @] #] # #)",
            "(let [{:keys [a b] :or {b #} :as @} #] #)",
            "(loop [@ # @ #] (if @ (recur # @) #))",
            "(loop [@ #] (cond # (recur @) # @ :else (recur #)))",
            "(for [@ # @ #] #)",
            "(doseq [@ # :when # :let [@ #] @ # :while @] #)",
            "(fn [@ @] # #)",
            "((fn self [@ {:keys [a] :or {a #}}] (if # (recur @ @) #)) @)",
            "#(f % @)",
            "(-> # (f #) (g #))",
            "(some-> # (f #) (g @))",
            "(cond-> # # (f #) @ g)",
            "(as-> # @ (f @ #) (g @))",
            "(if-let [@ #] # #)",
            "(when-some [[@] #] # #)",
            "(condp f # # # #)",
            "(if # (return #) #)",
            "(task # #)",
            "(def d #)",
            "(defonce e #)",
            "(tool/echo {:k # :l #})",
            "(try # # (catch Exception @ # @))",
            "(try # (catch A @ #) (catch B @ #) (finally #))",
            "(try (let [@ #] #) (finally # @))",
        ]);
        (shape, three, prop::collection::vec(name(), 5)).prop_map(|(shape, (one, two, three), names)| {
            let parts = [one, two, three];
            let (mut part, mut name) = (0, 0);
            let mut text = String::new();
            let mut chars = shape.chars().peekable();
            while let Some(c) = chars.next() {
                match c {
                    '#' if chars.peek() == Some(&'(') => text.push('#'),
                    '#' => {
                        text.push_str(&parts[part % 3].replace("#(", "(fn [x] "));
                        part += 1;
                    }
                    '@' => {
                        text.push_str(names[name % 5]);
                        name += 1;
                    }
                    c => text.push(c),
                }
            }
            text.replace("(fn [x] f % ", "(fn [x] (f x) ")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_path_reads_a_value_that_was_moved_out(body in expression()) {
        let source = format!("(fn [a b c] {body})");
        match analysed_in(&source, Dialect::Current) {
            Ok(program) => {
                Check::default().node(&program.body, Moved::new());
            }
            Err(error) => prop_assert!(["invalid_form", "invalid_arity", "duplicate_key", "parse_error"].contains(&error.reason.name()), "{} {source}", error.message()),
        }
    }
}
