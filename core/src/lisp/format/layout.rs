//! Line breaks of a program, following the conventions of Clojure. In: a tree and a width. Out: text.
//!
//! A form that fits is written on one line, unless it contains a comment or a blank line. The result depends on the
//! tree alone, not on previous line breaks; so formatting is idempotent. Recursion is as deep as the brackets.

use super::tree::{Group, Item, Node};
use crate::text::lex::lisp::Opener;
use crate::text::width::width;

/// The position of an item in a broken group.
#[derive(Debug, Clone, Copy)]
struct ItemPosition {
    how: LinePlacement,
    /// Columns from the start of the group, if it begins a line.
    indent: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePlacement {
    /// On the line of the previous item.
    Same,
    /// On that line if it fits there as one line.
    SameIfShort,
    /// On a line of its own.
    Line,
}

/// The layout of a form: how many arguments stay on its first line, and whether the others are pairs.
#[derive(Debug, Clone, Copy)]
enum Style {
    Body(usize),
    Pairs(usize),
    Define,
}

/// Forms whose first argument is a vector of bindings.
const BINDING: [&str; 10] =
    ["let", "loop", "for", "doseq", "dotimes", "if-let", "if-some", "when-let", "when-some", "when-first"];

/// Indentation of bodies in columns.
const BODY: usize = 2;

/// The arguments of a head longer than this part of the width start on the next line.
const LONG_HEAD: usize = 3;

fn style(group: &Group<'_>) -> Option<Style> {
    let head = group.head()?;
    Some(match head {
        "do" | "comment" | "pcalls" | "try" | "finally" => Style::Body(0),
        "if" | "if-not" | "when" | "when-not" | "def" | "defonce" | "task" | "step-done" | "while" | "doto"
        | "letfn" | "defmulti" => Style::Body(1),
        "as->" | "catch" => Style::Body(2),
        "defmethod" => Style::Body(3),
        "fn" => match group.items.get(1).map(|item| &item.node) {
            Some(Node::Atom(_)) => Style::Body(2),
            _ => Style::Body(1),
        },
        "defn" | "defn-" => Style::Define,
        "cond" => Style::Pairs(0),
        "case" | "cond->" | "cond->>" => Style::Pairs(1),
        "condp" => Style::Pairs(2),
        head if BINDING.contains(&head) => Style::Body(1),
        _ => return None,
    })
}

/// Formats a program; lines exceed `width` only for long names and strings.
pub(super) fn program(items: &[Item<'_>], width: usize) -> String {
    let mut layout = Layout { out: String::new(), column: 0, line: 0, width };
    for (position, item) in items.iter().enumerate() {
        match &item.node {
            _ if position == 0 => {}
            Node::Comment(_) if !item.on_new_line => layout.write(" "),
            _ => layout.newline(0, item.after_blank),
        }
        layout.node(&item.node, 0, false);
    }
    layout.out
}

struct Layout {
    out: String,
    column: usize,
    /// Lines written.
    line: usize,
    width: usize,
}

impl Layout {
    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rfind('\n') {
            Some(at) => {
                self.line += text.matches('\n').count();
                self.column = width(&text[at + 1..]);
            }
            None => self.column += width(text),
        }
    }

    fn newline(&mut self, indent: usize, after_blank: bool) {
        self.out.push_str(if after_blank { "\n\n" } else { "\n" });
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.line += 1;
        self.column = indent;
    }

    /// `tail`: closing brackets that follow on the same line. Bindings are pairs, unlike other vectors.
    fn node(&mut self, node: &Node<'_>, tail: usize, is_binding: bool) {
        match node {
            Node::Atom(text) | Node::Comment(text) => self.write(text),
            Node::Group(group) if group.flat.is_some_and(|flat| self.column + flat + tail <= self.width) => {
                self.flat(group);
            }
            Node::Group(group) => self.broken(group, tail, is_binding),
        }
    }

    fn flat(&mut self, group: &Group<'_>) {
        self.write(group.opening());
        for (position, item) in group.items.iter().enumerate() {
            if position > 0 {
                self.write(" ");
            }
            match &item.node {
                Node::Atom(text) | Node::Comment(text) => self.write(text),
                Node::Group(inner) => self.flat(inner),
            }
        }
        self.close(group);
    }

    fn close(&mut self, group: &Group<'_>) {
        self.write(group.bracket().closer().encode_utf8(&mut [0; 4]));
    }

    fn broken(&mut self, group: &Group<'_>, tail: usize, is_binding: bool) {
        let start = self.column;
        self.write(group.opening());
        // The index among the forms without comments; the line on which the previous form began.
        let (mut form, mut line) = (0, self.line);
        let mut previous: Option<&Item<'_>> = None;
        for (at, item) in group.items.iter().enumerate() {
            let is_last = at + 1 == group.items.len();
            let rest = if is_last { tail + 1 } else { 0 };
            let is_comment = matches!(item.node, Node::Comment(_));
            let position = self.position(group, form, is_binding);
            let behind_comment = previous.is_some_and(|item| matches!(item.node, Node::Comment(_)));
            if previous.is_some() {
                let fits = item.node.flat().is_some_and(|flat| self.column + 1 + flat + rest <= self.width);
                let stays = match position.how {
                    _ if is_comment => !item.on_new_line,
                    _ if behind_comment => false,
                    LinePlacement::Same => true,
                    LinePlacement::SameIfShort => fits && self.line == line,
                    LinePlacement::Line => false,
                };
                if stays && !item.after_blank {
                    self.write(" ");
                } else {
                    self.newline(start + position.indent, item.after_blank);
                }
            }
            line = self.line;
            let binds = form == 1 && !is_comment && group.head().is_some_and(|head| BINDING.contains(&head))
                || is_binding && previous.is_some_and(|item| item.node.atom() == Some(":let"));
            self.node(&item.node, rest, binds);
            form += usize::from(!is_comment);
            previous = Some(item);
        }
        if matches!(previous.map(|item| &item.node), Some(Node::Comment(_))) {
            self.newline(start + self.position(group, form, is_binding).indent, false);
        }
        self.close(group);
    }

    /// The position of the form with this index in a broken group.
    fn position(&self, group: &Group<'_>, form: usize, is_binding: bool) -> ItemPosition {
        let opened = group.opening().len();
        let pair = |from: usize, how: LinePlacement, value: usize| match (form.saturating_sub(from)) % 2 {
            0 => ItemPosition { how: LinePlacement::Line, indent: value },
            _ => ItemPosition { how, indent: value + if how == LinePlacement::Same { 0 } else { BODY } },
        };
        match group.opener {
            Opener::Map => pair(0, LinePlacement::Same, opened),
            Opener::Vector if is_binding => pair(0, LinePlacement::Same, opened),
            Opener::Vector | Opener::Set => {
                let short = group.items.iter().all(|item| item.node.atom().is_some());
                ItemPosition {
                    how: if short { LinePlacement::SameIfShort } else { LinePlacement::Line },
                    indent: opened,
                }
            }
            Opener::List | Opener::Short => {
                let body = ItemPosition { how: LinePlacement::Line, indent: opened - 1 + BODY };
                let first = ItemPosition { how: LinePlacement::Same, ..body };
                match style(group) {
                    _ if form == 0 => ItemPosition { how: LinePlacement::Same, indent: opened },
                    Some(Style::Body(on_first)) if form <= on_first => first,
                    Some(Style::Body(1)) if matches!(group.head(), Some("def" | "defonce")) => {
                        ItemPosition { how: LinePlacement::SameIfShort, ..body }
                    }
                    Some(Style::Body(_)) => body,
                    Some(Style::Define) => {
                        let is_doc = |at: usize| {
                            group.items.get(at).and_then(|item| item.node.atom()).is_some_and(|it| it.starts_with('"'))
                        };
                        if form == 1 || (form == 2 && !is_doc(2)) { first } else { body }
                    }
                    Some(Style::Pairs(on_first)) if form <= on_first => first,
                    Some(Style::Pairs(on_first)) => pair(on_first + 1, LinePlacement::SameIfShort, body.indent),
                    None => self.argument(group, form, opened),
                }
            }
        }
    }

    /// An argument of an ordinary call: aligned with the first one, which is next to the head.
    fn argument(&self, group: &Group<'_>, form: usize, opened: usize) -> ItemPosition {
        match group.head().map(width) {
            None => ItemPosition { how: LinePlacement::Line, indent: opened },
            Some(head) if head > self.width / LONG_HEAD => {
                let how = if form == 1 { LinePlacement::Line } else { LinePlacement::SameIfShort };
                ItemPosition { how, indent: opened - 1 + BODY }
            }
            Some(head) => {
                let how = if form == 1 { LinePlacement::Same } else { LinePlacement::Line };
                ItemPosition { how, indent: opened + head + 1 }
            }
        }
    }
}
