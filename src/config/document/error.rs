//! Problems of a document: which key, where, what to write instead; and the same as an error of a file.

use std::fmt;

use ptc_core::text::{LineCol, Span};

/// One thing that is wrong in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key with the tables it lies in, such as `model_options.temperature`; empty for the text as a whole.
    pub key: String,
    /// The bytes of the text it is about.
    pub span: Span,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// Problems as they are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Notes a problem.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// The value of a result, or its problem noted.
    pub fn take<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.push(problem)).ok()
    }

    /// All of them in the order of the text.
    pub fn sorted(mut self) -> Vec<Problem> {
        self.0.sort_by_key(|problem| problem.span.start);
        self.0
    }

    /// `value` when there are no problems, else the first one in the order of the text, as an error of this file.
    pub fn or_first<T>(self, value: T, file: &str, text: &str) -> Result<T, FileError> {
        match self.sorted().first() {
            None => Ok(value),
            Some(problem) => Err(FileError::of(file, text, problem)),
        }
    }
}

/// What is wrong with a file; displays as `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1; 0 when the file could not be read at all.
    pub line: usize,
    /// Column in characters, from 1; 0 when the file could not be read at all.
    pub column: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl FileError {
    /// The error of a problem found in the text of a file.
    pub fn of(file: &str, text: &str, problem: &Problem) -> Self {
        let LineCol { line, column } = problem.span.line_col(text);
        Self { file: file.to_owned(), line, column, message: problem.message.clone() }
    }

    /// The error of a file that could not be read.
    pub fn unreadable(file: &str, error: &std::io::Error) -> Self {
        Self { file: file.to_owned(), line: 0, column: 0, message: format!("cannot be read: {error}") }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}:{}: {}", self.file, self.column, self.message),
        }
    }
}

impl std::error::Error for FileError {}
