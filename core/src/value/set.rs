//! Sets: distinct values in canonical order.

use super::Value;
use super::drop::dismantle;
use super::table::Table;
use super::table_iter;

/// The distinct members of a set in canonical (strict) order. `Eq` and `Hash` are strict, as for [`Value`].
#[derive(Clone, Default)]
pub struct Set(Table<()>);

/// The members of a [`Set`], sorted.
#[derive(Clone)]
pub struct Members<'a>(table_iter::Iter<'a, ()>);

impl Set {
    /// The members, sorted.
    pub fn iter(&self) -> Members<'_> {
        Members(self.0.iter())
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True for a member. Strict: `1` is not `1.0`.
    pub fn contains(&self, member: &Value) -> bool {
        self.get(member).is_some()
    }

    /// The member equal to this value.
    pub fn get(&self, member: &Value) -> Option<&Value> {
        self.0.entry(member).map(|(member, ())| member)
    }

    /// Adds a member; false if it exists already.
    pub fn insert(&mut self, member: Value) -> bool {
        self.0.insert(member, ()).is_none()
    }

    /// Removes a member; false if there is none.
    pub fn remove(&mut self, member: &Value) -> bool {
        self.0.remove(member).is_some()
    }

    /// Copies of the members, sorted.
    pub fn to_vec(&self) -> Vec<Value> {
        self.iter().cloned().collect()
    }

    /// The members as a plain vector, sorted.
    pub fn into_vec(mut self) -> Vec<Value> {
        std::mem::take(&mut self.0).into_iter().map(|(member, ())| member).collect()
    }

    /// The members by value, in no particular order.
    pub(super) fn into_unordered(mut self) -> impl Iterator<Item = Value> {
        std::mem::take(&mut self.0).into_unordered().map(|(member, ())| member)
    }

    /// True if a member has nested values.
    pub(super) fn has_containers(&self) -> bool {
        self.0.any(|member, ()| member.holds_values())
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        if self.has_containers() {
            dismantle(std::mem::take(self).into_unordered());
        }
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Set {}

impl std::hash::Hash for Set {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|member| member.hash(state));
    }
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromIterator<Value> for Set {
    fn from_iter<I: IntoIterator<Item = Value>>(members: I) -> Self {
        Self(members.into_iter().map(|member| (member, ())).collect())
    }
}

impl<'a> IntoIterator for &'a Set {
    type Item = &'a Value;
    type IntoIter = Members<'a>;

    fn into_iter(self) -> Members<'a> {
        self.iter()
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = &'a Value;

    #[inline]
    fn next(&mut self) -> Option<&'a Value> {
        self.0.next().map(|(member, ())| member)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Members<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(member, ())| member)
    }
}

impl ExactSizeIterator for Members<'_> {}

/// The items of a list or the members of a set, in their order.
#[derive(Clone)]
pub struct Elements<'a>(Inner<'a>);

#[derive(Clone)]
enum Inner<'a> {
    Items(std::slice::Iter<'a, Value>),
    Members(Members<'a>),
}

impl Value {
    /// The items of a list or the members of a set.
    pub fn elements(&self) -> Option<Elements<'_>> {
        match self {
            Self::List(items) => Some(Elements(Inner::Items(items.iter()))),
            Self::Set(members) => Some(Elements(Inner::Members(members.iter()))),
            _ => None,
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a Value;

    #[inline]
    fn next(&mut self) -> Option<&'a Value> {
        match &mut self.0 {
            Inner::Items(items) => items.next(),
            Inner::Members(members) => members.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Inner::Items(items) => items.size_hint(),
            Inner::Members(members) => members.size_hint(),
        }
    }
}

impl ExactSizeIterator for Elements<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_each_member_once_in_order() {
        let mut set: Set = [Value::Int(2), Value::Float(1.0), Value::Int(1), Value::Int(2)].into_iter().collect();
        assert_eq!(set.to_vec(), [Value::Int(1), Value::Float(1.0), Value::Int(2)]);
        assert!(!set.insert(Value::Int(1)));
        assert!(set.insert(Value::Nil));
        assert!(set.contains(&Value::Nil) && !set.contains(&Value::Float(2.0)));
        assert!(set.remove(&Value::Float(1.0)) && !set.remove(&Value::Float(1.0)));
        assert_eq!(set.into_vec(), [Value::Int(1), Value::Int(2), Value::Nil]);
    }
}
