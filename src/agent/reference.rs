//! Everything that can be written into an agent file, for the page of it.
//!
//! In: the tables that read files. Out: tables of keys, in the order of the page. It must never contain more than the tables.

use super::{keys, settings};
use crate::config::OPTIONS;
use crate::config::document::{KeyTable, key_table};

/// The tables of an agent file, those of tools apart: its keys first, then the options of modes, then the tables among both.
pub fn reference() -> Vec<KeyTable> {
    let keys = KeyTable::of("", keys::ROWS.iter().map(|row| (row.name, row.about)));
    let parts = [key_table("[system_prompt]", keys::SYSTEM_PROMPT), key_table("[model_options]", OPTIONS)];
    let mut options = settings::tables();
    let tables = options.split_off(1);
    [keys].into_iter().chain(options).chain(parts).chain(tables).collect()
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json::Node;

    use super::*;
    use crate::agent::Agent;

    #[test]
    fn what_counts_without_a_key_is_what_an_agent_without_it_has() {
        let agent = Agent::default();
        for row in keys::ROWS {
            let said = row.about.line(row.name).usual;
            let has = match (row.write)(&agent).map(|json| json.node) {
                Some(Node::Str(text)) => text.clone(),
                Some(Node::Int(int)) => int.to_string(),
                _ => continue,
            };
            assert!(said == has || row.name == "name", "{}: {said:?} is said, and it is {has:?}", row.name);
        }
    }
}
