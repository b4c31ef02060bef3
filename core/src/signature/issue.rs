//! Issues reported by checks: path, severity, expected and actual value.
//!
//! In: findings of check, coerce and chain. Out: issues with their messages. It must never decide anything; it only
//! words the findings.

use std::fmt;

/// The severity of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The value is rejected.
    Error,
    /// The value is accepted; the issue is shown.
    Warning,
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A parameter or field, by its declared name; an undeclared one by its key.
    Field(String),
    /// A list index, from 0.
    Index(usize),
}

/// The path to a part of a value: names and list indexes, outermost first. Empty = the whole value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// The path as in program feedback: in brackets, names in kebab case, `[items.2.unit-price]`.
    pub fn to_program(&self) -> String {
        let name = |segment: &Segment| match segment {
            Segment::Field(name) => kebab(name),
            Segment::Index(index) => index.to_string(),
        };
        match self.0.as_slice() {
            [] => "[root]".to_owned(),
            segments => format!("[{}]", segments.iter().map(name).collect::<Vec<_>>().join(".")),
        }
    }
}

/// Dotted, names as declared: `items.2.price`; the empty path prints as `root`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("root");
        }
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            match segment {
                Segment::Field(name) => f.write_str(name)?,
                Segment::Index(index) => write!(f, "{index}")?,
            }
        }
        Ok(())
    }
}

/// The current path of a walk through a value; it becomes a [`Path`] only when needed.
#[derive(Clone, Copy)]
pub(super) enum Trail<'a> {
    Root,
    Field(&'a Trail<'a>, &'a str),
    Index(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    pub(super) fn path(&self) -> Path {
        let mut segments = Vec::new();
        let mut at = self;
        loop {
            match at {
                Trail::Root => break,
                Trail::Field(outer, name) => {
                    segments.push(Segment::Field((*name).to_owned()));
                    at = outer;
                }
                Trail::Index(outer, index) => {
                    segments.push(Segment::Index(*index));
                    at = outer;
                }
            }
        }
        segments.reverse();
        Path(segments)
    }
}

/// A name in Lisp style: `_` becomes `-`, a leading underscore is kept.
pub(super) fn kebab(name: &str) -> String {
    match name.strip_prefix('_') {
        Some(rest) => format!("_{}", rest.replace('_', "-")),
        None => name.replace('_', "-"),
    }
}

/// One finding about a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The path to the value.
    pub path: Path,
    /// Error or warning.
    pub severity: Severity,
    /// The expected type or value, e.g. `int`, `field`, `one of "a", "b"`.
    pub expected: String,
    /// The actual type, or the value itself where that is more informative.
    pub got: String,
    /// One line without the path, e.g. `expected int, got string`.
    pub message: String,
}

impl Issue {
    /// An error of the usual shape `expected …, got …`.
    pub(super) fn mismatch(at: &Trail, expected: impl Into<String>, got: impl Into<String>) -> Self {
        let (expected, got) = (expected.into(), got.into());
        let message = format!("expected {expected}, got {got}");
        Self { path: at.path(), severity: Severity::Error, expected, got, message }
    }

    /// An error about a value as a whole, found outside of its type.
    pub fn of_value(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { path: Path::default(), severity: Severity::Error, expected: String::new(), got: String::new(), message }
    }

    /// A warning with a message of its own.
    pub(super) fn warning(at: &Trail, expected: &str, got: &str, message: impl Into<String>) -> Self {
        Self {
            path: at.path(),
            severity: Severity::Warning,
            expected: expected.to_owned(),
            got: got.to_owned(),
            message: message.into(),
        }
    }

    /// True if the issue rejects the value.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl Issue {
    /// `[path] message`, as in feedback to a program.
    pub fn to_program(&self) -> String {
        format!("{} {}", self.path.to_program(), self.message)
    }
}

/// The first `most` errors as lines, and the number of further ones: the part that a model sees. `line` formats an
/// issue, e.g. [`Issue::to_program`].
pub fn error_lines(issues: &[Issue], most: usize, line: impl Fn(&Issue) -> String) -> Vec<String> {
    let errors: Vec<&Issue> = issues.iter().filter(|issue| issue.is_error()).collect();
    let mut lines: Vec<String> = errors.iter().take(most).map(|issue| line(issue)).collect();
    if let Some(more) = errors.len().checked_sub(most).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// `path: message`, as in JSON feedback.
impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
