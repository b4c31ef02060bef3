//! Mode `text`: the plain variant, and the native tool loop to text or JSON. (Its JSON variant without tools is [`super::json`].)
//!
//! In: replies with text and tool calls. Out: the text unchanged, or a JSON value that fits. Tool failures go back to the model.

use ptc_core::reasons::Reason;
use ptc_core::signature::underscored;
use ptc_core::value::{Json, json};

use super::cycle::Cycle;
use super::json::{feedback, judge, withheld};
use super::{Answered, Halt, Input, inputs};
use crate::agent::Variant;
use crate::event::{Address, CallStatus, ErrorRecord, JsonText, MessagePart, NativeCall, Role, Source, ToolEnd};
use crate::model::{Finish, Reply};
use crate::prompt::text as texts;

/// The whole run.
pub(super) async fn run(cycle: &mut Cycle<'_>, input: &Input) -> Result<Answered, Halt> {
    let context = inputs(cycle, input).await?;
    let opening = texts::open(cycle.plan, &context, &input.descriptions)
        .map_err(|error| Halt::fail(Reason::TemplateError, error.to_string()))?;
    let mut at = cycle.begin_turn().await?;
    for warning in &opening.warnings {
        cycle.notice(&at, warning.clone()).await?;
    }
    cycle.say(&at, Role::System, Source::Prompt, opening.system).await?;
    cycle.say_history(&at, input).await?;
    cycle.say(&at, Role::User, Source::Prompt, opening.user).await?;
    let asked = texts::asked(cycle.plan);
    loop {
        let reply = cycle.ask(&at, &asked).await?;
        if let Some(record) = withheld(&reply) {
            cycle.end_turn(&at, reply.usage, Some(&record.reason)).await?;
            return Err(Halt::Fail(record));
        }
        let answered = if reply.calls.is_empty() {
            said(cycle, &at, &reply).await?
        } else {
            called(cycle, &at, &reply).await?;
            None
        };
        match answered {
            Some(answer) => return Ok(answer),
            None => at = cycle.begin_turn().await?,
        }
    }
}

/// A reply without calls: the answer when it is one, nothing when another turn follows.
async fn said(cycle: &mut Cycle<'_>, at: &Address, reply: &Reply) -> Result<Option<Answered>, Halt> {
    let cut = reply.finish == Some(Finish::Length);
    let plain = cycle.plan.variant == Variant::Plain;
    let (value, failure) = match cycle.plan.variant {
        _ if cut && !cycle.plan.variant.is_json() => {
            let message = format!("the output limit cut the reply after {} characters", reply.text.chars().count());
            (None, Some((ErrorRecord::new(Reason::ReplyTruncated, message), None)))
        }
        Variant::Plain => (Some(Json::str(reply.text.as_str())), None),
        Variant::ToolsText | Variant::ToolsJson if reply.text.trim().is_empty() && !cut => {
            let message = "the reply holds neither text nor tool calls";
            (None, Some((ErrorRecord::new(Reason::EmptyResponse, message), Some(texts::nothing_said(cycle.plan)))))
        }
        Variant::ToolsText => (Some(Json::str(reply.text.as_str())), None),
        Variant::ToolsJson | Variant::Json => {
            let (answer, found) = judge(cycle, at, reply).await?;
            let parts = found.as_ref().map(|record| feedback(cycle, &answer, record, reply));
            (answer.value, found.map(|record| (record, parts)))
        }
    };
    let Some((record, parts)) = failure else {
        cycle.end_turn(at, reply.usage, None).await?;
        return Ok(value.map(Answered::from));
    };
    // The plain variant makes one call, whatever max_turns says.
    let is_last = plain || cycle.totals.turns + 1 >= cycle.plan.agent.max_turns;
    if !is_last {
        let parts = parts.unwrap_or_else(|| texts::cut_short());
        cycle.say(at, Role::Assistant, Source::Reply, vec![MessagePart::Reply { reply: at.clone() }]).await?;
        cycle.say(at, Role::User, Source::Feedback, parts).await?;
    }
    cycle.end_turn(at, reply.usage, Some(&record.reason)).await?;
    cycle.check_tokens()?;
    if is_last { Err(Halt::Fail(record)) } else { Ok(None) }
}

/// A reply with calls: each is answered in order by one message.
async fn called(cycle: &mut Cycle<'_>, at: &Address, reply: &Reply) -> Result<(), Halt> {
    cycle.say(at, Role::Assistant, Source::Reply, vec![MessagePart::Reply { reply: at.clone() }]).await?;
    for (place, call) in (0_u32..).zip(&reply.calls) {
        let result = answer(cycle, &at.call(place), call).await?;
        let part = MessagePart::Result { call: call.id.clone(), name: call.name.clone(), result };
        cycle.say(at, Role::Tool, Source::Tool, vec![part]).await?;
    }
    let is_last = cycle.totals.turns + 1 >= cycle.plan.agent.max_turns;
    cycle.end_turn(at, reply.usage, None).await?;
    cycle.check_tokens()?;
    if is_last {
        let turns = cycle.totals.turns;
        let message = format!("{turns} turns were used and the model still called tools; max_turns is {turns}");
        return Err(Halt::fail(Reason::MaxTurnsExceeded, message));
    }
    Ok(())
}

/// Makes one call that the model asked for; the JSON text of its result, or of what went wrong.
pub(super) async fn answer(cycle: &Cycle<'_>, at: &Address, call: &NativeCall) -> Result<String, Halt> {
    let written = if call.args.trim().is_empty() { "{}" } else { &call.args };
    let args = match json::parse(written) {
        Ok(args) if args.members().is_some() => args,
        Ok(_) => return not_made(cycle, at, call, "the arguments are not a JSON object").await,
        Err(error) => {
            let problem = format!("the arguments are not JSON: {}", error.message);
            return not_made(cycle, at, call, &problem).await;
        }
    };
    // Providers know no `-`: the tool is found by its name with `_`.
    let native = |name: &str| underscored(name) == underscored(&call.name);
    let name = cycle.plan.tools.iter().find(|tool| tool.is_native() && native(&tool.name));
    let name = name.map_or(call.name.as_str(), |tool| tool.name.as_str());
    match cycle.call_tool(at, name, &args.to_value()).await? {
        Ok(value) => Ok(Json::from(&value).to_text()),
        Err(record) => Ok(failed(&record, &call.name, &args)),
    }
}

async fn not_made(cycle: &Cycle<'_>, at: &Address, call: &NativeCall, problem: &str) -> Result<String, Halt> {
    let record = ErrorRecord::new(Reason::ArgsError, format!("{}: {problem}", call.name));
    let args = JsonText::of(&Json::str(call.args.as_str()));
    let told = crate::event::ToolCall { name: call.name.clone(), args, ..crate::event::ToolCall::default() };
    cycle.emit(at, told).await?;
    let end = ToolEnd { status: CallStatus::Refused, error: Some(record.clone()), ..ToolEnd::default() };
    cycle.emit(at, end).await?;
    Ok(failed(&record, &call.name, &Json::str(call.args.as_str())))
}

/// A failure as the model reads it: `error` first.
fn failed(record: &ErrorRecord, tool: &str, args: &Json) -> String {
    let mut members = vec![("error", Json::str(record.message.as_str()))];
    if record.reason == Reason::ToolError.name() {
        members.push(("tool", Json::str(tool)));
        members.push(("args_received", args.clone()));
    }
    members.extend(record.hint.as_deref().map(|hint| ("hint", Json::str(hint))));
    Json::object(members).to_text()
}
