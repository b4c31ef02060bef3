//! Items of the Responses API that are calls of tools.
//!
//! In: an item of a request or of a reply. Out: the call, if the client executes it. The service executes some tools itself: their calls, and
//! what they return, are parts of its reply.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::event::NativeCall;

/// Calls that the client executes, even if the item has no id of the call.
const CLIENT_CALLS: [&str; 3] = ["function_call", "custom_tool_call", "local_shell_call"];

/// Calls that the service executes.
const SERVICE_CALLS: [&str; 5] =
    ["web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"];

/// The members that hold the arguments of a call, by the kind of its item.
const ARGUMENTS: [&str; 5] = ["arguments", "input", "action", "actions", "operation"];

/// Returns the call of an item: its name is the tool's kind where the item has none, and its arguments are a text or JSON. `None` for other
/// items and for calls that the service executes.
pub(in crate::model) fn client_call(item: &Json) -> Option<NativeCall> {
    let text = |key: &str| item.get(key).and_then(Json::as_str);
    let kind = text("type")?;
    let tool = kind.strip_suffix("_call")?;
    let id = text("call_id").or_else(|| text("id").filter(|_| kind == "local_shell_call"));
    let is_of_client = CLIENT_CALLS.contains(&kind) || id.is_some() && !SERVICE_CALLS.contains(&kind);
    if !is_of_client || is_service_execution(item) {
        return None;
    }
    let args = ARGUMENTS.iter().find_map(|key| item.get(key).filter(|args| args.node != Node::Null));
    Some(NativeCall {
        id: id.unwrap_or_default().to_owned(),
        name: text("name").unwrap_or(tool).to_owned(),
        args: args.map(|args| args.as_str().map_or_else(|| args.to_text(), str::to_owned)).unwrap_or_default(),
    })
}

/// Returns whether the service executes a tool that the client could execute too: a tool search, or a shell in a container of the service.
pub(in crate::model) fn is_service_execution(item: &Json) -> bool {
    let place = item.at("environment.type").and_then(Json::as_str);
    item.get("execution").and_then(Json::as_str) == Some("server") || place.is_some_and(|place| place != "local")
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn calls_of_the_client_have_a_name_and_arguments_and_those_of_the_service_are_none() {
        let call = |item: &str| client_call(&json::parse(item).unwrap()).map(|call| format!("{}: {call}", call.id));
        let rows = [
            (r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#, Some("c: f {}")),
            (r#"{"type":"function_call","id":"fc","name":"f","arguments":""}"#, Some(": f ")),
            (
                r#"{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"+a"}"#,
                Some("c: apply_patch +a"),
            ),
            (
                r#"{"type":"local_shell_call","id":"l","call_id":"c","action":{"type":"exec","command":["ls"]}}"#,
                Some(r#"c: local_shell {"type":"exec","command":["ls"]}"#),
            ),
            (
                r#"{"type":"local_shell_call","id":"l","action":{"command":["ls"]}}"#,
                Some(r#"l: local_shell {"command":["ls"]}"#),
            ),
            (
                r#"{"type":"shell_call","call_id":"c","action":{"commands":["ls"]},"environment":{"type":"local"}}"#,
                Some(r#"c: shell {"commands":["ls"]}"#),
            ),
            (
                r#"{"type":"shell_call","call_id":"c","action":{"commands":["ls"]},"environment":{"type":"container_reference","container_id":"x"}}"#,
                None,
            ),
            (
                r#"{"type":"computer_call","call_id":"c","action":null,"actions":[{"type":"click"}]}"#,
                Some(r#"c: computer [{"type":"click"}]"#),
            ),
            (
                r#"{"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file","path":"a"}}"#,
                Some(r#"c: apply_patch {"type":"delete_file","path":"a"}"#),
            ),
            (
                r#"{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"query":"x"}}"#,
                Some(r#"c: tool_search {"query":"x"}"#),
            ),
            (r#"{"type":"tool_search_call","call_id":null,"execution":"server","arguments":{}}"#, None),
            (r#"{"type":"future_call","call_id":"c","input":"x"}"#, Some("c: future x")),
            (r#"{"type":"future_call","id":"c","input":"x"}"#, None),
            (r#"{"type":"web_search_call","id":"w","action":{"type":"search"}}"#, None),
            (r#"{"type":"mcp_call","id":"m","name":"f","arguments":"{}"}"#, None),
            (r#"{"type":"shell_call_output","call_id":"c","output":[]}"#, None),
            (r#"{"type":"message","content":[]}"#, None),
            ("1", None),
        ];
        for (item, expected) in rows {
            assert_eq!(call(item).as_deref(), expected, "{item}");
        }
    }
}
