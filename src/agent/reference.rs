//! Everything that can be written into an agent file, for the page of it.
//!
//! In: the tables that read files. Out: tables of keys, in the order of the page. It must never contain more than the tables.

use super::{fields, keys, settings};
use crate::config::OPTIONS;
use crate::config::document::{KeyTable, key_table};

/// The tables of an agent file, those of tools apart: its keys first, then the options of modes, then the tables among both.
pub fn reference() -> Vec<KeyTable> {
    let table = |lines| KeyTable { title: String::new(), lines };
    let fields = keys::all().filter(|key| matches!(key.value, keys::KeyValue::Field { .. }));
    let fields = table(fields.map(keys::AgentKey::line).collect());
    let options = table(keys::options().map(|(key, _)| key.line()).collect());
    let parts = [key_table("[system_prompt]", fields::SYSTEM_PROMPT), key_table("[model_options]", OPTIONS)];
    [fields, options].into_iter().chain(parts).chain(settings::tables()).collect()
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json::Node;

    use super::*;
    use crate::agent::Agent;

    #[test]
    fn what_counts_without_a_key_is_what_an_agent_without_it_has() {
        let agent = Agent::default();
        for key in keys::all() {
            let keys::KeyValue::Field { write, .. } = key.value else { continue };
            let documented = key.line().usual;
            let has = match write(&agent).map(|json| json.node) {
                Some(Node::Str(text)) => text.clone(),
                Some(Node::Int(int)) => int.to_string(),
                _ => continue,
            };
            assert!(documented == has || key.name == "name", "{}: documented {documented:?}, is {has:?}", key.name);
        }
    }
}
