//! Redaction inside an agent file: its values are replaced, so that what is left is still an agent file.
//!
//! In: the text of an agent file and rules. Out: the text with masks in place of values; `None` when it is not TOML, and is redacted as a
//! text. Words that the agent needs to be valid (mode, signature, kinds of tools) and the names of its inputs stay. Comments are removed.

use ptc_core::value::Json;
use toml_edit::{Decor, DocumentMut, Item, TableLike, Value};

use super::content::Group;
use super::rules::Body;
use super::walk::{CONTENT, Hit, Walk, excerpt, removed_bytes, without};

/// Keys whose values hold an agent together: names, words and types. Below the tables of [`DATA`] they are data.
const STRUCTURE: &[&str] = &[
    "name",
    "mode",
    "model",
    "fallback",
    "kind",
    "signature",
    "signature_validation",
    "completion",
    "transport",
    "dialect",
    "reference",
    "memory_strategy",
    "tools_in",
    "on_budget_exceeded",
    "on_protocol_failure",
    "builtin_tools",
    "returns",
    "expose",
    "server",
    "tool",
    "method",
    "url",
    "reasoning",
    "refs",
    "path",
    "id",
    "trigger",
    "role",
];

/// Tables of data.
const DATA: &[&str] = &["context", "rows", "args", "result", "headers"];

/// Keys and tables whose texts are PTC-Lisp: the mask is a text in a program.
const PROGRAMS: &[&str] = &["memory", "program", "expect", "progress", "expr", "code"];

/// Returns the redacted agent file.
pub(super) fn redact(text: &str, walk: &Walk<'_>, path: &[String], hits: &mut Vec<Hit>) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let mut state = Redactor { walk, path: path.to_vec(), own: path.len(), hits: Vec::new() };
    state.table(document.as_table_mut());
    if !state.hits.is_empty() || text.contains('#') {
        drop_comments(document.as_table_mut());
        document.set_trailing("");
    }
    let is_whole = state.hits.is_empty() && walk.rules.body(Group::Messages) == Body::Whole;
    let changed = if is_whole { text.to_owned() } else { document.to_string() };
    // What no value holds: names of keys, and comments where nothing else is removed.
    let left = walk.found(&changed, None, Group::Identifiers);
    hits.append(&mut state.hits);
    if left.is_empty() {
        return Some(changed);
    }
    let bare = document.to_string();
    if walk.found(&bare, None, Group::Identifiers).is_empty() {
        hits.extend(left.iter().map(|cut| Hit::of(path, cut, &changed)));
        return Some(bare);
    }
    let left: Vec<_> =
        walk.found(&bare, None, Group::Shape).into_iter().filter(|cut| !is_mask(&bare, &cut.range)).collect();
    hits.extend(left.iter().map(|cut| Hit::of(path, cut, &bare)));
    Some(without(&bare, &left))
}

/// Returns whether the range is within a mask that was inserted before.
fn is_mask(text: &str, place: &std::ops::Range<usize>) -> bool {
    let start = text.get(..place.end).and_then(|head| head.rfind("[removed: "));
    start.is_some_and(|start| text.get(start..place.start.max(start)).is_some_and(|between| !between.contains(']')))
}

struct Redactor<'w> {
    walk: &'w Walk<'w>,
    /// The path in the event, and below it that in the file.
    path: Vec<String>,
    own: usize,
    hits: Vec<Hit>,
}

impl Redactor<'_> {
    fn table(&mut self, table: &mut dyn TableLike) {
        for (key, item) in table.iter_mut() {
            self.path.push(key.get().to_owned());
            self.item(item);
            self.path.pop();
        }
    }

    fn item(&mut self, item: &mut Item) {
        match item {
            Item::Value(value) => self.value(value),
            Item::Table(table) => self.table(table),
            Item::ArrayOfTables(tables) => {
                for (place, table) in tables.iter_mut().enumerate() {
                    self.path.push(place.to_string());
                    self.table(table);
                    self.path.pop();
                }
            }
            Item::None => {}
        }
    }

    fn value(&mut self, value: &mut Value) {
        if self.data_step().is_some()
            && let Some(rule) = self.walk.rules.field(&self.path, self.own + 1)
        {
            self.hits.push(Hit { path: self.path.clone(), rule: rule.clone(), excerpt: excerpt(&plain(value)) });
            replace(value, format!("[removed: {rule}]"));
            return;
        }
        match value {
            Value::Array(items) => {
                for (place, item) in items.iter_mut().enumerate() {
                    self.path.push(place.to_string());
                    self.value(item);
                    self.path.pop();
                }
            }
            Value::InlineTable(table) => self.table(table),
            Value::Boolean(_) => {}
            leaf => self.leaf(leaf),
        }
    }

    fn leaf(&mut self, value: &mut Value) {
        let text = plain(value);
        let group = self.group();
        // Numbers are limits and options, except in data.
        if value.as_str().is_none() && (self.data_step().is_none() || group == Group::Identifiers) {
            return;
        }
        let name = self.path.last().cloned();
        let cuts = self.walk.text(&text, group, name.as_deref());
        if cuts.is_empty() {
            return;
        }
        self.hits.extend(cuts.iter().map(|cut| Hit::of(&self.path, cut, &text)));
        let is_program = self.names().any(|name| PROGRAMS.contains(&name)) && self.data_step().is_none();
        let changed = match self.walk.rules.body(group) {
            Body::Whole => without(&text, &cuts),
            _ if is_program => Json::str(removed_bytes(text.len())).to_text(),
            // The schema of a tool stays a JSON object.
            _ if name.as_deref() == Some("parameters") => {
                Json::object([("description", Json::str(removed_bytes(text.len())))]).to_text()
            }
            _ if cuts.iter().any(|cut| cut.rule == CONTENT) => {
                without(&text, &cuts) + &tags_after(&text, &cuts[cuts.len() - 1].range)
            }
            _ => without(&text, &cuts),
        };
        replace(value, changed);
    }

    /// The steps of the path within the file.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.path[self.own..].iter().map(String::as_str)
    }

    /// The table of data that the path is in.
    fn data_step(&self) -> Option<&str> {
        self.names().find(|name| DATA.contains(name))
    }

    fn group(&self) -> Group {
        match self.data_step() {
            Some("context") => Group::Context,
            None if self.names().any(|name| STRUCTURE.contains(&name)) => Group::Identifiers,
            Some(_) | None => Group::Agent,
        }
    }
}

/// The references to inputs in the part of a template that is removed.
fn tags_after(text: &str, removed: &std::ops::Range<usize>) -> String {
    let mut out = String::new();
    let mut rest = text.get(removed.start..).unwrap_or_default();
    while let Some(start) = rest.find("{{") {
        let Some(end) = rest[start..].find("}}").map(|end| start + end + 2) else { break };
        out.push(' ');
        out.push_str(&rest[start..end]);
        rest = &rest[end..];
    }
    out
}

/// The text of a value as its reader sees it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string().trim().to_owned(), str::to_owned)
}

/// Replaces a value with a text.
fn replace(value: &mut Value, text: String) {
    let decor = value.decor().clone();
    *value = Value::from(text);
    *value.decor_mut() = decor;
}

/// Removes the comments of a table.
fn drop_comments(table: &mut dyn TableLike) {
    for (mut key, item) in table.iter_mut() {
        drop_comment(key.leaf_decor_mut());
        drop_comment(key.dotted_decor_mut());
        match item {
            Item::Value(value) => drop_comments_of_value(value),
            Item::Table(table) => {
                drop_comment(table.decor_mut());
                drop_comments(table);
            }
            Item::ArrayOfTables(tables) => {
                for table in tables.iter_mut() {
                    drop_comment(table.decor_mut());
                    drop_comments(table);
                }
            }
            Item::None => {}
        }
    }
}

fn drop_comments_of_value(value: &mut Value) {
    drop_comment(value.decor_mut());
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(drop_comments_of_value);
            items.set_trailing("");
        }
        Value::InlineTable(table) => drop_comments(table),
        _ => {}
    }
}

fn drop_comment(decor: &mut Decor) {
    let holds = |text: Option<&toml_edit::RawString>| {
        text.and_then(toml_edit::RawString::as_str).is_some_and(|text| text.contains('#'))
    };
    if holds(decor.prefix()) {
        decor.set_prefix("\n");
    }
    if holds(decor.suffix()) {
        decor.set_suffix("");
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::Rules;
    use super::super::walk::Echoes;
    use super::*;
    use crate::agent::{Agent, Plan};
    use crate::model::Scrub;

    const FILE: &str = r#"# made by hand: ada@example.test
name = "orders"
mode = "ptc_lisp"
prompt = """
Look at {{text}} of Ada.
{{rows}}
"""
signature = "(text :string, rows [:string]) -> {a :int}"
max_turns = 3
plan = ["Ask Ada", "Answer"] # for Ada

[context]
text = "Ada wrote" # ada@example.test
rows = ["one of Ada", "two"]

[memory]
who = '"Ada"'

[tools.price]
kind = "table"
signature = "(name :string) -> :float"
rows = [{ args = { name = "Ada's lamp" }, result = 24.5 }]
"#;

    fn redacted(rule: &str) -> (String, Vec<Hit>) {
        let rules = Rules::parse(&[rule.to_owned()], Scrub::default()).unwrap();
        let (walk, mut hits) = (Walk { rules: &rules, echoes: &Echoes::default() }, Vec::new());
        (redact(FILE, &walk, &[], &mut hits).unwrap(), hits)
    }

    #[test]
    fn an_agent_file_stays_an_agent_file() {
        for rule in ["full", "summary", "agent", "context", "field:text", r"regex:[a-z]+@[a-z.]+", "regex:Ada"] {
            let (text, hits) = redacted(rule);
            assert!(!hits.is_empty() || rule == "summary", "{rule}");
            let agent = Agent::recorded(&text).unwrap_or_else(|error| panic!("{rule}: {error}\n{text}"));
            let plan = Plan::new(&agent);
            assert!(plan.is_ok(), "{rule}: {plan:?}\n{text}");
            if ["full", "agent", "regex:Ada"].contains(&rule) {
                assert!(!text.replace(rule, "").contains("Ada") || rule == "agent", "{rule}: {text}");
            }
            assert!(!text.contains("ada@example.test"), "{rule}: {text}");
        }
    }

    #[test]
    fn references_to_inputs_stay_in_a_removed_prompt() {
        let (text, _) = redacted("full");
        assert!(text.contains("bytes] {{text}} {{rows}}"), "{text}");
    }
}
