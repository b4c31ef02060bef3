//! Iterators over the entries of a table: borrowed and sorted by key, or by value.

use std::collections::btree_map::{self, BTreeMap};

use super::Value;

/// The entries of a table, sorted by key.
pub(crate) struct Iter<'a, V>(Inner<'a, V>);

enum Inner<'a, V> {
    Sorted(std::slice::Iter<'a, (Value, V)>),
    /// Indexes in order, and the entries.
    Indexed(std::slice::Iter<'a, u32>, &'a [(Value, V)]),
    Tree(btree_map::Iter<'a, Value, V>),
}

impl<'a, V> Iter<'a, V> {
    /// Sorted entries.
    #[inline]
    pub(super) fn of(entries: &'a [(Value, V)]) -> Self {
        Self(Inner::Sorted(entries.iter()))
    }

    /// Entries in the order of these indexes.
    pub(super) fn of_indexes(indexes: &'a [u32], entries: &'a [(Value, V)]) -> Self {
        Self(Inner::Indexed(indexes.iter(), entries))
    }

    /// The entries of a tree.
    pub(super) fn of_tree(tree: &'a BTreeMap<Value, V>) -> Self {
        Self(Inner::Tree(tree.iter()))
    }
}

fn at<V>(entries: &[(Value, V)], index: u32) -> Option<(&Value, &V)> {
    entries.get(index as usize).map(|(key, value)| (key, value))
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a Value, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Inner::Sorted(entries) => entries.next().map(|(key, value)| (key, value)),
            Inner::Indexed(indexes, entries) => at(entries, *indexes.next()?),
            Inner::Tree(entries) => entries.next(),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Inner::Sorted(entries) => entries.size_hint(),
            Inner::Indexed(indexes, _) => indexes.size_hint(),
            Inner::Tree(entries) => entries.size_hint(),
        }
    }
}

impl<V> DoubleEndedIterator for Iter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Inner::Sorted(entries) => entries.next_back().map(|(key, value)| (key, value)),
            Inner::Indexed(indexes, entries) => at(entries, *indexes.next_back()?),
            Inner::Tree(entries) => entries.next_back(),
        }
    }
}

impl<V> ExactSizeIterator for Iter<'_, V> {}

impl<V> Clone for Iter<'_, V> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Inner::Sorted(entries) => Inner::Sorted(entries.clone()),
            Inner::Indexed(indexes, entries) => Inner::Indexed(indexes.clone(), entries),
            Inner::Tree(entries) => Inner::Tree(entries.clone()),
        })
    }
}

/// The entries of a table by value.
pub(crate) struct IntoIter<V>(IntoInner<V>);

enum IntoInner<V> {
    Entries(std::vec::IntoIter<(Value, V)>),
    Tree(btree_map::IntoIter<Value, V>),
}

impl<V> IntoIter<V> {
    /// Entries in their current order.
    pub(super) fn of(entries: Vec<(Value, V)>) -> Self {
        Self(IntoInner::Entries(entries.into_iter()))
    }

    /// The entries of a tree.
    pub(super) fn of_tree(tree: BTreeMap<Value, V>) -> Self {
        Self(IntoInner::Tree(tree.into_iter()))
    }
}

impl<V> Iterator for IntoIter<V> {
    type Item = (Value, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IntoInner::Entries(entries) => entries.next(),
            IntoInner::Tree(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            IntoInner::Entries(entries) => entries.size_hint(),
            IntoInner::Tree(entries) => entries.size_hint(),
        }
    }
}

impl<V> ExactSizeIterator for IntoIter<V> {}
