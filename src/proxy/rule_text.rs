//! The words of a rule.
//!
//! In: a line. Out: words, signs, texts in quotes and JSON, in order. It must never take a sign inside of quotes or JSON for one of the
//! rule.

use std::collections::VecDeque;

use ptc_core::value::{Json, json};
use serde::de::IgnoredAny;

/// A word of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// Letters, digits and what names may hold.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// A list or an object that `set` sets.
    Json(Json),
    /// `=`, `!=`, `~`, `!~`, `:`, `;`.
    Sign(String),
}

/// The words that are left.
#[derive(Debug)]
pub(super) struct Tokens(VecDeque<Token>);

/// Divides a line. Errors: a quote that is not closed, a list or an object that is not JSON, a character that belongs to nothing.
pub(super) fn tokens(line: &str) -> Result<Tokens, String> {
    let mut out = VecDeque::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let used = match first {
            '"' | '\'' => {
                let (text, used) =
                    quoted(rest, first).ok_or_else(|| format!("a string that begins with {first} is not closed"))?;
                out.push_back(Token::Text(text));
                used
            }
            '{' | '[' if follows_set(&out) => {
                let (value, used) = json_value(rest)?;
                out.push_back(Token::Json(value));
                used
            }
            '=' | '~' | ':' | ';' => {
                out.push_back(Token::Sign(first.to_string()));
                1
            }
            '!' if rest.starts_with("!=") || rest.starts_with("!~") => {
                out.push_back(Token::Sign(rest.chars().take(2).collect()));
                2
            }
            _ => {
                let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '*' | '+');
                let used = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                if used == 0 {
                    return Err(format!("`{first}` must be in quotes"));
                }
                out.push_back(Token::Word(rest.chars().take_while(|c| is_word(*c)).collect()));
                used
            }
        };
        rest = rest.get(used..).unwrap_or_default().trim_start();
    }
    Ok(Tokens(out))
}

/// Returns whether the last tokens are `set PATH =`.
fn follows_set(tokens: &VecDeque<Token>) -> bool {
    let mut last = tokens.iter().rev();
    let is_equals = matches!(last.next(), Some(Token::Sign(sign)) if sign == "=");
    is_equals && matches!(last.nth(1), Some(Token::Word(word)) if word == "set")
}

/// A list or an object and its length.
fn json_value(rest: &str) -> Result<(Json, usize), String> {
    let fail = |why: String| format!("the value after `=` is not JSON: {why}");
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
    if let Some(Err(error)) = values.next() {
        return Err(fail(error.to_string()));
    }
    let used = values.byte_offset();
    let value = json::parse(rest.get(..used).unwrap_or_default()).map_err(|error| fail(error.to_string()))?;
    Ok((value, used))
}

/// A text in quotes and its length with them. `\` makes the next character part of the text.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((text, at + quote.len_utf8())),
            // In single quotes a backslash is part of a pattern.
            '\\' if quote == '"' => match chars.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            _ => text.push(c),
        }
    }
    None
}

impl Tokens {
    pub(super) fn next(&mut self) -> Option<Token> {
        self.0.pop_front()
    }

    /// Takes this word or fails with this message.
    pub(super) fn word(&mut self, word: &str, message: &str) -> Result<(), String> {
        if self.skip(word) { Ok(()) } else { Err(message.to_owned()) }
    }

    /// Takes a word if it is this one.
    pub(super) fn skip(&mut self, word: &str) -> bool {
        let is_it = matches!(self.0.front(), Some(Token::Word(found)) if found == word);
        if is_it {
            self.0.pop_front();
        }
        is_it
    }

    /// Takes a word.
    pub(super) fn next_word(&mut self) -> Option<String> {
        match self.0.front() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.0.pop_front();
                Some(word)
            }
            _ => None,
        }
    }

    /// Takes one of `=`, `!=`, `~`, `!~`.
    pub(super) fn next_comparison(&mut self) -> Option<String> {
        match self.0.front() {
            Some(Token::Sign(sign)) if !matches!(sign.as_str(), ":" | ";") => {
                let sign = sign.clone();
                self.0.pop_front();
                Some(sign)
            }
            _ => None,
        }
    }

    /// Takes a text in quotes.
    pub(super) fn next_text(&mut self) -> Option<String> {
        match self.0.front() {
            Some(Token::Text(text)) => {
                let text = text.clone();
                self.0.pop_front();
                Some(text)
            }
            _ => None,
        }
    }

    /// Takes a text in quotes or a word.
    pub(super) fn next_value(&mut self) -> Option<String> {
        self.next_text().or_else(|| self.next_word())
    }

    /// Takes a number.
    pub(super) fn next_number(&mut self) -> Option<usize> {
        let number = match self.0.front() {
            Some(Token::Word(word)) => word.parse().ok(),
            _ => None,
        };
        if number.is_some() {
            self.0.pop_front();
        }
        number
    }

    /// Takes a text in quotes, a list, an object, or a word that is JSON.
    pub(super) fn next_json(&mut self) -> Option<Json> {
        match self.0.pop_front()? {
            Token::Text(text) => Some(Json::str(text)),
            Token::Json(value) => Some(value),
            Token::Word(word) => json::parse(&word).ok(),
            Token::Sign(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value that a rule sets, as JSON.
    fn set(value: &str) -> Result<String, String> {
        let mut tokens = tokens(&format!("when model ~ m: set a.b = {value}; drop"))?;
        while !tokens.skip("set") {
            tokens.next().ok_or("no `set`")?;
        }
        tokens.next_word().ok_or("no path")?;
        tokens.next_comparison().ok_or("no `=`")?;
        let value = tokens.next_json().ok_or("no value")?;
        assert_eq!(tokens.next(), Some(Token::Sign(";".to_owned())));
        Ok(value.to_text())
    }

    #[test]
    fn any_json_value_is_set() {
        for value in
            ["\"a text\"", "7", "-0.5", "true", "null", "[]", "{\"a\":[1,{\"b\":\"}; ]\"}],\"c\":null}", "[[\"x\"],2]"]
        {
            assert_eq!(set(value).as_deref(), Ok(value));
        }
    }

    #[test]
    fn a_list_or_an_object_that_is_no_json_is_reported() {
        for value in ["{a: 1}", "[1, 2", "{\"a\": 1,}"] {
            assert!(set(value).unwrap_err().contains("the value after `=` is not JSON"), "{value}");
        }
        assert_eq!(tokens("when text = {: drop").unwrap_err(), "`{` must be in quotes");
    }
}
