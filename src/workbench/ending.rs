//! Advice for users about failed runs, shared by both interfaces.
//!
//! In: how the run started and ended. Out: a sentence. The hint of a stored error is for the author of the faulty text, which is the model
//! most of the time; this text is for the developer who debugs the agent. It must never read the message of an error.

use ptc_core::limits::MAX_TURNS;
use ptc_core::reasons::Reason;

use super::Hit;
use crate::config::document;
use crate::event::{ErrorRecord, RunEnd, RunStart};

/// Returns the next step for the user after a failed run; `None` if the run did not fail. `refused` is the error of its last failed tool
/// call.
pub fn next_step(start: &RunStart, end: &RunEnd, refused: Option<&ErrorRecord>) -> Option<String> {
    let fail = end.fail.as_ref()?;
    let Some(reason) = Reason::from_name(&fail.reason) else { return fail.hint.clone() };
    let turn = end.usage.totals.turns;
    let otherwise = otherwise(reason, turn);
    // More turns would not help: each would run the same program.
    if (is_of_program(reason) || is_of_turns(reason)) && is_pinned(start) {
        let was_denied = refused.is_some_and(|error| error.reason == Reason::ToolDenied.name());
        return Some(match reason {
            // The program is as it should be.
            Reason::ToolError if was_denied => Reason::ToolDenied.row().next.to_owned(),
            Reason::ToolError => "Do what the tool's message says, or correct the pinned program.".to_owned(),
            _ => "Correct the pinned program.".to_owned(),
        });
    }
    if let Some(hit) = Hit::of(start, end) {
        return Some(sentence(&hit, "", otherwise.as_deref()));
    }
    if let Some(otherwise) = otherwise {
        let own = Hit::of_program(start, reason);
        let right =
            own.map(|hit| format!("; if the program is right, set {} = {} (it was {})", hit.key, hit.next, hit.value));
        let otherwise = format!("{otherwise}{}", right.unwrap_or_default());
        return Some(match more_turns(start, end) {
            Some(hit) => sentence(&hit, ", so that the model can correct it", Some(&otherwise)),
            None => capital(&otherwise),
        });
    }
    Some(match reason {
        Reason::Cancelled if turn > 0 => "Run again, or fork it at a turn to continue from there.".to_owned(),
        Reason::Failed => format!("The message is the program's own: turn {turn} shows why it called fail."),
        _ => fail.hint.clone().unwrap_or_else(|| reason.row().next.to_owned()),
    })
}

/// Returns a higher turn limit if a run failed because its turns were used: more turns would let the model correct itself.
pub(super) fn more_turns(start: &RunStart, end: &RunEnd) -> Option<Hit> {
    let reason = Reason::from_name(&end.fail.as_ref()?.reason)?;
    match Hit::of(start, end) {
        Some(hit) => Some(hit).filter(|hit| hit.key == MAX_TURNS.name),
        None => Hit::of_turns(start, end).filter(|_| is_of_program(reason) || is_of_turns(reason)),
    }
}

/// Returns whether a run ends with this reason because no turn remains in which the model could correct its reply.
fn is_of_turns(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::JsonParseError
            | Reason::ValidationError
            | Reason::ReturnValidationFailed
            | Reason::NoCodeFound
            | Reason::MultipleCodeBlocks
            | Reason::MaxTurnsExceeded
            | Reason::BudgetExhausted
            | Reason::MustReturnMissing
    )
}

/// Returns advice other than a higher limit; `None` if the table of reasons already has advice for users.
fn otherwise(reason: Reason, turn: u32) -> Option<String> {
    let fixed = match reason {
        Reason::MaxTurnsExceeded | Reason::BudgetExhausted => "make the prompt clearer",
        Reason::MustReturnMissing => "use completion = \"return_required\"",
        Reason::MemoryLimitExceeded => "use memory_strategy = \"rollback\"",
        Reason::ProtocolError => "use a more lenient recovery level, or another model",
        Reason::MissingRefs => "mark what may be missing as optional in refs",
        Reason::MaxDepthExceeded => "let fewer agents call each other",
        Reason::JsonParseError => "use a recovery level that repairs more",
        Reason::ValidationError | Reason::ReturnValidationFailed => {
            "describe the field in the prompt or in field_descriptions"
        }
        Reason::NoCodeFound | Reason::MultipleCodeBlocks => "use a model that replies with one fenced program",
        _ if is_of_program(reason) => {
            return Some(format!("correct the program of turn {turn} and continue from there"));
        }
        _ => return None,
    };
    Some(fixed.to_owned())
}

/// Returns whether a program ends with this reason. These reasons are consecutive in the table.
fn is_of_program(reason: Reason) -> bool {
    (Reason::ParseError..=Reason::PcallsError).contains(&reason)
        && !matches!(reason, Reason::ToolCallLimitExceeded | Reason::ToolDenied)
}

/// Returns whether a pinned program of the agent answered instead of a model.
fn is_pinned(start: &RunStart) -> bool {
    document::parse(&start.agent.toml).is_ok_and(|agent| agent.get("program").is_some())
}

fn sentence(hit: &Hit, purpose: &str, otherwise: Option<&str>) -> String {
    let otherwise =
        otherwise.map(|otherwise| format!("{}or {otherwise}", if purpose.is_empty() { ", " } else { "; " }));
    let Hit { key, value, next } = hit;
    format!("Set {key} = {next} in the options (it was {value}){purpose}{}.", otherwise.unwrap_or_default())
}

/// Makes a sentence of a text: a capital letter at its start, a full stop at its end.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AgentRecord;

    fn advice_of(reason: Reason, toml: &str, turns: u32) -> String {
        advice_after(None, reason, toml, turns)
    }

    fn advice_after(refused: Option<Reason>, reason: Reason, toml: &str, turns: u32) -> String {
        let agent = AgentRecord { toml: toml.to_owned(), ..AgentRecord::default() };
        let start = RunStart { agent, limits: vec![("max_turns".to_owned(), 1)], ..RunStart::default() };
        let mut end = RunEnd { fail: Some(ErrorRecord::new(reason, "")), ..RunEnd::default() };
        end.usage.totals.turns = turns;
        next_step(&start, &end, refused.map(|reason| ErrorRecord::new(reason, "")).as_ref()).unwrap_or_default()
    }

    #[test]
    fn a_limit_is_named_once_with_its_next_value_and_what_else_helps() {
        let advice = advice_of(Reason::MaxTurnsExceeded, "", 1);
        assert_eq!(advice, "Set max_turns = 2 in the options (it was 1), or make the prompt clearer.");
    }

    #[test]
    fn a_program_error_is_advice_for_who_debugs_the_agent() {
        let wrong = advice_of(Reason::UnboundVar, "", 1);
        assert!(
            wrong.starts_with("Set max_turns = 2 in the options") && wrong.contains("program of turn 1"),
            "{wrong}"
        );
        assert_eq!(advice_of(Reason::UnboundVar, "program = '(x)'", 1), "Correct the pinned program.");
        let looped = advice_of(Reason::LoopLimitExceeded, "loop_limit = 10", 1);
        assert!(looped.contains("if the program is right, set loop_limit = 20 (it was 10)"), "{looped}");
    }

    #[test]
    fn a_pinned_program_is_not_blamed_for_its_tools() {
        let pinned = |refused| advice_after(refused, Reason::ToolError, "program = '(x)'", 1);
        assert_eq!(pinned(Some(Reason::ToolDenied)), Reason::ToolDenied.row().next);
        assert!(pinned(Some(Reason::ToolError)).contains("the tool's message"));
        assert!(pinned(None).contains("the tool's message"), "also where the call is not known");
        for reason in [Reason::ReturnValidationFailed, Reason::MustReturnMissing, Reason::MaxTurnsExceeded] {
            assert_eq!(advice_of(reason, "program = '(x)'", 1), "Correct the pinned program.", "{reason:?}");
        }
        let unbound = advice_after(Some(Reason::ToolDenied), Reason::UnboundVar, "program = '(x)'", 1);
        assert_eq!(unbound, "Correct the pinned program.", "a refusal that the program took is not why it ended");
    }

    #[test]
    fn advice_of_the_table_for_users_stays() {
        assert_eq!(advice_of(Reason::Refused, "", 1), Reason::Refused.row().next);
        assert_eq!(advice_of(Reason::ToolDenied, "", 1), Reason::ToolDenied.row().next);
        assert_eq!(next_step(&RunStart::default(), &RunEnd::default(), None), None, "it did not fail");
    }
}
