//! The reason of an error that leaves a function called by a builtin: `(map f coll)` fails because `f` does.
//!
//! In: the error and the builtin that called the function. Out: the same error with the reason it has for the caller.
//! Only the reason changes; message, hint, function and span always describe the original error. The reasons are those
//! of the reference implementation.

use super::builtin::{Arity, Builtin};
use crate::lisp::builtins::{CALLED_NAME, CAPTURE_NAME};
use crate::lisp::error::{Cause, Stage};
use crate::lisp::{Error, Halt};
use crate::reasons::Reason;

/// The kind of builtin that called the function, which decides how causes map to reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerKind {
    /// It has one arity: `filter`, `group-by`.
    OneArity,
    /// It has several arities: `map`, `reduce`, `sort`.
    SeveralArities,
    /// It passes further arguments to the function: `update`.
    PassesArguments,
    /// It takes any number of arguments: `max-by`, `merge-with`; also functions made of others.
    AnyArity,
}

impl CallerKind {
    fn of(builtin: &Builtin) -> Self {
        let arity = builtin.reference_arity();
        match (builtin.name, arity.max) {
            // They take more lists here than in the reference.
            ("map" | "mapv", _) => Self::SeveralArities,
            ("update" | "update-in", _) => Self::PassesArguments,
            (_, None) => Self::AnyArity,
            _ if arity.is_exact() => Self::OneArity,
            _ => Self::SeveralArities,
        }
    }

    /// Sets the reason of the error, if the cause has one for this kind of builtin.
    fn classify(self, error: &mut Error) {
        let Stage::Unclassified(cause) = error.stage else { return };
        error.reason = match (self, cause) {
            (_, Cause::Kind) | (Self::OneArity | Self::SeveralArities, Cause::Body) => Reason::TypeError,
            (Self::OneArity | Self::PassesArguments, Cause::Count) => Reason::ArityError,
            (Self::OneArity, Cause::Number) => Reason::ArithmeticError,
            _ => return,
        };
        error.stage = Stage::Settled;
    }
}

/// Completes the error of a builtin that the program called: its own, or that of a function it called. Adds the
/// builtin's name, unless an inner function is named.
#[cold]
pub(super) fn program_error(mut halt: Box<Halt>, builtin: &Builtin) -> Box<Halt> {
    match &mut *halt {
        // A function called with a list of arguments is treated as if the program had called it.
        Halt::Error(_) if matches!(builtin.name, "apply" | CALLED_NAME) => {}
        // The body of `with-out-str` is a part of the program's text.
        Halt::Error(_) if builtin.name == CAPTURE_NAME => return halt,
        Halt::Error(error) if error.op.is_none() && error.stage == Stage::Raised => {
            if error.reason == Reason::RuntimeError {
                unclassify(error, builtin.name, builtin.reference_arity());
            }
        }
        Halt::Error(error) => {
            unclassify(error, builtin.name, builtin.reference_arity());
            CallerKind::of(builtin).classify(error);
        }
        Halt::Return(_) | Halt::Fail(_) | Halt::Throw(_) => {}
    }
    within(halt, builtin.name)
}

/// Completes the error of a builtin that another one called, or of a function that such a builtin made.
#[cold]
pub(super) fn nested_error(mut halt: Box<Halt>, name: &'static str, arity: Arity) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        unclassify(error, name, arity);
    }
    within(halt, name)
}

/// Adds the name of the failing function, unless there is one.
#[cold]
fn within(mut halt: Box<Halt>, name: &'static str) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        error.op.get_or_insert(name.into());
    }
    halt
}

/// Completes the error of a function made by this builtin and called by the program.
#[cold]
pub(super) fn made_function_error(mut halt: Box<Halt>, builtin: &'static str) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt
        && builtin != "juxt"
    {
        CallerKind::AnyArity.classify(error);
    }
    halt
}

/// Marks the error as unclassified, so that the calling builtin determines its reason; without one it is a
/// `runtime_error` of this builtin.
fn unclassify(error: &mut Error, name: &str, arity: Arity) {
    let cause = match (error.stage, error.reason) {
        (Stage::Unclassified(_), _) => return,
        // Of a tool that was called as a function.
        (Stage::Raised, Reason::InvalidToolArgs) => {
            error.stage = Stage::Unclassified(Cause::Other);
            return;
        }
        (_, reason) if is_independent_of_caller(reason) => return,
        (Stage::Settled, _) => Cause::Body,
        (Stage::Raised, Reason::TypeError) => Cause::Kind,
        (Stage::Raised, Reason::ArithmeticError) => Cause::Number,
        (Stage::Raised, Reason::ArityMismatch) => Cause::Count,
        (Stage::Raised, Reason::ArityError) if arity.is_exact() => Cause::Count,
        (Stage::Raised, Reason::RuntimeError) if name == "conj" => Cause::Kind,
        (Stage::Raised, _) => Cause::Other,
    };
    error.stage = Stage::Unclassified(cause);
    error.reason = Reason::RuntimeError;
}

/// True if the reason does not depend on the caller: limits of the whole program, tools, interruption.
fn is_independent_of_caller(reason: Reason) -> bool {
    !reason.is_program_fault() && reason != Reason::LoopLimitExceeded
}
