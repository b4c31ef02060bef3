//! Tools that are HTTP requests: arguments fill the URL and the body, a part of the response is the result.
//!
//! In: a request with placeholders, and a call. Out: a value, or an error. Arguments cannot change the host or leave
//! the path; keys come from the environment and are removed from responses.

use std::fmt::Write as _;

use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value};

use super::mcp::ServerAccess;
use super::text::{parse_result, scrub_value};
use super::{Failure, Invocation};
use crate::config::TlsFiles;
use crate::model::{IncomingResponse, OutgoingRequest, Scrub, exchange, variables};
use crate::program::path;

/// Maximum bytes of an error response in a message.
const ERROR_BYTES: usize = 1_000;

/// A tool that sends a request per call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Http {
    /// GET, POST, …
    pub method: String,
    /// The URL; `{{name}}` after the host is replaced by an argument.
    pub url: String,
    /// Headers; `${NAME}` is replaced by an environment variable.
    pub headers: Vec<(String, String)>,
    /// The JSON body; a text that is only `{{name}}` is replaced by the argument's value.
    pub body: Option<Json>,
    /// Path of the result in the response.
    pub response_path: Option<String>,
    /// Limit `output_max_bytes`.
    pub output_max_bytes: u64,
}

impl Http {
    /// Describes everything that decides where a request goes and what it contains, for the user's consent.
    pub fn describe(&self) -> String {
        let mut text = format!("{} {}", self.method, self.url);
        for (name, value) in &self.headers {
            _ = write!(text, "\n  {name}: {value}");
        }
        if let Some(body) = &self.body {
            _ = write!(text, "\n  {}", body.to_text());
        }
        text
    }

    /// Returns whether the method is safe, that is, changes nothing on the server.
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// Returns the error of a URL: arguments are only allowed after the host.
    pub(super) fn check_url(url: &str) -> Option<String> {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let Some(rest) = rest else { return Some("must start with http:// or https://".to_owned()) };
        let host = rest.find(['/', '?', '#']).map_or(rest, |end| &rest[..end]);
        if host.is_empty() {
            return Some("names no host".to_owned());
        }
        if host.contains('@') {
            return Some("contains a user name or password; send them in a header with `${NAME}`".to_owned());
        }
        host.contains("{{").then(|| "has an argument in its host; write arguments after the host".to_owned())
    }

    /// Builds the request of one call. Fails on an invalid argument.
    fn request(&self, args: &Value, headers: Vec<(String, String)>) -> Result<OutgoingRequest, String> {
        let mut used = Vec::new();
        let mut url = fill(&self.url, args, &mut used, |text| percent_encode(&text))?;
        let path = url.split(['?', '#']).next().unwrap_or_default();
        if path.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("an argument would add `.` or `..` to the path".to_owned());
        }
        let body = match &self.body {
            Some(template) => Some(fill_body(template, args, &mut used)?),
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
                    _ = write!(url, "{mark}{}={}", percent_encode(name), percent_encode(&text_of(value)));
                }
                None
            }
            body => body,
        };
        Ok(OutgoingRequest {
            method: self.method.clone(),
            url,
            headers,
            body: body.map(|body| body.to_text()),
            answer_max_bytes: self.output_max_bytes,
            tls: TlsFiles::default(),
        })
    }
}

/// Sends the request of one call.
pub(super) async fn run(http: &Http, call: &Invocation<'_>, access: &ServerAccess) -> Result<Value, Failure> {
    let (headers, secrets) = variables::headers(&http.headers).map_err(Failure::from_message)?;
    let scrub = Scrub::new(secrets);
    let failure = |message: String| Failure::from_message(scrub.text(&message));
    let out = http.request(call.args, headers).map_err(failure)?;
    let out = OutgoingRequest { tls: access.tls(&out.url).clone(), ..out };
    let got = tokio::select! {
        biased;
        () = call.cancel.cancelled() => return Err(Failure::Cancelled),
        got = exchange(&out) => got.map_err(failure)?,
    };
    let IncomingResponse { status, redirect, body, .. } = got;
    let text = String::from_utf8_lossy(&body);
    if let Some(host) = redirect {
        return Err(failure(format!(
            "the server answered with status {status} and a redirect to {host}, which is not followed: keys would go there; write the new address into `url`"
        )));
    }
    if !(200..300).contains(&status) {
        let start: String = scrub.text(&text).chars().take(ERROR_BYTES).collect();
        return Err(failure(format!("the server answered with status {status}: {}", start.trim())));
    }
    if text.is_empty() {
        return Ok(Value::Nil);
    }
    let whole = if http.response_path.is_some() {
        let json = ptc_core::value::json::parse(&text);
        json.map(|json| json.to_value())
            .map_err(|error| failure(format!("the answer is not JSON: {}", error.message)))?
    } else {
        parse_result(&text, call.tool).map_err(|problem| failure(format!("the answer {problem}")))?
    };
    let part = http.response_path.as_ref().map(|place| path::at(&whole, place));
    if part.as_ref().is_some_and(Value::is_nil) {
        let place = http.response_path.as_deref().unwrap_or_default();
        let start: String = text.chars().take(ERROR_BYTES).collect();
        return Err(failure(format!("the answer has nothing at response_path = {place}: {start}")));
    }
    Ok(scrub_value(part.unwrap_or(whole), &scrub))
}

/// Replaces `{{name}}` in a text.
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

/// Returns the names of the placeholders of a text, in order; `None` if one is not closed.
pub(super) fn placeholders(text: &str) -> Option<Vec<&str>> {
    text.split("{{").skip(1).map(|part| Some(part.split_once("}}")?.0.trim())).collect()
}

/// Returns the texts of a body, those of its lists and objects included.
pub(super) fn texts_of(body: &Json) -> Vec<&str> {
    match &body.node {
        Node::Str(text) => vec![text.as_str()],
        Node::List(items) => items.iter().flat_map(texts_of).collect(),
        Node::Object(members) => members.iter().flat_map(|member| texts_of(&member.value)).collect(),
        _ => Vec::new(),
    }
}

/// Returns an argument and marks it as used; `None` when it is absent or nil.
fn argument<'v>(name: &str, args: &'v Value, used: &mut Vec<String>) -> Option<&'v Value> {
    let map = args.as_map()?;
    let is_same = |key: &&Value| key.as_str().is_some_and(|key| key.replace('-', "_") == name.replace('-', "_"));
    let (key, value) = map.iter().find(|(key, _)| is_same(key))?;
    used.extend(key.as_str().map(ToOwned::to_owned));
    (!value.is_nil()).then_some(value)
}

/// Fills the placeholders of the body; members with absent arguments are omitted.
fn fill_body(template: &Json, args: &Value, used: &mut Vec<String>) -> Result<Json, String> {
    match &template.node {
        Node::Str(text) => match placeholder_name(text) {
            Some(name) => Ok(argument(name, args, used).map(Json::from).unwrap_or_default()),
            None => fill(text, args, used, |text| text).map(Json::str),
        },
        Node::List(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| fill_body(item, args, used)).collect();
            items.map(Json::list)
        }
        Node::Object(members) => {
            let mut filled = Vec::new();
            for member in members {
                let value = fill_body(&member.value, args, used)?;
                let is_absent = value.node == Node::Null && member.value.as_str().and_then(placeholder_name).is_some();
                if !is_absent {
                    filled.push((member.key.clone(), value));
                }
            }
            Ok(Json::object(filled))
        }
        _ => Ok(template.clone()),
    }
}

/// Returns the name in a text that is only `{{name}}`.
fn placeholder_name(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    (!name.contains(['{', '}'])).then_some(name)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| Json::from(value).to_text(), ToOwned::to_owned)
}

/// Percent-encodes everything but letters, digits and `-_.~`.
fn percent_encode(text: &str) -> String {
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
    fn arguments_follow_the_host_and_unused_ones_become_the_query_or_body() {
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
    fn an_argument_cannot_leave_the_path() {
        for id in ["..", "."] {
            let refused = sent("GET", "https://h.example/items/{{id}}/x", None, &format!(r#"{{"id":"{id}"}}"#));
            assert!(refused.unwrap_err().contains("to the path"));
        }
        assert_eq!(sent("GET", "https://h.example/{{id}}", None, "{}").unwrap_err(), "the argument `id` is missing");
        for (url, failure) in [
            ("https://{{host}}/x", "in its host"),
            ("https://a{{b}}.example", "in its host"),
            ("ftp://x", "must start"),
            ("https:///x", "names no host"),
            ("https://me:pw@h.example/", "password"),
        ] {
            assert!(Http::check_url(url).unwrap().contains(failure), "{url}");
        }
        assert_eq!(Http::check_url("https://h.example/{{id}}?q={{q}}"), None);
    }
}
