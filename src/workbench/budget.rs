//! Budget of a run: its limits, and the limit that ended it.
//!
//! In: how a run started and ended. Out: limits by name with their values, and those that would have let the run continue. Names are those
//! of the table of limits.

use ptc_core::limits::{
    LIMITS, LOOP_JUMPS, Limit, MAX_TURNS, MISSION_TIMEOUT, PROGRAM_MEMORY, PROGRAM_TIMEOUT, RUN_CALLS, TOKEN_LIMIT,
};
use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::config::document;
use crate::event::{ErrorRecord, RunEnd, RunStart};

/// The key of the limit of costs, which is not a whole number.
const COST_LIMIT: &str = "cost_limit";

/// The limits of a run that are on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budget {
    /// Tokens of the run.
    pub tokens: Option<u64>,
    /// Time for the run, in ms.
    pub time_ms: Option<u64>,
    /// Tool calls of the run.
    pub calls: Option<u64>,
    /// Costs of the run, in the currency of the prices.
    pub cost: Option<f64>,
}

impl Budget {
    /// The limits that a run started with.
    pub fn of(start: &RunStart) -> Self {
        Self {
            tokens: start.limit(TOKEN_LIMIT.name),
            time_ms: start.limit(MISSION_TIMEOUT.name),
            calls: written(start, RUN_CALLS.name).and_then(|text| text.parse().ok()),
            cost: written(start, COST_LIMIT).and_then(|text| text.parse().ok()),
        }
    }
}

/// A limit that ended a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its key in an agent file.
    pub key: &'static str,
    /// The value that it had.
    pub value: String,
    /// The value to try next.
    pub next: String,
}

impl Hit {
    /// The limit that made a run fail, when one did that can be raised.
    pub fn of(start: &RunStart, end: &RunEnd) -> Option<Self> {
        let fail = end.fail.as_ref()?;
        let reason = Reason::from_name(&fail.reason)?;
        if reason == Reason::CostExceeded {
            let value = written(start, COST_LIMIT)?;
            let spent = spent(fail).unwrap_or(0.0);
            let next = value.parse().map_or_else(|_| value.clone(), |limit| enough(limit, spent).to_string());
            return Some(Self { key: COST_LIMIT, value, next });
        }
        // The turns are used up by work: more turns help before more corrections do.
        let row = match reason {
            Reason::BudgetExhausted | Reason::MustReturnMissing => &MAX_TURNS,
            _ if NAMES_A_LIMIT.contains(&reason) => LIMITS.iter().find(|limit| limit.reason == reason)?,
            _ => return None,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts far below 2^53")]
        let spent = spent(fail).map_or(0, |spent| spent as u64);
        Self::raised(row, start, spent)
    }

    /// The turns, when the run failed because its last one did: with more of them the model reads what was wrong and corrects it.
    pub fn of_turns(start: &RunStart, end: &RunEnd) -> Option<Self> {
        let hit = Self::raised(&MAX_TURNS, start, 0)?;
        let all = hit.value.parse().is_ok_and(|turns: u32| end.usage.totals.turns >= turns);
        (end.fail.is_some() && all).then_some(hit)
    }

    /// The limit that ended the last program.
    pub fn of_program(start: &RunStart, reason: Reason) -> Option<Self> {
        let row = match reason {
            Reason::LoopLimitExceeded => &LOOP_JUMPS,
            Reason::Timeout => &PROGRAM_TIMEOUT,
            Reason::MemoryExceeded => &PROGRAM_MEMORY,
            _ => return None,
        };
        Self::raised(row, start, 0)
    }

    /// A limit, doubled until it allows more than was spent; `None` when it is as large as it can be.
    fn raised(row: &Limit, start: &RunStart, spent: u64) -> Option<Self> {
        let known = start.limit(row.name);
        let written = || written(start, row.name)?.parse().ok();
        let value = known.or_else(written).or(row.default)?;
        let mut doubled = std::iter::successors(Some(value.max(1)), |limit| limit.checked_mul(2));
        let next = doubled.find(|limit| *limit > value.max(spent)).unwrap_or(row.max).clamp(row.min, row.max);
        (next > value).then(|| Self { key: row.name, value: value.to_string(), next: next.to_string() })
    }
}

/// A limit of costs, doubled until the run would not have reached it.
fn enough(limit: f64, spent: f64) -> f64 {
    let doubled = std::iter::successors(Some(limit.max(0.01) * 2.0), |limit| Some(limit * 2.0));
    doubled.take(64).find(|limit| *limit > spent).unwrap_or(limit * 2.0)
}

/// Returns the amount that had been spent when the limit was noticed.
fn spent(fail: &ErrorRecord) -> Option<f64> {
    match fail.details.as_ref()?.json().get("spent").map(|spent: &Json| &spent.node)? {
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        Node::Int(count) => Some(*count as f64),
        Node::Float(amount) => Some(*amount),
        _ => None,
    }
}

/// Reasons that mean that a limit of the agent was reached.
const NAMES_A_LIMIT: [Reason; 9] = [
    Reason::MaxTurnsExceeded,
    Reason::MissionTimeout,
    Reason::TokenLimitExceeded,
    Reason::TurnBudgetExhausted,
    Reason::MaxDepthExceeded,
    Reason::ToolCallLimitExceeded,
    Reason::MemoryLimitExceeded,
    Reason::ProtocolError,
    Reason::MissingRefs,
];

/// The value of a key in the agent's definition, as text.
fn written(start: &RunStart, key: &str) -> Option<String> {
    let document = document::parse(&start.agent.toml).ok()?;
    let value = document.get(key)?;
    matches!(value.node, Node::Int(_) | Node::Float(_)).then(|| value.to_text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AgentRecord, JsonText};

    fn start(toml: &str) -> RunStart {
        let agent = AgentRecord { toml: toml.to_owned(), ..AgentRecord::default() };
        RunStart { agent, limits: vec![("max_turns".to_owned(), 3)], ..RunStart::default() }
    }

    fn ended(reason: Reason, spent: Option<&str>) -> RunEnd {
        let details = spent.map(|spent| ptc_core::value::json::parse(&format!("{{\"spent\":{spent}}}")).unwrap());
        let details = details.map(|details| JsonText::of(&details));
        RunEnd { fail: Some(ErrorRecord { details, ..ErrorRecord::new(reason, "") }), ..RunEnd::default() }
    }

    #[test]
    fn the_limit_that_ended_a_run_is_named_with_its_value_and_the_next() {
        let hit = |reason, toml| Hit::of(&start(toml), &ended(reason, None));
        let turns = hit(Reason::MaxTurnsExceeded, "").unwrap();
        assert_eq!((turns.key, turns.value.as_str(), turns.next.as_str()), ("max_turns", "3", "6"));
        let calls = hit(Reason::ToolCallLimitExceeded, "max_tool_calls = 4").unwrap();
        assert_eq!((calls.key, calls.value.as_str()), ("max_tool_calls", "4"));
        let cost = hit(Reason::CostExceeded, "cost_limit = 0.25").unwrap();
        assert_eq!((cost.key, cost.next.as_str()), ("cost_limit", "0.5"));
        let refs = hit(Reason::MissingRefs, "max_ref_retries = 0").unwrap();
        assert_eq!((refs.key, refs.next.as_str()), ("max_ref_retries", "1"));
        assert_eq!(hit(Reason::ValidationError, ""), None);
        assert_eq!(hit(Reason::MaxDepthExceeded, "max_depth = 100"), None, "it is as large as it can be");
    }

    #[test]
    fn turns_are_used_up_only_when_they_are() {
        let turns = |used| {
            let mut end = ended(Reason::ValidationError, None);
            end.usage.totals.turns = used;
            Hit::of_turns(&start(""), &end).map(|hit| hit.next)
        };
        assert_eq!((turns(2), turns(3).as_deref()), (None, Some("6")));
        assert_eq!(Hit::of_turns(&start(""), &RunEnd::default()), None, "it did not fail");
    }

    #[test]
    fn the_next_limit_allows_what_was_spent() {
        let next = |reason, toml, spent: &str| Hit::of(&start(toml), &ended(reason, Some(spent))).unwrap().next;
        assert_eq!(next(Reason::TokenLimitExceeded, "token_limit = 50", "1100000"), "1638400");
        assert_eq!(next(Reason::CostExceeded, "cost_limit = 0.5", "1.1"), "2");
        assert_eq!(next(Reason::CostExceeded, "cost_limit = 0.0", "1.1"), "1.28");
    }

    #[test]
    fn limits_that_are_off_are_no_budget() {
        assert_eq!(Budget::of(&start("")), Budget::default());
        assert_eq!(Budget::of(&start("max_tool_calls = 4")).calls, Some(4));
    }
}
