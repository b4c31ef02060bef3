//! Post-processing of a model's answer for a tool: a program filled from the answer, and a check of its result.
//!
//! In: the answer as a value. Out: the result, or an error. `{{x}}` in the program is a value, not text: a model's
//! answer cannot become code.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use ptc_core::limits::COMPILE_TIMEOUT;
use ptc_core::lisp::Limits;
use ptc_core::lisp::{Input, Signal, boundary};
use ptc_core::reasons::Reason;
use ptc_core::template::{self, Node, Template};
use ptc_core::value::Value;

use crate::event::ErrorRecord;
use crate::program::{self, NoTools, ProgramSettings};

/// Keys of a tool, or arguments of a query, that configure it.
pub const SHAPING_KEYS: [&str; 3] = ["response_template", "json_signature", "validator"];

/// A program over the answer, and a check of its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerShaper {
    /// A program with `{{x}}` for the fields of the answer; its value is the result.
    program: Option<String>,
    /// An expression over `result`: nil and false reject it, a text is the reason.
    validator: Option<String>,
}

impl AnswerShaper {
    /// Parses `response_template` and `validator`. Fails with the invalid key and the problem.
    pub fn read(template: Option<&str>, validator: Option<&str>) -> Result<Self, (&'static str, String)> {
        let wrong = |message: String| (SHAPING_KEYS[0], message);
        let program = template.map(|text| template::parse(text).map_err(|error| wrong(error.message))).transpose()?;
        let program = program.map(|template| to_program(&template)).transpose().map_err(wrong)?;
        Ok(Self { program, validator: validator.map(str::to_owned) })
    }

    /// Returns the result for this answer.
    pub async fn apply(&self, answer: Value) -> Result<Value, ErrorRecord> {
        let result = match &self.program {
            Some(program) => evaluate(program.clone(), "answer", answer)
                .await
                .map_err(|problem| ErrorRecord::new(Reason::ToolError, format!("response_template: {problem}")))?,
            None => answer,
        };
        let Some(validator) = &self.validator else { return Ok(result) };
        let check = format!("(let [result data/result] {validator})");
        let problem = match evaluate(check, "result", result.clone()).await {
            Ok(Value::Nil | Value::Bool(false)) => format!("the answer was refused by {validator}"),
            Ok(Value::Str(text)) => text.to_string(),
            Ok(_) => return Ok(result),
            Err(problem) => problem,
        };
        Err(ErrorRecord::new(Reason::ToolError, format!("validator: {problem}")))
    }
}

/// Returns the template as a program over `data/answer`.
fn to_program(template: &Template) -> Result<String, String> {
    let (mut program, mut quotes) = (String::new(), Quotes::default());
    for node in template.nodes() {
        match node {
            Node::Text(span) => {
                let text = span.text(template.source());
                quotes.scan(text);
                program.push_str(text);
            }
            Node::Comment(_) => {}
            Node::Section(_) => return Err("has a section; write a PTC-Lisp form over the whole value".to_owned()),
            Node::Variable { path, .. } if quotes.inside => {
                return Err(format!("{{{{{path}}}}} is inside quotes; it is a value, so write it without them"));
            }
            Node::Variable { path, .. } => {
                let keys: Vec<String> =
                    path.segments().iter().map(|key| Value::str(key.as_str()).to_string()).collect();
                _ = write!(program, "(get-in data/answer [{}])", keys.join(" "));
            }
        }
    }
    Ok(program)
}

/// Tracks strings and comments in a program's text.
#[derive(Default)]
struct Quotes {
    inside: bool,
    escaped: bool,
    comment: bool,
}

impl Quotes {
    fn scan(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => self.comment = false,
                _ if self.comment => {}
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                '"' => self.inside = !self.inside,
                ';' if !self.inside => self.comment = true,
                _ => {}
            }
        }
    }
}

/// Runs a program over one value, without tools.
async fn evaluate(source: String, name: &'static str, value: Value) -> Result<Value, String> {
    let task = tokio::task::spawn_blocking(move || {
        let limits = Limits::default();
        let context = Value::map(vec![(Value::str(name), value)]);
        let input = Input { context: &context, ..Input::new(&source, &limits) };
        let most = COMPILE_TIMEOUT.default.unwrap_or(COMPILE_TIMEOUT.max);
        let stop = AtomicBool::new(false);
        let settings =
            ProgramSettings { tools: &NoTools, timeout_ms: most, compile_timeout_ms: most, now_ms: 0, stop: &stop };
        match program::run(&input, &settings).result {
            Ok((Signal::Value | Signal::Return, value)) => Ok(boundary::externalize(&value).0),
            Ok((Signal::Fail, value)) => Err(value.to_string()),
            Err(error) => Err(format!("{}: {}", error.reason, error.message())),
        }
    });
    task.await.map_err(|error| error.to_string())?
}

/// Returns the signature for the model's answer: the tool's parameters with the output type of `json_signature`. Fails
/// when it is invalid.
pub fn answer_signature(own: Option<&str>, json_signature: Option<&str>) -> Result<Option<String>, String> {
    let Some(text) = json_signature else { return Ok(own.map(str::to_owned)) };
    let wrong = |error: ptc_core::signature::SignatureError| error.to_string();
    let output = ptc_core::signature::parse(text).map_err(wrong)?.output;
    let params =
        own.and_then(|text| ptc_core::signature::parse_inputs(text).or_else(|_| ptc_core::signature::parse(text)).ok());
    let params = params.and_then(|signature| signature.params);
    Ok(Some(ptc_core::signature::Signature { params, output }.render()))
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    async fn made(template: Option<&str>, validator: Option<&str>, answer: &str) -> Result<String, String> {
        let shaper = AnswerShaper::read(template, validator).map_err(|(key, message)| format!("{key} {message}"))?;
        let made = shaper.apply(json::parse(answer).unwrap().to_value()).await;
        made.map(|value| value.to_string()).map_err(|record| record.message)
    }

    #[tokio::test]
    async fn a_program_is_filled_with_values_never_with_text() {
        let answer = r#"{"tags":["a","b"],"note":"\") (fail \"x","deep":{"n":2}}"#;
        let program = "{:count (count {{tags}}) :note {{note}} :twice (* 2 {{deep.n}})}";
        let made = made(Some(program), None, answer).await.unwrap();
        assert_eq!(made, r#"{"count" 2 "note" "\") (fail \"x" "twice" 4}"#);
    }

    #[tokio::test]
    async fn invalid_templates_are_refused() {
        for (template, problem) in
            [("\"{{a}}\"", "without them"), ("{{#a}}x{{/a}}", "has a section"), ("{{a", "response_template")]
        {
            let refused = made(Some(template), None, "{}").await.unwrap_err();
            assert!(refused.contains(problem), "{template}: {refused}");
        }
        let broken = made(Some("(foo {{a}})"), None, "{}").await.unwrap_err();
        assert!(broken.starts_with("response_template: unbound_var"), "{broken}");
    }

    #[tokio::test]
    async fn a_validator_checks_the_result() {
        assert_eq!(made(Some("{{n}}"), Some("(pos? result)"), r#"{"n":3}"#).await.as_deref(), Ok("3"));
        let refused = made(Some("{{n}}"), Some("(pos? result)"), r#"{"n":-3}"#).await.unwrap_err();
        assert_eq!(refused, "validator: the answer was refused by (pos? result)");
        let problem = made(None, Some("(if (:n result) true \"there is no n\")"), "{}").await.unwrap_err();
        assert_eq!(problem, "validator: there is no n");
    }
}
