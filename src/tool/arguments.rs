//! Converts and checks the arguments of a call against the parameters of its tool.
//!
//! In: a tool and arguments from a program or a model. Out: the converted arguments, or the reasons why they are
//! invalid. Pure; calls are made elsewhere.

use ptc_core::reasons::Reason;
use ptc_core::signature::{self, Issue, Path, Segment, underscored};
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};

use super::Tool;
use crate::event::ErrorRecord;

impl Tool {
    /// Converts the arguments to the parameter types and lists the conversions.
    ///
    /// Errors: `invalid_tool_args`, with every invalid argument.
    pub fn convert_args(&self, args: &Value) -> Result<(Value, Vec<Issue>), ErrorRecord> {
        if !matches!(args, Value::Map(_)) {
            return Err(self.invalid_args(&format!("expected named arguments, got {}", args.kind())));
        }
        let special = signature::check_json(args);
        if let Some(issue) = special.first() {
            return Err(self.invalid_args(&issue.to_string()));
        }
        let (value, issues) = self.against_parameters(args);
        let errors: Vec<String> = issues.iter().filter(|issue| issue.is_error()).map(Issue::to_string).collect();
        if errors.is_empty() { Ok((value, issues)) } else { Err(self.invalid_args(&errors.join("; "))) }
    }

    /// Checks arguments of which some are not known yet (`None`). Unknown names are reported too, because they are
    /// often misspelled required ones.
    ///
    /// Errors: as [`Tool::convert_args`].
    pub fn check_known_args(&self, args: &[(Value, Option<Value>)]) -> Result<(), ErrorRecord> {
        let known = args.iter().map(|(name, value)| (name.clone(), value.clone().unwrap_or_default()));
        let known = Value::map(known.collect::<Vec<_>>());
        if args.iter().all(|(_, value)| value.is_some()) {
            return self.convert_args(&known).map(|_| ()).map_err(|record| self.with_unknown(record, &known));
        }
        let open: Vec<String> =
            args.iter().filter(|(_, value)| value.is_none()).filter_map(|(name, _)| name_of(name)).collect();
        let is_open = |path: &Path| match path.0.first() {
            Some(Segment::Field(name)) => open.contains(&underscored(name)),
            _ => false,
        };
        let (_, issues) = self.against_parameters(&known);
        let errors = issues.iter().filter(|issue| issue.is_error() && !is_open(&issue.path));
        let errors: Vec<String> = errors.map(Issue::to_string).collect();
        if errors.is_empty() { Ok(()) } else { Err(self.with_unknown(self.invalid_args(&errors.join("; ")), &known)) }
    }

    fn against_parameters(&self, args: &Value) -> (Value, Vec<Issue>) {
        match self.signature.as_ref().and_then(|signature| signature.params.as_ref()) {
            Some(params) => signature::check_inputs(params, args, signature::InputMode::Enabled),
            None => (args.clone(), Vec::new()),
        }
    }

    fn invalid_args(&self, message: &str) -> ErrorRecord {
        ErrorRecord::new(Reason::InvalidToolArgs, format!("the arguments of {} do not fit: {message}", self.name))
    }

    /// Adds the names of arguments that the tool does not have to an error.
    fn with_unknown(&self, record: ErrorRecord, args: &Value) -> ErrorRecord {
        let Some(params) = self.signature.as_ref().and_then(|signature| signature.params.as_ref()) else {
            return record;
        };
        let declared = |name: &str| params.iter().any(|field| underscored(&field.name) == underscored(name));
        let Value::Map(map) = args else { return record };
        let unknown: Vec<String> = map.keys().filter_map(name_of).filter(|name| !declared(name)).collect();
        if unknown.is_empty() {
            return record;
        }
        let names: Vec<String> = params.iter().map(|field| format!("`{}`", field.name)).collect();
        let there =
            if names.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", names.join(", ")) };
        let unknown = unknown.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        ErrorRecord { message: format!("{}; not asked for: {unknown} ({there})", record.message), ..record }
    }
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
    fn an_unknown_name_is_reported_with_the_missing_one() {
        let wrong = tool().check_known_args(&named(&[("idd", Some("\"x\""))])).unwrap_err();
        assert_eq!(wrong.reason, "invalid_tool_args");
        assert!(wrong.message.contains("not asked for: `idd` (it takes `id`, `most`)"), "{}", wrong.message);
        assert_eq!(
            tool().check_known_args(&named(&[("id", Some("\"x\"")), ("more", Some("1"))])),
            Ok(()),
            "more is allowed"
        );
    }
}
