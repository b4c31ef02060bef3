//! What the draft would send first, beside what another mode would send.

use crate::agent::Mode;
use crate::workbench::Held;

/// What it is held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// The other mode.
    pub mode: Mode,
    /// The parts of both, or why that mode would send nothing; `None` until it is known.
    pub held: Option<Result<Vec<Held>, String>>,
}
