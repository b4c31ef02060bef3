//! Converts and checks the arguments of a call against the parameters of its tool.
//!
//! In: a tool and arguments from a program or a model. Out: the converted arguments, or the reasons why they are
//! invalid. Pure; calls are made elsewhere.

use ptc_core::reasons::Reason;
use ptc_core::signature::{self, Field, Issue, Path, Segment, find_field, underscored};
use ptc_core::text::did_you_mean;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};

use super::{Builtin, Kind, Tool};
use crate::event::ErrorRecord;

impl Tool {
    /// Converts the arguments to the parameter types and lists the conversions.
    ///
    /// Errors: `invalid_tool_args`, with every invalid argument, and with unknown ones, because they are often misspelled
    /// required ones.
    pub fn convert_args(&self, args: &Value) -> Result<(Value, Vec<Issue>), ErrorRecord> {
        if !matches!(args, Value::Map(_)) {
            return Err(self.invalid_args(&format!("expected named arguments, got {}", args.kind())));
        }
        let special = signature::check_json(args);
        if let Some(issue) = special.first() {
            return Err(self.invalid_args(&issue.to_string()));
        }
        let (value, issues) = self.against_parameters(args);
        let errors: Vec<String> = issues.iter().filter(|issue| issue.is_error()).map(issue_text).collect();
        if errors.is_empty() {
            return Ok((value, issues));
        }
        Err(self.with_unknown(self.invalid_args(&errors.join("; ")), args))
    }

    /// Checks arguments of which some are not known yet (`None`).
    ///
    /// Errors: as [`Tool::convert_args`].
    pub fn check_known_args(&self, args: &[(Value, Option<Value>)]) -> Result<(), ErrorRecord> {
        let known = args.iter().map(|(name, value)| (name.clone(), value.clone().unwrap_or_default()));
        let known = Value::map(known.collect::<Vec<_>>());
        if args.iter().all(|(_, value)| value.is_some()) {
            return self.convert_args(&known).map(|_| ());
        }
        let open: Vec<String> =
            args.iter().filter(|(_, value)| value.is_none()).filter_map(|(name, _)| name_of(name)).collect();
        let is_open = |path: &Path| match path.0.first() {
            Some(Segment::Field(name)) => open.contains(&underscored(name)),
            _ => false,
        };
        let (_, issues) = self.against_parameters(&known);
        let errors = issues.iter().filter(|issue| issue.is_error() && !is_open(&issue.path));
        let errors: Vec<String> = errors.map(issue_text).collect();
        if errors.is_empty() { Ok(()) } else { Err(self.with_unknown(self.invalid_args(&errors.join("; ")), &known)) }
    }

    fn against_parameters(&self, args: &Value) -> (Value, Vec<Issue>) {
        match self.signature.as_ref().and_then(|signature| signature.params.as_ref()) {
            Some(params) => signature::check_arguments(params, args),
            None => (args.clone(), Vec::new()),
        }
    }

    fn invalid_args(&self, message: &str) -> ErrorRecord {
        ErrorRecord::new(Reason::InvalidToolArgs, format!("the arguments of {} do not fit: {message}", self.name))
    }

    /// Adds the names of arguments that the tool does not have to an error.
    fn with_unknown(&self, record: ErrorRecord, args: &Value) -> ErrorRecord {
        let Some(unknown) = self.unknown(args) else { return record };
        let near = match &self.unknown_names(args)[..] {
            [only] => did_you_mean(only, self.parameters().iter().map(|field| field.name.as_str())),
            _ => String::new(),
        };
        ErrorRecord { message: format!("{}; unknown arguments: {unknown}{near}", record.message), ..record }
    }

    /// The refusal of arguments that are not in the schema of the tool, which allows no others. Programs do not see the schema: what they
    /// pass in addition is theirs to decide.
    pub fn refuse_unknown(&self, args: &Value) -> Option<ErrorRecord> {
        let unknown = self.unknown(args)?;
        Some(self.with_missing(&format!("unexpected: {unknown}"), args))
    }

    /// The refusal with the missing arguments added: often one of them is misspelled.
    fn with_missing(&self, problem: &str, args: &Value) -> ErrorRecord {
        let (_, issues) = self.against_parameters(args);
        let missing = issues.iter().filter(|issue| issue.is_error()).map(issue_text);
        self.invalid_args(&[problem.to_owned()].into_iter().chain(missing).collect::<Vec<_>>().join("; "))
    }

    /// The names of arguments that the tool does not have, and those that it has.
    fn unknown(&self, args: &Value) -> Option<String> {
        let unknown = self.unknown_names(args);
        if unknown.is_empty() {
            return None;
        }
        let names: Vec<String> = self.parameters().iter().map(|field| format!("`{}`", field.name)).collect();
        let there = if names.is_empty() {
            "it takes no arguments".to_owned()
        } else {
            format!("it takes {}", names.join(", "))
        };
        let unknown = unknown.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        Some(format!("{unknown} ({there})"))
    }

    /// The names of arguments that the tool does not have; none if it declares no parameters.
    fn unknown_names(&self, args: &Value) -> Vec<String> {
        let has_params = self.signature.as_ref().is_some_and(|signature| signature.params.is_some());
        // The arguments of a question fill its template.
        let is_question = matches!(self.kind, Kind::Builtin(Builtin::LlmQuery));
        let Some(map) = args.as_map().filter(|_| has_params && !is_question) else { return Vec::new() };
        map.keys().filter_map(name_of).filter(|name| find_field(self.parameters(), name).is_none()).collect()
    }

    /// The declared parameters.
    fn parameters(&self) -> &[Field] {
        self.signature.as_ref().and_then(|signature| signature.params.as_deref()).unwrap_or_default()
    }
}

/// An issue of an argument as a line.
fn issue_text(issue: &Issue) -> String {
    if issue.expected == "field" { format!("{}: missing", issue.path) } else { issue.to_string() }
}

/// Returns the name of an argument, with `_`.
fn name_of(key: &Value) -> Option<String> {
    let name = match key {
        Value::Keyword(word) => word.name(),
        other => other.as_str()?,
    };
    Some(underscored(name))
}

/// Returns an argument as text: strings unchanged, other values as JSON.
pub fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Returns arguments in canonical form, in which equal calls are identical: keys sorted and with `_`, whole floats as
/// integers. The depth is limited by the JSON reader.
pub fn canonical(json: &Json) -> Json {
    match &json.node {
        Node::Object(members) => {
            let mut pairs: Vec<_> =
                members.iter().map(|member| (underscored(&member.key), canonical(&member.value))).collect();
            pairs.sort_by(|one, other| one.0.cmp(&other.0));
            Json::object(pairs)
        }
        Node::List(items) => Json::list(items.iter().map(canonical)),
        Node::Float(float) if float.fract() == 0.0 && float.abs() < 1e15 => {
            json::parse(&format!("{float:.0}")).unwrap_or_else(|_| json.clone())
        }
        _ => json.clone(),
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn tool() -> Tool {
        let mut tool =
            Tool::from_table("lookup", &json::parse(r#"{"kind": "snippet", "code": "1"}"#).unwrap()).unwrap();
        tool.signature = ptc_core::signature::parse("(id :string, most :int?) -> :any").ok();
        tool
    }

    fn named(args: &[(&str, Option<&str>)]) -> Vec<(Value, Option<Value>)> {
        let value = |text: &str| json::parse(text).unwrap().to_value();
        args.iter().map(|(name, text)| (Value::str(*name), text.map(value))).collect()
    }

    #[test]
    fn unknown_values_are_accepted() {
        let fits =
            |args: &[(&str, Option<&str>)]| tool().check_known_args(&named(args)).map_err(|record| record.message);
        assert_eq!(fits(&[("id", None)]), Ok(()));
        assert_eq!(fits(&[("id", None), ("most", Some("3"))]), Ok(()));
        assert!(fits(&[("id", None), ("most", Some("\"many\""))]).unwrap_err().contains("most"));
        assert!(fits(&[("most", None)]).unwrap_err().contains("id"));
    }

    #[test]
    fn a_whole_number_with_a_fraction_sign_is_an_integer() {
        let args = json::parse(r#"{"id": "x", "most": 3.0}"#).unwrap().to_value();
        let (value, issues) = tool().convert_args(&args).unwrap();
        assert_eq!(value.to_string(), r#"{"id" "x" "most" 3}"#);
        assert_eq!(issues.len(), 1, "{issues:?}");
        let args = json::parse(r#"{"id": "x", "most": 3.5}"#).unwrap().to_value();
        assert!(tool().convert_args(&args).unwrap_err().message.ends_with("most: expected int, got float"));
    }

    #[test]
    fn arguments_that_the_schema_does_not_allow_are_refused_with_what_is_missing() {
        let refused =
            |text: &str| tool().refuse_unknown(&json::parse(text).unwrap().to_value()).map(|record| record.message);
        assert_eq!(refused(r#"{"id": "x", "most": 1}"#), None);
        let message = refused(r#"{"idd": "x"}"#).unwrap();
        assert_eq!(
            message,
            "the arguments of lookup do not fit: unexpected: `idd` (it takes `id`, `most`); id: missing"
        );
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_missing_one() {
        let wrong = tool().check_known_args(&named(&[("idd", Some("\"x\""))])).unwrap_err();
        assert_eq!(wrong.reason, "invalid_tool_args");
        let expected = "id: missing; unknown arguments: `idd` (it takes `id`, `most`); did you mean `id`?";
        assert!(wrong.message.ends_with(expected), "{}", wrong.message);
        let args = json::parse(r#"{"idd": "x"}"#).unwrap().to_value();
        assert!(tool().convert_args(&args).unwrap_err().message.ends_with(expected));
        let args = json::parse(r#"{"most": "many", "id": "x"}"#).unwrap().to_value();
        assert!(!tool().convert_args(&args).unwrap_err().message.contains("unknown"), "all names are known");
        assert_eq!(
            tool().check_known_args(&named(&[("id", Some("\"x\"")), ("more", Some("1"))])),
            Ok(()),
            "more is allowed"
        );
    }
}
