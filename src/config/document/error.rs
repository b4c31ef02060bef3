//! Problems of a document, with key, position and correction, and the conversion to a file error.

use std::fmt;

use ptc_core::text::{LineCol, Span};

/// A problem in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key with its parent tables, such as `model_options.temperature`; empty for the whole text.
    pub key: String,
    /// Its byte range in the text.
    pub span: Span,
    /// The problem and its correction.
    pub message: String,
}

/// A list of problems.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Returns the value of a result, or adds its problem.
    pub fn take<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.push(problem)).ok()
    }

    /// Returns all problems in text order.
    pub fn sorted(mut self) -> Vec<Problem> {
        self.0.sort_by_key(|problem| problem.span.start);
        self.0
    }

    /// Returns `value` if there are no problems, else all of them in text order as an error of this file.
    pub fn or_error<T>(self, value: T, file: &str, text: &str) -> Result<T, FileError> {
        match self.sorted().split_first() {
            None => Ok(value),
            Some((first, others)) => {
                let others = others.iter().map(|problem| FileError::of(file, text, problem)).collect();
                Err(FileError { others, ..FileError::of(file, text, first) })
            }
        }
    }
}

/// An error in a file; displays as `file:line:column: message`, further problems on lines of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file name as given.
    pub file: String,
    /// Line, from 1; 0 when the file could not be read at all.
    pub line: usize,
    /// Column in characters, from 1; 0 when the file could not be read at all.
    pub column: usize,
    /// The problem and what to do next.
    pub message: String,
    /// The other problems of the file, in text order.
    pub others: Vec<FileError>,
}

/// Problems of a file that are displayed.
const MAX_DISPLAYED: usize = 10;

impl FileError {
    /// Creates the error of a problem in the text of a file.
    pub fn of(file: &str, text: &str, problem: &Problem) -> Self {
        let LineCol { line, column } = problem.span.line_col(text);
        Self { file: file.to_owned(), line, column, message: problem.message.clone(), others: Vec::new() }
    }

    /// Creates the error of an unreadable file.
    pub fn unreadable(file: &str, error: &std::io::Error) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            column: 0,
            message: format!("cannot be read: {error}"),
            others: Vec::new(),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message)?,
            line => write!(f, "{}:{line}:{}: {}", self.file, self.column, self.message)?,
        }
        for other in self.others.iter().take(MAX_DISPLAYED - 1) {
            write!(f, "\n{other}")?;
        }
        match self.others.len().saturating_sub(MAX_DISPLAYED - 1) {
            0 => Ok(()),
            more => write!(f, "\n{}: {more} more", self.file),
        }
    }
}

impl std::error::Error for FileError {}
