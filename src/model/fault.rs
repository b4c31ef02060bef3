//! Failures of a service: status, error body or error event → class, message, advice.
//!
//! In: the answer as it came. Out: a [`Failure`] with the service's own words, cut and without secrets.
//! It must never guess beyond the table below: an unknown word of a service stays in the message.

use ptc_core::text::cut;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use serde_json::Value;

use super::endpoint::shown;
use super::http::Target;
use super::outlet::{Failure, ServiceRefusal};
use super::retry_after::retry_after_ms;
use super::scrub::Scrub;
use super::{ErrorClass, ModelError};

/// Characters of the service's own message that are kept.
pub(super) const QUOTE_MAX_CHARS: usize = 500;

/// The failure of an answer with an error status. `now_ms` is Unix time in ms, for dates in Retry-After.
pub(super) fn of_status(
    target: &Target,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    scrub: &Scrub,
    now_ms: i64,
) -> Failure {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let body = scrub.text(&String::from_utf8_lossy(body));
    let service = ServiceError::read(&body);
    if (300..400).contains(&status) {
        return redirected(target, status, header(LOCATION.as_str())).into();
    }
    let class = class_of(Some(status), &service);
    let title = format!("{status} {}", status_title(status));
    let message = format!("{} answered {}{}", target.provider, title.trim_end(), service.after_colon(scrub));
    let mut error = ModelError::new(class, message);
    error.status = Some(status);
    error.hint = advice(class, Some(status), &service, target);
    Failure {
        error,
        retry_after_ms: retry_after_ms(header, &body, now_ms),
        refusal: Some(Box::new(ServiceRefusal { param: service.param, body: body.to_lowercase() })),
    }
}

/// The failure of an error inside an answer that had started with status 200. `body` holds a JSON text or plain words.
pub(super) fn of_event(target: &Target, body: &str, scrub: &Scrub) -> Failure {
    let body = scrub.text(body);
    let service = ServiceError::read(&body);
    let status = service.code.as_deref().and_then(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    let class = class_of(status, &service);
    let message = format!("{} reported an error inside its reply{}", target.provider, service.after_colon(scrub));
    let mut error = ModelError::new(class, message);
    error.status = status;
    error.hint = advice(class, status, &service, target);
    Failure {
        error,
        retry_after_ms: None,
        refusal: Some(Box::new(ServiceRefusal { param: service.param, body: body.to_lowercase() })),
    }
}

/// The service's own words in the body of an error, cut.
pub(super) fn text_of(body: &str) -> String {
    ServiceError::read(body).message.chars().take(QUOTE_MAX_CHARS).collect()
}

/// Returns the standard words of an HTTP status; empty for an unknown one.
pub(crate) fn status_title(status: u16) -> &'static str {
    StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason()).unwrap_or_default()
}

fn redirected(target: &Target, status: u16, location: Option<&str>) -> ModelError {
    let to = location.and_then(|text| target.url.join(text).ok()).map(|url| format!(" to {}", shown(&url)));
    let message = format!(
        "{} answered {status}: a redirect{}; it is not followed, because the key would be forwarded",
        target.provider,
        to.unwrap_or_default()
    );
    let mut error = ModelError::new(ErrorClass::Configuration, message)
        .hint("if you trust that address, write it as base_url (without /chat/completions)");
    error.status = Some(status);
    error
}

/// An error in the service's words, whatever shape it has.
#[derive(Debug, Default, PartialEq, Eq)]
struct ServiceError {
    message: String,
    code: Option<String>,
    kind: Option<String>,
    param: Option<String>,
}

impl ServiceError {
    /// Reads `{error: {message, type, code, param}}`, `{error: "…"}`, `{message}`, `{detail}`, a list of one of these, or words.
    fn read(body: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            return Self { message: plain(body), ..Self::default() };
        };
        let value = value.get(0).unwrap_or(&value);
        let inner = ["/error", "/response/error"].iter().filter_map(|path| value.pointer(path));
        let inner = inner.into_iter().find(|inner| !inner.is_null()).unwrap_or(value);
        let text = |key: &str| inner.get(key).and_then(word).or_else(|| value.get(key).and_then(word));
        let detail = value.get("detail");
        let issue = detail.and_then(|detail| detail.get(0));
        let mut message = match inner {
            Value::String(text) => Some(text.clone()),
            _ => text("message").or_else(|| text("detail")),
        }
        .or_else(|| issue?.get("msg").and_then(word))
        .unwrap_or_else(|| body.trim().to_owned());
        if let Some(upstream) = inner.pointer("/metadata/raw").and_then(word) {
            message = format!("{message}: {upstream}");
        }
        let place = issue.and_then(|issue| issue.get("loc")?.as_array()).map(|steps| {
            steps.iter().filter_map(Value::as_str).filter(|step| *step != "body").collect::<Vec<_>>().join(".")
        });
        Self {
            message,
            code: text("code"),
            kind: text("type").or_else(|| text("__type")).or_else(|| text("status")),
            param: text("param").or(place),
        }
    }

    /// `: message (code)`, cut, or nothing.
    fn after_colon(&self, scrub: &Scrub) -> String {
        let message = cut(&scrub.text(self.message.trim()), QUOTE_MAX_CHARS);
        let code = self.code.as_deref().or(self.kind.as_deref()).filter(|code| !message.contains(code));
        match (message.is_empty(), code) {
            (true, None) => String::new(),
            (true, Some(code)) => format!(": {code}"),
            (false, None) => format!(": {message}"),
            (false, Some(code)) => format!(": {message} ({code})"),
        }
    }

    fn names(&self, words: &[&str]) -> bool {
        [&self.code, &self.kind].into_iter().flatten().any(|name| {
            let name = name.to_lowercase();
            words.iter().any(|word| name.contains(word))
        })
    }

    fn is_context_length(&self) -> bool {
        const WORDS: [&str; 5] =
            ["context length", "prompt is too long", "context window", "input token count", "available context size"];
        let message = self.message.to_lowercase();
        self.names(&["context_length", "context_size"]) || WORDS.iter().any(|word| message.contains(word))
    }

    fn is_wrong_key(&self) -> bool {
        self.message.to_lowercase().contains("api key not valid")
    }
}

/// A string, or a number as text.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Words of a page or text: an HTML page has nothing worth quoting but its title.
fn plain(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    match (lower.find("<title>"), lower.find("</title>")) {
        (Some(start), Some(end)) if start < end => {
            format!("a web page titled {:?}", body.get(start + 7..end).unwrap_or_default().trim())
        }
        _ if lower.contains("<html") => "a web page".to_owned(),
        _ => body.trim().to_owned(),
    }
}

fn class_of(status: Option<u16>, service: &ServiceError) -> ErrorClass {
    if service.names(&["content_filter", "content_policy"]) {
        return ErrorClass::ContentFilter;
    }
    if service.names(&["insufficient_quota", "billing"]) {
        return ErrorClass::Client;
    }
    // Google answers 400 to a wrong key.
    if service.is_wrong_key() {
        return ErrorClass::Auth;
    }
    match status {
        Some(401 | 403) => ErrorClass::Auth,
        Some(404) => ErrorClass::NotFound,
        Some(408) => ErrorClass::Timeout,
        Some(429) => ErrorClass::RateLimit,
        // A conflict with another request passes, as an overload does.
        Some(409 | 500..) => ErrorClass::Server,
        Some(_) => ErrorClass::Client,
        None if service.names(&["overloaded", "unavailable"]) => ErrorClass::Server,
        None if service.names(&["rate_limit", "too_many", "resource_exhausted", "throttl"]) => ErrorClass::RateLimit,
        None if service.names(&["authentication", "permission", "invalid_api_key", "accessdenied"]) => ErrorClass::Auth,
        None if service.names(&["not_found"]) => ErrorClass::NotFound,
        None if service.names(&[
            "invalid",
            "validation",
            "context_length",
            "context_size",
            "unsupported",
            "too_large",
        ]) =>
        {
            ErrorClass::Client
        }
        None if service.names(&["timeout"]) => ErrorClass::Timeout,
        None => ErrorClass::Server,
    }
}

fn advice(class: ErrorClass, status: Option<u16>, service: &ServiceError, target: &Target) -> Option<String> {
    let text = match class {
        ErrorClass::Auth => match &target.key {
            Some((name, advice)) => format!("check the key in {name}; {advice}"),
            None => format!(
                "provider {} has no key: set api_key_env, api_key_file or api_key_command under [providers.{0}]",
                target.provider
            ),
        },
        ErrorClass::NotFound => format!(
            "check the model id {:?} and base_url; see what the server has with: curl {}",
            target.model, target.check_url
        ),
        ErrorClass::RateLimit => "wait a while, lower the number of parallel runs, or use another model".to_owned(),
        ErrorClass::Server => "the service has a problem; run again later".to_owned(),
        ErrorClass::ContentFilter => "change the prompt or use another model".to_owned(),
        ErrorClass::Client if service.is_context_length() => {
            "the prompt is too long for this model: shorten the context, or use a model with a larger one".to_owned()
        }
        ErrorClass::Client if service.names(&["insufficient_quota", "billing"]) || status == Some(402) => {
            "check the plan and the credit of your account at the provider".to_owned()
        }
        ErrorClass::Client => match &service.param {
            Some(param) => {
                format!("the service does not accept {param:?} as sent: change or remove it in model_options")
            }
            None => "see the message of the service; the request as sent is in the session".to_owned(),
        },
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests;
