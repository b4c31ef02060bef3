//! `new`: creates an agent file, empty or from an example.
//!
//! In: the name, the mode and the example that the flags hold. Out: the path of the file on stdout, the next step on stderr. It must never
//! replace a file.

use std::path::PathBuf;

use super::arguments::NewFlags;
use super::output::{UsageError, exit, print_line, print_note, safe_line};
use super::source::mode;
use crate::session::shell_word;
use crate::workbench::{AgentFiles, NewAgent, Workbench};

/// Creates the file and prints its path.
pub(super) fn new(flags: &NewFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let path = create_agent(flags, workbench)?.display().to_string();
    print_line(&path);
    let word = shell_word(&path);
    // An agent that copies no example has no prompt yet, and does not run without one.
    let between = if flags.from.is_some() { ";" } else { ", write its prompt, then" };
    print_note(&safe_line(&format!(
        "open it with: ptc-workbench {word}{between} run it with: ptc-workbench run {word}"
    )));
    Ok(exit::OK)
}

/// Creates the file and returns its path.
///
/// Errors: mode or example are unknown; the file exists or cannot be written.
pub fn create_agent(flags: &NewFlags, workbench: &Workbench) -> Result<PathBuf, UsageError> {
    let mode = flags.mode.as_deref().map(mode).transpose()?;
    let new = NewAgent { mode, from: flags.from.clone(), ..NewAgent::at(&flags.name) };
    let files = AgentFiles::new(workbench.file_access().clone());
    workbench.create_agent(&files, &new).map_err(|error| UsageError(error.with_hint()))
}
