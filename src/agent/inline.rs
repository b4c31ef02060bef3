//! Child agents of tools with a file of their own: read together with the file that names them, so that a definition stays
//! alone wherever it is recorded.
//!
//! In: a tool's table with `kind = "agent"` and `file`. Out: the same with that file's agent as its table `agent`; and back.
//! It must never follow files in a circle.

use std::path::{Path, PathBuf};

use ptc_core::value::Json;

use super::file::read_from;
use super::{Agent, Mode, Tool};
use crate::config::document::{self, Entry, Problem, Problems};
use crate::config::read_regular_file;
use crate::tool::SELF;

/// How deep files may name each other.
const DEEPEST: usize = 8;
/// Largest definition, with everything it holds, in bytes.
const LARGEST_BYTES: usize = 1 << 20;

/// Where a definition is read from.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    /// What relative names start from.
    pub(super) folder: PathBuf,
    /// The files that led here, the outermost first.
    files: Vec<PathBuf>,
}

impl Source {
    /// A text whose files lie in this folder.
    pub(super) fn folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), files: Vec::new() }
    }

    /// A file; when there is none of this name, a text that is called so.
    pub(super) fn file(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self { folder, files: path.canonicalize().into_iter().collect() }
    }

    /// The file that a tool names.
    fn source_of_tool(&self, entry: &Entry<'_>, name: &str) -> Result<Self, Problem> {
        let named = |problem: String| entry.problem(format!("`{}.file` names {problem}", entry.path));
        let path = self.folder.join(name);
        let file = path
            .canonicalize()
            .map_err(|error| named(format!("the file {}, which cannot be read: {error}", path.display())))?;
        if self.files.contains(&file) {
            let way: Vec<_> = self.files.iter().chain([&file]).map(|file| short(file)).collect();
            return Err(named(format!(
                "a file that leads back to itself: {}; an agent that calls itself writes file = \"{SELF}\"",
                way.join(" → ")
            )));
        }
        if self.files.len() > DEEPEST {
            return Err(named(format!("a file more than {DEEPEST} files deep; put agents into fewer files")));
        }
        let files = self.files.iter().cloned().chain([file]).collect();
        Ok(Self { folder: path.parent().unwrap_or(Path::new("")).to_owned(), files })
    }
}

fn short(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A tool's table with the agent of its file, when it names one and does not hold it yet.
pub(super) fn with_agent(entry: &Entry<'_>, source: &Source) -> Result<Json, Problem> {
    let text = |key: &str| entry.json.get(key).and_then(Json::as_str);
    let (Some("agent"), Some(name), None) = (text("kind"), text("file"), entry.json.get("agent")) else {
        return Ok(entry.json.clone());
    };
    if name == SELF {
        return Ok(entry.json.clone());
    }
    let below = source.source_of_tool(entry, name)?;
    let path = source.folder.join(name);
    let problem = |message: String| entry.problem(format!("`{}.file`: {message}", entry.path));
    let text = read_regular_file(&path)
        .map_err(|error| problem(format!("{} cannot be read: {error}", path.display())))?
        .replace("\r\n", "\n");
    let mut problems = Problems::default();
    let agent = read_from(Agent::named_after(&path), &text, &below, &mut problems);
    let agent =
        problems.or_first(agent, &path.display().to_string(), &text).map_err(|error| problem(error.to_string()))?;
    let whole = agent.to_toml();
    if whole.len() > LARGEST_BYTES {
        return Err(problem(format!(
            "{} is {} bytes with the agents in it; at most {LARGEST_BYTES} are allowed",
            path.display(),
            whole.len()
        )));
    }
    let table = document::parse(&whole).map_err(|found| problem(found.message))?;
    Ok(entry.json.clone().with("agent", table))
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
