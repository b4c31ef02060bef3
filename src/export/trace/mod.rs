//! Traces of `PtcRunner` (JSON lines, schema version 2) as sessions to look at.
//!
//! In: the text of a trace file. Out: its events, as far as they have a counterpart here; all others are kept under their own
//! names. A trace leaves out what a replay needs (whole values, what programs defined), so nothing here is made to be replayed.

mod convert;
mod read;
mod turn;

use crate::event::Envelope;

/// A trace as events.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Its id.
    pub id: String,
    /// Start time, Unix time in ms.
    pub started_ms: i64,
    /// The events, numbered from 1.
    pub events: Vec<Envelope>,
    /// Number of records without a counterpart, which are kept under the kind `ptc_runner.NAME`.
    pub kept: usize,
}

/// Error of a file that cannot be imported; nothing is imported then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError(pub String);

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TraceError {}

/// Reads a trace. Errors name the first line that is not a record, and how many there are.
pub fn read(text: &str) -> Result<Trace, TraceError> {
    let records = read::records(text)?;
    convert::convert(&records)
}
