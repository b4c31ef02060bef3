//! The same replies in each protocol: what a server of it sends, so that one test can ask all of them.

use ptc_workbench::config::{KeySource, Protocol};
use ptc_workbench::model::{Adapter, Endpoint};
use serde_json::{Value, json};

use crate::openai::endpoint;
use crate::openai::server::{Play, Server};

/// The file of the key for requests that would be signed without one.
pub(super) const BEDROCK_KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model/fixtures/bedrock.key");

/// All protocols.
pub(crate) const ALL: [Kit; 6] = [
    Kit(Protocol::OpenAi),
    Kit(Protocol::Anthropic),
    Kit(Protocol::Gemini),
    Kit(Protocol::Ollama),
    Kit(Protocol::Responses),
    Kit(Protocol::Bedrock),
];

/// Bodies that a server of a protocol sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kit(pub(crate) Protocol);

impl Kit {
    /// An endpoint of this protocol.
    pub(crate) fn endpoint(self, server: &Server) -> Endpoint {
        let endpoint = Endpoint { protocol: self.0, ..endpoint(server) };
        match self.0 {
            // It signs requests without a key.
            Protocol::Bedrock => Endpoint { key: Some(KeySource::File(BEDROCK_KEY.into())), ..endpoint },
            _ => endpoint,
        }
    }

    pub(crate) fn model(self, server: &Server) -> Adapter {
        Adapter::new(self.endpoint(server)).unwrap()
    }

    /// A stream of these frames.
    pub(crate) fn play<P: AsRef<[u8]>>(self, pieces: impl IntoIterator<Item = P>) -> Play {
        self.typed(Play::events(pieces))
    }

    /// The play with the content type of this protocol's streams.
    pub(crate) fn typed(self, play: Play) -> Play {
        match self.0 {
            Protocol::Ollama => play.into_lines(),
            Protocol::Bedrock => super::bedrock::framed(play),
            _ => play,
        }
    }

    /// A frame that holds this.
    pub(super) fn frame(self, json: &Value) -> String {
        match self.0 {
            // Those of Bedrock become binary where they are sent.
            Protocol::Ollama | Protocol::Bedrock => format!("{json}\n"),
            Protocol::Anthropic | Protocol::Responses => {
                format!("event: {}\ndata: {json}\n\n", json["type"].as_str().unwrap_or("error"))
            }
            Protocol::OpenAi | Protocol::Gemini => format!("data: {json}\n\n"),
        }
    }

    /// Returns the first event of a reply.
    pub(crate) fn begin(self) -> String {
        match self.0 {
            Protocol::Anthropic => {
                self.frame(&json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
                "role": "assistant", "model": "m-answering", "content": [], "stop_reason": null,
                "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 1}}}))
            }
            Protocol::Responses => {
                self.frame(&json!({"type": "response.created", "sequence_number": 0, "response":
                {"id": "resp_1", "object": "response", "status": "in_progress", "model": "m-answering", "output": []}}))
            }
            Protocol::Bedrock => self.frame(&json!({"messageStart": {"role": "assistant"}})),
            _ => String::new(),
        }
    }

    /// The frames of a block of the Converse API.
    fn converse_block(self, index: u64, start: Option<&Value>, delta: &Value) -> String {
        let at =
            |name: &str, key: &str, value: &Value| self.frame(&json!({name: {"contentBlockIndex": index, key: value}}));
        let start = start.map(|start| at("contentBlockStart", "start", start)).unwrap_or_default();
        let stop = self.frame(&json!({"contentBlockStop": {"contentBlockIndex": index}}));
        start + &at("contentBlockDelta", "delta", delta) + &stop
    }

    /// The frames of an item of the Responses API: start, these events, end.
    fn item(self, index: u64, begun: &Value, events: &[Value], done: &Value) -> String {
        let mut out = self.frame(&json!({"type": "response.output_item.added", "output_index": index, "item": begun}));
        for event in events {
            let mut event = event.clone();
            event["output_index"] = index.into();
            out += &self.frame(&event);
        }
        out + &self.frame(&json!({"type": "response.output_item.done", "output_index": index, "item": done}))
    }

    fn block(self, index: u64, start: &Value, delta: &Value) -> String {
        [
            self.frame(&json!({"type": "content_block_start", "index": index, "content_block": start})),
            self.frame(&json!({"type": "content_block_delta", "index": index, "delta": delta})),
            self.frame(&json!({"type": "content_block_stop", "index": index})),
        ]
        .concat()
    }

    fn part(self, part: &Value) -> String {
        match self.0 {
            Protocol::Gemini => self.frame(&json!({"modelVersion": "m-answering", "candidates": [{"content": {"role": "model", "parts": [part]}}]})),
            Protocol::Ollama => self.frame(&json!({"model": "m-answering", "message": part, "done": false})),
            _ => self.frame(&json!({"model": "m-answering", "choices": [{"index": 0, "delta": part, "finish_reason": null}]})),
        }
    }

    /// A piece of text.
    pub(crate) fn text(self, text: &str) -> String {
        match self.0 {
            Protocol::OpenAi => self.part(&json!({"content": text})),
            Protocol::Anthropic => {
                self.block(1, &json!({"type": "text", "text": ""}), &json!({"type": "text_delta", "text": text}))
            }
            Protocol::Responses => {
                let message =
                    |parts: Value| json!({"type": "message", "id": "msg_1", "role": "assistant", "content": parts});
                let part = json!([{"type": "output_text", "text": text, "annotations": []}]);
                let delta = json!({"type": "response.output_text.delta", "item_id": "msg_1", "content_index": 0, "delta": text});
                let done =
                    json!({"type": "response.output_text.done", "item_id": "msg_1", "content_index": 0, "text": text});
                self.item(1, &message(json!([])), &[delta, done], &message(part))
            }
            Protocol::Gemini => self.part(&json!({"text": text})),
            Protocol::Ollama => self.part(&json!({"role": "assistant", "content": text})),
            Protocol::Bedrock => self.converse_block(1, None, &json!({"text": text})),
        }
    }

    /// A piece of reasoning, with what the service wants back.
    pub(super) fn thought(self, text: &str) -> String {
        match self.0 {
            Protocol::OpenAi => self.part(&json!({"reasoning_content": text})),
            Protocol::Anthropic => {
                let start = json!({"type": "thinking", "thinking": "", "signature": ""});
                let signature = json!({"type": "signature_delta", "signature": "sig-1"});
                let signed = json!({"type": "content_block_delta", "index": 0, "delta": signature});
                self.block(0, &start, &json!({"type": "thinking_delta", "thinking": text})) + &self.frame(&signed)
            }
            Protocol::Responses => {
                let item = |summary: Value| {
                    json!({"type": "reasoning", "id": "rs_1", "summary": summary,
                    "encrypted_content": "sig-1"})
                };
                let part =
                    json!({"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "summary_index": 0});
                let delta = json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "delta": text});
                let summary = json!([{"type": "summary_text", "text": text}]);
                self.item(0, &item(json!([])), &[part, delta], &item(summary))
            }
            Protocol::Gemini => self.part(&json!({"text": text, "thought": true})),
            Protocol::Bedrock => {
                let delta = |thought: Value| {
                    let delta = json!({"contentBlockIndex": 0, "delta": {"reasoningContent": thought}});
                    self.frame(&json!({"contentBlockDelta": delta}))
                };
                delta(json!({"text": text})) + &delta(json!({"signature": "sig-1"}))
            }
            Protocol::Ollama => self.part(&json!({"role": "assistant", "content": "", "thinking": text})),
        }
    }

    /// A whole call.
    pub(crate) fn call(self, index: u64, id: &str, name: &str, args: &Value) -> String {
        match self.0 {
            Protocol::OpenAi => self.part(&json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": args.to_string()}}]})),
            Protocol::Anthropic => {
                let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.block(index + 2, &start, &json!({"type": "input_json_delta", "partial_json": args.to_string()}))
            }
            Protocol::Responses => {
                let item = |args: String| {
                    json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id,
                    "name": name, "arguments": args})
                };
                let delta = json!({"type": "response.function_call_arguments.delta", "delta": args.to_string()});
                let done = json!({"type": "response.function_call_arguments.done", "arguments": args.to_string()});
                self.item(index + 2, &item(String::new()), &[delta, done], &item(args.to_string()))
            }
            Protocol::Gemini => {
                self.part(&json!({"functionCall": {"id": id, "name": name, "args": args}, "thoughtSignature": "sig-1"}))
            }
            Protocol::Bedrock => {
                let start = json!({"toolUse": {"toolUseId": id, "name": name}});
                self.converse_block(index + 2, Some(&start), &json!({"toolUse": {"input": args.to_string()}}))
            }
            Protocol::Ollama => self.part(&json!({"role": "assistant", "content": "",
                "tool_calls": [{"id": id, "function": {"name": name, "arguments": args}}]})),
        }
    }

    /// The frames that end a stream with this finish reason: stop, length, calls, filter.
    pub(crate) fn end(self, finish: &str) -> String {
        match self.0 {
            Protocol::OpenAi => {
                let word = match finish {
                    "calls" => "tool_calls",
                    "filter" => "content_filter",
                    other => other,
                };
                let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}]});
                let usage = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7,
                    "prompt_tokens_details": {"cached_tokens": 4}}});
                format!("{}{}data: [DONE]\n\n", self.frame(&last), self.frame(&usage))
            }
            Protocol::Anthropic => {
                let word = match finish {
                    "stop" => "end_turn",
                    "length" => "max_tokens",
                    "calls" => "tool_use",
                    _ => "refusal",
                };
                let last =
                    json!({"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 7}});
                self.frame(&last) + &self.frame(&json!({"type": "message_stop"}))
            }
            Protocol::Responses => {
                let (kind, details) = match finish {
                    "length" => ("incomplete", json!({"reason": "max_output_tokens"})),
                    "filter" => ("incomplete", json!({"reason": "content_filter"})),
                    _ => ("completed", Value::Null),
                };
                self.frame(
                    &json!({"type": format!("response.{kind}"), "response": {"id": "resp_1", "object": "response",
                    "status": kind, "model": "m-answering", "incomplete_details": details, "output": [],
                    "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7,
                    "output_tokens_details": {"reasoning_tokens": 0}}}}),
                )
            }
            Protocol::Gemini => {
                let word = match finish {
                    "length" => "MAX_TOKENS",
                    "filter" => "SAFETY",
                    _ => "STOP",
                };
                self.frame(&json!({"candidates": [{"finishReason": word}], "usageMetadata": {"promptTokenCount": 10,
                    "candidatesTokenCount": 7, "cachedContentTokenCount": 4}}))
            }
            Protocol::Bedrock => {
                let word = match finish {
                    "stop" => "end_turn",
                    "length" => "max_tokens",
                    "calls" => "tool_use",
                    _ => "content_filtered",
                };
                let usage = json!({"inputTokens": 6, "cacheReadInputTokens": 4, "outputTokens": 7, "totalTokens": 17});
                self.frame(&json!({"messageStop": {"stopReason": word}}))
                    + &self.frame(&json!({"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}))
            }
            Protocol::Ollama => {
                let word = if finish == "length" { "length" } else { "stop" };
                self.frame(
                    &json!({"model": "m-answering", "message": {"role": "assistant", "content": ""}, "done": true,
                    "done_reason": word, "prompt_eval_count": 10, "eval_count": 7}),
                )
            }
        }
    }

    /// A stream with this text and a proper end.
    pub(crate) fn answer(self, text: &str) -> Play {
        self.play([self.begin(), self.text(text), self.end("stop")])
    }

    /// The same text as one JSON answer.
    pub(super) fn whole(self, text: &str) -> Play {
        Play::json("200 OK", self.message(text).to_string())
    }

    fn message(self, text: &str) -> Value {
        match self.0 {
            Protocol::OpenAi => json!({"model": "m-answering", "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": text}}], "usage": {"prompt_tokens": 10, "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 4}}}),
            Protocol::Anthropic => {
                json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-answering",
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 7}})
            }
            Protocol::Responses => json!({"id": "resp_1", "object": "response", "status": "completed",
                "model": "m-answering", "error": null, "incomplete_details": null, "output": [{"type": "message",
                "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text",
                "text": text, "annotations": []}]}], "usage": {"input_tokens": 10, "output_tokens": 7,
                "input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 0}}}),
            Protocol::Gemini => json!({"modelVersion": "m-answering", "candidates": [{"finishReason": "STOP",
                "content": {"role": "model", "parts": [{"text": text}]}}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 7, "cachedContentTokenCount": 4}}),
            Protocol::Bedrock => json!({"output": {"message": {"role": "assistant", "content": [{"text": text}]}},
                "stopReason": "end_turn", "usage": {"inputTokens": 6, "cacheReadInputTokens": 4, "outputTokens": 7}}),
            Protocol::Ollama => json!({"model": "m-answering", "message": {"role": "assistant", "content": text},
                "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 7}),
        }
    }

    /// An error as the service words it.
    pub(crate) fn error(self, kind: &str, message: &str) -> Value {
        match self.0 {
            Protocol::OpenAi | Protocol::Responses => json!({"error": {"message": message, "type": kind}}),
            Protocol::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Protocol::Gemini => json!({"error": {"message": message, "status": kind.to_uppercase()}}),
            Protocol::Ollama => json!({"error": message}),
            Protocol::Bedrock => json!({"message": message, "__type": kind}),
        }
    }
}
