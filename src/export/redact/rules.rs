//! Redaction rules: what a person writes behind `--redact`, and what it means.

use std::ops::Range;

use regex::Regex;

use super::content::{BODIES, Group};
use crate::export::scan::scan;
use crate::model::Scrub;

/// Words that take out a kind of content, with what they take out.
pub const SELECTORS: &[(&str, &str)] = &[
    ("context", "the context, and each of its texts wherever it is repeated"),
    ("messages", "what was sent and what the model said"),
    ("arguments", "arguments of calls"),
    ("results", "what tools answered, and each text of it wherever it is repeated"),
    ("memory", "what programs defined, and the journal"),
    ("agent", "the agent's definition, schemas and tools"),
];

/// Words that say how much stays.
pub const POLICIES: &[(&str, &str)] = &[
    ("none", "nothing is taken out"),
    ("secrets", "known keys and what looks like a secret"),
    ("summary", "secrets, and of every text all but its start"),
    ("full", "secrets, and every text of prompts, replies, tools, programs and errors"),
];

/// Characters that stay of each text under the policy `summary`.
pub(super) const SUMMARY_CHARS: usize = 60;

/// How much of a body stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// All of it.
    Whole,
    /// Its start.
    Start,
    /// Nothing.
    Nothing,
}

/// Rules that are applied to every event before anything is rendered.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Keys of the configuration and the environment.
    known: Scrub,
    /// Known keys and shapes of secrets are taken out.
    secrets: bool,
    fields: Vec<Field>,
    patterns: Vec<(String, Regex)>,
    groups: Vec<Group>,
    start_only: bool,
}

/// Members of this name or at this path.
#[derive(Debug, Clone)]
struct Field {
    name: String,
    steps: Vec<String>,
    in_text: Regex,
}

impl Field {
    fn new(name: &str) -> Result<Self, String> {
        let steps: Vec<String> = name.split('.').map(str::to_owned).collect();
        if steps.iter().any(String::is_empty) {
            return Err(format!("`field:{name}`: write a name such as field:email or a path such as field:user.email"));
        }
        let last = regex::escape(steps.last().map_or("", String::as_str));
        let value = r#"(\\?"(?:[^"\\]|\\[^"])*\\?"|[^\s,;\]\)}"]+)"#;
        // JSON, PTC-Lisp, TOML and the like.
        let text = format!(r#"\\?"{last}\\?"\s*:\s*{value}|:{last}\s+{value}|\b{last}\s*[=:]\s*{value}"#);
        let in_text = Regex::new(&text).map_err(|error| format!("`field:{name}`: {error}"))?;
        Ok(Self { name: name.to_owned(), steps, in_text })
    }

    fn fits(&self, path: &[String]) -> bool {
        let names: Vec<&String> = path.iter().filter(|step| step.parse::<usize>().is_err()).collect();
        names.len() >= self.steps.len()
            && names[names.len() - self.steps.len()..].iter().zip(&self.steps).all(|(a, b)| *a == b)
    }
}

impl Rules {
    /// Reads what was written: policies, selectors, `field:NAME`, `field:A.B` and `regex:EXPRESSION`. Words are separated by commas;
    /// an expression takes all of its argument. `known` are the keys of this machine.
    ///
    /// Errors name the word and what can be written.
    pub fn parse(written: &[String], known: Scrub) -> Result<Self, String> {
        let mut rules = Self { known, ..Self::default() };
        for argument in written {
            if let Some(expression) = argument.strip_prefix("regex:") {
                let pattern = Regex::new(expression)
                    .map_err(|error| format!("`{argument}` is no regular expression: {error}"))?;
                if pattern.is_match("") {
                    return Err(format!("`{argument}` fits the empty text; write one that fits only what is to go"));
                }
                rules.patterns.push((argument.clone(), pattern));
                continue;
            }
            argument.split(',').map(str::trim).filter(|word| !word.is_empty()).try_for_each(|word| rules.add(word))?;
        }
        Ok(rules)
    }

    fn add(&mut self, word: &str) -> Result<(), String> {
        match word {
            "none" => {}
            "secrets" => self.secrets = true,
            "summary" | "full" => {
                self.secrets = true;
                self.start_only |= word == "summary";
                self.groups.extend(BODIES);
            }
            "context" => self.groups.push(Group::Context),
            "messages" => self.groups.extend([Group::Messages, Group::Replies]),
            "arguments" => self.groups.push(Group::Arguments),
            "results" => self.groups.push(Group::Results),
            "memory" => self.groups.push(Group::Memory),
            "agent" => self.groups.push(Group::Agent),
            _ => match word.strip_prefix("field:") {
                Some(name) => self.fields.push(Field::new(name)?),
                None => return Err(unknown(word)),
            },
        }
        Ok(())
    }

    /// Only what looks like a secret: the rules of the scan.
    pub fn scan(known: Scrub) -> Self {
        Self { known, secrets: true, ..Self::default() }
    }

    /// Nothing is taken out.
    pub fn is_empty(&self) -> bool {
        !self.secrets && self.fields.is_empty() && self.patterns.is_empty() && self.groups.is_empty()
    }

    /// How much stays of a group.
    pub(super) fn body(&self, group: Group) -> Body {
        match (self.groups.contains(&group), self.start_only) {
            (false, _) => Body::Whole,
            (true, true) => Body::Start,
            (true, false) => Body::Nothing,
        }
    }

    /// Is what stands at this path repeated elsewhere as text, so that it must go there too?
    pub(super) fn spreads(&self, group: Group) -> bool {
        matches!(group, Group::Context | Group::Results) && self.body(group) == Body::Nothing
    }

    /// The rule of fields that names this path.
    pub(super) fn field(&self, path: &[String]) -> Option<String> {
        self.fields.iter().find(|field| field.fits(path)).map(|field| format!("field:{}", field.name))
    }

    /// Where a text holds what must go, and by which rule. `name` is the name under which it stands.
    pub(super) fn find(&self, text: &str, name: Option<&str>) -> Vec<(Range<usize>, String)> {
        let mut found = Vec::new();
        if self.secrets {
            found.extend(self.known.find(text).into_iter().map(|range| (range, "known_secret".to_owned())));
            found.extend(scan(text, name).into_iter().map(|(range, rule)| (range, rule.to_owned())));
        }
        for field in &self.fields {
            let places = field.in_text.captures_iter(text);
            let places =
                places.filter_map(|captures| captures.iter().skip(1).flatten().next().map(|place| place.range()));
            found.extend(places.map(|range| (range, format!("field:{}", field.name))));
        }
        for (name, pattern) in &self.patterns {
            found.extend(
                pattern.find_iter(text).filter(|place| !place.is_empty()).map(|place| (place.range(), name.clone())),
            );
        }
        found
    }
}

fn unknown(word: &str) -> String {
    let names: Vec<&str> = POLICIES.iter().chain(SELECTORS).map(|(name, _)| *name).collect();
    let near = ptc_core::text::nearest(word, names.iter().copied());
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    format!("there is no redaction {word:?}: write {}, field:NAME or regex:EXPRESSION{near}", names.join(", "))
}
