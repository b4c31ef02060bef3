//! Custom tools: tools whose argument is a text instead of JSON, as `apply_patch` of Codex. Chat completions and the Responses API have
//! them; other protocols get a function with the parameter `input`.
//!
//! In: the tools of a request, its calls, a reply. Out: definitions and texts for those protocols, and calls whose arguments are JSON as those of
//! all other tools.

use ptc_core::value::{Json, json};

use super::{Reply, Request};
use crate::event::{NativeCall, ToolSchema};

/// The parameter that carries the text.
pub(crate) const INPUT: &str = "input";

/// Returns whether a request has a custom tool of this name.
pub(super) fn is_custom(request: &Request, name: &str) -> bool {
    request.tools.iter().any(|tool| tool.custom.is_some() && tool.name == name)
}

/// Returns whether a request has custom tools.
pub(super) fn has_custom(request: &Request) -> bool {
    request.tools.iter().any(|tool| tool.custom.is_some())
}

/// The definition of a custom tool: its name, its description and further members such as `format`. `None` for a function.
pub(super) fn definition(tool: &ToolSchema) -> Option<Json> {
    let further = tool.custom.as_ref()?.json();
    let named = Json::empty().with("name", Json::str(&tool.name));
    let described = match &tool.description {
        Some(description) => named.with("description", Json::str(description)),
        None => named,
    };
    let members = further.members().unwrap_or_default().iter();
    Some(members.fold(described, |all, member| all.with(&member.key, member.value.clone())))
}

/// The text of a call of a custom tool.
pub(super) fn input_of(call: &NativeCall) -> String {
    let args = call.json_args();
    let text = args.get(INPUT).map(|input| input.as_str().map_or_else(|| input.to_text(), str::to_owned));
    text.unwrap_or_default()
}

/// The arguments that carry a text.
pub(crate) fn arguments_of(input: &str) -> Json {
    Json::empty().with(INPUT, Json::str(input))
}

/// The reply with JSON arguments in calls of custom tools, whose arguments came as a text.
pub(super) fn with_json_arguments(reply: Reply, request: &Request) -> Reply {
    let calls = reply.calls.into_iter().map(|call| {
        let args = is_custom(request, &call.name).then(|| arguments_of(&call.args).to_text());
        NativeCall { args: args.unwrap_or(call.args), ..call }
    });
    Reply { calls: calls.collect(), ..reply }
}

/// The schema of the parameter that carries the text.
pub(crate) fn parameters() -> Json {
    json::parse(r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#)
        .unwrap_or_default()
}
