//! Errors and findings about templates.
//!
//! Both carry a message for users (problem, position, correction) and a span in the template.

use std::fmt;

use crate::reasons::Reason;
use crate::text::{LineCol, Span};

/// The message for a section in a template whose variables become references.
pub(super) const SECTION_NOT_ALLOWED: &str = "sections cannot be used in a program's prompt; write variables only";

/// The message for `{{.}}` without a current element.
pub(super) const CURRENT_OUTSIDE_SECTION: &str =
    "`{{.}}` is the element of a section; outside of sections write a parameter's name";

/// The error of a template that cannot be parsed or rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The problem and its correction.
    pub message: String,
    /// The span in the template.
    pub span: Span,
}

impl TemplateError {
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { message: message.into(), span }
    }

    /// Line and column in `source`.
    pub fn line_col(&self, source: &str) -> LineCol {
        self.span.line_col(source)
    }

    /// The stable reason name.
    pub fn reason(&self) -> Reason {
        Reason::TemplateError
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateError {}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// It works, but perhaps not as intended.
    Warning,
    /// The agent is rejected.
    Error,
}

/// One finding about a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The tag.
    pub span: Span,
    /// Its severity.
    pub severity: Severity,
    /// Its kind.
    pub kind: DiagnosticKind,
    /// The problem and its correction.
    pub message: String,
}

impl Diagnostic {
    pub(super) fn error(kind: DiagnosticKind, span: Span, message: impl Into<String>) -> Self {
        Self { span, severity: Severity::Error, kind, message: message.into() }
    }

    pub(super) fn warning(kind: DiagnosticKind, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(kind, span, message) }
    }
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiagnosticKind {
    /// The signature lists no parameters, so names are not checked.
    Unchecked,
    /// The first segment of a name is neither a parameter nor a field of an enclosing section.
    UnknownName,
    /// A later segment of a dotted name is not a field of the type before it.
    UnknownField,
    /// A list, record or map where text is written.
    NotText,
    /// `{{.}}` outside a section.
    CurrentOutsideSection,
    /// A section where only variables are allowed (`ptc_lisp`).
    SectionNotAllowed,
    /// A name has no value in this context (run time).
    Missing,
    /// The template cannot be filled with this context (run time).
    NotFilled,
}

/// Findings that are listed for one template: each reader looks up the line of each finding.
pub(super) const LISTED: usize = 100;

/// The findings of one template, in order; those after the first [`LISTED`] are counted.
#[derive(Default)]
pub(super) struct Findings {
    listed: Vec<Diagnostic>,
    /// The first finding that is not listed, and the number of all of them.
    unlisted: Option<(Diagnostic, usize)>,
}

impl Findings {
    pub(super) fn push(&mut self, finding: Diagnostic) {
        if self.listed.len() < LISTED {
            self.listed.push(finding);
        } else {
            self.unlisted.get_or_insert((finding, 0)).1 += 1;
        }
    }

    /// The findings; the last one counts those that are not listed, at the place of the first of them.
    pub(super) fn into_vec(mut self) -> Vec<Diagnostic> {
        self.listed.extend(self.unlisted.map(|(first, count)| {
            let message = format!("{}; {count} findings from here on are not listed", first.message);
            Diagnostic { message, ..first }
        }));
        self.listed
    }
}
