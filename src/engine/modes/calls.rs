//! Tool calls of replies: their arguments, the text that the model gets of each result, and the detection of a model that makes the same
//! call again and again.
//!
//! In: calls as they were written, results. Out: [`ToolUse`]s, JSON texts, failures. Nothing is called here.

use ptc_core::lisp::firewall::stripped;
use ptc_core::reasons::Reason;
use ptc_core::signature::underscored;
use ptc_core::text::did_you_mean;
use ptc_core::value::{Json, Value, json};

use super::decision::{ToolResult, ToolUse};
use crate::agent::Plan;
use crate::event::{ErrorRecord, NativeCall};
use crate::tool::{Expose, Tool, canonical};

/// Items of a list that a preview shows.
const PREVIEW_ITEMS: usize = 20;
/// Fewest calls that are a row.
const FEWEST: u32 = 2;

/// The text of a call's arguments.
pub(super) fn args_text(call: &NativeCall) -> &str {
    if call.args.trim().is_empty() { "{}" } else { &call.args }
}

/// The arguments of a call: an object.
pub(super) fn arguments(call: &NativeCall) -> Result<Json, ErrorRecord> {
    match json::parse(args_text(call)) {
        Ok(args) if args.members().is_some() => Ok(args),
        Ok(_) => Err(args_error(call, "the arguments are not a JSON object")),
        Err(error) => Err(args_error(call, &format!("the arguments are not JSON: {}", error.message))),
    }
}

fn args_error(call: &NativeCall, problem: &str) -> ErrorRecord {
    ErrorRecord::new(Reason::ArgsError, format!("{}: {problem}", call.name))
}

/// The call of a reply as it is made.
pub(super) fn native_use(plan: &Plan, number: u32, call: &NativeCall) -> ToolUse {
    match arguments(call) {
        Ok(args) => tool_use(plan, number, &call.name, args),
        Err(record) => ToolUse {
            number,
            name: call.name.clone(),
            args: Json::str(args_text(call)),
            value: Value::Nil,
            refused: Some(record),
        },
    }
}

/// A call with these arguments (an object). Providers know no `-`: the tool is found by its name with `_`, too.
pub(super) fn tool_use(plan: &Plan, number: u32, name: &str, args: Json) -> ToolUse {
    // A tool that is unknown is refused where it is called.
    let refused = plan.tool(name).and_then(|_| uncallable(plan, name));
    let value = args.to_value();
    let refused = refused.or_else(|| plan.native_tool(name)?.refuse_unknown(&value));
    ToolUse { number, name: name.to_owned(), value, args, refused }
}

/// Returns the reason why the model cannot call a tool of this name; `None` when it can.
pub(in crate::engine) fn uncallable(plan: &Plan, name: &str) -> Option<ErrorRecord> {
    match (plan.tool(name), plan.native_tool(name)) {
        (_, Some(_)) => None,
        (Some(_), None) => {
            Some(ErrorRecord::new(Reason::UnknownTool, format!("the tool `{name}` is for programs only")))
        }
        (None, None) => Some(unknown_tool(plan, name)),
    }
}

/// The failure of a call of a tool that the agent does not have.
pub(in crate::engine) fn unknown_tool(plan: &Plan, name: &str) -> ErrorRecord {
    let names = || plan.tools.iter().map(|tool| tool.name.as_str());
    let near = did_you_mean(name, names());
    let all = names().collect::<Vec<_>>().join(", ");
    let known = if all.is_empty() { "there are no tools".to_owned() } else { format!("tools: {all}") };
    ErrorRecord::new(Reason::UnknownTool, format!("unknown tool `{name}`{near} ({known})"))
}

/// The JSON text of a call's result, as the model reads it.
pub(super) fn result_text(plan: &Plan, call: &ToolUse, result: ToolResult) -> String {
    let tool = plan.native_tool(&call.name);
    let value = match result {
        Ok(value) if tool.is_some_and(|tool| plan.hides_results_of(tool)) => stripped(&value),
        Ok(value) => value,
        Err(record) => return failure_text(&record, call),
    };
    let is_kept = plan.is_combined() && tool.is_some_and(is_reserved_for_programs);
    if is_kept { preview(&value) } else { Json::from(&value) }.to_text()
}

/// A failure as the model reads it: `error` first. The hints of the table of reasons are for users.
fn failure_text(record: &ErrorRecord, call: &ToolUse) -> String {
    let mut members = vec![("error", Json::str(record.message.as_str()))];
    if record.reason == Reason::ToolError.name() {
        members.push(("tool", Json::str(call.name.as_str())));
        members.push(("args_received", call.args.clone()));
        members.push(("hint", Json::str("Check the arguments, try another way, or answer without this tool.")));
    }
    Json::object(members).to_text()
}

/// Returns whether programs get the whole result by the same call.
fn is_reserved_for_programs(tool: &Tool) -> bool {
    tool.cache && tool.expose == Some(Expose::Both)
}

/// The start of a result that programs have whole: the model need not read all of it.
fn preview(value: &Value) -> Json {
    let json = Json::from(value);
    let start = match json.items() {
        Some(items) => Json::list(items.iter().take(PREVIEW_ITEMS).cloned()),
        None => json.clone(),
    };
    let count = json.items().map(|items| Json::from(&Value::Int(i64::try_from(items.len()).unwrap_or(i64::MAX))));
    let members = [
        Some(("full_result_cached", Json::from(&Value::Bool(true)))),
        Some(("kind", Json::str(value.kind().to_string()))),
        count.map(|count| ("items", count)),
        Some(("preview", start)),
    ];
    Json::object(members.into_iter().flatten())
}

/// The last call of a run, and how often it was made in a row.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    last: Option<(String, u32)>,
}

impl Repeats {
    /// Takes the next call. `Some`: it is made for the `limit`th time in a row, or later; 0 = any number is allowed.
    pub(super) fn take(&mut self, limit: u32, name: &str, args: &Json) -> Option<ErrorRecord> {
        let call = format!("{} {}", underscored(name), canonical(args).to_text());
        let times = match self.last.take() {
            Some((last, times)) if last == call => times.saturating_add(1),
            _ => 1,
        };
        self.last = Some((call, times));
        let is_loop = limit > 0 && times >= limit.max(FEWEST);
        is_loop.then(|| {
            let message = format!("the tool {name} was called {times} consecutive times with the same arguments");
            ErrorRecord::new(Reason::LoopDetected, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(limit: u32, calls: &[(&str, &str)]) -> Vec<bool> {
        let mut repeats = Repeats::default();
        calls.iter().map(|(name, args)| repeats.take(limit, name, &json::parse(args).unwrap()).is_some()).collect()
    }

    #[test]
    fn only_equal_calls_in_a_row_are_a_loop() {
        let same =
            [("look-up", r#"{"a":1,"b":2}"#), ("look_up", r#"{"b":2.0,"a":1}"#), ("look_up", r#"{"a":1,"b":2}"#)];
        assert_eq!(detected(3, &same), [false, false, true], "names and numbers are written in several ways");
        let between = [same[0], ("look_up", "{}"), same[1], same[2]];
        assert_eq!(detected(3, &between), [false; 4]);
        assert_eq!(detected(0, &[same[0]; 9]), [false; 9], "0 is off");
        assert_eq!(detected(1, &same[..2]), [false, true], "one call is no row");
    }
}
