//! One key of a definition changed: what a fork edits.

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::{Agent, Diagnostic, Place, file};
use crate::config::document;

impl Agent {
    /// The agent with this key of its file set. A key inside a table is written with dots: `model_options.temperature`.
    ///
    /// Errors: the key does not exist, or the value does not fit it.
    pub fn with_key(&self, path: &str, value: Json) -> Result<Self, Vec<Diagnostic>> {
        let (key, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = if rest.is_empty() {
            value
        } else {
            let written = document::parse(&self.to_toml()).map_err(|problem| {
                vec![Diagnostic::error(Place::Options, Reason::InvalidAgent, problem.message).key(key)]
            })?;
            put(written.get(key).unwrap_or(&Json::default()), rest, value)
        };
        let mut agent = self.clone();
        match file::set(&mut agent, key, value) {
            found if found.is_empty() => Ok(agent),
            found => Err(found),
        }
    }
}

/// The tree with a value at this path; what is no table on the way becomes one. Paths are typed by hand: they are short.
fn put(tree: &Json, path: &str, value: Json) -> Json {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let old = tree.get(key).cloned();
    let new = if rest.is_empty() { value } else { put(&old.unwrap_or_default(), rest, value) };
    tree.clone().without(key).with(key, new)
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn keys_of_tables_are_set_and_others_stay() {
        let text = "prompt = \"Say\"\nmax_turns = 2\n[model_options]\nmax_tokens = 10\nseed = 1\n";
        let agent = Agent::from_toml(text, "a.toml").unwrap();
        let value = |text: &str| json::parse(text).unwrap();
        let changed = agent.with_key("model_options.max_tokens", value("20")).unwrap();
        assert_eq!((changed.model_options.max_tokens, changed.model_options.seed), (Some(20), Some(1)));
        let changed = agent.with_key("field_descriptions.y", value("\"why\"")).unwrap();
        assert_eq!(changed.field_descriptions, [("y".to_owned(), "why".to_owned())]);
        assert_eq!(agent.with_key("max_turns", value("5")).unwrap().max_turns, 5);
        assert!(agent.with_key("max_tuns", value("5")).unwrap_err()[0].message.contains("max_turns"));
        assert!(!agent.with_key("max_turns", value("\"many\"")).unwrap_err().is_empty());
    }
}
