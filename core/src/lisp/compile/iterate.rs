//! `for` and `doseq`.

use super::Compiler;
use super::bind::Bind;
use super::condition::Condition;
use super::expression::{Expression, code};
use crate::lisp::builtins::Pipeline;
use crate::lisp::ir::{IterationResult, Level, Modifier, Node};
use crate::lisp::machine::{Callable, CodePosition, CurrentClosure, Machine};
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
        match Items::of(stage.source.eval(machine, slots, closed)?) {
            Ok(items) => {
                for item in items {
                    machine.tick()?;
                    if !self.step(level, stage, item, machine, slots, closed, made)? {
                        break;
                    }
                }
                Ok(())
            }
            Err(endless) if Callable::is_endless(&endless) => {
                self.run_endless(level, stage, &endless, machine, slots, closed, made)
            }
            Err(other) => {
                let problem = format!("the source must be a collection, got {}", described(&other));
                let name = if self.gives == IterationResult::List { "for" } else { "doseq" };
                let error = Error::new(Reason::TypeError, problem).within(name);
                Err(machine.with_span(error.into(), &stage.position))
            }
        }
    }

    /// Runs the stages from `level` on, whose source has no end. Separate, so that the usual loop stays small.
    #[expect(clippy::too_many_arguments, reason = "the parts of a running iteration")]
    #[cold]
    fn run_endless(
        &self,
        level: usize,
        stage: &Stage,
        endless: &Value,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        made: &mut Vec<Value>,
    ) -> EvalResult<()> {
        let mut items = Pipeline::of(machine, 1, endless)?;
        while let Some(item) = items.next(machine)? {
            if !self.step(level, stage, item, machine, slots, closed, made)? {
                break;
            }
        }
        Ok(())
    }

    /// Runs a stage for one item; false if `:while` ends the stage.
    #[expect(clippy::too_many_arguments, reason = "the parts of a running iteration")]
    #[expect(clippy::inline_always, reason = "measured: an item must not cost a call")]
    #[inline(always)]
    fn step(
        &self,
        level: usize,
        stage: &Stage,
        item: Value,
        machine: &mut Machine<'_>,
        slots: &mut [Value],
        closed: CurrentClosure<'_>,
        made: &mut Vec<Value>,
    ) -> EvalResult<bool> {
        stage.bind.bind(machine, slots, closed, item)?;
        for filter in &stage.modifiers {
            match filter {
                Filter::When(condition) => {
                    if !condition.test(machine, slots, closed)? {
                        return Ok(true);
                    }
                }
                Filter::While(condition) => {
                    if !condition.test(machine, slots, closed)? {
                        return Ok(false);
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
        if level + 1 < self.stages.len() {
            self.run(level + 1, machine, slots, closed, made)?;
            return Ok(true);
        }
        let mut value = Value::Nil;
        self.body.eval_into(machine, slots, closed, &mut value)?;
        if self.gives == IterationResult::List {
            made.push(value);
        }
        Ok(true)
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
