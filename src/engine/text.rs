//! Mode `text`: the plain variant, and the native tool loop to text or JSON. (Its JSON variant without tools is [`super::json`].)
//!
//! In: replies with text and tool calls. Out: the text unchanged, or a JSON value that fits. Tool failures go back to the model.

use ptc_core::lisp::firewall::stripped;
use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value, json};

use super::combined::Combined;
use super::cycle::{Cycle, used_up};
use super::edit::next_turn;
use super::json::{complete, json_verdict, settle, truncated, withheld};
use super::repeats::Repeats;
use super::{Answered, Halt, Input, begin};
use crate::agent::{Plan, Variant};
use crate::event::{
    Address, CallStatus, ErrorRecord, JsonText, MessagePart, NativeCall, Role, Source, ToolCall, ToolEnd,
};
use crate::model::{Finish, Reply};
use crate::prompt::text as texts;
use crate::tool::{Expose, Tool};

/// Items of a list that a preview shows.
const PREVIEW_ITEMS: usize = 20;

/// The whole run.
pub(super) async fn run(cycle: &mut Cycle<'_>, input: &Input) -> Result<Answered, Halt> {
    let mut at = begin(cycle, input, texts::open).await?;
    let mut combined = Combined::begin(cycle, input)?;
    let mut ref_retries = cycle.plan.settings.ref_retries;
    let mut repeats = Repeats::default();
    loop {
        if let (Some(combined), Some(edited)) = (combined.as_mut(), cycle.ports.history.edited_turn(&at)) {
            combined.take(cycle, &at, edited).await?;
        }
        let reply = cycle.ask(&at, &texts::asked(cycle.plan)).await?;
        if let Some(record) = withheld(&reply) {
            cycle.end_turn(&at, reply.usage, Some(&record.reason)).await?;
            return Err(Halt::Fail(record));
        }
        let is_cut = reply.finish == Some(Finish::Length);
        let answered = if reply.calls.is_empty() || is_cut || cycle.plan.variant == Variant::Plain {
            said(cycle, &at, &reply, &mut ref_retries).await?
        } else {
            called(cycle, &at, &reply, combined.as_mut(), &mut repeats).await?;
            None
        };
        match answered {
            Some(answer) => return Ok(answer),
            None => at = next_turn(cycle, input, texts::open).await?,
        }
    }
}

/// A reply without calls: the answer when it is one, nothing when another turn follows.
async fn said(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    ref_retries: &mut u32,
) -> Result<Option<Answered>, Halt> {
    let cut = reply.finish == Some(Finish::Length);
    let text = || Json::str(reply.text.as_str());
    let verdict = match cycle.plan.variant {
        // Where the reply was cut, a call may have lost arguments: none is made.
        Variant::ToolsText | Variant::ToolsJson if cut && !reply.calls.is_empty() => {
            Err((truncated(&reply.text), Some(texts::cut_short())))
        }
        // One call, whatever max_turns says.
        Variant::Plain if cut => Err((truncated(&reply.text), None)),
        Variant::Plain if reply.text.trim().is_empty() && !reply.calls.is_empty() => {
            let message = "the reply holds only tool calls, and this agent has no tools";
            Err((ErrorRecord::new(Reason::EmptyResponse, message), None))
        }
        Variant::Plain => complete(cycle, text(), &mut 0).await?,
        Variant::ToolsText if cut => Err((truncated(&reply.text), Some(texts::cut_short()))),
        Variant::ToolsText | Variant::ToolsJson if reply.text.trim().is_empty() && !cut => {
            let message = "the reply holds neither text nor tool calls";
            Err((ErrorRecord::new(Reason::EmptyResponse, message), Some(texts::nothing_said(cycle.plan))))
        }
        Variant::ToolsText => complete(cycle, text(), ref_retries).await?,
        Variant::ToolsJson | Variant::Json => json_verdict(cycle, at, reply, ref_retries).await?,
    };
    settle(cycle, at, reply, verdict).await
}

/// A reply with calls: each is answered in order by one message.
async fn called(
    cycle: &mut Cycle<'_>,
    at: &Address,
    reply: &Reply,
    combined: Option<&mut Combined>,
    repeats: &mut Repeats,
) -> Result<(), Halt> {
    cycle.within_budget(at, reply).await?;
    for call in &reply.calls {
        let args = json::parse(written(call)).unwrap_or_else(|_| Json::str(written(call)));
        repeats.note(cycle, (at, reply), &call.name, &args).await?;
    }
    cycle.say(at, Role::Assistant, Source::Reply, vec![MessagePart::Reply { reply: at.clone() }]).await?;
    let computed = match combined {
        Some(combined) => combined.answer(cycle, at, reply).await?,
        None => None,
    };
    let mut computed = computed.unwrap_or_default().into_iter();
    for (place, call) in (0_u32..).zip(&reply.calls) {
        let result = match computed.next() {
            Some(result) => result,
            None => answer(cycle, &at.call(place), call).await?,
        };
        let part = MessagePart::Result { call: call.id.clone(), name: call.name.clone(), result };
        cycle.say(at, Role::Tool, Source::Tool, vec![part]).await?;
    }
    let is_last = cycle.totals.turns + 1 >= cycle.plan.agent.max_turns;
    cycle.end_turn(at, reply.usage, None).await?;
    cycle.check_budget(None)?;
    if is_last {
        let turns = cycle.totals.turns;
        let message = format!("{} and the model still called tools; max_turns is {turns}", used_up(turns));
        return Err(Halt::fail(Reason::MaxTurnsExceeded, message));
    }
    Ok(())
}

/// Makes one call that the model asked for; the JSON text of its result, or of what went wrong.
async fn answer(cycle: &Cycle<'_>, at: &Address, call: &NativeCall) -> Result<String, Halt> {
    match arguments(call) {
        Ok(args) => made(cycle, at, &call.name, (&args, &args.to_value())).await,
        Err(record) => not_made(cycle, at, &call.name, &Json::str(written(call)), record).await,
    }
}

fn written(call: &NativeCall) -> &str {
    if call.args.trim().is_empty() { "{}" } else { &call.args }
}

/// The arguments of a call: an object.
pub(super) fn arguments(call: &NativeCall) -> Result<Json, ErrorRecord> {
    match json::parse(written(call)) {
        Ok(args) if args.members().is_some() => Ok(args),
        Ok(_) => Err(args_error(call, "the arguments are not a JSON object")),
        Err(error) => Err(args_error(call, &format!("the arguments are not JSON: {}", error.message))),
    }
}

/// Why the model cannot call a tool that there is, or that there is not, by this name; nothing when it can.
pub(super) fn uncallable(plan: &Plan, name: &str) -> Option<ErrorRecord> {
    match (plan.tool(name), plan.native_tool(name)) {
        (_, Some(_)) => None,
        (Some(_), None) => {
            Some(ErrorRecord::new(Reason::UnknownTool, format!("the tool `{name}` is for programs only")))
        }
        (None, None) => Some(super::call::unknown(plan, name)),
    }
}

fn args_error(call: &NativeCall, problem: &str) -> ErrorRecord {
    ErrorRecord::new(Reason::ArgsError, format!("{}: {problem}", call.name))
}

/// Makes a call with these arguments (an object, as written and as a value); the JSON text of its result, or of what went wrong. Providers
/// know no `-`: the tool is found by its name with `_`, too.
pub(super) async fn made(
    cycle: &Cycle<'_>,
    at: &Address,
    name: &str,
    (args, value): (&Json, &Value),
) -> Result<String, Halt> {
    let plan = cycle.plan;
    if plan.tool(name).is_some()
        && let Some(record) = uncallable(plan, name)
    {
        return not_made(cycle, at, name, args, record).await;
    }
    let value = match cycle.call_tool(at, name, value).await? {
        Ok(value) if plan.native_tool(name).is_some_and(|tool| plan.hides_results_of(tool)) => stripped(&value),
        Ok(value) => value,
        Err(record) => return Ok(failed(&record, name, args)),
    };
    let is_kept = plan.is_combined() && plan.native_tool(name).is_some_and(is_kept_for_programs);
    Ok(if is_kept { preview(&value) } else { Json::from(&value) }.to_text())
}

/// Do programs get the whole result by the same call?
fn is_kept_for_programs(tool: &Tool) -> bool {
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

/// A call that is told and counted, and not made.
async fn not_made(
    cycle: &Cycle<'_>,
    at: &Address,
    name: &str,
    args: &Json,
    record: ErrorRecord,
) -> Result<String, Halt> {
    cycle.count_call(&cycle.ports.history.call(at));
    cycle.emit(at, ToolCall { name: name.to_owned(), args: JsonText::of(args), ..ToolCall::default() }).await?;
    let end = ToolEnd { status: CallStatus::Refused, error: Some(record.clone()), ..ToolEnd::default() };
    cycle.emit(at, end).await?;
    Ok(failed(&record, name, args))
}

/// A failure as the model reads it: `error` first. The hints of the table of reasons are for people and stay here.
fn failed(record: &ErrorRecord, tool: &str, args: &Json) -> String {
    let mut members = vec![("error", Json::str(record.message.as_str()))];
    if record.reason == Reason::ToolError.name() {
        members.push(("tool", Json::str(tool)));
        members.push(("args_received", args.clone()));
        members.push(("hint", Json::str("Check the arguments, try another way, or answer without this tool.")));
    }
    Json::object(members).to_text()
}
