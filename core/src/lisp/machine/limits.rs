//! What a program is held to, as numbers; defaults and meanings stand in the table of limits.

use crate::limits::{
    LOOP_JUMPS, Limit, PARALLEL_TIMEOUT, PARALLEL_WORKERS, PRINT_CHARS, PROGRAM_BYTES, PROGRAM_DEPTH, PROGRAM_MEMORY,
    PROGRAM_STEPS, PROGRAM_SYMBOLS, TOOL_CALLS,
};

/// What programs are held to. Time is the host's: see [`crate::lisp::Host::interrupt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Steps in all.
    pub steps: u64,
    /// Bytes held above the input.
    pub memory_bytes: u64,
    /// Calls within calls.
    pub depth: u64,
    /// Jumps of one loop, or of one call that recurs.
    pub loop_jumps: u64,
    /// Bytes of the program's text.
    pub program_bytes: u64,
    /// Different symbols and keywords, keywords made at run time included.
    pub symbols: u64,
    /// Characters kept of one printed entry.
    pub print_chars: u64,
    /// Threads for branches at a time.
    pub parallel_workers: u64,
    /// Time for one `pmap` or `pcalls`.
    pub parallel_timeout_ms: u64,
    /// Tool calls; `None` = any number.
    pub tool_calls: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        let usual = |limit: &Limit| limit.default.unwrap_or(limit.max);
        Self {
            steps: usual(&PROGRAM_STEPS),
            memory_bytes: usual(&PROGRAM_MEMORY),
            depth: usual(&PROGRAM_DEPTH),
            loop_jumps: usual(&LOOP_JUMPS),
            program_bytes: usual(&PROGRAM_BYTES),
            symbols: usual(&PROGRAM_SYMBOLS),
            print_chars: usual(&PRINT_CHARS),
            parallel_workers: usual(&PARALLEL_WORKERS),
            parallel_timeout_ms: usual(&PARALLEL_TIMEOUT),
            tool_calls: TOOL_CALLS.default,
        }
    }
}
