//! Tests of signatures: tables of cases (one file per concern) and properties.

#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

mod parse;

/// The cases of a table: lines of cells separated by ` | `; `\n` in a cell is a line break; lines starting with `#` are comments.
fn table(text: &str) -> impl Iterator<Item = (usize, Vec<String>)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|(at, line)| (at + 1, line.split(" | ").map(|cell| cell.trim().replace("\\n", "\n")).collect()))
}
