//! `for` and `doseq`.

use super::Compiler;
use super::bind::Bind;
use super::condition::Condition;
use super::expression::{Expression, code};
use crate::lisp::ir::{IterationResult, Level, Modifier, Node};
use crate::lisp::machine::{CodePosition, CurrentClosure, Machine};
use crate::lisp::{Error, EvalResult, Items, described};
use crate::reasons::Reason;
use crate::value::Value;

/// One binding with its modifiers.
struct Stage {
    bind: Bind,
    source: Expression,
    modifiers: Box<[Filter]>,
    position: CodePosition,
}

enum Filter {
    When(Condition),
    While(Condition),
    Let(Box<[(Bind, Expression)]>),
}

/// A whole iteration.
struct Iteration {
    stages: Box<[Stage]>,
    body: Expression,
    gives: IterationResult,
}

impl Iteration {
    /// Runs the stages from `level` on. Levels are bounded by the program's nesting of forms.
    fn run(
        &self,
        level: usize,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        made: &mut Vec<Value>,
    ) -> EvalResult<()> {
        let Some(stage) = self.stages.get(level) else { return Ok(()) };
        let innermost = level + 1 == self.stages.len();
        let items = match Items::of(stage.source.eval(machine, slots, closed)?) {
            Ok(items) => items,
            Err(other) => {
                let problem = format!("the source must be a collection, got {}", described(&other));
                let name = if self.gives == IterationResult::List { "for" } else { "doseq" };
                let error = Error::new(Reason::TypeError, problem).within(name);
                return Err(machine.with_span(error.into(), &stage.position));
            }
        };
        'items: for item in items {
            machine.tick()?;
            stage.bind.bind(machine, slots, closed, item)?;
            for filter in &stage.modifiers {
                match filter {
                    Filter::When(condition) => {
                        if !condition.test(machine, slots, closed)? {
                            continue 'items;
                        }
                    }
                    Filter::While(condition) => {
                        if !condition.test(machine, slots, closed)? {
                            break 'items;
                        }
                    }
                    Filter::Let(binds) => {
                        for (bind, value) in binds {
                            let value = value.eval(machine, slots, closed)?;
                            bind.bind(machine, slots, closed, value)?;
                        }
                    }
                }
            }
            if !innermost {
                self.run(level + 1, machine, slots, closed, made)?;
                continue;
            }
            let mut value = Value::Nil;
            self.body.eval_into(machine, slots, closed, &mut value)?;
            if self.gives == IterationResult::List {
                made.push(value);
            }
        }
        Ok(())
    }
}

impl Compiler<'_> {
    pub(super) fn iteration(&self, levels: &[Level], body: &Node, gives: IterationResult) -> Expression {
        let modifier = |modifier: &Modifier| match modifier {
            Modifier::When(test) => Filter::When(self.condition(test)),
            Modifier::While(test) => Filter::While(self.condition(test)),
            Modifier::Let(binds) => Filter::Let(self.binds(binds)),
        };
        let stage = |level: &Level| Stage {
            bind: self.bind(&level.pattern),
            source: self.ex(&level.source),
            modifiers: level.modifiers.iter().map(modifier).collect(),
            position: self.position(level.source.span),
        };
        let iteration = Iteration { stages: levels.iter().map(stage).collect(), body: self.ex(body), gives };
        code(move |machine, slots, closed| {
            let mut made = Vec::new();
            iteration.run(0, machine, slots, closed, &mut made)?;
            Ok(match iteration.gives {
                IterationResult::List => Value::from(made),
                IterationResult::Nil => Value::Nil,
            })
        })
    }
}
