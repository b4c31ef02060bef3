//! Pages of a long text: a model reads a part, and learns how to get the next one.
//!
//! In: a text, the arguments `offset` and `max_chars`. Out: the part, and a last line that names the next offset. It must never
//! split a character.

use serde_json::{Map, Value};

use crate::workbench::format::inflected;

/// Characters of a page without `max_chars`.
const USUAL_CHARS: usize = 12_000;
/// Maximum characters of a page.
const MAX_CHARS: usize = 100_000;

/// The part of a text that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    offset: usize,
    chars: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { offset: 0, chars: USUAL_CHARS }
    }
}

impl Page {
    /// Takes the arguments of a page out of those of a tool.
    pub(super) fn take(arguments: &mut Map<String, Value>) -> Result<Self, String> {
        let mut number = |name: &str, most: usize| match arguments.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
                let number = number.filter(|number| *number <= most);
                number.map(Some).ok_or_else(|| format!("`{name}` is {value}: it is a number from 0 to {most}"))
            }
        };
        let offset = number("offset", u32::MAX as usize)?.unwrap_or(0);
        Ok(Self { offset, chars: number("max_chars", MAX_CHARS)?.unwrap_or(USUAL_CHARS).max(1) })
    }

    /// The part of this text.
    pub(super) fn cut(self, text: &str) -> String {
        self.part(text, |end| format!("the next page: offset {end}"))
    }

    /// The part of a text that has no next page; `rest` names where the rest is.
    pub(super) fn head(self, text: &str, rest: &str) -> String {
        self.part(text, |_| rest.to_owned())
    }

    fn part(self, text: &str, rest: impl Fn(usize) -> String) -> String {
        let total = text.chars().count();
        if self.offset == 0 && total <= self.chars {
            return text.to_owned();
        }
        if self.offset >= total {
            let characters = inflected(total as u64, "character");
            return format!("[the text has {total} {characters}: offset {} is past its end]", self.offset);
        }
        let part: String = text.chars().skip(self.offset).take(self.chars).collect();
        let end = (self.offset + self.chars).min(total);
        let next = if end < total { rest(end) } else { "the end".to_owned() };
        format!("{part}\n[characters {} to {end} of {total}; {next}]", self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(arguments: &Value) -> Result<Page, String> {
        Page::take(&mut arguments.as_object().unwrap().clone())
    }

    #[test]
    fn the_pages_of_a_text_join_to_it() {
        let text: String = (0..500).map(|number| number.to_string() + " ü漢 ").collect();
        let (mut offset, mut joined) = (0, String::new());
        loop {
            let cut = page(&json!({"offset": offset, "max_chars": 700})).unwrap().cut(&text);
            let (part, note) = cut.rsplit_once("\n[").unwrap();
            joined.push_str(part);
            let Some((_, next)) = note.split_once("offset ") else { break };
            offset = next.trim_end_matches(']').parse::<usize>().unwrap();
        }
        assert_eq!(joined, text);
    }

    #[test]
    fn the_first_part_of_a_text_names_where_the_rest_is() {
        let cut = page(&json!({"max_chars": 3})).unwrap().head("abcdef", "see there");
        assert_eq!(cut, "abc\n[characters 0 to 3 of 6; see there]");
        assert_eq!(Page::default().head("abcdef", "see there"), "abcdef");
    }

    #[test]
    fn unusable_numbers_are_refused() {
        for arguments in [json!({"offset": -1}), json!({"offset": "3"}), json!({"max_chars": 1e9})] {
            assert!(page(&arguments).is_err(), "{arguments}");
        }
        assert_eq!(page(&json!({"other": 1})).unwrap(), Page::default());
        assert!(page(&json!({"offset": 99})).unwrap().cut("short").contains("offset 99 is past its end"));
    }
}
