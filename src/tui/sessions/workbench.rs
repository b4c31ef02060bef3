//! The dialogs of the workbench: which agent or pipeline to open, a new agent, at which breakpoints runs stop.

use std::path::{Path, PathBuf};

use crate::agent::{BUNDLED, BUNDLED_PIPELINES, Mode};
use crate::port::Breakpoint;
use crate::tui::archive::AgentSource;
use crate::tui::form::{Choice, Field, Form};
use crate::tui::theme::Role;
use crate::workbench::format::plural;
use crate::workbench::{NewAgent, Pipeline};

/// The value that means a file of the developer's own.
const FILE: &str = "file";

/// The dialog that opens an agent or a pipeline: a file, or one of the examples.
pub fn open_agent() -> Form {
    let own = Choice::new(FILE, "the one below");
    let examples = BUNDLED.iter().map(|example| {
        let about = example.agent().ok().and_then(|agent| agent.description).unwrap_or_default();
        Choice::new(example.name, about)
    });
    let pipelines = BUNDLED_PIPELINES.iter().map(|example| {
        let steps = Pipeline::bundled(example.name).ok().flatten().map_or(0, |pipeline| pipeline.steps.len());
        Choice::new(example.name, format!("a pipeline of {}", plural(steps as u64, "agent")))
    });
    let agents = std::iter::once(own).chain(examples).chain(pipelines).collect();
    Form {
        title: "Open an agent or a pipeline".to_owned(),
        verb: "open",
        fields: vec![
            Field::list("agent", "Your own file, or an example of the program.", agents, 1),
            Field::line(
                "file",
                "Path of the file, relative to the working directory; ~/ is your home folder. A path without a file starts a new agent.",
                "",
            ),
        ],
        ..Form::default()
    }
}

/// The value that means no example.
const EMPTY: &str = "empty";
/// The value that leaves the mode to the example.
const USUAL: &str = "default";

/// The dialog that begins a new agent: its file, its mode, what it starts from. `about` describes a mode.
pub fn new_agent(about: fn(Mode) -> &'static str) -> Form {
    let modes = Mode::ALL.into_iter().map(|mode| Choice::new(mode.name(), about(mode)));
    let usual = Choice::new(USUAL, "ptc_lisp, or the mode of the example");
    let examples = BUNDLED.iter().map(|example| {
        let about = example.agent().ok().and_then(|agent| agent.description).unwrap_or_default();
        Choice::new(example.name, about)
    });
    let empty = Choice::new(EMPTY, "an empty prompt and signature");
    Form {
        title: "New agent".to_owned(),
        verb: "begin",
        fields: vec![
            Field::line("name", "Saving creates NAME.toml. Without a name, saving asks for the path.", ""),
            Field::choice("mode", "The mode.", std::iter::once(usual).chain(modes).collect(), 0),
            Field::list("from", "Template of the new agent.", std::iter::once(empty).chain(examples).collect(), 0),
        ],
        ..Form::default()
    }
}

/// Returns the new agent that was described.
pub(super) fn written_agent(form: &Form) -> NewAgent {
    let named = form.entered("name").map(|name| NewAgent::at(&name)).unwrap_or_default();
    let from = Some(form.choice("from").to_owned()).filter(|from| from != EMPTY);
    NewAgent { mode: Mode::from_name(form.choice("mode")), from, ..named }
}

/// Returns the agent that was chosen.
///
/// Errors: a file is wanted and not named.
pub(super) fn agent_source(form: &Form) -> Result<AgentSource, String> {
    match (form.entered("file"), form.choice("agent")) {
        (Some(file), _) => Ok(AgentSource::Named(file)),
        (None, FILE) => Err("write the path of the file, or choose an example".to_owned()),
        (None, example) => Ok(AgentSource::Named(example.to_owned())),
    }
}

/// The dialog that inserts a file into the focused text.
pub fn insert_file() -> Form {
    let hint = "Inserts its text at the cursor. The path is relative to the working directory; ~/ is your home folder.";
    Form {
        title: "Insert a file".to_owned(),
        verb: "insert",
        fields: vec![Field::line("file", hint, "")],
        ..Form::default()
    }
}

/// Returns the file that is inserted.
///
/// Errors: none is named.
pub(super) fn written_file(form: &Form) -> Result<PathBuf, String> {
    form.entered("file").map(PathBuf::from).ok_or_else(|| "write the path of the file".to_owned())
}

/// The dialog that opens a search for better texts.
pub fn open_search(dir: &Path) -> Form {
    let hint = "The folder of a search, relative to the working directory; ~/ is your home folder. Default of `ptc-workbench optimize`: NAME.optimize.";
    Form {
        title: "Open a search for better texts".to_owned(),
        verb: "open",
        fields: vec![Field::line("folder", hint, dir.display().to_string())],
        ..Form::default()
    }
}

/// Returns the folder that was written.
///
/// Errors: there is none.
pub(super) fn written_search(form: &Form) -> Result<PathBuf, String> {
    form.entered("folder").map(PathBuf::from).ok_or_else(|| "write the folder of a search".to_owned())
}

/// The dialog of breakpoints, with those that are set.
pub fn breakpoints(set: &[Breakpoint]) -> Form {
    let written: Vec<String> = set.iter().map(ToString::to_string).collect();
    let hint = "tool:NAME, def:NAME or error, separated by commas. Empty: runs do not stop.";
    let notes = [
        "tool:NAME  before the tool is called",
        "def:NAME   when a program has defined the name",
        "error      when a program has failed",
        "A stopped run continues when you confirm. Until then you can open its turn and use the REPL on the program's definitions.",
    ];
    Form {
        title: "Breakpoints of programs".to_owned(),
        verb: "set",
        fields: vec![Field::line("stop at", hint, written.join(", "))],
        notes: notes.map(|note| (Role::Dim, note.to_owned())).into(),
        ..Form::default()
    }
}

/// Returns the breakpoints that are written.
///
/// Errors: one cannot be read.
pub(super) fn written_breakpoints(form: &Form) -> Result<Vec<Breakpoint>, String> {
    Breakpoint::all(form.written("stop at"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_breakpoints_are_in_the_dialog_and_come_out_of_it() {
        let set = Breakpoint::all("def:total, error").unwrap();
        assert_eq!(written_breakpoints(&breakpoints(&set)), Ok(set));
        assert_eq!(written_breakpoints(&breakpoints(&[])), Ok(Vec::new()));
    }
}
