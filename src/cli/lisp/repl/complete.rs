//! What the line editor asks: how a word may go on, and whether the input is a whole program.

use ptc_core::lisp::builtins;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::lines::is_complete;
use super::session::COMMANDS;

/// Completes names of builtins, of memory and of commands.
#[derive(Default)]
pub(super) struct Assistant {
    defined: Vec<&'static str>,
}

impl Assistant {
    /// The names that are defined now.
    pub(super) fn know(&mut self, names: impl Iterator<Item = &'static str>) {
        self.defined = names.collect();
    }

    /// Where the word before `at` starts, and the names it may become, sorted.
    fn candidates(&self, line: &str, at: usize) -> (usize, Vec<String>) {
        let before = line.get(..at).unwrap_or_default();
        let start = before.rfind(|c: char| c.is_whitespace() || "()[]{}\"'#,".contains(c)).map_or(0, |end| end + 1);
        let word = &before[start..];
        let commands = COMMANDS.iter().copied().filter(|_| start == 0);
        let known = builtins::rows().map(|row| row.name).chain(self.defined.iter().copied()).chain(commands);
        let mut names: Vec<String> =
            known.filter(|name| !word.is_empty() && name.starts_with(word)).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        (start, names)
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line, at))
    }
}

impl Validator for Assistant {
    fn validate(&self, input: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let whole = input.input().starts_with(':') || is_complete(input.input());
        Ok(if whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_as_builtins_memory_or_commands() {
        let mut assistant = Assistant::default();
        assistant.know(["first-name", "other"].into_iter());
        let (start, names) = assistant.candidates("(map firs", 9);
        assert_eq!(start, 5);
        assert!(names.contains(&"first".to_owned()) && names.contains(&"first-name".to_owned()), "{names:?}");
        assert_eq!(assistant.candidates(":me", 3), (0, vec![":memory".to_owned()]));
        assert!(assistant.candidates("(x :me", 6).1.is_empty());
        assert!(assistant.candidates("(", 1).1.is_empty());
    }
}
