//! Narrowing keywords of JSON Schema (format, minimum, maximum, minItems, maxItems): checking values, and fitting
//! sample values.
//!
//! In: keywords of a schema. Out: issues. A keyword for another type is ignored, as in JSON Schema.

use num_traits::FromPrimitive as _;

use super::check::shown;
use super::issue::{Issue, Trail};
use crate::value::json::Node;
use crate::value::{Json, Value};

/// Adds an issue for every keyword that the value violates.
pub(super) fn check(keywords: &[(String, Json)], value: &Value, at: &Trail, issues: &mut Vec<Issue>) {
    let length = value.elements().map(|items| items.len());
    for (keyword, bound) in keywords {
        let broken = match (keyword.as_str(), value) {
            ("minimum", _) => number(value).zip(limit(bound)).filter(|(have, least)| have < least).map(|_| "at least"),
            ("maximum", _) => number(value).zip(limit(bound)).filter(|(have, most)| have > most).map(|_| "at most"),
            ("minItems", _) => length.zip(count(bound)).filter(|(have, least)| have < least).map(|_| "at least"),
            ("maxItems", _) => length.zip(count(bound)).filter(|(have, most)| have > most).map(|_| "at most"),
            ("format", Value::Str(text)) => {
                bound.as_str().filter(|name| !is_format(name, text)).map(|_| "text in format")
            }
            _ => None,
        };
        let Some(relation) = broken else { continue };
        let bound = bound.as_str().map_or_else(|| bound.to_text(), str::to_owned);
        issues.push(match length {
            Some(length) => Issue::mismatch(at, format!("{relation} {bound} items"), length.to_string()),
            None => Issue::mismatch(at, format!("{relation} {bound}"), shown(value)),
        });
    }
}

/// The number of a `minimum` or `maximum`.
pub(super) fn limit(bound: &Json) -> Option<f64> {
    number(&bound.to_value())
}

/// The number of items of a `minItems` or `maxItems`.
pub(super) fn count(bound: &Json) -> Option<usize> {
    match bound.node {
        Node::Int(count) => usize::try_from(count).ok(),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "bounds are compared as doubles, as JSON Schema validators do")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Big(big) => num_traits::ToPrimitive::to_f64(&**big),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}

/// True if the text has the format. Formats without a rule here are annotations, as in JSON Schema.
fn is_format(format: &str, text: &str) -> bool {
    match format {
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        "time" => text.parse::<jiff::civil::Time>().is_ok(),
        "email" => text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.')),
        "uuid" => {
            let groups: Vec<&str> = text.split('-').collect();
            let hex = |group: &&str| group.chars().all(|c| c.is_ascii_hexdigit());
            groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(hex)
        }
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| {
            let word = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
            word && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.contains(char::is_whitespace)
        }),
        _ => true,
    }
}

/// Maximum number of nodes of a list that is repeated to satisfy `minItems`; limits the memory for a hostile schema.
const MAX_FITTED_NODES: usize = 10_000;

/// Changes a value to satisfy the keywords: moves numbers into the range, repeats or drops items, replaces text by one
/// in the format.
pub(super) fn fit(keywords: &[(String, Json)], value: Json) -> Json {
    keywords.iter().fold(value, |json, (keyword, bound)| {
        let node = match (keyword.as_str(), json.node) {
            ("minimum", node) => moved(node, bound, f64::ceil, |have, least| have < least),
            ("maximum", node) => moved(node, bound, f64::floor, |have, most| have > most),
            ("minItems", Node::List(items)) => {
                let size: usize = items.iter().map(size).sum();
                let most = items.len().saturating_mul(MAX_FITTED_NODES / size.max(1));
                let missing = count(bound).unwrap_or(0).min(most).saturating_sub(items.len());
                let more: Vec<Json> = items.iter().cycle().take(missing).cloned().collect();
                Node::List(items.into_iter().chain(more).collect())
            }
            ("maxItems", Node::List(mut items)) => {
                items.truncate(count(bound).unwrap_or(usize::MAX));
                Node::List(items)
            }
            ("format", Node::Str(text)) => Node::Str(match bound.as_str() {
                Some("date") => "2026-01-31".to_owned(),
                Some("time") => "09:30:00".to_owned(),
                Some("email") => "ada@example.com".to_owned(),
                Some("uuid") => "123e4567-e89b-42d3-a456-426614174000".to_owned(),
                Some("ipv4") => "192.0.2.1".to_owned(),
                Some("ipv6") => "2001:db8::1".to_owned(),
                Some("uri") => "https://example.com/".to_owned(),
                _ => text,
            }),
            (_, node) => node,
        };
        node.into()
    })
}

/// Moves a number that exceeds a bound to the bound; integers to the next whole number within.
fn moved(node: Node, bound: &Json, inside: fn(f64) -> f64, beyond: fn(&f64, &f64) -> bool) -> Node {
    let Some((have, bound)) = number(&Json::from(node.clone()).to_value()).zip(limit(bound)) else { return node };
    if !beyond(&have, &bound) {
        return node;
    }
    match node {
        Node::Float(_) => Node::Float(bound),
        _ => match i64::from_f64(inside(bound)) {
            Some(int) => Node::Int(int),
            None => node,
        },
    }
}

/// The number of nodes of a tree.
fn size(json: &Json) -> usize {
    let children: usize = match &json.node {
        Node::List(items) => items.iter().map(size).sum(),
        Node::Object(members) => members.iter().map(|member| size(&member.value)).sum(),
        _ => 0,
    };
    children + 1
}
