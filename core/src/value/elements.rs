//! Going through lists and sets alike.

use super::{Members, Value};

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
