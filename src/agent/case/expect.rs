//! Expectations: what a case expects of a run, as the key `expect` holds it.
//!
//! In: the value of `expect`. Out: an [`Expect`], or the problem with its place. The shape of the value determines its meaning: text in
//! round brackets is a predicate, a table with one key of [`FORMS`] names its form (a rubric has its options next to it), everything else
//! is the exact value.

use ptc_core::reasons::{REASONS, Reason};
use ptc_core::text::{LineCol, did_you_mean};
use ptc_core::value::Json;
use ptc_core::value::json;
use regex::Regex;

use super::read::weight;
use super::rubric::{RUBRIC, Rubric};
use super::trajectory::Trajectory;
use crate::agent::RawSchema;
use crate::config::document::{Entry, Names, Problem};
use crate::program::expression::OF_RUN;

/// Names of the explicit forms of `expect`.
pub(super) const FORMS: [&str; 16] = [
    "value",
    "json",
    "predicate",
    "schema",
    "fail",
    "contains",
    "matches",
    "similar",
    "near",
    "set",
    "at",
    "all",
    "any",
    "not",
    "run",
    RUBRIC,
];
/// The key next to `all`: the share of the weights that must hold.
const AT_LEAST: &str = "at_least";
/// The similarity that `similar` asks for without a number.
const SIMILAR: f64 = 0.8;
/// The measure by which `similar` compares two texts.
#[derive(Debug, Clone, Copy)]
enum SimilarBy {
    /// By edit distance.
    Edits,
    /// By the embeddings of a model.
    Embedding,
}

const SIMILAR_BY: Names<'_, SimilarBy> =
    Names { what: "way to compare texts", rows: &[("edits", SimilarBy::Edits), ("embedding", SimilarBy::Embedding)] };
/// Deepest nesting of expectations.
const DEEPEST: usize = 32;

/// An expectation about a run.
#[derive(Debug, Clone)]
pub enum Expect {
    /// Exactly this answer, numbers and objects compared as [`json::differences`] does.
    Value(Json),
    /// A PTC-Lisp expression over the answer and the run that is neither false nor nil.
    Predicate(String),
    /// The answer fits this JSON Schema.
    Schema(RawSchema),
    /// The run fails with this reason.
    Fail(String),
    /// A text that contains each of these texts, or a list that contains each of these items.
    Contains(Vec<Json>),
    /// A text in which this expression matches.
    Matches(Regex),
    /// A text with at least this similarity to another, from 0 to 1.
    Similar(String, f64),
    /// A number that differs from another by at most so much.
    Near(f64, Tolerance),
    /// A list with these items in any order and number.
    Set(Vec<Json>),
    /// Parts of the answer by path, each with its expectation.
    At(Vec<(String, Expect)>),
    /// Each of these; with a threshold at least this share of their weights.
    All(Vec<Part>, Option<f64>),
    /// At least one of these.
    Any(Vec<Expect>),
    /// The opposite.
    Not(Box<Expect>),
    /// Rules for the run itself: its tool calls, and bounds of its measures.
    Run(Trajectory),
    /// The answer fulfils what these words ask for, as a model judges it.
    Rubric(Box<Rubric>),
}

/// One of several expectations.
#[derive(Debug, Clone)]
pub struct Part {
    /// The expectation.
    pub expect: Expect,
    /// Its weight; above 0.
    pub weight: f64,
}

/// The allowed difference of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// By this.
    Absolute(f64),
    /// By this share of the expected number.
    Relative(f64),
}

impl Expect {
    /// Reads an expectation.
    pub(super) fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        Self::read_nested(entry, 0)
    }

    fn read_nested(entry: &Entry<'_>, depth: usize) -> Result<Self, Problem> {
        if depth > DEEPEST {
            return Err(entry.problem(format!("`{}` is nested more than {DEEPEST} deep", entry.path)));
        }
        if let Some(text) = entry.json.as_str() {
            return if text.trim_start().starts_with('(') { predicate(entry, text) } else { Ok(Self::bare(entry)) };
        }
        let entries = if entry.json.members().is_some() { entry.entries()? } else { Vec::new() };
        if entries.iter().any(|entry| entry.key == RUBRIC) {
            return Rubric::read(entry).map(|rubric| Self::Rubric(Box::new(rubric)));
        }
        match entries.as_slice() {
            [only] if FORMS.contains(&only.key) => return Self::form(only, None, depth),
            [all, share] | [share, all] if (all.key, share.key) == ("all", AT_LEAST) => {
                return Self::form(all, Some(share), depth);
            }
            _ => {}
        }
        if entries.len() > 1 && entries.iter().all(|entry| FORMS.contains(&entry.key)) {
            let named: Vec<_> = entries.iter().map(|entry| entry.key).collect();
            let message = format!(
                "`{}` has {}: write one of them, or expect = {{ value = … }} where this table is the answer; expect = {{ all = [ … ] }} holds \
                 several",
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
        Ok(Self::bare(entry))
    }

    fn bare(entry: &Entry<'_>) -> Self {
        Self::Value(entry.json.clone())
    }

    /// Reads the value of a form; `share` is the threshold next to `all`.
    fn form(only: &Entry<'_>, share: Option<&Entry<'_>>, depth: usize) -> Result<Self, Problem> {
        Ok(match only.key {
            "value" => Self::bare(only),
            "json" => Self::Value(json_text(only, &only.text()?)?),
            "predicate" => predicate(only, &only.text()?)?,
            "schema" => {
                let schema = match only.json.as_str() {
                    Some(text) => json_text(only, text)?,
                    None => only.json.clone(),
                };
                RawSchema::compile(&schema).map(Self::Schema).map_err(|message| only.problem(message))?
            }
            "fail" => Self::Fail(reason(only)?),
            "contains" => Self::Contains(one_or_several(only)?),
            "matches" => {
                let text = only.text()?;
                let compiled = Regex::new(&text);
                Self::Matches(compiled.map_err(|error| only.problem(format!("`{}`: {error}", only.path)))?)
            }
            "similar" => similar(only)?,
            "near" => near(only)?,
            "set" => Self::Set(only.json.items().ok_or_else(|| only.expected("a list"))?.to_vec()),
            "at" => {
                let parts = entries_of(only)?.into_iter();
                let part = |entry: Entry<'_>| Ok((entry.key.to_owned(), Self::read_nested(&entry, depth + 1)?));
                Self::At(parts.map(part).collect::<Result<_, Problem>>()?)
            }
            "all" => {
                let parts = list(only)?.iter().map(|entry| Part::read(entry, depth + 1)).collect::<Result<_, _>>()?;
                Self::All(parts, share.map(threshold).transpose()?)
            }
            "any" => {
                let parts =
                    list(only)?.iter().map(|entry| Self::read_nested(entry, depth + 1)).collect::<Result<_, _>>();
                Self::Any(parts?)
            }
            "not" => Self::Not(Box::new(Self::read_nested(only, depth + 1)?)),
            _ => Self::Run(Trajectory::read(only)?),
        })
    }

    /// The expectation in words, for a screen.
    pub fn outline(&self) -> String {
        let list = |parts: Vec<String>, word: &str| parts.join(&format!("\n{word} "));
        match self {
            Self::Value(value) => value.to_pretty(),
            Self::Predicate(text) => text.clone(),
            Self::Schema(schema) => schema.json().to_pretty(),
            Self::Fail(reason) => format!("the run fails: {reason}"),
            Self::Contains(parts) => format!("contains {}", Json::list(parts.clone()).to_text()),
            Self::Matches(regex) => format!("matches /{regex}/"),
            Self::Similar(text, least) => format!("similarity to {text:?} of at least {least}"),
            Self::Near(to, Tolerance::Absolute(within)) => format!("{to} ± {within}"),
            Self::Near(to, Tolerance::Relative(within)) => format!("{to} ± {} %", within * 100.0),
            Self::Set(items) => format!("in any order {}", Json::list(items.clone()).to_text()),
            Self::At(parts) => {
                list(parts.iter().map(|(path, part)| format!("{path}: {}", part.outline())).collect(), "and")
            }
            Self::All(parts, share) => {
                let share = share.map(|share| format!("at least {} % of the weights of:\n", share * 100.0));
                let parts = parts.iter().map(|part| part.expect.outline()).collect();
                share.unwrap_or_default() + &list(parts, "and")
            }
            Self::Any(parts) => list(parts.iter().map(Self::outline).collect(), "or"),
            Self::Not(part) => format!("not: {}", part.outline()),
            Self::Run(trajectory) => trajectory.outline(),
            Self::Rubric(rubric) => rubric.outline(),
        }
    }

    /// The name of its form, for messages.
    pub fn form_name(&self) -> &'static str {
        match self {
            Self::Value(_) => "value",
            Self::Predicate(_) => "predicate",
            Self::Schema(_) => "schema",
            Self::Fail(_) => "fail",
            Self::Contains(_) => "contains",
            Self::Matches(_) => "matches",
            Self::Similar(..) => "similar",
            Self::Near(..) => "near",
            Self::Set(_) => "set",
            Self::At(_) => "at",
            Self::All(..) => "all",
            Self::Any(_) => "any",
            Self::Not(_) => "not",
            Self::Run(_) => "run",
            Self::Rubric(_) => RUBRIC,
        }
    }
}

impl Part {
    /// Reads an item of `all`: an expectation, or one with a weight.
    fn read(entry: &Entry<'_>, depth: usize) -> Result<Self, Problem> {
        let weighted = entry.json.members().is_some_and(|members| {
            members.len() == 2 && entry.json.get("weight").is_some() && entry.json.get("expect").is_some()
        });
        if !weighted {
            return Ok(Self { expect: Expect::read_nested(entry, depth)?, weight: 1.0 });
        }
        let mut part = Self { expect: Expect::Value(Json::empty()), weight: 1.0 };
        for entry in entry.entries()? {
            match entry.key {
                "weight" => part.weight = weight(&entry)?,
                _ => part.expect = Expect::read_nested(&entry, depth)?,
            }
        }
        Ok(part)
    }
}

/// JSON in a text.
pub(super) fn json_text(entry: &Entry<'_>, text: &str) -> Result<Json, Problem> {
    json::parse(text).map_err(|error| {
        entry.problem(format!("`{}` is not JSON at {}: {}", entry.path, error.line_col(text), error.message))
    })
}

/// The problem of a list or a table without content where it would expect nothing.
pub(super) fn empty(entry: &Entry<'_>) -> Problem {
    entry.problem(format!("`{}` must not be empty", entry.path))
}

/// The entries of a table that is not empty.
pub(super) fn entries_of<'a>(entry: &Entry<'a>) -> Result<Vec<Entry<'a>>, Problem> {
    let entries = entry.entries()?;
    if entries.is_empty() { Err(empty(entry)) } else { Ok(entries) }
}

/// The items of a list that is not empty, as entries.
fn list<'a>(entry: &Entry<'a>) -> Result<Vec<Entry<'a>>, Problem> {
    let items = entry.json.items().ok_or_else(|| entry.expected("a list of expectations"))?;
    if items.is_empty() {
        return Err(empty(entry));
    }
    let item =
        |(place, json): (usize, &'a Json)| Entry { path: format!("{}.{place}", entry.path), json, ..entry.clone() };
    Ok(items.iter().enumerate().map(item).collect())
}

fn one_or_several(entry: &Entry<'_>) -> Result<Vec<Json>, Problem> {
    match entry.json.items() {
        None => Ok(vec![entry.json.clone()]),
        Some([]) => Err(empty(entry)),
        Some(items) => Ok(items.to_vec()),
    }
}

/// A number from 0 to 1.
pub(super) fn threshold(entry: &Entry<'_>) -> Result<f64, Problem> {
    let share = entry.amount()?;
    if share <= 1.0 { Ok(share) } else { Err(entry.problem(format!("`{}` must be between 0 and 1", entry.path))) }
}

fn similar(entry: &Entry<'_>) -> Result<Expect, Problem> {
    if let Some(text) = entry.json.as_str() {
        return Ok(Expect::Similar(text.to_owned(), SIMILAR));
    }
    let (mut to, mut at_least, mut by, mut model) = (None, SIMILAR, SimilarBy::Edits, None);
    for entry in entry.entries()? {
        match entry.key {
            "to" => to = Some(entry.text()?),
            AT_LEAST => at_least = threshold(&entry)?,
            "by" => by = entry.named(&SIMILAR_BY)?,
            "model" => model = Some(entry.non_blank_text()?),
            _ => return Err(entry.unknown(&["to", AT_LEAST, "by", "model"])),
        }
    }
    let to = to.ok_or_else(|| entry.missing("to"))?;
    match (by, model) {
        (SimilarBy::Embedding, Some(model)) => Ok(Expect::Rubric(Box::new(Rubric::of_embedding(&to, model, at_least)))),
        (SimilarBy::Embedding, None) => Err(entry.missing("model")),
        (SimilarBy::Edits, Some(_)) => Err(entry.problem(format!("`{}.model` needs by = \"embedding\"", entry.path))),
        (SimilarBy::Edits, None) => Ok(Expect::Similar(to, at_least)),
    }
}

fn near(entry: &Entry<'_>) -> Result<Expect, Problem> {
    let (mut to, mut within) = (None, None);
    for entry in entry.entries()? {
        match entry.key {
            "to" => to = Some(entry.number()?),
            "within" => within = Some(tolerance(&entry)?),
            _ => return Err(entry.unknown(&["to", "within"])),
        }
    }
    Ok(Expect::Near(to.ok_or_else(|| entry.missing("to"))?, within.ok_or_else(|| entry.missing("within"))?))
}

/// A number, or per cent as text.
fn tolerance(entry: &Entry<'_>) -> Result<Tolerance, Problem> {
    let Some(text) = entry.json.as_str() else { return Ok(Tolerance::Absolute(entry.amount()?)) };
    let share = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = share.filter(|share| share.is_finite() && *share >= 0.0);
    let share = share.ok_or_else(|| entry.expected("a number, or per cent as text such as \"1 %\""))?;
    Ok(Tolerance::Relative(share / 100.0))
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

fn predicate(entry: &Entry<'_>, text: &str) -> Result<Expect, Problem> {
    OF_RUN.check(text).map_err(|error| {
        let place = error.span.map(|span| format!(" at {}", LineCol::of(text, span.start))).unwrap_or_default();
        entry.problem(format!("`{}` is not a predicate{place}: {}", entry.path, error.message()))
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
