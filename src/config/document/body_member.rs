//! Members of requests that are not options of this program: they belong in `extra_body`.
//!
//! In: an unknown key and its value. Out: how to write them. It must never advise about a name that is not in the table.

use ptc_core::value::Json;

use super::to_inline;

/// Members that the services document and this program does not set.
const MEMBERS: [&str; 23] = [
    "enable_thinking",
    "frequency_penalty",
    "keep_alive",
    "logit_bias",
    "logprobs",
    "metadata",
    "min_p",
    "mirostat",
    "num_ctx",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "repetition_penalty",
    "safety_settings",
    "service_tier",
    "store",
    "thinking",
    "tool_choice",
    "top_a",
    "top_k",
    "top_logprobs",
    "verbosity",
];

/// Longest value that is repeated, in bytes.
const VALUE_MAX_BYTES: usize = 60;

/// Returns `; write …` for such a member in a table with the key `extra_body`.
pub(super) fn extra_body_advice(name: &str, value: &Json, known: &[&str]) -> Option<String> {
    if !known.contains(&"extra_body") || !MEMBERS.contains(&name) {
        return None;
    }
    let value = to_inline(value).filter(|value| value.len() <= VALUE_MAX_BYTES && !value.contains('\n'));
    Some(format!("; write `extra_body = {{ {name} = {} }}`", value.as_deref().unwrap_or("…")))
}
