//! Exceptions: `try`, `throw`, `ex-info` and its parts.
//!
//! An exception is a map `{:message text :data map}`, with `:cause` where there is one, so that it can be printed,
//! returned and stored. Errors of the program and of tools are caught as such maps, with `:reason` in their data.

use std::sync::OnceLock;

use super::{Arity, Builtin, Clojure, Cost};
use crate::heap::uncounted;
use crate::lisp::machine::{Machine, is_catchable};
use crate::lisp::{Error, EvalResult, Halt, Thrown, wrong};
use crate::reasons::Reason;
use crate::value::{Field, Keyword, Map, Value};

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
    Builtin::new("ex-data", Arity::exactly(1), |_, args| Ok(part(&keys().data, &args[0])))
        .doc(&["(ex-data e)"], "The data of an exception. For an error it has `:reason`, for a tool also `:tool`.")
        .examples(&[("(try (/ 1 0) (catch Exception e (:reason (ex-data e))))", ":arithmetic_error")])
        .cost(Cost::Constant)
        .current(),
    EX_CAUSE,
    EX_CAUSE.named(".getCause", &["(.getCause e)"]).clojure(Clojure::Named("java.lang.Throwable/getCause")),
];

const EX_MESSAGE: Builtin =
    Builtin::new("ex-message", Arity::exactly(1), |_, args| Ok(part(&keys().message, &args[0])))
        .doc(&["(ex-message e)"], "The message of an exception.")
        .examples(&[("(ex-message (ex-info \"no\" {}))", "\"no\"")])
        .cost(Cost::Constant)
        .current();

const EX_CAUSE: Builtin = Builtin::new("ex-cause", Arity::exactly(1), |_, args| Ok(part(&keys().cause, &args[0])))
    .doc(&["(ex-cause e)"], "The exception that caused this one, or nil.")
    .examples(&[
        ("(ex-message (ex-cause (ex-info \"b\" {} (ex-info \"a\" {}))))", "\"a\""),
        ("(ex-cause (ex-info \"b\" {}))", "nil"),
    ])
    .cost(Cost::Constant)
    .current();

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
    Value::map([(keys().reason.key(), Value::keyword(class))])
}

/// The keys of exceptions and their data.
struct Keys {
    message: Key,
    data: Key,
    cause: Key,
    reason: Key,
    op: Key,
    tool: Key,
}

/// A key, and its place in maps.
struct Key {
    word: Keyword,
    field: Field,
}

impl Key {
    fn new(name: &str) -> Self {
        let word = Keyword::intern(name);
        Self { word, field: Field::new(word) }
    }

    fn key(&self) -> Value {
        Value::Keyword(self.word)
    }

    /// The value under this key; `None` for anything but a map.
    fn of_value<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.field.of(value.as_map()?)
    }
}

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    let keys = || Keys {
        message: Key::new("message"),
        data: Key::new("data"),
        cause: Key::new("cause"),
        reason: Key::new("reason"),
        op: Key::new("op"),
        tool: Key::new("tool"),
    };
    KEYS.get_or_init(|| uncounted(keys))
}

/// An exception.
fn exception(message: Value, data: Value, cause: Value) -> Value {
    let keys = keys();
    let mut entries = Vec::with_capacity(3);
    if !cause.is_nil() {
        entries.push((keys.cause.key(), cause));
    }
    entries.extend([(keys.data.key(), data), (keys.message.key(), message)]);
    Map::from_sorted(entries).into()
}

/// The value of a part of an exception; nil for any other value.
fn part(key: &Key, exception: &Value) -> Value {
    key.of_value(exception).cloned().unwrap_or_default()
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
    let is_exception = keys().message.of_value(&value).is_some();
    raise(match value {
        value if is_exception => value,
        text @ Value::Str(_) => exception(text, Value::Nil, Value::Nil),
        other => exception(Value::from(other.brief(BRIEF)), other, Value::Nil),
    })
}

/// The class of an error as Clojure has it.
pub(crate) fn class_of(halt: &Halt) -> &'static str {
    match halt {
        Halt::Throw(Thrown { exception, .. }) => thrown_class(exception),
        Halt::Error(error) => match error.origin {
            Reason::ArithmeticError => "ArithmeticException",
            Reason::TypeError => "ClassCastException",
            Reason::ArityError | Reason::ArityMismatch => "ArityException",
            Reason::ToolError => "ExceptionInfo",
            _ => "Exception",
        },
        Halt::Return(_) | Halt::Fail(_) => "Exception",
    }
}

/// A caught error as an exception.
pub(crate) fn exception_of(halt: Halt) -> Value {
    match halt {
        Halt::Throw(Thrown { exception, .. }) => exception,
        Halt::Error(error) => of_error(error),
        Halt::Return(value) | Halt::Fail(value) => value,
    }
}

/// The class that a thrown exception was made with.
fn thrown_class(exception: &Value) -> &'static str {
    let keys = keys();
    match keys.data.of_value(exception).and_then(|data| keys.reason.of_value(data)) {
        Some(Value::Keyword(class)) if class.name().starts_with(|c: char| c.is_ascii_uppercase()) => class.name(),
        _ => "ExceptionInfo",
    }
}

/// An error as an exception.
fn of_error(error: Error) -> Value {
    let keys = keys();
    let reason = (keys.reason.key(), Value::keyword(error.reason.name()));
    let (op, problem) = (error.op.as_deref(), error.problem);
    let mut data = Vec::with_capacity(2);
    match op.map(|op| (op, op.strip_prefix("tool/"))) {
        Some((_, Some(tool))) => data.extend([reason, (keys.tool.key(), Value::str(tool))]),
        Some((op, None)) => data.extend([(keys.op.key(), Value::str(op)), reason]),
        None => data.push(reason),
    }
    let message = match op {
        Some(op) => [op, ": ", &problem].concat(),
        None => problem,
    };
    exception(Value::from(message), Map::from_sorted(data).into(), Value::Nil)
}

/// The error of a program that did not catch an exception. A caught error that is thrown again keeps its reason.
pub(crate) fn uncaught(thrown: Thrown) -> Error {
    let Thrown { exception, span } = thrown;
    let message = match part(&keys().message, &exception) {
        Value::Nil => "an exception without a message".to_owned(),
        Value::Str(text) => text.to_string(),
        other => other.brief(BRIEF),
    };
    let data = part(&keys().data, &exception);
    let reason = match keys().reason.of_value(&data) {
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
