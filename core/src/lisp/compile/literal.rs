//! List, map and set literals.

use super::Compiler;
use super::expression::{Ex, code};
use crate::lisp::ir::Node;
use crate::value::{List, Map, Set, Value};

impl Compiler<'_> {
    pub(super) fn vector(&self, items: &[Node]) -> Ex {
        let items = self.all(items);
        if let Some(values) = constants(&items) {
            return Ex::Const(Value::from(values));
        }
        code(move |machine, slots, closed| {
            let mut list = List::nils(items.len());
            for (value, item) in list.iter_mut().zip(&items) {
                item.eval_into(machine, slots, closed, value)?;
            }
            Ok(Value::List(list.into()))
        })
    }

    pub(super) fn set(&self, members: &[Node]) -> Ex {
        let members = self.all(members);
        if let Some(values) = constants(&members) {
            return Ex::Const(Value::set(values));
        }
        code(move |machine, slots, closed| {
            let mut values = Vec::with_capacity(members.len());
            for member in &members {
                values.push(member.eval(machine, slots, closed)?);
            }
            Ok(Value::Set(values.into_iter().collect::<Set>().into()))
        })
    }

    pub(super) fn map(&self, entries: &[(Node, Node)]) -> Ex {
        let entries: Vec<(Ex, Ex)> = entries.iter().map(|(key, value)| (self.ex(key), self.ex(value))).collect();
        let mut keys: Vec<(Value, usize)> = Vec::with_capacity(entries.len());
        for (place, (key, _)) in entries.iter().enumerate() {
            let Ex::Const(key) = key else { return computed(entries) };
            keys.push((key.clone(), place));
        }
        keys.sort();
        if keys.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return computed(entries);
        }
        // The index of each value in the order of keys.
        let mut places = vec![0; keys.len()];
        for (sorted, (_, place)) in keys.iter().enumerate() {
            places[*place] = sorted;
        }
        let values: Vec<(usize, Ex)> = places.into_iter().zip(entries.into_iter().map(|(_, value)| value)).collect();
        let keys: Vec<Value> = keys.into_iter().map(|(key, _)| key).collect();
        code(move |machine, slots, closed| {
            let mut made: Vec<(Value, Value)> = keys.iter().map(|key| (key.clone(), Value::Nil)).collect();
            for (place, value) in &values {
                value.eval_into(machine, slots, closed, &mut made[*place].1)?;
            }
            Ok(Value::from(Map::from_sorted(made)))
        })
    }
}

/// A map with computed keys; of equal keys the last wins.
fn computed(entries: Vec<(Ex, Ex)>) -> Ex {
    code(move |machine, slots, closed| {
        let mut map = Map::default();
        for (key, value) in &entries {
            let key = key.eval(machine, slots, closed)?;
            let value = value.eval(machine, slots, closed)?;
            map.insert(key, value);
        }
        Ok(Value::from(map))
    })
}

fn constants(parts: &[Ex]) -> Option<Vec<Value>> {
    parts.iter().map(|part| if let Ex::Const(value) = part { Some(value.clone()) } else { None }).collect()
}
