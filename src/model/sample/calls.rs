//! Tools that the model `sample` has not called yet, and the arguments that it gives them.
//!
//! In: a request. Out: names, sample arguments, native calls. Earlier calls are known from the history alone.

use ptc_core::signature::{self, json_schema};
use ptc_core::value::Json;

use super::shape::{with_wrong_first, without_first};
use super::{Fault, Made};
use crate::event::{NativeCall, Role, ToolSchema};
use crate::model::{Content, Request};

/// The tool that runs programs.
pub(super) const RUN: &str = "lisp_eval";

/// Returns whether the request offers the tool that runs programs.
pub(super) fn offers_programs(request: &Request) -> bool {
    request.tools.iter().any(|tool| tool.name == RUN)
}

/// Returns whether a tool of this name was called natively.
pub(super) fn was_called(request: &Request, name: &str) -> bool {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.into_iter().any(|part| matches!(part, Content::Call(call) if call.name == name))
}

/// The native tools that were not called yet.
pub(super) fn open_tools(request: &Request) -> Vec<&ToolSchema> {
    request.tools.iter().filter(|tool| tool.name != RUN && !was_called(request, &tool.name)).collect()
}

/// The tools that no program called yet.
pub(super) fn open_in_programs(request: &Request) -> Vec<&str> {
    let called = |name: &str| message_texts(request).any(|text| holds_word(&text, &format!("tool/{name}")));
    request.tool_names.iter().map(String::as_str).filter(|name| !called(name)).collect()
}

/// The next tool that no control object called yet. A history that was shortened forgets calls, so that turns count as well.
pub(super) fn open_in_control(request: &Request) -> Option<&str> {
    let called = |name: &str| was_called(request, name) || message_texts(request).any(|text| holds_word(&text, name));
    let in_time = request.turn() as usize <= request.tool_names.len() + 1;
    request.tool_names.iter().map(String::as_str).find(|name| !called(name)).filter(|_| in_time)
}

/// The model's messages and the tools' results.
fn message_texts(request: &Request) -> impl Iterator<Item = String> {
    let by_model = request.messages.iter().filter(|message| matches!(message.role, Role::Assistant | Role::Tool));
    by_model.map(|message| {
        let named = message.parts.iter().map(|part| match part {
            Content::Result { name, .. } => format!("{name} "),
            _ => String::new(),
        });
        named.collect::<String>() + &message.joined()
    })
}

/// Returns whether the text contains the name, not as a part of a longer one.
fn holds_word(text: &str, word: &str) -> bool {
    let part_of_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '?' | '!'));
    text.match_indices(word).any(|(at, _)| {
        let (before, behind) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !part_of_name(before) && !part_of_name(behind)
    })
}

/// Sample arguments for a tool named in `tool_names`: an object with a value for each parameter that is known.
pub(super) fn args(request: &Request, name: &str, seed: u64) -> Json {
    let written = request.tool_signatures.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    let params = written.and_then(|text| signature::parse(text).ok()?.params);
    let native = request.tools.iter().find(|tool| tool.name == name).map(|tool| native_args(tool, seed));
    params.map(|params| signature::sample_inputs(&params, seed)).or(native).unwrap_or_else(nothing)
}

fn native_args(tool: &ToolSchema, seed: u64) -> Json {
    let read = json_schema::from_json_schema(&tool.parameters.json()).ok();
    let made = read.map(|ty| signature::sample(&ty, seed, "")).filter(|json| json.members().is_some());
    made.unwrap_or_else(nothing)
}

fn nothing() -> Json {
    Json::empty()
}

/// A reply that calls these native tools, with the fault in its arguments.
pub(super) fn native(tools: &[&ToolSchema], seed: u64, fault: Option<Fault>) -> Made {
    let mut made = Made::default();
    for tool in tools {
        let args = native_args(tool, seed);
        let mut call = |args: String| made.calls.push(NativeCall { id: String::new(), name: tool.name.clone(), args });
        match fault {
            Some(Fault::BadJson) => call("{\"broken\" ]: ,,,".to_owned()),
            Some(Fault::MissingField) => call(without_first(&args).to_text()),
            Some(Fault::WrongType) => call(with_wrong_first(&args).to_text()),
            Some(Fault::TwoBlocks) => {
                call(without_first(&args).to_text());
                call(args.to_text());
            }
            _ => call(args.to_text()),
        }
    }
    if fault == Some(Fault::Prose) {
        made.text.push_str("I look that up first.");
    }
    numbered(made)
}

/// A reply that runs a program natively.
pub(super) fn program(source: &str) -> Made {
    let args = Json::empty().with("program", Json::str(source)).to_text();
    let call = NativeCall { id: String::new(), name: RUN.to_owned(), args };
    numbered(Made { calls: vec![call], ..Made::default() })
}

fn numbered(mut made: Made) -> Made {
    for (place, call) in made.calls.iter_mut().enumerate() {
        call.id = format!("tc_{}", place + 1);
    }
    made
}
