//! Cases: inputs of an agent with what is expected of its answer.
//!
//! In: the key `cases` of an agent file, Steps. Out: [`Case`]s, or what is wrong with them and where; a [`Verdict`] on each Step.
//! Judging is the same for `test`, the matrix and screens, and it runs nothing but the predicate.

use ptc_core::reasons::{REASONS, Reason};
use ptc_core::text::{LineCol, did_you_mean};
use ptc_core::value::Json;
use ptc_core::value::json::{self, Difference};

use super::{Agent, Diagnostic, RawSchema, Step};
use crate::config::document::{self, Entry, Problem};
use crate::event::ErrorRecord;
use crate::program::expression;

/// Names of the explicit forms of `expect`.
const FORMS: [&str; 5] = ["value", "json", "predicate", "schema", "fail"];
/// Keys of a case.
const KEYS: [&str; 5] = ["name", "context", "expect", "cassette", "lenient"];
/// Failures that are no result of the agent: it could not be tried.
const UNTRIED: [Reason; 16] = [
    Reason::LlmError,
    Reason::LlmRequired,
    Reason::LlmNotFound,
    Reason::LlmRegistryRequired,
    Reason::InvalidAgent,
    Reason::InvalidContext,
    Reason::TemplateError,
    Reason::SignatureError,
    Reason::SessionUnreadable,
    Reason::ChainedFailure,
    Reason::ChainError,
    Reason::Cancelled,
    Reason::Suspended,
    Reason::RecorderFailed,
    Reason::WriteFailed,
    Reason::InternalError,
];

/// One case; by default one that expects only an answer.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Its name, the only one of the agent.
    pub name: String,
    /// Its inputs, a JSON object; the agent's own context when absent.
    pub context: Option<Json>,
    /// What is expected; when absent, only that the run returns an answer that fits the signature.
    pub expect: Option<Expect>,
    /// A recorded session next to the agent file that is replayed instead of asking a model.
    pub cassette: Option<String>,
    /// Of a cassette: what is sent may differ from the recording, what comes of the replies may not.
    pub lenient: bool,
}

/// What is expected of an answer.
#[derive(Debug, Clone)]
pub enum Expect {
    /// Exactly this, numbers and objects compared as [`json::differences`] does.
    Value(Json),
    /// A PTC-Lisp expression over `result` that is neither false nor nil.
    Predicate(String),
    /// It fits this JSON Schema.
    Schema(RawSchema),
    /// The run fails with this reason.
    Fail(String),
}

/// What a Step is worth for a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    Pass,
    /// Otherwise; at least one mismatch.
    Fail(Vec<Mismatch>),
    /// Undecided: the run could not be tried, or the predicate failed.
    Error(String),
}

/// One thing that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the answer, such as `items.2.price`; empty for all of it.
    pub path: String,
    /// What was expected and what was there.
    pub why: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() { f.write_str(&self.why) } else { write!(f, "{}: {}", self.path, self.why) }
    }
}

impl Verdict {
    /// `pass`, `fail`, `error`
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::Error(_) => "error",
        }
    }

    /// Is it as expected?
    pub fn is_pass(&self) -> bool {
        *self == Self::Pass
    }

    /// Why not, a line for each mismatch; empty when it passed.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Pass => Vec::new(),
            Self::Fail(found) => found.iter().map(ToString::to_string).collect(),
            Self::Error(why) => vec![why.clone()],
        }
    }

    fn fail(why: impl Into<String>) -> Self {
        Self::Fail(vec![Mismatch { path: String::new(), why: why.into() }])
    }
}

impl Agent {
    /// The cases of this agent, in the order of its file. Errors: the first that cannot be used.
    pub fn cases(&self) -> Result<Vec<Case>, Diagnostic> {
        match self.option("cases") {
            None => Ok(Vec::new()),
            Some(json) => {
                let entry = Entry { path: "cases".to_owned(), key: "cases", key_span: json.span, json };
                read(&entry).map_err(|problem| Diagnostic { span: None, ..problem.into() })
            }
        }
    }
}

/// The cases of the key `cases`: a list of tables, or its JSON text.
pub(super) fn read(entry: &Entry<'_>) -> Result<Vec<Case>, Problem> {
    let parsed = entry.json.as_str().and_then(|text| json::parse(text).ok());
    let items = parsed.as_ref().unwrap_or(entry.json).items().ok_or_else(|| entry.expected("a list of tables"))?;
    let mut cases: Vec<Case> = Vec::new();
    for (place, json) in items.iter().enumerate() {
        let entry = Entry { path: format!("cases.{place}"), key: "cases", key_span: json.span, json };
        let case = case(&entry)?;
        if cases.iter().any(|other| other.name == case.name) {
            return Err(entry.problem(format!("two cases have the name `{}`; rename one", case.name)));
        }
        cases.push(case);
    }
    Ok(cases)
}

fn case(entry: &Entry<'_>) -> Result<Case, Problem> {
    let mut case = Case::default();
    for entry in entry.entries()? {
        match entry.key {
            "name" => case.name = entry.non_blank_text()?,
            "context" => case.context = Some(context(&entry)?),
            "expect" => case.expect = Some(expect(&entry)?),
            "cassette" => case.cassette = Some(entry.non_blank_text()?),
            "lenient" => case.lenient = entry.flag()?,
            _ => return Err(entry.unknown(&KEYS)),
        }
    }
    if case.name.is_empty() {
        return Err(entry.missing("name"));
    }
    if case.context.is_some() && case.cassette.is_some() {
        let message = format!("the case `{}` has a cassette, which holds its context; remove `context`", case.name);
        return Err(entry.problem(message));
    }
    if case.lenient && case.cassette.is_none() {
        let message = format!("the case `{}` has no cassette; remove `lenient`, which is about one", case.name);
        return Err(entry.problem(message));
    }
    Ok(case)
}

/// A table, or JSON text for what TOML cannot express.
fn context(entry: &Entry<'_>) -> Result<Json, Problem> {
    let json = match entry.json.as_str() {
        Some(text) => json_text(entry, text)?,
        None => entry.json.clone(),
    };
    if json.members().is_some() { Ok(json) } else { Err(entry.expected("a table, or JSON text of an object")) }
}

fn json_text(entry: &Entry<'_>, text: &str) -> Result<Json, Problem> {
    json::parse(text).map_err(|error| {
        entry.problem(format!("`{}` is not JSON at {}: {}", entry.path, error.line_col(text), error.message))
    })
}

/// Text in round brackets is a predicate, a table with one key of [`FORMS`] names its kind; everything else is the exact value.
fn expect(entry: &Entry<'_>) -> Result<Expect, Problem> {
    if let Some(text) = entry.json.as_str() {
        return if text.trim_start().starts_with('(') {
            predicate(entry, text)
        } else {
            Ok(Expect::Value(bare(entry)))
        };
    }
    let entries = if entry.json.members().is_some() { entry.entries()? } else { Vec::new() };
    if let [only] = entries.as_slice()
        && FORMS.contains(&only.key)
    {
        return match only.key {
            "value" => Ok(Expect::Value(bare(only))),
            "json" => json_text(only, &only.text()?).map(Expect::Value),
            "predicate" => predicate(only, &only.text()?),
            "schema" => {
                let schema = match only.json.as_str() {
                    Some(text) => json_text(only, text)?,
                    None => only.json.clone(),
                };
                RawSchema::compile(&schema).map(Expect::Schema).map_err(|message| only.problem(message))
            }
            _ => reason(only).map(Expect::Fail),
        };
    }
    if entries.len() > 1 && entries.iter().all(|entry| FORMS.contains(&entry.key)) {
        let named: Vec<_> = entries.iter().map(|entry| entry.key).collect();
        let message = format!(
            "`{}` has {}: write one of them, or expect = {{ value = … }} where this table is the answer",
            entry.path,
            named.join(" and ")
        );
        return Err(entry.problem(message));
    }
    if looks_like_schema(entry.json) {
        let message = format!(
            "`{}` reads as a JSON Schema and as an exact value; write expect = {{ schema = … }} or expect = {{ value = … }}",
            entry.path
        );
        return Err(entry.problem(message));
    }
    Ok(Expect::Value(bare(entry)))
}

/// A reason that runs fail with.
fn reason(entry: &Entry<'_>) -> Result<String, Problem> {
    let name = entry.non_blank_text()?;
    if Reason::from_name(&name).is_some() {
        return Ok(name);
    }
    let near = did_you_mean(&name, REASONS.iter().map(|row| row.name));
    Err(entry
        .problem(format!("`{}`: no run fails with {name:?}{near} (docs/reference.md has all reasons; (fail …) in a program gives `failed`)", entry.path)))
}

fn bare(entry: &Entry<'_>) -> Json {
    entry.json.clone()
}

fn predicate(entry: &Entry<'_>, text: &str) -> Result<Expect, Problem> {
    expression::check(text).map_err(|error| {
        let place = error.span.map(|span| format!(" at {}", LineCol::of(text, span.start))).unwrap_or_default();
        entry.problem(format!("`{}` is no predicate{place}: {}", entry.path, error.message()))
    })?;
    Ok(Expect::Predicate(text.to_owned()))
}

/// A table whose `type` is one of JSON Schema's, with no key that a schema would not have.
fn looks_like_schema(json: &Json) -> bool {
    const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
    const WORDS: [&str; 12] = [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "minimum",
        "maximum",
        "pattern",
        "additionalProperties",
        "minItems",
        "maxItems",
    ];
    let typed = json.get("type").and_then(Json::as_str).is_some_and(|word| TYPES.contains(&word));
    let members = json.members().unwrap_or_default();
    json.get("$schema").is_some() || (typed && members.iter().all(|member| WORDS.contains(&member.key.as_str())))
}

impl Case {
    /// The inputs of a run of this case.
    pub fn inputs(&self, agent: &Agent) -> Json {
        self.context.clone().unwrap_or_else(|| agent.context.clone())
    }

    /// Is the Step of a run what the case expects? A predicate is run here and blocks until it has ended.
    pub fn judge(&self, step: &Step) -> Verdict {
        if let Some(at) = &step.waits_for {
            return Verdict::Error(format!("the run waits for the answer to {at}; cases cannot ask a person"));
        }
        match (&step.fail, &self.expect) {
            (Some(fail), _) if Self::is_untried(fail) && !self.expects_fail(fail) => {
                Verdict::Error(format!("the run could not be tried: {}", failure_text(fail)))
            }
            (Some(fail), Some(Expect::Fail(_))) if self.expects_fail(fail) => Verdict::Pass,
            (Some(fail), Some(Expect::Fail(reason))) => {
                Verdict::fail(format!("expected the failure {reason}, the run failed with {}", failure_text(fail)))
            }
            (Some(fail), _) => Verdict::fail(format!("the run failed with {}", failure_text(fail))),
            (None, expect) => judge(expect.as_ref(), &step.answer.clone().unwrap_or_default()),
        }
    }

    fn expects_fail(&self, fail: &ErrorRecord) -> bool {
        matches!(&self.expect, Some(Expect::Fail(reason)) if *reason == fail.reason)
    }
}

fn failure_text(fail: &ErrorRecord) -> String {
    format!("{}: {}", fail.reason, fail.message)
}

fn judge(expect: Option<&Expect>, answer: &Json) -> Verdict {
    let all_of = |found: Vec<Mismatch>| if found.is_empty() { Verdict::Pass } else { Verdict::Fail(found) };
    match expect {
        None => Verdict::Pass,
        Some(Expect::Value(wanted)) => all_of(json::differences(wanted, answer).iter().map(mismatch).collect()),
        Some(Expect::Schema(schema)) => {
            let issue = |issue: &ptc_core::signature::Issue| Mismatch {
                path: issue.path.to_string(),
                why: issue.message.clone(),
            };
            all_of(schema.check(answer).iter().map(issue).collect())
        }
        Some(Expect::Fail(reason)) => {
            Verdict::fail(format!("expected the failure {reason}, the run returned {}", shown(answer)))
        }
        Some(Expect::Predicate(text)) => match expression::evaluate(text, &answer.to_value()) {
            Ok(value) if value.is_truthy() => Verdict::Pass,
            Ok(value) => Verdict::fail(format!("the predicate is {value} for {}", shown(answer))),
            Err(error) => Verdict::Error(format!("the predicate broke off for {}: {}", shown(answer), error.message())),
        },
    }
}

fn mismatch(found: &Difference) -> Mismatch {
    let why = match (&found.left, &found.right) {
        (Some(wanted), Some(got)) => format!("expected {}, got {}", shown(wanted), shown(got)),
        (Some(wanted), None) => format!("expected {}, got nothing", shown(wanted)),
        (None, Some(got)) => format!("expected nothing, got {}", shown(got)),
        (None, None) => String::new(),
    };
    Mismatch { path: found.path.clone(), why }
}

impl Agent {
    /// The same agent with one more case, a table as agent files hold it.
    #[must_use]
    pub fn with_case(self, case: Json) -> Self {
        let known = self.option("cases");
        // The key may hold JSON text.
        let parsed = known.and_then(Json::as_str).and_then(|text| json::parse(text).ok());
        let mut all = parsed.as_ref().or(known).and_then(Json::items).map(<[Json]>::to_vec).unwrap_or_default();
        all.push(case);
        self.with_option("cases", Json::list(all))
    }
}

impl Case {
    /// The `context` of a case for these inputs: JSON text when TOML cannot express them.
    pub fn write_context(inputs: &Json) -> Json {
        if document::to_inline(inputs).is_some() { inputs.clone() } else { Json::str(inputs.to_text()) }
    }

    /// Is this failure no result of the agent, because it could not be tried?
    pub fn is_untried(fail: &ErrorRecord) -> bool {
        Reason::from_name(&fail.reason).is_some_and(|reason| UNTRIED.contains(&reason))
    }
}

impl Expect {
    /// What a case has under `expect` when exactly this answer is expected: as short as it can be read again.
    pub fn write_value(answer: &Json) -> Json {
        if document::to_inline(answer).is_none() {
            return Json::empty().with("json", Json::str(answer.to_text()));
        }
        let entry = Entry { path: "expect".to_owned(), ..Entry::root(answer) };
        match expect(&entry) {
            Ok(Self::Value(read)) if read == *answer => answer.clone(),
            _ => Json::empty().with("value", answer.clone()),
        }
    }

    /// The same for a failure with this reason.
    pub fn write_fail(reason: &str) -> Json {
        Json::empty().with("fail", Json::str(reason))
    }
}

/// Characters of a value in a message.
const SHOWN: usize = 200;

/// A value on one line.
fn shown(json: &Json) -> String {
    let text = json.to_text();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
