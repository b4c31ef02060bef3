//! Definitions of programs so far, by run: the values that a memory change replaces.
//!
//! In: events in order. Out: old values in short. It must never hold more of a value than is shown.

use std::collections::HashMap;

use ptc_core::text::cut;

use crate::event::{Address, Envelope, Event};

/// Characters of a value that are kept.
const SHOWN: usize = 200;

/// Definitions of the runs of a session, by run and name.
#[derive(Debug, Clone, Default)]
pub struct Definitions(HashMap<Address, HashMap<String, String>>);

impl Definitions {
    /// The names that a run has defined so far, in order.
    pub fn names(&self, run: &Address) -> Vec<String> {
        let mut names: Vec<String> = self.0.get(run).into_iter().flat_map(HashMap::keys).cloned().collect();
        names.sort_unstable();
        names
    }

    /// Applies an event. For a memory change it returns the names that had a value before, each with that value in short.
    pub fn apply(&mut self, envelope: &Envelope) -> Vec<(String, String)> {
        match &envelope.event {
            Event::RunStart(start) => {
                // A conversation continues with earlier definitions.
                let earlier = start.continues.as_deref().map(Address::from);
                let known = earlier.and_then(|earlier| self.0.get(&earlier).cloned()).unwrap_or_default();
                self.0.insert(envelope.address.clone(), known);
                Vec::new()
            }
            Event::MemoryChange(change) => {
                let known = self.0.entry(envelope.run()).or_default();
                let names = change.set.iter().map(|(name, _)| name).chain(&change.del);
                let replaced = names.filter_map(|name| Some((name.clone(), known.get(name)?.clone()))).collect();
                if !change.rolled_back {
                    change.del.iter().for_each(|name| _ = known.remove(name));
                    let shown = change.set.iter().map(|(name, value)| (name.clone(), cut(value.text(), SHOWN)));
                    known.extend(shown);
                }
                replaced
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{MemoryChange, RunStart, TextRecord};

    #[test]
    fn a_change_knows_what_it_replaces_also_in_a_run_that_continues_another() {
        let mut known = Definitions::default();
        let mut change = |run: &str, set: &[(&str, &str)], del: &[&str], rolled_back: bool| {
            let set =
                set.iter().map(|(name, value)| ((*name).to_owned(), TextRecord::Whole((*value).to_owned()))).collect();
            let del = del.iter().map(|name| (*name).to_owned()).collect();
            let event = MemoryChange { set, del, rolled_back, ..MemoryChange::default() }.into();
            known.apply(&Envelope { seq: 1, at_ms: 0, address: Address::from(run).turn(1), event })
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(change("r0", &[("a", "1"), ("b", "2")], &[], false), []);
        assert_eq!(change("r0", &[("a", "9")], &[], true), [pair("a", "1")]);
        assert_eq!(change("r0", &[("a", "3")], &["b"], false), [pair("a", "1"), pair("b", "2")]);
        assert_eq!(change("r0/t2/c0", &[("a", "4")], &[], false), [], "an agent below has names of its own");
        let start = RunStart { continues: Some("r0".to_owned()), ..RunStart::default() };
        known.apply(&Envelope { seq: 1, at_ms: 0, address: Address::run(1), event: start.into() });
        let event = MemoryChange { del: vec!["a".to_owned()], ..MemoryChange::default() }.into();
        let later = Envelope { seq: 1, at_ms: 0, address: Address::run(1).turn(1), event };
        assert_eq!(known.apply(&later), [pair("a", "3")]);
    }
}
