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

impl Group<'_> {
    /// The text of the opening bracket.
    pub(super) fn opening(&self) -> &'static str {
        match self.opener {
            Opener::List => "(",
            Opener::Vector => "[",
            Opener::Map => "{",
            Opener::Set => "#{",
            Opener::Short => "#(",
        }
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

/// The top-level items. Closing brackets without an opening one are omitted, as the reader skips them.
pub(super) fn items(text: &str) -> Vec<Item<'_>> {
    let mut open: Vec<(Item<'_>, Group<'_>)> = Vec::new();
    let mut top = Vec::new();
    let mut newlines = 0;
    for Word { span, first: lexeme, .. } in Words::new(text) {
        let token = span.text(text);
        let node = match lexeme {
            Lexeme::Space => {
                newlines += token.matches('\n').count();
                continue;
            }
            Lexeme::Open(opener) => Node::Group(Group { opener, items: Vec::new(), flat: None }),
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
            Lexeme::Char if token == "\\\r" => Node::Atom("\\return"),
            _ => Node::Atom(token),
        };
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
    top
}
