//! Groups of equal outcomes among the trials of a cell.
//!
//! In: outcomes with answers as JSON text. Out: groups with their counts, the most frequent first.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::state::{Outcome, Trial};

/// Trials with the same outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerGroup {
    /// The answer, or the reason of the failure.
    pub outcome: Outcome,
    /// Number of trials with this outcome.
    pub count: u32,
    /// Number of them that passed.
    pub passed: u32,
}

/// Groups the outcomes of trials: the most frequent first, groups of equal count in order of their first trial.
pub(super) fn groups<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<AnswerGroup> {
    let mut groups: Vec<AnswerGroup> = Vec::new();
    for trial in trials {
        let place = groups.iter().position(|group| group.outcome == trial.outcome).unwrap_or_else(|| {
            groups.push(AnswerGroup { outcome: trial.outcome.clone(), count: 0, passed: 0 });
            groups.len() - 1
        });
        let group = &mut groups[place];
        group.count += 1;
        group.passed += u32::from(trial.passed);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups
}

/// Returns a JSON text that equal values share: keys are sorted, whole floats are written as integers (`1.0` as `1`). Values of runs are
/// at most 512 levels deep.
pub fn canonical(json: &Json) -> String {
    sorted(json).to_text()
}

fn sorted(json: &Json) -> Json {
    match &json.node {
        Node::List(items) => Json::list(items.iter().map(sorted)),
        Node::Object(members) => {
            let mut members: Vec<_> = members.iter().map(|member| (member.key.as_str(), &member.value)).collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            Json::object(members.into_iter().map(|(key, value)| (key, sorted(value))))
        }
        Node::Float(number) => whole(*number).map_or_else(|| json.clone(), |whole| Node::Int(whole).into()),
        _ => json.clone(),
    }
}

/// Returns the integer that equals a float, if there is one.
fn whole(number: f64) -> Option<i64> {
    /// Largest integer up to which floats represent every integer exactly (2^53).
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "checked: whole and small enough")]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json::parse;

    use super::*;

    #[test]
    fn equal_values_have_one_text() {
        let text = |json: &str| canonical(&parse(json).unwrap());
        assert_eq!(text(r#"{"b":[1.0,{"d":2,"c":-0.0}],"a":"x"}"#), r#"{"a":"x","b":[1,{"c":0,"d":2}]}"#);
        assert_eq!(text(r#"{"a":"x","b":[1,{"c":0,"d":2.00}]}"#), text(r#"{"b":[1.0,{"d":2,"c":0}],"a":"x"}"#));
        assert_ne!(text("[1,2]"), text("[2,1]"));
        assert_ne!(text("1"), text("\"1\""));
        assert_eq!(text("0.5"), "0.5");
    }
}
