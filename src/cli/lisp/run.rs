//! `lisp run`: one program; what it prints and its value on stdout, errors on stderr with their place.

use ptc_core::lisp::case::Case;
use ptc_core::lisp::{Outcome, Signal};
use ptc_core::value::json::to_json;
use ptc_core::value::{Json, Value};
use serde::Serialize;

use super::face::Face;
use super::input::{data, perform, program};
use super::snippet;
use crate::cli::arguments::lisp::LispRunFlags;
use crate::cli::output::{UsageError, exit, print_json, print_line, print_note, safe_line};

/// The case that the flags describe, as [`Case::read`] reads it.
#[derive(Serialize)]
struct CaseJson<'a> {
    program: String,
    context: Json,
    opts: OptionsJson<'a>,
}

#[derive(Serialize)]
struct OptionsJson<'a> {
    dialect: &'a str,
    strict_data: bool,
}

pub(super) fn run(flags: &LispRunFlags, face: Face) -> Result<u8, UsageError> {
    let (name, text) = match (&flags.expression, &flags.file) {
        (Some(expression), _) => ("-e".to_owned(), expression.clone()),
        (None, file) => program(file.as_deref().unwrap_or_else(|| "-".as_ref()))?,
    };
    let record = CaseJson {
        program: text,
        context: data(flags.context.as_deref())?,
        opts: OptionsJson { dialect: &flags.dialect, strict_data: flags.strict_data },
    };
    let case = Case::read(&to_json(&record)).map_err(|error| UsageError(error.message()))?;
    let outcome = perform(&case, flags.timeout);
    if flags.json {
        print_json(&case.record(&outcome));
    } else {
        report(&outcome, &case.program, &name, face, |value| print_line(&face.whole(value)));
    }
    Ok(exit_code(&outcome))
}

/// Prints and value on stdout, errors and warnings on stderr; `show` prints the value.
pub(super) fn report(outcome: &Outcome, source: &str, name: &str, face: Face, show: impl FnOnce(&Value)) {
    outcome.prints.iter().for_each(|entry| print_line(&face.printed(entry)));
    outcome.warnings.iter().for_each(|warning| print_note(&format!("note: {}", safe_line(warning))));
    match &outcome.result {
        Ok((Signal::Fail, value)) => {
            print_note(&format!("{}: the program failed: {}", safe_line(name), Face::Stream.glimpse(value).0));
        }
        Ok((_, value)) => show(value),
        Err(error) => print_note(&snippet::render(error, source, name)),
    }
}

fn exit_code(outcome: &Outcome) -> u8 {
    match outcome.result {
        Ok((Signal::Value | Signal::Return, _)) => exit::OK,
        Ok((Signal::Fail, _)) | Err(_) => exit::FAILED,
    }
}
