//! Cases: a program and all its inputs as one JSON object, and its outcome as another; the format of `lisp batch` and
//! of the conformance suite.
//!
//! In: `{id, program, context?, memory?, turn_history?, journal?, tools?, opts?}`; other keys are ignored. Out: an
//! [`Input`] to run, tools with the answers of the case, and the record of the [`Outcome`](super::Outcome).

mod record;

use super::Limits;
use super::{AbsentData, Binding, Dialect, Error, Failure, Input, Memory, ToolInfo};
use crate::limits::{self, Limit};
use crate::reasons::Reason;
use crate::signature::{self, Signature};
use crate::value::json::Node;
use crate::value::{Json, Keyword, Map, Value};

/// A program and all its inputs.
#[derive(Debug, Clone)]
pub struct Case {
    /// The id of the case; null without one.
    pub id: Json,
    /// The program's text.
    pub program: String,
    /// Milliseconds of processor time; `None` = the runner's default.
    pub timeout_ms: Option<u64>,
    context: Value,
    memory: Memory,
    history: Vec<Value>,
    journal: Option<Map>,
    answers: Vec<Answer>,
    tools: Vec<ToolInfo>,
    budget: Value,
    limits: Limits,
    dialect: Dialect,
    absent_data: AbsentData,
    signature: Option<Signature>,
    float_digits: Option<u32>,
}

/// The behaviour of a tool of a case.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    /// Returns its arguments.
    Echo,
    /// Returns this value.
    Return(Value),
    /// Fails with this error.
    Fail(String),
}

impl Case {
    /// Reads a case. Errors: `invalid_config`, naming the invalid member.
    pub fn read(json: &Json) -> Result<Self, Error> {
        let Some(program) = json.get("program").and_then(Json::as_str) else {
            return Err(invalid("`program` must be a text"));
        };
        let options = object(json, "opts")?;
        let tools = object(json, "tools")?.and_then(Json::members).unwrap_or_default();
        let answers = tools.iter().map(|tool| Answer::read(&tool.key, &tool.value)).collect::<Result<_, _>>()?;
        let infos = tools.iter().map(|tool| ToolInfo { name: tool.key.clone(), ..ToolInfo::default() }).collect();
        let memory = object(json, "memory")?.and_then(Json::members).unwrap_or_default();
        let history = match json.get("turn_history").map(|history| &history.node) {
            None | Some(Node::Null) => &[],
            Some(Node::List(history)) => history.as_slice(),
            Some(_) => return Err(invalid("`turn_history` must be a list")),
        };
        let journal = object(json, "journal")?.map(Json::to_value);
        let options = Options(options);
        Ok(Self {
            id: json.get("id").cloned().unwrap_or_default(),
            program: program.to_owned(),
            timeout_ms: options.count("timeout", &limits::PROGRAM_TIMEOUT)?,
            context: object(json, "context")?.map_or_else(|| Map::default().into(), Json::to_value),
            memory: memory.iter().map(|member| (Keyword::intern(&member.key), remembered(&member.value))).collect(),
            history: history.iter().map(Json::to_value).collect(),
            journal: journal.and_then(|journal| journal.as_map().map(|map| map.iter().map(owned).collect())),
            answers,
            tools: infos,
            budget: options.get("budget").map(keyed).unwrap_or_default(),
            limits: options.limits()?,
            dialect: options.dialect()?,
            absent_data: options.absent_data(),
            signature: options.signature()?,
            float_digits: options.number("float_precision")?.and_then(|digits| u32::try_from(digits).ok()),
        })
    }

    /// The input of the program.
    pub fn input(&self) -> Input<'_> {
        Input {
            context: &self.context,
            memory: &self.memory,
            tools: &self.tools,
            history: &self.history,
            journal: self.journal.as_ref(),
            budget: &self.budget,
            dialect: self.dialect,
            absent_data: self.absent_data,
            ..Input::new(&self.program, &self.limits)
        }
    }

    /// The answer of the tool of this name.
    pub fn answer(&self, tool: &str, args: &Value) -> Result<Value, Failure> {
        let known = self.tools.iter().zip(&self.answers).find(|(info, _)| info.name == tool);
        match known {
            Some((_, Answer::Echo)) => Ok(args.clone()),
            Some((_, Answer::Return(value))) => Ok(value.clone()),
            Some((_, Answer::Fail(message))) => Err(Failure::Tool(message.clone())),
            None => Err(Failure::Tool(format!("unknown tool `{tool}`"))),
        }
    }
}

impl Answer {
    /// `"echo"`, `{"return": json}`, `{"error": "m"}` or `{"raise": "m"}`.
    fn read(name: &str, json: &Json) -> Result<Self, Error> {
        if json.as_str() == Some("echo") {
            return Ok(Self::Echo);
        }
        let text = |key: &str| json.get(key).map(|text| text.as_str().map_or_else(|| text.to_text(), str::to_owned));
        let returned = json.get("return").map(|value| Self::Return(value.to_value()));
        returned.or_else(|| text("error").or_else(|| text("raise")).map(Self::Fail)).ok_or_else(|| {
            invalid(format!(
                "the tool `{name}` must be \"echo\", {{\"return\": value}}, {{\"error\": text}} or {{\"raise\": text}}"
            ))
        })
    }
}

/// The member `opts` of a case.
#[derive(Clone, Copy)]
struct Options<'j>(Option<&'j Json>);

impl<'j> Options<'j> {
    /// The option, unless it is absent or null.
    fn get(self, name: &str) -> Option<&'j Json> {
        self.0?.get(name).filter(|json| json.node != Node::Null)
    }

    fn number(self, name: &str) -> Result<Option<u64>, Error> {
        let Some(json) = self.get(name) else { return Ok(None) };
        match json.node {
            Node::Int(number) if number >= 0 => Ok(u64::try_from(number).ok()),
            _ => Err(invalid(format!("the option `{name}` must be a whole number from 0"))),
        }
    }

    /// A number within the range of a limit.
    fn count(self, name: &str, limit: &Limit) -> Result<Option<u64>, Error> {
        let number = self.number(name)?;
        if number.is_some_and(|number| number < limit.min) {
            return Err(invalid(format!("the option `{name}` must be {} or more", limit.min)));
        }
        Ok(number.map(|number| number.min(limit.max)))
    }

    fn limits(self) -> Result<Limits, Error> {
        let mut limits = Limits::default();
        let given: &mut [(&str, &Limit, &mut u64)] = &mut [
            ("max_steps", &limits::PROGRAM_STEPS, &mut limits.steps),
            ("max_memory_bytes", &limits::PROGRAM_MEMORY, &mut limits.memory_bytes),
            ("max_depth", &limits::PROGRAM_DEPTH, &mut limits.depth),
            ("loop_limit", &limits::LOOP_JUMPS, &mut limits.loop_jumps),
            ("max_program_bytes", &limits::PROGRAM_BYTES, &mut limits.program_bytes),
            ("max_symbols", &limits::PROGRAM_SYMBOLS, &mut limits.symbols),
            ("max_print_length", &limits::PRINT_CHARS, &mut limits.print_chars),
            ("max_parallel_workers", &limits::PARALLEL_WORKERS, &mut limits.parallel_workers),
            ("pmap_timeout", &limits::PARALLEL_TIMEOUT, &mut limits.parallel_timeout_ms),
        ];
        for (name, limit, place) in given {
            **place = self.count(name, limit)?.unwrap_or(**place);
        }
        limits.tool_calls = self.count("max_tool_calls", &limits::TOOL_CALLS)?.or(limits.tool_calls);
        Ok(limits)
    }

    fn dialect(self) -> Result<Dialect, Error> {
        match self.get("dialect").map(|json| json.as_str().unwrap_or_default()) {
            None | Some("current") => Ok(Dialect::Current),
            Some("reference") => Ok(Dialect::Reference),
            Some("legacy") => Ok(Dialect::Legacy),
            Some("auto") => Ok(Dialect::Auto),
            Some(_) => Err(invalid("the option `dialect` must be \"reference\", \"current\", \"legacy\" or \"auto\"")),
        }
    }

    fn absent_data(self) -> AbsentData {
        match self.get("strict_data").map(|json| &json.node) {
            Some(Node::Bool(true)) => AbsentData::Fails,
            _ => AbsentData::Nil,
        }
    }

    fn signature(self) -> Result<Option<Signature>, Error> {
        let Some(json) = self.get("signature") else { return Ok(None) };
        let text = json.as_str().ok_or_else(|| invalid("the option `signature` must be a text"))?;
        let read = signature::parse(text).map_err(|error| invalid(error.render(text)))?;
        Ok(Some(read))
    }
}

fn invalid(problem: impl Into<String>) -> Error {
    Error::new(Reason::InvalidConfig, problem)
}

/// The member of this name, unless it is absent or null. An error if it is not an object.
fn object<'j>(json: &'j Json, name: &str) -> Result<Option<&'j Json>, Error> {
    match json.get(name) {
        Some(json) if json.members().is_some() => Ok(Some(json)),
        None => Ok(None),
        Some(json) if json.node == Node::Null => Ok(None),
        Some(_) => Err(invalid(format!("`{name}` must be an object"))),
    }
}

fn owned((key, value): (&Value, &Value)) -> (Value, Value) {
    (key.clone(), value.clone())
}

fn remembered(json: &Json) -> Binding {
    Binding { value: json.to_value(), doc: None }
}

/// The value with keywords as keys, as programs see their budget.
fn keyed(json: &Json) -> Value {
    match json.members() {
        Some(members) => Value::map(members.iter().map(|member| (Value::keyword(&member.key), keyed(&member.value)))),
        None => json.to_value(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json::parse;

    fn read(text: &str) -> Result<Case, Error> {
        Case::read(&parse(text).unwrap_or_default())
    }

    #[test]
    fn what_is_absent_or_null_is_empty() {
        for text in
            [r#"{"program":"1"}"#, r#"{"program":"1","context":null,"tools":null,"opts":{"budget":null},"x":1}"#]
        {
            let case = read(text).expect("a case");
            assert_eq!(case.input().context, &Value::from(Map::default()));
            assert!(case.input().tools.is_empty() && case.input().budget.is_nil() && case.input().journal.is_none());
        }
    }

    #[test]
    fn parts_of_the_wrong_shape_are_named() {
        for (text, word) in [
            ("{}", "program"),
            ("3", "program"),
            (r#"{"program":"1","context":[1]}"#, "context"),
            (r#"{"program":"1","turn_history":{}}"#, "turn_history"),
            (r#"{"program":"1","tools":{"t":5}}"#, "`t`"),
            (r#"{"program":"1","opts":{"timeout":"1"}}"#, "timeout"),
            (r#"{"program":"1","opts":{"signature":"{a"}}"#, "col"),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!(error.reason, Reason::InvalidConfig);
            assert!(error.problem.contains(word), "{text}: {}", error.problem);
        }
    }

    #[test]
    fn tools_return_the_answers_of_the_case() {
        let tools = r#"{"e":"echo","r":{"return":[1]},"f":{"error":"no"},"g":{"raise":"oh"}}"#;
        let case = read(&format!(r#"{{"program":"1","tools":{tools}}}"#)).expect("a case");
        let args = Value::record([("a", Value::Int(1))]);
        assert_eq!(case.answer("e", &args), Ok(args.clone()));
        assert_eq!(case.answer("r", &args), Ok(Value::list([Value::Int(1)])));
        assert_eq!(case.answer("f", &args), Err(Failure::Tool("no".to_owned())));
        assert_eq!(case.answer("g", &args), Err(Failure::Tool("oh".to_owned())));
    }
}
