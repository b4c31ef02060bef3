//! `tools`: the tools of an agent, who may call them, and what providers are told of them.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::arguments::ToolsFlags;
use super::source::{described, in_file};
use super::{UsageError, exit, json, out, safe_line, tell};
use crate::agent::Plan;
use crate::tool::Tool;

pub(super) fn tools(flags: &ToolsFlags) -> Result<u8, UsageError> {
    let (agent, _) = described(&flags.agent)?;
    let plan = Plan::new(&agent).map_err(|findings| in_file(&flags.agent, &agent, &findings))?;
    if flags.json {
        out(&json::printable(&Json::list(plan.tools.iter().map(|tool| as_json(&plan, tool)))));
        return Ok(exit::OK);
    }
    for tool in &plan.tools {
        out(&safe_line(&format!("{}  {}  {}", tool.name, signature(tool), tool.kind_name())));
        if let Some(text) = &tool.description {
            out(&format!("    {}", safe_line(text)));
        }
        out(&format!("    called by {}{}", callers(tool), notes(&plan, tool)));
        out(&safe_line(&format!("    providers get {} {}", tool.provider_name(), tool.schema().parameters.as_str())));
    }
    if plan.tools.is_empty() {
        tell(&safe_line(&format!("{} has no tools", agent.name)));
    }
    Ok(exit::OK)
}

fn signature(tool: &Tool) -> &str {
    tool.signature_text.as_deref().unwrap_or("(no signature: any arguments, any result)")
}

fn callers(tool: &Tool) -> &'static str {
    match (tool.is_for_programs(), tool.is_native()) {
        (true, true) => "programs and models",
        (true, false) => "programs",
        (false, _) => "models",
    }
}

/// What is special about a tool.
fn notes(plan: &Plan, tool: &Tool) -> String {
    let child = plan.child(&tool.name);
    let notes = [
        child.map(|child| format!("an agent in mode {} of at most {} turns", child.agent.mode, child.agent.max_turns)),
        tool.cache.then(|| "equal calls are answered from memory".to_owned()),
        tool.is_effectful().then(|| "may change something outside".to_owned()),
        tool.most_ms().map(|ms| format!("{ms} ms at most")),
    ];
    notes.into_iter().flatten().fold(String::new(), |all, note| all + " · " + &note)
}

fn as_json(plan: &Plan, tool: &Tool) -> Json {
    let text = |text: Option<&str>| text.map_or_else(Json::default, Json::str);
    let truth = |value: bool| Json::from(Node::Bool(value));
    let schema = tool.schema();
    let mut members = vec![
        ("name", Json::str(tool.name.as_str())),
        ("kind", Json::str(tool.kind_name())),
        ("signature", text(tool.signature_text.as_deref())),
        ("description", text(tool.description.as_deref())),
        ("programs", truth(tool.is_for_programs())),
        ("native", truth(tool.is_native())),
        ("cache", truth(tool.cache)),
        ("effectful", truth(tool.is_effectful())),
        (
            "timeout_ms",
            tool.most_ms().map_or_else(Json::default, |ms| Node::Int(i64::try_from(ms).unwrap_or(i64::MAX)).into()),
        ),
        ("provider", Json::object([("name", Json::str(schema.name)), ("parameters", schema.parameters.json())])),
    ];
    members.extend(plan.child(&tool.name).map(|child| ("mode", Json::str(child.agent.mode.name()))));
    Json::object(members)
}
