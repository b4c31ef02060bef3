//! Tools that are PTC-Lisp programs: the arguments are `data/`, the value of the last form is the result.
//!
//! In: a program and a map. Out: a value, or the program's error. It never exceeds the time limit of the tool.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::Limits;
use ptc_core::lisp::{Input, Signal, boundary};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use super::{Failure, Invocation};
use crate::event::ErrorRecord;
use crate::program::{self, NoTools, ProgramSettings, fail_message};

/// Runs a program over `data` on a separate thread within the time limit of the call.
pub(super) async fn run(code: &str, data: Value, call: &Invocation<'_>) -> Result<Value, Failure> {
    let (code, now_ms, timeout_ms) = (code.to_owned(), call.now_ms, call.tool.call_limit_ms());
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let task = tokio::task::spawn_blocking(move || {
        let limits = Limits::default();
        let input = Input { context: &data, ..Input::new(&code, &limits) };
        let compile_timeout_ms = COMPILE_TIMEOUT.default.unwrap_or(COMPILE_TIMEOUT.max);
        let settings = ProgramSettings { tools: &NoTools, timeout_ms, compile_timeout_ms, now_ms, stop: &seen };
        program::run(&input, &settings).result
    });
    let cancelled = call.cancel.cancelled();
    tokio::pin!(cancelled, task);
    let result = tokio::select! {
        result = &mut task => result,
        () = &mut cancelled => {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            return Err(Failure::Cancelled);
        }
    };
    match result {
        Ok(Ok((Signal::Value | Signal::Return, value))) => Ok(boundary::externalize(&value).0),
        Ok(Ok((Signal::Fail, value))) => Err(Failure::from_message(fail_message(&value))),
        Ok(Err(error)) => Err(Failure::from_message(format!("{}: {}", error.reason, error.message()))),
        Err(error) => Err(Failure::Error(ErrorRecord::new(Reason::InternalError, error.to_string()))),
    }
}
