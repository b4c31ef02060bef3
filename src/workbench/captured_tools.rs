//! The tools of a captured agent: they answer what they answered in the conversation.
//!
//! In: tools as a request offered them, the messages of the conversation. Out: tables of an agent file. Models get the captured schemas.

use std::collections::HashSet;

use ptc_core::value::{Json, json};
use toml_edit::{Table, Value, value};

use super::captured_agent::inline;
use crate::config::document::to_inline;
use crate::event::{SentMessage, SentPart, ToolSchema};
use crate::model::{PendingCalls, arguments_of, plain_name};
use crate::tool::provider_name;

/// Longest name of a tool.
const NAME_MAX_CHARS: usize = 64;
/// Names that the engine uses.
const RESERVED: [&str; 2] = ["lisp_eval", "lisp-eval"];

/// The names of captured tools in the agent file.
pub(super) struct ToolNames {
    /// Captured names with those in the file, in the order of the tools.
    names: Vec<(String, String)>,
    /// The captured names of tools whose argument is a text.
    custom: Vec<String>,
}

impl ToolNames {
    /// Names the tools. A name stays as it is where agent files and providers accept it.
    pub(super) fn of(tools: &[ToolSchema]) -> Self {
        // Names must differ in the form that providers accept.
        let mut used: HashSet<String> = RESERVED.iter().map(|name| provider_name(name)).collect();
        let mut names: Vec<(String, String)> = Vec::new();
        for tool in tools {
            let base = valid_name(&tool.name);
            let numbered = |number: usize| {
                let suffix = if number == 1 { String::new() } else { format!("_{number}") };
                let kept: String = base.chars().take(NAME_MAX_CHARS - suffix.len()).collect();
                format!("{kept}{suffix}")
            };
            let free = (1..=tools.len() + RESERVED.len())
                .map(numbered)
                .find(|name| used.insert(provider_name(name)))
                .unwrap_or_default();
            names.push((tool.name.clone(), free));
        }
        let custom = tools.iter().filter(|tool| tool.custom.is_some()).map(|tool| tool.name.clone()).collect();
        Self { names, custom }
    }

    /// Returns whether the argument of a captured tool is a text.
    pub(super) fn is_custom(&self, captured: &str) -> bool {
        self.custom.iter().any(|name| name == captured)
    }

    /// The names, in the order of the tools.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(_, name)| name.as_str())
    }

    /// Returns the name of a tool in the agent file; a tool that the request does not offer keeps its name.
    pub(super) fn name<'n>(&'n self, captured: &'n str) -> &'n str {
        self.names.iter().find(|(known, _)| known == captured).map_or(captured, |(_, name)| name)
    }

    /// Renames the tools in the tool choice of a body.
    pub(super) fn in_choices(&self, extra: &Json) -> Json {
        extra.map_members(|key, value| match key {
            "tool_choice" | "toolConfig" | "tool_config" => self.renamed(value),
            _ => value.clone(),
        })
    }

    fn renamed(&self, json: &Json) -> Json {
        match (json.as_str(), json.items()) {
            (Some(text), _) => Json::str(self.name(text)),
            (None, Some(items)) => Json::list(items.iter().map(|item| self.renamed(item))),
            (None, None) => json.map_members(|_, value| self.renamed(value)),
        }
    }

    /// Returns the names that were changed, with the new ones.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().filter(|(captured, name)| captured != name).map(|(captured, name)| (&**captured, &**name))
    }
}

/// The name with the characters that a name may have.
fn valid_name(name: &str) -> String {
    let name = plain_name(name);
    let name = if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("t_{name}") };
    name.chars().take(NAME_MAX_CHARS).collect()
}

/// A tool that answers what it answered in the conversation.
pub(super) fn tool_table(tool: &ToolSchema, all: &[SentMessage]) -> Table {
    let mut table = Table::new();
    table["kind"] = value("table");
    if let Some(description) = &tool.description {
        table["description"] = value(description);
    }
    match &tool.custom {
        Some(members) => table["custom"] = inline(&members.json()).map_or_else(|| value(true), value),
        None => table["parameters"] = value(parameters(tool).to_pretty()),
    }
    let args_of = |args: &str| match tool.custom {
        Some(_) => arguments_of(args),
        None => json_of(args).filter(|args| args.members().is_some()).unwrap_or_else(Json::empty),
    };
    let answers = answers_of(&tool.name, all);
    if !answers.is_empty() {
        let rows = Json::list(answers.into_iter().map(|(args, result)| {
            Json::object([("args", args_of(args)), ("result", json_of(result).unwrap_or_default())])
        }));
        // Values that TOML cannot represent are stored as JSON text.
        let inline = to_inline(&rows).and_then(|text| text.parse::<Value>().ok());
        table["rows"] = value(inline.unwrap_or_else(|| Value::from(rows.to_text())));
    }
    table["default"] = value("not recorded");
    table
}

/// The schema of the arguments; a tool without one takes none.
fn parameters(tool: &ToolSchema) -> Json {
    let schema = tool.parameters.json();
    if schema.members().is_some_and(|members| !members.is_empty()) {
        return schema;
    }
    Json::empty().with("type", Json::str("object")).with("properties", Json::empty())
}

fn json_of(text: &str) -> Option<Json> {
    json::parse(text).ok()
}

/// Arguments and result of each call of a tool.
fn answers_of<'m>(tool: &str, all: &'m [SentMessage]) -> Vec<(&'m str, &'m str)> {
    let mut pending = PendingCalls::default();
    let mut answers = Vec::new();
    for part in all.iter().flat_map(|message| &message.parts) {
        match part {
            SentPart::Call(call) => pending.push(call, call.args.as_str()),
            SentPart::Result { call, name, result } => {
                let answered = pending.take(call, name).filter(|(called, _)| called == tool);
                answers.extend(answered.map(|(_, args)| (args, result.as_str())));
            }
            _ => {}
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{JsonText, NativeCall, Role, Source};

    #[test]
    fn results_without_an_id_and_a_name_answer_the_calls_in_their_order() {
        let call = |name: &str, args: &str| {
            SentPart::Call(NativeCall { id: String::new(), name: name.to_owned(), args: args.to_owned() })
        };
        let result =
            |result: &str| SentPart::Result { call: String::new(), name: String::new(), result: result.to_owned() };
        let parts = vec![call("a", "1"), call("b", "2"), call("a", "3"), result("ra"), result("rb"), result("rc")];
        let all = [SentMessage { m: 0, role: Role::Assistant, source: Source::Reply, parts }];
        assert_eq!(answers_of("a", &all), [("1", "ra"), ("3", "rc")]);
        assert_eq!(answers_of("b", &all), [("2", "rb")]);
    }

    #[test]
    fn a_choice_of_tools_has_their_new_names() {
        let tool = |name: &str| ToolSchema {
            name: name.to_owned(),
            description: None,
            parameters: JsonText::of(&Json::empty()),
            custom: None,
        };
        let names = ToolNames::of(&[tool("_t.x"), tool("plain")]);
        for (captured, expected) in [
            (
                r#"{"tool_choice":{"type":"function","function":{"name":"_t.x"}},"user":"_t.x"}"#,
                r#"{"tool_choice":{"type":"function","function":{"name":"t__t_x"}},"user":"_t.x"}"#,
            ),
            (
                r#"{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"_t.x"}]}}"#,
                r#"{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"t__t_x"}]}}"#,
            ),
            (
                r#"{"tool_choice":{"type":"tool","name":"plain","disable_parallel_tool_use":true}}"#,
                r#"{"tool_choice":{"type":"tool","name":"plain","disable_parallel_tool_use":true}}"#,
            ),
            (
                r#"{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["plain","_t.x"]}}}"#,
                r#"{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["plain","t__t_x"]}}}"#,
            ),
        ] {
            assert_eq!(names.in_choices(&json::parse(captured).unwrap()).to_text(), expected);
        }
    }

    #[test]
    fn names_that_agent_files_refuse_are_replaced_by_ones_that_differ() {
        let tool = |name: &str| ToolSchema {
            name: name.to_owned(),
            description: None,
            parameters: JsonText::of(&Json::empty()),
            custom: None,
        };
        let long = "x".repeat(70);
        let captured = ["resolve-library-id", "a.b", "a_b", "_end", "lisp_eval", long.as_str()];
        let tools: Vec<ToolSchema> = captured.iter().map(|name| tool(name)).collect();
        let names = ToolNames::of(&tools);
        let expected = ["resolve-library-id", "a_b", "a_b_2", "t__end", "lisp_eval_2", &long[..64]];
        assert_eq!(names.in_order().collect::<Vec<_>>(), expected);
        assert_eq!((names.name("a.b"), names.name("other")), ("a_b", "other"));
        assert_eq!(names.changed().count(), 5);
    }
}
