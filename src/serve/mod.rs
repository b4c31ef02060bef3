//! Agents and sessions for other programs: `serve` answers over HTTP (`http`), `mcp` over stdio (`mcp`).
//!
//! In: a workbench, the agents to serve. Out: replies to requests, and a session of each run. It must never run a tool that its
//! owner did not allow, and never read a file that a request names.

mod active;
mod agents;
pub mod http;
pub mod mcp;
mod metrics;
mod runs;

use std::borrow::Cow;

use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};
use serde_json::{Number, Value};

pub use active::{ActiveRun, RunProgress};
pub use agents::ServedAgent;
pub use runs::{RecordedRun, RunOptions, RunRefusal, Runs};

/// Maximum levels of an answer as a `serde_json` value.
const MAX_LEVELS: usize = 100;

/// JSON of a client in the core's form. Errors: it is nested too deeply, or a number is too long.
fn core_json(value: &Value) -> Result<Json, String> {
    json::parse(&value.to_string()).map_err(|error| error.message)
}

/// JSON with integers beyond 64 bits as floats, for readers that use `serde_json`, which refuses or rounds them.
fn rounded(json: &Json) -> Cow<'_, Json> {
    if fits(json) { Cow::Borrowed(json) } else { Cow::Owned(round(json)) }
}

/// Returns whether it has no integer beyond 64 bits.
fn fits(json: &Json) -> bool {
    match &json.node {
        Node::Big(number) => number.to_string().parse::<u64>().is_ok(),
        Node::List(items) => items.iter().all(fits),
        Node::Object(members) => members.iter().all(|member| fits(&member.value)),
        _ => true,
    }
}

fn round(json: &Json) -> Json {
    match &json.node {
        Node::Big(number) if !fits(json) => {
            number.to_string().parse::<f64>().unwrap_or(f64::MAX).clamp(f64::MIN, f64::MAX).into()
        }
        Node::List(items) => Json::list(items.iter().map(round)),
        Node::Object(_) => json.map_members(|_, value| round(value)),
        _ => json.clone(),
    }
}

/// JSON as a `serde_json` value. `None`: a number does not fit 64 bits, or it has more than [`MAX_LEVELS`] levels.
fn exact_value(json: &Json) -> Option<Value> {
    value_within(json, MAX_LEVELS)
}

fn value_within(json: &Json, levels: usize) -> Option<Value> {
    let inner = levels.checked_sub(1)?;
    Some(match &json.node {
        Node::Null => Value::Null,
        Node::Bool(truth) => Value::Bool(*truth),
        Node::Int(number) => Value::from(*number),
        Node::Big(number) => Value::from(number.to_string().parse::<u64>().ok()?),
        Node::Float(number) => Value::Number(Number::from_f64(*number)?),
        Node::Str(text) => Value::String(text.clone()),
        Node::List(items) => {
            let items = items.iter().map(|item| value_within(item, inner));
            Value::Array(items.collect::<Option<_>>()?)
        }
        Node::Object(members) => {
            let members = members.iter().map(|member| Some((member.key.clone(), value_within(&member.value, inner)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Json {
        json::parse(text).unwrap()
    }

    #[test]
    fn values_are_exact_or_none() {
        let fits = r#"{"a":[18446744073709551615,-9223372036854775808,0.1,2.0,0],"b":null}"#;
        assert_eq!(exact_value(&parsed(fits)).unwrap().to_string(), fits);
        for beyond in ["18446744073709551616", "-9223372036854775809", r#"{"a":[12345678901234567890123]}"#] {
            assert_eq!(exact_value(&parsed(beyond)), None, "{beyond}");
        }
        let nested = |levels: usize| parsed(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels)));
        assert!(exact_value(&nested(MAX_LEVELS - 1)).is_some() && exact_value(&nested(MAX_LEVELS)).is_none());
    }

    #[test]
    fn integers_beyond_64_bits_become_floats_that_serde_json_reads() {
        let text = format!(r#"{{"a":[18446744073709551616,-{}],"b":7,"c":18446744073709551615}}"#, "9".repeat(400));
        let read: Value = serde_json::from_str(&rounded(&parsed(&text)).to_text()).unwrap();
        assert!(read["a"][0].is_f64() && read["a"][1].is_f64(), "{read}");
        assert_eq!(read["b"], 7);
        assert_eq!(read["c"], u64::MAX);
    }
}
