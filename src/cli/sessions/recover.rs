//! `sessions recover`: what can be read of a damaged session, as a new one.

use serde::Serialize;

use crate::cli::arguments::RecoverFlags;
use crate::cli::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line};
use crate::workbench::Workbench;

/// What `--json` prints.
#[derive(Serialize)]
struct RecoveredJson<'a> {
    session: &'a str,
    path: String,
    events: u64,
    lost: &'a [String],
}

pub(super) fn recover(flags: &RecoverFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let done = workbench.recover(&flags.session)?;
    if flags.json {
        print_json(&RecoveredJson {
            session: done.id.as_str(),
            path: done.path.display().to_string(),
            events: done.events,
            lost: &done.lost,
        });
        return Ok(exit::OK);
    }
    done.lost.iter().for_each(|line| print_note(&format!("damage: {}", safe_line(line))));
    print_line(&safe(&format!("{} events recovered as {}", done.events, done.id)));
    Ok(exit::OK)
}
