//! Forms with side effects: definitions, tools, ends of the program, the journal.

use super::Compiler;
use super::expression::{Expression, code};
use crate::lisp::ir::{DefCondition, Expr, Node};
use crate::lisp::machine::{CodePosition, Machine};
use crate::lisp::{EvalResult, Halt};
use crate::value::Value;

impl Compiler<'_> {
    pub(super) fn effect(&self, node: &Node) -> Expression {
        let position = self.position(node.span);
        match &node.expr {
            Expr::Tool { tool, args } => {
                let (tool, args) = (tool.clone(), self.ex(args));
                code(move |machine, slots, closed| {
                    let args = args.eval(machine, slots, closed)?;
                    machine.call_tool(&tool, &args).map_err(|halt| machine.with_span(halt, &position))
                })
            }
            Expr::Try { tool, args } => {
                let (tool, args) = (tool.clone(), self.ex(args));
                code(move |machine, slots, closed| {
                    let args = args.eval(machine, slots, closed)?;
                    machine.try_tool(&tool, &args).map_err(|halt| machine.with_span(halt, &position))
                })
            }
            Expr::Def { global, value, doc, when } => self.definition(*global, value, doc.clone(), *when),
            Expr::Return(value) => {
                let value = self.ex(value);
                code(move |machine, slots, closed| Err(Halt::Return(value.eval(machine, slots, closed)?).into()))
            }
            Expr::Fail(value) => {
                let value = self.ex(value);
                code(move |machine, slots, closed| Err(Halt::Fail(value.eval(machine, slots, closed)?).into()))
            }
            Expr::Task { id, body } => self.task(id, body, position),
            Expr::StepDone { id, summary } => {
                let (id, summary) = (self.ex(id), self.ex(summary));
                code(move |machine, slots, closed| {
                    let id = id.eval(machine, slots, closed)?;
                    let summary = summary.eval(machine, slots, closed)?;
                    machine.note(&id, &summary).map_err(|halt| machine.with_span(halt, &position))
                })
            }
            Expr::TaskReset(id) => {
                let id = self.ex(id);
                code(move |machine, slots, closed| {
                    let id = id.eval(machine, slots, closed)?;
                    machine.forget(&id).map_err(|halt| machine.with_span(halt, &position))
                })
            }
            Expr::Raise(error) => {
                let error = (**error).clone();
                code(move |_, _, _| error.clone().halt())
            }
            _ => Expression::Const(Value::Nil),
        }
    }

    fn task(&self, id: &Node, body: &Node, position: CodePosition) -> Expression {
        let (id, body) = (self.ex(id), self.ex(body));
        code(move |machine, slots, closed| {
            let id = id.eval(machine, slots, closed)?;
            let id = Machine::task_id(&id).map_err(|halt| machine.with_span(halt, &position))?;
            if let Some(value) = machine.done(&id) {
                return Ok(value);
            }
            let value = body.eval(machine, slots, closed)?;
            let kept = machine.leaving(value.clone()).map_err(|halt| machine.with_span(halt, &position))?;
            machine.remember(&id, &kept);
            Ok(value)
        })
    }

    fn definition(
        &self,
        global: u32,
        value: &Node,
        doc: Option<std::sync::Arc<str>>,
        when: DefCondition,
    ) -> Expression {
        let (at, name, unit) = (global as usize, self.global(global), self.unit);
        let value = self.ex(value);
        code(move |machine, slots, closed| -> EvalResult {
            let own = unit == machine.world.unit;
            if when == DefCondition::Unbound {
                let globals = &machine.globals;
                let have = if own { globals.slot(at) } else { globals.named(&machine.world, name) };
                if have.is_some() {
                    return Ok(Value::Var(name));
                }
            }
            let value = value.eval(machine, slots, closed)?;
            if own {
                machine.globals.define(at, value, doc.clone());
            } else {
                machine.globals.define_named(&machine.world, name, value, doc.clone());
            }
            Ok(Value::Var(name))
        })
    }
}
