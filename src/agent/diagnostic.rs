//! Findings about a definition: where, how bad, what to do.

use ptc_core::reasons::Reason;
use ptc_core::template;
use ptc_core::text::Span;

use crate::config::document::Problem;

/// The text of the definition that a finding is about, in the order of findings and editors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The prompt template.
    Prompt,
    /// The signature.
    Signature,
    /// The context.
    Context,
    /// The tools, while they have a text of their own.
    Tools,
    /// The pinned program.
    Program,
    /// An option (mode, `max_turns`, schema, …); in an agent file also a tool.
    Options,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Information; the run continues.
    Warning,
    /// The run is refused.
    Error,
}

/// One correction: a part of one text that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The label of the correction, such as "add `user` to the signature".
    pub title: String,
    /// The text that is changed.
    pub place: Place,
    /// The bytes that are replaced; empty to insert.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The text that the finding is about.
    pub place: Place,
    /// The bytes in that text, when the finding is about a part of it.
    pub span: Option<Span>,
    /// The key it is about, such as `tools` or `max_turns`; empty when the place is enough.
    pub key: String,
    /// The severity.
    pub severity: Severity,
    /// Stable reason.
    pub reason: Reason,
    /// The problem and what to do.
    pub message: String,
    /// Corrections that one key applies, the likeliest first.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// An error about a text as a whole.
    pub fn error(place: Place, reason: Reason, message: impl Into<String>) -> Self {
        let (severity, message) = (Severity::Error, message.into());
        Self { place, span: None, key: String::new(), severity, reason, message, fixes: Vec::new() }
    }

    /// An error about an option.
    pub(super) fn option(key: &str, message: impl Into<String>) -> Self {
        Self::error(Place::Options, Reason::InvalidAgent, message).key(key)
    }

    /// Makes it a warning.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }

    /// Sets the key.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Sets the place in the text.
    #[must_use]
    pub fn at(self, span: Span) -> Self {
        Self { span: Some(span), ..self }
    }

    /// Returns whether it refuses the run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl From<Problem> for Diagnostic {
    /// A problem of the options' text.
    fn from(problem: Problem) -> Self {
        Self::error(Place::Options, Reason::InvalidAgent, problem.message).key(problem.key).at(problem.span)
    }
}

impl From<template::Diagnostic> for Diagnostic {
    /// A finding about the prompt.
    fn from(found: template::Diagnostic) -> Self {
        let severity = match found.severity {
            template::Severity::Warning => Severity::Warning,
            template::Severity::Error => Severity::Error,
        };
        let error = Self::error(Place::Prompt, Reason::TemplateError, found.message).key("prompt").at(found.span);
        Self { severity, ..error }
    }
}
