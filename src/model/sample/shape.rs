//! The shapes of a reply of `sample`: JSON, a program, a control object, text; each with what a fault means in it.

use std::fmt::Write as _;

use ptc_core::signature::{self, Type, json_schema};
use ptc_core::value::{Json, json::Node};

use super::calls::RUN;
use super::calls::{args, native, offers_programs, open_in_control, open_in_programs, open_tools, program, was_called};
use super::{Fault, Made};
use crate::model::{Request, Want};

/// The text around an answer in a reply without structure.
const BEFORE: &str = "Here is {what} you asked for:";
const AFTER: &str = "Anything else?";

/// The reply to a request.
pub(super) fn reply(request: &Request, seed: u64, fault: Option<Fault>) -> Made {
    if request.want != Want::ControlJson {
        let open = open_tools(request);
        if !open.is_empty() {
            return native(&open, seed, fault);
        }
        let runs = offers_programs(request);
        if runs && (request.want == Want::Program || !was_called(request, RUN)) {
            return program(&source(request, seed, fault));
        }
    }
    Made { text: text(request, seed, fault), ..Made::default() }
}

/// The reply as text.
fn text(request: &Request, seed: u64, fault: Option<Fault>) -> String {
    let whole = reply_text(request, seed, None);
    match (fault, request.want) {
        (Some(Fault::BadJson), Want::Program) => fenced("clojure", "(return {:broken ]"),
        (Some(Fault::BadJson), _) => "{\"answer\" ]: ,,, {{ broken on purpose".to_owned(),
        (Some(Fault::Prose), _) => format!("{BEFORE}\n\n{whole}\n\n{AFTER}"),
        (Some(Fault::TwoBlocks), want) => {
            let tag = match want {
                Want::Program => "",
                Want::Json | Want::ControlJson => "json",
                Want::Text => "text",
            };
            let block = |text: String| if tag.is_empty() { text } else { fenced(tag, &text) };
            let draft = block(reply_text(request, seed, Some(Fault::MissingField)));
            format!("A draft:\n{draft}The answer:\n{}", block(whole))
        }
        (Some(Fault::MissingField | Fault::WrongType), _) => reply_text(request, seed, fault),
        _ => whole,
    }
}

/// The reply, with a fault in the answer itself.
fn reply_text(request: &Request, seed: u64, fault: Option<Fault>) -> String {
    match request.want {
        Want::Json => faulty(&wrapped(request, seed), fault).to_text(),
        Want::Program => fenced("clojure", &source(request, seed, fault)),
        Want::ControlJson => control(request, seed, fault).to_text(),
        Want::Text => match fault {
            Some(Fault::MissingField) => String::new(),
            Some(Fault::WrongType) => Json::list([sentence(seed)]).to_text(),
            _ => sentence(seed).as_str().unwrap_or_default().to_owned(),
        },
    }
}

fn fenced(tag: &str, text: &str) -> String {
    format!("```{tag}\n{text}\n```\n")
}

fn sentence(seed: u64) -> Json {
    signature::sample(&Type::String, seed, "answer")
}

fn faulty(answer: &Json, fault: Option<Fault>) -> Json {
    match fault {
        Some(Fault::MissingField) => without_first(answer),
        Some(Fault::WrongType) => with_wrong_first(answer),
        _ => answer.clone(),
    }
}

/// The output that the agent declares.
fn output(request: &Request) -> Option<Type> {
    request.signature.as_deref().and_then(|text| signature::parse_inputs(text).ok()?.output)
}

/// Valid data in the outer shape that the schema has.
fn wrapped(request: &Request, seed: u64) -> Json {
    match (output(request), &request.schema) {
        (Some(output), _) => json_schema::Wrap::of(&output).around(signature::sample(&output, seed, "")),
        (None, Some(schema)) => {
            json_schema::from_json_schema(schema).map_or_else(|_| Json::empty(), |ty| signature::sample(&ty, seed, ""))
        }
        (None, None) => Json::empty(),
    }
}

/// A program that calls each tool once and returns valid data.
fn source(request: &Request, seed: u64, fault: Option<Fault>) -> String {
    if fault == Some(Fault::BadJson) {
        return "(return {:broken ]".to_owned();
    }
    let output = output(request).unwrap_or(Type::String);
    let answer = if output == Type::String { sentence(seed) } else { signature::sample(&output, seed, "") };
    let open = if request.want == Want::Program { open_in_programs(request) } else { Vec::new() };
    let mut text = String::new();
    for name in open {
        _ = writeln!(text, "(tool/{name} {})", literal(&args(request, name, seed), &Type::Any));
    }
    _ = write!(text, "(return {})", literal(&faulty(&answer, fault), &output));
    text
}

/// A control object: the next tool, or the answer.
fn control(request: &Request, seed: u64, fault: Option<Fault>) -> Json {
    if let Some(name) = open_in_control(request) {
        let arguments = faulty(&args(request, name, seed), fault);
        let call = Json::empty().with("name", Json::str(name)).with("arguments", arguments);
        return thought(&format!("I call {name} first.")).with("tool_call", call);
    }
    let output = output(request).unwrap_or(Type::String);
    let answer = if output == Type::String { sentence(seed) } else { signature::sample(&output, seed, "") };
    let object = thought("Everything that is needed is known.");
    let is_gone = fault == Some(Fault::MissingField) && answer.members().is_none();
    if is_gone { object } else { object.with("final_answer", faulty(&answer, fault)) }
}

fn thought(text: &str) -> Json {
    Json::empty().with("thought", Json::str(text))
}

/// JSON as PTC-Lisp text: names as keywords, times read. Depth is bounded by the type the JSON was made for.
fn literal(json: &Json, ty: &Type) -> String {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    match (&json.node, ty.base()) {
        (Node::Str(text), Type::Datetime) => format!("(Instant/parse {})", json_string(text)),
        (Node::Str(text), Type::Keyword) if is_name(text) => format!(":{text}"),
        (Node::List(items), ty) => {
            let item = if let Type::List(item) = ty { item } else { &Type::Any };
            let items: Vec<String> = items.iter().map(|json| literal(json, item)).collect();
            format!("[{}]", items.join(" "))
        }
        (Node::Object(members), ty) => {
            let fields = if let Type::Record { fields, .. } = ty { fields.as_slice() } else { &[] };
            let member = |key: &str, value: &Json| {
                let field = fields.iter().find(|field| field.name == key).map_or(&Type::Any, |field| &field.ty);
                let key = if is_name(key) { format!(":{key}") } else { json_string(key) };
                format!("{key} {}", literal(value, field))
            };
            let members: Vec<String> = members.iter().map(|m| member(&m.key, &m.value)).collect();
            format!("{{{}}}", members.join(" "))
        }
        _ => json.to_value().to_string(),
    }
}

fn json_string(text: &str) -> String {
    ptc_core::value::Value::str(text).to_string()
}

/// The answer without its first field, or an empty object.
pub(super) fn without_first(answer: &Json) -> Json {
    let first = answer.members().and_then(<[_]>::first);
    first.map_or_else(Json::empty, |first| answer.clone().without(&first.key))
}

/// The answer with a first field that has another type.
pub(super) fn with_wrong_first(answer: &Json) -> Json {
    let wrong = |value: &Json| match &value.node {
        Node::List(_) | Node::Object(_) => Json::str("not what was asked for"),
        _ => Json::list([value.clone()]),
    };
    match answer.members().map(<[_]>::first) {
        None => wrong(answer),
        Some(None) => answer.clone(),
        Some(Some(first)) => answer.clone().with(&first.key, wrong(&first.value)),
    }
}
