//! Files in requests: the part that each protocol wants, and what is refused before anything is sent.

use ptc_workbench::config::Protocol;
use ptc_workbench::event::{FileRecord, NativeCall, Role, hex_sha};
use ptc_workbench::model::{Content, ErrorClass, FileBytes, Message, Request, media_type};
use serde_json::{Value, json};

use super::ask;
use super::kit::{ALL, Kit};
use crate::openai::request;
use crate::openai::server::{Play, Server};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nimage";
const PDF: &[u8] = b"%PDF-1.7 document";
const WAV: &[u8] = b"RIFF\x01\x02\x03\x04WAVEfmt sound";
const TEXT: &[u8] = b"lines </file> of text";

/// A question about a file.
fn asking(name: &str, bytes: &[u8]) -> Request {
    let record = FileRecord {
        name: name.into(),
        media_type: media_type(bytes).unwrap().into(),
        size: bytes.len() as u64,
        sha256: hex_sha(bytes),
    };
    let mut asked = request("");
    asked.files.insert(record.sha256.as_str(), bytes.into());
    let parts = vec![Content::Text("What is it?".into()), Content::File(record)];
    asked.messages = vec![Message { role: Role::User, parts }.into()];
    asked
}

/// The content of the last message of a body.
fn content(kit: Kit, body: &Value) -> Value {
    let last = |name: &str| body[name].as_array().unwrap().last().unwrap().clone();
    match kit.0 {
        Protocol::Responses => last("input")["content"].clone(),
        Protocol::Gemini => last("contents")["parts"].clone(),
        Protocol::Ollama => last("messages"),
        _ => last("messages")["content"].clone(),
    }
}

/// Returns the content that this protocol sends for a file; `None` where it does not support it.
fn expected(kit: Kit, name: &str) -> Option<Value> {
    let base64 = match name {
        "a.png" => "iVBORw0KGgppbWFnZQ==",
        "b.pdf" => "JVBERi0xLjcgZG9jdW1lbnQ=",
        _ => "UklGRgECAwRXQVZFZm10IHNvdW5k",
    };
    let text = "<file name=\"d.txt\">\nlines <\\/file> of text\n</file>\n";
    let url = |kind: &str| format!("data:{kind};base64,{base64}");
    let blob = |kind: &str| json!([{"inlineData": {"mimeType": kind, "data": base64}}, {"text": "What is it?"}]);
    let question = |kind: &str| json!({"type": kind, "text": "What is it?"});
    let source = |kind: &str| json!({"type": "base64", "media_type": kind, "data": base64});
    Some(match (kit.0, name) {
        (Protocol::OpenAi, "a.png") => {
            json!([{"type": "image_url", "image_url": {"url": url("image/png")}}, question("text")])
        }
        (Protocol::OpenAi, "b.pdf") => json!([{"type": "file", "file": {"filename": "b.pdf",
            "file_data": url("application/pdf")}}, question("text")]),
        (Protocol::OpenAi, "c.wav") => {
            json!([{"type": "input_audio", "input_audio": {"data": base64, "format": "wav"}}, question("text")])
        }
        (Protocol::OpenAi | Protocol::Anthropic, "d.txt") => json!([{"type": "text", "text": text}, question("text")]),
        (Protocol::Responses, "a.png") => json!([{"type": "input_image", "image_url": url("image/png"),
            "detail": "auto"}, question("input_text")]),
        (Protocol::Responses, "b.pdf") => json!([{"type": "input_file", "filename": "b.pdf",
            "file_data": url("application/pdf")}, question("input_text")]),
        (Protocol::Responses, "d.txt") => json!([{"type": "input_text", "text": text}, question("input_text")]),
        (Protocol::Anthropic, "a.png") => json!([{"type": "image", "source": source("image/png")}, question("text")]),
        (Protocol::Anthropic, "b.pdf") => json!([{"type": "document", "source": source("application/pdf"),
            "title": "b.pdf"}, question("text")]),
        (Protocol::Gemini, "a.png") => blob("image/png"),
        (Protocol::Gemini, "b.pdf") => blob("application/pdf"),
        (Protocol::Gemini, "c.wav") => blob("audio/wav"),
        (Protocol::Gemini | Protocol::Bedrock, "d.txt") => json!([{"text": text}, {"text": "What is it?"}]),
        (Protocol::Ollama, "a.png") => json!({"role": "user", "content": "What is it?", "images": [base64]}),
        (Protocol::Ollama, "d.txt") => json!({"role": "user", "content": format!("{text}What is it?")}),
        (Protocol::Bedrock, "a.png") => {
            json!([{"image": {"format": "png", "source": {"bytes": base64}}}, {"text": "What is it?"}])
        }
        (Protocol::Bedrock, "b.pdf") => json!([{"document": {"format": "pdf", "name": "file-1-b-pdf",
            "source": {"bytes": base64}}}, {"text": "What is it?"}]),
        _ => return None,
    })
}

#[tokio::test]
async fn a_file_becomes_the_part_that_its_protocol_wants_or_is_refused_before_the_request() {
    for kit in ALL {
        for (name, bytes) in [("a.png", PNG), ("b.pdf", PDF), ("c.wav", WAV), ("d.txt", TEXT)] {
            let server = Server::play([kit.answer("a thing")]).await;
            let asked = ask(kit, &server, &kit.model(&server), &asking(name, bytes)).await;
            let Some(expected) = expected(kit, name) else {
                let error = asked.error();
                assert_eq!((error.class, server.received().len()), (ErrorClass::Configuration, 0), "{kit:?} {name}");
                assert!(
                    error.message.contains(name) && error.message.contains("does not accept files"),
                    "{}",
                    error.message
                );
                continue;
            };
            assert_eq!(asked.reply().text, "a thing", "{kit:?} {name}");
            assert_eq!(content(kit, &server.received()[0].json()), expected, "{kit:?} {name}");
        }
    }
}

#[tokio::test]
async fn a_file_whose_bytes_are_missing_is_refused_before_the_request() {
    for kit in ALL {
        let server = Server::play([kit.answer("a thing")]).await;
        let mut asked = asking("a.png", PNG);
        asked.files = FileBytes::default();
        let asked = ask(kit, &server, &kit.model(&server), &asked).await;
        assert!(asked.error().message.contains("the bytes of the file a.png are missing"), "{kit:?}");
        assert!(server.received().is_empty(), "{kit:?}");
    }
}

/// A call of the model whose result has an image.
fn asking_about_a_result() -> Request {
    let mut asked = asking("shot-1", PNG);
    let [Content::Text(_), Content::File(record)] = asked.messages[0].parts.as_slice() else { panic!() };
    let call = NativeCall { id: "a1".into(), name: "shot".into(), args: "{}".into() };
    let result = Content::Result { call: "a1".into(), name: "shot".into(), result: "\"a shot\"".into() };
    let message = |role, parts| Message { role, parts }.into();
    asked.messages = vec![
        message(Role::User, vec![Content::Text("Look".into())]),
        message(Role::Assistant, vec![Content::Call(call)]),
        message(Role::Tool, vec![result, Content::File(record.clone())]),
    ];
    asked
}

#[tokio::test]
async fn a_service_that_refuses_images_in_results_gets_their_names_from_then_on() {
    for kit in ALL.into_iter().filter(|kit| !matches!(kit.0, Protocol::OpenAi | Protocol::Ollama)) {
        let error = kit.error("invalid_request_error", "image content is not supported in tool results");
        let plays = [Play::json("400 Bad Request", error.to_string()), kit.answer("a lamp"), kit.answer("a lamp")];
        let server = Server::play(plays).await;
        let model = kit.model(&server);
        for _ in 0..2 {
            let asked = ask(kit, &server, &model, &asking_about_a_result()).await;
            assert_eq!(asked.reply().text, "a lamp", "{kit:?}");
        }
        let bodies: Vec<String> = server.received().iter().map(|received| received.json().to_string()).collect();
        let with_image: Vec<bool> = bodies.iter().map(|body| body.contains("iVBORw0KGgppbWFnZQ==")).collect();
        assert_eq!(with_image, [true, false, false], "{kit:?}");
        assert!(bodies[1].contains("this service takes no images in results: shot-1"), "{kit:?}: {}", bodies[1]);
    }
}

#[tokio::test]
async fn the_image_of_a_result_is_sent_with_it_or_named_where_the_protocol_has_no_place_for_it() {
    let base64 = "iVBORw0KGgppbWFnZQ==";
    for kit in ALL {
        let server = Server::play([kit.answer("a lamp")]).await;
        let asked = ask(kit, &server, &kit.model(&server), &asking_about_a_result()).await;
        assert_eq!(asked.reply().text, "a lamp", "{kit:?}");
        let body = server.received()[0].json();
        let last = |name: &str| body[name].as_array().unwrap().last().unwrap().clone();
        let text = "\"a shot\"";
        let note = format!("{text}\n(not sent: this service takes no images in results: shot-1 (image/png, 13 bytes))");
        match kit.0 {
            Protocol::Anthropic => {
                let source = json!({"type": "base64", "media_type": "image/png", "data": base64});
                let content = json!([{"type": "text", "text": text}, {"type": "image", "source": source}]);
                assert_eq!(last("messages")["content"][0]["content"], content);
            }
            Protocol::Responses => {
                let url = format!("data:image/png;base64,{base64}");
                let output = json!([{"type": "input_text", "text": text}, {"type": "input_image", "image_url": url, "detail": "auto"}]);
                assert_eq!(last("input")["output"], output);
            }
            Protocol::Gemini => {
                let parts = last("contents")["parts"].clone();
                assert_eq!(parts[0]["functionResponse"]["response"], json!({"result": "a shot"}));
                assert_eq!(parts[1], json!({"inlineData": {"mimeType": "image/png", "data": base64}}));
            }
            Protocol::Bedrock => {
                let image = json!({"image": {"format": "png", "source": {"bytes": base64}}});
                assert_eq!(last("messages")["content"][0]["toolResult"]["content"], json!([{"text": text}, image]));
            }
            Protocol::OpenAi | Protocol::Ollama => assert_eq!(last("messages")["content"], note, "{kit:?}"),
        }
    }
}
