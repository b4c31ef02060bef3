//! Replies that were written by hand instead of by a model: as typed text, and as JSON.
//!
//! In: a typed text, where a line `/call NAME {json}` is a tool call; or what an edit holds: a text, or an object of `text` and `calls`.
//! Out: the text and the calls of a reply, and both forms of it. Whether a call can be made is found out by the engine.

use ptc_core::text::in_one_line;
use ptc_core::value::Json;
use ptc_core::value::json::{self, to_json};
use serde::Serialize;

use super::{Finish, Reply, Request};
use crate::event::NativeCall;

/// Prefix of a line that calls a tool: `/call NAME {json}`.
pub const CALL: &str = "/call ";

/// A reply that was written by hand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManualReply {
    /// Its text.
    pub text: String,
    /// Its tool calls; those without an id get one from the engine.
    pub calls: Vec<NativeCall>,
}

#[derive(Serialize)]
struct ManualReplyJson<'a> {
    text: &'a str,
    calls: Vec<CallJson<'a>>,
}

#[derive(Serialize)]
struct CallJson<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    name: &'a str,
    args: Json,
}

impl ManualReply {
    /// A text without calls.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }

    /// Reads a typed text: the lines that begin with [`CALL`] are calls. Arguments are taken as typed.
    pub fn typed(typed: &str) -> Self {
        let (mut calls, mut text) = (Vec::new(), Vec::new());
        for line in typed.lines() {
            let Some(call) = line.trim_start().strip_prefix(CALL) else {
                text.push(line);
                continue;
            };
            let (name, args) = call.trim().split_once(char::is_whitespace).unwrap_or((call.trim(), "{}"));
            calls.push(NativeCall { id: String::new(), name: name.to_owned(), args: args.trim().to_owned() });
        }
        if calls.is_empty() { Self::text(typed) } else { Self { text: text.join("\n").trim().to_owned(), calls } }
    }

    /// It as one would type it: the text, and a line for each call.
    pub fn as_typed(&self) -> String {
        let one_line = |args: &str| match json::parse(args) {
            Ok(args) => args.to_text(),
            Err(_) => in_one_line(args),
        };
        let calls = self.calls.iter().map(|call| {
            let args = if call.args.contains('\n') { one_line(&call.args) } else { call.args.clone() };
            format!("{CALL}{} {args}", call.name)
        });
        let text = Some(self.text.clone()).filter(|text| !text.is_empty());
        text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
    }

    /// It as JSON: a text where it has no calls, else `{"text": …, "calls": [{"name": …, "args": …}, …]}`.
    pub fn to_json(&self) -> Json {
        if self.calls.is_empty() {
            return Json::str(self.text.as_str());
        }
        let calls = self.calls.iter().map(|call| CallJson { id: &call.id, name: &call.name, args: call.json_args() });
        to_json(&ManualReplyJson { text: &self.text, calls: calls.collect() })
    }

    /// Reads the form of [`ManualReply::to_json`]. Errors: what is wrong, and what it must be.
    pub fn of_json(json: &Json) -> Result<Self, String> {
        if let Some(text) = json.as_str() {
            return Ok(Self::text(text));
        }
        let members = json.members().ok_or_else(|| FORM.to_owned())?;
        if let Some(other) = members.iter().find(|member| !["text", "calls"].contains(&member.key.as_str())) {
            return Err(format!("unknown key `{}` in a reply: {FORM}", other.key));
        }
        let text = match json.get("text") {
            None => String::new(),
            Some(text) => text.as_str().ok_or_else(|| format!("`text` must be a string: {FORM}"))?.to_owned(),
        };
        let calls = match json.get("calls") {
            None => Vec::new(),
            Some(calls) => {
                let calls = calls.items().ok_or_else(|| format!("`calls` must be a list: {FORM}"))?;
                calls.iter().map(call_of).collect::<Result<_, _>>()?
            }
        };
        if text.is_empty() && calls.is_empty() {
            return Err(format!("this reply is empty: {FORM}"));
        }
        Ok(Self { text, calls })
    }
}

/// Form of a reply as JSON, for errors.
const FORM: &str = r#"write {"text": "…", "calls": [{"name": "TOOL", "args": {…}}]}, or a string in quotes"#;

fn call_of(json: &Json) -> Result<NativeCall, String> {
    let member = |name: &str| json.get(name);
    let plain = |value: &Json| value.as_str().map_or_else(|| value.to_text(), ToOwned::to_owned);
    let name = member("name").and_then(Json::as_str).ok_or_else(|| format!("a call needs its `name`: {FORM}"))?;
    Ok(NativeCall {
        id: member("id").map(plain).unwrap_or_default(),
        name: name.to_owned(),
        args: member("args").map_or_else(|| "{}".to_owned(), plain),
    })
}

/// The reply that the user typed to a request; calls are read where the request offers tools.
pub fn typed(request: &Request, text: String) -> Reply {
    let mut reply = if request.tools.is_empty() { ManualReply::text(text) } else { ManualReply::typed(&text) };
    for (place, call) in reply.calls.iter_mut().enumerate() {
        call.id = format!("tc_{}", place + 1);
    }
    Reply::from(reply)
}

impl From<ManualReply> for Reply {
    fn from(reply: ManualReply) -> Self {
        let finish = if reply.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        Self { finish: Some(finish), calls: reply.calls, ..Self::from(reply.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_the_word_are_calls() {
        let reply = ManualReply::typed("First this.\n/call search {\"q\": \"a b\"}\n  /call now\n");
        assert_eq!(reply.text, "First this.");
        let calls: Vec<_> = reply.calls.iter().map(ToString::to_string).collect();
        assert_eq!(calls, ["search {\"q\": \"a b\"}", "now {}"]);
        assert_eq!(ManualReply::typed("no /call here\n"), ManualReply::text("no /call here\n"));
    }

    #[test]
    fn a_reply_is_the_same_in_every_form() {
        for typed in ["Only words.\n", "First.\n/call search {\"q\":\"a b\"}\n/call now {}", "/call broken {\"q\": "] {
            let reply = ManualReply::typed(typed);
            assert_eq!(ManualReply::of_json(&reply.to_json()).as_ref(), Ok(&reply), "{typed}");
            assert_eq!(ManualReply::typed(&reply.as_typed()), reply, "{typed}");
        }
    }

    #[test]
    fn an_invalid_reply_is_an_error_with_an_example() {
        let wrong = |text: &str| ManualReply::of_json(&json::parse(text).unwrap()).unwrap_err();
        for text in ["3", "[]", "{}", r#"{"words": "x"}"#, r#"{"calls": 3}"#, r#"{"calls": [{"args": {}}]}"#] {
            assert!(wrong(text).contains("\"calls\": [{\"name\""), "{text}: {}", wrong(text));
        }
    }
}
