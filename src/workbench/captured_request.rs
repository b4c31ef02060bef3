//! A captured request without its messages, as an agent repeats it: model, tools, schema, options and further members of the body.
//!
//! In: a turn of a captured session. Out: these parts, and the differences that they make to the captured request.

use ptc_core::value::Json;

use super::body::events_of;
use crate::config::Protocol;
use crate::event::{Address, Event, JsonText, Options, RawRequest, RequestMade, ToolSchema};
use crate::model::{
    CapturedRequest, ExtraMembers, body_json, extra_members, is_generate, listed_messages, listed_parts,
};
use crate::session::{CaptureSource, ImportSource, Session};

/// Headers that change what the members of a body mean.
const HEADERS: [&str; 2] = ["anthropic-beta", "openai-beta"];
/// Tokens of an answer for which a request to Anthropic leaves room next to those of reasoning.
const ANSWER_TOKENS: u64 = 8_192;

/// A captured request without its messages.
#[derive(Default)]
pub(super) struct RequestParts {
    /// The path.
    pub(super) path: String,
    /// The protocol.
    pub(super) protocol: Option<Protocol>,
    /// The model as `upstream:model`.
    pub(super) model: Option<String>,
    /// The functions that it offers.
    pub(super) tools: Vec<ToolSchema>,
    /// The schema of the answer.
    pub(super) schema: Option<JsonText>,
    /// The options.
    pub(super) options: Options,
    /// The members of the body that no option has: an object.
    pub(super) extra: Json,
    /// Each reply must call a tool.
    pub(super) forces_call: bool,
    /// The paths of members of the body that are not sent.
    pub(super) omitted: Vec<String>,
    /// Parts of the request are marked for the cache of the service.
    pub(super) has_cache: bool,
    /// The differences to the captured request.
    pub(super) differences: Vec<String>,
}

impl RequestParts {
    /// Reads the request of a turn with this body.
    pub(super) fn of(session: &Session, turn: &Address, made: &RequestMade, body: &str) -> Self {
        let (mut frame, mut raw, mut lacks_messages) = (Json::default(), RawRequest::default(), false);
        for event in events_of(session, turn) {
            match event {
                Event::Sent(sent) => frame = sent.frame.json(),
                Event::RawRequest(request) => raw = request,
                Event::Notice(notice) => lacks_messages |= notice.text.contains(CaptureSource::LACKS_MESSAGES),
                _ => {}
            }
        }
        let captured = session.header.captured.as_ref();
        let protocol =
            Protocol::ALL.into_iter().find(|protocol| captured.is_some_and(|known| known.protocol == protocol.name()));
        let text = frame.to_text();
        let read = protocol.and_then(|protocol| CapturedRequest::read(protocol, &raw.path, text.as_bytes()).ok());
        let read = read.unwrap_or_default();
        let imported = session.header.imported.as_ref();
        let is_rebuilt = imported.is_some_and(ImportSource::is_rebuilt);
        let members = match protocol.filter(|_| frame.members().is_some()) {
            Some(protocol) => extra_members(protocol, &frame, &read),
            None => ExtraMembers { options: made.options.clone(), ..ExtraMembers::default() },
        };
        let upstream = captured.map(|known| known.upstream.as_str()).unwrap_or_default();
        let ExtraMembers { extra, omitted, options, tools, has_strict_tools, forces_call } = members;
        let tools = tools.unwrap_or_else(|| made.tools.clone());
        // Tools are strict only if all captured tools are.
        let schema = read.schema.or_else(|| made.schema.clone());
        let json = body_json(body.as_bytes()).unwrap_or_default();
        let is_loose = || protocol.is_some_and(|protocol| !has_strict_schema(protocol, &json));
        let options = Options {
            strict_tools: (!tools.is_empty()).then_some(has_strict_tools),
            strict_schema: (schema.is_some() && is_loose()).then_some(false),
            max_tokens: options.max_tokens.map(|tokens| answer_tokens(protocol, &options, tokens)),
            ..options
        };
        let mut parts = Self {
            path: raw.path.clone(),
            protocol,
            model: (!read.model.is_empty()).then(|| format!("{upstream}:{}", read.model)),
            tools,
            schema,
            options,
            extra: Json::empty(),
            forces_call,
            has_cache: body.contains("\"cache_control\""),
            omitted: Vec::new(),
            differences: Vec::new(),
        };
        parts.differences = parts.describe(&raw, &json);
        if lacks_messages {
            parts.differences.push("messages before this request are not recorded".to_owned());
        }
        if is_rebuilt {
            parts
                .differences
                .push("the request was rebuilt from a file: its tools and options may be missing".to_owned());
        } else {
            parts.omitted = omitted;
            parts.extra = extra;
        }
        parts
    }

    /// Describes the differences to the captured request that its parts make.
    fn describe(&self, raw: &RawRequest, json: &Json) -> Vec<String> {
        let mut found = Vec::new();
        let mut note = |is_so: bool, text: &str| found.extend(is_so.then(|| text.to_owned()));
        note(self.model.is_none(), "the request names no model");
        note(self.forces_call, "each reply must call a tool: a run ends after the first one (max_turns = 1)");
        note(self.has_cache, "`cache_control` is set by this program (cache = true)");
        note(has_reasoning(json), "the reasoning of earlier replies is not sent");
        note(has_failed_results(json), "results of tools are sent without is_error");
        note(
            json.get("suffix").and_then(Json::as_str).is_some_and(|suffix| !suffix.is_empty()),
            "the suffix is part of the user message",
        );
        let messages = listed_messages(json);
        let role = |message: &Json| message.get("role").and_then(Json::as_str).unwrap_or_default().to_owned();
        note(
            messages.iter().any(|message| role(message) == "developer"),
            "messages with the role developer are sent as the system text",
        );
        note(
            messages.iter().any(|message| message.get("name").is_some() && !matches!(&*role(message), "tool" | "")),
            "the names of authors of messages are not sent",
        );
        let is_kept = |name: &&str| json.get(name).is_some_and(|id| *id != Json::default());
        for name in ["previous_response_id", "conversation", "thread"].iter().filter(|name| is_kept(name)) {
            note(true, &format!("the earlier messages are sent instead of {name}"));
        }
        note(is_generate(&raw.path), "the prompt is sent as a message, to /api/chat");
        for (name, text) in raw.headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str())) {
            note(true, &format!("the header {name} is not sent: {text}"));
        }
        found
    }
}

/// Returns whether a body asks for exact adherence to its schema. Protocols without such a mark have one form of schemas only.
fn has_strict_schema(protocol: Protocol, body: &Json) -> bool {
    let is_true = |path: &str| body.at(path).is_some_and(|mark| *mark == Json::from(true));
    match protocol {
        Protocol::OpenAi => is_true("response_format.json_schema.strict"),
        Protocol::Responses => is_true("text.format.strict"),
        Protocol::Anthropic => false,
        Protocol::Gemini | Protocol::Ollama | Protocol::Bedrock => true,
    }
}

/// The tokens of an answer. A request to Anthropic has one limit for those and the reasoning.
fn answer_tokens(protocol: Option<Protocol>, options: &Options, tokens: u64) -> u64 {
    let budget = options.reasoning.as_deref().and_then(|reasoning| reasoning.parse::<u64>().ok());
    match budget.filter(|budget| protocol == Some(Protocol::Anthropic) && *budget < tokens) {
        Some(budget) if budget.saturating_add(tokens.min(ANSWER_TOKENS)) > tokens => tokens - budget,
        _ => tokens,
    }
}

/// The parts of the messages of a body, and the messages themselves.
fn parts(body: &Json) -> impl Iterator<Item = &Json> {
    listed_messages(body).iter().flat_map(|item| listed_parts(item).iter().chain([item]))
}

/// Returns whether messages of a body hold results that are marked as errors.
fn has_failed_results(body: &Json) -> bool {
    parts(body).any(|part| part.get("is_error").is_some_and(|mark| mark.to_text() == "true"))
}

/// Returns whether messages of a body hold reasoning of the model.
fn has_reasoning(body: &Json) -> bool {
    let is_reasoning = |part: &Json| {
        let kind = part.get("type").and_then(Json::as_str);
        let members =
            ["reasoning_content", "reasoning_details", "thinking", "thoughtSignature", "thought_signature", "thought"];
        matches!(kind, Some("thinking" | "redacted_thinking" | "reasoning"))
            || members.iter().any(|name| part.get(name).is_some())
    };
    parts(body).any(is_reasoning)
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn results_that_are_marked_as_errors_are_found() {
        let body = |mark: &str| {
            let result = format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"no"{mark}}}"#);
            json::parse(&format!(r#"{{"messages":[{{"role":"user","content":[{result}]}}]}}"#)).unwrap()
        };
        assert!(has_failed_results(&body(r#","is_error":true"#)));
        assert!(!has_failed_results(&body(r#","is_error":false"#)) && !has_failed_results(&body("")));
    }

    #[test]
    fn reasoning_is_found_in_the_forms_of_all_protocols() {
        for (body, expected) in [
            (r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}]}"#, true),
            (r#"{"messages":[{"role":"assistant","content":"x","reasoning_content":"y"}]}"#, true),
            (r#"{"input":[{"type":"reasoning","summary":[]}]}"#, true),
            (r#"{"contents":[{"parts":[{"functionCall":{"name":"f"},"thoughtSignature":"s"}]}]}"#, true),
            (r#"{"messages":[{"role":"user","content":"thinking"}]}"#, false),
            ("", false),
        ] {
            assert_eq!(has_reasoning(&json::parse(body).unwrap_or_default()), expected, "{body}");
        }
    }
}
