//! Typed reading of a document: an entry has a key, a position and a value, and creates errors for them.
//!
//! Tables are read with a list of their keys ([`Key`]): an unknown key is an error that suggests the nearest one.

use ptc_core::limits::Limit;
use ptc_core::text::{Span, did_you_mean};
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::body_member::extra_body_advice;
use super::{KeyDoc, KeyTable, Problem, Problems};

/// Lists of known names up to this length are printed in full when no name is near.
const MAX_LISTED: usize = 16;

/// A value of a document with its path.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The key with its parent tables: `model_options.temperature`.
    pub path: String,
    /// The key.
    pub key: &'a str,
    /// Position of the key.
    pub key_span: Span,
    /// The value.
    pub json: &'a Json,
    /// The tables of the file, for keys in the wrong one.
    pub tables: fn() -> Vec<KeyTable>,
}

/// A key of a table, and how its value is read.
pub struct Key<T> {
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub about: KeyDoc,
    /// Reads the value into the target; errors are added to the problems.
    pub read: fn(&Entry<'_>, &mut T, &mut Problems),
}

/// Returns the documentation of a table.
pub fn key_table<T>(title: impl Into<String>, keys: &[Key<T>]) -> KeyTable {
    KeyTable::of(title, keys.iter().map(|key| (key.name, key.about)))
}

/// Values with stable names.
pub struct Names<'a, T> {
    /// Their description in messages: `mode`.
    pub what: &'a str,
    /// The names with their values.
    pub rows: &'a [(&'a str, T)],
}

impl<'a> Entry<'a> {
    /// Creates the entry of the document itself.
    pub fn root(json: &'a Json) -> Self {
        Self::root_with(json, Vec::new)
    }

    /// Creates the entry of a document with these tables: the error for a key in the wrong table names the right one.
    pub fn root_with(json: &'a Json, tables: fn() -> Vec<KeyTable>) -> Self {
        Self { path: String::new(), key: "", key_span: json.span, json, tables }
    }

    /// Creates an error for the value.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { key: self.path.clone(), span: self.json.span, message: message.into() }
    }

    /// Creates the error for a value of the wrong type.
    pub fn expected(&self, what: &str) -> Problem {
        self.problem(format!("`{}` must be {what}, found {}", self.path, found(self.json)))
    }

    /// Reads text.
    pub fn text(&self) -> Result<String, Problem> {
        self.json.as_str().map(str::to_owned).ok_or_else(|| self.expected("text in quotes"))
    }

    /// Reads text that is not blank.
    pub fn non_blank_text(&self) -> Result<String, Problem> {
        let text = self.text()?;
        if text.trim().is_empty() { Err(self.problem(format!("`{}` must not be empty", self.path))) } else { Ok(text) }
    }

    /// Reads true or false.
    pub fn flag(&self) -> Result<bool, Problem> {
        match self.json.node {
            Node::Bool(truth) => Ok(truth),
            _ => Err(self.expected("true or false")),
        }
    }

    /// Reads a whole number from 0.
    pub fn count(&self) -> Result<u64, Problem> {
        match self.json.node {
            Node::Int(int) => u64::try_from(int)
                .map_err(|_| self.problem(format!("`{}` must not be negative, found {int}", self.path))),
            _ => Err(self.expected("a whole number")),
        }
    }

    /// Reads a port.
    pub fn port(&self) -> Result<u16, Problem> {
        let port = u16::try_from(self.count()?).ok().filter(|port| *port > 0);
        port.ok_or_else(|| self.expected("a port from 1 to 65535"))
    }

    /// Reads a number in the range of a limit.
    pub fn limit(&self, limit: &Limit) -> Result<u64, Problem> {
        match self.json.node {
            Node::Int(int) => u64::try_from(int)
                .ok()
                .filter(|number| (limit.min..=limit.max).contains(number))
                .ok_or_else(|| self.problem(out_of_range(&self.path, limit, int))),
            _ => Err(self.expected(&format!("a whole number of {}", limit.unit))),
        }
    }

    /// Reads a number.
    pub fn number(&self) -> Result<f64, Problem> {
        match self.json.node {
            #[expect(clippy::cast_precision_loss, reason = "options and prices are doubles on the wire")]
            Node::Int(int) => Ok(int as f64),
            Node::Float(float) => Ok(float),
            _ => Err(self.expected("a number")),
        }
    }

    /// Reads a number that is not negative.
    pub fn amount(&self) -> Result<f64, Problem> {
        let number = self.number()?;
        if number < 0.0 {
            return Err(self.problem(format!("`{}` must not be negative, found {number}", self.path)));
        }
        Ok(number)
    }

    /// Reads one of the named values.
    pub fn named<T: Copy>(&self, names: &Names<'_, T>) -> Result<T, Problem> {
        let text = self.text()?;
        let row = names.rows.iter().find(|(name, _)| *name == text);
        row.map(|(_, thing)| *thing).ok_or_else(|| {
            let known: Vec<&str> = names.rows.iter().map(|(name, _)| *name).collect();
            self.problem(format!("unknown {} `{text}`{}", names.what, advice(&text, &known)))
        })
    }

    /// Reads a list of texts; a single text counts as a list of one.
    pub fn texts(&self) -> Result<Vec<String>, Problem> {
        let wrong = || self.expected("a list of strings");
        match &self.json.node {
            Node::Str(text) => Ok(vec![text.clone()]),
            Node::List(items) => items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect(),
            _ => Err(wrong()),
        }
    }

    /// Reads the entries of a table.
    pub fn entries(&self) -> Result<Vec<Entry<'a>>, Problem> {
        let members = self.json.members().ok_or_else(|| self.expected("a table"))?;
        let path = |key: &str| if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Ok(members
            .iter()
            .map(|member| Entry {
                path: path(&member.key),
                key: &member.key,
                key_span: member.key_span,
                json: &member.value,
                tables: self.tables,
            })
            .collect())
    }

    /// Reads a table of texts, in order.
    pub fn text_table(&self) -> Result<Vec<(String, String)>, Problem> {
        self.entries()?.iter().map(|entry| Ok((entry.key.to_owned(), entry.text()?))).collect()
    }

    /// Creates the error for a missing key of this table.
    pub fn missing(&self, name: &str) -> Problem {
        let message = format!("[{}] needs the key `{name}`", self.path);
        Problem { key: format!("{}.{name}", self.path), span: self.key_span, message }
    }

    /// Creates the error for an unknown key.
    pub fn unknown(&self, known: &[&str]) -> Problem {
        let table = self.path.strip_suffix(self.key).unwrap_or_default().trim_end_matches('.');
        let place = if table.is_empty() { String::new() } else { format!(" in [{table}]") };
        let advice = self
            .type_advice(known)
            .or_else(|| extra_body_advice(self.key, self.json, known))
            .or_else(|| alias(self.key, known))
            .or_else(|| belongs_in(self.key, &(self.tables)()))
            .unwrap_or_else(|| advice(self.key, known));
        let message = format!("unknown key `{}`{place}{advice}", self.key);
        Problem { key: self.path.clone(), span: self.key_span, message }
    }

    /// Suggests `signature` for an output that is a type: in other programs `output` is the mode as well.
    fn type_advice(&self, known: &[&str]) -> Option<String> {
        let is_type = self.json.as_str()?.trim_start().starts_with([':', '{', '[', '(']);
        (self.key == "output" && is_type && known.contains(&"signature"))
            .then(|| "; did you mean `signature`?".to_owned())
    }
}

/// Reads a table into `target`. Errors are added to the problems; reading continues.
pub fn read_table<T>(entry: &Entry<'_>, keys: &[Key<T>], target: &mut T, problems: &mut Problems) {
    let Some(entries) = problems.take(entry.entries()) else { return };
    for entry in entries {
        match keys.iter().find(|key| key.name == entry.key) {
            Some(key) => (key.read)(&entry, target, problems),
            None => problems.push(entry.unknown(&keys.iter().map(|key| key.name).collect::<Vec<_>>())),
        }
    }
}

/// Stores the value of a result, or adds its error to the problems.
pub fn set<T>(slot: &mut T, result: Result<T, Problem>, problems: &mut Problems) {
    if let Some(value) = problems.take(result) {
        *slot = value;
    }
}

/// Returns the message for a number outside a limit's range.
pub(crate) fn out_of_range(name: &str, limit: &Limit, found: impl std::fmt::Display) -> String {
    format!("`{name}` must be between {} and {} {}, found {found}", limit.min, limit.max, limit.unit)
}

/// Key names of other programs and older versions, with the current names.
const ALIASES: [(&str, &str); 22] = [
    ("url", "base_url"),
    ("url", "otlp_endpoint"),
    ("base_url", "url"),
    ("model", "default_model"),
    ("max_completion_tokens", "max_tokens"),
    ("max_output_tokens", "max_tokens"),
    ("reasoning_effort", "reasoning"),
    ("output", "mode"),
    ("llm", "model"),
    ("timeout", "program_timeout_ms"),
    ("pmap_timeout", "pmap_timeout_ms"),
    ("mission_timeout", "mission_timeout_ms"),
    ("max_heap", "program_memory_bytes"),
    ("memory_limit", "memory_bytes"),
    ("completion_mode", "completion"),
    ("implicit", "return_required"),
    ("ptc_transport", "transport"),
    ("ptc_reference", "reference"),
    ("llm_retry", "retry"),
    ("initial_memory", "memory"),
    ("progress_fn", "progress"),
    ("return_retries", "retry_turns"),
];

/// Returns `; did you mean …?`, or the known names if there are few.
pub(crate) fn advice(name: &str, known: &[&str]) -> String {
    if let Some(meant) = alias(name, known) {
        return meant;
    }
    let near = did_you_mean(name, known.iter().copied());
    if !near.is_empty() || known.len() > MAX_LISTED {
        return near;
    }
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("; known: {}", known.join(", "))
}

/// Returns `; did you mean …?` for a name of another program or an older version.
fn alias(name: &str, known: &[&str]) -> Option<String> {
    let (_, here) = ALIASES.iter().find(|(alias, here)| *alias == name && known.contains(here))?;
    Some(format!("; did you mean `{here}`?"))
}

/// Returns `; it belongs in [TABLE]` for a key of one other table: in TOML, what follows a `[table]` is a key of that table.
pub(crate) fn belongs_in(name: &str, tables: &[KeyTable]) -> Option<String> {
    // Titles of tables inside of others are words.
    let is_own = |table: &KeyTable| table.title.is_empty() || table.title.starts_with('[');
    let has = |table: &&KeyTable| is_own(table) && table.lines.iter().any(|line| line.name == name);
    let titles: Vec<&str> = tables.iter().filter(has).map(|table| table.title.as_str()).collect();
    match titles.as_slice() {
        [""] => Some("; it belongs at the top, above the first [table]".to_owned()),
        [title] if title.starts_with('[') && title.ends_with(']') => Some(format!("; it belongs in {title}")),
        _ => None,
    }
}

/// Returns the name that [`advice`] or a signature or template error suggests.
pub(crate) fn suggested_name(message: &str) -> Option<&str> {
    let (_, rest) = message.rsplit_once("did you mean ")?;
    let (name, _) = rest.split_once('?')?;
    Some(name.trim_matches('`')).filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))
}

fn found(json: &Json) -> &'static str {
    match json.node {
        Node::Null => "nothing",
        Node::Bool(_) => "true or false",
        Node::Int(_) | Node::Big(_) => "an integer",
        Node::Float(_) => "a number with a fraction",
        Node::Str(_) => "text",
        Node::List(_) => "a list",
        Node::Object(_) => "a table",
    }
}
