//! Errors for messages that cannot be served.
//!
//! In: lines and messages that are not requests, requests that the library did not read. Out: errors with the id of the request, null where
//! it has none. It must never answer a reply or a notification.

use ptc_core::value::Json;
use ptc_core::value::json::{JsonError, Node};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CustomRequest, ErrorCode, GetPromptRequestParams, InitializeRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams,
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::serve::core_json;

/// An error reply as a line.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl Refusal {
    /// `id`: that of the request, null where it has none that can be read.
    fn new(id: &Json, error: &ErrorData) -> Self {
        let error = serde_json::to_string(error).unwrap_or_default();
        Self(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}\n", id.to_text()))
    }

    /// For a line that is not JSON text.
    pub(super) fn unreadable(message: String) -> Self {
        Self::new(&Json::default(), &ErrorData::parse_error(message, None))
    }

    /// For a line that was not read as JSON: it has an error in the syntax, or exceeds a limit of ours. `None`: it is a reply or a
    /// notification.
    pub(super) fn of_text(text: &str, error: &JsonError) -> Option<Self> {
        #[derive(Deserialize)]
        struct Head {
            id: Option<Value>,
            method: Option<IgnoredAny>,
        }
        match serde_json::from_str::<Head>(text) {
            // A reply or a notification.
            Ok(Head { method: None, .. } | Head { id: None, .. }) => None,
            Ok(Head { id, .. }) => {
                let id = id.and_then(|id| core_json(&id).ok()).filter(is_id).unwrap_or_default();
                Some(Self::new(&id, &ErrorData::invalid_request(error.to_string(), None)))
            }
            Err(_) => Some(Self::unreadable(error.to_string())),
        }
    }

    /// For a message that the library did not read. `None`: it is a reply or a notification.
    pub(super) fn of_message(message: &Json) -> Option<Self> {
        let has = |key: &str| message.get(key).is_some();
        let has_method = message.get("method").is_some_and(|method| method.as_str().is_some());
        let is_reply = !has("method") && (has("result") || has("error"));
        let is_notification = has_method && !has("id");
        if is_reply || is_notification {
            return None;
        }
        let id = message.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default();
        let is_request = has_method && message.get("jsonrpc").and_then(Json::as_str) == Some("2.0");
        let error = if is_request && matches!(id.node, Node::Int(_) | Node::Str(_)) {
            ErrorData::invalid_params("`params` is not an object, or it is nested too deeply", None)
        } else {
            let form = "not a request: `jsonrpc` \"2.0\", an `id` (string or 64-bit integer) and a `method` are needed";
            ErrorData::invalid_request(form, None)
        };
        Some(Self::new(&id, &error))
    }
}

fn is_id(json: &Json) -> bool {
    matches!(json.node, Node::Int(_) | Node::Big(_) | Node::Float(_) | Node::Str(_))
}

/// The error for a request that the library passes on as unknown: the params of a known method are wrong, or the method is unknown.
pub(super) fn of_custom(request: CustomRequest) -> ErrorData {
    let CustomRequest { method, params, .. } = request;
    let params = params.unwrap_or_else(|| json!({}));
    let misfit = match method.as_str() {
        "initialize" => misfit::<InitializeRequestParams>(params),
        "tools/call" => misfit::<CallToolRequestParams>(params),
        "resources/read" => misfit::<ReadResourceRequestParams>(params),
        "prompts/get" => misfit::<GetPromptRequestParams>(params),
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => {
            misfit::<PaginatedRequestParams>(params)
        }
        _ => return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
    };
    ErrorData::invalid_params(format!("the params of {method} do not fit{misfit}"), None)
}

/// Returns the reason why these are not the params of a method, after a colon; empty if there is none.
fn misfit<T: DeserializeOwned>(params: Value) -> String {
    serde_json::from_value::<T>(params).err().map(|error| format!(": {error}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_core::value::json::parse;

    /// The id as JSON text, and the code.
    fn read(refusal: &Refusal) -> (String, i64) {
        let reply = parse(&refusal.0).unwrap();
        let code = reply.at("error.code").unwrap().to_text();
        (reply.get("id").unwrap().to_text(), code.parse().unwrap())
    }

    #[test]
    fn errors_have_the_id_of_the_request_or_null() {
        let rows = [
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#, Some(("7", -32602))),
            (r#"{"id":"a","method":"ping"}"#, Some((r#""a""#, -32600))),
            (r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#, Some(("18446744073709551616", -32600))),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Some(("null", -32600))),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Some(("null", -32600))),
            (r#"{"jsonrpc":"2.0","method":1}"#, Some(("null", -32600))),
            ("[]", Some(("null", -32600))),
            ("1", Some(("null", -32600))),
            (r#"{"jsonrpc":"2.0","method":"notifications/x","params":[1]}"#, None),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, None),
        ];
        for (text, expected) in rows {
            let got = Refusal::of_message(&parse(text).unwrap()).as_ref().map(read);
            assert_eq!(got, expected.map(|(id, code)| (id.to_owned(), code)), "{text}");
        }
    }

    #[test]
    fn a_line_beyond_a_limit_keeps_its_id_and_one_that_is_no_json_has_none() {
        let long = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"ping","params":{{"n":1{}.0}}}}"#, "0".repeat(200));
        let reply = r#"{"jsonrpc":"2.0","id":5,"result":{}}"#;
        for (text, expected) in [("{", Some(("null", -32700))), (long.as_str(), Some(("3", -32600))), (reply, None)] {
            let error = JsonError { message: "it".to_owned(), offset: 0, incomplete: false };
            let got = Refusal::of_text(text, &error).as_ref().map(read);
            assert_eq!(got, expected.map(|(id, code)| (id.to_owned(), code)), "{text}");
        }
    }
}
