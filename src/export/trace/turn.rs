//! One turn of a trace: request, reply and program.

use super::convert::{Converter, text_of};
use super::read::Record;
use crate::event::{
    Address, BudgetRecord, ErrorRecord, Extract, ExtractKind, MessageAdded, MessagePart, Options, PartKind, ProgramEnd,
    ProgramStatus, ReplyEnd, ReplyPart, ReplyStatus, RequestMade, Role, Source, TextRecord, Tokens, TurnEnd, TurnStart,
    Want, hex_sha, ranges,
};
use ptc_core::value::Json;

/// A turn that has not ended.
pub(super) struct OpenTurn {
    pub(super) address: Address,
    number: u32,
    pub(super) calls: u32,
    attempts: u32,
    /// The text of its reply.
    reply: Option<String>,
    tokens: Option<Tokens>,
}

/// Starts a turn, and ends the previous one.
pub(super) fn open(converter: &mut Converter<'_>, run: usize, number: u32, at_ms: i64, kind: &str) {
    close(converter, run, at_ms, None);
    let address = converter.runs[run].address.turn(number);
    let start =
        TurnStart { now: at_ms, kind: Some(kind.into()), remaining: BudgetRecord::default(), ..TurnStart::default() };
    converter.push_event(at_ms, &address, start);
    let state = &mut converter.runs[run];
    state.last = number;
    state.turn = Some(OpenTurn { address, number, calls: 0, attempts: 0, reply: None, tokens: None });
}

/// `turn.start`
pub(super) fn start(converter: &mut Converter<'_>, run: usize, record: &Record) {
    let named_turn = record.count("turn").and_then(|turn| u32::try_from(turn).ok());
    // A number that was there already would be a second turn at the same address.
    let number =
        named_turn.filter(|named_turn| *named_turn > converter.runs[run].last).unwrap_or(converter.runs[run].last + 1);
    let kind = record.data("type").map(text_of).unwrap_or_default();
    open(converter, run, number, record.at_ms, &kind);
}

/// `llm.start`: the messages that were sent, each recorded once.
pub(super) fn asked(converter: &mut Converter<'_>, run: usize, record: &Record) {
    ensure(converter, run, record);
    let system = record.data("system_prompt").or_else(|| record.data("system")).and_then(Json::as_str);
    let mut sent: Vec<(String, String)> =
        system.map(|text| ("system".to_owned(), text.to_owned())).into_iter().collect();
    for message in record.data("messages").and_then(Json::items).unwrap_or_default() {
        let role = message.get("role").map(text_of).unwrap_or_default();
        let text = message.get("content").map(text_of).unwrap_or_default();
        sent.push((role, text));
    }
    let address = converter.place(run);
    let first = converter.runs[run].last <= 1;
    let mut numbers: Vec<u32> = Vec::new();
    for (role, text) in sent {
        let known = converter.runs[run].messages.iter().position(|message| message.0 == role && message.1 == text);
        if let Some(known) = known {
            numbers.push(u32::try_from(known).unwrap_or_default());
            continue;
        }
        let m = u32::try_from(converter.runs[run].messages.len()).unwrap_or(u32::MAX);
        let (role_of, source, section) = match role.as_str() {
            "system" => (Role::System, Source::Prompt, "card"),
            "assistant" => (Role::Assistant, Source::Reply, "reply"),
            "tool" => (Role::Tool, Source::Tool, "result"),
            _ if first => (Role::User, Source::Prompt, "task"),
            _ => (Role::User, Source::Feedback, "feedback"),
        };
        let part = MessagePart::Text { section: section.to_owned(), text: text.clone(), untrusted: true };
        converter.push_event(record.at_ms, &address, MessageAdded { m, role: role_of, source, parts: vec![part] });
        converter.runs[run].messages.push((role, text));
        numbers.push(m);
    }
    numbers.sort_unstable();
    numbers.dedup();
    let request = RequestMade {
        messages: ranges(numbers),
        want: Want::Program,
        schema: None,
        tools: Vec::new(),
        tool_names: Vec::new(),
        options: Options::default(),
        cache: false,
    };
    converter.push_event(record.at_ms, &address, request);
}

/// A turn without a start begins with its first event.
fn ensure(converter: &mut Converter<'_>, run: usize, record: &Record) {
    if converter.runs[run].turn.is_none() {
        start(converter, run, record);
    }
}

/// `llm.stop`
pub(super) fn replied(converter: &mut Converter<'_>, run: usize, record: &Record) {
    ensure(converter, run, record);
    let response = record.data("response").map(text_of);
    reply(converter, run, record, response, record.tokens());
}

fn reply(converter: &mut Converter<'_>, run: usize, record: &Record, text: Option<String>, tokens: Option<Tokens>) {
    let address = converter.place(run);
    let Some(turn) = converter.runs[run].turn.as_mut() else { return };
    turn.attempts += 1;
    let attempt = turn.attempts;
    turn.tokens = tokens.or(turn.tokens);
    turn.reply.clone_from(&text);
    let status = if text.is_some() { ReplyStatus::Ok } else { ReplyStatus::Error };
    let usage = tokens;
    if let Some(text) = text {
        let lens = vec![u32::try_from(text.len()).unwrap_or(u32::MAX)];
        let ms = vec![record.count("duration_ms").and_then(|ms| u32::try_from(ms).ok()).unwrap_or_default()];
        converter.push_event(record.at_ms, &address, ReplyPart { attempt, kind: PartKind::Text, text, lens, ms });
    }
    let model = record.text("model").map(str::to_owned);
    let error = (status == ReplyStatus::Error).then(|| ErrorRecord {
        reason: "llm_error".to_owned(),
        message: "the trace contains no reply".to_owned(),
        ..ErrorRecord::default()
    });
    converter.push_event(record.at_ms, &address, ReplyEnd { usage, model, error, ..ReplyEnd::new(attempt, status) });
}

/// `turn.stop`
pub(super) fn end(converter: &mut Converter<'_>, run: usize, record: &Record) {
    ensure(converter, run, record);
    work(converter, run, record);
    close(converter, run, record.at_ms, Some(record));
}

/// `turn`: repeats `turn.stop`, or, where a trace holds nothing else, all of a turn.
pub(super) fn alone(converter: &mut Converter<'_>, run: usize, record: &Record) {
    let number = record.count("turn").and_then(|turn| u32::try_from(turn).ok());
    let open = converter.runs[run].turn.as_ref().map(|turn| turn.number);
    let is_repeated = number.is_some_and(|number| number <= converter.runs[run].last) && open != number;
    if is_repeated && record.text("driver") != Some("session") {
        return;
    }
    if open.is_none() || open != number {
        start(converter, run, record);
    }
    work(converter, run, record);
    close(converter, run, record.at_ms, Some(record));
}

/// Adds the program, its value and its prints; before them the reply, if none was recorded.
fn work(converter: &mut Converter<'_>, run: usize, record: &Record) {
    let address = converter.place(run);
    let program = record.data("program").map(text_of);
    let without_reply =
        converter.runs[run].turn.as_ref().is_some_and(|turn| turn.reply.is_none() && turn.attempts == 0);
    let raw = record.data("raw_response").map(text_of).or_else(|| program.clone());
    if let (true, Some(raw)) = (without_reply, raw) {
        reply(converter, run, record, Some(raw), record.tokens());
    }
    let Some(program) = program else { return };
    let text = converter.runs[run].turn.as_ref().and_then(|turn| turn.reply.clone()).unwrap_or_default();
    let extract = Extract {
        kind: ExtractKind::Program,
        rule: Some("imported".to_owned()),
        candidates: 1,
        sha: hex_sha(text.as_bytes()),
        repaired: Some(TextRecord::of(program)),
        ..Extract::default()
    };
    converter.push_event(record.at_ms, &address, extract);
    let prints = record.data("prints").and_then(Json::items).unwrap_or_default().iter().map(text_of).collect();
    let error = fail(record);
    let value = record.data("result_preview").map(|value| TextRecord::of(text_of(value)));
    let end = ProgramEnd {
        status: if error.is_some() { ProgramStatus::Error } else { ProgramStatus::Value },
        value: value.filter(|_| error.is_none()),
        prints,
        error,
        ..ProgramEnd::default()
    };
    converter.push_event(record.at_ms, &address, end);
}

fn fail(record: &Record) -> Option<ErrorRecord> {
    let fail = record.data("fail")?;
    let text = |key: &str| fail.get(key).map(text_of).unwrap_or_default();
    Some(ErrorRecord { reason: text("reason"), message: text("message"), ..ErrorRecord::default() })
}

/// Ends the turn that is open, if one is.
pub(super) fn close(converter: &mut Converter<'_>, run: usize, at_ms: i64, record: Option<&Record>) {
    let Some(turn) = converter.runs[run].turn.take() else { return };
    let key = (converter.runs[run].agent_id.clone(), u64::from(turn.number));
    let recorded_end = converter.ends.get(&key).copied().or(record);
    let status = recorded_end.and_then(|recorded_end| recorded_end.text("status"));
    let usage = turn.tokens.or_else(|| recorded_end.and_then(Record::tokens));
    let totals = &mut converter.runs[run].totals;
    totals.turns += 1;
    totals.requests += turn.attempts;
    if let Some(tokens) = usage {
        totals.tokens = Some(totals.tokens.map_or(tokens, |sum| sum.plus(&tokens)));
    }
    let end = TurnEnd {
        inputs: None,
        success: status.is_none_or(|status| status == "ok") && recorded_end.is_some(),
        reason: recorded_end.and_then(fail).map(|fail| fail.reason),
        usage,
        totals: *totals,
    };
    converter.push_event(at_ms, &turn.address, end);
}
