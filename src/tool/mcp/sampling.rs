//! Requests of a server for replies of a model (sampling): the user sees each request and each reply, and decides about both.
//!
//! In: a request of a server whose configuration allows to ask. Out: a reply of the run's model or of the user, or a refusal with its reason.
//! No model is asked before the user accepts, and no reply is sent before the user has seen it. Everything in the request is untrusted.

#![expect(deprecated, reason = "the protocol will drop sampling; servers of today still ask for it")]

use std::fmt::Write as _;

use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, Role, SamplingMessage, SamplingMessageContentBlock,
};

use super::log::Log;
use crate::tool::SamplePrompt;

/// The code of the protocol for a request that the user refuses.
const REFUSED: ErrorCode = ErrorCode(-1);
/// Maximum bytes of the texts of a request.
const REQUEST_BYTES: usize = 200_000;
/// Maximum bytes of a text in a question.
const SHOWN_BYTES: usize = 8_000;
const ACCEPT: &str = "accept";
const SEND: &str = "send";
const DECLINE: &str = "decline";
/// The model of a reply that the user wrote.
const USER: &str = "human";

/// Asks the user about a request, then the model, then the user about its reply.
pub(super) async fn sample(
    server: &str,
    params: &CreateMessageRequestParams,
    log: &Log,
) -> Result<CreateMessageResult, ErrorData> {
    replied(server, params, log).await.map_err(|why| {
        log.broadcast(&format!("the server {server} got no reply of a model: {why}"));
        ErrorData::new(REFUSED, why, None)
    })
}

async fn replied(server: &str, params: &CreateMessageRequestParams, log: &Log) -> Result<CreateMessageResult, String> {
    if params.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
        return Err("it offers tools to the model, which is not supported".to_owned());
    }
    let prompt = prompt(server, params);
    let size = prompt.text.len() + prompt.system.as_ref().map_or(0, String::len);
    if size > REQUEST_BYTES {
        return Err(format!("its request has {size} bytes; at most {REQUEST_BYTES} are sent to a model"));
    }
    let answer = log.ask(&question(server, &prompt, params), Vec::new()).await.ok_or("no user is present")?;
    match answer.trim() {
        ACCEPT => {}
        "" | DECLINE | "cancel" => return Err("the user declined".to_owned()),
        own => return Ok(result(own, USER)),
    }
    let reply = log.sample(prompt).await?;
    let about = format!(
        "The model {} replied to the server {server}:\n{}\nAnswer `{SEND}`: the server gets this reply. `{DECLINE}`: it gets none. Any other text is sent in its \
         place.",
        reply.model,
        shown(&reply.text)
    );
    let answer = log.ask(&about, Vec::new()).await.ok_or("no user is present")?;
    match answer.trim() {
        SEND => Ok(result(&reply.text, &reply.model)),
        "" | DECLINE | "cancel" => Err("the user declined to send the reply".to_owned()),
        own => Ok(result(own, USER)),
    }
}

fn result(text: &str, model: &str) -> CreateMessageResult {
    let message = SamplingMessage::new(Role::Assistant, SamplingMessageContentBlock::text(text));
    CreateMessageResult::new(message, model.to_owned()).with_stop_reason(CreateMessageResult::STOP_REASON_END_TURN)
}

/// The request as the model gets it: one message is its text, several are marked with their roles.
fn prompt(server: &str, params: &CreateMessageRequestParams) -> SamplePrompt {
    let texts: Vec<(&str, String)> = params.messages.iter().map(message).collect();
    let text = match texts.as_slice() {
        [(_, only)] => only.clone(),
        several => several.iter().map(|(role, text)| format!("[{role}]\n{text}")).collect::<Vec<_>>().join("\n\n"),
    };
    SamplePrompt {
        name: format!("{server}:sampling"),
        system: params.system_prompt.clone().filter(|text| !text.trim().is_empty()),
        text,
        max_tokens: u64::from(params.max_tokens),
        temperature: params.temperature.map(|number| (f64::from(number) * 1_000.0).round() / 1_000.0),
        stop: params.stop_sequences.clone().unwrap_or_default(),
    }
}

/// The role and the text of a message; other content is named.
fn message(message: &SamplingMessage) -> (&'static str, String) {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let blocks = message.content.clone().into_vec().into_iter().map(|block| match block {
        SamplingMessageContentBlock::Text(text) => text.text,
        SamplingMessageContentBlock::Image(image) => format!("[image {}, not sent]", image.mime_type),
        SamplingMessageContentBlock::Audio(audio) => format!("[audio {}, not sent]", audio.mime_type),
        _ => "[content of an unknown kind, not sent]".to_owned(),
    });
    (role, blocks.collect::<Vec<_>>().join("\n"))
}

/// Returns the question to the user about a request for a reply.
fn question(server: &str, prompt: &SamplePrompt, params: &CreateMessageRequestParams) -> String {
    let mut text = format!("The server {server} asks for a reply of a model (at most {} tokens).", prompt.max_tokens);
    let hints = params.model_preferences.iter().filter_map(|wanted| wanted.hints.as_ref()).flatten();
    let hints: Vec<&str> = hints.filter_map(|hint| hint.name.as_deref()).collect();
    if !hints.is_empty() {
        _ = write!(text, "\nIt would like the model {}; the model of this run replies.", hints.join(" or "));
    }
    if let Some(system) = &prompt.system {
        _ = write!(text, "\n[system]\n{}", shown(system));
    }
    _ = write!(
        text,
        "\n[request]\n{}\nAnswer `{ACCEPT}`: the model of this run replies, which may cost; you see the reply before the server does. `{DECLINE}`: \
         no reply. Any other text is sent to the server as the reply.",
        shown(&prompt.text)
    );
    text
}

fn shown(text: &str) -> String {
    let end = text.floor_char_boundary(SHOWN_BYTES);
    let cut = if end < text.len() { format!(" … ({} bytes)", text.len()) } else { String::new() };
    format!("{}{cut}", text.get(..end).unwrap_or_default().trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(more: &serde_json::Value) -> CreateMessageRequestParams {
        let mut all =
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5});
        for (key, value) in more.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn the_question_shows_everything_that_the_model_would_get() {
        let asked = params(&json!({"systemPrompt": "Be brief", "temperature": 0.7,
            "modelPreferences": {"hints": [{"name": "big"}, {"name": "small"}]},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "One"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
                {"role": "assistant", "content": {"type": "text", "text": "Two"}}]}));
        let prompt = prompt("files", &asked);
        assert_eq!(prompt.text, "[user]\nOne\n[image image/png, not sent]\n\n[assistant]\nTwo");
        assert_eq!((prompt.temperature, prompt.max_tokens), (Some(0.7), 5));
        let text = question("files", &prompt, &asked);
        for part in ["at most 5 tokens", "big or small", "[system]\nBe brief\n", &prompt.text, "`accept`", "`decline`"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_shown_or_sent_is_refused_without_a_question() {
        let log = Log::default();
        let tools = params(&json!({"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}));
        assert!(replied("s", &tools, &log).await.unwrap_err().contains("offers tools"));
        let large = params(&json!({"systemPrompt": "x".repeat(REQUEST_BYTES)}));
        assert!(replied("s", &large, &log).await.unwrap_err().contains("at most 200000"));
        assert_eq!(replied("s", &params(&json!({})), &log).await.unwrap_err(), "no user is present");
    }
}
