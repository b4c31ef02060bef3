//! Probes of a check: their requests, and the judgement of the answers.
//!
//! In: what was observed. Out: a row. Each capability is one probe; a probe is judged by its own answer alone.

use std::sync::Arc;

use ptc_core::text::width::truncate;
use ptc_core::value::{Json, json};

use super::observation::RequestObservation;
use super::{Ability, CheckRow, REPLY_TOKENS, is_refusal};
use crate::config::options_over;
use crate::event::{
    Address, FileRecord, JsonText, NativeCall, Opaque, Options, Role, StructuredBy, ToolSchema, Want, hex_sha,
};
use crate::model::{Content, ErrorClass, FileBytes, Finish, Message, ModelError, Reply, Request, Retry};

/// The id of a model that no server has.
pub(super) const UNKNOWN_MODEL: &str = "ptc-workbench-unknown-model";
/// Width of a reply or an error in a row.
const NOTE_CELLS: usize = 160;
/// A red square.
const PICTURE: &[u8] = include_bytes!("../../../assets/red.png");
const TOOL: &str = "get_temperature";
const CITIES: [&str; 2] = ["Paris", "Rome"];

/// A capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    /// A plain answer, not streamed.
    Text,
    /// A text reply, streamed.
    Streaming,
    /// An answer that fits a schema.
    Schema,
    /// An object without a schema, as `json_loop` wants it.
    JsonObject,
    /// A native tool call.
    Tools,
    /// A tool call whose schema the service enforces.
    StrictTools,
    /// Two tool calls in one reply.
    ParallelCalls,
    /// An answer after the result of a call.
    ToolResults,
    /// Reasoning.
    Reasoning,
    /// Temperature.
    Sampling,
    /// An image as input.
    Images,
    /// An error in the service's words.
    UnknownModel,
}

/// All probes, in the order in which they are asked.
pub(super) const PROBES: &[Probe] = &[
    Probe::Text,
    Probe::Streaming,
    Probe::Schema,
    Probe::JsonObject,
    Probe::Tools,
    Probe::StrictTools,
    Probe::ParallelCalls,
    Probe::ToolResults,
    Probe::Reasoning,
    Probe::Sampling,
    Probe::Images,
    Probe::UnknownModel,
];

/// The calls that the model made before: their results are asked about.
#[derive(Debug, Clone)]
pub(super) struct History {
    text: String,
    calls: Vec<NativeCall>,
    opaque: Option<Opaque>,
}

impl History {
    /// A call as a model could have made it, to estimate with.
    pub(super) fn example() -> Self {
        let args = format!("{{\"city\":\"{}\"}}", CITIES[0]);
        let call = NativeCall { id: "call_1".to_owned(), name: TOOL.to_owned(), args };
        Self { text: String::new(), calls: vec![call], opaque: None }
    }

    /// The calls of a reply.
    pub(super) fn of(reply: &Reply) -> Self {
        Self { text: reply.text.clone(), calls: reply.calls.clone(), opaque: reply.opaque.clone() }
    }

    fn messages(&self) -> [Arc<Message>; 2] {
        let text = Some(self.text.clone()).filter(|text| !text.is_empty()).map(Content::Text);
        let reasoning = self.opaque.clone().map(Content::Reasoning);
        let calls = self.calls.iter().cloned().map(Content::Call);
        let result = |call: &NativeCall| Content::Result {
            call: call.id.clone(),
            name: call.name.clone(),
            result: "{\"celsius\":21}".to_owned(),
        };
        let asked = reasoning.into_iter().chain(text).chain(calls).collect();
        [
            Message { role: Role::Assistant, parts: asked }.into(),
            Message { role: Role::Tool, parts: self.calls.iter().map(result).collect() }.into(),
        ]
    }
}

impl Probe {
    /// The name of its row.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Streaming => "streaming",
            Self::Schema => "schema",
            Self::JsonObject => "json object",
            Self::Tools => "tools",
            Self::StrictTools => "strict tools",
            Self::ParallelCalls => "parallel calls",
            Self::ToolResults => "tool results",
            Self::Reasoning => "reasoning",
            Self::Sampling => "temperature",
            Self::Images => "images",
            Self::UnknownModel => "errors",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Text | Self::Sampling | Self::UnknownModel => "Reply with the word ready and nothing else.",
            Self::Streaming => "Write the numbers from 1 to 30, separated by spaces, and nothing else.",
            Self::Schema => "Judge the sentence \"I love this lamp\": its sentiment, and a score from 0 to 10.",
            Self::JsonObject => "Answer with one JSON object that has the member \"ready\" with the value true.",
            Self::Tools | Self::StrictTools | Self::ToolResults => {
                "What is the temperature in Paris? Call the tool get_temperature; then answer with the number."
            }
            Self::ParallelCalls => {
                "What is the temperature in Paris, and what in Rome? Call the tool get_temperature for both cities in one reply."
            }
            Self::Images => "What colour has this picture? Answer with one word.",
            Self::Reasoning => "How many of the numbers from 1 to 20 are prime? Answer with the number.",
        }
    }

    /// Builds the request, with the options that are configured for the model.
    pub(super) fn request(self, configured: &Options, history: &History) -> Request {
        let own = Options {
            max_tokens: Some(REPLY_TOKENS),
            temperature: (self == Self::Sampling).then_some(0.0),
            strict_tools: Some(self == Self::StrictTools),
            reasoning: (self == Self::Reasoning).then(|| "low".to_owned()),
            ..Options::default()
        };
        let has_tools = matches!(self, Self::Tools | Self::StrictTools | Self::ParallelCalls | Self::ToolResults);
        let mut question = Message::text(Role::User, self.question());
        let mut files = FileBytes::default();
        if self == Self::Images {
            let sha256 = hex_sha(PICTURE);
            files.insert(sha256.as_str(), PICTURE.into());
            let (name, media_type) = ("red.png".to_owned(), "image/png".to_owned());
            question.parts.push(Content::File(FileRecord { name, media_type, size: PICTURE.len() as u64, sha256 }));
        }
        let mut messages: Vec<Arc<Message>> = vec![question.into()];
        if self == Self::ToolResults {
            messages.extend(history.messages());
        }
        Request {
            address: Address::run(0).turn(1),
            agent: "check".to_owned(),
            mode: "text".to_owned(),
            want: match self {
                Self::Schema => Want::Json,
                Self::JsonObject => Want::ControlJson,
                _ => Want::Text,
            },
            system: None,
            messages,
            files,
            schema: (self == Self::Schema).then(schema),
            tools: if has_tools { vec![tool()] } else { Vec::new() },
            tool_choice: None,
            tool_names: Vec::new(),
            tool_signatures: Vec::new(),
            signature: None,
            options: options_over(&own, configured),
            retry: Retry::default(),
            cache: false,
            seed: 1,
        }
    }

    /// The row of a probe that could not be asked.
    pub(super) fn untried(self, why: &str) -> CheckRow {
        CheckRow { name: self.name(), ability: Ability::Untried, note: why.to_owned(), refusals: Vec::new() }
    }

    /// Judges what was observed.
    pub(super) fn judge(self, seen: &RequestObservation) -> CheckRow {
        let (ability, note) = match &seen.result {
            Ok(reply) => self.judge_reply(reply, seen),
            Err(error) => self.judge_error(error),
        };
        let note = truncate(&note.replace('\n', " "), NOTE_CELLS).into_owned();
        CheckRow { name: self.name(), ability, note, refusals: seen.notices.clone() }
    }

    fn judge_reply(self, reply: &Reply, seen: &RequestObservation) -> (Ability, String) {
        let cut = || format!("the reply was cut after {REPLY_TOKENS} tokens");
        let text = reply.text.trim();
        match self {
            Self::UnknownModel => (Ability::Partly, "accepts any model name".to_owned()),
            Self::StrictTools if seen.has_notice() => (Ability::No, "not accepted; sent without `strict`".to_owned()),
            Self::Tools | Self::StrictTools | Self::ParallelCalls => self.judge_calls(&reply.calls, text),
            _ if text.is_empty() && reply.finish == Some(Finish::Length) => (Ability::No, cut()),
            _ if text.is_empty() => (Ability::No, "the reply is empty".to_owned()),
            Self::Streaming if seen.pieces < 2 => (Ability::Partly, "the whole reply arrived at once".to_owned()),
            Self::Streaming if reply.usage.is_none() => {
                (Ability::Partly, format!("{} pieces, without token counts", seen.pieces))
            }
            Self::Streaming => (Ability::Yes, format!("{} pieces", seen.pieces)),
            Self::Schema => judge_schema(reply, seen),
            Self::JsonObject => match (is_object(text), reply.structured_by) {
                (true, Some(StructuredBy::JsonObject)) => (Ability::Yes, "required by the request".to_owned()),
                (true, _) => (Ability::Partly, "requested in the prompt only".to_owned()),
                (false, _) => (Ability::No, format!("not an object: {text}")),
            },
            Self::Reasoning => {
                let counted = reply.usage.and_then(|usage| usage.reasoning).filter(|tokens| *tokens > 0);
                match (seen.has_reasoning, counted) {
                    (true, _) => (Ability::Yes, "shown".to_owned()),
                    (false, Some(tokens)) => (Ability::Yes, format!("{tokens} tokens, not shown")),
                    (false, None) if seen.has_notice() => (Ability::No, "the effort is not accepted".to_owned()),
                    (false, None) => {
                        (Ability::Partly, "the effort is accepted, but no reasoning was returned".to_owned())
                    }
                }
            }
            Self::Images if text.to_lowercase().contains("red") => (Ability::Yes, text.to_owned()),
            Self::Images => (Ability::Partly, format!("accepted, not recognized: {text}")),
            Self::Sampling if seen.has_notice() => (Ability::No, "not accepted; omitted".to_owned()),
            Self::Text | Self::ToolResults | Self::Sampling => (Ability::Yes, text.to_owned()),
        }
    }

    fn judge_calls(self, calls: &[NativeCall], text: &str) -> (Ability, String) {
        let is_good = |call: &&NativeCall| call.name == TOOL && city(call).is_some();
        let cities: Vec<String> = calls.iter().filter(is_good).filter_map(city).collect();
        let shown = || calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match (self, cities.len(), calls.len()) {
            (_, _, 0) => (Ability::No, format!("no call; it answered: {text}")),
            (_, 0, _) => (Ability::No, format!("not the requested call: {}", shown())),
            (Self::ParallelCalls, 1, _) => (Ability::No, "one call at a time".to_owned()),
            _ => (Ability::Yes, shown()),
        }
    }

    fn judge_error(self, error: &ModelError) -> (Ability, String) {
        let note = match error.status {
            Some(status) => format!("HTTP {status}: {}", error.message),
            None => error.message.clone(),
        };
        match self {
            Self::UnknownModel if error.class == ErrorClass::NotFound => (Ability::Yes, note),
            Self::UnknownModel if is_refusal(error) => {
                (Ability::Partly, format!("an unknown model is reported as {}: {note}", error.class.name()))
            }
            _ => (Ability::No, note),
        }
    }
}

fn judge_schema(reply: &Reply, seen: &RequestObservation) -> (Ability, String) {
    let way = reply.structured_by.unwrap_or(StructuredBy::Prompt);
    match (fits_schema(seen), way) {
        (false, _) => (Ability::No, format!("the answer does not fit: {}", reply.text.trim())),
        (true, StructuredBy::JsonSchema | StructuredBy::Tool) => (Ability::Yes, format!("by {}", way.name())),
        (true, _) => (Ability::Partly, format!("by {}: the answer fits, the schema was not sent", way.name())),
    }
}

/// Returns whether the answer fits the requested schema.
pub(super) fn fits_schema(seen: &RequestObservation) -> bool {
    let Ok(reply) = &seen.result else { return false };
    json::parse(reply.text.trim()).is_ok_and(|answer| {
        let is_known = |member: &json::Member| matches!(member.key.as_str(), "sentiment" | "score" | "remark");
        answer.get("sentiment").and_then(Json::as_str).is_some_and(|word| SENTIMENTS.contains(&word))
            && answer.get("score").is_some_and(|score| matches!(score.node, json::Node::Int(_)))
            && answer.members().is_some_and(|members| members.iter().all(is_known))
    })
}

const SENTIMENTS: [&str; 3] = ["positive", "neutral", "negative"];

/// An object with an optional property: services differ there.
fn schema() -> Json {
    let typed = |name: &str| Json::empty().with("type", Json::str(name));
    let sentiment = typed("string").with("enum", Json::list(SENTIMENTS.map(Json::str)));
    let properties =
        Json::empty().with("sentiment", sentiment).with("score", typed("integer")).with("remark", typed("string"));
    object(properties, &["sentiment", "score"])
}

fn tool() -> ToolSchema {
    let text = || Json::empty().with("type", Json::str("string"));
    ToolSchema {
        name: TOOL.to_owned(),
        description: Some("Returns the temperature in a city.".to_owned()),
        parameters: JsonText::of(&object(Json::empty().with("city", text()).with("unit", text()), &["city"])),
        custom: None,
    }
}

fn object(properties: Json, required: &[&str]) -> Json {
    Json::empty()
        .with("type", Json::str("object"))
        .with("properties", properties)
        .with("required", Json::list(required.iter().copied().map(Json::str)))
        .with("additionalProperties", false.into())
}

fn city(call: &NativeCall) -> Option<String> {
    json::parse(&call.args).ok()?.get("city")?.as_str().map(ToOwned::to_owned)
}

fn is_object(text: &str) -> bool {
    json::parse(text).is_ok_and(|answer| answer.members().is_some())
}
