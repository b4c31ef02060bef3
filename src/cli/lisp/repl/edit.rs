//! The REPL at a terminal: line editing, history, completion, colours.
//!
//! In: a session. Out: its end. The history is a file of the user's data folder; without one nothing is kept.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{ColorMode, CompletionType, Config, Editor};

use super::assistant::Assistant;
use super::session::{Reply, Session};
use super::{PROMPT, stop_on_interrupt};
use crate::cli::output::{UsageError, exit, print_line, print_note};
use crate::config::{Folders, create_private_dir};

/// Inputs kept in the history file.
const HISTORY: usize = 2_000;

pub(super) fn converse(mut session: Session, stop: &Arc<AtomicBool>) -> Result<u8, UsageError> {
    // The assistant always renders the input, and omits colours where they are off.
    let settings = Config::builder()
        .max_history_size(HISTORY)?
        .auto_add_history(true)
        .completion_type(CompletionType::List)
        .color_mode(ColorMode::Forced)
        .build();
    let mut editor: Editor<Assistant, DefaultHistory> = Editor::with_config(settings)?;
    // After the editor was made: it takes the signal for itself, and the last who asks gets it.
    stop_on_interrupt(stop);
    editor.set_helper(Some(Assistant::new(session.face())));
    let file = history_file();
    if let Some(file) = &file {
        // The first time there is none.
        _ = editor.load_history(file);
    }
    print_line(&format!("PTC-Lisp {}; :help lists the commands", env!("CARGO_PKG_VERSION")));
    loop {
        if let Some(assistant) = editor.helper_mut() {
            assistant.known = session.known();
        }
        match editor.readline(PROMPT) {
            Ok(input) => {
                if let Some(file) = &file {
                    // A history that cannot be kept must not disturb; other consoles may write to it, too.
                    _ = editor.append_history(file);
                }
                if session.take(input.trim()) == Reply::Quit {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => print_note("(:quit or Ctrl-D quits)"),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(exit::OK)
}

/// The file, with its folder made.
fn history_file() -> Option<PathBuf> {
    let folder = Folders::new(None).state_dir;
    create_private_dir(&folder).ok()?;
    Some(folder.join("repl-history"))
}
