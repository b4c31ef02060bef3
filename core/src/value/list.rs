//! Lists and sets: vectors of values that drop without recursion, and sorted vectors without duplicates.

use std::ops::{Deref, DerefMut};

use super::Value;
use super::drop::dismantle;

/// The items of a list; used like the `Vec<Value>` it dereferences to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct List(Vec<Value>);

impl List {
    /// The items as a plain vector.
    pub fn into_vec(mut self) -> Vec<Value> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if self.0.iter().any(Value::holds_values) {
            dismantle(self.0.drain(..));
        }
    }
}

impl Deref for List {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.0
    }
}

impl DerefMut for List {
    fn deref_mut(&mut self) -> &mut Vec<Value> {
        &mut self.0
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        Self(items)
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl IntoIterator for List {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// The members of a set in canonical (strict) order, each once; reads like a slice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Set(List);

impl Set {
    /// Is it a member? Strict: `1` is not `1.0`.
    pub fn contains(&self, member: &Value) -> bool {
        self.0.binary_search(member).is_ok()
    }

    /// Adds a member; false when it was there already.
    pub fn insert(&mut self, member: Value) -> bool {
        let place = self.0.binary_search(&member);
        if let Err(at) = place {
            self.0.insert(at, member);
        }
        place.is_err()
    }

    /// Removes a member; false when it was not there.
    pub fn remove(&mut self, member: &Value) -> bool {
        let place = self.0.binary_search(member);
        if let Ok(at) = place {
            self.0.remove(at);
        }
        place.is_ok()
    }

    /// The members as a plain vector, sorted.
    pub fn into_vec(self) -> Vec<Value> {
        self.0.into_vec()
    }
}

impl Deref for Set {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl FromIterator<Value> for Set {
    fn from_iter<I: IntoIterator<Item = Value>>(members: I) -> Self {
        let mut members: List = members.into_iter().collect();
        members.sort();
        members.dedup();
        Self(members)
    }
}

impl<'a> IntoIterator for &'a Set {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_each_member_once_in_order() {
        let mut set: Set = [Value::Int(2), Value::Float(1.0), Value::Int(1), Value::Int(2)].into_iter().collect();
        assert_eq!(&*set, [Value::Int(1), Value::Float(1.0), Value::Int(2)]);
        assert!(!set.insert(Value::Int(1)));
        assert!(set.insert(Value::Nil));
        assert!(set.contains(&Value::Nil) && !set.contains(&Value::Float(2.0)));
        assert!(set.remove(&Value::Float(1.0)) && !set.remove(&Value::Float(1.0)));
        assert_eq!(set.into_vec(), [Value::Int(1), Value::Int(2), Value::Nil]);
    }
}
