//! PTC-Lisp expressions over `result` in agent files: refs and expectations of cases.
//!
//! In: the text of an expression, and an answer. Out: its value, or an error. Expressions have no tools and no clock.

use ptc_core::lisp::Limits;
use ptc_core::lisp::{Budget, Dialect, Error, Input, Memory, Names, Outcome, Signal, analyse, boundary, read, survey};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use super::Job;

/// Text before the expression in the executed program.
const OPENING: &str = "(let [result data/result]\n";
/// The only key of its data.
const RESULT: &str = "result";

/// Checks an expression without running it; positions are bytes of its text.
///
/// Errors: those of reading and analysing a program, and `parse_error` for a blank text.
pub fn check(expression: &str) -> Result<(), Error> {
    // Read it alone first: its brackets must be balanced without the added ones.
    if read(expression, Budget::default())?.is_empty() {
        return Err(Error::new(Reason::ParseError, "the expression is empty"));
    }
    let forms = read(&program(expression), Budget::default())?;
    let names = Names { memory: &Memory::new(), tools: &[], dialect: Dialect::default() };
    analyse(&forms, &names).map_err(|error| inside(error, expression))?;
    check_names(expression).map_err(|error| inside(error, expression))
}

/// Rejects other data and tools. In programs missing data is nil, but here it is a mistake.
fn check_names(expression: &str) -> Result<(), Error> {
    let (source, limits) = (program(expression), Limits::default());
    let found = survey(&Input::new(&source, &limits));
    let data = found.data.iter().filter(|(key, _)| **key != *RESULT).map(|(key, span)| (format!("data/{key}"), *span));
    let calls = found.calls.iter().map(|call| (format!("tool/{}", call.tool), call.span));
    let Some((name, span)) = data.chain(calls).min_by_key(|(_, span)| span.start) else { return Ok(()) };
    let problem = format!("there is no {name} here: an expression sees `{RESULT}`, the answer, and nothing else");
    let mut error = Error::new(Reason::UnboundVar, problem);
    error.span = Some(span);
    Err(error)
}

/// Returns the value of an expression for this answer, with keywords as strings. Blocks; time and memory are limited as
/// for any program.
pub fn evaluate(expression: &str, result: &Value) -> Result<Value, Error> {
    value(expression, job(expression, result).evaluate())
}

/// Creates the program that evaluates an expression for this answer.
pub fn job(expression: &str, result: &Value) -> Job {
    let context = Value::map(vec![(Value::str(RESULT), result.clone())]);
    Job { context, ..Job::alone(program(expression)) }
}

/// Returns the value of such a program.
pub fn value(expression: &str, outcome: Outcome) -> Result<Value, Error> {
    match outcome.result {
        Ok((Signal::Value | Signal::Return, value)) => Ok(boundary::externalize(&value).0),
        Ok((Signal::Fail, value)) => Err(Error::new(Reason::Failed, format!("it called fail with {value}"))),
        Err(error) => Err(inside(error, expression)),
    }
}

/// The line end prevents a comment in the expression from hiding the bracket.
fn program(expression: &str) -> String {
    format!("{OPENING}{expression}\n)")
}

/// Makes the position of an error relative to the expression.
fn inside(mut error: Error, expression: &str) -> Error {
    if let Some(span) = &mut error.span {
        let place = |at: usize| at.saturating_sub(OPENING.len()).min(expression.len());
        (span.start, span.end) = (place(span.start), place(span.end));
    }
    error
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn parsed(text: &str) -> Value {
        json::parse(text).unwrap().to_value()
    }

    #[test]
    fn an_expression_can_use_the_result() {
        assert_eq!(evaluate("(count result)", &parsed("[1,2,3]")).unwrap(), Value::Int(3));
        assert_eq!(evaluate("(:a result) ; the part", &parsed(r#"{"a":7}"#)).unwrap(), Value::Int(7));
        assert_eq!(evaluate("(/ 1 0)", &parsed("1")).unwrap_err().reason, Reason::ArithmeticError);
        assert_eq!(evaluate("(tool/x {})", &parsed("1")).unwrap_err().reason, Reason::UnknownTool);
        assert!(evaluate("(fail \"no\")", &parsed("1")).unwrap_err().problem.contains("no"));
    }

    #[test]
    fn errors_have_their_position_in_the_expression() {
        assert!(check("(= (:a result) 1)").is_ok());
        assert!(check("(= data/result result)").is_ok());
        let error = check("(= (:a result) data/text)").unwrap_err();
        assert_eq!((error.reason, error.span.map(|span| span.start)), (Reason::UnboundVar, Some(15)));
        assert!(error.message().contains("there is no data/text here"), "{}", error.message());
        assert!(check("(tool/x {})").is_err());
        let error = check("(= 1 (cuont result))").unwrap_err();
        assert_eq!((error.reason, error.span.map(|span| span.start)), (Reason::UnboundVar, Some(6)));
        for (text, reason) in
            [("(= 1", Reason::ParseError), ("1) (= 1 1", Reason::ParseError), ("  ", Reason::ParseError)]
        {
            assert_eq!(check(text).unwrap_err().reason, reason, "{text}");
        }
    }
}
