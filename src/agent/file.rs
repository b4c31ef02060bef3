//! Agent files: TOML ↔ [`Agent`].
//!
//! In: TOML text and the name of its file. Out: an agent as written, or the first problem with its line and column; and TOML again,
//! such that reading it gives an equal agent. Nothing is checked here beyond names, kinds and ranges of the keys.

use std::fmt::Write as _;
use std::path::Path;

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::inline::Source;
use super::keys::{Target, apply, written_fields};
use super::{Agent, Diagnostic, Mode};
use crate::config::document::{self, Entry, FileError, Problems};
use crate::config::read_named_file;
use crate::event::{AgentRecord, hex_sha};
use crate::tool::FileAccess;

impl Agent {
    /// Reads an agent file that the user names; it may be a pipe. `@file` in it starts from its folder, and may name files
    /// of that folder only.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Self::read_with(path, &FileAccess::default())
    }

    /// Like [`Self::read`], with this access to other files.
    pub fn read_with(path: &Path, access: &FileAccess) -> Result<Self, FileError> {
        let file = path.display().to_string();
        let text = read_named_file(path).map_err(|error| FileError::unreadable(&file, &error))?;
        Self::from_toml_with(&text, &file, access)
    }

    /// The agent of a TOML text. `file` is its name for messages, and its folder is where `@file` starts from; files of
    /// other folders are refused.
    /// Without the key `name` the agent is named after the file. Line ends are read as line feeds (TOML leaves that to its
    /// readers), so that a file means the same on every machine.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, FileError> {
        Self::from_toml_with(text, file, &FileAccess::default())
    }

    /// Like [`Self::from_toml`], with this access to other files.
    pub fn from_toml_with(text: &str, file: &str, access: &FileAccess) -> Result<Self, FileError> {
        Self::from_source(text, file, &Source::file(Path::new(file), access))
    }

    /// The agent of a TOML text that names no files: a recorded or an edited definition.
    pub(crate) fn from_complete(text: &str, label: &str) -> Result<Self, FileError> {
        Self::from_source(text, label, &Source::complete())
    }

    fn from_source(text: &str, file: &str, source: &Source) -> Result<Self, FileError> {
        let text = &text.replace("\r\n", "\n");
        let mut problems = Problems::default();
        let agent = read_from(Self::named_after(Path::new(file)), text, source, &mut problems);
        problems.or_error(agent, file, text)
    }

    /// Reads a TOML text as far as possible; returns every problem, as `file:line:column: message`.
    pub(crate) fn read_partially(text: &str, file: &str, access: &FileAccess) -> (Self, Vec<FileError>) {
        let text = &text.replace("\r\n", "\n");
        let mut problems = Problems::default();
        let source = Source::file(Path::new(file), access);
        let agent = read_from(Self::named_after(Path::new(file)), text, &source, &mut problems);
        (agent, problems.sorted().iter().map(|problem| FileError::of(file, text, problem)).collect())
    }

    /// An agent with every default, named after its file.
    pub(super) fn named_after(file: &Path) -> Self {
        let mut agent = Self::default();
        if let Some(stem) = file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| !stem.trim().is_empty()) {
            stem.clone_into(&mut agent.name);
        }
        agent
    }

    /// The agent of a table in another file, such as a step of a pipeline.
    pub(crate) fn from_entry(entry: &Entry<'_>, folder: &Path, access: &FileAccess) -> Result<Self, document::Problem> {
        let mut problems = Problems::default();
        let mut target = Target { agent: Self::default(), source: &Source::folder(folder, access) };
        apply(entry, &mut target, &mut problems);
        target.agent = target.agent.with_input_files(target.source, &mut problems);
        match problems.sorted().into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(target.agent),
        }
    }

    /// The agent of a file that the key `key` of a definition in this folder names. Errors: what is wrong, with the file.
    pub(crate) fn read_linked(folder: &Path, key: &str, name: &str, access: &FileAccess) -> Result<Self, String> {
        let path = folder.join(name);
        let file = path.display().to_string();
        let source = Source::folder(folder, access);
        let (below, text) = source.linked(key, name).map_err(|problem| format!("`{key}` {problem}"))?;
        let is_pipeline = |document: Json| document.get("steps").is_some_and(|steps| steps.items().is_some());
        if document::parse(&text).is_ok_and(is_pipeline) {
            return Err(format!("`{key}`: {file} is a pipeline, and pipelines cannot be nested; write its steps here"));
        }
        Self::from_source(&text, &file, &below).map_err(|error| error.to_string())
    }

    /// The agent as it is in one mode: the overrides of its section for that mode are applied. Ask for the mode in which it is to
    /// run even when that is its own; doing it twice changes nothing.
    ///
    /// Errors: a json mode with tools (they are named), an override that cannot be read.
    pub fn for_mode(&self, mode: Mode) -> Result<Self, Vec<Diagnostic>> {
        let mut target = Target { agent: Self { mode, ..self.clone() }, source: &Source::complete() };
        let mut problems = Problems::default();
        if let Some((_, overrides)) = self.modes.iter().find(|(other, _)| *other == mode) {
            apply(&Entry::root(overrides), &mut target, &mut problems);
        }
        let mut diagnostics: Vec<Diagnostic> =
            problems.sorted().into_iter().map(|problem| Diagnostic { span: None, ..problem.into() }).collect();
        diagnostics.extend(super::checks::tools_refused(&target.agent));
        if diagnostics.is_empty() { Ok(target.agent) } else { Err(diagnostics) }
    }

    /// The form that a session keeps. Agents inside name their mode there, so that a recording does not depend on the default.
    pub fn record(&self) -> AgentRecord {
        let toml = self.with_explicit_modes(Self::default().mode).to_toml();
        AgentRecord { name: self.name.clone(), sha: hex_sha(toml.as_bytes()), toml }
    }

    /// The agent of a record. Agents inside without a mode were recorded when the default was `json`.
    ///
    /// Errors: those of [`Agent::from_toml`].
    pub fn recorded(toml: &str) -> Result<Self, FileError> {
        Ok(Self::from_complete(toml, "the recorded agent")?.with_explicit_modes(Mode::Json))
    }

    /// The definition as an agent file. Reading it gives an equal agent; the same agent gives the same text.
    pub fn to_toml(&self) -> String {
        write(self, |_| true)
    }
}

/// The agent of a table inside another definition.
pub(super) fn from_table(table: &Json) -> Result<Agent, Vec<Diagnostic>> {
    let mut target = Target { agent: Agent::default(), source: &Source::complete() };
    let mut problems = Problems::default();
    apply(&Entry::root(table), &mut target, &mut problems);
    let found: Vec<Diagnostic> =
        problems.sorted().into_iter().map(|problem| Diagnostic { span: None, ..problem.into() }).collect();
    if found.is_empty() { Ok(target.agent) } else { Err(found) }
}

/// Sets one key of agent files; what is wrong with it.
pub(super) fn set(agent: &mut Agent, key: &str, value: Json) -> Vec<Diagnostic> {
    let mut target = Target { agent: std::mem::take(agent), source: &Source::complete() };
    let mut problems = Problems::default();
    apply(&Entry::root(&Json::empty().with(key, value)), &mut target, &mut problems);
    *agent = target.agent;
    problems.sorted().into_iter().map(|problem| Diagnostic { span: None, ..problem.into() }).collect()
}

/// Reads TOML text onto an agent. Problems are noted; what could be read is in the agent.
pub(super) fn read_from(base: Agent, text: &str, source: &Source, problems: &mut Problems) -> Agent {
    let mut target = Target { agent: base, source };
    if let Some(document) = problems.take(document::parse(text)) {
        apply(&Entry::root_with(&document, super::keys::reference), &mut target, problems);
    }
    target.agent.with_input_files(source, problems)
}

/// The keys that `wanted` names as TOML: single values first, then a section per table, lists of tables last.
pub(super) fn write(agent: &Agent, wanted: fn(&str) -> bool) -> String {
    let fields: Vec<(&str, Json)> = written_fields(agent).collect();
    let options = agent.options.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let (tables, values): (Vec<_>, Vec<_>) =
        fields.into_iter().chain(options).filter(|(name, _)| wanted(name)).partition(|(_, value)| is_section(value));
    let (lists, values): (Vec<_>, Vec<_>) = values.into_iter().partition(|(name, value)| is_sections(name, value));
    let mut out = String::new();
    for (name, value) in values {
        line(&mut out, name, &value);
    }
    for (name, table) in tables {
        match name {
            "tools" | "modes" => {
                for member in table.members().unwrap_or_default() {
                    section(&mut out, &format!("{name}.{}", document::write_key(&member.key)), &member.value);
                }
            }
            _ => section(&mut out, name, &table),
        }
    }
    for (name, list) in lists {
        for table in list.items().unwrap_or_default() {
            section(&mut out, &format!("[{name}]"), table);
        }
    }
    out
}

/// Returns whether a value is a list of tables that TOML can express and that is written as `[[name]]`.
fn is_sections(name: &str, value: &Json) -> bool {
    ["cases", "messages", "messages_after"].contains(&name)
        && value.items().is_some_and(|items| !items.is_empty() && items.iter().all(is_section))
}

/// Returns whether a value is a table that TOML can express.
fn is_section(value: &Json) -> bool {
    value.members().is_some() && document::to_inline(value).is_some()
}

fn section(out: &mut String, name: &str, table: &Json) {
    let gap = if out.is_empty() { "" } else { "\n" };
    _ = writeln!(out, "{gap}[{name}]");
    for member in table.members().unwrap_or_default() {
        line(out, &member.key, &member.value);
    }
}

/// One `key = value`. What TOML cannot express becomes JSON text, which the keys that may hold it accept.
fn line(out: &mut String, key: &str, value: &Json) {
    let value = document::to_inline(value)
        .or_else(|| document::to_inline(&Node::Str(value.to_text()).into()))
        .unwrap_or_default();
    _ = writeln!(out, "{} = {value}", document::write_key(key));
}
