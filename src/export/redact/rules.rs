//! Redaction rules: the arguments of `--redact` and their meaning.

use std::ops::Range;

use regex::Regex;

use super::content::{BODIES, Group};
use crate::export::scan::scan;
use crate::model::{Scrub, search_decoded};

/// A word that `--redact` accepts.
#[derive(Debug, Clone, Copy)]
pub struct Redaction {
    /// The word.
    pub name: &'static str,
    /// Description of the removed content.
    pub meaning: &'static str,
    /// Kinds of content that it removes.
    groups: &'static [Group],
    /// Secrets go as well.
    secrets: bool,
    /// The start of each text stays.
    starts: bool,
}

const fn selector(name: &'static str, meaning: &'static str, groups: &'static [Group]) -> Redaction {
    Redaction { name, meaning, groups, secrets: false, starts: false }
}

/// Every word.
pub const REDACTIONS: &[Redaction] = &[
    selector("none", "nothing", &[]),
    Redaction { secrets: true, ..selector("secrets", "known keys and what looks like a secret", &[]) },
    Redaction {
        secrets: true,
        starts: true,
        ..selector("summary", "secrets, and every text except its start", BODIES)
    },
    Redaction {
        secrets: true,
        ..selector("full", "secrets, and every text of prompts, replies, tools, programs and errors", BODIES)
    },
    selector("context", "the context, and each of its texts wherever it is repeated", &[Group::Context]),
    selector("messages", "requests and replies", &[Group::Messages, Group::Replies]),
    selector("arguments", "arguments of calls", &[Group::Arguments]),
    selector("results", "tool results, and each of their texts wherever it is repeated", &[Group::Results]),
    selector("memory", "definitions of programs, and the journal", &[Group::Memory]),
    selector("agent", "the agent's definition, schemas and tools", &[Group::Agent]),
];

/// Characters that stay of each text under the policy `summary`.
pub(super) const SUMMARY_CHARS: usize = 60;

/// Remaining part of a body.
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
    /// Removes known keys and likely secrets.
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
        // JSON, PTC-Lisp, TOML and the like; `name :type` of a signature is not a value.
        let text = format!(r#"\\?"{last}\\?"\s*:\s*{value}|:{last}\s+{value}|\b{last}(?:\s*=\s*|:\s+){value}"#);
        let in_text = Regex::new(&text).map_err(|error| format!("`field:{name}`: {error}"))?;
        Ok(Self { name: name.to_owned(), steps, in_text })
    }

    fn fits(&self, path: &[String]) -> bool {
        let names: Vec<&String> = path.iter().filter(|step| step.parse::<usize>().is_err()).collect();
        names.len() >= self.steps.len()
            && names[names.len() - self.steps.len()..].iter().zip(&self.steps).all(|(a, b)| *a == b)
    }
}

fn is_rule(word: &str) -> bool {
    word.starts_with("field:")
        || word.starts_with("regex:")
        || REDACTIONS.iter().any(|redaction| redaction.name == word)
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
                    .map_err(|error| format!("`{argument}` is not a regular expression: {error}"))?;
                if pattern.is_match("") {
                    return Err(format!(
                        "`{argument}` matches empty text; write one that matches only the text to remove"
                    ));
                }
                rules.patterns.push((argument.clone(), pattern));
                continue;
            }
            argument.split(',').map(str::trim).filter(|word| !word.is_empty()).try_for_each(|word| rules.add(word))?;
        }
        Ok(rules)
    }

    fn add(&mut self, word: &str) -> Result<(), String> {
        if let Some(redaction) = REDACTIONS.iter().find(|redaction| redaction.name == word) {
            self.groups.extend(redaction.groups);
            self.secrets |= redaction.secrets;
            self.start_only |= redaction.starts;
            return Ok(());
        }
        let name = word.strip_prefix("field:").ok_or_else(|| unknown(word))?;
        // A name may hold spaces, but one that ends in a rule was meant as two: nothing may stay in by a missing comma.
        if let Some(second) = name.split_whitespace().skip(1).find(|part| is_rule(part)) {
            return Err(format!("`{word}`: write a comma before `{second}`"));
        }
        self.fields.push(Field::new(name)?);
        Ok(())
    }

    /// Only what looks like a secret: the rules of the scan.
    pub fn scan(known: Scrub) -> Self {
        Self { known, secrets: true, ..Self::default() }
    }

    /// Returns whether these are the rules of the scan, which examines the content of an export.
    pub(super) fn is_scan(&self) -> bool {
        self.secrets && self.fields.is_empty() && self.patterns.is_empty() && self.groups.is_empty()
    }

    /// Returns whether nothing is removed.
    pub fn is_empty(&self) -> bool {
        !self.secrets && self.fields.is_empty() && self.patterns.is_empty() && self.groups.is_empty()
    }

    /// Returns the remaining part of the texts of a group.
    pub(super) fn body(&self, group: Group) -> Body {
        match (self.groups.contains(&group), self.start_only) {
            (false, _) => Body::Whole,
            (true, true) => Body::Start,
            (true, false) => Body::Nothing,
        }
    }

    /// Returns whether the texts of a group are repeated elsewhere, so that they must be removed there too.
    pub(super) fn spreads(&self, group: Group) -> bool {
        matches!(group, Group::Context | Group::Results) && self.body(group) == Body::Nothing
    }

    /// The rule of fields that names this path of data; `own` steps of it are the event's, whose fields have names of their own.
    pub(super) fn field(&self, path: &[String], own: usize) -> Option<String> {
        self.fields
            .iter()
            .filter(|_| path.len() > own)
            .find(|field| field.fits(path))
            .map(|field| format!("field:{}", field.name))
    }

    /// Returns the parts of a text that look like a secret, if secrets are removed. Known keys are not among them: they are searched
    /// for in every text.
    pub(super) fn secrets_in<'t>(&self, text: &'t str, name: Option<&str>) -> Vec<&'t str> {
        if !self.secrets {
            return Vec::new();
        }
        scan(text, name).into_iter().filter_map(|(range, _)| text.get(range)).collect()
    }

    /// The positions of known secrets that adjacent texts make together, by text.
    pub(super) fn known_across(&self, texts: &[&str]) -> Vec<Vec<Range<usize>>> {
        if self.secrets { self.known.find_across(texts) } else { vec![Vec::new(); texts.len()] }
    }

    /// The positions in a text that must be removed, and by which rule. `name` is the name of the text.
    pub(super) fn find(&self, text: &str, name: Option<&str>, group: Group) -> Vec<(Range<usize>, String)> {
        let mut found = Vec::new();
        if self.secrets {
            found.extend(self.known.find(text).into_iter().map(|range| (range, "known_secret".to_owned())));
            found.extend(scan(text, name).into_iter().map(|(range, rule)| (range, rule.to_owned())));
        }
        if group == Group::Shape {
            return found;
        }
        for (name, pattern) in &self.patterns {
            found.extend(search_decoded(text, |text| {
                let places = pattern.find_iter(text).filter(|place| !place.is_empty());
                places.map(|place| (place.range(), name.clone())).collect()
            }));
        }
        if group == Group::Identifiers {
            return found;
        }
        for field in &self.fields {
            let places = field.in_text.captures_iter(text);
            let places =
                places.filter_map(|captures| captures.iter().skip(1).flatten().next().map(|place| place.range()));
            found.extend(places.map(|range| (range, format!("field:{}", field.name))));
        }
        found
    }
}

fn unknown(word: &str) -> String {
    let names: Vec<&str> = REDACTIONS.iter().map(|redaction| redaction.name).collect();
    let near = ptc_core::text::did_you_mean(word, names.iter().copied());
    format!("unknown redaction {word:?}: write {}, field:NAME or regex:EXPRESSION{near}", names.join(", "))
}
