//! Inputs of the `lisp` commands: a program's text, its data, one run of it.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::case::Case;
use ptc_core::lisp::{CallAddress, Outcome};
use ptc_core::value::{Json, Value};

use crate::cli::context;
use crate::cli::output::UsageError;
use crate::port::SystemClock;
use crate::program::ProgramSettings;

/// The text of a program's file, and the name to call it by.
pub(super) fn program(file: &Path) -> Result<(String, String), UsageError> {
    if file == Path::new("-") {
        let text = std::io::read_to_string(std::io::stdin())
            .map_err(|error| UsageError(format!("stdin cannot be read: {error}")))?;
        return Ok(("stdin".to_owned(), text));
    }
    let name = file.to_string_lossy().into_owned();
    // A name that begins like a program is taken as a misplaced program.
    let tip = if name.starts_with(['(', '[', '{']) { " (a program itself follows -e)" } else { "" };
    let text = context::read(&name).map_err(|error| UsageError(format!("{}{tip}", error.0)))?;
    Ok((name, text))
}

/// The data of `--context`; none without it.
pub(super) fn data(flag: Option<&str>) -> Result<Json, UsageError> {
    flag.map_or_else(|| Ok(Json::empty()), |text| context::object(text).map(|(_, json)| json))
}

/// Milliseconds that compiling may take.
pub(super) fn compile_timeout_ms() -> u64 {
    COMPILE_TIMEOUT.usual().into()
}

/// Runs the case on a thread of its own.
pub(super) fn perform(case: &Case, timeout_ms: u64) -> Outcome {
    let tools = |_: &CallAddress, tool: &str, args: &Value| case.answer(tool, args);
    let settings = ProgramSettings {
        tools: &tools,
        timeout_ms,
        compile_timeout_ms: compile_timeout_ms(),
        now_ms: SystemClock.now(),
        stop: &AtomicBool::new(false),
    };
    crate::program::run(&case.input(), &settings)
}
