//! Rules: what happens to requests that fit, so that a client's behaviour under faults can be tried.
//!
//! In: lines such as `when model = "m" and text ~ "refund" first 2: fail 429`. Out: the changes of a request. It must never change a
//! request that no rule names.

mod reader;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ptc_core::text::did_you_mean;
use ptc_core::value::Json;
use ptc_core::value::json::Node;
use regex::Regex;

use super::hold::HeldSide;
use super::upstreams::Upstreams;
use crate::event::MessagePart;
use crate::model::{CapturedRequest, body_json};

/// Error in a file of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesError {
    /// From 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
}

impl std::fmt::Display for RulesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for RulesError {}

/// Part of a request that a condition tests.
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

/// Effect of a rule on a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// It waits.
    Delay(Duration),
    /// It is answered with this status, in the words of an error.
    Fail(u16, String),
    /// Its connection is closed without an answer.
    Drop,
    /// The connection is closed after this many bytes of the reply's body.
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
    /// Its line in the file, from 1.
    line: usize,
    /// As it is written.
    text: String,
    conditions: Vec<Condition>,
    /// Number of requests that it applies to; `None`: all.
    first: Option<usize>,
    used: AtomicUsize,
    changes: Vec<Change>,
}

/// The rules of a proxy, in order.
#[derive(Debug, Default)]
pub struct Rules(Vec<Rule>);

/// Effects of the rules on a request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RuleEffects {
    /// The new body, when it was changed.
    pub(super) body: Option<Vec<u8>>,
    /// Time that it waits.
    pub(super) delay: Duration,
    /// Status and message of the error that answers it.
    pub(super) fail: Option<(u16, String)>,
    /// Its connection is closed.
    pub(super) is_dropped: bool,
    /// Bytes of the reply after which the connection is closed.
    pub(super) cut: Option<usize>,
    /// Parts of the exchange that wait for the user.
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
        let rules =
            lines.map(|(line, text)| reader::rule(line, text.trim()).map_err(|message| RulesError { line, message }));
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses rules for upstreams that do not exist, which would never apply.
    pub fn check(&self, upstreams: &Upstreams) -> Result<(), RulesError> {
        let names: Vec<&str> = upstreams.all().iter().map(|upstream| upstream.name.as_str()).collect();
        for rule in &self.0 {
            let never = rule.conditions.iter().find(|condition| condition.fits_no_upstream(&names));
            if let Some(condition) = never {
                return Err(RulesError { line: rule.line, message: condition.test.unknown_upstream(&names) });
            }
        }
        Ok(())
    }

    /// The first rule that holds something for the user.
    pub fn holding(&self) -> Option<&str> {
        let holds = |rule: &&Rule| rule.changes.iter().any(|change| matches!(change, Change::Hold(_)));
        self.0.iter().find(holds).map(|rule| rule.text.as_str())
    }

    /// Applies all rules that fit, in order.
    pub(super) fn apply(
        &self,
        upstream: &str,
        path: &str,
        body: &[u8],
        request: Option<&CapturedRequest>,
    ) -> RuleEffects {
        let fits = |rule: &Rule| rule.conditions.iter().all(|condition| condition.fits(upstream, path, request));
        self.apply_fitting(fits, body)
    }

    /// Applies the rules that match a non-chat request: those that name its path, and neither a model nor a text.
    pub(super) fn apply_to_other(&self, upstream: &str, path: &str, body: &[u8]) -> RuleEffects {
        let fits = |rule: &Rule| {
            rule.conditions.iter().any(|condition| condition.subject == Subject::Path)
                && rule.conditions.iter().all(|condition| {
                    matches!(condition.subject, Subject::Path | Subject::Upstream)
                        && condition.fits(upstream, path, None)
                })
        };
        self.apply_fitting(fits, body)
    }

    fn apply_fitting(&self, fits: impl Fn(&Rule) -> bool, body: &[u8]) -> RuleEffects {
        let mut effects = RuleEffects::default();
        for rule in &self.0 {
            if !fits(rule) {
                continue;
            }
            if rule.first.is_some_and(|first| rule.used.fetch_add(1, Ordering::Relaxed) >= first) {
                continue;
            }
            effects.notices.push(format!("a rule of the proxy: {}", rule.text));
            for change in &rule.changes {
                match change {
                    Change::Delay(delay) => effects.delay += *delay,
                    Change::Fail(status, message) => effects.fail = Some((*status, message.clone())),
                    Change::Drop => effects.is_dropped = true,
                    Change::Cut(bytes) => effects.cut = Some(*bytes),
                    Change::Hold(side) => effects.holds.push(*side),
                    Change::Set(path, value) => {
                        let before = effects.body.as_deref().unwrap_or(body);
                        match set(before, path, value) {
                            Ok(new) => effects.body = Some(new),
                            Err(why) => effects.notices.push(format!("`set {path}` changed nothing: {why}")),
                        }
                    }
                    Change::Replace(from, to) => {
                        let before = effects.body.as_deref().unwrap_or(body);
                        effects.body = replace(before, from, to).or(effects.body);
                    }
                }
            }
        }
        effects
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

    /// Returns whether it requires an upstream that is not among these.
    fn fits_no_upstream(&self, names: &[&str]) -> bool {
        self.subject == Subject::Upstream && !self.is_negated && !names.iter().any(|name| self.test.fits(name))
    }
}

impl Test {
    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Is(expected) => text == expected,
            Self::Matches(pattern) => pattern.is_match(text),
        }
    }

    /// The error for a test that none of these upstreams passes.
    fn unknown_upstream(&self, names: &[&str]) -> String {
        let known = || {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("; the upstreams are {}", names.join(", "))
        };
        match self {
            Self::Is(name) => {
                let near = did_you_mean(name, names.iter().copied());
                format!("unknown upstream `{name}`{}", if near.is_empty() { known() } else { near })
            }
            Self::Matches(pattern) => format!("no upstream matches `{pattern}`{}", known()),
        }
    }
}

/// The body with a part set at a path of member names and indexes of lists (from 0), separated by dots.
///
/// Errors: the body is not JSON, a list has no such item, or the path leads through a text, number or truth value.
fn set(body: &[u8], path: &str, value: &Json) -> Result<Vec<u8>, String> {
    let json = body_json(body).map_err(|_| "the body is not JSON")?;
    Ok(with_part(&json, path, value)?.to_text().into_bytes())
}

/// A copy with the part at a path set. A missing member, or null, becomes an object where the path is longer.
fn with_part(json: &Json, path: &str, value: &Json) -> Result<Json, String> {
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    let part = |old: &Json| rest.map_or_else(|| Ok(value.clone()), |rest| with_part(old, rest, value));
    match &json.node {
        Node::Object(_) => {
            let part = part(json.get(key).unwrap_or(&Json::default()))?;
            Ok(json.clone().with(key, part))
        }
        Node::Null => Ok(Json::empty().with(key, part(&Json::default())?)),
        Node::List(items) => {
            let index = key.parse::<usize>().ok().filter(|index| *index < items.len());
            let index = index.ok_or_else(|| format!("the list has no item `{key}`"))?;
            let items =
                items.iter().enumerate().map(|(at, item)| if at == index { part(item) } else { Ok(item.clone()) });
            Ok(Json::list(items.collect::<Result<Vec<_>, String>>()?))
        }
        _ => Err(format!("the parent of `{key}` is neither an object nor a list")),
    }
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
    let json = body_json(body).ok()?;
    let new = within(&json, from, to);
    (new != json).then(|| new.to_text().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Protocol};

    const BODY: &str =
        r#"{"model":"m-mini","messages":[{"role":"user","content":"a refund, please"}],"options":{"seed":1}}"#;

    fn apply(rules: &Rules) -> RuleEffects {
        let request = CapturedRequest::read(Protocol::OpenAi, "/v1/chat/completions", BODY.as_bytes()).unwrap();
        rules.apply("openai", "/v1/chat/completions", BODY.as_bytes(), Some(&request))
    }

    fn body(rule: &str) -> String {
        let effects = apply(&Rules::read(rule).unwrap());
        effects.body.map(|body| String::from_utf8(body).unwrap()).unwrap_or_default()
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
            assert_eq!(apply(&Rules::read(other).unwrap()), RuleEffects::default(), "{other}");
        }
    }

    #[test]
    fn a_rule_for_the_first_requests_ends_after_them() {
        let rules = Rules::read("# faults\n\nwhen model = m-mini first 2: fail 429; delay 5").unwrap();
        let seen: Vec<bool> = (0..4).map(|_| apply(&rules).fail.is_some()).collect();
        assert_eq!(seen, [true, true, false, false]);
    }

    #[test]
    fn requests_that_ask_no_model_are_changed_by_rules_for_their_path() {
        let fail = |rule: &str| {
            Rules::read(rule).unwrap().apply_to_other("openai", "/v1/embeddings", b"{}").fail.map(|(status, _)| status)
        };
        assert_eq!(fail("when path ~ embeddings: fail 503"), Some(503));
        assert_eq!(fail("when upstream = openai and path = /v1/embeddings: fail 503"), Some(503));
        for other in [
            "when path ~ chat: fail 503",
            "when upstream = openai: fail 503",
            "when path ~ embeddings and model != m: fail 503",
            "when path ~ embeddings and text !~ x: fail 503",
        ] {
            assert_eq!(fail(other), None, "{other}");
        }
    }

    #[test]
    fn bodies_are_changed_member_by_member() {
        assert!(body("when model ~ m: set model = \"other\"").starts_with(r#"{"model":"other","messages""#));
        assert!(
            body("when model ~ m: set options.seed = 7; set temperature = 0.5")
                .ends_with(r#""options":{"seed":7},"temperature":0.5}"#)
        );
        assert!(
            body("when model ~ m: set messages.0.content = \"changed\"")
                .contains(r#""messages":[{"role":"user","content":"changed"}]"#)
        );
        assert!(body("when model ~ m: set logit_bias.50256 = -1").ends_with(r#","logit_bias":{"50256":-1}}"#));
        assert!(body("when text ~ refund: replace \"refund\" with \"gift\"").contains("a gift, please"));
        assert_eq!(body("when text ~ refund: replace \"absent\" with \"gift\""), "");
    }

    #[test]
    fn a_part_that_cannot_be_set_changes_nothing_and_is_reported() {
        let rows = [
            ("messages.1.content", "the list has no item `1`"),
            ("messages.role", "the list has no item `role`"),
            ("model.name", "the parent of `name` is neither an object nor a list"),
            ("options.seed.value", "the parent of `value` is neither an object nor a list"),
        ];
        for (path, why) in rows {
            let rule = format!("when model ~ m: set {path} = 1");
            let effects = apply(&Rules::read(&rule).unwrap());
            assert_eq!(effects.body, None, "{path}");
            assert_eq!(
                effects.notices,
                [format!("a rule of the proxy: {rule}"), format!("`set {path}` changed nothing: {why}")]
            );
        }
    }

    #[test]
    fn a_rule_for_an_upstream_that_does_not_exist_is_refused() {
        let config = Config::from_toml("", "config.toml", &|_: &str| None).unwrap();
        let upstreams = Upstreams::read(&[], &config).unwrap();
        let check = |rule: &str| Rules::read(rule).unwrap().check(&upstreams).map_err(|error| error.to_string());
        for rule in ["when upstream = openai: drop", "when upstream ~ '^a': drop", "when upstream != other: drop"] {
            assert_eq!(check(rule), Ok(()), "{rule}");
        }
        let near = "line 2: unknown upstream `opnai`; did you mean `openai`?";
        assert_eq!(check("\nwhen model = m and upstream = opnai: drop"), Err(near.to_owned()));
        let far = "line 1: no upstream matches `work`; the upstreams are `openai`, `anthropic`, `gemini`, `ollama`";
        assert_eq!(check("when upstream ~ work: drop"), Err(far.to_owned()));
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
            ("when model: drop", "follows what is compared"),
            ("when model == \"gpt\": drop", "`==` is not a comparison: write `=`"),
            ("when model !== gpt: drop", "`!==` is not a comparison: write `!=`"),
            ("when model =~ gpt: drop", "`=~` is not a comparison: write `~`"),
            ("when model = m or text ~ x: drop", "joined by `and` only"),
            (
                "when path = chat/completions: drop",
                "write `path = /chat/completions`, or `path ~ \"chat/completions\"`",
            ),
            ("when model ~ '(': drop", "is not a regular expression"),
            ("when model = m drop", "`:` must separate the conditions from the actions"),
            ("when model = m: fail 200", "between 400 and 599"),
            ("when model = m: fail 429 x", "`x` follows `fail 429`: the message of a failure is a string in quotes"),
            ("when model = m: explode", "an action is"),
            ("when model = m: drop drop", "`;` must separate two actions"),
            ("when model = 'm: drop", "is not closed"),
        ];
        for (text, expected) in rows {
            let error = Rules::read(&format!("\n{text}")).unwrap_err();
            assert!(error.to_string().starts_with("line 2: ") && error.message.contains(expected), "{error}");
        }
    }
}
