//! Cases: inputs of an agent with expectations of its runs.
//!
//! In: the key `cases` of an agent file, the files that it names, Steps. Out: [`Case`]s, or what is wrong with them and where; a
//! [`Verdict`] on each Step. Judging is the same for `test`, the matrix and screens, and it runs nothing but predicates.

mod csv;
mod expect;
mod fit;
mod judge;
mod read;
mod rows;
mod rubric;
mod similarity;
mod source;
mod trajectory;
mod typed;

use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use ptc_core::value::json;

use super::{Agent, Diagnostic, InputFile};
use crate::config::document::{self, Entry};
use crate::event::ErrorRecord;

pub use expect::Expect;
pub use fit::CaseChecker;
pub use judge::Judgement;
pub(super) use read::read;
pub use rows::{CaseRows, CheckedCase};
pub use rubric::{JudgesUsage, Measure, Question, Rubric, RubricExample, Ruling, Vote};

/// Failures that are not results of the agent: it could not be tried.
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

/// The weight of a case that names none.
const WEIGHT: f64 = 1.0;

/// One case; by default one that expects only an answer.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, the only one of the agent.
    pub name: String,
    /// Its inputs, a JSON object; the agent's own context when absent.
    pub context: Option<Json>,
    /// The files that its inputs name and that its agent does not know.
    pub files: Vec<InputFile>,
    /// The expectation; when absent, only that the run returns an answer that fits the signature.
    pub expect: Option<Expect>,
    /// A recorded session next to the agent file that is replayed instead of asking a model.
    pub cassette: Option<String>,
    /// For a cassette: requests may differ from the recording; the outcome of the replies may not.
    pub lenient: bool,
    /// Words to select cases by.
    pub tags: Vec<String>,
    /// Its weight in the weighted pass rate; above 0.
    pub weight: f64,
    /// It does not run.
    pub skip: bool,
    /// It and others with this mark are the only ones that run.
    pub only: bool,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            name: String::new(),
            context: None,
            files: Vec::new(),
            expect: None,
            cassette: None,
            lenient: false,
            tags: Vec::new(),
            weight: WEIGHT,
            skip: false,
            only: false,
        }
    }
}

/// The verdict of a case on a Step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    Pass,
    /// Otherwise; at least one mismatch.
    Fail(Vec<Mismatch>),
    /// Undecided: the run could not be tried, or a predicate failed.
    Error(String),
}

/// One thing that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mismatch {
    /// The path of the expectation among several, such as `all.1.contains`; empty for the only one.
    pub expectation: String,
    /// The path in the answer, such as `items.2.price`; empty for all of it.
    pub path: String,
    /// The expected and the actual content, as text.
    pub why: String,
}

impl Mismatch {
    /// A mismatch of the whole answer.
    fn whole(why: impl Into<String>) -> Self {
        Self { why: why.into(), ..Self::default() }
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places = [&self.expectation, &self.path].into_iter().filter(|place| !place.is_empty());
        places.into_iter().try_for_each(|place| write!(f, "{place}: "))?;
        f.write_str(&self.why)
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

    /// Returns whether the case passed.
    pub fn is_pass(&self) -> bool {
        *self == Self::Pass
    }

    /// The mismatches, one line each, or the error; empty when it passed.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Pass => Vec::new(),
            Self::Fail(found) => found.iter().map(ToString::to_string).collect(),
            Self::Error(why) => vec![why.clone()],
        }
    }

    fn fail(why: impl Into<String>) -> Self {
        Self::Fail(vec![Mismatch::whole(why)])
    }
}

impl Agent {
    /// The cases that the definition itself holds, in the order of its file. Errors: the first that cannot be used.
    pub fn cases(&self) -> Result<Vec<Case>, Diagnostic> {
        match self.option("cases") {
            None => Ok(Vec::new()),
            Some(json) => {
                let entry = Entry { path: "cases".to_owned(), key: "cases", ..Entry::root(json) };
                read(&entry, &self.context).map_err(|problem| Diagnostic { span: None, ..problem.into() })
            }
        }
    }

    /// The entries of the key `cases`: tables and names of files. The key may hold JSON text.
    fn case_entries(&self) -> Vec<Json> {
        let known = self.option("cases");
        let parsed = known.and_then(Json::as_str).and_then(|text| json::parse(text).ok());
        parsed.as_ref().or(known).and_then(Json::items).map(<[Json]>::to_vec).unwrap_or_default()
    }
    /// The same agent with one more case, a table as agent files hold it.
    #[must_use]
    pub fn with_case(self, case: Json) -> Self {
        let mut all = self.case_entries();
        all.push(case);
        self.with_option("cases", Json::list(all))
    }
}

impl Case {
    /// The `context` of a case for these inputs: JSON text when TOML cannot express them.
    pub fn write_context(inputs: &Json) -> Json {
        if document::to_inline(inputs).is_some() { inputs.clone() } else { Json::str(inputs.to_text()) }
    }

    /// Returns whether a failure is not a result of the agent, because the run could not be tried.
    pub fn is_untried(fail: &ErrorRecord) -> bool {
        Reason::from_name(&fail.reason).is_some_and(|reason| UNTRIED.contains(&reason))
    }
}

impl Expect {
    /// Writes the `expect` of a case that expects exactly this answer, in the shortest form that reads back as the same.
    pub fn write_value(answer: &Json) -> Json {
        if document::to_inline(answer).is_none() {
            return Json::empty().with("json", Json::str(answer.to_text()));
        }
        let entry = Entry { path: "expect".to_owned(), ..Entry::root(answer) };
        match Expect::read(&entry) {
            Ok(Self::Value(read)) if read == *answer => answer.clone(),
            _ => Json::empty().with("value", answer.clone()),
        }
    }

    /// Writes the `expect` of a case that expects a failure with this reason.
    pub fn write_fail(reason: &str) -> Json {
        Json::empty().with("fail", Json::str(reason))
    }
}
