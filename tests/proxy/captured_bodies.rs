//! The first request of a captured agent beside the captured one: each member that differs is listed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::kit::{Proxied, fetch};
use crate::cli::program::Program;
use crate::openai::server::answer;

/// Members that are always as this program wants them.
const OWN: [&str; 3] = ["stream", "stream_options", "store"];

/// Records a request, makes an agent of it, and returns what is listed and the body that the agent sends.
async fn repeated(path: &str, body: &Value) -> (String, Value) {
    let proxied = Proxied::script(|number, _| answer(&format!("reply {number}"))).await;
    assert!(fetch(proxied.post(path, body.to_string())).await.is_whole);
    let (sessions, _dir) = proxied.end().await;
    let program = Program::new();
    std::fs::create_dir(program.sessions_dir()).unwrap();
    let copy = program.sessions_dir().join(sessions[0].path.file_name().unwrap());
    std::fs::copy(&sessions[0].path, copy).unwrap();
    tokio::task::block_in_place(|| {
        let made = program.run(["sessions", "agent", "last", "-o", "seen.toml"]);
        let listed = made.exits(0).stderr.clone();
        (listed, program.run(["prompt", "seen.toml"]).exits(0).json()["body"].clone())
    })
}

/// Collects the paths of members with different values.
fn differences(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    if let (Value::Object(a), Value::Object(b)) = (one, other) {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for key in keys.into_iter().filter(|key| !path.is_empty() || !OWN.contains(&key.as_str())) {
            differences(&format!("{path}.{key}"), &one[key.as_str()], &other[key.as_str()], found);
        }
    } else if let (Value::Array(a), Value::Array(b)) = (one, other)
        && a.len() == b.len()
    {
        for (index, (one, other)) in a.iter().zip(b).enumerate() {
            differences(&format!("{path}.{index}"), one, other, found);
        }
    } else if !is_same(one, other) {
        found.push(path.to_owned());
    }
}

/// Returns whether services make no difference between two values: a text is a list of one text, `1` is `1.0`, the names of types have
/// any case, and a default is as good as nothing.
fn is_same(one: &Value, other: &Value) -> bool {
    let plain = |value: &Value| match value {
        Value::Array(items)
            if items.len() == 1 && items[0]["text"].is_string() && items[0].get("cache_control").is_none() =>
        {
            json!(items[0]["text"].as_str().unwrap().to_lowercase())
        }
        Value::Array(items) if items.len() == 1 && items[0].is_string() => {
            json!(items[0].as_str().unwrap().to_lowercase())
        }
        Value::String(text) => json!(text.to_lowercase()),
        Value::Number(number) => json!(number.as_f64()),
        _ => value.clone(),
    };
    let defaults =
        [json!("auto"), json!(1), json!({"functionCallingConfig": {"mode": "AUTO"}}), json!("message"), json!("user")];
    plain(one) == plain(other) || defaults.contains(one) && other.is_null() || one.is_null() && defaults.contains(other)
}

/// Returns whether a difference at this path is listed: by the name of a member, or in words about messages.
fn is_listed(path: &str, listed: &str) -> bool {
    const WORDS: [&str; 7] =
        ["message", "text", "cache_control", "author", "custom tool", "prompt is sent", "reasoning of earlier"];
    const MESSAGES: [&str; 6] = ["messages", "input", "contents", "system", "prompt", "instructions"];
    let lines: Vec<&str> =
        listed.lines().filter_map(|line| line.strip_prefix("differs from the captured request: ")).collect();
    let first = path.split('.').nth(1).unwrap_or_default();
    let is_named =
        |line: &&str| path.split('.').skip(1).any(|name| name.parse::<usize>().is_err() && line.contains(name));
    let is_about_messages = |line: &&str| MESSAGES.contains(&first) && WORDS.iter().any(|word| line.contains(word));
    lines.iter().any(|line| is_named(line) || is_about_messages(line) || line.contains("with the protocol"))
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/gemini-2.5-flash:generateContent";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A schema that services can enforce.
fn strict_schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"], "additionalProperties": false})
}

/// A schema with an optional property.
fn loose_schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]})
}

fn of_chat() -> Vec<(&'static str, Value)> {
    let schema = strict_schema();
    let loose = loose_schema();
    let function = json!({"name": "weather", "description": "Looks", "parameters": loose_schema()});
    let strict = json!({"name": "weather", "description": "Looks", "parameters": strict_schema(), "strict": true});
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}});
    vec![
        (CHAT, json!({"model": "gpt-4.1", "messages": [user("Hi")]})),
        (
            CHAT,
            json!({"model": "gpt-4.1", "messages": [{"role": "system", "content": ""}, user("Hi")], "temperature": 1, "top_p": 0.5, "max_tokens": 100}),
        ),
        (
            CHAT,
            json!({"model": "gpt-4.1", "messages": [{"role": "developer", "content": "Be brief"}, user("Hi")], "max_completion_tokens": 100, "seed": 4, "stop": "END"}),
        ),
        (
            CHAT,
            json!({"model": "gpt-4.1", "messages": [user("Plan")], "response_format": {"type": "json_schema",
            "json_schema": {"name": "trip", "description": "A trip", "schema": schema, "strict": true}}}),
        ),
        (
            CHAT,
            json!({"model": "gpt-4.1", "messages": [user("Plan")], "response_format": {"type": "json_schema",
            "json_schema": {"name": "trip", "schema": loose}}}),
        ),
        (
            CHAT,
            json!({"model": "gpt-4.1", "messages": [user("Plan")], "tools": [{"type": "function", "function": strict}],
            "parallel_tool_calls": false, "tool_choice": "auto", "response_format": {"type": "json_schema",
            "json_schema": {"name": "trip", "schema": schema, "strict": true}}}),
        ),
        (
            CHAT,
            json!({"model": "gpt-4.1", "user": "u1", "metadata": {"a": "b"}, "service_tier": "flex", "logprobs": true, "top_logprobs": 2, "presence_penalty": 0.1,
            "messages": [user("Find"), {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"}], "tools": [{"type": "function", "function": function}]}),
        ),
        (
            CHAT,
            json!({"model": "gpt-4.1", "n": 1, "messages": [{"role": "user", "name": "bob", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            user("c"), {"role": "assistant", "content": "d", "refusal": null}, user("e")]}),
        ),
        (
            CHAT,
            json!({"model": "gpt-4.1", "messages": [user("Hi")], "tools": [{"type": "custom", "custom": {"name": "patch", "description": "p"}}]}),
        ),
        (
            CHAT,
            json!({"model": "o3", "reasoning_effort": "high", "verbosity": "low", "messages": [user("Hi")], "prediction": {"type": "content", "content": "x"}}),
        ),
    ]
}

fn of_responses() -> Vec<(&'static str, Value)> {
    let schema = strict_schema();
    let loose = loose_schema();
    vec![
        (RESPONSES, json!({"model": "gpt-5.2", "input": "Hi"})),
        (
            RESPONSES,
            json!({"model": "gpt-5.2", "instructions": "Be brief", "input": [user("Hi")], "max_output_tokens": 50, "temperature": 0.2,
            "reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"], "store": false, "parallel_tool_calls": true, "tool_choice": "auto",
            "prompt_cache_key": "k", "truncation": "auto", "text": {"verbosity": "low"}}),
        ),
        (
            RESPONSES,
            json!({"model": "gpt-5.2", "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Plan"}]}],
            "text": {"format": {"type": "json_schema", "name": "trip", "schema": schema, "strict": true}}}),
        ),
        (
            RESPONSES,
            json!({"model": "gpt-5.2", "input": [user("Go"), {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Rome\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"}],
            "tools": [{"type": "function", "name": "weather", "description": "Looks", "parameters": loose, "strict": false}, {"type": "web_search"}]}),
        ),
        (
            RESPONSES,
            json!({"model": "gpt-5.2", "input": [user("Go"), {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "+a"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done"}],
            "tools": [{"type": "custom", "name": "apply_patch", "description": "Patches", "format": {"type": "grammar", "syntax": "lark", "definition": "start: \"a\""}},
             {"type": "function", "name": "weather", "parameters": schema, "strict": true}]}),
        ),
    ]
}

fn of_messages() -> Vec<(&'static str, Value)> {
    let schema = strict_schema();
    let loose = loose_schema();
    vec![
        (MESSAGES, json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [user("Hi")]})),
        (
            MESSAGES,
            json!({"model": "claude-sonnet-4-5", "max_tokens": 9000, "system": [{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}], "top_k": 5,
            "metadata": {"user_id": "u"}, "thinking": {"type": "enabled", "budget_tokens": 2000}, "messages": [user("Hi")],
            "tools": [{"name": "weather", "description": "Looks", "input_schema": loose}], "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
        ),
        (
            MESSAGES,
            json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [user("Go"),
            {"role": "assistant", "content": [{"type": "text", "text": "I look"}, {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "sunny"}]}, {"type": "text", "text": "and?"}]}],
            "tools": [{"name": "weather", "input_schema": loose}, {"type": "web_search_20250305", "name": "web_search"}]}),
        ),
        (
            MESSAGES,
            json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [user("Plan")], "output_format": {"type": "json_schema", "schema": schema}}),
        ),
    ]
}

fn of_gemini() -> Vec<(&'static str, Value)> {
    vec![
        (GEMINI, json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]})),
        (
            GEMINI,
            json!({"contents": [{"parts": [{"text": "Hi"}]}], "systemInstruction": {"parts": [{"text": "Be brief"}]}, "safetySettings": [{"category": "X", "threshold": "Y"}],
            "generationConfig": {"temperature": 0.5, "topK": 3, "maxOutputTokens": 40, "thinkingConfig": {"thinkingBudget": 100, "includeThoughts": true}}}),
        ),
        (
            GEMINI,
            json!({"contents": [{"role": "user", "parts": [{"text": "Plan"}]}], "generationConfig": {"responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}}}),
        ),
        (
            GEMINI,
            json!({"contents": [{"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Rome"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"result": "sunny"}}}]}],
            "tools": [{"functionDeclarations": [{"name": "weather", "description": "Looks", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
        ),
    ]
}

fn of_ollama() -> Vec<(&'static str, Value)> {
    let schema = strict_schema();
    let function = json!({"name": "weather", "description": "Looks", "parameters": loose_schema()});
    vec![
        (
            "/api/chat",
            json!({"model": "qwen3", "messages": [user("Hi")], "options": {"temperature": 0.1, "num_ctx": 4096, "num_predict": 10}, "keep_alive": "5m"}),
        ),
        (
            "/api/chat",
            json!({"model": "qwen3", "messages": [{"role": "system", "content": "Be brief"}, user("Hi")], "format": schema, "think": true,
            "tools": [{"type": "function", "function": function}]}),
        ),
        (
            "/api/generate",
            json!({"model": "qwen3", "prompt": "Hi", "system": "Be brief", "options": {"top_k": 4}, "raw": true}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_member_that_differs_from_the_captured_body_is_listed() {
    let all = [of_chat(), of_responses(), of_messages(), of_gemini(), of_ollama()];
    for (path, body) in all.into_iter().flatten() {
        let (listed, sent) = repeated(path, &body).await;
        let mut found = Vec::new();
        let mut body = body;
        // A text is as good as one message.
        if let Some(text) = body["input"].as_str() {
            body["input"] = json!([{"role": "user", "content": text}]);
        }
        differences("", &body, &sent, &mut found);
        // Reasoning is requested in a form that this program can send back, whatever the client does.
        found.retain(|path| path != ".include");
        if body.to_string().contains("\"custom\"") {
            assert!(!listed.contains("custom") && found.is_empty(), "{found:?}\n{listed}\nsent {sent}");
        }
        let unlisted: Vec<&String> = found.iter().filter(|path| !is_listed(path, &listed)).collect();
        assert!(unlisted.is_empty(), "{unlisted:?}\nof {body}\nsent {sent}\nlisted {listed}");
    }
}
