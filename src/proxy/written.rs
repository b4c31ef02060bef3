//! Replies that the user writes instead of a model, in the form of the protocol.
//!
//! In: a request and a text. Out: headers and pieces of a reply that an SDK of the service reads like any other; in pieces where the client
//! asked for them. Nothing is counted: tokens are zero. It must never add to the text.

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::config::Protocol;
use crate::model::CapturedRequest;
use crate::port::SystemClock;

/// A reply of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WrittenReply {
    pub(super) headers: HeaderMap,
    pub(super) pieces: Vec<Bytes>,
}

/// Makes a reply to a request with this path.
pub(super) fn reply(protocol: Protocol, path: &str, request: &CapturedRequest, text: &str) -> WrittenReply {
    let now_ms = SystemClock.now();
    let about = About { model: &request.model, id: format!("{now_ms:x}"), now_s: now_ms / 1_000, text };
    let is_streamed = request.is_streamed;
    match protocol {
        Protocol::OpenAi if is_streamed => {
            let counts_tokens = request.frame.json().at("stream_options.include_usage").is_some();
            about.chat_chunks(counts_tokens)
        }
        Protocol::OpenAi => whole(&about.chat()),
        Protocol::Responses if is_streamed => about.response_events(),
        Protocol::Responses => whole(&about.response("completed", &json!([about.output("completed")]))),
        Protocol::Anthropic if is_streamed => about.message_events(),
        Protocol::Anthropic => whole(&about.message(&json!([{ "type": "text", "text": text }]), Some("end_turn"))),
        Protocol::Gemini if is_streamed && path.contains("alt=sse") => events(
            about.words().map(|word| data(&about.candidate(word, false))).chain([data(&about.candidate("", true))]),
        ),
        Protocol::Gemini if is_streamed => whole(&json!([about.candidate(text, true)])),
        Protocol::Gemini | Protocol::Bedrock => whole(&about.candidate(text, true)),
        Protocol::Ollama if is_streamed => {
            let lines = about.words().map(|word| about.line(path, word, false)).chain([about.line(path, "", true)]);
            WrittenReply {
                headers: headers("application/x-ndjson"),
                pieces: lines.map(|line| Bytes::from(format!("{line}\n"))).collect(),
            }
        }
        Protocol::Ollama => whole(&about.line(path, text, true)),
    }
}

fn headers(content_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))])
}

fn whole(body: &Value) -> WrittenReply {
    WrittenReply { headers: headers("application/json"), pieces: vec![Bytes::from(body.to_string())] }
}

fn events(texts: impl IntoIterator<Item = String>) -> WrittenReply {
    WrittenReply { headers: headers("text/event-stream"), pieces: texts.into_iter().map(Bytes::from).collect() }
}

/// An event without a name.
fn data(body: &Value) -> String {
    format!("data: {body}\n\n")
}

/// An event that is named like its type.
fn named(body: &Value) -> String {
    let name = body["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {body}\n\n")
}

/// Data that all forms of a reply need.
struct About<'a> {
    model: &'a str,
    id: String,
    now_s: i64,
    text: &'a str,
}

impl About<'_> {
    /// The text in pieces that end with the space after a word.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive(char::is_whitespace)
    }

    fn chat(&self) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.id), "object": "chat.completion", "created": self.now_s, "model": self.model,
            "choices": [{
                "index": 0, "message": { "role": "assistant", "content": self.text, "refusal": null },
                "logprobs": null, "finish_reason": "stop",
            }],
            "usage": { "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 },
        })
    }

    fn chat_chunks(&self, counts_tokens: bool) -> WrittenReply {
        let chunk = |choices: Value| {
            json!({
                "id": format!("chatcmpl-{}", self.id), "object": "chat.completion.chunk", "created": self.now_s,
                "model": self.model, "choices": choices,
            })
        };
        let delta = |delta: Value, finish: Option<&str>| {
            data(&chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }])))
        };
        let mut out = vec![delta(json!({ "role": "assistant", "content": "" }), None)];
        out.extend(self.words().map(|word| delta(json!({ "content": word }), None)));
        out.push(delta(json!({}), Some("stop")));
        if counts_tokens {
            let mut last = chunk(json!([]));
            last["usage"] = json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
            out.push(data(&last));
        }
        out.push("data: [DONE]\n\n".to_owned());
        events(out)
    }

    /// The message of a response.
    fn output(&self, status: &str) -> Value {
        let part = json!({ "type": "output_text", "text": self.text, "annotations": [] });
        let content = if status == "completed" { json!([part]) } else { json!([]) };
        json!({
            "id": format!("msg_{}", self.id), "type": "message", "role": "assistant", "status": status, "content": content,
        })
    }

    fn response(&self, status: &str, output: &Value) -> Value {
        let usage = json!({
            "input_tokens": 0, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 0,
            "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 0,
        });
        json!({
            "id": format!("resp_{}", self.id), "object": "response", "created_at": self.now_s, "status": status,
            "model": self.model, "output": output, "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto", "tools": [],
            "top_p": null, "usage": if status == "completed" { usage } else { Value::Null },
        })
    }

    fn response_events(&self) -> WrittenReply {
        let item = format!("msg_{}", self.id);
        let begun = self.response("in_progress", &json!([]));
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let mut all = vec![
            json!({ "type": "response.created", "response": begun }),
            json!({ "type": "response.in_progress", "response": begun }),
            json!({ "type": "response.output_item.added", "output_index": 0, "item": self.output("in_progress") }),
            json!({
                "type": "response.content_part.added", "item_id": item, "output_index": 0, "content_index": 0,
                "part": part(""),
            }),
        ];
        all.extend(self.words().map(|word| {
            json!({
                "type": "response.output_text.delta", "item_id": item, "output_index": 0, "content_index": 0,
                "delta": word, "logprobs": [],
            })
        }));
        all.extend([
            json!({
                "type": "response.output_text.done", "item_id": item, "output_index": 0, "content_index": 0,
                "text": self.text, "logprobs": [],
            }),
            json!({
                "type": "response.content_part.done", "item_id": item, "output_index": 0, "content_index": 0,
                "part": part(self.text),
            }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": self.output("completed") }),
            json!({
                "type": "response.completed",
                "response": self.response("completed", &json!([self.output("completed")])),
            }),
        ]);
        let number = |(number, mut event): (usize, Value)| {
            event["sequence_number"] = number.into();
            named(&event)
        };
        events(all.into_iter().enumerate().map(number))
    }

    fn message(&self, content: &Value, stop: Option<&str>) -> Value {
        json!({
            "id": format!("msg_{}", self.id), "type": "message", "role": "assistant", "model": self.model,
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        })
    }

    fn message_events(&self) -> WrittenReply {
        let mut all = vec![
            json!({ "type": "message_start", "message": self.message(&json!([]), None) }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        ];
        all.extend(self.words().map(|word| {
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": word } })
        }));
        all.extend([
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({
                "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
                "usage": { "output_tokens": 0 },
            }),
            json!({ "type": "message_stop" }),
        ]);
        events(all.iter().map(named))
    }

    fn candidate(&self, text: &str, is_last: bool) -> Value {
        let mut candidate = json!({ "content": { "parts": [{ "text": text }], "role": "model" }, "index": 0 });
        if is_last {
            candidate["finishReason"] = "STOP".into();
        }
        json!({
            "candidates": [candidate], "modelVersion": self.model,
            "usageMetadata": { "promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0 },
        })
    }

    fn line(&self, path: &str, text: &str, is_last: bool) -> Value {
        let at = jiff::Timestamp::from_second(self.now_s).map(|at| at.to_string()).unwrap_or_default();
        let mut line = json!({ "model": self.model, "created_at": at, "done": is_last });
        if path.contains("/generate") {
            line["response"] = text.into();
        } else {
            line["message"] = json!({ "role": "assistant", "content": text });
        }
        if is_last {
            line["done_reason"] = "stop".into();
            for name in ["total_duration", "load_duration", "prompt_eval_count", "eval_count", "eval_duration"] {
                line[name] = 0.into();
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CapturedReply, Coding, Scrub};

    const TEXT: &str = "It is raining.\n\n{\"a\": 1}  ";

    /// Returns text and error of a reply, and whether it is whole, as the reader of the protocol reads it.
    fn read(protocol: Protocol, path: &str, body: &str) -> (String, Option<String>, bool) {
        let request = CapturedRequest::read(protocol, path, body.as_bytes()).unwrap();
        let written = reply(protocol, path, &request, TEXT);
        let kind = written.headers[CONTENT_TYPE].to_str().unwrap();
        let mut reader = CapturedReply::new(Some(protocol), 200, kind, Coding::Identity, Scrub::default());
        written.pieces.iter().for_each(|piece| _ = reader.push(piece));
        let (_, outcome) = reader.finish();
        (outcome.text, outcome.error, outcome.is_whole)
    }

    #[test]
    fn a_written_text_is_read_as_the_reply_of_its_protocol_whole_and_in_pieces() {
        let chat = r#""messages":[{"role":"user","content":"hi"}]"#;
        let rows = [
            (Protocol::OpenAi, "/v1/chat/completions", format!(r#"{{"model":"m",{chat}}}"#)),
            (Protocol::OpenAi, "/v1/chat/completions", format!(r#"{{"model":"m","stream":true,{chat}}}"#)),
            (Protocol::Responses, "/v1/responses", r#"{"model":"m","input":"hi"}"#.to_owned()),
            (Protocol::Responses, "/v1/responses", r#"{"model":"m","stream":true,"input":"hi"}"#.to_owned()),
            (Protocol::Anthropic, "/v1/messages", format!(r#"{{"model":"m",{chat}}}"#)),
            (Protocol::Anthropic, "/v1/messages", format!(r#"{{"model":"m","stream":true,{chat}}}"#)),
            (Protocol::Gemini, "/v1beta/models/m:generateContent", r#"{"contents":[]}"#.to_owned()),
            (Protocol::Gemini, "/v1beta/models/m:streamGenerateContent?alt=sse", r#"{"contents":[]}"#.to_owned()),
            (Protocol::Ollama, "/api/chat", format!(r#"{{"model":"m",{chat}}}"#)),
            (Protocol::Ollama, "/api/chat", format!(r#"{{"model":"m","stream":false,{chat}}}"#)),
        ];
        for (protocol, path, body) in rows {
            assert_eq!(read(protocol, path, &body), (TEXT.to_owned(), None, true), "{path} {body}");
        }
    }

    #[test]
    fn a_streamed_chat_has_a_piece_for_each_word_and_counts_where_they_are_asked_for() {
        let body = br#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}"#;
        let request = CapturedRequest::read(Protocol::OpenAi, "/v1/chat/completions", body).unwrap();
        let written = reply(Protocol::OpenAi, "/v1/chat/completions", &request, "one two");
        let pieces: Vec<String> =
            written.pieces.iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
        assert_eq!(pieces.len(), 6, "{pieces:?}");
        assert!(pieces[4].contains("\"usage\"") && pieces[5] == "data: [DONE]\n\n", "{pieces:?}");
    }
}
