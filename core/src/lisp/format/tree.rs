//! A program's text as a tree that keeps comments and blank lines. In: text that the reader accepts. Out: items.

use crate::text::lex::lisp::{Bracket, Lexeme, Opener, Word, Words};
use crate::text::width::width;

/// A node and the white space before it.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) node: Node<'a>,
    /// It began a line.
    pub(super) on_new_line: bool,
    /// A blank line preceded it.
    pub(super) after_blank: bool,
}

#[derive(Debug)]
pub(super) enum Node<'a> {
    /// One token.
    Atom(&'a str),
    /// `; …`
    Comment(&'a str),
    /// A bracketed group.
    Group(Group<'a>),
}

#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) opener: Opener,
    /// The text of the opening bracket with the prefixes before it.
    opening: &'a str,
    pub(super) items: Vec<Item<'a>>,
    /// Its width on one line; `None` if it cannot be written on one.
    pub(super) flat: Option<usize>,
}

impl<'a> Node<'a> {
    /// Width on one line; `None` if it needs several, or ends its line.
    pub(super) fn flat(&self) -> Option<usize> {
        match self {
            Self::Atom(text) => (!text.contains('\n')).then(|| width(text)),
            Self::Comment(_) => None,
            Self::Group(group) => group.flat,
        }
    }

    pub(super) fn atom(&self) -> Option<&'a str> {
        match self {
            Self::Atom(text) => Some(text),
            _ => None,
        }
    }
}

impl<'a> Group<'a> {
    /// The text of the opening bracket with the prefixes before it: `(`, `#{`, `@(`.
    pub(super) fn opening(&self) -> &'a str {
        self.opening
    }

    pub(super) fn bracket(&self) -> Bracket {
        self.opener.bracket()
    }

    /// The first item, if it is one token.
    pub(super) fn head(&self) -> Option<&str> {
        self.items.first().and_then(|item| item.node.atom())
    }

    fn measured(mut self) -> Self {
        let spaces = self.items.len().saturating_sub(1);
        let kept = self.items.iter().skip(1).any(|item| item.after_blank);
        let parts: Option<usize> = self.items.iter().map(|item| item.node.flat()).sum();
        self.flat = parts.filter(|_| !kept).map(|parts| self.opening().len() + parts + spaces + 1);
        self
    }
}

/// The top-level items. Closing brackets without an opening one are omitted, as the reader skips them. `None` if a prefix
/// is on another line than its form.
pub(super) fn items(text: &str) -> Option<Vec<Item<'_>>> {
    let mut open: Vec<(Item<'_>, Group<'_>)> = Vec::new();
    let mut top = Vec::new();
    let mut newlines = 0;
    // The start of the prefixes before the next form.
    let mut prefix: Option<usize> = None;
    for Word { span, first: lexeme, .. } in Words::new(text) {
        let token = span.text(text);
        let is_apart = match lexeme {
            Lexeme::Space => token.contains('\n'),
            Lexeme::Comment | Lexeme::Close(_) => true,
            _ => false,
        };
        if prefix.is_some() && is_apart {
            return None;
        }
        let whole = || text.get(prefix.unwrap_or(span.start)..span.end).unwrap_or(token);
        let node = match lexeme {
            Lexeme::Space => {
                newlines += token.matches('\n').count();
                continue;
            }
            Lexeme::Prefix | Lexeme::Discard => {
                prefix.get_or_insert(span.start);
                continue;
            }
            Lexeme::Open(opener) => Node::Group(Group { opener, opening: whole(), items: Vec::new(), flat: None }),
            Lexeme::Close(_) => {
                newlines = 0;
                if let Some((item, group)) = open.pop() {
                    let item = Item { node: Node::Group(group.measured()), ..item };
                    open.last_mut().map_or(&mut top, |(_, group)| &mut group.items).push(item);
                }
                continue;
            }
            Lexeme::Comment => Node::Comment(token.trim_end()),
            // After a carriage return, the end of the line would become a part of the character.
            Lexeme::Char if token == "\\\r" && prefix.is_some() => return None,
            Lexeme::Char if token == "\\\r" => Node::Atom("\\return"),
            _ => Node::Atom(whole()),
        };
        prefix = None;
        let (on_new_line, after_blank) = (newlines > 0, newlines > 1);
        newlines = 0;
        match node {
            Node::Group(group) => open.push((Item { node: Node::Atom(""), on_new_line, after_blank }, group)),
            node => {
                let items = open.last_mut().map_or(&mut top, |(_, group)| &mut group.items);
                items.push(Item { node, on_new_line, after_blank });
            }
        }
    }
    Some(top)
}
