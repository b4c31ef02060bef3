//! Construction checks: an agent must be usable in its mode. All findings are collected; nothing is run.
//!
//! In: an [`Agent`]. Out: its parsed texts, as far as they can be read, and diagnostics with their place.

use ptc_core::limits::{self, Limit};
use ptc_core::reasons::Reason;
use ptc_core::reply::Recovery;
use ptc_core::signature::{self, Field, Signature, Type};
use ptc_core::template::{self, Template};
use ptc_core::text::{Span, nearest};
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::fields::VALIDATION;
use super::{Agent, Diagnostic, Mode, Place, RawSchema, Severity, is_key};
use crate::config::document::{advice, out_of_range};

/// The parsed texts of an agent, as far as they can be read, and the findings about it.
pub(super) struct ParsedAgent {
    pub(super) signature: Option<Signature>,
    pub(super) template: Option<Template>,
    pub(super) schema: Option<RawSchema>,
    pub(super) findings: Vec<Diagnostic>,
}

/// Checks everything about an agent but its context.
pub(super) fn check(agent: &Agent) -> ParsedAgent {
    let mut parsed = ParsedAgent { signature: None, template: None, schema: None, findings: Vec::new() };
    check_mode(agent, &mut parsed.findings);
    check_limits(agent, &mut parsed.findings);
    check_names(agent, &mut parsed.findings);
    check_system_prompt(agent, &mut parsed.findings);
    parsed.findings.extend(agent.cases().err());
    parsed.template = read_template(agent, &mut parsed.findings);
    parsed.signature = read_signature(agent, &mut parsed.findings);
    parsed.schema = read_schema(agent, &mut parsed.findings);
    if let (Some(signature), Some(template)) = (&parsed.signature, &parsed.template) {
        check_template(agent, signature, template, &mut parsed.findings);
    }
    if let Some(signature) = &parsed.signature {
        check_signature(agent, signature, &mut parsed.findings);
        check_descriptions(agent, signature, &mut parsed.findings);
    }
    parsed
}

fn option(key: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Place::Options, Reason::InvalidAgent, message).key(key)
}

fn check_mode(agent: &Agent, findings: &mut Vec<Diagnostic>) {
    findings.extend(tools_refused(agent));
    if matches!(agent.mode, Mode::Json | Mode::Text) {
        let keys = ["compaction", "compression"].into_iter().filter(|key| agent.asks(key));
        findings.extend(
            keys.map(|key| option(key, format!("{} mode does not shorten its history; remove `{key}`", agent.mode))),
        );
    }
    if agent.asks("verbatim") && (agent.mode.is_program() || agent.mode == Mode::JsonLoop || is_combined(agent)) {
        let message = "`verbatim` sends no text of this program, and a model needs the description of programs and control \
                       objects; remove it, or use the mode json, or text without `transport`";
        findings.push(option("verbatim", message));
    }
    if agent.mode == Mode::JsonLoop {
        let keys = ["progress", "journaling"].into_iter().filter(|key| agent.option(key).is_some_and(is_set));
        findings.extend(keys.map(|key| {
            option(key, format!("`{key}` is for programs, and json_loop runs none; remove it, or use ptc_lisp"))
        }));
    }
}

/// The recovery level: as written, else strict in `json_loop` and standard in other modes. The name has been checked.
pub(super) fn recovery(agent: &Agent) -> Recovery {
    let usual = if agent.mode == Mode::JsonLoop { Recovery::Strict } else { Recovery::Standard };
    agent.recovery.as_deref().and_then(Recovery::from_name).unwrap_or(usual)
}

/// The refusal of tools in json mode.
pub(super) fn tools_refused(agent: &Agent) -> Option<Diagnostic> {
    if agent.mode != Mode::Json {
        return None;
    }
    let mut names: Vec<String> = agent.tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
    let declared = (!names.is_empty()).then_some(("tools", "{}"));
    let mut keys: Vec<(&str, &str)> = declared.into_iter().collect();
    for (key, without) in [("builtin_tools", "[]"), ("llm_query", "false")] {
        if agent.asks(key) {
            names.push(format!("`{key}`"));
            keys.push((key, without));
        }
    }
    let (first, _) = *keys.first()?;
    let without: Vec<String> = keys.iter().map(|(key, without)| format!("`{key} = {without}`")).collect();
    let message = format!(
        "json mode has no tools, and this agent declares {}; remove them, write {} in [modes.json], or use another mode",
        names.join(", "),
        without.join(" and ")
    );
    Some(option(first, message))
}

fn check_limits(agent: &Agent, findings: &mut Vec<Diagnostic>) {
    let given: [(&Limit, Option<u64>); 3] = [
        (&limits::MAX_TURNS, Some(agent.max_turns.into())),
        (&limits::MISSION_TIMEOUT, agent.mission_timeout_ms),
        (&limits::TOKEN_LIMIT, agent.token_limit),
    ];
    for (limit, value) in given {
        if let Some(value) = value.filter(|value| !(limit.min..=limit.max).contains(value)) {
            findings.push(option(limit.name, out_of_range(limit.name, limit, value)));
        }
    }
}

fn check_names(agent: &Agent, findings: &mut Vec<Diagnostic>) {
    let levels = Recovery::ALL.map(Recovery::name);
    let recovery = agent.recovery.as_deref().unwrap_or(levels[0]);
    let words: [(&str, &str, &str, &[&str]); 2] = [
        ("recovery", "recovery level", recovery, &levels),
        ("signature_validation", "signature_validation", &agent.signature_validation, &VALIDATION),
    ];
    for (key, what, word, known) in words {
        if !known.contains(&word) {
            findings.push(option(key, format!("unknown {what} `{word}`{}", advice(word, known))));
        }
    }
}

/// Parts of the card replace required parts.
fn check_system_prompt(agent: &Agent, findings: &mut Vec<Diagnostic>) {
    let has_format = agent.mode == Mode::PtcLisp;
    let has_programs = has_format || is_combined(agent);
    let custom = &agent.system_prompt;
    let parts =
        [("language_spec", &custom.language_spec, has_programs), ("output_format", &custom.output_format, has_format)];
    for (name, _, is_there) in parts.into_iter().filter(|(_, text, _)| text.is_some()) {
        let why = match () {
            () if !is_there => format!("the text of {} mode has no such part", agent.mode),
            () if has_format && custom.replace.is_some() => "`replace` takes the place of all parts".to_owned(),
            () => continue,
        };
        let key = format!("system_prompt.{name}");
        findings.push(option(&key, format!("`{key}` is not used: {why}")).warning());
    }
}

/// Returns whether an option is set: it is not `false`, null or an empty list.
fn is_set(value: &Json) -> bool {
    match &value.node {
        Node::Bool(truth) => *truth,
        Node::List(items) => !items.is_empty(),
        Node::Null => false,
        _ => true,
    }
}

/// Returns whether the mode `text` offers programs next to native tools.
pub(super) fn is_combined(agent: &Agent) -> bool {
    agent.mode == Mode::Text && agent.option("transport").and_then(Json::as_str) == Some("tool_call")
}

fn read_template(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Option<Template> {
    if agent.prompt.trim().is_empty() {
        let message = "the prompt is empty; describe the task";
        findings.push(Diagnostic::error(Place::Prompt, Reason::InvalidAgent, message).key("prompt"));
        return None;
    }
    if agent.plain_text_option().is_some() {
        return Some(template::literal(&agent.prompt));
    }
    template::parse(&agent.prompt)
        .map_err(|error| {
            let found = Diagnostic::error(Place::Prompt, Reason::TemplateError, error.message).key("prompt");
            findings.push(found.at(error.span));
        })
        .ok()
}

fn read_signature(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Option<Signature> {
    let Some(text) = agent.signature.as_deref().filter(|text| !text.trim().is_empty()) else {
        if agent.mode == Mode::Json && agent.schema.is_none() {
            let message = "json mode needs a signature that declares the output, such as \
                           `(text :string) -> {sentiment :string, score :float}`, or a schema";
            findings.push(Diagnostic::error(Place::Signature, Reason::InvalidAgent, message).key("signature"));
        }
        return None;
    };
    let parsed = if agent.schema.is_some() { signature::parse_inputs(text) } else { signature::parse(text) };
    parsed
        .map_err(|error| {
            let found = Diagnostic::error(Place::Signature, Reason::SignatureError, error.to_string()).key("signature");
            findings.push(found.at(error.span));
        })
        .ok()
}

fn read_schema(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Option<RawSchema> {
    let schema = agent.schema.as_ref()?;
    RawSchema::compile(schema).map_err(|message| findings.push(option("schema", message))).ok()
}

fn check_template(agent: &Agent, signature: &Signature, template: &Template, findings: &mut Vec<Diagnostic>) {
    let found = match agent.mode {
        Mode::PtcLisp => template::check_references(template, signature),
        _ => template::check(template, signature),
    };
    findings.extend(found.into_iter().map(Diagnostic::from));
    for name in template::unused(template, signature) {
        let is_file = signature.param(name).is_some_and(|param| param.ty.is_file());
        if is_file {
            // The file is sent next to the prompt in every mode.
            continue;
        }
        let (severity, message) = if agent.mode == Mode::Text {
            let advice = match agent.plain_text_option() {
                Some(option) => format!("the prompt is plain text (`{option}`); remove the parameter or `{option}`"),
                None => format!("write `{{{{{name}}}}}` or remove it"),
            };
            (Severity::Error, format!("the prompt does not use the parameter `{name}`; {advice}"))
        } else if agent.mode == Mode::Json {
            (
                Severity::Warning,
                format!("the prompt does not use the parameter `{name}`; its value is added below the prompt"),
            )
        } else {
            continue;
        };
        let span = signature.param(name).map(|field| field.span);
        let found = Diagnostic::error(Place::Signature, Reason::TemplateError, message);
        findings.push(Diagnostic { span, severity, ..found.key(name) });
    }
}

fn check_signature(agent: &Agent, signature: &Signature, findings: &mut Vec<Diagnostic>) {
    let text = agent.signature.as_deref().unwrap_or_default();
    if agent.schema.is_some() && signature.output.is_some() {
        let message = "the schema replaces the output; write only the parameters in the signature, such as `(text :string)`, \
                       or remove the schema";
        let arrow = text.find("->").unwrap_or(0);
        let found = Diagnostic::error(Place::Signature, Reason::InvalidAgent, message).key("signature");
        findings.push(found.at(Span::new(arrow, text.len())));
    }
    if agent.asks("verbatim") {
        let is_text = |field: &&Field| !field.ty.is_file();
        for field in signature.params.iter().flatten().filter(is_text) {
            let message = format!(
                "the input `{}` would not be sent: with `verbatim` an agent has inputs of type :file only; write the text into the prompt",
                field.name
            );
            let found = Diagnostic::error(Place::Signature, Reason::InvalidAgent, message).key(&field.name);
            findings.push(found.at(field.span));
        }
    }
    if agent.mode != Mode::PtcLisp {
        for field in signature.hidden_fields() {
            let message = format!(
                "{} mode refuses names that start with `_`, such as `{}`: nothing is hidden from the model there; rename the field",
                agent.mode, field.name
            );
            let found = Diagnostic::error(Place::Signature, Reason::InvalidAgent, message).key(&field.name);
            findings.push(found.at(field.span));
        }
    }
}

/// The depth of a type is bounded by its reader.
fn fields_of<'a>(ty: &'a Type, found: &mut Vec<&'a Field>) {
    match ty.base() {
        Type::List(item) => fields_of(item, found),
        Type::Record { fields, .. } => {
            for field in fields {
                found.push(field);
                fields_of(&field.ty, found);
            }
        }
        _ => {}
    }
}

/// Returns whether values of a type have no fields, also as items of a list. (The depth is bounded as above.)
fn is_scalar(ty: &Type) -> bool {
    match ty.base() {
        Type::List(item) => is_scalar(item),
        Type::Any | Type::Map | Type::Record { .. } => false,
        _ => true,
    }
}

/// A description of a field that does not exist is a slip of the pen, not an error.
fn check_descriptions(agent: &Agent, signature: &Signature, findings: &mut Vec<Diagnostic>) {
    let mut outputs = Vec::new();
    if let Some(output) = &signature.output {
        fields_of(output, &mut outputs);
    }
    let outputs: Vec<&str> = outputs.into_iter().map(|field| field.name.as_str()).collect();
    let inputs: Vec<&str> = signature.params.iter().flatten().map(|field| field.name.as_str()).collect();
    let tables = [
        ("field_descriptions", "output field", &agent.field_descriptions, outputs),
        ("context_descriptions", "parameter", &agent.context_descriptions, inputs),
    ];
    for (key, what, rows, known) in tables {
        if known.is_empty() {
            // Without names a type may still have fields; a scalar has none.
            let scalar = signature.output.as_ref().filter(|output| key == "field_descriptions" && is_scalar(output));
            findings.extend(scalar.into_iter().flat_map(|output| {
                rows.iter().map(|(name, _)| {
                    let message =
                        format!("[{key}] describes `{name}`, but the output {} has no fields", output.render());
                    option(&format!("{key}.{name}"), message).warning()
                })
            }));
            continue;
        }
        for (name, _) in rows {
            let last = name.rsplit('.').next().unwrap_or(name);
            if known.iter().any(|known| signature::underscored(known) == signature::underscored(last)) {
                continue;
            }
            let advice = if is_key(name) && nearest(last, known.iter().copied()).is_none() {
                "; as a key of the agent it belongs at the top, above the first [table]".to_owned()
            } else {
                advice(last, &known)
            };
            let message = format!("[{key}] describes `{name}`, but the {what} is unknown{advice}");
            findings.push(option(&format!("{key}.{name}"), message).warning());
        }
    }
}

impl Agent {
    /// The position of a finding in the texts of the agent, such as `signature, line 1, column 5: `; empty without one.
    pub fn position_of(&self, found: &Diagnostic) -> String {
        let (name, text) = match found.place {
            Place::Prompt => ("prompt", self.prompt.as_str()),
            Place::Signature => ("signature", self.signature.as_deref().unwrap_or_default()),
            Place::Context => ("context", ""),
            Place::Program => ("program", self.program().unwrap_or_default()),
            Place::Tools | Place::Options => (found.key.as_str(), ""),
        };
        match found.span {
            Some(span) if !text.is_empty() => format!("{name}, {}: ", span.line_col(text)),
            _ if name.is_empty() => String::new(),
            _ => format!("{name}: "),
        }
    }
}
