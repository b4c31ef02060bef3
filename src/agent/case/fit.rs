//! Checks of a case against the signature of its agent, before a run costs anything.
//!
//! In: a case, the types of the agent. Out: why the case can never pass, or what in it is never read. Nothing is run, and it must never
//! refuse an expectation that an answer of the declared type fulfils.

use ptc_core::lisp::{Budget, Form, Shape, read};
use ptc_core::signature::{Field, Issue, Policy, Segment, Type, coerce, find_field, undeclared, underscored};
use ptc_core::text::{did_you_mean, nearest};
use ptc_core::value::{Json, Value};

use super::expect::FORMS;
use super::typed::Types;
use super::{Case, Expect};
use crate::agent::{Agent, RawSchema};

/// The name of the answer in predicates.
const RESULT: &str = "result";

/// Comparisons, whose result for an absent field is not what a predicate means.
const COMPARISONS: [&str; 6] = ["=", "==", "<", ">", "<=", ">="];

/// The check of the cases of one agent.
#[derive(Debug, Clone)]
pub struct CaseChecker(Types);

impl CaseChecker {
    /// Reads the types of an agent, once for all its cases.
    pub fn of(agent: &Agent) -> Self {
        Self(Types::of(agent))
    }

    /// Returns the reason why a case can never pass with this agent, whatever a run of it returns; `None` when it can.
    pub fn misfit(&self, case: &Case) -> Option<String> {
        misfit(case, &self.0)
    }
}

/// Returns the reason why a case can never pass with these types; `None` when it can.
pub(super) fn misfit(case: &Case, types: &Types) -> Option<String> {
    let name = &case.name;
    if let Some(key) = misplaced_key(case, types) {
        return Some(format!(
            "the case `{name}`: `{key}` is a key of the case, not an input; write it next to `context`, above [cases.context]"
        ));
    }
    let expect = case.expect.as_ref()?;
    if let Some(why) = unknown_tool(expect, types) {
        return Some(format!("the case `{name}`: `expect` {why}"));
    }
    let answer = match (types.schema(), types.output()) {
        (Some(schema), _) => Answer::Schema(schema),
        (None, Some(output)) => Answer::Typed(output),
        (None, None) => return None,
    };
    answer.refusal(expect).map(|why| format!("the case `{name}`: `expect` {why}"))
}

/// Messages about inputs of a case that the agent does not declare.
pub(super) fn undeclared_inputs(case: &Case, types: &Types) -> Vec<String> {
    let found = case.context.as_ref().map(|context| types.undeclared_inputs(context)).unwrap_or_default();
    found.into_iter().map(|found| found.message).collect()
}

/// The first misspelled tool in rules for calls. Other tools that are unknown may come from elsewhere.
fn unknown_tool(expect: &Expect, types: &Types) -> Option<String> {
    match expect {
        Expect::Run(trajectory) => trajectory.calls.tools().find_map(|tool| {
            let near = types.tools().all(|known| known != tool).then(|| nearest(tool, types.tools()))??;
            Some(format!("names a tool that does not exist: `{tool}`; did you mean `{near}`?"))
        }),
        Expect::All(parts, _) => parts.iter().find_map(|part| unknown_tool(&part.expect, types)),
        Expect::Any(parts) => parts.iter().find_map(|part| unknown_tool(part, types)),
        Expect::Not(part) => unknown_tool(part, types),
        _ => None,
    }
}

/// A key of the case among its inputs: in TOML, what follows `[cases.context]` is an input.
fn misplaced_key(case: &Case, types: &Types) -> Option<&'static str> {
    let context = case.context.as_ref()?;
    let is_input = |key: &str| {
        types.params().any(|name| underscored(name) == underscored(key)) || (!types.has_params() && types.names(key))
    };
    // The other keys of a case are names that inputs have as well, which programs read without a parameter.
    ["expect", "cassette"].into_iter().find(|key| context.get(key).is_some() && !is_input(key))
}

/// The type or the schema of an agent's answers.
#[derive(Clone, Copy)]
enum Answer<'a> {
    Typed(&'a Type),
    Schema(&'a RawSchema),
}

impl Answer<'_> {
    /// Returns the reason why no answer fulfils an expectation; `None` when one may.
    fn refusal(self, expect: &Expect) -> Option<String> {
        match expect {
            Expect::Value(value) => self.misfit(value).map(|why| format!("can never hold: {why}")),
            Expect::All(parts, None) => parts.iter().find_map(|part| self.refusal(&part.expect)),
            Expect::Any(parts) => {
                let first = self.refusal(parts.first()?)?;
                parts.iter().all(|part| self.refusal(part).is_some()).then_some(first)
            }
            Expect::At(parts) => parts.iter().find_map(|(path, part)| self.refusal_at(path, part)),
            Expect::Predicate(text) => {
                self.unknown_field(text).map(|why| format!("reads a field that does not exist: {why}"))
            }
            _ => None,
        }
    }

    /// Like `refusal`, for an expectation about the part of the answer at a path.
    fn refusal_at(self, path: &str, expect: &Expect) -> Option<String> {
        let Self::Typed(mut ty) = self else { return None };
        for step in path.split('.').filter(|step| !step.is_empty()) {
            let never = |why: String| Some(format!("at `{path}` can never hold: {why}"));
            ty = match ty.base() {
                Type::List(item) if step.parse::<usize>().is_ok() => item,
                Type::List(_) => {
                    return never(format!("`{step}` is not the index of an item; items are counted from 0"));
                }
                Type::Record { .. } => match field(ty, step) {
                    Ok(ty) => ty,
                    Err(_) if step.contains('[') => {
                        return never(format!(
                            "the answer has no field `{step}`; the index of an item is a part of its own: `items.0.price`"
                        ));
                    }
                    Err(why) => return why.map(|why| format!("reads a field that does not exist: {why}")),
                },
                Type::Map | Type::Any => return None,
                other => return never(format!("a value of the type {} has no part `{step}`", other.render())),
            };
        }
        Answer::Typed(ty).refusal(expect).map(|why| format!("at `{path}` {why}"))
    }

    /// Returns the reason why no answer is exactly this value; `None` when one may be.
    fn misfit(self, json: &Json) -> Option<String> {
        let ty = match self {
            Self::Typed(ty) => ty,
            Self::Schema(schema) => {
                let issues = schema.fit(json).err()?;
                return Some(format!(
                    "the schema refuses this value: {}{}",
                    issues.first().map(line)?,
                    near_form(json, &[])
                ));
            }
        };
        let value = json.to_value();
        let issues = coerce(ty, value.clone(), Policy::AnswerStandard).issues;
        let (missing, wrong): (Vec<&Issue>, Vec<&Issue>) =
            issues.iter().filter(|issue| issue.is_error()).partition(|issue| issue.expected == "field");
        if let Some(issue) = wrong.first() {
            return Some(format!("{}{}", line(issue), near_form(json, ty.fields())));
        }
        // An answer may have other fields, so they alone refuse nothing.
        let unknown = undeclared(ty, &value).into_iter().next()?;
        missing.iter().find(|issue| !is_hidden(issue))?;
        let form = near_form(json, ty.fields());
        let near = match unknown.path.0.as_slice() {
            [Segment::Field(name)] if form.is_empty() => match field(ty, name) {
                Err(Some(why)) => return Some(why),
                _ => String::new(),
            },
            _ => form,
        };
        Some(format!("the answer has no field `{}`{near}", unknown.path))
    }

    /// The first field that a predicate reads of `result` and that is a misspelled one of the answer.
    fn unknown_field(self, predicate: &str) -> Option<String> {
        let Self::Typed(answer) = self else { return None };
        let forms = read(predicate, Budget::default()).ok()?;
        // As the whole predicate or in a comparison: elsewhere a field that is absent may be meant, as in `(nil? (:errors result))`.
        let [Form { shape: Shape::List(parts), .. }] = forms.as_slice() else { return None };
        if let Err(Some(why)) = type_of(&forms[0], answer) {
            return Some(why);
        }
        let (first, compared) = parts.split_first()?;
        let is_comparison = matches!(&first.shape, Shape::Symbol(sign) if COMPARISONS.contains(&sign.name()));
        let is_nil = |part: &Form| matches!(part.shape, Shape::Literal(Value::Nil));
        if !is_comparison || compared.iter().any(is_nil) {
            return None;
        }
        compared.iter().find_map(|part| type_of(part, answer).err().flatten())
    }
}

/// The type of an expression that is `result` or reads a field of it. Errors: it is another one, with a text if it reads a misspelled
/// field.
fn type_of<'t>(form: &Form, answer: &'t Type) -> Result<&'t Type, Option<String>> {
    match &form.shape {
        Shape::Symbol(name) if name.name() == RESULT => Ok(answer),
        Shape::List(parts) => match &parts[..] {
            [Form { shape: Shape::Literal(Value::Keyword(key)), .. }, of] => field(type_of(of, answer)?, key.name()),
            [Form { shape: Shape::Symbol(get), .. }, of, Form { shape: Shape::Literal(Value::Keyword(key)), .. }]
                if get.name() == "get" =>
            {
                field(type_of(of, answer)?, key.name())
            }
            [Form { shape: Shape::Symbol(arrow), .. }, of, keys @ ..] if arrow.name() == "->" => {
                keys.iter().try_fold(type_of(of, answer)?, |ty, key| match &key.shape {
                    Shape::Literal(Value::Keyword(key)) => field(ty, key.name()),
                    _ => Err(None),
                })
            }
            _ => Err(None),
        },
        _ => Err(None),
    }
}

/// The type of a field of a record. Errors: there is none of this name, and the text if it is near to one that there is.
fn field<'t>(of: &'t Type, name: &str) -> Result<&'t Type, Option<String>> {
    let Type::Record { fields, .. } = of.base() else { return Err(None) };
    if let Some(field) = find_field(fields, name) {
        return Ok(&field.ty);
    }
    // An answer may have other fields, but hardly one that is called nearly like a declared one.
    let near = nearest(name, fields.iter().map(|field| field.name.as_str()));
    Err(near.map(|near| format!("the answer has no field `{name}`; did you mean `{near}`?")))
}

/// The form of expectations that the only key of a value is probably meant to be, for the end of a message.
fn near_form(json: &Json, fields: &[Field]) -> String {
    match json.members() {
        Some([only]) if find_field(fields, &only.key).is_none() => did_you_mean(&only.key, FORMS),
        _ => String::new(),
    }
}

/// Returns whether an issue is about a field that models do not see, which an answer may lack.
fn is_hidden(issue: &Issue) -> bool {
    matches!(issue.path.0.last(), Some(Segment::Field(name)) if name.starts_with('_'))
}

/// An issue with its place, if it has one.
fn line(issue: &Issue) -> String {
    if issue.path.0.is_empty() { issue.message.clone() } else { format!("`{}`: {}", issue.path, issue.message) }
}
