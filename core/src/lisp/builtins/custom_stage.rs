//! A transducer that the program wrote, as a stage of a pipeline: `(fn [rf] (fn ([] …) ([result] …) ([result item] …)))`.
//!
//! In: the function, and the items before the stage. Out: the items that it passes to `rf`, which returns its result
//! unchanged. A result of `reduced` ends the stage. It must never pull an item while earlier ones are waiting.

use super::collection::own_list;
use super::reduce::ended;
use crate::lisp::machine::{Callable, Callee, Machine, is_catchable};
use crate::lisp::{EvalResult, Items};
use crate::value::Value;

/// The stage with its state.
pub(super) struct CustomStage {
    /// The function that the transducer returned.
    step: Value,
    /// The cell with the items that `rf` received.
    passed: Value,
    /// Items that are still to be returned.
    items: Option<Items>,
    is_finished: bool,
}

/// The name of the function that transducers receive.
const RF: &str = "rf";

impl CustomStage {
    /// The stage of a function; `None` if it is not a transducer.
    pub(super) fn of(machine: &mut Machine<'_>, transducer: &Value) -> EvalResult<Option<Self>> {
        let Ok(callee) = Callee::of(machine, 1, transducer) else { return Ok(None) };
        let passed = machine.new_cell(Vec::new().into());
        let rf = Callable::bound(RF, vec![passed.clone()], pass);
        let step = match callee.call1(machine, rf) {
            Ok(step) => step,
            // A function of items, such as `#(* 2 %)`.
            Err(halt) if is_catchable(&halt) => return Ok(None),
            Err(halt) => return Err(halt),
        };
        let is_function = matches!(Callable::of_value(&step), Some(Callable::Closure(_) | Callable::Bound(_)));
        Ok(is_function.then(|| Self { step, passed, items: None, is_finished: false }))
    }

    /// The next item that the stage passes on.
    pub(super) fn next(
        &mut self,
        machine: &mut Machine<'_>,
        previous: &mut dyn FnMut(&mut Machine<'_>) -> EvalResult<Option<Value>>,
    ) -> EvalResult<Option<Value>> {
        loop {
            if let Some(item) = self.items.as_mut().and_then(Iterator::next) {
                return Ok(Some(item));
            }
            if self.is_finished {
                return Ok(None);
            }
            machine.tick()?;
            match previous(machine)? {
                Some(item) => {
                    let result = Callee::of(machine, 1, &self.step)?.call2(machine, Value::Nil, item)?;
                    self.is_finished = ended(&result).is_some();
                }
                None => self.is_finished = true,
            }
            if self.is_finished && accepts_one(&self.step) {
                Callee::of(machine, 1, &self.step)?.call1(machine, Value::Nil)?;
            }
            self.items = Items::of(taken(machine, &self.passed)?).ok();
        }
    }
}

/// True if the function can be called with the result alone, at the end.
fn accepts_one(step: &Value) -> bool {
    match Callable::of_value(step) {
        Some(Callable::Closure(closure)) => closure.lambda.accepts(1),
        _ => true,
    }
}

/// `rf`: adds an item to the cell and returns the result.
fn pass(machine: &mut Machine<'_>, parts: &[Value], args: &mut [Value]) -> EvalResult {
    if let ([_, item], [passed]) = (&mut *args, parts)
        && let Some(Callable::Cell(cell)) = Callable::of_value(passed)
        && let Value::List(mut list) = machine.take_cell(cell)?
    {
        own_list(machine, &mut list)?.push(std::mem::take(item));
        machine.write_cell(cell, Value::List(list))?;
    }
    Ok(args.first_mut().map(std::mem::take).unwrap_or_default())
}

/// Takes the items out of the cell.
fn taken(machine: &Machine<'_>, passed: &Value) -> EvalResult {
    let Some(Callable::Cell(cell)) = Callable::of_value(passed) else { return Ok(Value::Nil) };
    let items = machine.take_cell(cell)?;
    machine.write_cell(cell, Vec::new().into())?;
    Ok(items)
}
