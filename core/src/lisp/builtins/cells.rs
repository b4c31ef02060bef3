//! Atoms and volatiles: program-local cells. Their contents are in [`Machine`]; a program's result, definitions and tool
//! arguments have the value of an atom in its place.

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::EvalResult;
use crate::lisp::machine::{Callable, Callee, Machine, cell_of};
use crate::value::Value;

const LOCAL: &str = "it lives as long as the program: a result, definition or tool argument gets its value";

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    ATOM,
    ATOM.named("volatile!", &["(volatile! value)"]),
    DEREF,
    SWAP,
    SWAP.named("vswap!", &["(vswap! volatile f)", "(vswap! volatile f arg…)"]),
    RESET,
    RESET.named("vreset!", &["(vreset! volatile value)"]),
    Builtin::new("compare-and-set!", Arity::exactly(3), compare_and_set)
        .doc(&["(compare-and-set! a old new)"], "Sets the value if it equals `old`; returns whether it did.")
        .examples(&[("(let [a (atom 1)] [(compare-and-set! a 1 2) @a])", "[true 2]")])
        .current(),
    Builtin::new("swap-vals!", Arity::from(2), swap_vals)
        .doc(&["(swap-vals! a f)", "(swap-vals! a f arg…)"], "Like `swap!`, but returns the old and the new value.")
        .examples(&[("(swap-vals! (atom 1) inc)", "[1 2]")])
        .current(),
    Builtin::new("reset-vals!", Arity::exactly(2), reset_vals)
        .doc(&["(reset-vals! a value)"], "Like `reset!`, but returns the old and the new value.")
        .examples(&[("(reset-vals! (atom 1) 5)", "[1 5]")])
        .cost(Cost::Constant)
        .current(),
];

const ATOM: Builtin = Builtin::new("atom", Arity::exactly(1), |machine, args| {
    let content = std::mem::take(&mut args[0]);
    Ok(machine.new_cell(content))
})
.doc(&["(atom value)"], "A cell with a value that swap! and reset! change; @a reads it.")
.examples(&[
    ("(let [a (atom 1)] (swap! a inc) @a)", "2"),
    ("(def total (atom 0)) (doseq [x [1 2]] (swap! total + x)) @total", "3"),
])
.clojure(Clojure::Differs(LOCAL))
.cost(Cost::Constant)
.current();

const DEREF: Builtin = Builtin::new("deref", Arity::exactly(1), deref)
    .doc(&["@a", "(deref a)"], "The value of an atom or volatile; any other value unchanged.")
    .examples(&[("(deref (atom 5))", "5"), ("@(atom [1])", "[1]")])
    .clojure(Clojure::Differs("a plain value is its own value, because atoms become values between programs"))
    .cost(Cost::Constant)
    .current();

const SWAP: Builtin = Builtin::new("swap!", Arity::from(2), swap)
    .doc(&["(swap! a f)", "(swap! a f arg…)"], "Sets the value to (f value arg…) and returns it.")
    .examples(&[("(let [a (atom {:n 1})] (swap! a update :n + 10))", "{:n 11}")])
    .clojure(Clojure::Differs("inside of pmap and pcalls only atoms of the branch can be changed"))
    .current();

const RESET: Builtin = Builtin::new("reset!", Arity::exactly(2), |machine, args| {
    let content = std::mem::take(&mut args[1]);
    machine.write_cell(cell_of(1, &args[0])?, content.clone())?;
    Ok(content)
})
.doc(&["(reset! a value)"], "Sets the value and returns it.")
.examples(&[("(let [a (atom 1)] (reset! a 5) @a)", "5")])
.cost(Cost::Constant)
.current();

fn deref(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::Var(name) => Ok(machine.binding(*name).map(|binding| binding.value).unwrap_or_default()),
        value => match Callable::of_value(value) {
            Some(Callable::Cell(cell)) => cell.read(),
            _ => Ok(std::mem::take(&mut args[0])),
        },
    }
}

fn swap(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (cell, args) = args.split_at_mut(1);
    let function = std::mem::take(&mut args[0]);
    change_cell(machine, &cell[0], &function, args)
}

/// Changes a cell by `(f content arg…)`; returns the new content. `args` begin with a place for the content.
pub(crate) fn change_cell(machine: &mut Machine<'_>, cell: &Value, function: &Value, args: &mut [Value]) -> EvalResult {
    let cell = cell_of(1, cell)?;
    let callee = Callee::of(machine, 2, function)?;
    machine.check_cell(cell)?;
    // A value with one owner is changed in place.
    args[0] = machine.content_for(cell, function, &args[1..])?;
    let new = match args {
        [current] => callee.call1(machine, std::mem::take(current))?,
        args => callee.call(machine, args)?,
    };
    machine.write_cell(cell, new.clone())?;
    Ok(new)
}

fn swap_vals(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let old = cell_of(1, &args[0])?.read()?;
    let new = swap(machine, args)?;
    Ok(Value::from(vec![old, new]))
}

fn reset_vals(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let new = std::mem::take(&mut args[1]);
    let cell = cell_of(1, &args[0])?;
    let old = cell.read()?;
    machine.write_cell(cell, new.clone())?;
    Ok(Value::from(vec![old, new]))
}

fn compare_and_set(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let cell = cell_of(1, &args[0])?;
    let is_same = cell.read()?.same(&args[1]);
    if is_same {
        let new = std::mem::take(&mut args[2]);
        machine.write_cell(cell_of(1, &args[0])?, new)?;
    }
    Ok(Value::Bool(is_same))
}
