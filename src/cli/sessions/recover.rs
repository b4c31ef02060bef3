//! `sessions recover`: what can be read of a damaged session, as a new one.

use ptc_core::value::Json;

use crate::cli::arguments::RecoverFlags;
use crate::cli::{UsageError, exit, json, out, safe, safe_line, tell};
use crate::workbench::Workbench;

pub(super) fn recover(flags: &RecoverFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let done = workbench.recover(&flags.session)?;
    if flags.json {
        out(&json::printable(&Json::object([
            ("session", Json::str(done.id.as_str())),
            ("path", Json::str(done.path.display().to_string())),
            ("events", done.events.into()),
            ("lost", Json::list(done.lost.iter().map(|line| Json::str(line.as_str())))),
        ])));
        return Ok(exit::OK);
    }
    done.lost.iter().for_each(|line| tell(&format!("damage: {}", safe_line(line))));
    out(&safe(&format!("{} events recovered as {}", done.events, done.id)));
    Ok(exit::OK)
}
