//! Functions that run other functions over and over: `memoize` and `trampoline`; characters; and the call in `#(%)`.

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Callee, Machine, REDUCED};
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::{Map, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("memoize", Arity::exactly(1), memoize)
        .doc(&["(memoize f)"], "A function that calls f once for each list of arguments and keeps the results.")
        .examples(&[
            ("(def fib (memoize (fn [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))) (fib 50)", "12586269025"),
            ("(let [n (atom 0) f (memoize (fn [x] (swap! n inc) x))] [(f 5) (f 5) @n])", "[5 5 1]"),
        ])
        .clojure(Clojure::Differs("results are kept until the program ends, and not by parallel branches"))
        .cost(Cost::Constant)
        .current(),
    Builtin::new("trampoline", Arity::from(1), trampoline)
        .doc(
            &["(trampoline f)", "(trampoline f arg…)"],
            "Calls f, then each function that is returned, until the result is not a function.",
        )
        .examples(&[("(trampoline (fn f [n] (if (pos? n) #(f (dec n)) :done)) 5000)", ":done")])
        .current(),
    Builtin::new("char", Arity::exactly(1), char)
        .doc(&["(char n)"], "The character with this code point, as a string.")
        .examples(&[("(char 97)", "\"a\""), ("(char (+ 1 (int \\a)))", "\"b\""), ("(char \\a)", "\"a\"")])
        .clojure(Clojure::Differs("characters are strings"))
        .cost(Cost::Constant)
        .current(),
    Builtin::new("Character/digit", Arity::exactly(2), digit)
        .doc(&["(Character/digit c radix)"], "The value of a digit in a base from 2 to 36, -1 for other characters.")
        .examples(&[
            ("(Character/digit \\7 10)", "7"),
            ("(Character/digit \\f 16)", "15"),
            ("(Character/digit \\9 8)", "-1"),
        ])
        .clojure(Clojure::Named("java.lang.Character/digit"))
        .cost(Cost::Constant)
        .current(),
];

fn memoize(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let function = std::mem::take(&mut args[0]);
    Callee::of(machine, 1, &function)?;
    let results = machine.new_cell(Map::default().into());
    Ok(Callable::bound("memoize", vec![function, results], |machine, parts, args| {
        let [function, results] = parts else { return Ok(Value::Nil) };
        let Some(Callable::Cell(results)) = Callable::of_value(results) else { return Ok(Value::Nil) };
        machine.ticks(args.len())?;
        let key = Value::list(args.iter().cloned());
        // Without a content the program that made the function has ended.
        let known = results.content();
        if let Some(value) = known.as_ref().and_then(Value::as_map).and_then(|known| known.get(&key)) {
            return Ok(value.clone());
        }
        drop(known);
        let value = Callee::of(machine, 1, function)?.call(machine, args)?;
        if machine.check_cell(results).is_ok()
            && let Value::Map(mut known) = machine.take_cell(results)?
        {
            machine.tick()?;
            std::sync::Arc::make_mut(&mut known).insert(key, value.clone());
            machine.write_cell(results, Value::Map(known))?;
        }
        Ok(value)
    }))
}

fn digit(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let mut chars = args[0].as_str().unwrap_or_default().chars();
    let (Some(character), None) = (chars.next(), chars.next()) else {
        return Err(wrong(1, "a character", &args[0]));
    };
    let base = match args[1] {
        Value::Int(base) => u32::try_from(base).ok().filter(|base| (2..=36).contains(base)),
        _ => None,
    };
    let Some(base) = base else { return Err(wrong(2, "an integer from 2 to 36", &args[1])) };
    Ok(Value::Int(character.to_digit(base).map_or(-1, i64::from)))
}

/// The name of [`CALLED`], whose errors are those of the function.
pub(crate) const CALLED_NAME: &str = "#()";

/// The result of a short function whose only part is not a literal, as in `#(%)` and `#((f %))`: a function is called,
/// any other value is the result. The analyser inserts it.
pub(crate) static CALLED: Builtin = Builtin::new(CALLED_NAME, Arity::exactly(1), |machine, args| {
    let is_called = match Callable::of_value(&args[0]) {
        Some(Callable::Bound(bound)) => bound.name != REDUCED,
        Some(Callable::Closure(_) | Callable::Builtin(_) | Callable::Tool(_)) => true,
        Some(Callable::Cell(_) | Callable::Transducer(_) | Callable::Endless(_)) | None => false,
    };
    let value = std::mem::take(&mut args[0]);
    if is_called { machine.apply(&value, &mut []) } else { Ok(value) }
});

fn trampoline(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (function, args) = args.split_at_mut(1);
    let mut value = Callee::of(machine, 1, &function[0])?.call(machine, args)?;
    while let Some(Callable::Closure(_) | Callable::Bound(_) | Callable::Builtin(_)) = Callable::of_value(&value) {
        machine.tick()?;
        value = machine.call(&value, &mut [])?;
    }
    Ok(value)
}

fn char(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::Int(code) => match u32::try_from(*code).ok().and_then(char::from_u32) {
            Some(c) => Ok(Value::from(c.to_string())),
            None => Error::new(Reason::RuntimeError, format!("{code} is not the code point of a character"))
                .hint("Code points go from 0 to 1114111: (char 97)")
                .halt(),
        },
        Value::Str(text) if text.chars().count() == 1 => Ok(std::mem::take(&mut args[0])),
        other => Err(wrong(1, "an integer", other)),
    }
}
