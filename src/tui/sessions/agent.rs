//! The dialog that opens an agent or a pipeline: a file, or one of the examples.

use crate::agent::{BUNDLED, BUNDLED_PIPELINES};
use crate::tui::archive::Source;
use crate::tui::form::{Choice, Field, Form};
use crate::workbench::Pipeline;
use crate::workbench::format::plural;

/// The value that stands for a file of the developer's own.
const FILE: &str = "file";

/// The dialog.
pub fn dialog() -> Form {
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

/// Which agent it is.
///
/// Errors: a file is wanted and not named.
pub fn submit(form: &Form) -> Result<Source, String> {
    match (form.said("file"), form.choice("agent")) {
        (Some(file), _) => Ok(Source::Named(file)),
        (None, FILE) => Err("write the path of the file, or choose an example".to_owned()),
        (None, example) => Ok(Source::Named(example.to_owned())),
    }
}
