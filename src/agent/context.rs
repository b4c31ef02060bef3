//! The context of a run: from JSON or from an earlier Step, and its check against parameters and prompt.
//!
//! In: a JSON object or a [`Step`], a signature, a template. Out: the checked value, or findings placed in the context and the prompt.

use std::borrow::Cow;

use ptc_core::reasons::Reason;
use ptc_core::signature::{self, Field, InputMode, Issue, Path, Segment, Signature, Type, underscored};
use ptc_core::template::{self, DiagnosticKind, Template};
use ptc_core::text::{Span, nearest};
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Map, Value};

use super::plan::input_mode;
use super::reach::{Reach, Receiver, same};
use super::undeclared::undeclared_inputs;
use super::{Agent, Diagnostic, INPUT, InputFile, Place, Plan, Severity, Step, is_key};
use crate::event::{ErrorRecord, FileRecord};

/// The data of a run and what is known about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    /// The data: a JSON object.
    pub json: Json,
    /// Descriptions that came with it.
    pub descriptions: Vec<(String, String)>,
    /// The files that the user named for it; the records of them are in the data.
    pub files: Vec<InputFile>,
}

impl Agent {
    /// Returns a finding for each input of a context that the signature does not declare, with the nearest declared name. An agent whose
    /// signature has no parameters accepts any input.
    pub fn undeclared_inputs(&self, context: &Json) -> Vec<Diagnostic> {
        let signature = self.signature.as_deref().and_then(|text| signature::parse_inputs(text).ok());
        signature.map(|signature| undeclared_inputs(&signature, context)).unwrap_or_default()
    }
}

impl From<Json> for Context {
    fn from(json: Json) -> Self {
        Self { json, ..Self::default() }
    }
}

impl Context {
    /// The return of an earlier step as the context of an agent with this signature. A map is taken as it is; anything else
    /// goes under the name of the only parameter, without parameters under [`INPUT`]. Memory is not carried.
    ///
    /// Errors: `chained_failure` when the step failed.
    pub fn from_step(step: &Step, signature: &Signature) -> Result<Self, ErrorRecord> {
        let params = signature.params.as_deref().unwrap_or_default();
        let name = match params {
            [only] => Some(only.name.clone()),
            [] => Some(INPUT.to_owned()),
            _ => None,
        };
        Self::under(name, step, params)
    }

    /// Like [`Context::from_step`] for this agent: without parameters the answer goes under the only name of its prompt.
    ///
    /// Errors: `chained_failure` when the step failed.
    pub fn for_plan(step: &Step, plan: &Plan) -> Result<Self, ErrorRecord> {
        let receiver = plan.receiver();
        Self::under(receiver.only_name(&plan.agent.context), step, receiver.params)
    }

    /// The return of a step; one that is not a map goes under this name. A parameter that the return leaves out comes from the inputs of
    /// the step, where they have it.
    fn under(name: Option<String>, step: &Step, params: &[Field]) -> Result<Self, ErrorRecord> {
        if let Some(fail) = &step.fail {
            return Err(ErrorRecord {
                reason: Reason::ChainedFailure.name().to_owned(),
                message: format!("the earlier step {} failed with {}: {}", named(step), fail.reason, fail.message),
                hint: Some(Reason::ChainedFailure.row().next.to_owned()),
                ..ErrorRecord::default()
            });
        }
        let answer = step.answer.clone().unwrap_or_default();
        // An answer without a place is missing, whatever the inputs hold.
        let is_placed = answer.members().is_some() || name.is_some();
        let json = match (answer.members(), name) {
            (Some(_), _) => answer,
            (None, Some(name)) if answer.node != Node::Null => Json::empty().with(&name, answer),
            (None, _) => Json::empty(),
        };
        let inputs = step.context.as_ref().filter(|_| is_placed);
        let open: Vec<&Field> = params.iter().filter(|field| find(&json, &field.name).is_none()).collect();
        let json =
            open.into_iter().fold(json, |json, field| match inputs.and_then(|inputs| find(inputs, &field.name)) {
                Some(value) => json.with(&field.name, value.clone()),
                None => json,
            });
        let carried = |(name, _): &&(String, String)| find(&json, name).is_some();
        let descriptions = step.field_descriptions.iter().filter(carried).cloned().collect();
        Ok(Self { json, descriptions, ..Self::default() })
    }

    /// Like [`Context::from_step`], and every parameter that is not optional must be there.
    ///
    /// Errors: `chained_failure` first, then `chain_error` naming what is missing.
    pub fn chained(step: &Step, signature: &Signature) -> Result<Self, ErrorRecord> {
        Self::from_step(step, signature)?.aligned(step, signature.params.as_deref().unwrap_or_default())
    }

    /// Returns the context if it has every parameter that is not optional.
    fn aligned(self, step: &Step, params: &[Field]) -> Result<Self, ErrorRecord> {
        let context = self;
        let missing = missing(&context.json, params);
        if missing.is_empty() {
            return Ok(context);
        }
        let keys = context.json.members().unwrap_or_default().iter().map(|member| member.key.as_str());
        Err(chain_error(&format!("the earlier step {}", named(step)), keys, &missing))
    }

    /// Like [`Context::from_step`] for a step of a pipeline that has a context of its own: what the earlier step gives wins, the rest
    /// comes from there. Inputs may be missing: the run of the step reports them (`Plan::missing_inputs_error`).
    ///
    /// Errors: `chained_failure` when the step failed.
    pub fn chained_onto(plan: &Plan, step: &Step) -> Result<Self, ErrorRecord> {
        let own = &plan.agent.context;
        let params = open_params(own, plan.signature.params.as_deref().unwrap_or_default());
        let receiver = plan.receiver();
        let name = match &params[..] {
            [only] => Some(only.name.clone()),
            _ => receiver.only_name(own),
        };
        let carried = Self::under(name, step, &params)?;
        let given = carried.json.members().unwrap_or_default();
        let others =
            own.members().unwrap_or_default().iter().filter(|member| find(&carried.json, &member.key).is_none());
        let all = given.iter().chain(others).map(|member| (member.key.clone(), member.value.clone()));
        Ok(Self { json: Json::object(all), ..carried })
    }

    /// Returns the descriptions of the inputs of an agent: its own, then those that came with the data for other names.
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

impl Plan {
    /// Returns the error of a step of a pipeline whose context lacks inputs that must be given; `None` if it has all of them.
    pub(crate) fn missing_inputs_error(&self, context: &Json) -> Option<ErrorRecord> {
        let missing = missing(context, self.signature.params.as_deref().unwrap_or_default());
        let members = context.members().unwrap_or_default().iter();
        let given = members.map(|member| member.key.as_str()).filter(|name| find(&self.agent.context, name).is_none());
        (!missing.is_empty()).then(|| chain_error("the earlier step", given, &missing))
    }
}

/// The names of parameters that must be given and that a context does not have.
fn missing(context: &Json, params: &[Field]) -> Vec<String> {
    let needed = params.iter().filter(|field| !field.ty.is_optional() && find(context, &field.name).is_none());
    needed.map(|field| format!("`{}`", field.name)).collect()
}

/// The error of an agent that lacks inputs: the fields that `earlier` returned, and those that are missing.
fn chain_error<'n>(earlier: &str, returned: impl Iterator<Item = &'n str>, missing: &[String]) -> ErrorRecord {
    let returned: Vec<String> = returned.map(|name| format!("`{name}`")).collect();
    let returned = if returned.is_empty() { "no fields".to_owned() } else { returned.join(", ") };
    ErrorRecord {
        reason: Reason::ChainError.name().to_owned(),
        message: format!("{earlier} returned {returned}; missing: {}", missing.join(", ")),
        hint: Some(Reason::ChainError.row().next.to_owned()),
        ..ErrorRecord::default()
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
    let context = &agent.with_unread_records(context);
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
    let misspelled: Vec<&str> = issues.iter().filter_map(|issue| misspelled(issue, params, context)).collect();
    let mut findings: Vec<Diagnostic> = issues.iter().map(|issue| from_issue(issue, params, context)).collect();
    findings.extend(
        template::check_context(template, &with_nested_absent(params, &value))
            .into_iter()
            // Programs get the value itself; the prompt names it only.
            .filter(|found| found.kind != DiagnosticKind::NotText || !agent.mode.is_program())
            // What is missing is reported once, at the context.
            .filter(|found| {
                found.kind != DiagnosticKind::Missing || !first_name(found.span).is_some_and(|name| reported(&name))
            })
            .map(Diagnostic::from),
    );
    findings.extend(unreached(agent, Receiver::of(agent, signature, template), context, &misspelled));
    (value, findings)
}

/// Reports context values that the prompt does not use, or places only implicitly. With `signature_validation = "strict"` they are an
/// error. Misspelled names of inputs are reported with the input that is missing.
fn unreached(agent: &Agent, receiver: Receiver<'_>, context: &Json, misspelled: &[&str]) -> Vec<Diagnostic> {
    let given = context.members().unwrap_or_default().iter();
    let given = given.filter(|member| member.value.node != Node::Null).map(|member| &member.key);
    let given = given.filter(|name| !misspelled.contains(&name.as_str())).cloned();
    let (misplaced, names): (Vec<String>, Vec<String>) =
        given.partition(|name| receiver.reach(name) == Reach::Nowhere && is_key(name));
    let is_strict = input_mode(&agent.signature_validation) == InputMode::Strict;
    let severity = if is_strict && receiver.params.is_empty() { Severity::Error } else { Severity::Warning };
    let found =
        misplaced.iter().map(|name| of_misplaced(receiver, name)).chain(receiver.finding(&names, Place::Context));
    let located = |found: Diagnostic| {
        let span = find(context, &found.key).map(|value| value.span);
        Diagnostic { span, severity, ..found }
    };
    found.map(located).collect()
}

/// A key of agent files among the inputs: what follows a `[table]` in TOML is a key of that table.
fn of_misplaced(receiver: Receiver<'_>, name: &str) -> Diagnostic {
    let advice = receiver.advice([name].into_iter());
    let message = format!(
        "`{name}` does not reach the model: the prompt does not use it; {advice}. If you meant the key of the agent, move it to the top, above the first [table]"
    );
    Diagnostic::error(Place::Context, Reason::InvalidContext, message).key(name)
}

/// The name that was given where an input is missing, when it is near to that of the input and no parameter.
fn misspelled<'c>(issue: &Issue, params: &[Field], context: &'c Json) -> Option<&'c str> {
    let [Segment::Field(name)] = issue.path.0.as_slice() else { return None };
    if issue.expected != "field" {
        return None;
    }
    let given = context.members().unwrap_or_default().iter().map(|member| member.key.as_str());
    nearest(name, given.filter(|key| params.iter().all(|field| !same(&field.name, key))))
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

/// Like `with_absent` on every level, with files by their names, for the prompt alone: programs and other agents get the data as it is.
pub(super) fn with_nested_absent<'v>(params: &[Field], value: &'v Value) -> Cow<'v, Value> {
    let is_written = |field: &Field| has_nested_optional(&field.ty) || field.ty.is_file();
    if !params.iter().any(is_written) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(filled(&Type::Record { fields: params.to_vec(), closed: false }, value))
}

/// The depth of a type is bounded by its reader.
fn has_nested_optional(ty: &Type) -> bool {
    match ty.base() {
        Type::List(item) => has_nested_optional(item),
        Type::Record { fields, .. } => {
            fields.iter().any(|field| field.ty.is_optional() || has_nested_optional(&field.ty))
        }
        _ => false,
    }
}

fn filled(ty: &Type, value: &Value) -> Value {
    match (ty.base(), value) {
        (Type::Record { fields, .. }, Value::Map(map)) => {
            let mut map = map.as_ref().clone();
            for field in fields {
                match map.lookup(&field.name) {
                    None if field.ty.is_optional() => _ = map.insert(Value::str(field.name.as_str()), Value::Nil),
                    Some(item) if has_nested_optional(&field.ty) || field.ty.is_file() => {
                        let (item, key) = (filled(&field.ty, item), key_of(&map, &field.name));
                        map.insert(key, item);
                    }
                    _ => {}
                }
            }
            Value::from(map)
        }
        (Type::File, Value::Map(_)) => match FileRecord::of_json(&Json::from(value)) {
            Some(file) => Value::str(file.to_string()),
            None => value.clone(),
        },
        (Type::List(item), Value::List(items)) => Value::list(items.iter().map(|value| filled(item, value))),
        _ => value.clone(),
    }
}

/// The key under which a map has this name.
fn key_of(map: &Map, name: &str) -> Value {
    let same = |key: &&Value| key.as_str().is_some_and(|key| underscored(key) == underscored(name));
    map.keys()
        .find(|key| key.as_str() == Some(name))
        .or_else(|| map.keys().find(same))
        .cloned()
        .unwrap_or_else(|| Value::str(name))
}

pub(super) fn not_an_object(context: &Json) -> Diagnostic {
    let message =
        format!("the context must be a JSON object such as {{\"text\": \"…\"}}, found a {}", context.to_value().kind());
    Diagnostic::error(Place::Context, Reason::InvalidContext, message).at(context.span)
}

fn from_issue(issue: &Issue, params: &[Field], context: &Json) -> Diagnostic {
    let path = issue.path.to_string();
    let message = match (issue.expected.as_str(), misspelled(issue, params, context)) {
        ("field", Some(given)) => {
            format!("`{path}` is missing, and `{given}` is not a parameter; did you mean `{path}`?")
        }
        ("field", None) => format!("`{path}` is missing; add it to the context"),
        ("file", _) => format!(
            "`{path}` is not a file that was read; write `{path} = {{ file = \"NAME\" }}` or `{{ resource = \"SERVER:URI\" }}` in the agent file, or --set {path}=@FILE"
        ),
        _ => format!("`{path}`: {}", issue.message),
    };
    let severity = if issue.is_error() { Severity::Error } else { Severity::Warning };
    let found = Diagnostic::error(Place::Context, Reason::InvalidContext, message);
    Diagnostic { severity, ..found.key(path).at(place(context, &issue.path)) }
}

/// Returns the span of the value at a path in the context's text; of a missing value the bracket that opens the object it should be in.
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
