//! `apply`, printing, and parallel work.

use std::fmt::Write;

use super::argument::{is_record, no_entries, swapped};
use super::collection::looks_swapped;
use super::view::{collect, items};
use super::{Arity, Builtin, Clojure, Cost};
use crate::limits::JSON_DEPTH;
use crate::lisp::firewall::visible;
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, Halt, wrong};
use crate::reasons::Reason;
use crate::value::{Bounds, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("apply", Arity::from(2), apply)
        .calls_argument(0)
        .doc(
            &["(apply f coll)", "(apply f a b … coll)"],
            "Calls f with the given arguments, followed by the items of a list, set or map; nil has no items.",
        )
        .examples(&[
            ("(apply + [1 2 3])", "6"),
            ("(apply str \"a\" [\"b\" \"c\"])", "\"abc\""),
            ("(apply max #{3 1})", "3"),
        ]),
    PRINTLN,
    PRINTLN
        .named("print", &["(print x…)"])
        .running(print)
        .clojure(Clojure::Differs("The same as println, except in with-out-str: each call makes one entry.")),
    PRINTLN
        .named("prn", &["(prn x…)"])
        .clojure(Clojure::Differs("The same as println: strings are printed without quotes.")),
    Builtin::new("newline", Arity::exactly(0), println)
        .doc(&["(newline)"], "Prints an empty line; the same as (println).")
        .examples(&[("(with-out-str (print 1) (newline))", "\"1\\n\"")])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("flush", Arity::exactly(0), |_, _| Ok(Value::Nil))
        .doc(&["(flush)"], "Nothing: printed text is shown at once.")
        .examples(&[("(flush)", "nil")])
        .cost(Cost::Constant)
        .current(),
    Builtin::new("printf", Arity::from(1), printf)
        .doc(&["(printf template & values)"], "Prints the text that format makes; a line break at its end is dropped.")
        .examples(&[("(printf \"%s=%d%n\" \"a\" 1)", "nil")])
        .clojure(Clojure::Differs("Each call makes one entry."))
        .cost(Cost::Output)
        .current(),
    Builtin::new("pmap", Arity::from(2), pmap)
        .doc(
            &["(pmap f coll)", "(pmap f c1 c2…)"],
            "Like map, with parallel calls; for slow tools. Definitions and output of f are dropped.",
        )
        .examples(&[("(pmap inc [1 2])", "[2 3]"), ("(pmap + [1 2] [3 4])", "[4 6]")])
        .clojure(Clojure::Differs("Eager.")),
    Builtin::form("with-out-str", Arity::from(0))
        .doc(&["(with-out-str body…)"], "The text that the body prints, which is not printed.")
        .examples(&[
            ("(with-out-str (print \"a\") (println \"b\" 1))", "\"ab 1\\n\""),
            ("(with-out-str (doseq [x [1 2]] (println x)))", "\"1\\n2\\n\""),
        ])
        .current(),
    Builtin::new("pcalls", Arity::from(0), pcalls)
        .doc(&["(pcalls f…)"], "The values of functions without arguments, called in parallel.")
        .examples(&[("(pcalls (fn [] 1) (fn [] 2))", "[1 2]"), ("(pcalls)", "[]")])
        .clojure(Clojure::Differs("Eager.")),
];

const PRINTLN: Builtin = Builtin::new("println", Arity::from(0), println)
    .doc(
        &["(println x…)"],
        "Prints the values, separated by spaces: strings without quotes, everything else in readable form, but a list of one-character strings as one text. Returns nil.",
    )
    .examples(&[("(println \"a\" 1)", "nil"), ("(with-out-str (println [\"a\" \"b\"] [\"ab\"]))", "\"ab [\\\"ab\\\"]\\n\"")])
    .cost(Cost::Output)
    .clojure(Clojure::Differs("A list of one-character strings is printed as one text."));

fn apply(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let position = args.len();
    let (function, args) = args.split_at_mut(1);
    let Some((last, firsts)) = args.split_last_mut() else { return Ok(Value::Nil) };
    let spread = match std::mem::take(last) {
        list @ (Value::List(_) | Value::Set(_) | Value::Map(_)) => collect(machine, list)?,
        Value::Nil if !machine.is_reference() => Vec::new(),
        other => {
            let expected = "a list, set or map";
            let refuse = if is_record(&other) { no_entries } else { wrong };
            let halt = refuse(position, expected, &other);
            return Err(if looks_swapped(&function[0], &other) { swapped(halt, "(apply f coll)") } else { halt });
        }
    };
    machine.ticks(spread.len())?;
    if firsts.is_empty() {
        let mut spread = spread;
        return machine.apply(&function[0], &mut spread);
    }
    let mut all: Vec<Value> = firsts.iter_mut().map(std::mem::take).collect();
    all.extend(spread);
    machine.apply(&function[0], &mut all)
}

/// The value of a `case` whose last constant, the argument, is probably meant as its default: nil, with a warning. The
/// analyser inserts it.
pub(crate) static NO_MATCH: Builtin = Builtin::new("case", Arity::exactly(1), |machine, args| {
    let shown = args[0].brief(20);
    let warning =
        format!("case: {shown} is a constant, not the default, and nothing matched: write (case x 1 :one :other)");
    if !machine.warnings.contains(&warning) {
        machine.warnings.push(warning);
    }
    Ok(Value::Nil)
});

/// The form `with-out-str`, called with the body as a function. The analyser inserts it.
pub(crate) static CAPTURE: Builtin = Builtin::new(CAPTURE_NAME, Arity::exactly(1), |machine, args| {
    machine.captured.push(String::new());
    let result = machine.apply(&args[0], &mut []);
    let text = machine.captured.pop().unwrap_or_default();
    result.map(|_| text.into())
});

/// The name of [`CAPTURE`], whose errors keep the reasons that they have inside.
pub(crate) const CAPTURE_NAME: &str = "with-out-str";

fn println(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    print_values(machine, args, "\n")
}

fn print(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    print_values(machine, args, "")
}

/// Prints the values; `end` follows them where the output is captured.
fn print_values(machine: &mut Machine<'_>, args: &mut [Value], end: &str) -> EvalResult {
    if machine.world.firewall {
        for value in args.iter_mut() {
            *value = visible(value);
        }
    }
    let floats = machine.float_digits();
    let mut entry = Entry { text: String::new(), machine, halt: None };
    let mut is_cut = false;
    for (index, value) in args.iter().enumerate() {
        let space = if index > 0 { entry.write_str(" ") } else { Ok(()) };
        let written = space.and_then(|()| match value {
            Value::Str(text) => entry.write_str(text),
            Value::List(list) if !list.is_empty() && list.iter().all(is_char) => {
                list.iter().filter_map(Value::as_str).try_for_each(|text| entry.write_str(text))
            }
            value => value.write_floats(&mut entry, Bounds::default(), floats).map(|cut| is_cut |= cut),
        });
        if written.is_err()
            && let Some(halt) = entry.halt.take()
        {
            return Err(halt);
        }
    }
    let Entry { text, machine, .. } = entry;
    match machine.captured.last_mut() {
        Some(captured) => captured.extend([&*text, end]),
        None => machine.print(text),
    }
    // Only shortened output is bounded.
    if is_cut {
        let levels = JSON_DEPTH.max;
        let warning = format!("println: values nested deeper than {levels} levels were printed as `...`");
        if !machine.warnings.contains(&warning) {
            machine.warnings.push(warning);
        }
    }
    Ok(Value::Nil)
}

fn printf(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if machine.world.firewall {
        for value in args.iter_mut() {
            *value = visible(value);
        }
    }
    let text = super::format::format(machine, args)?;
    let text = text.as_str().unwrap_or_default();
    match machine.captured.last_mut() {
        Some(captured) => captured.push_str(text),
        None => machine.print(text.trim_end_matches('\n').to_owned()),
    }
    Ok(Value::Nil)
}

/// True for a string of one character; strings of several code points but one grapheme are rare and tested last.
fn is_char(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        !text.is_empty() && (text.chars().nth(1).is_none() || crate::lisp::graphemes(text).len() == 1)
    })
}

/// A printed entry under construction; memory is charged as it grows.
struct Entry<'m, 'h> {
    text: String,
    machine: &'m mut Machine<'h>,
    halt: Option<Box<Halt>>,
}

impl Write for Entry<'_, '_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        match self.machine.reserve(text.len()) {
            Ok(()) => self.text.write_str(text),
            Err(halt) => {
                self.halt = Some(halt);
                Err(std::fmt::Error)
            }
        }
    }
}

/// Bytes shown of the value that a branch failed with.
const BRIEF: usize = 200;

fn pmap(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (function, colls) = args.split_at_mut(1);
    let function = &function[0];
    let is_map = matches!(colls, [Value::Map(_)]);
    let mut lists = Vec::with_capacity(colls.len());
    for (index, coll) in colls.iter_mut().enumerate() {
        match items(machine, std::mem::take(coll))? {
            Ok(list) => lists.push(list),
            Err(other) => {
                let Err(halt) = EvalResult::<()>::Err(wrong(index + 2, "a collection", &other)) else { continue };
                let halt = with_reason(halt, Reason::RuntimeError);
                return Err(if looks_swapped(function, &other) { swapped(halt, "(pmap f coll)") } else { halt });
            }
        }
    }
    if let (Value::Keyword(_), true) = (function, is_map) {
        let problem = "a keyword needs maps, but the items of a map are entries [key value]";
        return Error::new(Reason::TypeError, problem).hint("Write (pmap :key list-of-maps)").halt();
    }
    if let Value::Map(_) = function {
        let problem = "argument 1 must be a function, got a map";
        return Error::new(Reason::PmapError, problem).hint("Write (pmap (fn [key] (m key)) coll)").halt();
    }
    let count = lists.iter().map(Vec::len).min().unwrap_or(0);
    machine.reserve(count * size_of::<Value>())?;
    let ended = machine.fork(count, &|machine, branch| {
        let mut row: Vec<Value> = lists.iter().filter_map(|list| list.get(branch).cloned()).collect();
        machine.apply(function, &mut row)
    })?;
    gathered(ended, Reason::PmapError)
}

fn pcalls(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let args = &*args;
    let ended = machine.fork(args.len(), &|machine, branch| machine.apply(&args[branch], &mut []))?;
    gathered(ended, Reason::PcallsError)
}

/// The values of all branches, or the error of the form. An error that ends the whole program is unchanged.
fn gathered(ended: Result<Vec<Value>, (usize, Box<Halt>)>, reason: Reason) -> EvalResult {
    let (branch, halt) = match ended {
        Ok(values) => return Ok(Value::from(values)),
        Err(failed) => failed,
    };
    let problem = match &*halt {
        Halt::Return(_) => "`return` ends a program and cannot be used in a branch".to_owned(),
        // A thrown exception keeps its data.
        Halt::Throw(_) => return Err(halt),
        Halt::Fail(value) => {
            format!("the branch failed: {}", value.brief(BRIEF))
        }
        Halt::Error(error) => match error.reason {
            Reason::Timeout
            | Reason::Cancelled
            | Reason::MemoryExceeded
            | Reason::SymbolLimitExceeded
            | Reason::ToolCallLimitExceeded
            | Reason::InternalError => return Err(halt),
            _ => error.message(),
        },
    };
    let mut error = Error::new(reason, format!("branch {}: {problem}", branch + 1));
    if let Halt::Error(cause) = &*halt {
        error.span = cause.span;
        error = error.caught_as(cause.origin);
    }
    error.halt()
}

fn with_reason(mut halt: Box<Halt>, reason: Reason) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        error.reason = reason;
    }
    halt
}
