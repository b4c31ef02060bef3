//! Hidden values as texts: finds them, and texts derived from them, in what a model would read.
//!
//! In: values of which some are hidden, texts. Out: the texts with `<hidden>` in place of hidden parts. The search goes by value, not by
//! name, so that copies, printed and JSON forms, parts, other cases and reversed forms are found as well. It must never change a text that
//! shares nothing with a hidden value, and its result depends on the set of values only, not on their order.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::firewall::hides;
use crate::value::{Bounds, Json, Value};

/// The replacement of hidden text.
pub const HIDDEN: &str = "<hidden>";

/// Minimum characters of a part that identifies a text without spaces, such as a key.
const KEY_PART: usize = 8;
/// Minimum characters of a part with digits that identifies any text.
const DIGITS_PART: usize = 6;
/// Minimum digits of such a part.
const DIGITS: usize = 3;
/// Minimum characters of a part that identifies a text with spaces.
const PROSE_PART: usize = 14;
/// Characters of the shortest text that is searched for.
const SHORTEST: usize = 3;
/// Characters of the shortest word of a text that is searched for by itself; with a digit one less is enough.
const WORD: usize = 5;
/// Characters of the longest text whose words are searched for.
const SHORT_TEXT: usize = 80;
/// Digits of the shortest number that is searched for wherever it appears.
const NUMBER: usize = 5;
/// Characters of the longest text of which every part is searched for; of longer ones every part at a multiple of its length.
const DENSE: usize = 200_000;
/// Levels of a value that are searched.
const LEVELS: usize = 512;
/// Characters of the longest printed collection that is searched for as a whole.
const PRINTED: usize = 200;

/// The texts that identify hidden values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HiddenTexts {
    /// Parts of texts, by their length in characters.
    parts: BTreeMap<usize, BTreeSet<u64>>,
    /// Short texts, words and numbers, which count where no letter or digit is next to them.
    words: BTreeMap<usize, BTreeSet<u64>>,
}

impl HiddenTexts {
    /// True if nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.words.is_empty()
    }

    /// Adds all entries of a value whose key is hidden, on every level.
    pub fn collect(&mut self, value: &Value) {
        self.collect_within(value, LEVELS);
    }

    fn collect_within(&mut self, value: &Value, levels: usize) {
        let Some(levels) = levels.checked_sub(1) else { return };
        match value {
            Value::Map(map) => {
                for (key, item) in map.iter() {
                    if hides(key) {
                        self.add_entry(key, item);
                    } else {
                        self.collect_within(item, levels);
                    }
                }
            }
            _ => value.elements().into_iter().flatten().for_each(|item| self.collect_within(item, levels)),
        }
    }

    /// Adds the value of a hidden key, and the forms in which the two are printed next to each other.
    fn add_entry(&mut self, key: &Value, item: &Value) {
        self.add(item);
        if item.elements().is_some() || matches!(item, Value::Map(_) | Value::Nil | Value::Str(_) | Value::Bool(_)) {
            return;
        }
        let text = item.to_string();
        let name = key.as_str().map_or_else(|| key.to_string().trim_start_matches(':').to_owned(), str::to_owned);
        for between in ["\": ", "\":", "\" ", " ", "="] {
            self.add_part(&format!("{name}{between}{text}"));
        }
    }

    /// Adds a hidden value.
    pub fn add(&mut self, value: &Value) {
        self.add_within(value, LEVELS);
    }

    fn add_within(&mut self, value: &Value, levels: usize) {
        let Some(levels) = levels.checked_sub(1) else { return };
        match value {
            Value::Nil | Value::Bool(_) | Value::Var(_) | Value::Function(_) => {}
            Value::Str(text) => self.add_text(text),
            Value::Keyword(word) => self.add_text(word.name()),
            Value::Map(map) => {
                for (key, item) in map.iter() {
                    // Names of fields are not secrets; other keys are data.
                    let name = key.as_str().filter(|name| !name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_'));
                    if let Some(name) = name {
                        self.add_text(name);
                    }
                    self.add_within(item, levels);
                }
                self.add_printed(value);
            }
            _ => match value.elements() {
                Some(items) => {
                    items.for_each(|item| self.add_within(item, levels));
                    self.add_printed(value);
                }
                None => self.add_number(&value.to_string()),
            },
        }
    }

    /// The whole printed forms of a small collection: its numbers alone may be too short to be searched for.
    fn add_printed(&mut self, value: &Value) {
        let printed = value.print(Bounds { items: None, chars: Some(PRINTED) });
        if !printed.cut {
            for text in [printed.text, Json::from(value).to_text()] {
                let inner = text.trim_matches(['[', ']', '{', '}', '(', ')', '#']).trim();
                self.add_part(inner);
                self.add_part(&inner.replace(',', ", "));
            }
        }
    }

    fn add_number(&mut self, text: &str) {
        if text.bytes().filter(u8::is_ascii_digit).count() >= NUMBER {
            self.add_word(text);
        }
    }

    fn add_text(&mut self, text: &str) {
        let text = text.trim();
        let count = text.chars().count();
        if count < SHORTEST {
            return;
        }
        self.add_parts(text);
        // Escaped forms differ from the text itself.
        let escaped = Json::str(text).to_text();
        let escaped = escaped.trim_matches('"');
        if escaped != text {
            self.add_parts(escaped);
        }
        if !text.contains(char::is_whitespace) && count >= KEY_PART {
            self.add_parts(&text.chars().rev().collect::<String>());
        }
        if count <= SHORT_TEXT {
            for word in text.split(|c: char| !c.is_alphanumeric()) {
                let least = if word.chars().any(|c| c.is_ascii_digit()) { WORD - 1 } else { WORD };
                if word.chars().count() >= least {
                    self.add_word(word);
                }
            }
        }
    }

    /// The text as a whole when it is short, else the parts that identify it.
    fn add_parts(&mut self, text: &str) {
        let folded: Vec<char> = text.chars().map(folded).collect();
        let is_prose = text.contains(char::is_whitespace);
        let length = if is_prose { PROSE_PART } else { KEY_PART };
        if folded.len() <= length {
            if folded.len() < KEY_PART && folded.iter().all(|c| c.is_alphanumeric()) {
                _ = self.words.entry(folded.len()).or_default().insert(hash(&folded));
            } else {
                _ = self.parts.entry(folded.len()).or_default().insert(hash(&folded));
            }
            return;
        }
        let step = |length: usize| if folded.len() > DENSE { length } else { 1 };
        let parts = self.parts.entry(length).or_default();
        parts.extend(folded.windows(length).step_by(step(length)).map(hash));
        let digits = |part: &&[char]| part.iter().filter(|c| c.is_ascii_digit()).count() >= DIGITS;
        let numbered = folded.windows(DIGITS_PART).step_by(step(DIGITS_PART)).filter(digits);
        let numbered: Vec<u64> = numbered.map(hash).collect();
        if !numbered.is_empty() {
            self.parts.entry(DIGITS_PART).or_default().extend(numbered);
        }
    }

    /// A text that counts as a whole only.
    fn add_part(&mut self, text: &str) {
        let folded: Vec<char> = text.chars().map(folded).collect();
        if folded.len() > SHORTEST {
            self.parts.entry(folded.len()).or_default().insert(hash(&folded));
        }
    }

    fn add_word(&mut self, text: &str) {
        let folded: Vec<char> = text.chars().map(folded).collect();
        self.words.entry(folded.len()).or_default().insert(hash(&folded));
    }

    /// Adds everything that another set hides.
    pub fn extend(&mut self, other: &Self) {
        for (own, others) in [(&mut self.parts, &other.parts), (&mut self.words, &other.words)] {
            for (length, hashes) in others {
                own.entry(*length).or_default().extend(hashes);
            }
        }
    }

    /// The text with [`HIDDEN`] in place of all hidden parts.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() || text.is_empty() {
            return Cow::Borrowed(text);
        }
        let chars: Vec<(usize, char)> = text.char_indices().map(|(at, c)| (at, folded(c))).collect();
        let plain: Vec<char> = chars.iter().map(|(_, c)| *c).collect();
        let mut hidden = vec![false; plain.len()];
        for (length, hashes) in &self.parts {
            for (at, part) in plain.windows(*length).enumerate() {
                if hashes.contains(&hash(part)) {
                    hidden[at..at + length].fill(true);
                }
            }
        }
        let is_edge = |at: Option<usize>| at.and_then(|at| plain.get(at)).is_none_or(|c| !c.is_alphanumeric());
        for (length, hashes) in &self.words {
            for (at, part) in plain.windows(*length).enumerate() {
                let is_word = is_edge(at.checked_sub(1)) && is_edge(Some(at + length));
                if is_word && hashes.contains(&hash(part)) {
                    hidden[at..at + length].fill(true);
                }
            }
        }
        if !hidden.contains(&true) {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        for (place, (at, _)) in chars.iter().enumerate() {
            if !hidden[place] {
                masked.extend(text[*at..].chars().next());
            } else if place == 0 || !hidden[place - 1] {
                masked.push_str(HIDDEN);
            }
        }
        Cow::Owned(masked)
    }
}

/// A character without its case.
fn folded(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn hash(part: &[char]) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::json;

    fn hidden(context: &str) -> HiddenTexts {
        let mut hidden = HiddenTexts::default();
        hidden.collect(&json::parse(context).unwrap().to_value());
        hidden
    }

    #[test]
    fn texts_with_a_hidden_value_or_a_part_of_it_are_masked() {
        let texts = hidden(r#"{"_token":"sk-live-93ba77c1","name":"Ada","rows":[{"_note":"she owes\n12 pounds"}]}"#);
        for (text, shown) in [
            ("the key is sk-live-93ba77c1.", "the key is <hidden>."),
            ("SK-LIVE-93BA77C1", "<hidden>"),
            ("1c77ab39-evil-ks", "<hidden>"),
            ("ends with 93ba77c1", "ends with <hidden>"),
            (r#"{"a": "she owes\n12 pounds"}"#, r#"{"a": "<hidden>"}"#),
            (r#"{"name": "Ada", "n": 12}"#, r#"{"name": "Ada", "n": 12}"#),
            ("she is at home", "she is at home"),
        ] {
            assert_eq!(texts.mask(text), shown, "{text}");
        }
    }

    #[test]
    fn numbers_are_masked_where_they_are_long_or_next_to_their_name() {
        let texts = hidden(r#"{"_pin":7,"_account":123456789,"_days":[3,5,8],"total":7}"#);
        for (text, shown) in [
            (r#"{"_pin" 7 "total" 7}"#, r#"{"<hidden> "total" 7}"#),
            (r#"{"_pin":7,"total":7}"#, r#"{"<hidden>,"total":7}"#),
            ("account 123456789, 1234567890", "account <hidden>, 1234567890"),
            ("[3 5 8] of [3 5 9]", "[<hidden>] of [3 5 9]"),
            ("[3,5,8]", "[<hidden>]"),
        ] {
            assert_eq!(texts.mask(text), shown, "{text}");
        }
    }

    #[test]
    fn a_text_of_any_size_is_searched_in_linear_time_and_space() {
        let long = "abc def ".repeat(100_000);
        let texts = hidden(&format!(r#"{{"_doc":{:?}}}"#, format!("{long}the end of it")));
        assert_eq!(texts.mask("nothing of that"), "nothing of that");
        assert!(texts.mask(&long[..1_000]).len() < 100);
    }

    #[test]
    fn the_order_of_values_does_not_matter() {
        let (one, other) = (hidden(r#"{"_a":"first secret","_b":[1,2,3]}"#), hidden(r#"{"_c":"second one"}"#));
        let (mut forth, mut back) = (one.clone(), other.clone());
        forth.extend(&other);
        back.extend(&one);
        assert_eq!(forth, back);
    }
}
