//! Exceptions: `try`, `throw`, `ex-info` and its parts.
//!
//! An exception is a map `{:message text :data map}`, with `:cause` where there is one, so that it can be printed,
//! returned and stored. Errors of the program and of tools are caught as such maps, with `:reason` in their data.

use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Machine, is_catchable, runs_finally};
use crate::lisp::{Error, EvalResult, Halt, Thrown, wrong};
use crate::reasons::Reason;
use crate::value::{Map, Value};

/// Bytes shown of the data of an exception that is not caught.
const BRIEF: usize = 1_000;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::form("try", Arity::from(0))
        .doc(
            &["(try body… (catch Exception e …) (finally …))"],
            "The value of the body; errors of the program and of tools, and thrown values, are caught with any class name. Limits, stops, `return` and `fail` cannot be caught. `finally` runs in any case, except after a limit or a stop.",
        )
        .examples(&[
            ("(try (/ 1 0) (catch Exception e :failed))", ":failed"),
            ("(try (throw (ex-info \"no\" {:id 7})) (catch Exception e [(ex-message e) (ex-data e)]))", "[\"no\" {:id 7}]"),
        ])
        .clojure(Clojure::Differs("an exception is a map; of several classes the one of the error's kind is chosen, otherwise the last"))
        .current(),
    Builtin::new("throw", Arity::exactly(1), throw)
        .doc(&["(throw (ex-info message data))"], "Ends the program with this error, unless it is caught.")
        .examples(&[("(try (throw (ex-info \"no\" {})) (catch Exception e (ex-message e)))", "\"no\"")])
        .clojure(Clojure::Differs("any value can be thrown"))
        .cost(Cost::Constant)
        .current(),
    Builtin::new("ex-info", Arity::between(2, 3), ex_info)
        .doc(&["(ex-info message data)", "(ex-info message data cause)"], "An exception with a message and a map of data.")
        .examples(&[("(ex-data (ex-info \"no\" {:id 7}))", "{:id 7}")])
        .clojure(Clojure::Differs("the exception is a map {:message … :data …}"))
        .cost(Cost::Constant)
        .current(),
    EX_MESSAGE,
    EX_MESSAGE.named(".getMessage", &["(.getMessage e)"]).clojure(Clojure::Named("java.lang.Throwable/getMessage")),
    Builtin::new("ex-data", Arity::exactly(1), |_, args| Ok(part(&args[0], "data")))
        .doc(&["(ex-data e)"], "The data of an exception. For an error it has `:reason`, for a tool also `:tool`.")
        .examples(&[("(try (/ 1 0) (catch Exception e (:reason (ex-data e))))", ":arithmetic_error")])
        .cost(Cost::Constant)
        .current(),
    EX_CAUSE,
    EX_CAUSE.named(".getCause", &["(.getCause e)"]).clojure(Clojure::Named("java.lang.Throwable/getCause")),
];

const EX_MESSAGE: Builtin = Builtin::new("ex-message", Arity::exactly(1), |_, args| Ok(part(&args[0], "message")))
    .doc(&["(ex-message e)"], "The message of an exception.")
    .examples(&[("(ex-message (ex-info \"no\" {}))", "\"no\"")])
    .cost(Cost::Constant)
    .current();

const EX_CAUSE: Builtin = Builtin::new("ex-cause", Arity::exactly(1), |_, args| Ok(part(&args[0], "cause")))
    .doc(&["(ex-cause e)"], "The exception that caused this one, or nil.")
    .examples(&[
        ("(ex-message (ex-cause (ex-info \"b\" {} (ex-info \"a\" {}))))", "\"a\""),
        ("(ex-cause (ex-info \"b\" {}))", "nil"),
    ])
    .cost(Cost::Constant)
    .current();

/// The form `try`, called with the body and `finally` as functions, then a class and a handler for each `catch`. The
/// analyser inserts it; programs cannot name it.
pub(crate) static ATTEMPT: Builtin = Builtin::new(ATTEMPT_NAME, Arity::from(2), attempt);

/// The name of [`ATTEMPT`], whose errors keep the reasons that they have inside.
pub(crate) const ATTEMPT_NAME: &str = "try";

/// A failed `assert`, with its message. The analyser inserts it.
pub(crate) static ASSERTION: Builtin = Builtin::new("assert", Arity::exactly(1), |_, args| {
    let message = match &args[0] {
        Value::Nil => "Assert failed".to_owned(),
        Value::Str(text) => format!("Assert failed: {text}"),
        other => format!("Assert failed: {}", other.brief(BRIEF)),
    };
    raise(exception(Value::from(message), reason_data("AssertionError"), Value::Nil))
});

/// `(IllegalStateException. message)`: the class, then the arguments. The analyser inserts it.
pub(crate) static EXCEPTION: Builtin = Builtin::new("ex-info", Arity::from(1), |_, args| {
    let class = args[0].as_str().unwrap_or_default().to_owned();
    let mut rest = args.iter_mut().skip(1).map(std::mem::take);
    let (message, second, third) = (rest.next(), rest.next(), rest.next());
    Ok(match (message, second) {
        // `(ExceptionInfo. message data cause)`
        (Some(message), Some(data)) if class == "ExceptionInfo" => exception(message, data, third.unwrap_or_default()),
        (message, cause) => {
            exception(message.unwrap_or_default(), reason_data(&class), cause.or(third).unwrap_or_default())
        }
    })
});

fn reason_data(class: &str) -> Value {
    Value::map([(Value::keyword("reason"), Value::keyword(class))])
}

/// An exception.
fn exception(message: Value, data: Value, cause: Value) -> Value {
    let parts = [("message", message), ("data", data), ("cause", cause)];
    let present = parts.into_iter().filter(|(key, value)| *key != "cause" || !value.is_nil());
    present.map(|(key, value)| (Value::keyword(key), value)).collect::<Map>().into()
}

/// A part of an exception; nil for any other value.
fn part(exception: &Value, name: &str) -> Value {
    exception.lookup(name).cloned().unwrap_or_default()
}

/// Throws an exception of a class of Java.
pub(super) fn raise_class(class: &str, message: String) -> EvalResult {
    raise(exception(Value::from(message), reason_data(class), Value::Nil))
}

fn raise(exception: Value) -> EvalResult {
    Err(Box::new(Halt::Throw(Thrown { exception, span: None })))
}

fn ex_info(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if !matches!(args[1], Value::Map(_) | Value::Nil) {
        return Err(wrong(2, "a map", &args[1]));
    }
    let mut args = args.iter_mut().map(std::mem::take);
    let (message, data) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
    Ok(exception(message, data, args.next().unwrap_or_default()))
}

fn throw(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let value = std::mem::take(&mut args[0]);
    let is_exception = value.lookup("message").is_some();
    raise(match value {
        value if is_exception => value,
        text @ Value::Str(_) => exception(text, Value::Nil, Value::Nil),
        other => exception(Value::from(other.brief(BRIEF)), other, Value::Nil),
    })
}

fn attempt(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (body, rest) = args.split_at(1);
    let (finally, handlers) = rest.split_at(1);
    let recovery = machine.begin_attempt();
    let mut result = machine.apply(&body[0], &mut []);
    if !handlers.is_empty() {
        result = match result {
            Err(halt) if is_catchable(&halt) => {
                machine.recover(recovery);
                let (class, caught) = caught(*halt);
                machine.apply(handler(handlers, &class), &mut [caught])
            }
            other => other,
        };
    }
    machine.end_attempt();
    let finishes = result.as_ref().map_or_else(|halt| runs_finally(halt), |_| true);
    if !finally[0].is_nil() && finishes {
        if result.is_err() {
            machine.recover(recovery);
        }
        machine.apply(&finally[0], &mut [])?;
    }
    result
}

/// The handler of the first class that names the kind of error, otherwise the last one.
fn handler<'v>(handlers: &'v [Value], class: &str) -> &'v Value {
    let pairs = || handlers.chunks_exact(2).filter_map(|pair| Some((pair[0].as_str()?, &pair[1])));
    let fits = |name: &str| {
        let name = name.rsplit(['.', '/']).next().unwrap_or(name);
        name == class || GENERAL.contains(&name)
    };
    let found = pairs().find(|(name, _)| fits(name)).or_else(|| pairs().next_back());
    found.map_or(&Value::Nil, |(_, handler)| handler)
}

/// Classes that catch everything.
const GENERAL: &[&str] = &["Exception", "Throwable", "Error", "RuntimeException", "default", "Object"];

/// The class of an error as Clojure has it, and the exception.
fn caught(halt: Halt) -> (String, Value) {
    match halt {
        Halt::Throw(Thrown { exception, .. }) => (thrown_class(&exception), exception),
        Halt::Error(error) => {
            let class = match error.reason {
                Reason::ArithmeticError => "ArithmeticException",
                Reason::TypeError => "ClassCastException",
                Reason::ArityError | Reason::ArityMismatch => "ArityException",
                Reason::ToolError => "ExceptionInfo",
                _ => "Exception",
            };
            (class.to_owned(), of_error(&error))
        }
        Halt::Return(value) | Halt::Fail(value) => ("Exception".to_owned(), value),
    }
}

/// The class that a thrown exception was made with.
fn thrown_class(exception: &Value) -> String {
    match exception.lookup("data").and_then(|data| data.lookup("reason")) {
        Some(Value::Keyword(class)) if class.name().starts_with(|c: char| c.is_ascii_uppercase()) => {
            class.name().to_owned()
        }
        _ => "ExceptionInfo".to_owned(),
    }
}

/// An error as an exception.
fn of_error(error: &Error) -> Value {
    let mut data = vec![("reason", Value::keyword(error.reason.name()))];
    if let Some(tool) = error.op.as_ref().and_then(|op| op.strip_prefix("tool/")) {
        data.push(("tool", Value::str(tool)));
    } else if let Some(op) = &error.op {
        data.push(("op", Value::str(&**op)));
    }
    let data = Value::map(data.into_iter().map(|(key, value)| (Value::keyword(key), value)));
    let message = error.op.as_ref().map_or_else(|| error.problem.clone(), |op| format!("{op}: {}", error.problem));
    exception(Value::from(message), data, Value::Nil)
}

/// The error of a program that did not catch an exception. A caught error that is thrown again keeps its reason.
pub(crate) fn uncaught(thrown: Thrown) -> Error {
    let Thrown { exception, span } = thrown;
    let message = match part(&exception, "message") {
        Value::Nil => "an exception without a message".to_owned(),
        Value::Str(text) => text.to_string(),
        other => other.brief(BRIEF),
    };
    let data = part(&exception, "data");
    let reason = match data.lookup("reason") {
        Some(Value::Keyword(name)) => Reason::from_name(name.name()).filter(|reason| {
            let error = Error::new(*reason, "");
            is_catchable(&Halt::Error(error))
        }),
        _ => None,
    };
    let problem = match &data {
        Value::Nil => message,
        Value::Map(map) if map.is_empty() || reason.is_some() => message,
        data => format!("{message} {}", data.brief(BRIEF)),
    };
    let mut error = Error::new(reason.unwrap_or(Reason::RuntimeError), problem);
    if reason.is_none() {
        error = error.within("throw");
    }
    error.span = span;
    error
}
