//! Lists: vectors of values that drop without recursion.

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

/// Items that are gone through twice without noticing.
const FEW: usize = 256;

impl Drop for List {
    fn drop(&mut self) {
        // Many items are not in the cache: they are gone through once, whatever they are.
        if self.0.len() > FEW || self.0.iter().any(Value::holds_values) {
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
