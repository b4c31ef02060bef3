//! `compare AGENT.toml …`: every case in every mode with every model, some times.

use super::UsageError;
use super::arguments::CompareFlags;
use crate::workbench::Workbench;

#[expect(clippy::unused_async, reason = "its runs are awaited")]
pub(super) async fn matrix(_flags: &CompareFlags, _workbench: &Workbench) -> Result<u8, UsageError> {
    Err(UsageError("the matrix cannot be run yet".to_owned()))
}
