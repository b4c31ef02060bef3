//! The pinned program of an agent, read while it is typed: its first error at its place, and what keeps it from being run.
//!
//! In: an agent. Out: findings about its program. Nothing is run; what a program does is found out by its run.

use ptc_core::lisp::{self, Budget};
use ptc_core::reasons::Reason;

use super::{Agent, Diagnostic, Mode, Place};

/// What is wrong with the program of an agent, when it has one.
pub(super) fn check(agent: &Agent) -> Option<Diagnostic> {
    let program = agent.program().filter(|program| !program.trim().is_empty())?;
    match lisp::read(program, Budget::default()) {
        Err(error) => {
            let found = Diagnostic::error(Place::Program, error.reason, error.message());
            Some(error.span.map_or(found.clone(), |span| found.at(span)))
        }
        Ok(forms) if forms.is_empty() => {
            Some(Diagnostic::error(Place::Program, Reason::ParseError, "the program is only a comment"))
        }
        Ok(_) if agent.mode != Mode::PtcLisp => {
            let message =
                format!("the program is run in mode ptc_lisp; in mode {} it is the text of the reply", agent.mode);
            Some(Diagnostic::error(Place::Program, Reason::InvalidAgent, message).warning())
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::Json;

    use super::*;

    fn pinned(program: &str, mode: Mode) -> Option<Diagnostic> {
        check(&Agent { mode, ..Agent::default() }.with_option("program", Json::str(program)))
    }

    #[test]
    fn the_first_error_of_a_program_stands_at_its_place() {
        let found = pinned("(def a 1)\n(+ a 1", Mode::PtcLisp).unwrap();
        assert!(found.is_error() && found.span.is_some_and(|span| span.start >= 9), "{found:?}");
        assert_eq!(pinned("(return 1)", Mode::PtcLisp), None);
        assert_eq!(pinned(" ", Mode::PtcLisp), None);
        assert!(pinned("; later", Mode::PtcLisp).is_some());
    }

    #[test]
    fn where_no_programs_are_run_a_program_is_worth_a_warning() {
        let found = pinned("(return 1)", Mode::Json).unwrap();
        assert!(!found.is_error() && found.message.contains("ptc_lisp"), "{found:?}");
    }
}
