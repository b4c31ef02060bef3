//! The arguments of `doctor`.

use clap::Args;

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
