//! The context of a run: from JSON or from an earlier Step, and its check against parameters and prompt.
//!
//! In: a JSON object or a [`Step`], a signature, a template. Out: the checked value, or findings placed in the context and the prompt.

use ptc_core::reasons::Reason;
use ptc_core::signature::{self, Field, Issue, Path, Segment, Signature, underscored};
use ptc_core::template::{self, DiagnosticKind, Template};
use ptc_core::text::Span;
use ptc_core::value::{Json, Value};

use super::plan::input_mode;
use super::{Agent, Diagnostic, Place, Severity, Step};
use crate::event::ErrorRecord;

/// The data of a run and what is known about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    /// The data: a JSON object.
    pub json: Json,
    /// Descriptions that came with it.
    pub descriptions: Vec<(String, String)>,
}

impl From<Json> for Context {
    fn from(json: Json) -> Self {
        Self { json, descriptions: Vec::new() }
    }
}

impl Context {
    /// The return of an earlier step as the context of an agent with this signature. A map is taken as it is; anything else
    /// goes under the name of the only parameter, or nowhere (settled decision 19). Memory is not carried.
    ///
    /// Errors: `chained_failure` when the step failed.
    pub fn from_step(step: &Step, signature: &Signature) -> Result<Self, ErrorRecord> {
        if let Some(fail) = &step.fail {
            return Err(ErrorRecord {
                reason: Reason::ChainedFailure.name().to_owned(),
                message: format!("the earlier step {} failed with {}: {}", named(step), fail.reason, fail.message),
                hint: Some(Reason::ChainedFailure.row().next.to_owned()),
                ..ErrorRecord::default()
            });
        }
        let answer = step.answer.clone().unwrap_or_default();
        let json = match (answer.members(), signature.params.as_deref()) {
            (Some(_), _) => answer,
            (None, Some([only])) => Json::empty().with(&only.name, answer),
            (None, _) => Json::empty(),
        };
        let carried = |(name, _): &&(String, String)| find(&json, name).is_some();
        let descriptions = step.field_descriptions.iter().filter(carried).cloned().collect();
        Ok(Self { json, descriptions })
    }

    /// Like [`Context::from_step`], and every parameter that is not optional must be there.
    ///
    /// Errors: `chained_failure` first, then `chain_error` naming what is missing.
    pub fn chained(step: &Step, signature: &Signature) -> Result<Self, ErrorRecord> {
        let context = Self::from_step(step, signature)?;
        let needed = signature.params.iter().flatten().filter(|field| !field.ty.is_optional());
        let missing: Vec<String> = needed
            .filter(|field| find(&context.json, &field.name).is_none())
            .map(|field| format!("`{}`", field.name))
            .collect();
        if missing.is_empty() {
            return Ok(context);
        }
        let keys: Vec<String> =
            context.json.members().unwrap_or_default().iter().map(|member| format!("`{}`", member.key)).collect();
        let has = if keys.is_empty() { "no fields".to_owned() } else { keys.join(", ") };
        Err(ErrorRecord {
            reason: Reason::ChainError.name().to_owned(),
            message: format!("the earlier step {} returned {has}; missing: {}", named(step), missing.join(", ")),
            hint: Some(Reason::ChainError.row().next.to_owned()),
            ..ErrorRecord::default()
        })
    }

    /// Like [`Context::chained`] for a step of a pipeline that has a context of its own: what the earlier step gives wins, the rest
    /// comes from there.
    ///
    /// Errors: those of [`Context::chained`].
    pub fn chained_onto(own: &Json, step: &Step, signature: &Signature) -> Result<Self, ErrorRecord> {
        let params = signature.params.as_deref().map(|params| open_params(own, params));
        let carried = Self::chained(step, &Signature { params, output: None })?;
        let given = carried.json.members().unwrap_or_default();
        let others =
            own.members().unwrap_or_default().iter().filter(|member| find(&carried.json, &member.key).is_none());
        let all = given.iter().chain(others).map(|member| (member.key.clone(), member.value.clone()));
        Ok(Self { json: Json::object(all), descriptions: carried.descriptions })
    }

    /// What is known about the inputs of an agent: its own descriptions, then those that came with the data.
    pub fn described(&self, agent: &Agent) -> Vec<(String, String)> {
        let mut all = agent.context_descriptions.clone();
        for (name, text) in &self.descriptions {
            if !all.iter().any(|(have, _)| underscored(have) == underscored(name)) {
                all.push((name.clone(), text.clone()));
            }
        }
        all
    }
}

/// The parameters that an agent's own context does not fill.
pub(crate) fn open_params(own: &Json, params: &[Field]) -> Vec<Field> {
    params.iter().filter(|field| find(own, &field.name).is_none()).cloned().collect()
}

fn named(step: &Step) -> String {
    format!("`{}`", step.name)
}

/// The member with this name; `-` and `_` are the same.
fn find<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    let members = json.members()?;
    let same = || members.iter().find(|member| underscored(&member.key) == underscored(name));
    members.iter().find(|member| member.key == name).or_else(same).map(|member| &member.value)
}

/// Checks a context: an object, its inputs against the parameters, the names of the prompt against its values.
pub(super) fn check(
    agent: &Agent,
    signature: &Signature,
    template: &Template,
    context: &Json,
) -> (Value, Vec<Diagnostic>) {
    if context.members().is_none() {
        return (Value::map([]), vec![not_an_object(context)]);
    }
    let params: &[Field] = signature.params.as_deref().unwrap_or_default();
    let (value, issues) = signature::check_inputs(params, &context.to_value(), input_mode(&agent.signature_validation));
    let value = with_absent(params, value);
    let reported = |name: &str| {
        let same = |step: &Segment| matches!(step, Segment::Field(field) if underscored(field) == underscored(name));
        issues.iter().any(|issue| issue.path.0.iter().any(same))
    };
    let variables = template::variables(template);
    let first_name = |span: Span| {
        let variable = variables.iter().find(|variable| variable.span == span)?;
        variable.path.split_first().map(|(first, _)| first.to_owned())
    };
    let mut findings: Vec<Diagnostic> = issues.iter().map(|issue| from_issue(issue, context)).collect();
    findings.extend(
        template::check_context(template, &value)
            .into_iter()
            // Programs get the value itself; the prompt names it only.
            .filter(|found| found.kind != DiagnosticKind::NotText || !agent.mode.is_program())
            // What is missing is reported once, at the context.
            .filter(|found| {
                found.kind != DiagnosticKind::Missing || !first_name(found.span).is_some_and(|name| reported(&name))
            })
            .map(Diagnostic::from),
    );
    (value, findings)
}

/// The value with nil under the name of every optional parameter that is absent, so that the prompt can name it.
fn with_absent(params: &[Field], mut value: Value) -> Value {
    if let Value::Map(map) = &mut value {
        let map = std::sync::Arc::make_mut(map);
        for field in params.iter().filter(|field| field.ty.is_optional()) {
            if map.lookup(&field.name).is_none() {
                map.insert(Value::str(field.name.as_str()), Value::Nil);
            }
        }
    }
    value
}

pub(super) fn not_an_object(context: &Json) -> Diagnostic {
    let message =
        format!("the context must be a JSON object such as {{\"text\": \"…\"}}, found a {}", context.to_value().kind());
    Diagnostic::error(Place::Context, Reason::InvalidContext, message).at(context.span)
}

fn from_issue(issue: &Issue, context: &Json) -> Diagnostic {
    let path = issue.path.to_string();
    let message = match issue.expected.as_str() {
        "field" => format!("`{path}` is missing; add it to the context"),
        _ => format!("`{path}`: {}", issue.message),
    };
    let severity = if issue.is_error() { Severity::Error } else { Severity::Warning };
    let found = Diagnostic::error(Place::Context, Reason::InvalidContext, message);
    Diagnostic { severity, ..found.key(path).at(place(context, &issue.path)) }
}

/// Where a path leads in the context's text; for what is missing, the bracket that opens the object it should be in.
fn place(context: &Json, path: &Path) -> Span {
    let mut at = context;
    for segment in &path.0 {
        let next = match segment {
            Segment::Field(name) => find(at, name),
            Segment::Index(index) => at.items().and_then(|items| items.get(*index)),
        };
        match next {
            Some(next) => at = next,
            None => return Span::new(at.span.start, (at.span.start + 1).min(at.span.end)),
        }
    }
    at.span
}
