//! The keys of agent files that are fields of an agent: how each is read and written.
//!
//! In: entries of a TOML document. Out: fields of an [`Agent`], and the values to write for one. Must not decide what a value
//! means for a run.

use std::path::Path;

use ptc_core::limits;
use ptc_core::reply::Recovery;
use ptc_core::value::Json;
use ptc_core::value::json::{self, to_json};

use super::inline::{Source, with_agent};
use super::keys::{AgentKey, KeyValue, Target, apply};
use super::{Agent, Mode, SystemPrompt, Tool};
use crate::config::OPTIONS;
use crate::config::document::{Entry, Key, KeyDoc, Names, Problem, Problems, parse_json_text, read_table, set};
use crate::event::Options;

/// Names of the ways to check inputs.
pub(crate) const VALIDATION: [&str; 4] = ["enabled", "warn_only", "strict", "disabled"];

/// The keys that are fields of an [`Agent`], in the order they are written.
pub(super) const FIELDS: &[AgentKey] = &[
    AgentKey {
        name: "name",
        about: KeyDoc::Text("text", "the name of the file", "Its name in sessions and lists."),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.name, entry.non_blank_text(), problems),
            write: |agent| Some(Json::str(&agent.name)),
        },
    },
    AgentKey {
        name: "description",
        about: KeyDoc::Text("text", "", "Its purpose, also shown to an agent that calls it as a tool."),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                set(&mut target.agent.description, entry.non_blank_text().map(Some), problems);
            },
            write: |agent| agent.description.as_ref().map(Json::str),
        },
    },
    AgentKey {
        name: "mode",
        about: KeyDoc::Text(
            "ptc_lisp, json, text, json_loop",
            "ptc_lisp",
            "How the model produces the answer (docs/modes.md).",
        ),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.mode, mode(entry), problems),
            write: |agent| Some(Json::str(agent.mode.name())),
        },
    },
    AgentKey {
        name: "model",
        about: KeyDoc::Text(
            "a model",
            "`default_model` of config.toml",
            "An alias, `provider:model`, or `demo`, `sample`, `human`, `recorded:SESSION`.",
        ),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.model, entry.non_blank_text().map(Some), problems),
            write: |agent| agent.model.as_ref().map(Json::str),
        },
    },
    AgentKey {
        name: "prompt",
        about: KeyDoc::Text("template", "", "The task, with `{{name}}` for inputs."),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.prompt, entry.text(), problems),
            write: |agent| Some(Json::str(&agent.prompt)),
        },
    },
    AgentKey {
        name: "signature",
        about: KeyDoc::Text("signature", "", "Inputs and outputs; json mode needs one, or a `schema`."),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.signature, entry.text().map(Some), problems),
            write: |agent| agent.signature.as_ref().map(Json::str),
        },
    },
    AgentKey {
        name: "schema",
        about: KeyDoc::Text(
            "JSON Schema",
            "",
            "A schema for the answer that replaces the signature's output: a table, JSON text, or `\"@file\"`.",
        ),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                set(&mut target.agent.schema, schema(entry, target.source).map(Some), problems);
            },
            write: |agent| agent.schema.as_ref().map(|schema| Json::str(schema.to_text())),
        },
    },
    AgentKey {
        name: "max_turns",
        about: KeyDoc::Limit(&limits::MAX_TURNS),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                let turns = entry.limit(&limits::MAX_TURNS);
                set(&mut target.agent.max_turns, turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)), problems);
            },
            write: |agent| Some(agent.max_turns.into()),
        },
    },
    AgentKey {
        name: "mission_timeout_ms",
        about: KeyDoc::Limit(&limits::MISSION_TIMEOUT),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                let limit = entry.limit(&limits::MISSION_TIMEOUT);
                set(&mut target.agent.mission_timeout_ms, limit.map(Some), problems);
            },
            write: |agent| agent.mission_timeout_ms.map(Json::from),
        },
    },
    AgentKey {
        name: "token_limit",
        about: KeyDoc::Limit(&limits::TOKEN_LIMIT),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                set(&mut target.agent.token_limit, entry.limit(&limits::TOKEN_LIMIT).map(Some), problems);
            },
            write: |agent| agent.token_limit.map(Json::from),
        },
    },
    AgentKey {
        name: "recovery",
        about: KeyDoc::Text(
            "strict, standard, lenient",
            "standard; strict in json_loop",
            "Which repairs of broken JSON in a reply are allowed (docs/reference.md lists them).",
        ),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                set(
                    &mut target.agent.recovery,
                    one_of("recovery level", &Recovery::ALL.map(Recovery::name), entry).map(Some),
                    problems,
                );
            },
            write: |agent| agent.recovery.as_ref().map(Json::str),
        },
    },
    AgentKey {
        name: "signature_validation",
        about: KeyDoc::Text(
            "enabled, warn_only, strict, disabled",
            "enabled",
            "How the context is checked against the parameters: `warn_only` runs in spite of errors, `strict` converts nothing, `disabled` checks nothing (`--set` still reads its text as the type of the parameter).",
        ),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                set(
                    &mut target.agent.signature_validation,
                    one_of("signature_validation", &VALIDATION, entry),
                    problems,
                );
            },
            write: |agent| Some(Json::str(&agent.signature_validation)),
        },
    },
    AgentKey {
        name: "cache",
        about: KeyDoc::Text(
            "true or false",
            "false",
            "Asks the service to keep the beginning of the prompt in its cache.",
        ),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.cache, entry.flag(), problems),
            write: |agent| agent.cache.then(|| true.into()),
        },
    },
    AgentKey {
        name: "system_prompt",
        about: KeyDoc::Text("text or table", "", "Text that replaces the mode's own, or a table of parts."),
        value: KeyValue::Field { read: read_system_prompt, write: write_system_prompt },
    },
    AgentKey {
        name: "model_options",
        about: KeyDoc::Text("table", "", "Options that are sent to the model."),
        value: KeyValue::Field {
            read: |entry, target, problems| {
                target.agent.model_options = Options::default();
                read_table(entry, OPTIONS, &mut target.agent.model_options, problems);
            },
            write: |agent| write_options(&agent.model_options),
        },
    },
    AgentKey {
        name: "context",
        about: KeyDoc::Text(
            "table or JSON text",
            "",
            "The inputs by the names of the parameters; JSON text for what TOML cannot express (null, integers beyond 64 bits).",
        ),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.context, object(entry), problems),
            write: |agent| filled(agent.context.clone()),
        },
    },
    AgentKey {
        name: "field_descriptions",
        about: KeyDoc::Text("table of strings", "", "Meanings of fields of the answer; part of the schema."),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.field_descriptions, entry.text_table(), problems),
            write: |agent| text_table(&agent.field_descriptions),
        },
    },
    AgentKey {
        name: "context_descriptions",
        about: KeyDoc::Text("table of strings", "", "Meanings of inputs, for programs."),
        value: KeyValue::Field {
            read: |entry, target, problems| set(&mut target.agent.context_descriptions, entry.text_table(), problems),
            write: |agent| text_table(&agent.context_descriptions),
        },
    },
    AgentKey {
        name: "tools",
        about: KeyDoc::Text("tables", "", "Its tools, one section `[tools.NAME]` each."),
        value: KeyValue::Field { read: read_tools, write: write_tools },
    },
    AgentKey {
        name: "modes",
        about: KeyDoc::Text(
            "tables",
            "",
            "Overrides for another mode: sections `[modes.NAME]` with any of these keys but `mode` and `modes`.",
        ),
        value: KeyValue::Field { read: read_modes, write: write_modes },
    },
];

fn mode(entry: &Entry<'_>) -> Result<Mode, Problem> {
    let rows = Mode::ALL.map(|mode| (mode.name(), mode));
    entry.named(&Names { what: "mode", rows: &rows })
}

fn one_of(what: &str, names: &[&'static str], entry: &Entry<'_>) -> Result<String, Problem> {
    let rows: Vec<(&str, &str)> = names.iter().map(|name| (*name, *name)).collect();
    entry.named(&Names { what, rows: &rows }).map(str::to_owned)
}

/// A table, JSON text, or `@file` with JSON text.
pub(super) fn schema(entry: &Entry<'_>, source: &Source) -> Result<Json, Problem> {
    let Some(text) = entry.json.as_str() else {
        return entry
            .entries()
            .map(|_| entry.json.clone())
            .map_err(|_| entry.expected("a table, JSON text or \"@file\""));
    };
    let Some(file) = text.strip_prefix('@') else {
        let is_file = Path::new(text).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let hint = if is_file { format!("; a file is named as \"@{text}\"") } else { String::new() };
        return parsed(entry, text, "the JSON text")
            .map_err(|problem| Problem { message: format!("{}{hint}", problem.message), ..problem });
    };
    let path = source.folder.join(file);
    let text =
        source.read(&entry.path, file).map_err(|problem| entry.problem(format!("`{}` {problem}", entry.path)))?;
    parse_json_text(&text).map_err(|error| entry.problem(format!("`{}`: {} is {error}", entry.path, path.display())))
}

fn parsed(entry: &Entry<'_>, text: &str, source: &str) -> Result<Json, Problem> {
    json::parse(text).map_err(|error| {
        let at = error.line_col(text);
        entry.problem(format!("`{}`: {source} is not JSON at {at}: {}", entry.path, error.message))
    })
}

/// A table, or JSON text for what TOML cannot express (null, integers beyond 64 bits).
fn object(entry: &Entry<'_>) -> Result<Json, Problem> {
    let json = match entry.json.as_str() {
        Some(text) => parsed(entry, text, "the JSON text")?,
        None => entry.json.clone(),
    };
    if json.members().is_none() {
        return Err(entry.expected("a table, or JSON text of an object"));
    }
    Ok(json)
}

/// Nothing for an empty table.
fn filled(table: Json) -> Option<Json> {
    (table.members() != Some(&[])).then_some(table)
}

fn text_table(rows: &[(String, String)]) -> Option<Json> {
    filled(Json::object(rows.iter().map(|(key, text)| (key, Json::str(text)))))
}

/// The parts of `[system_prompt]`.
pub(super) const SYSTEM_PROMPT: &[Key<SystemPrompt>] = &[
    Key {
        name: "replace",
        about: KeyDoc::Text("text", "", "Replaces the whole text of the mode; `system_prompt = \"…\"` is the same."),
        read: |entry, prompt, problems| set(&mut prompt.replace, entry.text().map(Some), problems),
    },
    Key {
        name: "prefix",
        about: KeyDoc::Text("text", "", "Before the text of the mode."),
        read: |entry, prompt, problems| set(&mut prompt.prefix, entry.text().map(Some), problems),
    },
    Key {
        name: "language_spec",
        about: KeyDoc::Text("full, none, or any text", "full", "Replaces the card of PTC-Lisp."),
        read: |entry, prompt, problems| set(&mut prompt.language_spec, entry.text().map(Some), problems),
    },
    Key {
        name: "output_format",
        about: KeyDoc::Text("text", "", "In `ptc_lisp`: replaces the description of the reply format."),
        read: |entry, prompt, problems| set(&mut prompt.output_format, entry.text().map(Some), problems),
    },
    Key {
        name: "suffix",
        about: KeyDoc::Text("text", "", "After the text of the mode."),
        read: |entry, prompt, problems| set(&mut prompt.suffix, entry.text().map(Some), problems),
    },
];

fn read_system_prompt(entry: &Entry<'_>, target: &mut Target<'_>, problems: &mut Problems) {
    let mut prompt = SystemPrompt::default();
    match entry.json.as_str() {
        Some(text) => prompt.replace = Some(text.to_owned()),
        None if entry.json.members().is_some() => read_table(entry, SYSTEM_PROMPT, &mut prompt, problems),
        None => problems.push(entry.expected("text, or a table with prefix and suffix")),
    }
    target.agent.system_prompt = prompt;
}

fn write_system_prompt(agent: &Agent) -> Option<Json> {
    let SystemPrompt { replace, prefix, language_spec, output_format, suffix } = &agent.system_prompt;
    let parts = [
        ("replace", replace),
        ("prefix", prefix),
        ("language_spec", language_spec),
        ("output_format", output_format),
        ("suffix", suffix),
    ];
    let written: Vec<_> = parts.into_iter().filter_map(|(key, text)| Some((key, Json::str(text.as_ref()?)))).collect();
    match written.as_slice() {
        [("replace", text)] => Some(text.clone()),
        _ => filled(Json::object(written)),
    }
}

fn write_options(options: &Options) -> Option<Json> {
    filled(to_json(options))
}

/// Tools are kept as written, agents in files of their own added: the kinds and their keys are checked by the modes that run tools.
fn read_tools(entry: &Entry<'_>, target: &mut Target<'_>, problems: &mut Problems) {
    let Some(entries) = problems.take(entry.entries()) else { return };
    let source = target.source;
    let tool = |entry: &Entry<'_>| {
        entry.entries()?;
        Ok(Tool { name: entry.key.to_owned(), definition: with_agent(entry, source)? })
    };
    target.agent.tools = entries.iter().filter_map(|entry| problems.take(tool(entry))).collect();
}

fn write_tools(agent: &Agent) -> Option<Json> {
    filled(Json::object(agent.tools.iter().map(|tool| (&tool.name, tool.definition.clone()))))
}

/// The sections are kept as written, after a check of every key in them.
fn read_modes(entry: &Entry<'_>, target: &mut Target<'_>, problems: &mut Problems) {
    let Some(entries) = problems.take(entry.entries()) else { return };
    target.agent.modes.clear();
    for entry in entries {
        let Some(mode) = Mode::from_name(entry.key) else {
            problems.push(entry.unknown(&Mode::ALL.map(Mode::name)));
            continue;
        };
        for nested in ["mode", "modes"] {
            if let Some(json) = entry.json.get(nested) {
                let message = format!("`{nested}` is not allowed in [{}]: the section overrides one mode", entry.path);
                problems.push(Problem { key: format!("{}.{nested}", entry.path), span: json.span, message });
            }
        }
        let mut scratch = Target { agent: Agent::default(), source: target.source };
        apply(&entry, &mut scratch, problems);
        let mut overrides = entry.json.clone();
        // The definition must be complete, whatever happens to the files it names.
        if let Some(schema) = scratch.agent.schema {
            overrides = with(&overrides, "schema", &Json::str(schema.to_text()));
        }
        if entry.json.get("tools").is_some() {
            let tools = scratch.agent.tools.into_iter().map(|tool| (tool.name, tool.definition));
            overrides = with(&overrides, "tools", &Json::object(tools));
        }
        target.agent.modes.push((mode, overrides));
    }
    target.agent.modes.sort_by_key(|(mode, _)| Mode::ALL.iter().position(|other| other == mode));
}

/// The object with one member's value replaced.
fn with(object: &Json, key: &str, value: &Json) -> Json {
    let members = object.members().unwrap_or_default().iter();
    Json::object(
        members
            .map(|member| (member.key.clone(), if member.key == key { value.clone() } else { member.value.clone() })),
    )
}

fn write_modes(agent: &Agent) -> Option<Json> {
    filled(Json::object(agent.modes.iter().map(|(mode, overrides)| (mode.name(), overrides.clone()))))
}
