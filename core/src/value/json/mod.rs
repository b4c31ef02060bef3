//! JSON trees with spans: key order as received, the first of duplicate keys wins, integers exact, depth bounded.
//!
//! In: JSON text. Out: [`Json`] trees, [`crate::value::Value`]s and JSON text again. Errors carry a byte offset.
//! It must never lose a digit of an integer or reorder keys.

mod convert;
mod difference;
mod read;
mod serialize;
mod texts;
mod values;
mod write;

use std::collections::HashSet;

use num_bigint::BigInt;

pub use convert::TOO_DEEP;
pub use difference::{Difference, differences, same};
pub(crate) use read::escaped;
pub use read::{JsonError, UniqueError, parse, parse_unique};
pub use serialize::to_json;
pub(crate) use values::parse_value;
pub(crate) use write::write_string;

use crate::text::Span;

/// A JSON value and its span in the source (empty if it has none).
#[derive(Debug, Clone, Default)]
pub struct Json {
    /// The value.
    pub node: Node,
    /// Its span.
    pub span: Span,
}

/// A JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Node {
    /// null
    #[default]
    Null,
    /// true, false
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer beyond 64 bits, exact.
    Big(Box<BigInt>),
    /// Any other number; always finite.
    Float(f64),
    /// A string.
    Str(String),
    /// An array.
    List(Vec<Json>),
    /// An object: members in the order received, keys unique.
    Object(Vec<Member>),
}

/// One member of an object.
#[derive(Debug, Clone)]
pub struct Member {
    /// The key.
    pub key: String,
    /// The span of the key.
    pub key_span: Span,
    /// The value.
    pub value: Json,
}

/// Equality of content; spans are ignored.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

/// Equality of content; spans are ignored.
impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.value == other.value
    }
}

impl From<Node> for Json {
    fn from(node: Node) -> Self {
        Self { node, span: Span::default() }
    }
}

impl Json {
    /// A string.
    pub fn str(text: impl Into<String>) -> Self {
        Node::Str(text.into()).into()
    }

    /// An array.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Node::List(items.into_iter().collect()).into()
    }

    /// An object with the members in this order; of equal keys the first wins.
    pub fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        let mut list = Members::default();
        for (key, value) in members {
            list.push(Member { key: key.into(), key_span: Span::default(), value });
        }
        Node::Object(list.finish()).into()
    }

    /// An object without members.
    pub fn empty() -> Self {
        Node::Object(Vec::new()).into()
    }

    /// The object with this member: in the place of the one with the same key, or at the end.
    #[must_use]
    pub fn with(self, key: &str, value: Self) -> Self {
        let mut members = self.into_members();
        match members.iter_mut().find(|member| member.key == key) {
            Some(member) => member.value = value,
            None => members.push(Member { key: key.to_owned(), key_span: Span::default(), value }),
        }
        Node::Object(members).into()
    }

    /// The object without the member with this key.
    #[must_use]
    pub fn without(self, key: &str) -> Self {
        let mut members = self.into_members();
        members.retain(|member| member.key != key);
        Node::Object(members).into()
    }

    /// The object with every value replaced by what `change` makes of its key and value; anything else as it is.
    #[must_use]
    pub fn map_members(&self, mut change: impl FnMut(&str, &Self) -> Self) -> Self {
        let Some(members) = self.members() else { return self.clone() };
        let members = members.iter().map(|Member { key, key_span, value }| Member {
            key: key.clone(),
            key_span: *key_span,
            value: change(key, value),
        });
        Node::Object(members.collect()).into()
    }

    fn into_members(self) -> Vec<Member> {
        match self.node {
            Node::Object(members) => members,
            _ => Vec::new(),
        }
    }

    /// The member of an object with this key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members()?.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The part at `path`: member names and array indexes (from 0) separated by dots; the empty path is the whole.
    /// `None` if there is no such part. A key that contains a dot cannot be reached; use [`Json::get`].
    pub fn at(&self, path: &str) -> Option<&Self> {
        if path.is_empty() {
            return Some(self);
        }
        path.split('.').try_fold(self, |part, step| match &part.node {
            Node::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => part.get(step),
        })
    }

    /// The members of an object.
    pub fn members(&self) -> Option<&[Member]> {
        match &self.node {
            Node::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items of an array.
    pub fn items(&self) -> Option<&[Self]> {
        match &self.node {
            Node::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.node {
            Node::Str(text) => Some(text),
            _ => None,
        }
    }
}

/// Up to this many members, keys are searched linearly.
const FEW: usize = 16;

/// The members of an object under construction.
#[derive(Debug, Clone, Default)]
pub struct Members {
    list: Vec<Member>,
    /// The keys of `list`, once it is long.
    keys: HashSet<String>,
}

impl Members {
    /// Adds a member unless its key exists already. Returns whether it was added.
    pub fn push(&mut self, member: Member) -> bool {
        let is_new = if self.list.len() < FEW {
            self.list.iter().all(|have| have.key != member.key)
        } else {
            if self.keys.is_empty() {
                self.keys.extend(self.list.iter().map(|have| have.key.clone()));
            }
            self.keys.insert(member.key.clone())
        };
        if is_new {
            self.list.push(member);
        }
        is_new
    }

    /// The members so far.
    pub fn as_slice(&self) -> &[Member] {
        &self.list
    }

    /// The finished list.
    pub fn finish(self) -> Vec<Member> {
        self.list
    }
}

#[cfg(test)]
mod tests;
