//! What an error means that leaves a function which a builtin runs: `(map f coll)` fails because `f` does.
//!
//! In: the error and the builtin that ran the function. Out: the same error with the reason it has for the caller. Only the
//! reason changes; message, hint, function and place always tell what was wrong where. The reasons are those of the
//! reference (language contract §1, policy 3); ARCHITECTURE.md tells the rule.

use super::builtin::{Arity, Builtin};
use crate::lisp::error::{Cause, Stage};
use crate::lisp::{Error, Halt};
use crate::reasons::Reason;

/// How much a builtin makes of what a function that it runs fails with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grasp {
    /// It has one number of arguments: `filter`, `group-by`.
    Whole,
    /// It has several: `map`, `reduce`, `sort`.
    Partly,
    /// It calls the function with arguments that it was given for that: `update`.
    Counting,
    /// It takes any number: `max-by`, `merge-with`; and functions made of others.
    Hardly,
}

impl Grasp {
    fn of(builtin: &Builtin) -> Self {
        match (builtin.name, builtin.arity.max) {
            // They take more lists here than in the reference.
            ("map" | "mapv", _) => Self::Partly,
            ("update" | "update-in", _) => Self::Counting,
            (_, None) => Self::Hardly,
            _ if builtin.arity.is_exact() => Self::Whole,
            _ => Self::Partly,
        }
    }

    /// Gives the error its reason, if there is one for such a cause.
    fn grasp(self, error: &mut Error) {
        let Stage::Loose(cause) = error.stage else { return };
        error.reason = match (self, cause) {
            (_, Cause::Kind) | (Self::Whole | Self::Partly, Cause::Body) => Reason::TypeError,
            (Self::Whole | Self::Counting, Cause::Count) => Reason::ArityError,
            (Self::Whole, Cause::Number) => Reason::ArithmeticError,
            _ => return,
        };
        error.stage = Stage::Settled;
    }
}

/// A builtin that the program calls has failed: by itself, or because a function did that it ran. Names it, unless an
/// inner function has been named.
#[cold]
pub(super) fn settled(mut halt: Box<Halt>, builtin: &Builtin) -> Box<Halt> {
    match &mut *halt {
        // Functions that are called with a list of arguments are called as by the program itself.
        Halt::Error(_) if builtin.name == "apply" => {}
        Halt::Error(error) if error.op.is_none() && error.stage == Stage::Raised => {
            if error.reason == Reason::RuntimeError {
                loosen(error, builtin.name, builtin.arity);
            }
        }
        Halt::Error(error) => {
            loosen(error, builtin.name, builtin.arity);
            Grasp::of(builtin).grasp(error);
        }
        Halt::Return(_) | Halt::Fail(_) => {}
    }
    within(halt, builtin.name)
}

/// A builtin of this name that another one called has failed, or a function that it made.
#[cold]
pub(super) fn left(mut halt: Box<Halt>, name: &'static str, arity: Arity) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        loosen(error, name, arity);
    }
    within(halt, name)
}

/// Names the function that complains.
#[cold]
fn within(mut halt: Box<Halt>, name: &'static str) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        error.op.get_or_insert(name.into());
    }
    halt
}

/// A function made by this builtin that the program calls has failed.
#[cold]
pub(super) fn made(mut halt: Box<Halt>, builtin: &'static str) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt
        && builtin != "juxt"
    {
        Grasp::Hardly.grasp(error);
    }
    halt
}

/// Lets the error go on its way to a builtin that knows what to make of it; without one it is a `runtime_error`. It is
/// this builtin that fails with it now.
fn loosen(error: &mut Error, name: &str, arity: Arity) {
    let cause = match (error.stage, error.reason) {
        (Stage::Loose(_), _) => return,
        // Of a tool that was called as a function.
        (Stage::Raised, Reason::InvalidToolArgs) => {
            error.stage = Stage::Loose(Cause::Other);
            return;
        }
        (_, reason) if stays(reason) => return,
        (Stage::Settled, _) => Cause::Body,
        (Stage::Raised, Reason::TypeError) => Cause::Kind,
        (Stage::Raised, Reason::ArithmeticError) => Cause::Number,
        (Stage::Raised, Reason::ArityMismatch) => Cause::Count,
        (Stage::Raised, Reason::ArityError) if arity.is_exact() => Cause::Count,
        (Stage::Raised, Reason::RuntimeError) if name == "conj" => Cause::Kind,
        (Stage::Raised, _) => Cause::Other,
    };
    error.stage = Stage::Loose(cause);
    error.reason = Reason::RuntimeError;
}

/// Is this a reason that says the same wherever it comes from: limits of the whole program, tools, a person's wish?
fn stays(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::NotCallable
            | Reason::InvalidKeywordCall
            | Reason::InvalidMapCall
            | Reason::ArityError
            | Reason::ArityMismatch
            | Reason::TypeError
            | Reason::ArithmeticError
            | Reason::DestructureError
            | Reason::RuntimeError
            | Reason::UnsupportedMethod
            | Reason::UnboundVar
            | Reason::InvalidToolArgs
            | Reason::LoopLimitExceeded
            | Reason::PmapError
            | Reason::PcallsError
    )
}
