//! Bodies of functions and loops, and all control flow: a tree that is walked without recursion in tail position.

#![expect(clippy::inline_always, reason = "measured: a leaf must not cost a call")]

use super::Compiler;
use super::bind::Bind;
use super::condition::Cd;
use super::expression::{Ex, code_into};
use crate::lisp::ir::{Expr, Node, Pattern};
use crate::lisp::machine::{Closed, Frame, Machine, Place};
use crate::lisp::{Error, Halt, R};
use crate::reasons::Reason;
use crate::value::Value;

/// Most values of `recur` that are kept on the native stack.
const FEW: usize = 4;

/// A compiled body. `recur` in it begins it again.
pub(crate) struct Body {
    /// What arrived in a slot and has to be taken apart first.
    prologue: Box<[(u32, Bind)]>,
    tail: Tail,
}

/// What happens last.
enum Tail {
    Value(Ex),
    If(Cd, Box<[Tail; 2]>),
    Cond(Box<[(Cd, Tail)]>),
    And(Box<[Ex]>, Box<Tail>),
    Or(Box<[Ex]>, Box<Tail>),
    Case(Box<Case>),
    Do(Box<[Ex]>, Box<Tail>),
    Let(Box<[(Bind, Ex)]>, Box<Tail>),
    Recur1(u32, Ex, Place),
    Recur2([u32; 2], Box<[Ex; 2]>, Place),
    Recur(Box<[Bind]>, Box<[Ex]>, Place),
}

struct Case {
    subject: Ex,
    clauses: Vec<(Vec<Value>, Tail)>,
    default: Tail,
}

/// Where `recur` puts its values.
enum Targets<'p> {
    /// Nowhere: there is none.
    None,
    /// Into the patterns of a loop.
    Patterns(Vec<&'p Pattern>),
    /// Into the slots of a function's arguments.
    Arguments,
}

impl Body {
    /// Runs it on a frame and puts its value there.
    pub(crate) fn run(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: Closed<'_>,
        out: &mut Value,
    ) -> R<()> {
        let mut jumps = 0;
        loop {
            for (slot, bind) in &self.prologue {
                let value = std::mem::take(&mut slots[*slot as usize]);
                bind.bind(machine, slots, closed, value)?;
            }
            let Some(place) = self.tail.run(machine, slots, closed, out)? else { return Ok(()) };
            jumps += 1;
            if jumps > machine.limits().loop_jumps {
                return Err(too_many_jumps(machine, place));
            }
            machine.tick()?;
        }
    }
}

impl Tail {
    /// Puts the value there; or where it jumps from, when it is to begin again.
    #[inline(always)]
    fn run<'t>(
        &'t self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: Closed<'_>,
        out: &mut Value,
    ) -> R<Option<&'t Place>> {
        let mut at = self;
        loop {
            match at {
                Self::Value(ex) => {
                    ex.eval_into(machine, slots, closed, out)?;
                    return Ok(None);
                }
                Self::If(condition, branches) => {
                    let [then, other] = &**branches;
                    at = if condition.test(machine, slots, closed)? { then } else { other };
                }
                Self::Recur1(target, value, place) => {
                    if let Some(int) = value.int(slots, closed) {
                        slots[*target as usize].put(Value::Int(int));
                    } else {
                        let value = value.eval(machine, slots, closed)?;
                        slots[*target as usize].put(value);
                    }
                    return Ok(Some(place));
                }
                Self::Recur2([a, b], values, place) => {
                    let [one, two] = &**values;
                    if let (Some(one), Some(two)) = (one.int(slots, closed), two.int(slots, closed)) {
                        slots[*a as usize].put(Value::Int(one));
                        slots[*b as usize].put(Value::Int(two));
                    } else {
                        let one = one.eval(machine, slots, closed)?;
                        let two = two.eval(machine, slots, closed)?;
                        slots[*a as usize].put(one);
                        slots[*b as usize].put(two);
                    }
                    return Ok(Some(place));
                }
                Self::Let(binds, then) => {
                    for (bind, value) in binds {
                        let value = value.eval(machine, slots, closed)?;
                        bind.bind(machine, slots, closed, value)?;
                    }
                    at = then;
                }
                Self::Do(parts, then) => {
                    for part in parts {
                        part.eval(machine, slots, closed)?;
                    }
                    at = then;
                }
                Self::Cond(clauses) => {
                    let mut chosen = None;
                    for (condition, then) in clauses {
                        if condition.test(machine, slots, closed)? {
                            chosen = Some(then);
                            break;
                        }
                    }
                    let Some(then) = chosen else {
                        out.put(Value::Nil);
                        return Ok(None);
                    };
                    at = then;
                }
                Self::And(parts, then) => {
                    for part in parts {
                        part.eval_into(machine, slots, closed, out)?;
                        if !out.is_truthy() {
                            return Ok(None);
                        }
                        // What comes next may want to change the value in place.
                        out.put(Value::Nil);
                    }
                    at = then;
                }
                Self::Or(parts, then) => {
                    for part in parts {
                        part.eval_into(machine, slots, closed, out)?;
                        if out.is_truthy() {
                            return Ok(None);
                        }
                    }
                    at = then;
                }
                Self::Case(case) => at = case.choose(machine, slots, closed)?,
                Self::Recur(targets, values, place) => {
                    again(targets, values, machine, slots, closed)?;
                    return Ok(Some(place));
                }
            }
        }
    }
}

impl Case {
    #[inline(never)]
    fn choose(&self, machine: &mut Machine<'_>, slots: &mut [Value], closed: Closed<'_>) -> R<&Tail> {
        let subject = self.subject.eval(machine, slots, closed)?;
        let is_it = |constants: &[Value]| constants.iter().any(|constant| constant.same(&subject));
        let found = self.clauses.iter().find(|(constants, _)| is_it(constants));
        Ok(found.map_or(&self.default, |(_, then)| then))
    }
}

/// Binds the values of `recur`, after all of them are there.
#[inline(never)]
fn again(targets: &[Bind], values: &[Ex], machine: &mut Machine<'_>, slots: &mut [Value], closed: Closed<'_>) -> R<()> {
    let mut few = Frame::<FEW>::new();
    let mut many = Vec::new();
    let ready = if let Some(few) = few.get_mut(..values.len()) {
        few
    } else {
        many.resize(values.len(), Value::Nil);
        &mut many[..]
    };
    for (place, value) in ready.iter_mut().zip(values) {
        value.eval_into(machine, slots, closed, place)?;
    }
    for (target, value) in targets.iter().zip(ready) {
        target.bind(machine, slots, closed, std::mem::take(value))?;
    }
    Ok(())
}

#[cold]
fn too_many_jumps(machine: &Machine<'_>, place: &Place) -> Box<Halt> {
    let limit = machine.limits().loop_jumps;
    let error = Error::new(Reason::LoopLimitExceeded, format!("recur jumped more than {limit} times"));
    machine.blame(error.hint("Use reduce, map, filter or for over a collection").into(), place)
}

impl Compiler<'_> {
    /// A body without `recur` of its own.
    pub(super) fn body(&self, node: &Node) -> Body {
        Body { prologue: Box::default(), tail: self.tail(node, &Targets::None) }
    }

    /// The body of a function.
    pub(super) fn function(&self, prologue: Box<[(u32, Bind)]>, node: &Node) -> Body {
        Body { prologue, tail: self.tail(node, &Targets::Arguments) }
    }

    /// `loop`
    pub(super) fn repeated(&self, binds: &[(Pattern, Node)], body: &Node) -> Ex {
        let first: Box<[(Bind, Ex)]> = self.binds(binds);
        let targets = Targets::Patterns(binds.iter().map(|(pattern, _)| pattern).collect());
        let body = Body { prologue: Box::default(), tail: self.tail(body, &targets) };
        code_into(move |machine, slots, closed, out| {
            for (bind, value) in &first {
                let value = value.eval(machine, slots, closed)?;
                bind.bind(machine, slots, closed, value)?;
            }
            body.run(machine, slots, closed, out)
        })
    }

    pub(super) fn binds(&self, binds: &[(Pattern, Node)]) -> Box<[(Bind, Ex)]> {
        binds.iter().map(|(pattern, value)| (self.bind(pattern), self.ex(value))).collect()
    }

    fn tail(&self, node: &Node, targets: &Targets<'_>) -> Tail {
        match &node.expr {
            Expr::If(parts) => {
                let [test, then, other] = &**parts;
                Tail::If(self.condition(test), Box::new([self.tail(then, targets), self.tail(other, targets)]))
            }
            Expr::Cond(clauses) => {
                let clause = |(test, then): &(Node, Node)| (self.condition(test), self.tail(then, targets));
                Tail::Cond(clauses.iter().map(clause).collect())
            }
            Expr::Do(parts) => match parts.split_last() {
                None => Tail::Value(Ex::Const(Value::Nil)),
                Some((last, [])) => self.tail(last, targets),
                Some((last, parts)) => Tail::Do(self.all(parts), Box::new(self.tail(last, targets))),
            },
            Expr::And(parts) => match parts.split_last() {
                None => Tail::Value(Ex::Const(Value::Bool(true))),
                Some((last, parts)) => Tail::And(self.all(parts), Box::new(self.tail(last, targets))),
            },
            Expr::Or(parts) => match parts.split_last() {
                None => Tail::Value(Ex::Const(Value::Nil)),
                Some((last, parts)) => Tail::Or(self.all(parts), Box::new(self.tail(last, targets))),
            },
            Expr::Case { subject, clauses, default } => {
                let clause = |(constants, then): &(Vec<Value>, Node)| (constants.clone(), self.tail(then, targets));
                Tail::Case(Box::new(Case {
                    subject: self.ex(subject),
                    clauses: clauses.iter().map(clause).collect(),
                    default: self.tail(default, targets),
                }))
            }
            Expr::Let { binds, body } => Tail::Let(self.binds(binds), Box::new(self.tail(body, targets))),
            Expr::Recur(values) => self.recur(values, targets, self.place(node.span)),
            _ => Tail::Value(self.ex(node)),
        }
    }

    fn recur(&self, values: &[Node], targets: &Targets<'_>, place: Place) -> Tail {
        let binds: Vec<Bind> = match targets {
            Targets::None => Vec::new(),
            Targets::Patterns(patterns) => patterns.iter().map(|pattern| self.bind(pattern)).collect(),
            Targets::Arguments => (0_u32..).zip(values).map(|(slot, _)| Bind::Slot(slot)).collect(),
        };
        match (&binds[..], values) {
            ([Bind::Slot(slot)], [value]) => Tail::Recur1(*slot, self.ex(value), place),
            ([Bind::Slot(a), Bind::Slot(b)], [one, two]) => {
                Tail::Recur2([*a, *b], Box::new([self.ex(one), self.ex(two)]), place)
            }
            _ => Tail::Recur(binds.into(), self.all(values), place),
        }
    }
}
