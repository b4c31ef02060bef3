//! The programs among the options of an agent: definitions of `[memory]` and the text of `progress`.
//!
//! In: names and expressions. Out: their problems, as far as they are known before a run. Nothing is evaluated.

use ptc_core::lisp::{self, Budget};
use ptc_core::value::Value;

use super::{Diagnostic, LintInputs, Settings, lint};

/// Returns the problem of a definition that is not one name with one expression.
pub fn definition_error(name: &str, expression: &str) -> Option<String> {
    let read = |text: &str| lisp::read(text, Budget::default()).map(|forms| forms.len());
    match read(expression) {
        Err(error) => return Some(error.message()),
        Ok(1) => {}
        Ok(_) => return Some("write one expression".to_owned()),
    }
    let is_name = !name.contains(|c: char| c.is_whitespace() || "()[]{}\"';:,".contains(c)) && read(name) == Ok(1);
    (!is_name).then(|| "invalid name".to_owned())
}

/// Checks the definitions and the progress. Warnings only: such a run fails, and a session recorded with it is still replayed.
pub(super) fn check(settings: &Settings) -> Vec<Diagnostic> {
    let mut given = LintInputs { context: Some(Value::map([])), ..LintInputs::default() };
    let mut findings = Vec::new();
    for (name, expression) in &settings.memory {
        let key = format!("memory.{name}");
        match definition_error(name, expression) {
            Some(problem) => findings.push(Diagnostic::option(&key, problem).warning()),
            None => findings.extend(lint(expression, &given).iter().map(|found| located(&key, expression, found))),
        }
        given.memory.push(name.clone());
    }
    if let Some(expression) = &settings.progress
        && let Err(error) = lisp::read(expression, Budget::default())
    {
        findings.push(Diagnostic::option("progress", error.message()).warning());
    }
    findings
}

/// A finding about an expression, at its key.
fn located(key: &str, expression: &str, found: &Diagnostic) -> Diagnostic {
    let at = found.span.map(|span| format!("{}: ", span.line_col(expression))).unwrap_or_default();
    Diagnostic::option(key, format!("{at}{}", found.message)).warning()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(memory: &[(&str, &str)]) -> Vec<String> {
        let memory = memory.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let found = check(&Settings { memory, ..Settings::default() });
        assert!(found.iter().all(|found| !found.is_error()));
        found.into_iter().map(|found| format!("{}: {}", found.key, found.message)).collect()
    }

    #[test]
    fn a_definition_is_one_name_and_one_expression() {
        assert_eq!(definition_error("x", "(+ 1 2)"), None);
        assert!(definition_error("x", "1) (def y 2").is_some());
        assert_eq!(definition_error("x", "1 2").as_deref(), Some("write one expression"));
        for name in ["x 1) (def y 2", "a b", "", "\"a\""] {
            assert_eq!(definition_error(name, "1").as_deref(), Some("invalid name"), "{name}");
        }
    }

    #[test]
    fn problems_of_expressions_are_known_before_a_run() {
        assert_eq!(messages(&[("a", "1"), ("b", "(+ a 1)")]), [""; 0]);
        assert!(messages(&[("a", "(+ 1")])[0].starts_with("memory.a: 1 closing parenthesis"));
        let data = messages(&[("m", "data/n")]);
        assert!(data.len() == 1 && data[0].contains("the context has no `n`"), "{data:?}");
        let progress = check(&Settings { progress: Some("(+".to_owned()), ..Settings::default() });
        assert_eq!(progress.len(), 1);
    }
}
