//! Equal answers, grouped: what the trials of a cell agree on.
//!
//! In: answers as JSON. Out: groups with their counts, the most frequent first.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::state::{Outcome, Trial};

/// Trials with the same outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerGroup {
    /// The answer or the failure.
    pub outcome: Outcome,
    /// How many trials gave it.
    pub count: u32,
    /// How many of them passed.
    pub passed: u32,
}

/// Groups the outcomes of trials: most frequent first, of equal counts the one that came first.
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

/// The text that equal JSON values share: keys sorted, numbers by value (`1.0` is `1`). Values of runs are at most 512 levels deep.
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

/// The integer that a float is exactly.
fn whole(number: f64) -> Option<i64> {
    /// Up to here every integer has a float of its own.
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
