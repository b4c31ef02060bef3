//! Values over several lines. In: a value, a width, bounds. Out: its readable form, with line breaks where it is too
//! long.

use std::fmt::{self, Write};

use crate::limits::PROGRAM_NESTING;
use crate::text::width::width;
use crate::value::{Bounds, Value, shown};

/// Writes at most this many columns, then fails.
struct Short {
    text: String,
    left: usize,
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(width(text)).ok_or(fmt::Error)?;
        self.text.push_str(text);
        Ok(())
    }
}

pub(super) struct Pretty {
    pub(super) out: String,
    pub(super) width: usize,
    pub(super) items: Option<usize>,
}

impl Pretty {
    /// Writes a value that starts in a column; `tail` closing brackets follow it. Values nested deeper than programs
    /// may be are written on one line, so that indentation stays small.
    pub(super) fn value(&mut self, value: &Value, chars: Option<usize>, column: usize, tail: usize, depth: u64) {
        let bounds = Bounds { items: self.items, chars };
        let left = self.width.saturating_sub(column + tail);
        let mut short = Short { text: String::new(), left };
        if value.write(&mut short, bounds).is_ok() {
            return self.out.push_str(&short.text);
        }
        if depth >= PROGRAM_NESTING.max {
            return self.out.push_str(&value.print(bounds).text);
        }
        match value {
            Value::List(items) => self.items("[", items.iter(), "]", chars, column, tail, depth),
            Value::Set(members) => self.items("#{", members.iter(), "}", chars, column, tail, depth),
            Value::Map(map) => {
                let (most, room) = shown(map, bounds);
                self.out.push('{');
                for (index, (key, value)) in map.iter().take(most).enumerate() {
                    if index > 0 {
                        self.newline(column + 1);
                    }
                    let last = usize::from(index + 1 == map.len()) * (tail + 1);
                    let from = self.out.len();
                    self.value(key, chars, column + 1, 0, depth + 1);
                    self.out.push(' ');
                    let key = self.out[from..].rsplit('\n').next().map_or(0, width);
                    let start = if self.out[from..].contains('\n') { key } else { column + 1 + key };
                    self.value(value, room, start, last, depth + 1);
                }
                self.close("}", most, map.len(), column + 1);
            }
            scalar => self.out.push_str(&scalar.print(bounds).text),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a list and a set differ in their brackets only")]
    fn items<'v>(
        &mut self,
        open: &str,
        items: impl ExactSizeIterator<Item = &'v Value> + Clone,
        close: &str,
        chars: Option<usize>,
        column: usize,
        tail: usize,
        depth: u64,
    ) {
        let most = self.items.unwrap_or(usize::MAX);
        let count = items.len();
        let inner = column + open.len();
        let are_scalars = items.clone().take(most).all(|item| !item.is_container());
        self.out.push_str(open);
        let mut at = inner;
        for (index, item) in items.take(most).enumerate() {
            let last = usize::from(index + 1 == count) * (tail + 1);
            if !are_scalars {
                if index > 0 {
                    self.newline(inner);
                }
                self.value(item, chars, inner, last, depth + 1);
                continue;
            }
            let text = item.print(Bounds { items: self.items, chars }).text;
            let columns = width(&text);
            if index > 0 && at + 1 + columns + last > self.width {
                self.newline(inner);
                at = inner;
            } else if index > 0 {
                self.out.push(' ');
                at += 1;
            }
            self.out.push_str(&text);
            at += columns;
        }
        self.close(close, most, count, inner);
    }

    fn close(&mut self, close: &str, most: usize, total: usize, column: usize) {
        if total > most {
            if most > 0 {
                self.newline(column);
            }
            _ = write!(self.out, "...{close} ({most}/{total})");
        } else {
            self.out.push_str(close);
        }
    }

    fn newline(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}
