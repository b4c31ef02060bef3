//! Control flow: choices, bindings, sequences, loops, and the bodies of functions.
//!
//! Code in tail position is called last and passes its [`Flow`] on unchanged: so `recur` reaches its loop as
//! [`Flow::Again`], with its values already bound.

#![expect(clippy::inline_always, reason = "measured: a leaf must not cost a call")]

use std::cell::RefCell;

use super::Compiler;
use super::bind::Bind;
use super::condition::Condition;
use super::expression::{Expression, flow};
use crate::lisp::ir::{Expr, Node, Pattern};
use crate::lisp::machine::{Code, CodePosition, CurrentClosure, Flow, Frame, Machine};
use crate::lisp::{Error, EvalResult, Halt};
use crate::reasons::Reason;
use crate::value::Value;

/// Up to this many values of `recur` are kept on the native stack.
const FEW: usize = 4;
/// Up to this many clauses of `cond` become nested choices.
const FEW_CLAUSES: usize = 16;

struct Case {
    subject: Expression,
    clauses: Vec<(Vec<Value>, Expression)>,
    default: Expression,
}

/// The target of `recur`.
struct Target<'p> {
    binds: RecurDestination<'p>,
    /// The positions of the jumps.
    jumps: RefCell<Vec<CodePosition>>,
}

/// The destination of the values of `recur`.
enum RecurDestination<'p> {
    /// There is no target.
    None,
    /// The patterns of a loop.
    Patterns(Vec<&'p Pattern>),
    /// The slots of a function's arguments.
    Arguments,
}

impl<'p> Target<'p> {
    fn new(binds: RecurDestination<'p>) -> Self {
        Self { binds, jumps: RefCell::default() }
    }
}

impl Case {
    #[inline(never)]
    fn choose(
        &self,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
    ) -> EvalResult<&Expression> {
        let subject = self.subject.eval(machine, slots, closed)?;
        let is_it = |constants: &[Value]| constants.iter().any(|constant| constant.same(&subject));
        let found = self.clauses.iter().find(|(constants, _)| is_it(constants));
        Ok(found.map_or(&self.default, |(_, then)| then))
    }
}

/// Evaluates and binds in sequence.
#[inline(always)]
fn bind_all(
    binds: &[(Bind, Expression)],
    machine: &mut Machine<'_>,
    slots: &mut [Value],
    closed: CurrentClosure<'_>,
) -> EvalResult<()> {
    for (bind, value) in binds {
        bind.bind_to(value, machine, slots, closed)?;
    }
    Ok(())
}

/// Binds the values of `recur` after all are evaluated.
#[inline(never)]
fn again(
    targets: &[Bind],
    values: &[Expression],
    machine: &mut Machine<'_>,
    slots: &mut [Value],
    closed: CurrentClosure<'_>,
) -> EvalResult<()> {
    let mut few = Frame::<FEW>::new();
    let mut many = Vec::new();
    let ready = if let Some(few) = few.get_mut(..values.len()) {
        few
    } else {
        many.resize(values.len(), Value::Nil);
        &mut many[..]
    };
    for (position, value) in ready.iter_mut().zip(values) {
        value.eval_into(machine, slots, closed, position)?;
    }
    for (target, value) in targets.iter().zip(ready) {
        target.bind(machine, slots, closed, std::mem::take(value))?;
    }
    Ok(())
}

/// Runs a body until it no longer jumps back.
#[inline(always)]
fn repeat(
    body: &Code,
    jumps: &[CodePosition],
    machine: &mut Machine<'_>,
    slots: &mut [Value],
    closed: CurrentClosure<'_>,
    out: &mut Value,
) -> Flow {
    let mut count = 0;
    loop {
        let from = match body(machine, slots, closed, out) {
            Flow::Again(from) => from,
            done => return done,
        };
        count += 1;
        if count > machine.limits().loop_jumps {
            return Flow::Halt(too_many_jumps(machine, jumps, from));
        }
        if let Err(halt) = machine.tick() {
            return Flow::Halt(halt);
        }
    }
}

#[cold]
#[inline(never)]
fn too_many_jumps(machine: &Machine<'_>, jumps: &[CodePosition], from: i64) -> Box<Halt> {
    let limit = machine.limits().loop_jumps;
    let error = Error::new(Reason::LoopLimitExceeded, format!("recur jumped more than {limit} times"));
    let halt = error.hint("Use reduce, map, filter or for over a collection. The rest of an empty list is [], which is truthy: test it with (seq rest)").into();
    match usize::try_from(from).ok().and_then(|from| jumps.get(from)) {
        Some(position) => machine.with_span(halt, position),
        None => halt,
    }
}

impl Compiler<'_> {
    /// Control flow outside of the tail of a loop or function.
    pub(super) fn control(&self, node: &Node) -> Expression {
        self.tail(node, &Target::new(RecurDestination::None))
    }

    /// The body of a function.
    pub(super) fn function(&self, prologue: Box<[(u32, Bind)]>, node: &Node) -> Code {
        let target = Target::new(RecurDestination::Arguments);
        let mut body = self.tail(node, &target).into_code();
        if !prologue.is_empty() {
            body = Box::new(move |machine, slots, closed, out| {
                for (slot, bind) in &prologue {
                    let value = std::mem::take(&mut slots[*slot as usize]);
                    if let Err(halt) = bind.bind(machine, slots, closed, value) {
                        return Flow::Halt(halt);
                    }
                }
                body(machine, slots, closed, out)
            });
        }
        let jumps = target.jumps.into_inner();
        if jumps.is_empty() {
            return body;
        }
        Box::new(move |machine, slots, closed, out| repeat(&body, &jumps, machine, slots, closed, out))
    }

    /// `loop`
    pub(super) fn repeated(&self, binds: &[(Pattern, Node)], body: &Node) -> Expression {
        let first: Box<[(Bind, Expression)]> = self.binds(binds);
        let target = Target::new(RecurDestination::Patterns(binds.iter().map(|(pattern, _)| pattern).collect()));
        let body = self.tail(body, &target).into_code();
        let jumps = target.jumps.into_inner();
        flow(move |machine, slots, closed, out| {
            if let Err(halt) = bind_all(&first, machine, slots, closed) {
                return Flow::Halt(halt);
            }
            repeat(&body, &jumps, machine, slots, closed, out)
        })
    }

    pub(super) fn binds(&self, binds: &[(Pattern, Node)]) -> Box<[(Bind, Expression)]> {
        binds.iter().map(|(pattern, value)| (self.bind(pattern), self.ex(value))).collect()
    }

    fn tail(&self, node: &Node, target: &Target<'_>) -> Expression {
        match &node.expr {
            Expr::If(parts) => {
                let [test, then, other] = &**parts;
                self.condition(test).choice(self.tail(then, target).into_code(), self.tail(other, target).into_code())
            }
            Expr::Cond(clauses) => {
                let clause = |(test, then): &(Node, Node)| (self.condition(test), self.tail(then, target).into_code());
                clause_chain(clauses.iter().map(clause).collect())
            }
            Expr::Do(parts) => match parts.split_last() {
                None => Expression::Const(Value::Nil),
                Some((last, [])) => self.tail(last, target),
                Some((last, parts)) => in_order(self.all(parts), self.tail(last, target).into_code()),
            },
            Expr::And(parts) => match parts.split_last() {
                None => Expression::Const(Value::Bool(true)),
                Some((last, parts)) => all(self.all(parts), self.tail(last, target).into_code()),
            },
            Expr::Or(parts) => match parts.split_last() {
                None => Expression::Const(Value::Nil),
                Some((last, parts)) => any(self.all(parts), self.tail(last, target).into_code()),
            },
            Expr::Case { subject, clauses, default } => {
                let clause = |(constants, then): &(Vec<Value>, Node)| (constants.clone(), self.tail(then, target));
                let case = Case {
                    subject: self.ex(subject),
                    clauses: clauses.iter().map(clause).collect(),
                    default: self.tail(default, target),
                };
                flow(move |machine, slots, closed, out| match case.choose(machine, slots, closed) {
                    Ok(then) => then.give(machine, slots, closed, out),
                    Err(halt) => Flow::Halt(halt),
                })
            }
            Expr::Let { binds, body } => {
                let (binds, body) = (self.binds(binds), self.tail(body, target).into_code());
                flow(move |machine, slots, closed, out| match bind_all(&binds, machine, slots, closed) {
                    Ok(()) => body(machine, slots, closed, out),
                    Err(halt) => Flow::Halt(halt),
                })
            }
            Expr::Recur(values) => self.recur(values, target, self.position(node.span)),
            _ => self.ex(node),
        }
    }

    fn recur(&self, values: &[Node], target: &Target<'_>, position: CodePosition) -> Expression {
        let binds: Vec<Bind> = match &target.binds {
            RecurDestination::None => Vec::new(),
            RecurDestination::Patterns(patterns) => patterns.iter().map(|pattern| self.bind(pattern)).collect(),
            RecurDestination::Arguments => (0_u32..).zip(values).map(|(slot, _)| Bind::Slot(slot)).collect(),
        };
        let mut jumps = target.jumps.borrow_mut();
        let from = i64::try_from(jumps.len()).unwrap_or(i64::MAX);
        jumps.push(position);
        drop(jumps);
        let slots: Option<Vec<u32>> = binds.iter().map(Bind::slot).collect();
        let values = self.all(values).into_vec();
        let slots = slots.unwrap_or_default();
        let values = match Jump::<1>::new(&slots, values, from) {
            Ok(jump) => return jump.into_ex(),
            Err(values) => values,
        };
        let values = match Jump::<2>::new(&slots, values, from) {
            Ok(jump) => return jump.into_ex(),
            Err(values) => values,
        };
        let values = match Jump::<3>::new(&slots, values, from) {
            Ok(jump) => return jump.into_ex(),
            Err(values) => values,
        };
        flow(move |machine, slots, closed, _| match again(&binds, &values, machine, slots, closed) {
            Ok(()) => Flow::Again(from),
            Err(halt) => Flow::Halt(halt),
        })
    }
}

/// `recur` with new values for slots.
struct Jump<const N: usize> {
    slots: [u32; N],
    values: [Expression; N],
    from: i64,
}

impl<const N: usize> Jump<N> {
    /// `Err` returns the values if their number differs.
    fn new(slots: &[u32], values: Vec<Expression>, from: i64) -> Result<Self, Vec<Expression>> {
        let Ok(slots) = slots.try_into() else { return Err(values) };
        Ok(Self { slots, values: values.try_into()?, from })
    }

    fn into_ex(self) -> Expression {
        if self.values.iter().any(|value| matches!(value, Expression::Code(_))) {
            return flow(move |machine, slots, closed, _| self.slowly(machine, slots, closed));
        }
        flow(
            move |machine, slots, closed, _| {
                if self.quickly(slots, closed) { Flow::Again(self.from) } else { self.slowly(machine, slots, closed) }
            },
        )
    }

    /// Jumps if all values are integers that need no evaluation; false otherwise.
    #[inline(always)]
    fn quickly(&self, slots: &mut [Value], closed: CurrentClosure<'_>) -> bool {
        let mut ints = [0; N];
        for (int, value) in ints.iter_mut().zip(&self.values) {
            let Some(found) = value.int(slots, closed) else { return false };
            *int = found;
        }
        for (slot, int) in self.slots.iter().zip(ints) {
            slots[*slot as usize].put_int(int);
        }
        true
    }

    #[inline(never)]
    fn slowly(&self, machine: &mut Machine<'_>, slots: &mut [Value], closed: CurrentClosure<'_>) -> Flow {
        let mut ready = Frame::<N>::new();
        for (position, value) in ready.iter_mut().zip(&self.values) {
            if let Err(halt) = value.eval_into(machine, slots, closed, position) {
                return Flow::Halt(halt);
            }
        }
        for (slot, value) in self.slots.iter().zip(ready.iter_mut()) {
            slots[*slot as usize].put(std::mem::take(value));
        }
        Flow::Again(self.from)
    }
}

/// `cond`
fn clause_chain(clauses: Vec<(Condition, Code)>) -> Expression {
    if clauses.len() <= FEW_CLAUSES {
        return clauses
            .into_iter()
            .rev()
            .fold(Expression::Const(Value::Nil), |other, (condition, then)| condition.choice(then, other.into_code()));
    }
    flow(move |machine, slots, closed, out| {
        for (condition, then) in &clauses {
            match condition.test(machine, slots, closed) {
                Ok(true) => return then(machine, slots, closed, out),
                Ok(false) => {}
                Err(halt) => return Flow::Halt(halt),
            }
        }
        out.put(Value::Nil);
        Flow::Out
    })
}

/// `do`
fn in_order(parts: Box<[Expression]>, last: Code) -> Expression {
    flow(move |machine, slots, closed, out| {
        for part in &parts {
            if let Err(halt) = part.eval(machine, slots, closed) {
                return Flow::Halt(halt);
            }
        }
        last(machine, slots, closed, out)
    })
}

/// `and`
fn all(parts: Box<[Expression]>, last: Code) -> Expression {
    flow(move |machine, slots, closed, out| {
        for part in &parts {
            match part.give(machine, slots, closed, out) {
                Flow::Int(_) | Flow::True => {}
                // The next part may want to change the value in place.
                Flow::Out if out.is_truthy() => out.put(Value::Nil),
                done => return done,
            }
        }
        last(machine, slots, closed, out)
    })
}

/// `or`
fn any(parts: Box<[Expression]>, last: Code) -> Expression {
    flow(move |machine, slots, closed, out| {
        for part in &parts {
            match part.give(machine, slots, closed, out) {
                Flow::False => {}
                Flow::Out if !out.is_truthy() => {}
                done => return done,
            }
        }
        last(machine, slots, closed, out)
    })
}
