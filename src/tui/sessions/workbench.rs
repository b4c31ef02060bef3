//! The dialogs of the workbench: which agent or pipeline to open, at which breakpoints runs stop.

use crate::agent::{BUNDLED, BUNDLED_PIPELINES};
use crate::port::Breakpoint;
use crate::tui::archive::AgentSource;
use crate::tui::form::{Choice, Field, Form};
use crate::tui::theme::Role;
use crate::workbench::Pipeline;
use crate::workbench::format::plural;

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
            Field::choice("agent", "A file of your own, or an example that is part of the program.", agents, 1),
            Field::line("file", "The file, from the folder the program was started in; ~/ is your home folder.", ""),
        ],
        ..Form::default()
    }
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

/// The dialog of breakpoints, with those that are set.
pub fn breakpoints(set: &[Breakpoint]) -> Form {
    let written: Vec<String> = set.iter().map(ToString::to_string).collect();
    let hint = "tool:NAME, def:NAME or error, with commas between them. Empty: runs do not stop.";
    let notes = [
        "tool:NAME  before the tool is called",
        "def:NAME   when a program has defined the name",
        "error      when a program has ended with an error, or failed",
        "A run that stands there goes on when you let it. Until then its turn can be taken apart, with the REPL on what the program left.",
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
