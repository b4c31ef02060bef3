//! The pinned program of an agent: its findings, checked while it is typed, and the agent of one turn that such a program answers.
//!
//! In: an agent, its tools and options. Out: findings about its program, or the agent of one turn. Nothing is run: the effects of a
//! program are known after its run only.

use ptc_core::lisp::{self, Budget};
use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::plan::is_single;
use super::{Agent, Diagnostic, LintInputs, Mode, Place, Settings, lint};
use crate::tool::Tool;

/// Checks the program of an agent that has one.
pub(super) fn check(agent: &Agent, tools: &[Tool], settings: &Settings) -> Vec<Diagnostic> {
    let Some(program) = agent.program().filter(|program| !program.trim().is_empty()) else { return Vec::new() };
    if agent.mode == Mode::PtcLisp {
        let alone = agent.clone().once();
        let given = LintInputs {
            tools: tools.iter().filter(|tool| tool.is_for_programs()).cloned().collect(),
            context: agent.context.members().map(|_| agent.context.to_value()),
            must_end: !is_single(alone.max_turns, &Settings::of(&alone, &mut Vec::new()), tools),
            ..LintInputs::from(settings)
        };
        return lint(program, &given);
    }
    let found = syntax_error(program).unwrap_or_else(|| {
        let message = format!(
            "programs run only in mode ptc_lisp; in mode {} the program is sent as the text of the reply",
            agent.mode
        );
        Diagnostic::error(Place::Program, Reason::InvalidAgent, message).warning()
    });
    vec![found]
}

/// Returns a warning about a program that cannot be read: its run fails, and a session recorded with it is still replayed.
pub(super) fn unreadable(agent: &Agent) -> Option<Diagnostic> {
    let program = agent.program().filter(|_| agent.mode == Mode::PtcLisp)?;
    syntax_error(program).map(Diagnostic::warning)
}

fn syntax_error(program: &str) -> Option<Diagnostic> {
    let error = lisp::read(program, Budget::default()).err()?;
    let found = Diagnostic::error(Place::Program, error.reason, error.message());
    Some(error.span.map_or(found.clone(), |span| found.at(span)))
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
        let agent = Agent { mode, ..Agent::default() }.with_option("program", Json::str(program));
        let settings = Settings::of(&agent, &mut Vec::new());
        check(&agent, &[], &settings).into_iter().next()
    }

    #[test]
    fn the_first_error_of_a_program_has_its_position() {
        let found = pinned("(def a 1)\n(+ a 1", Mode::PtcLisp).unwrap();
        assert!(found.is_error() && found.span.is_some_and(|span| span.start >= 9), "{found:?}");
        assert_eq!(pinned("(return 1)", Mode::PtcLisp), None);
        assert_eq!(pinned(" ", Mode::PtcLisp), None);
        assert!(pinned("; later", Mode::PtcLisp).is_some());
        let broken =
            Agent { mode: Mode::PtcLisp, ..Agent::default() }.with_option("program", Json::str("(return (+ 1"));
        assert!(unreadable(&broken).is_some_and(|found| !found.is_error() && found.span.is_some()));
        assert!(pinned("(+ 1 (cuont data/x))", Mode::PtcLisp).is_some_and(|found| found.reason == Reason::UnboundVar));
    }

    #[test]
    fn where_no_programs_are_run_a_program_is_worth_a_warning() {
        let found = pinned("(return 1)", Mode::Json).unwrap();
        assert!(!found.is_error() && found.message.contains("ptc_lisp"), "{found:?}");
    }
}
