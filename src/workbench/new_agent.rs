//! Drafts without a readable file: new agents under a path that does not exist yet, and agent files that have errors.
//!
//! In: a [`NewAgent`], or a path. Out: an agent for the editors, or a new file of it. It must never replace a file.

use std::path::{Path, PathBuf};

use ptc_core::reasons::Reason;
use ptc_core::text::did_you_mean;

use super::files::check_folder;
use super::{AgentFile, AgentFiles, OpenAgent, Overwrite, SaveError, Workbench};
use crate::agent::{Agent, BUNDLED, BundledExample, DraftTexts, Mode};
use crate::config::read_regular_file;
use crate::event::ErrorRecord;

/// The model that answers only the example agents.
const DEMO: &str = "demo";
/// The model that answers any signature with generated data.
const SAMPLE: &str = "sample";
/// The ending of agent files.
const ENDING: &str = "toml";

/// Options of a new agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewAgent {
    /// The path of its file; without one, saving asks for it.
    pub path: Option<PathBuf>,
    /// Its mode; without one that of the example, else the default.
    pub mode: Option<Mode>,
    /// The example that it copies.
    pub from: Option<String>,
}

impl NewAgent {
    /// An empty agent at this path; without an ending the path gets `.toml`.
    pub fn at(name: &str) -> Self {
        let path = Path::new(name);
        let path = if path.extension().is_some() { path.to_owned() } else { path.with_extension(ENDING) };
        Self { path: Some(path), ..Self::default() }
    }
}

impl Workbench {
    /// Returns the agent that `new` describes. Where the default model only answers the examples, it names `sample`.
    ///
    /// Errors: the example is unknown; it cannot have this mode.
    pub fn new_agent(&self, new: &NewAgent) -> Result<Agent, ErrorRecord> {
        let refused = |message: String| ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) };
        let base = match new.from.as_deref() {
            None => Agent::default(),
            Some(name) => BundledExample::find(name)
                .ok_or_else(|| unknown_example(name))
                .and_then(|example| example.agent().map_err(|error| error.to_string()))
                .map_err(refused)?,
        };
        let stem = new.path.as_deref().and_then(Path::file_stem).and_then(|stem| stem.to_str());
        let agent = Agent { name: stem.unwrap_or("agent").to_owned(), ..base };
        let agent = match new.mode {
            None => agent,
            Some(mode) => agent.for_mode(mode).map_err(|findings| {
                let first = findings.into_iter().next().map(|finding| finding.message);
                refused(first.unwrap_or_default())
            })?,
        };
        let model = if self.model_name(None, &agent) == DEMO { Some(SAMPLE.to_owned()) } else { agent.model };
        Ok(Agent { model, ..agent })
    }

    /// Returns a new agent for the editors; saving creates its file.
    ///
    /// Errors: those of [`Workbench::new_agent`]; the file exists, or its folder does not.
    pub fn new_draft(&self, files: &AgentFiles, new: &NewAgent) -> Result<OpenAgent, ErrorRecord> {
        let agent = self.new_agent(new)?;
        let file = match &new.path {
            None => None,
            Some(path) => {
                let resolved = files.resolve(path);
                if resolved.exists() {
                    return Err(exists(path));
                }
                check_folder(&resolved).map_err(|error| {
                    let message = format!("{}: {error}", path.display());
                    ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) }
                })?;
                Some(AgentFile { path: path.clone(), sha: String::new() })
            }
        };
        Ok(OpenAgent { texts: DraftTexts::of(&agent), file, ..OpenAgent::default() })
    }

    /// Creates the file of a new agent and returns its path.
    ///
    /// Errors: those of [`Workbench::new_draft`]; the file cannot be written.
    pub fn create_agent(&self, files: &AgentFiles, new: &NewAgent) -> Result<PathBuf, ErrorRecord> {
        let path = new.path.clone().unwrap_or_else(|| Path::new("agent").with_extension(ENDING));
        let new = NewAgent { path: Some(path.clone()), ..new.clone() };
        self.new_draft(files, &new)?;
        let saved = files.save(&path, &self.new_agent(&new)?, None, Overwrite::Unchanged);
        saved.map(|file| file.path).map_err(|error| match error {
            SaveError::Changed => exists(&path),
            SaveError::Failed(error) => error,
        })
    }
}

impl AgentFiles {
    /// Returns the texts of an agent file that has errors; `None` if it cannot be read as text, or is a pipeline.
    pub fn open_unreadable(&self, name: &str) -> Option<OpenAgent> {
        let path = Path::new(name);
        let text = read_regular_file(&self.resolve(path)).ok()?;
        let texts = DraftTexts::of_unreadable(&text, path, &self.access)?;
        Some(OpenAgent { texts, file: self.opened(path), ..OpenAgent::default() })
    }

    /// Returns whether this is the path of an agent file that does not exist yet.
    pub fn is_new(&self, name: &str) -> bool {
        let path = Path::new(name);
        path.extension().is_some_and(|ending| ending == ENDING) && !self.resolve(path).exists()
    }
}

fn exists(path: &Path) -> ErrorRecord {
    let message = format!("{} already exists: open it, or choose another name", path.display());
    ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) }
}

fn unknown_example(name: &str) -> String {
    let names = || BUNDLED.iter().map(|example| example.name);
    let near = did_you_mean(name, names());
    format!("unknown example `{name}`{near} (examples: {})", names().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Folders};

    fn workbench() -> Workbench {
        Workbench::new(Config::built_in().unwrap(), Folders::new(None))
    }

    #[test]
    fn a_name_becomes_the_path_and_the_name_of_the_agent() {
        let new = NewAgent::at("work/invoice");
        assert_eq!(new.path.as_deref(), Some(Path::new("work/invoice.toml")));
        assert_eq!(NewAgent::at("a.toml").path.as_deref(), Some(Path::new("a.toml")));
        assert_eq!(workbench().new_agent(&new).unwrap().name, "invoice");
    }

    #[test]
    fn a_new_agent_names_a_model_that_can_answer_it() {
        for from in std::iter::once(None).chain(BUNDLED.iter().map(|example| Some(example.name.to_owned()))) {
            let agent = workbench().new_agent(&NewAgent { from, ..NewAgent::at("mine") }).unwrap();
            assert_eq!((agent.name.as_str(), agent.model.as_deref()), ("mine", Some(SAMPLE)));
        }
    }

    #[test]
    fn an_unknown_example_and_a_mode_without_tools_are_refused_with_advice() {
        let from = |name: &str| NewAgent { from: Some(name.to_owned()), ..NewAgent::at("mine") };
        let error = workbench().new_agent(&from("sentimant")).unwrap_err();
        assert!(error.message.contains("did you mean `sentiment`?"), "{}", error.message);
        let error = workbench().new_agent(&NewAgent { mode: Some(Mode::Json), ..from("booking") });
        assert!(error.is_err_and(|error| error.message.contains("json mode has no tools")));
    }

    #[test]
    fn a_file_that_exists_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (workbench, files) = (workbench(), AgentFiles::default());
        let new = NewAgent { path: Some(dir.path().join("a.toml")), mode: Some(Mode::Text), from: None };
        let path = workbench.create_agent(&files, &new).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("mode = \"text\""), "{text}");
        std::fs::write(&path, "own").unwrap();
        assert!(workbench.create_agent(&files, &new).unwrap_err().message.contains("already exists"));
        assert!(workbench.new_draft(&files, &new).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "own");
        let lost = NewAgent { path: Some(dir.path().join("no/a.toml")), ..new };
        let message = workbench.new_draft(&files, &lost).unwrap_err().message;
        assert!(message.contains(": the folder ") && message.ends_with("no does not exist"), "{message}");
    }
}
