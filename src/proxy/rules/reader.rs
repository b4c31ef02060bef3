//! The reader of rules.
//!
//! In: a line. Out: its rule, or what to write instead. It must never accept a rule that can be read in two ways.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use regex::Regex;

use super::{Change, Condition, Rule, Subject, Test};
use crate::proxy::hold::HeldSide;
use crate::proxy::rule_text::{self, Token};

/// Reads the rule of a line.
pub(super) fn rule(line: usize, text: &str) -> Result<Rule, String> {
    let mut tokens = rule_text::tokens(text)?;
    tokens.word("when", "a rule begins with `when`")?;
    let mut conditions = Vec::new();
    loop {
        let subject = match tokens.next_word().as_deref() {
            Some("model") => Subject::Model,
            Some("text") => Subject::Text,
            Some("upstream") => Subject::Upstream,
            Some("path") => Subject::Path,
            _ => return Err("a condition begins with `model`, `text`, `upstream` or `path`".to_owned()),
        };
        let sign = tokens.next_comparison().ok_or("`=`, `!=`, `~` or `!~` follows what is compared")?;
        if let Some(second) = tokens.next_comparison() {
            let written = format!("{sign}{second}");
            let not = if written.starts_with('!') { "!" } else { "" };
            let meant = if written.contains('~') { "~" } else { "=" };
            return Err(format!("`{written}` is not a comparison: write `{not}{meant}`"));
        }
        let value = tokens.next_value().ok_or("a string in quotes follows the sign")?;
        if subject == Subject::Path && sign.ends_with('=') && !value.starts_with('/') {
            let part = if sign == "=" { "~" } else { "!~" };
            return Err(format!("paths begin with `/`: write `path {sign} /{value}`, or `path {part} {value:?}`"));
        }
        let test = if sign.ends_with('~') {
            Test::Matches(
                Regex::new(&value).map_err(|error| format!("{value:?} is not a regular expression: {error}"))?,
            )
        } else {
            Test::Is(value)
        };
        conditions.push(Condition { subject, test, is_negated: sign.starts_with('!') });
        if tokens.skip("or") {
            return Err("conditions are joined by `and` only: write a second rule for the other case".to_owned());
        }
        if !tokens.skip("and") {
            break;
        }
    }
    let first = if tokens.skip("first") {
        Some(tokens.next_number().filter(|count| *count > 0).ok_or("a number follows `first`")?)
    } else {
        None
    };
    if !matches!(tokens.next(), Some(Token::Sign(sign)) if sign == ":") {
        return Err("`:` must separate the conditions from the actions".to_owned());
    }
    let mut changes = vec![change(&mut tokens)?];
    while let Some(token) = tokens.next() {
        if token != Token::Sign(";".to_owned()) {
            return Err("`;` must separate two actions".to_owned());
        }
        changes.push(change(&mut tokens)?);
    }
    Ok(Rule { line, text: text.to_owned(), conditions, first, used: AtomicUsize::new(0), changes })
}

fn change(tokens: &mut rule_text::Tokens) -> Result<Change, String> {
    let number =
        |tokens: &mut rule_text::Tokens, what: &str| tokens.next_number().ok_or_else(|| format!("{what} is a number"));
    match tokens.next_word().as_deref() {
        Some("delay") => {
            let ms = u64::try_from(number(tokens, "the time of a delay in ms")?).unwrap_or(u64::MAX);
            Ok(Change::Delay(Duration::from_millis(ms.min(600_000))))
        }
        Some("fail") => {
            let status = u16::try_from(number(tokens, "the status of a failure")?).unwrap_or_default();
            if !(400..600).contains(&status) {
                return Err("the status of a failure is between 400 and 599".to_owned());
            }
            let message = tokens.next_text().unwrap_or_else(|| "a rule of the proxy".to_owned());
            if let Some(word) = tokens.next_word() {
                return Err(format!(
                    "`{word}` follows `fail {status}`: the message of a failure is a string in quotes, and `;` separates two actions"
                ));
            }
            Ok(Change::Fail(status, message))
        }
        Some("drop") => Ok(Change::Drop),
        Some("hold") if tokens.skip("reply") => Ok(Change::Hold(HeldSide::Reply)),
        Some("hold") => Ok(Change::Hold(HeldSide::Request)),
        Some("cut") => Ok(Change::Cut(number(tokens, "the length of a reply that is cut, in bytes,")?)),
        Some("set") => {
            let path = tokens.next_word().ok_or("a path follows `set`")?;
            if !matches!(tokens.next(), Some(Token::Sign(sign)) if sign == "=") {
                return Err("`=` follows the path".to_owned());
            }
            let value = tokens.next_json().ok_or("a JSON value follows `=`: a string in quotes, a number, true, false, null, a list or an object")?;
            Ok(Change::Set(path, value))
        }
        Some("replace") => {
            let from = tokens.next_text().filter(|text| !text.is_empty()).ok_or("a string in quotes follows `replace`")?;
            tokens.word("with", "`with` follows the text to replace")?;
            let to = tokens.next_text().ok_or("a string in quotes follows `with`")?;
            Ok(Change::Replace(from, to))
        }
        _ => Err("an action is `delay MS`, `fail STATUS`, `drop`, `cut BYTES`, `hold`, `hold reply`, `set PATH = VALUE` or `replace \"A\" with \"B\"`".to_owned()),
    }
}
