//! Names of options in the bodies of all protocols.

use ptc_core::value::Json;

/// What each option is called in the bodies of the protocols.
const CALLED: [(&str, &[&str]); 6] = [
    ("temperature", &["temperature"]),
    ("max_tokens", &["max_tokens", "max_completion_tokens", "maxOutputTokens", "max_output_tokens", "num_predict"]),
    ("top_p", &["top_p", "topP"]),
    ("stop", &["stop", "stop_sequences", "stopSequences"]),
    ("seed", &["seed"]),
    ("reasoning", &["reasoning_effort", "thinking", "thinkingConfig", "think", "reasoning"]),
];

/// Does a body carry the option of this name (those of [`Options`](crate::event::Options))?
pub fn carries(body: &Json, option: &str) -> bool {
    let called = CALLED.iter().find(|(name, _)| *name == option).map_or(&[][..], |(_, called)| called);
    // Two protocols keep them in a member of their own.
    let places = [Some(body), body.get("generationConfig"), body.get("options")];
    places.into_iter().flatten().any(|place| called.iter().any(|name| place.get(name).is_some()))
}
