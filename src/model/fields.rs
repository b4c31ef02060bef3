//! Small pieces of JSON that the bodies of all protocols are made of.

use ptc_core::value::Json;
use ptc_core::value::json::Member;

/// The members of an object, in the order in which they were put.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(&'static str, Json)>);

impl Fields {
    /// One more member.
    #[must_use]
    pub(super) fn with(mut self, key: &'static str, value: impl Into<Json>) -> Self {
        self.0.push((key, value.into()));
        self
    }

    /// One more member, if there is a value for it.
    #[must_use]
    pub(super) fn maybe(self, key: &'static str, value: Option<Json>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// One more member that is a text, if there is one.
    #[must_use]
    pub(super) fn text(self, key: &'static str, text: Option<&str>) -> Self {
        self.maybe(key, text.map(Json::str))
    }

    /// One more member that is a list, unless the list is empty.
    #[must_use]
    pub(super) fn list(self, key: &'static str, items: Vec<Json>) -> Self {
        if items.is_empty() { self } else { self.with(key, Json::list(items)) }
    }

    /// The object, if it has members.
    pub(super) fn filled(self) -> Option<Json> {
        (!self.0.is_empty()).then(|| self.into())
    }
}

impl From<Fields> for Json {
    fn from(fields: Fields) -> Self {
        Self::object(fields.0)
    }
}

/// What each option is called in the bodies of the protocols.
const CALLED: [(&str, &[&str]); 6] = [
    ("temperature", &["temperature"]),
    ("max_tokens", &["max_tokens", "max_completion_tokens", "maxOutputTokens", "num_predict"]),
    ("top_p", &["top_p", "topP"]),
    ("stop", &["stop", "stop_sequences", "stopSequences"]),
    ("seed", &["seed"]),
    ("reasoning", &["reasoning_effort", "thinking", "thinkingConfig", "think"]),
];

/// Does a body carry the option of this name (those of [`Options`](crate::event::Options))?
pub fn carries(body: &Json, option: &str) -> bool {
    let called = CALLED.iter().find(|(name, _)| *name == option).map_or(&[][..], |(_, called)| called);
    // Two protocols keep them in a member of their own.
    let places = [Some(body), body.get("generationConfig"), body.get("options")];
    places.into_iter().flatten().any(|place| called.iter().any(|name| place.get(name).is_some()))
}

/// The body without one of its members, for the record.
pub(super) fn without(body: &Json, key: &str) -> Json {
    let members = body.members().unwrap_or_default().iter().filter(|member| member.key != key);
    Json::object(members.map(|Member { key, value, .. }| (key.clone(), value.clone())))
}
