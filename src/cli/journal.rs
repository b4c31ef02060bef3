//! The file of `run --journal`: results of finished tasks by id, as a JSON object.
//!
//! In: the file, and the Step of a run. Out: the journal that the run starts with, and the file as the run leaves it. A run that leaves no
//! journal changes nothing.

use std::path::Path;

use ptc_core::text::without_mark;
use ptc_core::value::{Map, Value};

use super::context::argument_json;
use super::output::{UsageError, exit, print_note, safe_line};
use crate::agent::Step;
use crate::config::read_named_file;
use crate::workbench::files::{check_place, write_whole};

/// The content of the file; an empty one if there is none. Fails when the run could not write it.
pub(super) fn load(file: &Path) -> Result<Map, UsageError> {
    let wrong = |why: String| UsageError(format!("--journal {}: {why}", file.display()));
    // Of any kind: its content is read below, and refused when it is not a journal.
    check_place(file, "").map_err(|error| wrong(format!("cannot be written: {error}")))?;
    if !file.exists() {
        return Ok(Map::default());
    }
    let text = read_named_file(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let text = without_mark(&text);
    let journal = argument_json(text, &format!("--journal {}", file.display()))?;
    let journal = journal.map_err(|error| wrong(format!("{}: {}", error.at, error.parts().1)))?;
    match journal.to_value() {
        Value::Map(map) => Ok((*map).clone()),
        _ => Err(wrong("a journal is a JSON object: results by the ids of their tasks".to_owned())),
    }
}

/// Writes the journal that the run left. The exit code: that of the run, unless its journal is lost.
pub(super) fn save(file: &Path, step: &Step, code: u8) -> u8 {
    let name = file.display();
    let Some(journal) = &step.journal else {
        if step.waits_for.is_some() {
            print_note(&safe_line(&format!("{name} is unchanged: the run has not ended")));
        }
        return code;
    };
    match write_whole(file, format!("{}\n", journal.to_pretty()).as_bytes()) {
        Ok(()) => {
            print_note(&safe_line(&format!("journal written to {name}")));
            code
        }
        Err(error) => {
            print_note(&safe_line(&format!("warning: the journal cannot be written to {name}: {error}")));
            if code == exit::OK { exit::USAGE } else { code }
        }
    }
}
