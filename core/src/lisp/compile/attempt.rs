//! `try`: the body and the handlers run in the frame of the function around them.

use super::Compiler;
use super::expression::{Expression, flow};
use crate::lisp::Halt;
use crate::lisp::builtins::{class_of, exception_of};
use crate::lisp::ir;
use crate::lisp::machine::{Code, CurrentClosure, Flow, Machine, is_catchable, runs_finally};
use crate::value::Value;

/// Classes that catch everything.
const GENERAL: &[&str] = &["Exception", "Throwable", "Error", "RuntimeException", "default", "Object"];

/// A compiled `try`.
struct Attempt {
    body: Code,
    handlers: Box<[Handler]>,
    finally: Option<Code>,
}

/// A compiled `catch`.
struct Handler {
    class: &'static str,
    slot: u32,
    reads_exception: bool,
    body: Code,
}

impl Attempt {
    fn run(&self, machine: &mut Machine<'_>, slots: &mut [Value], closed: CurrentClosure<'_>, out: &mut Value) -> Flow {
        let recovery = machine.begin_attempt();
        let mut flow = (self.body)(machine, slots, closed, out);
        if let Flow::Halt(halt) = flow {
            flow = if self.handlers.is_empty() || !is_catchable(&halt) {
                Flow::Halt(halt)
            } else {
                machine.recover(recovery);
                self.handle(*halt, machine, slots, closed, out)
            };
        }
        machine.end_attempt();
        let Some(finally) = &self.finally else { return flow };
        if let Flow::Halt(halt) = &flow {
            if !runs_finally(halt) {
                return flow;
            }
            machine.recover(recovery);
        }
        let mut ignored = Value::Nil;
        match finally(machine, slots, closed, &mut ignored) {
            Flow::Halt(halt) => Flow::Halt(halt),
            _ => flow,
        }
    }

    #[inline(never)]
    fn handle(
        &self,
        halt: Halt,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        out: &mut Value,
    ) -> Flow {
        out.put(Value::Nil);
        let Some(handler) = self.handler(&halt) else { return Flow::Halt(Box::new(halt)) };
        if handler.reads_exception {
            slots[handler.slot as usize].put(exception_of(halt));
        }
        (handler.body)(machine, slots, closed, out)
    }

    /// The handler of the first class that names the kind of error, otherwise the last one.
    fn handler(&self, halt: &Halt) -> Option<&Handler> {
        if let [handler] = &*self.handlers {
            return Some(handler);
        }
        let class = class_of(halt);
        let fits = |handler: &&Handler| handler.class == class || GENERAL.contains(&handler.class);
        self.handlers.iter().find(fits).or_else(|| self.handlers.last())
    }
}

impl Compiler<'_> {
    pub(super) fn attempt(&self, attempt: &ir::Attempt) -> Expression {
        let handler = |handler: &ir::CatchHandler| Handler {
            class: handler.class,
            slot: handler.slot,
            reads_exception: handler.reads_exception,
            body: self.ex(&handler.body).into_code(),
        };
        let attempt = Attempt {
            body: self.ex(&attempt.body).into_code(),
            handlers: attempt.handlers.iter().map(handler).collect(),
            finally: attempt.finally.as_ref().map(|finally| self.ex(finally).into_code()),
        };
        flow(move |machine, slots, closed, out| attempt.run(machine, slots, closed, out))
    }
}
