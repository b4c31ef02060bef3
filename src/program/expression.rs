//! PTC-Lisp expressions over `result`: what agent files say about an answer (refs, expectations of cases).
//!
//! In: the expression's text, the answer. Out: its value, or what is wrong. They call no tools and see no clock.

use ptc_core::lisp::Limits;
use ptc_core::lisp::{Budget, Error, Input, Memory, Names, Outcome, Signal, analyse, boundary, read, survey};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use super::Job;

/// What stands before the expression in the program that is run.
const OPENING: &str = "(let [result data/result]\n";
/// The only key of its data.
const RESULT: &str = "result";

/// What is wrong with an expression before it is run; places are bytes of its text.
///
/// Errors: those of reading and analysing a program, `parse_error` for a blank text.
pub fn check(expression: &str) -> Result<(), Error> {
    // Read alone first: brackets must be in balance without those around it.
    if read(expression, Budget::default())?.is_empty() {
        return Err(Error::new(Reason::ParseError, "the expression is empty"));
    }
    let forms = read(&program(expression), Budget::default())?;
    let names = Names { memory: &Memory::new(), tools: &[] };
    analyse(&forms, &names).map_err(|error| inside(error, expression))?;
    nothing_else(expression).map_err(|error| inside(error, expression))
}

/// Names the data and the tools that an expression speaks of as if they were there. A program's missing data is nil: here that is a slip.
fn nothing_else(expression: &str) -> Result<(), Error> {
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

/// The value of an expression for this answer, keywords as their names. It blocks until the program has ended; its time and
/// memory are limited like those of any program.
pub fn evaluate(expression: &str, result: &Value) -> Result<Value, Error> {
    value(expression, job(expression, result).evaluate())
}

/// The program that evaluates an expression for this answer.
pub fn job(expression: &str, result: &Value) -> Job {
    let context = Value::map(vec![(Value::str(RESULT), result.clone())]);
    Job { context, ..Job::alone(program(expression)) }
}

/// The value that this program gave.
pub fn value(expression: &str, outcome: Outcome) -> Result<Value, Error> {
    match outcome.result {
        Ok((Signal::Value | Signal::Return, value)) => Ok(boundary::externalize(&value).0),
        Ok((Signal::Fail, value)) => Err(Error::new(Reason::Failed, format!("it called fail with {value}"))),
        Err(error) => Err(inside(error, expression)),
    }
}

/// The line end keeps a comment behind the expression from hiding the bracket.
fn program(expression: &str) -> String {
    format!("{OPENING}{expression}\n)")
}

/// The error with its place counted from the start of the expression.
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
    fn an_expression_sees_the_result() {
        assert_eq!(evaluate("(count result)", &parsed("[1,2,3]")).unwrap(), Value::Int(3));
        assert_eq!(evaluate("(:a result) ; the part", &parsed(r#"{"a":7}"#)).unwrap(), Value::Int(7));
        assert_eq!(evaluate("(/ 1 0)", &parsed("1")).unwrap_err().reason, Reason::ArithmeticError);
        assert_eq!(evaluate("(tool/x {})", &parsed("1")).unwrap_err().reason, Reason::UnknownTool);
        assert!(evaluate("(fail \"no\")", &parsed("1")).unwrap_err().problem.contains("no"));
    }

    #[test]
    fn what_is_wrong_before_it_is_run_has_its_place_in_the_expression() {
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
