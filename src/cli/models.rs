//! `models`: what can be named as a model, and what is missing for it.

use ptc_core::text::width;

use super::{UsageError, exit, out, safe_line};
use crate::workbench::{ModelState, Workbench};

pub(super) async fn models(workbench: &Workbench) -> Result<u8, UsageError> {
    for line in workbench.models() {
        let state = match line.state {
            ModelState::Ready => "✓",
            ModelState::NoKey => "–",
            ModelState::NotBuilt => "✗",
        };
        out(&format!(
            "{state} {}  {}  {}",
            width::pad(&safe_line(&line.name), 22),
            width::pad(&safe_line(&line.id), 26),
            safe_line(&line.note)
        ));
    }
    for (name, url, listens) in workbench.loopback_servers().await {
        let said = if listens { "answers" } else { "nothing listens" };
        out(&format!("  {}  {said} at {}", width::pad(&safe_line(&name), 22), safe_line(&url)));
    }
    out("✓ can be used now, – key missing, ✗ not in this build");
    Ok(exit::OK)
}
