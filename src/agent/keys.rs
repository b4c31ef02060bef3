//! The keys of an agent file: one table of rows that read, check, document and write an agent's definition.
//!
//! In: entries of a TOML document. Out: an [`Agent`]. A row is a field of the agent ([`fields`](super::fields)) or an option of the modes
//! ([`options`](super::options)), which is kept as written and given its type by [`Settings`](super::Settings). Must not decide what a
//! value means for a run. The reference page is made of the same tables.

use ptc_core::value::Json;

use super::inline::Source;
use super::option_type::OptionType;
use super::{Agent, ambiguous, fields, keys, options, settings};
use crate::config::OPTIONS;
use crate::config::document::{Entry, KeyDoc, KeyLine, KeyTable, Problem, Problems, belongs_in, key_table};

/// The agent that is read into, and the source that `@file` and the files of agents are relative to.
pub(super) struct Target<'a> {
    pub(super) agent: Agent,
    pub(super) source: &'a Source,
}

/// One key of agent files.
pub(super) struct AgentKey {
    /// Its name.
    pub(super) name: &'static str,
    /// Its description in the reference.
    pub(super) about: KeyDoc,
    /// The destination of its value.
    pub(super) value: KeyValue,
}

/// Reads a value, replacing the previous one.
type ReadField = fn(&Entry<'_>, &mut Target<'_>, &mut Problems);

/// The destination of the value of a key.
pub(super) enum KeyValue {
    /// A field of the agent.
    Field {
        /// Reads it.
        read: ReadField,
        /// Its value in this agent; `None` when there is nothing to write.
        write: fn(&Agent) -> Option<Json>,
    },
    /// An option of the modes, kept as written.
    Option(OptionType),
}

/// Returns every key: fields first, then options, in the order they are written.
pub(super) fn all() -> impl Iterator<Item = &'static AgentKey> {
    fields::FIELDS.iter().chain(options::OPTIONS)
}

/// Returns whether a name is a key of agent files.
pub(crate) fn is_key(name: &str) -> bool {
    all().any(|key| key.name == name)
}

/// Returns the options with their types, in the order they are written.
pub(super) fn options() -> impl Iterator<Item = (&'static AgentKey, &'static OptionType)> {
    all().filter_map(|key| match &key.value {
        KeyValue::Option(kind) => Some((key, kind)),
        KeyValue::Field { .. } => None,
    })
}

/// Reads every key of a table into the agent, replacing previous values. All problems are added.
pub(super) fn apply(table: &Entry<'_>, target: &mut Target<'_>, problems: &mut Problems) {
    let Some(entries) = problems.take(table.entries()) else { return };
    for entry in &entries {
        if !target.source.is_complete() {
            ambiguous::check_key(entry, problems);
        }
        match all().find(|key| key.name == entry.key) {
            Some(AgentKey { value: KeyValue::Field { read, .. }, .. }) => read(entry, target, problems),
            Some(key @ AgentKey { value: KeyValue::Option(kind), .. }) => {
                if problems.take(kind.check(key.name, entry).and_then(|()| all_belong(entry))).is_some() {
                    target.agent.set_option(key, entry.json.clone());
                }
            }
            None => problems.push(entry.unknown(&all().map(|key| key.name).collect::<Vec<_>>())),
        }
    }
}

/// Refuses a key that belongs in another table. Unknown keys are findings of [`Settings`](super::Settings).
fn all_belong(option: &Entry<'_>) -> Result<(), Problem> {
    let members = if option.json.members().is_some() { option.entries()? } else { Vec::new() };
    let is_misplaced = |member: &&Entry<'_>| {
        !settings::may_have(option.key, member.key) && belongs_in(member.key, &(option.tables)()).is_some()
    };
    members.iter().find(is_misplaced).map_or(Ok(()), |member| Err(member.unknown(&[])))
}

/// Returns the fields of an agent that have a value to write, in order.
pub(super) fn written_fields(agent: &Agent) -> impl Iterator<Item = (&'static str, Json)> {
    all().filter_map(|key| match key.value {
        KeyValue::Field { write, .. } => Some((key.name, write(agent)?)),
        KeyValue::Option(_) => None,
    })
}

impl AgentKey {
    /// Returns its line in the reference.
    pub(super) fn line(&self) -> KeyLine {
        let line = self.about.line(self.name);
        match &self.value {
            KeyValue::Field { .. } => line,
            KeyValue::Option(kind) => kind.document(&line),
        }
    }
}

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
