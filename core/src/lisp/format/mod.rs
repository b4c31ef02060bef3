//! Formatting of programs and values for display.
//!
//! In: a program's text, or a value, and a width in columns. Out: text. Formatting never changes what the reader reads,
//! and is idempotent. Invalid text is left unchanged.

mod layout;
#[cfg(test)]
mod tests;
mod tree;
mod value;

use super::read::{Budget, read};
use crate::value::{Bounds, Value};

/// Formats a program to `width` columns, as far as its strings and names allow; keeps comments and single blank lines.
/// `None` if it cannot be read, or a prefix (`@`, `'`, `^`, `#_`) is on another line than its form.
pub fn program(text: &str, width: usize) -> Option<String> {
    read(text, Budget::default()).ok()?;
    let mut out = layout::program(&tree::items(text)?, width);
    // A line end after a backslash is a character literal, not the end of a line.
    let is_character = ["\\\n", "\\\r\n"].iter().any(|end| out.ends_with(end) && text.ends_with(end));
    if text.ends_with('\n') && !out.is_empty() && !is_character {
        out.push('\n');
    }
    Some(out)
}

/// Formats a value to `width` columns, as far as its strings and names allow. Bounds cut as in [`Value::print`];
/// without them a value with shared parts may be huge.
pub fn value(value: &Value, width: usize, bounds: Bounds) -> String {
    let mut pretty = value::Pretty { out: String::new(), width, items: bounds.items };
    pretty.value(value, bounds.chars, 0, 0, 0);
    pretty.out
}
