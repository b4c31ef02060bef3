//! `sessions delete`: finds all named sessions, shows them, asks, deletes.
//!
//! In: names of sessions. Out: an exit code; sessions that were deleted are listed on stdout. It must never delete any when one of the names
//! is wrong or the user did not agree.

use crate::cli::arguments::DeleteFlags;
use crate::cli::keyboard::confirm;
use crate::cli::output::{UsageError, exit, print_error, print_line, print_note, safe_line};
use crate::session::{SessionKey, Summary};
use crate::workbench::Workbench;
use crate::workbench::format::plural;

pub(super) fn delete(flags: &DeleteFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let mut keys: Vec<SessionKey> = Vec::new();
    for name in &flags.named {
        let key = workbench.find_session(name)?;
        if matches!(key, SessionKey::Example(_)) {
            // Refuses all of them before anything is deleted.
            workbench.delete_session(&key)?;
        }
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if !flags.yes && !agrees(&keys, workbench)? {
        return Ok(exit::CANCELLED);
    }
    let mut code = exit::OK;
    for key in &keys {
        match workbench.delete_session(key) {
            Ok(name) => print_line(&safe_line(&format!("deleted {name}"))),
            Err(error) => {
                print_error(&safe_line(&error.0));
                code = exit::FAILED;
            }
        }
    }
    Ok(code)
}

/// Shows the sessions and asks about them. Errors: there is nobody to ask.
fn agrees(keys: &[SessionKey], workbench: &Workbench) -> Result<bool, UsageError> {
    let listed = workbench.sessions();
    for key in keys {
        print_note(&about(key, listed.iter().find(|summary| summary.key() == *key)));
    }
    let what = plural(keys.len() as u64, "session");
    confirm(&format!("Delete {what}? Forks of them keep their turns; this cannot be undone.")).ok_or_else(|| {
        UsageError("no answer on stdin, so nothing was deleted; add --yes to delete without a question".to_owned())
    })
}

fn about(key: &SessionKey, summary: Option<&Summary>) -> String {
    let text = match summary {
        Some(summary) => format!(
            "{}  {} · {} · {} · {}",
            summary.id,
            summary.agent,
            summary.mode,
            plural(summary.usage.turns.into(), "turn"),
            summary.state.name()
        ),
        None => key.name(),
    };
    safe_line(&text)
}
