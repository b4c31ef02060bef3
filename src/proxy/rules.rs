//! Rules: what happens to requests that fit, so that a client's behaviour under faults can be tried.
//!
//! In: lines such as `when model = "m" and text ~ "refund" first 2: fail 429`. Out: the changes of a request. It must never change a request
//! that no rule names.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ptc_core::value::{Json, json};
use regex::Regex;

use super::hold::HeldSide;
use super::rule_text::{self, Token};
use crate::event::MessagePart;
use crate::model::CapturedRequest;

/// What is wrong with a file of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesError {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl std::fmt::Display for RulesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for RulesError {}

/// What a condition looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Model,
    Text,
    Upstream,
    Path,
}

#[derive(Debug)]
enum Test {
    Is(String),
    Matches(Regex),
}

#[derive(Debug)]
struct Condition {
    subject: Subject,
    test: Test,
    is_negated: bool,
}

/// What happens to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// It waits.
    Delay(Duration),
    /// It is answered with this status, in the words of an error.
    Fail(u16, String),
    /// Its connection is closed without an answer.
    Drop,
    /// The connection is closed after so many bytes of the reply's body.
    Cut(usize),
    /// A member of the body is set.
    Set(String, Json),
    /// A text is replaced everywhere in the body.
    Replace(String, String),
    /// It waits for the user, or its reply does.
    Hold(HeldSide),
}

#[derive(Debug)]
struct Rule {
    /// As it is written.
    text: String,
    conditions: Vec<Condition>,
    /// How many requests it is for.
    first: Option<usize>,
    used: AtomicUsize,
    changes: Vec<Change>,
}

/// The rules of a proxy, in order.
#[derive(Debug, Default)]
pub struct Rules(Vec<Rule>);

/// What the rules make of a request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changed {
    /// The new body, when it was changed.
    pub(super) body: Option<Vec<u8>>,
    /// How long it waits.
    pub(super) delay: Duration,
    /// What answers it.
    pub(super) fail: Option<(u16, String)>,
    /// Its connection is closed.
    pub(super) is_dropped: bool,
    /// Bytes of the reply after which the connection is closed.
    pub(super) cut: Option<usize>,
    /// What of it waits for the user.
    pub(super) holds: Vec<HeldSide>,
    /// The rules that changed something.
    pub(super) notices: Vec<String>,
}

impl Rules {
    /// Reads rules, one a line; empty lines and those that begin with `#` are none.
    pub fn read(text: &str) -> Result<Self, RulesError> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        let rules = lines.map(|(line, text)| rule(text.trim()).map_err(|message| RulesError { line, message }));
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first rule that holds something for the user.
    pub fn holding(&self) -> Option<&str> {
        let holds = |rule: &&Rule| rule.changes.iter().any(|change| matches!(change, Change::Hold(_)));
        self.0.iter().find(holds).map(|rule| rule.text.as_str())
    }

    /// Applies all rules that fit, in order.
    pub(super) fn apply(&self, upstream: &str, path: &str, body: &[u8], request: Option<&CapturedRequest>) -> Changed {
        let mut changed = Changed::default();
        for rule in &self.0 {
            if !rule.conditions.iter().all(|condition| condition.fits(upstream, path, request)) {
                continue;
            }
            if rule.first.is_some_and(|first| rule.used.fetch_add(1, Ordering::Relaxed) >= first) {
                continue;
            }
            changed.notices.push(format!("a rule of the proxy: {}", rule.text));
            for change in &rule.changes {
                match change {
                    Change::Delay(delay) => changed.delay += *delay,
                    Change::Fail(status, message) => changed.fail = Some((*status, message.clone())),
                    Change::Drop => changed.is_dropped = true,
                    Change::Cut(bytes) => changed.cut = Some(*bytes),
                    Change::Hold(side) => changed.holds.push(*side),
                    Change::Set(path, value) => {
                        let before = changed.body.as_deref().unwrap_or(body);
                        changed.body = set(before, path, value).or(changed.body);
                    }
                    Change::Replace(from, to) => {
                        let before = changed.body.as_deref().unwrap_or(body);
                        changed.body = replace(before, from, to).or(changed.body);
                    }
                }
            }
        }
        changed
    }
}

impl Condition {
    fn fits(&self, upstream: &str, path: &str, request: Option<&CapturedRequest>) -> bool {
        let found = match self.subject {
            Subject::Upstream => self.test.fits(upstream),
            Subject::Path => self.test.fits(path),
            Subject::Model => request.is_some_and(|request| self.test.fits(&request.model)),
            Subject::Text => request.is_some_and(|request| {
                let parts = request.messages.iter().flat_map(|message| &message.parts);
                parts.into_iter().any(|part| match part {
                    MessagePart::Text { text, .. } | MessagePart::Result { result: text, .. } => self.test.fits(text),
                    MessagePart::Call { call } => self.test.fits(&call.args),
                    MessagePart::Reply { .. } | MessagePart::File { .. } => false,
                })
            }),
        };
        found != self.is_negated
    }
}

impl Test {
    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Is(expected) => text == expected,
            Self::Matches(pattern) => pattern.is_match(text),
        }
    }
}

/// A member at a path with dots, set in a JSON body.
fn set(body: &[u8], path: &str, value: &Json) -> Option<Vec<u8>> {
    fn at(json: &Json, path: &str, value: &Json) -> Json {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let value = match rest {
            None => value.clone(),
            Some(rest) => at(json.get(key).unwrap_or(&Json::empty()), rest, value),
        };
        if json.get(key).is_some() {
            json.map_members(|name, old| if name == key { value.clone() } else { old.clone() })
        } else {
            json.clone().with(key, value)
        }
    }
    let json = json::parse(std::str::from_utf8(body).ok()?).ok()?;
    Some(at(&json, path, value).to_text().into_bytes())
}

/// Every occurrence of a text in the texts of a JSON body.
fn replace(body: &[u8], from: &str, to: &str) -> Option<Vec<u8>> {
    fn within(json: &Json, from: &str, to: &str) -> Json {
        match (json.as_str(), json.items()) {
            (Some(text), _) => Json::str(text.replace(from, to)),
            (None, Some(items)) => Json::list(items.iter().map(|item| within(item, from, to))),
            (None, None) => json.map_members(|_, value| within(value, from, to)),
        }
    }
    let json = json::parse(std::str::from_utf8(body).ok()?).ok()?;
    let new = within(&json, from, to);
    (new != json).then(|| new.to_text().into_bytes())
}

/// Reads a rule.
fn rule(text: &str) -> Result<Rule, String> {
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
        let Some(Token::Sign(sign)) = tokens.next() else {
            return Err("`=`, `!=`, `~` or `!~` follows what is compared".to_owned());
        };
        let value = tokens.next_value().ok_or("a text in quotes follows the sign")?;
        let test = if sign.ends_with('~') {
            Test::Matches(
                Regex::new(&value).map_err(|error| format!("{value:?} is not a regular expression: {error}"))?,
            )
        } else {
            Test::Is(value)
        };
        conditions.push(Condition { subject, test, is_negated: sign.starts_with('!') });
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
        return Err("`:` comes between the conditions and what happens".to_owned());
    }
    let mut changes = vec![change(&mut tokens)?];
    while let Some(token) = tokens.next() {
        if token != Token::Sign(";".to_owned()) {
            return Err("`;` comes between two changes".to_owned());
        }
        changes.push(change(&mut tokens)?);
    }
    Ok(Rule { text: text.to_owned(), conditions, first, used: AtomicUsize::new(0), changes })
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
            Ok(Change::Fail(status, message))
        }
        Some("drop") => Ok(Change::Drop),
        Some("hold") if tokens.skip("reply") => Ok(Change::Hold(HeldSide::Reply)),
        Some("hold") => Ok(Change::Hold(HeldSide::Request)),
        Some("cut") => Ok(Change::Cut(number(tokens, "the length of a reply that is cut, in bytes,")?)),
        Some("set") => {
            let path = tokens.next_word().ok_or("the name of a member follows `set`")?;
            if !matches!(tokens.next(), Some(Token::Sign(sign)) if sign == "=") {
                return Err("`=` follows the name of a member".to_owned());
            }
            let value = tokens.next_json().ok_or("a JSON text, number, true, false or null follows `=`")?;
            Ok(Change::Set(path, value))
        }
        Some("replace") => {
            let from = tokens.next_text().filter(|text| !text.is_empty()).ok_or("a text in quotes follows `replace`")?;
            tokens.word("with", "`with` follows the text to replace")?;
            let to = tokens.next_text().ok_or("a text in quotes follows `with`")?;
            Ok(Change::Replace(from, to))
        }
        _ => Err("a change is `delay MS`, `fail STATUS`, `drop`, `cut BYTES`, `hold`, `hold reply`, `set NAME = VALUE` or `replace \"A\" with \"B\"`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Protocol;

    const BODY: &str =
        r#"{"model":"m-mini","messages":[{"role":"user","content":"a refund, please"}],"options":{"seed":1}}"#;

    fn apply(rules: &Rules) -> Changed {
        let request = CapturedRequest::read(Protocol::OpenAi, "/v1/chat/completions", BODY.as_bytes()).unwrap();
        rules.apply("openai", "/v1/chat/completions", BODY.as_bytes(), Some(&request))
    }

    fn body(rule: &str) -> String {
        let changed = apply(&Rules::read(rule).unwrap());
        changed.body.map(|body| String::from_utf8(body).unwrap()).unwrap_or_default()
    }

    #[test]
    fn a_request_that_fits_is_changed_and_others_are_not() {
        let fail = |rule: &str| apply(&Rules::read(rule).unwrap()).fail;
        let busy = Some((429, "a rule of the proxy".to_owned()));
        assert_eq!(fail("when model = m-mini: fail 429"), busy);
        assert_eq!(fail("when model ~ '^m-' and text ~ \"refund\": fail 429"), busy);
        assert_eq!(
            fail("when upstream != \"anthropic\" and path ~ completions: fail 500 \"it is down\""),
            Some((500, "it is down".into()))
        );
        for other in [
            "when model = other: fail 429",
            "when text !~ refund: fail 429",
            "when model = m-mini and text ~ rain: fail 429",
        ] {
            assert_eq!(apply(&Rules::read(other).unwrap()), Changed::default(), "{other}");
        }
    }

    #[test]
    fn a_rule_for_the_first_requests_ends_after_them() {
        let rules = Rules::read("# faults\n\nwhen model = m-mini first 2: fail 429; delay 5").unwrap();
        let seen: Vec<bool> = (0..4).map(|_| apply(&rules).fail.is_some()).collect();
        assert_eq!(seen, [true, true, false, false]);
    }

    #[test]
    fn bodies_are_changed_member_by_member() {
        assert!(body("when model ~ m: set model = \"other\"").starts_with(r#"{"model":"other","messages""#));
        assert!(
            body("when model ~ m: set options.seed = 7; set temperature = 0.5")
                .ends_with(r#""options":{"seed":7},"temperature":0.5}"#)
        );
        assert!(body("when text ~ refund: replace \"refund\" with \"gift\"").contains("a gift, please"));
        assert_eq!(body("when text ~ refund: replace \"absent\" with \"gift\""), "");
    }

    #[test]
    fn a_rule_holds_requests_or_replies() {
        let rules = Rules::read("when model = m-mini: hold\nwhen text ~ refund: set n = 2; hold reply").unwrap();
        assert_eq!(apply(&rules).holds, [HeldSide::Request, HeldSide::Reply]);
        assert_eq!(rules.holding(), Some("when model = m-mini: hold"));
        assert_eq!(Rules::read("when model = m: drop").unwrap().holding(), None);
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_named_with_its_line() {
        let rows = [
            ("if model = m: drop", "begins with `when`"),
            ("when colour = m: drop", "a condition begins with"),
            ("when model m: drop", "follows what is compared"),
            ("when model ~ '(': drop", "is not a regular expression"),
            ("when model = m drop", "`:` comes between"),
            ("when model = m: fail 200", "between 400 and 599"),
            ("when model = m: explode", "a change is"),
            ("when model = m: drop drop", "`;` comes between"),
            ("when model = 'm: drop", "is not closed"),
        ];
        for (text, expected) in rows {
            let error = Rules::read(&format!("\n{text}")).unwrap_err();
            assert!(error.to_string().starts_with("line 2: ") && error.message.contains(expected), "{error}");
        }
    }
}
