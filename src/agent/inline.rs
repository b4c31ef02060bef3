//! Child agents of tools with a file of their own: read together with the file that names them, so that a definition stays
//! alone wherever it is recorded.
//!
//! In: a tool's table with `kind = "agent"` and `file`. Out: the same with that file's agent as its table `agent`; and back.
//! It must never follow files in a circle.

use std::path::{Path, PathBuf};

use ptc_core::signature::underscored;
use ptc_core::value::Json;

use super::file::read_from;
use super::input_file::InputFile;
use super::{Agent, Mode, Tool};
use crate::config::document::{self, Entry, Problem, Problems};
use crate::config::read_resolved_file;
use crate::tool::{FileAccess, FileRefusal, SELF};

/// Deepest nesting of files that name each other.
const DEEPEST: usize = 8;
/// Largest definition, with everything it holds, in bytes.
const LARGEST_BYTES: usize = 1 << 20;

/// The origin of a definition, and the files that it may name.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The folder that relative names start from.
    pub(super) folder: PathBuf,
    /// The folder of the outermost definition, resolved: its files need no consent.
    root: PathBuf,
    access: FileAccess,
    /// The files that led here, the outermost first.
    files: Vec<PathBuf>,
}

impl Source {
    /// A definition that names no files: a recorded one, or a part of another.
    pub(super) fn complete() -> Self {
        Self { folder: PathBuf::new(), root: PathBuf::new(), access: FileAccess::nowhere(), files: Vec::new() }
    }

    /// A text whose files lie in this folder.
    pub(super) fn folder(folder: &Path, access: &FileAccess) -> Self {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let root = here.canonicalize().unwrap_or_else(|_| here.to_owned());
        Self { folder: folder.to_owned(), root, access: access.clone(), files: Vec::new() }
    }

    /// A file; when there is none of this name, a text that is called so.
    pub(super) fn file(path: &Path, access: &FileAccess) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        Self { files: path.canonicalize().into_iter().collect(), ..Self::folder(folder, access) }
    }

    /// Reads the file that a key names. Errors: the rest of a sentence that names the key.
    pub(super) fn read(&self, key: &str, name: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        let text = self.access.read(&self.root, key, &path);
        text.map_err(|refusal| format!("names the file {}, {refusal}", path.display()))
    }

    /// The context of the definition without the inputs that the user replaces.
    pub(super) fn without_replaced(&self, context: &Json) -> Json {
        let replaced = context.members().unwrap_or_default().iter().filter(|member| {
            let name = &member.key;
            self.access.replaced_inputs().has(&underscored(name))
        });
        replaced.fold(context.clone(), |context, member| context.without(&member.key))
    }

    /// Returns whether this is the source of a definition that names no files.
    pub(super) fn is_complete(&self) -> bool {
        self.access.is_nowhere()
    }

    /// Reads the file of an input. Errors: the rest of a sentence that names the key.
    pub(super) fn read_input(&self, key: &str, name: &str) -> Result<InputFile, String> {
        let path = self.folder.join(name);
        let refused = |refusal: FileRefusal| format!("names the file {}, {refusal}", path.display());
        let bytes = self.access.read_bytes(&self.root, key, &path).map_err(refused)?;
        InputFile::new(name, bytes).map_err(|error| refused(FileRefusal::Unreadable(error)))
    }

    /// The source of a file that a key names, and its text.
    pub(super) fn linked(&self, key: &str, name: &str) -> Result<(Self, String), String> {
        let path = self.folder.join(name);
        let named = |refusal: FileRefusal| format!("names the file {}, {refusal}", path.display());
        let file = self.access.resolve(&self.root, key, &path).map_err(named)?;
        if self.files.contains(&file) {
            let way: Vec<_> = self.files.iter().chain([&file]).map(|file| short(file)).collect();
            return Err(format!(
                "names a file that refers back to itself: {}; for an agent that calls itself, write file = \"{SELF}\"",
                way.join(" → ")
            ));
        }
        if self.files.len() > DEEPEST {
            return Err(format!("names a file more than {DEEPEST} files deep; put agents into fewer files"));
        }
        let text = read_resolved_file(&file).map_err(FileRefusal::Unreadable).map_err(named)?;
        let files = self.files.iter().cloned().chain([file]).collect();
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok((Self { folder, files, ..self.clone() }, text))
    }
}

fn short(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A tool's table in which no file is named any more: with the agent of its file, and with every file inside of it read.
pub(super) fn with_agent(entry: &Entry<'_>, source: &Source) -> Result<Json, Problem> {
    let text = |key: &str| entry.json.get(key).and_then(Json::as_str);
    if let (Some("agent"), Some(name), None) = (text("kind"), text("file"), entry.json.get("agent"))
        && name != SELF
    {
        return Ok(entry.json.clone().with("agent", agent_of_file(entry, name, source)?));
    }
    // In a table inside of another the keys have no position of their own.
    let mut table = entry.json.clone();
    if let Some(agent) = table.get("agent").filter(|agent| agent.members().is_some()) {
        let agent = complete(&inner(entry, "agent", agent), source)?;
        table = table.with("agent", agent);
    }
    if text("kind") == Some("llm") && table.get("tools").is_some_and(|tools| tools.members().is_some()) {
        table = complete(&Entry { json: &table, ..entry.clone() }, source)?;
    }
    Ok(table)
}

fn inner<'a>(entry: &Entry<'a>, key: &str, json: &'a Json) -> Entry<'a> {
    Entry { path: format!("{}.{key}", entry.path), json, ..entry.clone() }
}

/// The table of an agent, or a part of one, with the files read that it names. Its depth is that of a TOML text.
fn complete(entry: &Entry<'_>, source: &Source) -> Result<Json, Problem> {
    let mut table = entry.json.clone();
    if let Some(schema) = entry.json.get("schema").filter(|schema| schema.as_str().is_some()) {
        let schema = super::fields::schema(&inner(entry, "schema", schema), source)?;
        table = table.with("schema", Json::str(schema.to_text()));
    }
    for (key, each) in [("tools", with_agent as fn(&Entry<'_>, &Source) -> _), ("modes", complete)] {
        let Some(members) = entry.json.get(key).and_then(Json::members) else { continue };
        let mut whole = Json::empty();
        for member in members {
            let one = inner(entry, &format!("{key}.{}", member.key), &member.value);
            whole = whole.with(&member.key, each(&one, source)?);
        }
        table = table.with(key, whole);
    }
    Ok(table)
}

/// The agent of the file that a tool names, as a table.
fn agent_of_file(entry: &Entry<'_>, name: &str, source: &Source) -> Result<Json, Problem> {
    let key = format!("{}.file", entry.path);
    let named = |problem: String| entry.problem(format!("`{key}` {problem}"));
    let (below, text) = source.linked(&key, name).map_err(named)?;
    let path = source.folder.join(name);
    let problem = |message: String| entry.problem(format!("`{key}`: {message}"));
    let text = text.replace("\r\n", "\n");
    let mut problems = Problems::default();
    let agent = read_from(Agent::named_after(&path), &text, &below, &mut problems);
    let agent = problems.or_error(agent, &path.display().to_string(), &text).map_err(|mut error| {
        // A message about a key of another file is one line.
        error.others.clear();
        problem(error.to_string())
    })?;
    let whole = agent.to_toml();
    if whole.len() > LARGEST_BYTES {
        return Err(problem(format!(
            "{} is {} bytes with the agents in it; at most {LARGEST_BYTES} are allowed",
            path.display(),
            whole.len()
        )));
    }
    document::parse(&whole).map_err(|found| problem(found.message))
}

impl Agent {
    /// The definition as its file has it: agents with files of their own are omitted.
    pub(super) fn without_files(&self) -> Self {
        self.each_tool(&without_agent)
    }

    /// The definition in which every child agent has a mode: its own, else `usual`.
    pub(super) fn with_explicit_modes(&self, usual: Mode) -> Self {
        self.each_tool(&|tool| with_mode(tool, usual))
    }

    /// The definition with every tool's table changed, those of the modes' sections included.
    fn each_tool(&self, change: &dyn Fn(&Json) -> Json) -> Self {
        let tool = |tool: &Tool| Tool { name: tool.name.clone(), definition: change(&tool.definition) };
        let section = |(mode, overrides): &(Mode, Json)| (*mode, each_tool(overrides, change));
        Self {
            tools: self.tools.iter().map(tool).collect(),
            modes: self.modes.iter().map(section).collect(),
            ..self.clone()
        }
    }
}

/// An agent's table, or a part of it, with the tables under `tools` changed.
fn each_tool(table: &Json, change: &dyn Fn(&Json) -> Json) -> Json {
    table.map_members(|key, value| match key {
        "tools" => value.map_members(|_, tool| change(tool)),
        _ => value.clone(),
    })
}

/// A tool's table in which every agent, and every agent inside that one, has a mode. (The depth is that of a TOML text.)
fn with_mode(tool: &Json, usual: Mode) -> Json {
    let below = |tool: &Json| with_mode(tool, usual);
    let inner = each_tool(tool, &below).map_members(|key, agent| match key {
        "agent" if agent.members().is_some() => each_tool(agent, &below).map_members(|key, sections| match key {
            "modes" => sections.map_members(|_, section| each_tool(section, &below)),
            _ => sections.clone(),
        }),
        _ => agent.clone(),
    });
    inner.map_members(|key, agent| match agent.members() {
        Some(members) if key == "agent" && agent.get("mode").is_none() => {
            let first = Json::empty().with("mode", Json::str(usual.name()));
            members.iter().fold(first, |agent, member| agent.with(&member.key, member.value.clone()))
        }
        _ => agent.clone(),
    })
}

fn without_agent(tool: &Json) -> Json {
    if tool.get("file").is_some() { tool.clone().without("agent") } else { tool.clone() }
}
