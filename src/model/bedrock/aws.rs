//! Signatures and stream frames by the crates of the AWS SDK.
//!
//! In: a request with credentials; bytes of a stream. Out: the headers that authenticate the request; the events of the stream as JSON
//! texts, each `{"NAME": …}`, an exception as `{"error": …}`. It must never depend on where the bytes were cut.

use std::time::SystemTime;

use aws_credential_types::Credentials as Keys;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as sign_request};
use aws_sigv4::sign::v4;
use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_types::event_stream::Message;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::credentials::Credentials;
use crate::model::language::UnsignedRequest;
use crate::model::{ErrorClass, ModelError};

/// The name of the service in signatures.
const SERVICE: &str = "bedrock";
/// Largest frame; a server that sends more is not speaking this protocol.
const FRAME_MAX_BYTES: usize = 16 * 1024 * 1024;

/// Adds the headers that authenticate a request.
pub(super) fn sign(
    request: &UnsignedRequest<'_>,
    region: &str,
    credentials: &Credentials,
    headers: &mut HeaderMap,
) -> Result<(), ModelError> {
    match credentials {
        Credentials::Bearer(token) => {
            let value = HeaderValue::try_from(format!("Bearer {}", token.expose())).map_err(|_| {
                ModelError::new(ErrorClass::Auth, "AWS_BEARER_TOKEN_BEDROCK holds characters that cannot be sent")
            })?;
            insert_sensitive(headers, AUTHORIZATION, value);
            Ok(())
        }
        Credentials::Keys { id, secret, session } => {
            let session = session.as_ref().map(|session| session.expose().to_owned());
            let keys = Keys::new(id, secret.expose(), session, None, "ptc-workbench");
            sign_with(request, &Scope { region, service: SERVICE, time: SystemTime::now() }, keys, headers)
        }
    }
}

/// Scope of a signature.
struct Scope<'a> {
    region: &'a str,
    service: &'a str,
    time: SystemTime,
}

fn sign_with(
    request: &UnsignedRequest<'_>,
    scope: &Scope<'_>,
    keys: Keys,
    headers: &mut HeaderMap,
) -> Result<(), ModelError> {
    let unsigned = |why: &dyn std::fmt::Display| {
        ModelError::new(ErrorClass::Configuration, format!("the request cannot be signed: {why}"))
            .hint("check base_url and region of the provider")
    };
    let identity = keys.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(scope.region)
        .name(scope.service)
        .time(scope.time)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| unsigned(&error))?
        .into();
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(|value| ("content-type", value));
    let body = SignableBody::Bytes(request.body.as_bytes());
    let signable = SignableRequest::new(request.method, request.url.as_str(), kind.into_iter(), body)
        .map_err(|error| unsigned(&error))?;
    let (instructions, _) = sign_request(signable, &params).map_err(|error| unsigned(&error))?.into_parts();
    let signed: Vec<(HeaderName, HeaderValue)> = instructions
        .headers()
        .map(|(name, value)| Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?)))
        .collect::<Option<_>>()
        .ok_or_else(|| unsigned(&"a header holds characters that cannot be sent"))?;
    for (name, value) in signed {
        insert_sensitive(headers, name, value);
    }
    Ok(())
}

fn insert_sensitive(headers: &mut HeaderMap, name: HeaderName, mut value: HeaderValue) {
    value.set_sensitive(true);
    headers.insert(name, value);
}

/// The parser of a stream between two pieces.
#[derive(Debug, Default)]
pub(in crate::model) struct FrameReader {
    pending: Vec<u8>,
    decoder: MessageFrameDecoder,
}

impl FrameReader {
    /// Takes a piece of the stream; returns the events that became complete. Errors complete a sentence about the stream.
    pub(in crate::model) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, String> {
        self.pending.extend_from_slice(bytes);
        let mut rest = self.pending.as_slice();
        let mut events = Vec::new();
        while let DecodedFrame::Complete(message) =
            self.decoder.decode_frame(&mut rest).map_err(|error| error.to_string())?
        {
            events.push(event(&message));
        }
        let used = self.pending.len() - rest.len();
        self.pending.drain(..used);
        if self.pending.len() > FRAME_MAX_BYTES {
            return Err("a frame that is too large".to_owned());
        }
        Ok(events)
    }
}

/// The JSON text of a message.
fn event(message: &Message) -> String {
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name)?;
        found.value().as_string().ok().map(|text| text.as_str().to_owned())
    };
    let payload = String::from_utf8_lossy(message.payload());
    let failed = |kind: Option<String>, words: String| json!({"error": {"type": kind, "message": words}}).to_string();
    match header(":message-type").as_deref() {
        Some("exception") => {
            let words = serde_json::from_str::<Value>(&payload).ok();
            let words = words.and_then(|words| Some(words.get("message")?.as_str()?.to_owned()));
            failed(header(":exception-type"), words.unwrap_or_else(|| payload.into_owned()))
        }
        Some("error") => failed(header(":error-code"), header(":error-message").unwrap_or_default()),
        _ => {
            let name = Value::from(header(":event-type").unwrap_or_default());
            format!("{{{name}:{payload}}}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use reqwest::Url;

    use super::*;

    /// 2015-08-30T12:36:00Z, the time of AWS's published examples.
    const THEN: Duration = Duration::from_mins(24_015_636);

    /// The signature of a request with the keys of AWS's published examples.
    fn signature(method: &'static str, url: &str, body: &str, kind: Option<&'static str>) -> String {
        let keys = Keys::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None, None, "test");
        let scope = Scope { region: "us-east-1", service: "service", time: UNIX_EPOCH + THEN };
        let url = Url::parse(url).unwrap();
        let mut headers = HeaderMap::new();
        headers.extend(kind.map(|kind| (CONTENT_TYPE, HeaderValue::from_static(kind))));
        sign_with(&UnsignedRequest { method, url: &url, body }, &scope, keys, &mut headers).unwrap();
        assert_eq!(headers["x-amz-date"], "20150830T123600Z");
        assert!(headers[AUTHORIZATION].is_sensitive());
        headers[AUTHORIZATION].to_str().unwrap().to_owned()
    }

    #[test]
    fn signatures_are_those_of_the_published_test_vectors() {
        let expected = |signed: &str, signature: &str| {
            format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders={signed}, \
                 Signature={signature}"
            )
        };
        let cases = [
            ("GET", "", None, "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "", None, "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "POST",
                "Param1=value1",
                Some("application/x-www-form-urlencoded"),
                "content-type;host;x-amz-date",
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
        ];
        for (method, body, kind, signed, known) in cases {
            let url = "https://example.amazonaws.com/";
            assert_eq!(signature(method, url, body, kind), expected(signed, known), "{method} {body}");
        }
    }

    #[test]
    fn a_token_of_a_session_is_signed_and_a_bearer_token_is_not() {
        use crate::model::secret::Secret;
        let url = Url::parse("https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1:0/converse").unwrap();
        let request = UnsignedRequest { method: "POST", url: &url, body: "{}" };
        let keys = Credentials::Keys {
            id: "AKIA".into(),
            secret: Secret::new("secret-key"),
            session: Some(Secret::new("session-token")),
        };
        let mut headers = HeaderMap::new();
        sign(&request, "us-east-1", &keys, &mut headers).unwrap();
        let authorization = headers[AUTHORIZATION].to_str().unwrap().to_owned();
        assert!(
            authorization
                .contains("/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token")
        );
        assert_eq!(headers["x-amz-security-token"], "session-token");
        assert!(!authorization.contains("secret-key"));
        let mut headers = HeaderMap::new();
        sign(&request, "us-east-1", &Credentials::Bearer(Secret::new("token")), &mut headers).unwrap();
        assert_eq!(headers[AUTHORIZATION], "Bearer token");
    }
}
