//! Programs and values laid out for people.
//!
//! In: a program's text, or a value, and a width in columns. Out: text. Formatting never changes what a program reads
//! as, and formatting twice is formatting once. It must not touch text that cannot be read.

mod layout;
#[cfg(test)]
mod tests;
mod tree;
mod value;

use super::read::{Budget, read};
use crate::value::{Bounds, Value};

/// A program laid out within `width` columns, as far as its strings and names allow; comments stay, and so do blank
/// lines, one at a time. `None` when it cannot be read.
pub fn program(text: &str, width: usize) -> Option<String> {
    read(text, Budget::default()).ok()?;
    let mut out = layout::program(&tree::items(text), width);
    // The line end behind a backslash is a character of the program, not the end of a line.
    let is_character = out.ends_with("\\\n") && text.ends_with("\\\n");
    if text.ends_with('\n') && !out.is_empty() && !is_character {
        out.push('\n');
    }
    Some(out)
}

/// The readable form of a value within `width` columns, as far as its strings and names allow. Bounds cut as they do in
/// [`Value::print`]; without them a value with shared parts may be huge.
pub fn value(value: &Value, width: usize, bounds: Bounds) -> String {
    let mut pretty = value::Pretty { out: String::new(), width, items: bounds.items };
    pretty.value(value, bounds.chars, 0, 0, 0);
    pretty.out
}
