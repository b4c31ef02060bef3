//! The context that `--context` and `--set` describe.

use std::path::Path;

use ptc_core::signature::{self, Type};
use ptc_core::text::{did_you_mean, without_mark};
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::arguments::AgentFlags;
use super::output::{UsageError, print_warning};
use crate::agent::{Agent, Context, InputFile, Step};
use crate::config::document::{JsonTextError, parse_json_text};
use crate::config::{read_named_bytes, read_named_file};
use crate::session::shell_word;
use crate::tool::FileAccess;

/// The given context: `--set` beats `--context`, which beats the agent's own. `None` when neither flag was given.
pub(super) fn context(flags: &AgentFlags, agent: &Agent, access: &FileAccess) -> Result<Option<Context>, UsageError> {
    if flags.context.is_none() && flags.set.is_empty() {
        return Ok(None);
    }
    let mut context = match &flags.context {
        Some(text) => context_of_text(text, &flags.set, agent, access)?,
        None => agent.context.clone().into(),
    };
    for pair in &flags.set {
        let SetInput { name, value, file } = set(pair, agent)?;
        context.json = context.json.without(&name).with(&name, value);
        context.files.extend(file);
    }
    Ok(Some(context))
}

/// The input that a flag `--set` gives.
pub(super) struct SetInput {
    /// The name of the input.
    pub(super) name: String,
    /// Its value.
    pub(super) value: Json,
    /// The file whose record is the value.
    pub(super) file: Option<InputFile>,
}

/// Reads `--set K=V`, `--set K=@FILE` or `--set K=@resource:SERVER:URI`: the value in the type of its parameter.
pub(super) fn set(pair: &str, agent: &Agent) -> Result<SetInput, UsageError> {
    if let Some((name, value)) = resource_of(pair, agent)? {
        return Ok(SetInput { name, value, file: None });
    }
    if let Some((name, file)) = file_of(pair, agent)? {
        return Ok(SetInput { name, value: file.record.json(), file: Some(file) });
    }
    let (name, value) = value_of(pair, agent)?;
    Ok(SetInput { name, value, file: None })
}

/// `--context JSON|@FILE`; the files that it names are read from the current folder.
fn context_of_text(text: &str, set: &[String], agent: &Agent, access: &FileAccess) -> Result<Context, UsageError> {
    let (name, json) = object(text)?;
    match step(&json) {
        None => {
            warn_undeclared(&json, agent);
            let read = agent.with_files_named_in(&json, Path::new(""), access);
            let (json, files) = read.map_err(|why| UsageError(format!("{name}: {why}")))?;
            Ok(Context { json, files, ..Context::default() })
        }
        Some(step) => {
            let signature = agent.signature.as_deref().and_then(|text| signature::parse_inputs(text).ok());
            let signature = signature.unwrap_or(signature::Signature { params: None, output: None });
            // What --set gives need not come from the step; the check of the context finds what is missing then.
            let chain = if set.is_empty() { Context::chained } else { Context::from_step };
            chain(&step, &signature).map_err(|error| UsageError(format!("{name}: {}: {}", error.reason, error.message)))
        }
    }
}

/// Warns of inputs of `--context` that the agent does not declare. They are not refused.
pub(super) fn warn_undeclared(context: &Json, agent: &Agent) {
    for found in agent.undeclared_inputs(context) {
        print_warning(&format!("--context: {}", found.message));
    }
}

/// The JSON object of `JSON|@FILE`, and the name to call it by.
pub(super) fn object(text: &str) -> Result<(String, Json), UsageError> {
    let name = text.strip_prefix('@').unwrap_or("--context").to_owned();
    let written = text;
    let text = text_of(text)?;
    let json = argument_json(&text, &name)?.map_err(|error| {
        let instead = instead_of_json(written);
        UsageError(format!("{name}: {}: the context is {}{instead}", error.at, error.problem()))
    })?;
    if json.members().is_none() {
        return Err(UsageError(format!("{name}: the context must be a JSON object")));
    }
    Ok((name, json))
}

/// Reads JSON of the command line; the inner error is that of a text which is not JSON.
///
/// Errors: an object has two members of one name. `name` is what the error calls the text.
pub(super) fn argument_json(text: &str, name: &str) -> Result<Result<Json, JsonTextError>, UsageError> {
    match parse_json_text(text) {
        Err(error) if error.is_ambiguous() => {
            Err(UsageError(format!("{name}: {}: the JSON is {}", error.at, error.problem())))
        }
        read => Ok(read),
    }
}

/// Returns a hint for the end of an error message: a text that is not JSON is probably the name of a file, or NAME=VALUE.
fn instead_of_json(text: &str) -> String {
    let is_json_like = text.trim_start().starts_with(['{', '[', '"', '@']);
    let name = text.split_once('=').map_or("", |(name, _)| name.trim());
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    if is_json_like {
        String::new()
    } else if is_name(name) {
        format!("; write --set {text}")
    } else if Path::new(text).is_file() || Path::new(text).extension().is_some_and(|ending| ending == "json") {
        format!("; a file is read with --context @{text}")
    } else {
        String::new()
    }
}

/// The Step that `run --json` printed, when the object is one.
fn step(json: &Json) -> Option<Step> {
    let is_step = ["usage", "turns", "memory", "signature", "name"].iter().all(|key| json.get(key).is_some());
    if !is_step {
        return None;
    }
    let fail = json.get("fail").filter(|fail| fail.node != Node::Null).map(|fail| {
        let word = |key: &str| fail.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        crate::event::ErrorRecord { reason: word("reason"), message: word("message"), ..Default::default() }
    });
    let descriptions = json.get("field_descriptions").and_then(Json::members).unwrap_or_default();
    Some(Step {
        value: json.get("return").map(Json::to_value).unwrap_or_default(),
        answer: json.get("return").cloned(),
        fail,
        name: json.get("name").and_then(Json::as_str).unwrap_or_default().to_owned(),
        field_descriptions: descriptions
            .iter()
            .filter_map(|member| Some((member.key.clone(), member.value.as_str()?.to_owned())))
            .collect(),
        ..Step::default()
    })
}

/// The text of `TEXT|@FILE`, without the byte order mark of a file.
pub(super) fn text_of(text: &str) -> Result<String, UsageError> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    if file.is_empty() {
        return Err(UsageError("`@` without a file: write @FILE".to_owned()));
    }
    Ok(without_mark(&read(file)?).to_owned())
}

/// The text of a file.
pub(super) fn read(file: &str) -> Result<String, UsageError> {
    read_named_file(Path::new(file)).map_err(|error| UsageError(format!("{file}: cannot be read: {error}")))
}

/// The parameter of type `:file` with this name.
fn file_param(name: &str, agent: &Agent) -> Option<String> {
    let signature = agent.signature.as_deref().and_then(|text| signature::parse_inputs(text).ok())?;
    signature.param(name).filter(|field| field.ty.is_file()).map(|field| field.name.clone())
}

/// `--set K=@resource:SERVER:URI` for a parameter of type `:file`: the name and the value that names the resource.
fn resource_of(pair: &str, agent: &Agent) -> Result<Option<(String, Json)>, UsageError> {
    let Some((name, text)) = pair.split_once("=@resource:") else { return Ok(None) };
    let Some(field) = file_param(name, agent) else { return Ok(None) };
    let value = InputFile::resource_value(text);
    let value = value.ok_or_else(|| UsageError(format!("--set {pair}: write it as {name}=@resource:SERVER:URI")))?;
    Ok(Some((field, value)))
}

/// `--set K=@FILE` for a parameter of type `:file`: the name and the file.
fn file_of(pair: &str, agent: &Agent) -> Result<Option<(String, InputFile)>, UsageError> {
    let Some((name, path)) = pair.split_once("=@") else { return Ok(None) };
    let Some(field) = file_param(name, agent) else { return Ok(None) };
    let read = read_named_bytes(Path::new(path)).and_then(|bytes| InputFile::new(path, bytes));
    let file = read.map_err(|error| UsageError(format!("--set {name}: {path}: {error}")))?;
    Ok(Some((field, file)))
}

/// `--set K=V`: the name and the value in the type of its parameter.
fn value_of(pair: &str, agent: &Agent) -> Result<(String, Json), UsageError> {
    let (name, text) = pair
        .split_once('=')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or_else(|| UsageError(format!("--set {pair}: write it as NAME=VALUE or NAME=@FILE")))?;
    let is_file = text.starts_with('@');
    let text = text_of(text).map_err(|error| literal_at(&error, name, text))?;
    let signature = agent.signature.as_deref().and_then(|text| signature::parse_inputs(text).ok());
    let params = signature.as_ref().and_then(|signature| signature.params.as_deref()).unwrap_or_default();
    let field = signature.as_ref().and_then(|signature| signature.param(name));
    let Some(field) = field else {
        if params.is_empty() {
            let json = argument_json(&text, &format!("--set {name}"))?;
            return Ok((name.to_owned(), json.unwrap_or_else(|_| Json::str(text))));
        }
        let names = || params.iter().map(|field| field.name.as_str());
        let near = did_you_mean(name, names());
        let known = names().collect::<Vec<_>>().join(", ");
        return Err(UsageError(format!("--set {name}: no such parameter{near} (parameters: {known})")));
    };
    match field.ty.base() {
        Type::String | Type::Keyword | Type::Datetime | Type::Enum(_) => Ok((field.name.clone(), Json::str(text))),
        Type::Bool if !is_file && !["true", "false", "null"].contains(&text.trim()) => {
            Err(UsageError(format!("--set {name}: must be true or false, found {text:?}")))
        }
        _ => {
            let json = argument_json(&text, &format!("--set {name}"))?;
            json.map(|json| (field.name.clone(), json)).map_err(|error| {
                let (at, ty) = (error.at, field.ty.render());
                UsageError(format!("--set {name}: {at}: {} (the parameter is {ty})", error.parts().1))
            })
        }
    }
}

/// The error of a file that cannot be read, with the way to give a text that begins with `@`.
fn literal_at(error: &UsageError, name: &str, text: &str) -> UsageError {
    let json = Json::empty().with(name, Json::str(text)).to_text();
    UsageError(format!(
        "{}; `@` reads a file; to pass this text itself, write --context {}",
        error.0,
        shell_word(&json)
    ))
}
