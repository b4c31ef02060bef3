//! The pinned program of an agent, read while it is typed: its first error at its place, and what keeps it from being run; and the
//! agent as such a program answers it.
//!
//! In: an agent. Out: findings about its program, or the agent of one turn. Nothing is run; what a program does is found out by its run.

use ptc_core::lisp::{self, Budget};
use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

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

impl Agent {
    /// The agent for its pinned program alone: one turn, because another one would run the same program again, with all that it does.
    #[must_use]
    pub fn once(self) -> Self {
        let words_end = self.option("completion").and_then(Json::as_str) == Some("answer_without_code");
        let agent = Self { max_turns: 1, ..self };
        if agent.mode != Mode::PtcLisp {
            return agent;
        }
        // The reply of a pinned program is its block.
        let agent =
            agent.with_option("retry_turns", Node::Int(0).into()).with_option("transport", Json::str("content"));
        if words_end { agent.with_option("completion", Json::str("return_required")) } else { agent }
    }
}

#[cfg(test)]
mod tests {
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
