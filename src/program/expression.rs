//! PTC-Lisp expressions in agent files: refs see `result`, expectations of cases also what led to it.
//!
//! In: the text of an expression, and the values of its names. Out: its value, or an error. Expressions have no tools and no clock.

use ptc_core::lisp::Limits;
use ptc_core::lisp::Names as ProgramNames;
use ptc_core::lisp::{Budget, Dialect, Error, Input, Memory, Outcome, Signal, analyse, boundary, read, survey};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use super::Job;

/// The only name of expressions about an answer alone.
const RESULT: &str = "result";

/// The names that an expression sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names<'n>(&'n [&'n str]);

/// Expressions about an answer: they see `result`.
pub const OF_RESULT: Names<'static> = Names(&[RESULT]);

/// Expressions about a run: its answer and what led to it.
pub const OF_RUN: Names<'static> = Names(&[RESULT, "calls", "turns", "usage", "prints", "context"]);

impl Names<'_> {
    /// Text before the expression in the executed program.
    fn opening(self) -> String {
        let bindings: Vec<String> = self.0.iter().map(|name| format!("{name} data/{name}")).collect();
        format!("(let [{}]\n", bindings.join(" "))
    }

    /// The line end prevents a comment in the expression from hiding the bracket.
    fn program(self, expression: &str) -> String {
        format!("{}{expression}\n)", self.opening())
    }

    /// The names for a message.
    fn listed(self) -> String {
        match self.0 {
            [only] => format!("`{only}`, the answer, and nothing else"),
            [first, rest @ ..] => format!("`{first}`, the answer, and `{}`", rest.join("`, `")),
            [] => "nothing".to_owned(),
        }
    }

    /// Checks an expression without running it; positions are bytes of its text.
    ///
    /// Errors: those of reading and analysing a program, and `parse_error` for a blank text.
    pub fn check(self, expression: &str) -> Result<(), Error> {
        // Read it alone first: its brackets must be balanced without the added ones.
        if read(expression, Budget::default())?.is_empty() {
            return Err(Error::new(Reason::ParseError, "the expression is empty"));
        }
        let forms = read(&self.program(expression), Budget::default())?;
        let names =
            ProgramNames { memory: &Memory::new(), tools: &[], context: &Value::Nil, dialect: Dialect::default() };
        analyse(&forms, &names).map_err(|error| self.inside(error, expression))?;
        self.check_data(expression).map_err(|error| self.inside(error, expression))
    }

    /// Rejects other data and tools. In programs missing data is nil, but here it is a mistake.
    fn check_data(self, expression: &str) -> Result<(), Error> {
        let (source, limits) = (self.program(expression), Limits::default());
        let found = survey(&Input::new(&source, &limits));
        let data = found.data.iter().filter(|(key, _)| !self.0.iter().any(|name| **key == **name));
        let data = data.map(|(key, span)| (format!("data/{key}"), *span));
        let calls = found.calls.iter().map(|call| (format!("tool/{}", call.tool), call.span));
        let Some((name, span)) = data.chain(calls).min_by_key(|(_, span)| span.start) else { return Ok(()) };
        let problem = format!("{name} does not exist here: an expression sees {}", self.listed());
        let mut error = Error::new(Reason::UnboundVar, problem);
        error.span = Some(span);
        Err(error)
    }

    /// Returns the value of an expression for these values of the names, with keywords as strings. Blocks; time and memory are limited as
    /// for any program.
    pub fn evaluate(self, expression: &str, data: &Value) -> Result<Value, Error> {
        let job = Job { context: data.clone(), ..Job::alone(self.program(expression)) };
        self.value(expression, job.evaluate())
    }

    /// Returns the value of the program of an expression.
    fn value(self, expression: &str, outcome: Outcome) -> Result<Value, Error> {
        match outcome.result {
            Ok((Signal::Value | Signal::Return, value)) => Ok(boundary::externalize(&value).0),
            Ok((Signal::Fail, value)) => {
                Err(Error::new(Reason::Failed, format!("it called fail: {}", super::fail_message(&value))))
            }
            Err(error) => Err(self.inside(error, expression)),
        }
    }

    /// Makes the position of an error relative to the expression.
    fn inside(self, mut error: Error, expression: &str) -> Error {
        if let Some(span) = &mut error.span {
            let place = |at: usize| at.saturating_sub(self.opening().len()).min(expression.len());
            (span.start, span.end) = (place(span.start), place(span.end));
        }
        error
    }
}

/// Checks an expression over `result` without running it.
pub fn check(expression: &str) -> Result<(), Error> {
    OF_RESULT.check(expression)
}

/// Returns the value of an expression over `result` for this answer.
pub fn evaluate(expression: &str, result: &Value) -> Result<Value, Error> {
    value(expression, job(expression, result).evaluate())
}

/// Creates the program that evaluates an expression for this answer.
pub fn job(expression: &str, result: &Value) -> Job {
    let context = Value::map(vec![(Value::str(RESULT), result.clone())]);
    Job { context, ..Job::alone(OF_RESULT.program(expression)) }
}

/// Returns the value of such a program.
pub fn value(expression: &str, outcome: Outcome) -> Result<Value, Error> {
    OF_RESULT.value(expression, outcome)
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
    fn an_expression_about_a_run_sees_more_than_the_answer() {
        let data = parsed(r#"{"result":1,"calls":[{"name":"a"}],"turns":[],"usage":{},"prints":[],"context":{}}"#);
        let text = "(= [result (count calls)] [1 1])";
        assert_eq!(OF_RUN.evaluate(text, &data).unwrap(), Value::Bool(true));
        assert!(OF_RUN.check(text).is_ok() && check(text).is_err());
        assert!(OF_RUN.check("(count data/text)").unwrap_err().message().contains("`calls`"));
    }

    #[test]
    fn errors_have_their_position_in_the_expression() {
        assert!(check("(= (:a result) 1)").is_ok());
        assert!(check("(= data/result result)").is_ok());
        let error = check("(= (:a result) data/text)").unwrap_err();
        assert_eq!((error.reason, error.span.map(|span| span.start)), (Reason::UnboundVar, Some(15)));
        assert!(error.message().contains("data/text does not exist here"), "{}", error.message());
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
