//! Trajectories: what a case expects of the way to the answer, and the facts that predicates see of it.
//!
//! In: the table `run` of an expectation, a [`Step`]. Out: a [`Trajectory`], or the problem with its place; the bounds and rules that a run
//! does not keep. Calls are those of the run itself, turns, tokens and cost include its child runs.

use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};

use super::Mismatch;
use super::expect::entries_of;
use super::judge::shown;
use crate::agent::{CallEntry, Step};
use crate::config::document::{Entry, Problem};
use crate::event::JsonText;

/// Keys of `run`.
const KEYS: [&str; 7] = ["calls", "turns", "tokens", "cost", "time_ms", "errors", "repairs"];
/// Keys of `calls`.
const CALL_KEYS: [&str; 5] = ["called", "never", "order", "at_most", "args"];

/// Expectations about the way to an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trajectory {
    /// Tool calls.
    pub calls: CallRules,
    /// Measures by the name of their key.
    pub bounds: Vec<(String, Bounds)>,
}

/// Rules for the tool calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallRules {
    /// Tools that are called at least once.
    pub called: Vec<String>,
    /// Tools that are not called.
    pub never: Vec<String>,
    /// Calls that occur in this order; others may lie between them.
    pub order: Vec<String>,
    /// Maximum number of calls of a tool.
    pub at_most: Vec<(String, u64)>,
    /// Arguments that at least one call of a tool has, among others.
    pub args: Vec<(String, Json)>,
}

/// The range of a measure, ends included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// The smallest value.
    pub at_least: Option<f64>,
    /// The largest value.
    pub at_most: Option<f64>,
}

impl Trajectory {
    /// Reads the table `run`.
    pub(super) fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let mut trajectory = Self::default();
        for entry in entries_of(entry)? {
            match entry.key {
                "calls" => trajectory.calls = CallRules::read(&entry)?,
                key if KEYS.contains(&key) => trajectory.bounds.push((key.to_owned(), Bounds::read(&entry)?)),
                _ => return Err(entry.unknown(&KEYS)),
            }
        }
        Ok(trajectory)
    }

    /// The rules in words.
    pub(super) fn outline(&self) -> String {
        let bound = |(key, bounds): &(String, Bounds)| {
            let low = bounds.at_least.map(|least| format!(" at least {least}"));
            let high = bounds.at_most.map(|most| format!(" at most {most}"));
            format!("{key}{}{}", low.unwrap_or_default(), high.unwrap_or_default())
        };
        let tools: Vec<&str> = self.calls.tools().collect();
        let calls = (!tools.is_empty()).then(|| format!("rules for calls of {}", tools.join(", ")));
        self.bounds.iter().map(bound).chain(calls).collect::<Vec<_>>().join("\n")
    }

    /// The bounds and rules that a run does not keep.
    pub(super) fn mismatches(&self, step: &Step) -> Vec<Mismatch> {
        let mut found: Vec<Mismatch> =
            self.calls.problems(&step.calls).into_iter().map(|why| of_run("calls", why)).collect();
        let usage = usage(step);
        for (key, bounds) in &self.bounds {
            let value = usage.get(key).and_then(number);
            let why = match value {
                None => Some("unknown: the provider does not count tokens, or a price is not configured".to_owned()),
                Some(value) => bounds.problem(value),
            };
            found.extend(why.map(|why| of_run(key, why)));
        }
        found
    }
}

/// A mismatch of the way to an answer.
fn of_run(key: &str, why: String) -> Mismatch {
    Mismatch { expectation: format!("run.{key}"), path: String::new(), why }
}

impl Bounds {
    /// A number is the largest value.
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        if entry.json.members().is_none() {
            return Ok(Self { at_least: None, at_most: Some(entry.amount()?) });
        }
        let mut bounds = Self::default();
        for entry in entries_of(entry)? {
            match entry.key {
                "at_least" => bounds.at_least = Some(entry.amount()?),
                "at_most" => bounds.at_most = Some(entry.amount()?),
                _ => return Err(entry.unknown(&["at_least", "at_most"])),
            }
        }
        match (bounds.at_least, bounds.at_most) {
            (Some(least), Some(most)) if least > most => {
                Err(entry
                    .problem(format!("`{}` can never hold: at_least = {least} is above at_most = {most}", entry.path)))
            }
            _ => Ok(bounds),
        }
    }

    fn problem(self, value: f64) -> Option<String> {
        let low =
            self.at_least.filter(|least| value < *least).map(|least| format!("{value}, expected at least {least}"));
        low.or_else(|| {
            self.at_most.filter(|most| value > *most).map(|most| format!("{value}, expected at most {most}"))
        })
    }
}

impl CallRules {
    fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let mut rules = Self::default();
        for entry in entries_of(entry)? {
            match entry.key {
                "called" => rules.called = entry.texts()?,
                "never" => rules.never = entry.texts()?,
                "order" => rules.order = entry.texts()?,
                "at_most" => {
                    let each = |entry: &Entry<'_>| Ok((entry.key.to_owned(), entry.count()?));
                    rules.at_most = entry.entries()?.iter().map(each).collect::<Result<_, Problem>>()?;
                }
                "args" => {
                    let entries = entry.entries()?;
                    if let Some(wrong) = entries.iter().find(|args| args.json.members().is_none()) {
                        return Err(wrong.expected("a table of arguments"));
                    }
                    rules.args = entries.iter().map(|args| (args.key.to_owned(), args.json.clone())).collect();
                }
                _ => return Err(entry.unknown(&CALL_KEYS)),
            }
        }
        Ok(rules)
    }

    /// The tools that the rules name.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let listed = self.called.iter().chain(&self.never).chain(&self.order);
        let keyed = self.at_most.iter().map(|(tool, _)| tool).chain(self.args.iter().map(|(tool, _)| tool));
        listed.chain(keyed).map(String::as_str)
    }

    fn problems(&self, calls: &[CallEntry]) -> Vec<String> {
        let count = |tool: &str| calls.iter().filter(|call| call.name == tool).count() as u64;
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        let made =
            if names.is_empty() { "no call was made".to_owned() } else { format!("calls: {}", names.join(", ")) };
        let mut found = Vec::new();
        for tool in self.called.iter().filter(|tool| count(tool) == 0) {
            found.push(format!("{tool} was not called ({made})"));
        }
        for tool in self.never.iter().filter(|tool| count(tool) > 0) {
            found.push(format!("{tool} was called {} times, expected never", count(tool)));
        }
        let mut rest = names.iter();
        if let Some(missing) = self.order.iter().find(|tool| !rest.any(|name| name == tool)) {
            found.push(format!("{missing} does not follow in the order {} ({made})", self.order.join(", ")));
        }
        for (tool, most) in self.at_most.iter().filter(|(tool, most)| count(tool) > *most) {
            found.push(format!("{tool} was called {} times, expected at most {most}", count(tool)));
        }
        for (tool, wanted) in &self.args {
            let of_tool: Vec<Json> =
                calls.iter().filter(|call| call.name == *tool).map(|call| call.args.json()).collect();
            if !of_tool.iter().any(|args| includes(args, wanted)) {
                let seen: Vec<String> = of_tool.iter().map(shown).collect();
                let seen = if seen.is_empty() { "no call".to_owned() } else { seen.join(", ") };
                found.push(format!("no call of {tool} has the arguments {}, found {seen}", shown(wanted)));
            }
        }
        found
    }
}

/// Returns whether a value has all members of another, at every depth. Lists and single values must be equal.
fn includes(found: &Json, wanted: &Json) -> bool {
    match wanted.members() {
        Some(members) => {
            members.iter().all(|member| found.get(&member.key).is_some_and(|value| includes(value, &member.value)))
        }
        None => json::same(found, wanted),
    }
}

fn number(json: &Json) -> Option<f64> {
    match json.node {
        #[expect(clippy::cast_precision_loss, reason = "counts are compared with bounds as doubles")]
        Node::Int(int) => Some(int as f64),
        Node::Float(float) => Some(float),
        _ => None,
    }
}

fn count(number: u64) -> Json {
    Node::Int(i64::try_from(number).unwrap_or(i64::MAX)).into()
}

/// The measures of a run, those of its child runs included. Unknown values are absent.
fn usage(step: &Step) -> Json {
    let total = &step.usage.total;
    let failed_calls = step.calls.iter().filter(|call| call.has_failed()).count();
    let failed_turns = step.turns.iter().filter(|turn| turn.reason.is_some() || turn.error.is_some()).count();
    let repairs: usize = step.turns.iter().map(|turn| turn.fixes.len()).sum();
    let mut usage = Json::empty()
        .with("turns", count(u64::from(total.turns)))
        .with("requests", count(u64::from(total.requests)))
        .with("time_ms", count(step.usage.duration_ms))
        .with("errors", count((failed_calls + failed_turns) as u64))
        .with("repairs", count(repairs as u64));
    if let Some(tokens) = &total.tokens {
        usage = usage.with("tokens", count(tokens.total()));
        usage = usage.with("input_tokens", count(tokens.input)).with("output_tokens", count(tokens.output));
    }
    match total.cost() {
        Some(cost) => usage.with("cost", Node::Float(cost).into()),
        None => usage,
    }
}

/// The facts of a run that predicates see in addition to its answer: an object with `calls`, `turns`, `usage`, `prints` and `context`.
pub(super) fn facts(step: &Step) -> Json {
    let text = |text: Option<&String>| text.map_or_else(|| Node::Null.into(), Json::str);
    let call = |call: &CallEntry| {
        Json::empty()
            .with("name", Json::str(&call.name))
            .with("args", call.args.json())
            .with("status", json::to_json(&call.status))
            .with("result", call.result.as_ref().map_or_else(|| Node::Null.into(), JsonText::json))
    };
    let turns = step.turns.iter().map(|turn| {
        Json::empty()
            .with("number", count(u64::from(turn.number)))
            .with("success", Node::Bool(turn.success).into())
            .with("reason", text(turn.reason.as_ref()))
            .with("reply", Json::str(&turn.raw_response))
            .with("program", text(turn.program.as_ref()))
            .with("repairs", Json::list(turn.fixes.iter().map(Json::str)))
    });
    Json::empty()
        .with("calls", Json::list(step.calls.iter().map(call)))
        .with("turns", Json::list(turns))
        .with("usage", usage(step))
        .with("prints", Json::list(step.turns.iter().flat_map(|turn| &turn.prints).map(Json::str)))
        .with("context", step.context.clone().unwrap_or_else(Json::empty))
}
