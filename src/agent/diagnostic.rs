//! Findings about a definition: where, how bad, what to do.

use ptc_core::reasons::Reason;
use ptc_core::text::Span;

/// Which text of the definition a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The prompt template.
    Prompt,
    /// The signature.
    Signature,
    /// The context.
    Context,
    /// An option (mode, max_turns, tools, schema, …).
    Options,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the run goes on.
    Warning,
    /// The run is refused.
    Error,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which text.
    pub place: Place,
    /// Where in that text, when there is a place.
    pub span: Option<Span>,
    /// The key it is about, such as `tools` or `max_turns`; empty when the place says it all.
    pub key: String,
    /// How bad.
    pub severity: Severity,
    /// Stable reason.
    pub reason: Reason,
    /// What is wrong and what to do.
    pub message: String,
}
