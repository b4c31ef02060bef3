//! A JSON Schema written by the developer: compiled once, asked for every answer.
//!
//! In: a schema, answers. Out: issues with dotted paths. It must never fetch anything: references lead to places inside the schema.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::schema_cost::{CostError, MAX_DEPTH, REFERENCES, SchemaCost};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
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
        // In the newer drafts `format` is only checked on demand.
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&value(schema)).map_err(|error| {
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

    /// The answer when it fits, as it is or without the members that must not be null: services that enforce only strict schemas give
    /// null for what may be missing. Errors: what is wrong with it.
    pub fn fit(&self, answer: &Json) -> Result<Json, Vec<Issue>> {
        let instance = self.instance(answer).map_err(|error| vec![not_validated(error)])?;
        let issues = self.issues(answer, &instance);
        if issues.is_empty() {
            return Ok(answer.clone());
        }
        let nulls = refused_nulls(self.validator.iter_errors(&instance));
        let filled = nulls.map(|nulls| without(answer, "", &nulls));
        filled.filter(|filled| self.check(filled).is_empty()).ok_or(issues)
    }

    /// The answer in the form of the validator. Errors: validating it takes too long.
    fn instance(&self, answer: &Json) -> Result<Value, CostError> {
        SchemaCost::new(&self.schema).steps(answer, SCHEMA_STEPS.most()).map(|_| value(answer))
    }

    /// Returns the issues of an answer; none when it fits.
    pub fn check(&self, answer: &Json) -> Vec<Issue> {
        match self.instance(answer) {
            Ok(instance) => self.issues(answer, &instance),
            Err(error) => vec![not_validated(error)],
        }
    }

    fn issues(&self, answer: &Json, instance: &Value) -> Vec<Issue> {
        let issue = |error: ValidationError<'_>| {
            let (got, is_whole) = quoted(error.instance());
            Issue {
                path: path(answer, error.instance_path().as_str()),
                severity: Severity::Error,
                expected: error.kind().keyword().to_owned(),
                got,
                message: if is_whole { error.to_string() } else { error.masked().to_string() },
            }
        };
        self.validator.iter_errors(instance).map(issue).take(MAX_ISSUES).collect()
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

/// The issue of an answer that cannot be validated.
fn not_validated(error: CostError) -> Issue {
    let most = SCHEMA_STEPS.most();
    let (expected, got, message) = match error {
        CostError::Steps => (
            "a smaller answer",
            "an answer that is too large",
            format!("validating this answer takes more than {most} steps (`schema_steps`)"),
        ),
        CostError::Depth => (
            "fewer levels of nesting",
            "an answer that is nested too deeply",
            format!(
                "validating this answer takes more than {MAX_DEPTH} levels of values and subschemas; nest it less deeply"
            ),
        ),
        CostError::Circle => (
            "a schema that ends",
            "a circular reference",
            "validating never ends: a reference of the schema leads back to itself for the same value".to_owned(),
        ),
    };
    let (path, severity) = (Path::default(), Severity::Error);
    Issue { path, severity, expected: expected.to_owned(), got: got.to_owned(), message }
}

/// The JSON pointers of the nulls that the errors are about; `None` when one is about anything else. Of alternatives, those of the first
/// that only refuses nulls.
fn refused_nulls<'e>(mut errors: impl Iterator<Item: Borrow<ValidationError<'e>>>) -> Option<BTreeSet<String>> {
    errors.try_fold(BTreeSet::new(), |mut nulls, error| {
        let error = error.borrow();
        match error.kind() {
            _ if error.instance().is_null() => _ = nulls.insert(error.instance_path().as_str().to_owned()),
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                nulls.extend(context.iter().find_map(|arm| refused_nulls(arm.iter()))?);
            }
            _ => return None,
        }
        Some(nulls)
    })
}

/// The value at the JSON pointer `at` without these members. JSON that was read is at most 512 levels deep.
fn without(json: &Json, at: &str, dropped: &BTreeSet<String>) -> Json {
    match &json.node {
        Node::List(items) => {
            Json::list(items.iter().enumerate().map(|(index, item)| without(item, &format!("{at}/{index}"), dropped)))
        }
        Node::Object(members) => Json::object(members.iter().filter_map(|member| {
            let here = format!("{at}/{}", member.key.replace('~', "~0").replace('/', "~1"));
            (!dropped.contains(&here)).then(|| (member.key.clone(), without(&member.value, &here, dropped)))
        })),
        _ => json.clone(),
    }
}

/// Keywords whose values are data, not schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords with schemas by name.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// The first reference that leads out of the schema.
fn outside(schema: &Json) -> Option<&str> {
    let mut open = vec![(schema, false)];
    while let Some((part, has_names)) = open.pop() {
        open.extend(part.items().unwrap_or_default().iter().map(|item| (item, false)));
        for member in part.members().unwrap_or_default() {
            let is_keyword = |keywords: &[&str]| !has_names && keywords.contains(&member.key.as_str());
            if is_keyword(&DATA) {
                continue;
            }
            let reference = member.value.as_str().filter(|text| is_keyword(&REFERENCES) && !text.starts_with('#'));
            if reference.is_some() {
                return reference;
            }
            open.push((&member.value, is_keyword(&NAMED)));
        }
    }
    None
}

/// The tree as the validator wants it. Depth is bounded by the JSON and TOML readers; integers beyond 64 bits become the nearest double.
fn value(json: &Json) -> Value {
    match &json.node {
        Node::Null => Value::Null,
        Node::Bool(truth) => Value::Bool(*truth),
        Node::Int(int) => Value::from(*int),
        Node::Big(big) => u64::try_from(&**big).map_or_else(|_| nearest(&big.to_string()), Value::from),
        Node::Float(float) => Value::from(*float),
        Node::Str(text) => Value::String(text.clone()),
        Node::List(items) => Value::Array(items.iter().map(value).collect()),
        Node::Object(members) => {
            Value::Object(members.iter().map(|member| (member.key.clone(), value(&member.value))).collect())
        }
    }
}

/// The finite double nearest to an integer.
fn nearest(digits: &str) -> Value {
    digits.parse::<f64>().map_or(Value::Null, |double| double.clamp(f64::MIN, f64::MAX).into())
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

    fn compiled(schema: &str) -> RawSchema {
        RawSchema::compile(&parse(schema).expect("JSON")).expect("a schema")
    }

    #[test]
    fn nulls_that_the_schema_refuses_are_absent_members_and_others_are_data() {
        let cases = [
            // The strict form of this schema requires both members and lets both be null.
            (
                r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["string","null"]}},"required":["b"],"additionalProperties":false}"#,
                r#"{"a":null,"b":null}"#,
                Some(r#"{"b":null}"#),
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"},"raw":{"type":"object"}},"required":["raw"]}"#,
                r#"{"a":null,"raw":{"at":null,"tags":[{"x":null}]}}"#,
                Some(r#"{"raw":{"at":null,"tags":[{"x":null}]}}"#),
            ),
            (
                r##"{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"properties":{"a/b":{"type":"integer"}}}}}"##,
                r#"[{"a/b":1},{"a/b":null}]"#,
                Some(r#"[{"a/b":1},{}]"#),
            ),
            // Of alternatives, the one that otherwise fits.
            (
                r#"{"anyOf":[{"properties":{"k":{"const":"x"},"a":{"type":"string"},"b":{"type":"string"}}},{"properties":{"k":{"const":"y"},"a":{"type":["string","null"]},"b":{"type":"string"}}}]}"#,
                r#"{"k":"y","a":null,"b":null}"#,
                Some(r#"{"k":"y","a":null}"#),
            ),
            (r#"{"properties":{"a":{"type":"string"}},"required":["a"]}"#, r#"{"a":null}"#, None),
            (r#"{"items":{"type":"string"}}"#, "[null]", None),
            (r#"{"type":"string"}"#, "null", None),
        ];
        for (schema, answer, expected) in cases {
            let found = compiled(schema).fit(&parse(answer).expect("JSON")).ok().map(|filled| filled.to_text());
            assert_eq!(found.as_deref(), expected, "{schema}");
        }
    }

    #[test]
    fn integers_of_64_bits_are_exact_and_larger_ones_are_integers() {
        let large = format!("1{}", "0".repeat(400));
        let cases = [
            (r#"{"uniqueItems":true}"#, "[18446744073709551614,18446744073709551615]", true),
            (r#"{"enum":[13835058055282163712]}"#, "13835058055282163713", false),
            (r#"{"enum":[13835058055282163712]}"#, "13835058055282163712", true),
            (r#"{"maximum":18446744073709551614}"#, "18446744073709551615", false),
            (r#"{"type":"integer","minimum":0}"#, &large, true),
            (r#"{"type":"string"}"#, &large, false),
        ];
        for (schema, answer, fits) in cases {
            let issues = compiled(schema).check(&parse(answer).expect("JSON"));
            assert_eq!(issues.is_empty(), fits, "{schema} {answer}: {issues:?}");
        }
    }

    #[test]
    fn formats_are_checked_in_every_draft() {
        for draft in ["", r#""$schema":"http://json-schema.org/draft-07/schema#","#] {
            for (format, valid, wrong) in
                [("email", "a@b.co", "a"), ("date", "2026-02-28", "2026-02-30"), ("own", "a", "")]
            {
                let schema = compiled(&format!("{{{draft}\"format\":\"{format}\"}}"));
                assert_eq!(schema.check(&Json::str(valid)), [], "{draft} {format}");
                assert_eq!(schema.check(&Json::str(wrong)).is_empty(), format == "own", "{draft} {format}");
            }
        }
    }

    #[test]
    fn data_that_looks_like_a_reference_is_not_one() {
        let refused = |schema: &str| RawSchema::compile(&parse(schema).expect("JSON")).err();
        for inside in [
            r#"{"enum":[{"$ref":"http://x.y/z"}]}"#,
            r#"{"properties":{"a":{"const":{"$ref":"http://x.y/z"},"examples":[{"$ref":"q"}]}}}"#,
            r#"{"properties":{"$ref":{"type":"string"}},"required":["$ref"]}"#,
        ] {
            assert_eq!(refused(inside), None, "{inside}");
        }
        for outside in [
            r#"{"items":{"$ref":"http://x.y/z"}}"#,
            r#"{"properties":{"enum":{"$ref":"http://x.y/z"}}}"#,
            r#"{"anyOf":[{"$ref":"z.json"}]}"#,
        ] {
            let error = refused(outside).expect("an error");
            assert!(error.contains("the schema refers to"), "{outside}: {error}");
        }
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
        let list = r##"{"properties":{"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}"##;
        let [issue] = &compiled(list).check(&nested(400))[..] else { panic!("one issue") };
        assert!(issue.message.contains("more than 1000 levels of values and subschemas"), "{}", issue.message);
    }
}
