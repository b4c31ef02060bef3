//! Tools that are requests: arguments go into the address and the body, a part of the answer comes out.
//!
//! In: a request with places for arguments, and a call. Out: a value, or why there is none. An argument never changes the host or climbs
//! out of the path; keys come from the environment, and nothing that comes back holds one.

use std::fmt::Write as _;

use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value};

use super::text::{scrubbed, value_of};
use super::{Failure, Invocation};
use crate::model::{Incoming, Outgoing, Scrub, exchange, variables};
use crate::program::path;

/// Bytes of an error's body that a message shows.
const ERROR_BYTES: usize = 1_000;

/// A tool that sends a request for each call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Http {
    /// GET, POST, …
    pub method: String,
    /// The address; `{{name}}` behind the host stands for an argument.
    pub url: String,
    /// Headers; `${NAME}` stands for a variable of the environment.
    pub headers: Vec<(String, String)>,
    /// The JSON body; a text that is only `{{name}}` stands for the argument's value.
    pub body: Option<Json>,
    /// The part of the answer that is the result.
    pub response_path: Option<String>,
    /// Limit `output_max_bytes`.
    pub output_max_bytes: u64,
}

impl Http {
    /// What it is, in words for a person: everything that decides where a request goes and what it says.
    pub fn told(&self) -> String {
        let mut told = format!("{} {}", self.method, self.url);
        for (name, value) in &self.headers {
            _ = write!(told, "\n  {name}: {value}");
        }
        if let Some(body) = &self.body {
            _ = write!(told, "\n  {}", body.to_text());
        }
        told
    }

    /// Does a request change nothing at the server, by the meaning of its method?
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// What is wrong with the address, if anything: an argument may stand behind the host only.
    pub(super) fn check_url(url: &str) -> Option<String> {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let Some(rest) = rest else { return Some("must begin with http:// or https://".to_owned()) };
        let host = rest.find(['/', '?', '#']).map_or(rest, |end| &rest[..end]);
        if host.is_empty() {
            return Some("names no host".to_owned());
        }
        if host.contains('@') {
            return Some("holds a name and password; send them in a header with `${NAME}`".to_owned());
        }
        host.contains("{{").then(|| "has an argument in its host; arguments stand behind it".to_owned())
    }

    /// The request of one call. Errors: the argument that does not fit.
    fn request(&self, args: &Value, headers: Vec<(String, String)>) -> Result<Outgoing, String> {
        let mut used = Vec::new();
        let mut url = fill(&self.url, args, &mut used, |text| encoded(&text))?;
        let path = url.split(['?', '#']).next().unwrap_or_default();
        if path.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("an argument makes a step `.` or `..` of the path".to_owned());
        }
        let body = match &self.body {
            Some(template) => Some(filled_in(template, args, &mut used)?),
            None => None,
        };
        let given = args.as_map().into_iter().flat_map(|map| map.iter());
        let left: Vec<(String, &Value)> = given
            .filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value)))
            .filter(|(name, value)| !used.contains(name) && !value.is_nil())
            .collect();
        let takes_body = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        let body = match body {
            None if takes_body => {
                Some(Json::object(left.iter().map(|(name, value)| (name.clone(), Json::from(*value)))))
            }
            None => {
                for (name, value) in &left {
                    let mark = if url.contains('?') { '&' } else { '?' };
                    _ = write!(url, "{mark}{}={}", encoded(name), encoded(&text_of(value)));
                }
                None
            }
            body => body,
        };
        Ok(Outgoing {
            method: self.method.clone(),
            url,
            headers,
            body: body.map(|body| body.to_text()),
            answer_max_bytes: self.output_max_bytes,
        })
    }
}

/// Sends the request of one call.
pub(super) async fn run(http: &Http, call: &Invocation<'_>) -> Result<Value, Failure> {
    let (headers, secrets) = variables::headers(&http.headers).map_err(Failure::said)?;
    let scrub = Scrub::new(secrets);
    let said = |message: String| Failure::said(scrub.text(&message));
    let out = http.request(call.args, headers).map_err(said)?;
    let got = tokio::select! {
        biased;
        () = call.cancel.cancelled() => return Err(Failure::Cancelled),
        got = exchange(&out) => got.map_err(said)?,
    };
    let Incoming { status, redirect, body, .. } = got;
    let text = String::from_utf8_lossy(&body);
    if let Some(host) = redirect {
        return Err(said(format!(
            "the server answered with status {status} and a redirect to {host}, which is not followed: keys would go there; write the new address into `url`"
        )));
    }
    if !(200..300).contains(&status) {
        let start: String = scrub.text(&text).chars().take(ERROR_BYTES).collect();
        return Err(said(format!("the server answered with status {status}: {}", start.trim())));
    }
    if text.is_empty() {
        return Ok(Value::Nil);
    }
    let whole = if http.response_path.is_some() {
        let json = ptc_core::value::json::parse(&text);
        json.map(|json| json.to_value()).map_err(|error| said(format!("the answer is no JSON: {}", error.message)))?
    } else {
        value_of(&text, call.tool).map_err(|problem| said(format!("the answer {problem}")))?
    };
    let part = http.response_path.as_ref().map(|place| path::at(&whole, place));
    if part.as_ref().is_some_and(Value::is_nil) {
        let place = http.response_path.as_deref().unwrap_or_default();
        let start: String = text.chars().take(ERROR_BYTES).collect();
        return Err(said(format!("the answer has nothing at response_path = {place}: {start}")));
    }
    Ok(scrubbed(part.unwrap_or(whole), &scrub))
}

/// The text with `{{name}}` filled in.
fn fill(
    template: &str,
    args: &Value,
    used: &mut Vec<String>,
    form: impl Fn(String) -> String,
) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((name, after)) = behind.split_once("}}") else {
            return Err(format!("`{{{{` has no `}}}}` in {template:?}"));
        };
        let value =
            argument(name.trim(), args, used).ok_or_else(|| format!("the argument `{}` is missing", name.trim()))?;
        out.push_str(before);
        out.push_str(&form(text_of(value)));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The argument of a name, marked as used; `None` when it is absent or nil.
fn argument<'v>(name: &str, args: &'v Value, used: &mut Vec<String>) -> Option<&'v Value> {
    let map = args.as_map()?;
    let is_same = |key: &&Value| key.as_str().is_some_and(|key| key.replace('-', "_") == name.replace('-', "_"));
    let (key, value) = map.iter().find(|(key, _)| is_same(key))?;
    used.extend(key.as_str().map(ToOwned::to_owned));
    (!value.is_nil()).then_some(value)
}

/// The body with its places filled in; a member whose argument is absent is left out.
fn filled_in(template: &Json, args: &Value, used: &mut Vec<String>) -> Result<Json, String> {
    match &template.node {
        Node::Str(text) => match alone(text) {
            Some(name) => Ok(argument(name, args, used).map(Json::from).unwrap_or_default()),
            None => fill(text, args, used, |text| text).map(Json::str),
        },
        Node::List(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| filled_in(item, args, used)).collect();
            items.map(Json::list)
        }
        Node::Object(members) => {
            let mut filled = Vec::new();
            for member in members {
                let value = filled_in(&member.value, args, used)?;
                let is_absent = value.node == Node::Null && member.value.as_str().and_then(alone).is_some();
                if !is_absent {
                    filled.push((member.key.clone(), value));
                }
            }
            Ok(Json::object(filled))
        }
        _ => Ok(template.clone()),
    }
}

/// The name in a text that is only `{{name}}`.
fn alone(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    (!name.contains(['{', '}'])).then_some(name)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| Json::from(value).to_text(), ToOwned::to_owned)
}

/// The text as a part of an address: everything but letters, digits and `-_.~` is escaped.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn sent(method: &str, url: &str, body: Option<&str>, args: &str) -> Result<(String, Option<String>), String> {
        let body = body.map(|text| json::parse(text).unwrap());
        let http = Http { method: method.to_owned(), url: url.to_owned(), body, ..Http::default() };
        http.request(&json::parse(args).unwrap().to_value(), Vec::new()).map(|out| (out.url, out.body))
    }

    #[test]
    fn arguments_stand_behind_the_host_and_what_is_left_goes_along() {
        let args = r#"{"id":"a/b?c","q":"x y","none":null}"#;
        let url = "https://h.example/items/{{id}}";
        assert_eq!(
            sent("GET", url, None, args).unwrap(),
            ("https://h.example/items/a%2Fb%3Fc?q=x%20y".to_owned(), None)
        );
        let (at, body) = sent("POST", url, None, args).unwrap();
        assert_eq!((at.as_str(), body.as_deref()), ("https://h.example/items/a%2Fb%3Fc", Some(r#"{"q":"x y"}"#)));
        let template = r#"{"query":"{{q}}","text":"<{{q}}>","id":["{{id}}",1],"gone":"{{none}}"}"#;
        let (_, body) = sent("POST", "https://h.example/", Some(template), args).unwrap();
        assert_eq!(body.as_deref(), Some(r#"{"query":"x y","text":"<x y>","id":["a/b?c",1]}"#));
    }

    #[test]
    fn an_argument_climbs_nowhere() {
        for id in ["..", "."] {
            let refused = sent("GET", "https://h.example/items/{{id}}/x", None, &format!(r#"{{"id":"{id}"}}"#));
            assert!(refused.unwrap_err().contains("of the path"));
        }
        assert_eq!(sent("GET", "https://h.example/{{id}}", None, "{}").unwrap_err(), "the argument `id` is missing");
        for (url, said) in [
            ("https://{{host}}/x", "in its host"),
            ("https://a{{b}}.example", "in its host"),
            ("ftp://x", "must begin"),
            ("https:///x", "names no host"),
            ("https://me:pw@h.example/", "password"),
        ] {
            assert!(Http::check_url(url).unwrap().contains(said), "{url}");
        }
        assert_eq!(Http::check_url("https://h.example/{{id}}?q={{q}}"), None);
    }
}
