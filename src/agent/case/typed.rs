//! Cells of tables as values: text in the type of the parameter or the output that it is for.
//!
//! In: the signature of an agent, the text of a cell. Out: JSON, or the problem. Only cells of text tables are converted; values of JSON
//! rows have their types.

use ptc_core::signature::{self, Signature, Type};
use ptc_core::value::Json;

use crate::agent::undeclared::undeclared_inputs;
use crate::agent::{Agent, Diagnostic, InputFile, RawSchema};
use crate::config::document::{json_or_text, parse_json_text};

/// The types of an agent's inputs and output, as far as its signature names them.
#[derive(Debug, Clone, Default)]
pub(super) struct Types {
    signature: Option<Signature>,
    /// The schema in place of the output.
    schema: Option<RawSchema>,
    /// The prompt and the pinned program.
    text: String,
    /// The agent's own context.
    context: Json,
    /// The names of the agent's tools, those of its modes included.
    tools: Vec<String>,
}

impl Types {
    pub(super) fn of(agent: &Agent) -> Self {
        let parsed = agent.signature.as_deref().and_then(|text| signature::parse_inputs(text).ok());
        let schema = agent.schema.as_ref().and_then(|schema| RawSchema::compile(schema).ok());
        let text = format!("{}\n{}", agent.prompt, agent.program().unwrap_or_default());
        let of_modes = agent.modes.iter().filter_map(|(_, section)| section.get("tools")?.members()).flatten();
        let tools = agent.tools.iter().map(|tool| &tool.name).chain(of_modes.map(|member| &member.key));
        let (context, tools) = (agent.context.clone(), tools.cloned().collect());
        Self { signature: parsed, schema, text, context, tools }
    }

    /// The agent's own context.
    pub(super) fn own_context(&self) -> &Json {
        &self.context
    }

    /// The names of the agent's tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    /// A finding for each input of a context that the signature does not declare.
    pub(super) fn undeclared_inputs(&self, context: &Json) -> Vec<Diagnostic> {
        self.signature.as_ref().map(|signature| undeclared_inputs(signature, context)).unwrap_or_default()
    }

    /// The type of the answer, where the signature names it.
    pub(super) fn output(&self) -> Option<&Type> {
        self.signature.as_ref()?.output.as_ref()
    }

    /// The schema of the answer, where it replaces the signature's output.
    pub(super) fn schema(&self) -> Option<&RawSchema> {
        self.schema.as_ref()
    }

    /// Returns whether the parameters are declared.
    pub(super) fn has_params(&self) -> bool {
        self.signature.as_ref().is_some_and(|signature| signature.params.is_some())
    }

    /// Returns whether the prompt or the program contains this word.
    pub(super) fn names(&self, word: &str) -> bool {
        self.text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).any(|part| part == word)
    }

    /// The names of the parameters.
    pub(super) fn params(&self) -> impl Iterator<Item = &str> {
        let params = self.signature.iter().flat_map(|signature| signature.params.iter().flatten());
        params.map(|field| field.name.as_str())
    }

    /// The value of a cell for an input. `None` for an empty cell of an optional parameter, or of one that is not text.
    pub(super) fn input(&self, name: &str, cell: &Json) -> Result<Option<Json>, String> {
        let Some(text) = cell.as_str() else { return Ok(Some(cell.clone())) };
        let Some(field) = self.signature.as_ref().and_then(|signature| signature.param(name)) else {
            return Ok(Some(Json::str(text)));
        };
        if text.is_empty() && (field.ty.is_optional() || !is_text(field.ty.base())) {
            return Ok(None);
        }
        value(field.ty.base(), text).map(Some).map_err(|why| format!("the input `{name}`: {why}"))
    }

    /// The value of a cell that the answer is compared with, or the field of it at `path`.
    pub(super) fn expected(&self, path: &str, cell: &Json) -> Result<Json, String> {
        let Some(text) = cell.as_str() else { return Ok(cell.clone()) };
        let Some(output) = self.output() else { return Ok(Json::str(text)) };
        let mut ty = output;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            ty = match ty.base() {
                Type::List(item) => item,
                record => match record.fields().iter().find(|field| field.name == step) {
                    Some(field) => &field.ty,
                    None => return json_or_text(text).map_err(|error| format!("the expected `{path}` is {error}")),
                },
            };
        }
        let place = if path.is_empty() { "the expected answer".to_owned() } else { format!("the expected `{path}`") };
        value(ty.base(), text).map_err(|why| format!("{place}: {why}"))
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::String | Type::Keyword | Type::Datetime | Type::Enum(_))
}

/// The value of a text in this type.
fn value(ty: &Type, text: &str) -> Result<Json, String> {
    match ty {
        _ if is_text(ty) => Ok(Json::str(text)),
        // The name of a file; an object names a resource, or a file as cases do.
        Type::File if !text.trim_start().starts_with('{') => Ok(InputFile::value(text)),
        Type::Any => json_or_text(text).map_err(|error| format!("the JSON is {error}")),
        _ => parse_json_text(text.trim()).map_err(|error| {
            if error.is_ambiguous() {
                format!("the JSON is {error}")
            } else {
                format!("{text:?} is not {} as JSON", ty.render())
            }
        }),
    }
}
