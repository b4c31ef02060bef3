//! Prompts of the mode `text`: a card that follows the variant, the mission, and what comes back after an answer that does not fit.

use ptc_core::lisp::ReturnScope;
use ptc_core::signature;
use ptc_core::template::TemplateError;
use ptc_core::value::Value;

use super::json::{self, OpeningMessages};
use super::ptc_lisp::{inventory, language, lisp_eval};
use super::{RequestOptions, files, ours, system};
use crate::agent::{Plan, Variant};
use crate::event::MessagePart;
use crate::model::Want;

const PLAIN: &str = include_str!("../../assets/prompts/text_plain.md");
const PROGRAMS: &str = include_str!("../../assets/prompts/text_programs.md");
const TOOLS_TEXT: &str = include_str!("../../assets/prompts/text_tools.md");
const TOOLS_JSON: &str = include_str!("../../assets/prompts/text_tools_json.md");

/// Returns the request options of the variants `plain` and with tools.
pub fn request_options(plan: &Plan) -> RequestOptions {
    let want = if plan.variant.is_json() { Want::Json } else { Want::Text };
    RequestOptions {
        want,
        schema: plan.schema.as_ref().map(|schema| schema.json.clone()),
        tools: plan.native_tools().map(crate::tool::Tool::schema).chain(plan.is_combined().then(lisp_eval)).collect(),
        tool_names: plan.native_tools().map(|tool| tool.name.clone()).collect(),
    }
}

/// The opening of a run on this context.
pub fn open(plan: &Plan, context: &Value, descriptions: &[(String, String)]) -> Result<OpeningMessages, TemplateError> {
    if plan.settings.verbatim {
        return json::verbatim(plan, context);
    }
    let card = match plan.variant {
        Variant::Plain | Variant::Json => PLAIN,
        Variant::ToolsText => TOOLS_TEXT,
        Variant::ToolsJson => TOOLS_JSON,
    };
    let mut user = json::inputs(plan, context, descriptions);
    if plan.variant == Variant::ToolsJson {
        user.push(ours("output", format!("\n# Expected output of the final answer\n\n{}", json::expected(plan))));
    }
    if let Some(MessagePart::Text { text, .. }) = user.first_mut() {
        *text = text.trim_start_matches('\n').to_owned();
        user.push(ours("task", "\n# Task\n\n"));
    }
    let warnings = json::mission(plan, context, &mut user)?;
    user.extend(files(plan, context));
    let mut system = system(Some(card), &plan.agent.system_prompt);
    if plan.is_combined() {
        system.push(ours("language", PROGRAMS));
        system.extend(language(plan, ReturnScope::Call).map(|text| ours("language", text)));
        system.push(ours("tools", inventory::tools(plan)));
    }
    Ok(OpeningMessages { system, user: json::joined(user), warnings })
}

/// Returns the feedback to a reply with neither text nor tool calls.
pub fn is_empty_message(plan: &Plan) -> Vec<MessagePart> {
    let what = if plan.variant.is_json() {
        format!("the final answer as JSON ({})", signature::json_type_name(&plan.output))
    } else {
        "the final answer as text".to_owned()
    };
    vec![ours("feedback", format!("Your reply was empty. Call a tool, or give {what}.\n"))]
}

/// Returns the feedback to an answer that the output limit cut.
pub fn cut_short() -> Vec<MessagePart> {
    vec![ours("feedback", "Your answer was cut at the output limit. Give a shorter answer.\n")]
}
