//! List, map and set literals.

use super::Compiler;
use super::expression::{Expression, code};
use crate::lisp::ir::Node;
use crate::value::{List, Map, Set, Value};

impl Compiler<'_> {
    pub(super) fn vector(&self, items: &[Node]) -> Expression {
        let items = self.all(items);
        if let Some(values) = constants(&items) {
            return Expression::Const(Value::from(values));
        }
        code(move |machine, slots, closed| {
            let mut list = List::nils(items.len());
            for (value, item) in list.iter_mut().zip(&items) {
                item.eval_into(machine, slots, closed, value)?;
            }
            Ok(Value::List(list.into()))
        })
    }

    pub(super) fn set(&self, members: &[Node]) -> Expression {
        let members = self.all(members);
        if let Some(values) = constants(&members) {
            return Expression::Const(Value::set(values));
        }
        code(move |machine, slots, closed| {
            let mut values = Vec::with_capacity(members.len());
            for member in &members {
                values.push(member.eval(machine, slots, closed)?);
            }
            Ok(Value::Set(values.into_iter().collect::<Set>().into()))
        })
    }

    pub(super) fn map(&self, entries: &[(Node, Node)]) -> Expression {
        let entries: Vec<(Expression, Expression)> =
            entries.iter().map(|(key, value)| (self.ex(key), self.ex(value))).collect();
        let mut keys: Vec<(Value, usize)> = Vec::with_capacity(entries.len());
        for (position, (key, _)) in entries.iter().enumerate() {
            let Expression::Const(key) = key else { return computed(entries) };
            keys.push((key.clone(), position));
        }
        keys.sort();
        if keys.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return computed(entries);
        }
        // The index of each value in the order of keys.
        let mut places = vec![0; keys.len()];
        for (sorted, (_, position)) in keys.iter().enumerate() {
            places[*position] = sorted;
        }
        let values: Vec<(usize, Expression)> =
            places.into_iter().zip(entries.into_iter().map(|(_, value)| value)).collect();
        let keys: Vec<Value> = keys.into_iter().map(|(key, _)| key).collect();
        code(move |machine, slots, closed| {
            let mut made: Vec<(Value, Value)> = keys.iter().map(|key| (key.clone(), Value::Nil)).collect();
            for (position, value) in &values {
                value.eval_into(machine, slots, closed, &mut made[*position].1)?;
            }
            Ok(Value::from(Map::from_sorted(made)))
        })
    }
}

/// A map with computed keys; of equal keys the last wins.
fn computed(entries: Vec<(Expression, Expression)>) -> Expression {
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

fn constants(parts: &[Expression]) -> Option<Vec<Value>> {
    parts.iter().map(|part| if let Expression::Const(value) = part { Some(value.clone()) } else { None }).collect()
}
