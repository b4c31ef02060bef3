//! A JSON Schema written by the developer: compiled once, asked for every answer.
//!
//! In: a schema, answers. Out: issues with dotted paths. It must never fetch anything: references lead to places inside the schema.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::schema_cost::{REFERENCES, SchemaCost};
use ptc_core::limits::{SCHEMA_PARTS, SCHEMA_STEPS};
use ptc_core::signature::{Issue, Path, Segment, Severity};
use ptc_core::value::Json;
use ptc_core::value::json::Node;
use serde_json::Value;

/// Issues of one answer.
const MAX_ISSUES: usize = 1_000;
/// Bytes of a value that an issue quotes.
const MAX_QUOTE_BYTES: usize = 500;

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct RawSchema {
    validator: Arc<jsonschema::Validator>,
    schema: Arc<Json>,
}

impl RawSchema {
    /// Compiles a schema. The error names the problem and its position.
    pub fn compile(schema: &Json) -> Result<Self, String> {
        if let Some(reference) = outside(schema) {
            return Err(format!(
                "the schema refers to `{reference}`; only references inside the schema, such as `#/$defs/name`, are followed"
            ));
        }
        let most = SCHEMA_PARTS.most();
        if SchemaCost::new(schema).expanded(most).is_none() {
            return Err(format!(
                "the schema expands to more than {most} parts (`schema_parts`); use fewer references to shared definitions"
            ));
        }
        let validator = jsonschema::validator_for(&value(schema)).map_err(|error| {
            let place = error.instance_path().as_str();
            let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
            format!("the schema is not a JSON Schema{place}: {error}")
        })?;
        Ok(Self { validator: Arc::new(validator), schema: Arc::new(schema.clone()) })
    }

    /// The schema.
    pub fn json(&self) -> &Json {
        &self.schema
    }

    /// The answer when it fits, as it is or without members that are null: services that enforce only strict schemas give null for
    /// what may be missing. Errors: what is wrong with it.
    pub fn fit(&self, answer: &Json) -> Result<Json, Vec<Issue>> {
        let issues = self.check(answer);
        if issues.is_empty() {
            return Ok(answer.clone());
        }
        let filled = without_nulls(answer);
        if filled != *answer && self.check(&filled).is_empty() { Ok(filled) } else { Err(issues) }
    }

    /// Returns the issues of an answer; none when it fits.
    pub fn check(&self, answer: &Json) -> Vec<Issue> {
        let most = SCHEMA_STEPS.most();
        if SchemaCost::new(&self.schema).steps(answer, most).is_none() {
            let message = format!("validating this answer takes more than {most} steps (`schema_steps`)");
            let expected = "a smaller answer".to_owned();
            let (path, got) = (Path::default(), "an answer that is too large or nested too deeply".to_owned());
            return vec![Issue { path, severity: Severity::Error, expected, got, message }];
        }
        let instance = value(answer);
        let issue = |error: jsonschema::ValidationError<'_>| {
            let (got, is_whole) = quoted(error.instance());
            Issue {
                path: path(answer, error.instance_path().as_str()),
                severity: Severity::Error,
                expected: error.kind().keyword().to_owned(),
                got,
                message: if is_whole { error.to_string() } else { error.masked().to_string() },
            }
        };
        self.validator.iter_errors(&instance).map(issue).take(MAX_ISSUES).collect()
    }
}

/// The text of a value, and whether it is complete: each issue of a large answer would quote all of it otherwise.
fn quoted(value: &Value) -> (String, bool) {
    let mut quote = Quote(String::new());
    let is_whole = write!(quote, "{value}").is_ok();
    if !is_whole {
        quote.0.push('…');
    }
    (quote.0, is_whole)
}

/// A text with a byte limit; further writes fail.
struct Quote(String);

impl fmt::Write for Quote {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_QUOTE_BYTES.saturating_sub(self.0.len());
        let part = text.floor_char_boundary(room.min(text.len()));
        self.0.push_str(text.get(..part).unwrap_or_default());
        if part < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The value without members that are null. JSON that was read is at most 512 levels deep.
fn without_nulls(json: &Json) -> Json {
    match &json.node {
        Node::List(items) => Json::list(items.iter().map(without_nulls)),
        Node::Object(members) => {
            let filled = members.iter().filter(|member| member.value.node != Node::Null);
            Json::object(filled.map(|member| (member.key.clone(), without_nulls(&member.value))))
        }
        _ => json.clone(),
    }
}

/// The first reference that leads out of the schema.
fn outside(schema: &Json) -> Option<&str> {
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        match &part.node {
            Node::List(items) => open.extend(items),
            Node::Object(members) => {
                let references = members.iter().filter(|member| REFERENCES.contains(&member.key.as_str()));
                let leads_out = |text: &&str| !text.starts_with('#');
                if let Some(text) = references.filter_map(|member| member.value.as_str()).find(leads_out) {
                    return Some(text);
                }
                open.extend(members.iter().map(|member| &member.value));
            }
            _ => {}
        }
    }
    None
}

/// The tree as the validator wants it. Depth is bounded by the JSON and TOML readers; integers beyond 64 bits become doubles.
fn value(json: &Json) -> Value {
    match &json.node {
        Node::Null => Value::Null,
        Node::Bool(truth) => Value::Bool(*truth),
        Node::Int(int) => Value::from(*int),
        Node::Big(big) => big.to_string().parse::<f64>().map_or(Value::Null, Value::from),
        Node::Float(float) => Value::from(*float),
        Node::Str(text) => Value::String(text.clone()),
        Node::List(items) => Value::Array(items.iter().map(value).collect()),
        Node::Object(members) => {
            Value::Object(members.iter().map(|member| (member.key.clone(), value(&member.value))).collect())
        }
    }
}

/// The path of a JSON pointer into this answer.
fn path(answer: &Json, pointer: &str) -> Path {
    let mut at = Some(answer);
    let mut path = Path::default();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if let (Some(items), Ok(index)) = (at.and_then(Json::items), step.parse::<usize>()) {
            at = items.get(index);
            path.0.push(Segment::Index(index));
        } else {
            at = at.and_then(|json| json.get(&step));
            path.0.push(Segment::Field(step));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_core::value::json::parse;

    #[test]
    fn a_schema_above_schema_parts_is_refused_before_validation() {
        let reference = |level: usize| format!(r##"{{"$ref":"#/$defs/d{level}"}}"##);
        let definition = |level: usize| {
            let uses = vec![reference(level + 1); 10].join(",");
            format!("\"d{level}\":{{\"allOf\":[{uses}]}}")
        };
        let definitions: Vec<String> = (0..13).map(definition).collect();
        let text = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d13":{{}}}}}}"##, definitions.join(","));
        let error = RawSchema::compile(&parse(&text).expect("JSON")).unwrap_err();
        assert!(error.contains("more than 100000 parts (`schema_parts`)"), "{error}");
    }

    #[test]
    fn issues_about_a_large_answer_quote_a_part_of_it_and_are_limited() {
        let bounds: Vec<String> = (0..1_500).map(|more| format!("{{\"minItems\":{}}}", 1_000_000 + more)).collect();
        let schema = format!("{{\"allOf\":[{}]}}", bounds.join(","));
        let schema = RawSchema::compile(&parse(&schema).expect("JSON")).expect("a schema");
        let answer = |items: usize| parse(&format!("[{}1]", "1,".repeat(items))).expect("JSON");
        let issues = schema.check(&answer(1_000));
        assert_eq!(issues.len(), MAX_ISSUES);
        assert_eq!(issues[0].message, "value has less than 1000000 items");
        assert!(issues.iter().all(|issue| issue.message.len() + issue.got.len() < 1_000));
        assert_eq!(schema.check(&answer(1))[0].message, "[1,1] has less than 1000000 items");
    }

    #[test]
    fn an_answer_above_schema_steps_is_an_issue() {
        let both = r##"{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}"##;
        let schema = RawSchema::compile(&parse(both).expect("JSON")).expect("a schema");
        let nested =
            |levels: usize| parse(&format!("{}{{}}{}", "{\"a\":".repeat(levels), "}".repeat(levels))).expect("JSON");
        assert_eq!(schema.check(&nested(10)), []);
        let [issue] = &schema.check(&nested(60))[..] else { panic!("one issue") };
        assert!(issue.message.contains("more than 2000000 steps (`schema_steps`)"), "{}", issue.message);
    }
}
