//! Tokens of replies to non-chat requests: embeddings, legacy completions, images, transcriptions.
//!
//! In: the body of a reply. Out: its token counts, under the names of any service. It must never take the count of a text that was not
//! sent to a model (`count_tokens`) for tokens.

use ptc_core::value::Json;

use crate::event::Tokens;

/// Names of the input tokens, and of those of output.
const NAMES: [(&str, &str); 4] = [
    ("usage.prompt_tokens", "usage.completion_tokens"),
    ("usage.input_tokens", "usage.output_tokens"),
    ("usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount"),
    ("prompt_eval_count", "eval_count"),
];

/// Names of the sum, where a service counts nothing else.
const SUMS: [&str; 2] = ["usage.total_tokens", "usageMetadata.totalTokenCount"];

/// Returns the tokens that the body of a reply counts. A response of the Responses API, which is created or fetched by other requests, counts
/// there.
pub(super) fn counted_tokens(body: &Json) -> Option<Tokens> {
    if body.get("object").and_then(Json::as_str) == Some("response") {
        return None;
    }
    let count = |path: &str| body.at(path).and_then(|count| count.to_text().parse::<u64>().ok());
    let counted = NAMES.iter().find_map(|(input, output)| {
        let (input, output) = (count(input), count(output));
        (input.is_some() || output.is_some()).then(|| (input.unwrap_or_default(), output.unwrap_or_default()))
    });
    let (input, output) = counted.or_else(|| SUMS.iter().find_map(|sum| Some((count(sum)?, 0))))?;
    Some(Tokens { input, output, ..Tokens::default() })
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn tokens_are_counted_under_the_names_of_every_service() {
        for (body, expected) in [
            (r#"{"object":"list","usage":{"prompt_tokens":8,"total_tokens":8}}"#, Some((8, 0))),
            (r#"{"object":"text_completion","usage":{"prompt_tokens":8,"completion_tokens":2}}"#, Some((8, 2))),
            (r#"{"data":[],"usage":{"input_tokens":50,"output_tokens":40,"total_tokens":90}}"#, Some((50, 40))),
            (r#"{"data":[],"usage":{"total_tokens":7}}"#, Some((7, 0))),
            (r#"{"embedding":{},"usageMetadata":{"promptTokenCount":4}}"#, Some((4, 0))),
            (r#"{"embeddings":[[1]],"prompt_eval_count":6}"#, Some((6, 0))),
            (r#"{"object":"response","usage":{"input_tokens":5,"output_tokens":7}}"#, None),
            (r#"{"input_tokens":14}"#, None),
            (r#"{"totalTokens":31}"#, None),
            (r#"{"text":"hi","usage":{"type":"duration","seconds":3}}"#, None),
            (r#"{"usage":null}"#, None),
            ("[]", None),
        ] {
            let tokens = counted_tokens(&json::parse(body).unwrap()).map(|tokens| (tokens.input, tokens.output));
            assert_eq!(tokens, expected, "{body}");
        }
    }
}
