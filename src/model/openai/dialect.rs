//! What a server of this protocol is known to accept. It starts with the best guess and only ever asks for less.
//!
//! In: a refusal in the server's words. Out: the next, humbler way to ask, and how to say so to a person.
//! It must never step back for a refusal that is about something else.

use crate::event::StructuredBy;
use crate::model::StructuredOutput;
use crate::model::outlet::Refused;

/// How the limit of output tokens is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokensKey {
    /// The older name; nearly every compatible server knows it.
    MaxTokens,
    /// The newer name; newer models of the service itself accept only it.
    MaxCompletionTokens,
}

impl TokensKey {
    /// The parameter's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// What is asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// How a schema travels.
    pub(super) structured: StructuredBy,
    /// How the limit of output tokens is called.
    pub(super) tokens: TokensKey,
    /// Ask for token counts at the end of a stream.
    pub(super) stream_usage: bool,
}

/// What of the dialect a request made use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    /// It carried a schema and the setting leaves the way open.
    pub(super) structured: bool,
    /// It limited its output.
    pub(super) tokens: bool,
    /// It was streamed.
    pub(super) stream: bool,
}

impl Dialect {
    /// The first guess for a setting and a host.
    pub(super) fn first(setting: StructuredOutput, host: Option<&str>) -> Self {
        Self {
            structured: match setting {
                StructuredOutput::Auto => StructuredBy::JsonSchema,
                StructuredOutput::Fixed(way) => way,
            },
            tokens: if host == Some("api.openai.com") { TokensKey::MaxCompletionTokens } else { TokensKey::MaxTokens },
            stream_usage: true,
        }
    }

    /// What to ask for instead after a refusal, and what changed in words; `None` when the refusal is about something else.
    pub(super) fn concede(self, status: u16, refused: &Refused, used: Used) -> Option<(Self, String)> {
        if !matches!(status, 400 | 404 | 422 | 501) {
            return None;
        }
        if used.tokens && self.tokens == TokensKey::MaxTokens && refused.body.contains("max_completion_tokens") {
            let next = Self { tokens: TokensKey::MaxCompletionTokens, ..self };
            return Some((next, "refuses max_tokens; using max_completion_tokens".to_owned()));
        }
        if used.stream && self.stream_usage && is_about(refused, &["stream_options", "include_usage"]) {
            let next = Self { stream_usage: false, ..self };
            return Some((next, "refuses stream_options; asking for no token counts".to_owned()));
        }
        let step = match self.structured {
            // The forced tool is used only when the setting names it: servers that refuse a schema often ignore the force.
            StructuredBy::JsonSchema | StructuredBy::Tool => StructuredBy::JsonObject,
            StructuredBy::JsonObject => StructuredBy::Prompt,
            StructuredBy::Prompt => return None,
        };
        let refuses_structure = is_about(refused, &STRUCTURE) || (refused.param.is_none() && is_vague(status, refused));
        (used.structured && refuses_structure).then(|| {
            let words = format!("refuses structured output by {}; using {}", self.structured.name(), step.name());
            (Self { structured: step, ..self }, words)
        })
    }
}

/// Words by which servers name what this program calls structured output.
const STRUCTURE: [&str; 8] = [
    "response_format",
    "response format",
    "json_schema",
    "json schema",
    "json_object",
    "json mode",
    "structured",
    "grammar",
];

/// A named parameter decides alone; otherwise the words of the answer do.
fn is_about(refused: &Refused, words: &[&str]) -> bool {
    let place = refused.param.as_deref().unwrap_or(&refused.body);
    words.iter().any(|word| place.contains(word))
}

/// Something is refused, but the server does not say what.
fn is_vague(status: u16, refused: &Refused) -> bool {
    let unsupported = ["unsupported", "not supported", "does not support", "extra inputs", "unknown field"];
    status == 422 || (status != 404 && unsupported.iter().any(|word| refused.body.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USED: Used = Used { structured: true, tokens: true, stream: true };

    fn start() -> Dialect {
        Dialect::first(StructuredOutput::Auto, Some("127.0.0.1"))
    }

    fn next(from: Dialect, status: u16, param: Option<&str>, body: &str) -> Option<Dialect> {
        let refused = Refused { param: param.map(str::to_owned), body: body.to_lowercase() };
        from.concede(status, &refused, USED).map(|(next, _)| next)
    }

    #[test]
    fn a_refused_schema_steps_down_to_the_prompt_and_no_further() {
        let second = next(start(), 400, None, "response_format: json_schema is not available").unwrap();
        assert_eq!(second.structured, StructuredBy::JsonObject);
        let third = next(second, 400, Some("response_format"), "Invalid").unwrap();
        assert_eq!(third.structured, StructuredBy::Prompt);
        assert_eq!(next(third, 400, Some("response_format"), "Invalid"), None);
    }

    #[test]
    fn refusals_are_told_apart() {
        let structured = |by| Some(Dialect { structured: by, ..start() });
        let down = structured(StructuredBy::JsonObject);
        let cases = [
            (400, None, "JSON mode is not supported with this model", down),
            (400, None, "failed to parse grammar", down),
            (400, None, "this is unsupported", down),
            (422, None, "Unprocessable Entity", down),
            (422, Some("response_format.type"), "Input should be 'text'", down),
            (501, None, "structured output not implemented", down),
            (404, None, "the model `x` does not exist; it is not supported", None),
            (400, Some("temperature"), "Unsupported value; response_format is fine", None),
            (422, Some("stop"), "Input should be a list", None),
            (400, None, "This model's maximum context length is 8192 tokens", None),
            (500, None, "response_format crashed", None),
            (429, None, "unsupported", None),
            (
                400,
                Some("max_tokens"),
                "'max_tokens' is unsupported, use 'max_completion_tokens' instead",
                Some(Dialect { tokens: TokensKey::MaxCompletionTokens, ..start() }),
            ),
            (
                400,
                None,
                "stream_options: Extra inputs are not permitted",
                Some(Dialect { stream_usage: false, ..start() }),
            ),
        ];
        for (status, param, body, expected) in cases {
            assert_eq!(next(start(), status, param, body), expected, "{status} {param:?} {body}");
        }
    }

    #[test]
    fn what_was_not_used_is_not_conceded() {
        let refused = Refused { param: None, body: "response_format is not supported".into() };
        let used = Used { structured: false, tokens: false, stream: false };
        assert_eq!(start().concede(400, &refused, used), None);
    }
}
