//! Model aliases: provider, id there, schema method, prices, options.

use super::OPTIONS;
use super::document::{Entry, Key, KeyDoc, KeyTable, Names, Problem, Problems, key_table, read_table, set};
use super::provider::{API, Api, api};
use crate::event::{Options, Price, StructuredBy};

/// A model with an alias.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEntry {
    /// Its alias.
    pub alias: String,
    /// Its provider's name.
    pub provider: String,
    /// Its id at the provider.
    pub id: String,
    /// The API of its provider to use, if it is configured.
    pub api: Option<Api>,
    /// Method for sending schemas; `None`: detected.
    pub structured_output: Option<StructuredBy>,
    /// Price per million tokens, when known.
    pub price: Option<Price>,
    /// Context size in tokens.
    pub context: Option<u64>,
    /// The model to use when this one fails.
    pub fallback: Option<String>,
    /// True if replies are streamed.
    pub stream: bool,
    /// Options unless the agent sets them.
    pub options: Options,
}

impl ModelEntry {
    /// Creates an entry with names only.
    pub(super) fn bare(alias: &str, provider: &str, id: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            provider: provider.to_owned(),
            id: id.to_owned(),
            api: None,
            structured_output: None,
            price: None,
            context: None,
            fallback: None,
            stream: true,
            options: Options::default(),
        }
    }
}

/// Names that cannot be aliases.
pub(super) const RESERVED: [&str; 4] = ["demo", "sample", "human", "recorded"];

const STRUCTURED: [(&str, Option<StructuredBy>); 5] = [
    ("auto", None),
    ("json_schema", Some(StructuredBy::JsonSchema)),
    ("tool", Some(StructuredBy::Tool)),
    ("json_object", Some(StructuredBy::JsonObject)),
    ("prompt", Some(StructuredBy::Prompt)),
];

const KEYS: &[Key<ModelEntry>] = &[
    Key {
        name: "provider",
        about: KeyDoc::Text("name of a provider", "", "Required: a built-in provider or a section `[providers.NAME]`."),
        read: |entry, model, problems| set(&mut model.provider, entry.non_blank_text(), problems),
    },
    Key {
        name: "id",
        about: KeyDoc::Text("text", "", "Required: its id at the provider."),
        read: |entry, model, problems| set(&mut model.id, entry.non_blank_text(), problems),
    },
    Key { name: API.0, about: API.1, read: |entry, model, problems| set(&mut model.api, api(entry), problems) },
    Key {
        name: "structured_output",
        about: KeyDoc::Text(
            "auto, json_schema, tool, json_object, prompt",
            "auto",
            "How schemas are sent (docs/structured-output.md); `auto` uses the strongest method that the server accepts.",
        ),
        read: |entry, model, problems| set(&mut model.structured_output, structured(entry), problems),
    },
    Key {
        name: "price",
        about: KeyDoc::Text(
            "{ input, output, cached_input, cache_write }",
            "",
            "Price per million tokens, with at least input and output; the default is the price in the shipped table.",
        ),
        read: read_price,
    },
    Key {
        name: "context",
        about: KeyDoc::Text("whole number", "", "Context size in tokens."),
        read: |entry, model, problems| set(&mut model.context, entry.count().map(Some), problems),
    },
    Key {
        name: "fallback",
        about: KeyDoc::Text(
            "a model",
            "",
            "The model to use when this one fails: an alias or `provider:model`. An unusable one is ignored with a warning.",
        ),
        read: |entry, model, problems| set(&mut model.fallback, entry.non_blank_text().map(Some), problems),
    },
    Key {
        name: "stream",
        about: KeyDoc::Text("true or false", "true", "Whether replies are streamed."),
        read: |entry, model, problems| set(&mut model.stream, entry.flag(), problems),
    },
    Key {
        name: "temperature",
        about: KeyDoc::Text("number from 0", "", "The model option of agent files, for agents that do not set it."),
        read: read_option,
    },
    Key { name: "max_tokens", about: KeyDoc::Text("whole number from 1", "", "The same."), read: read_option },
    Key { name: "top_p", about: KeyDoc::Text("number from 0 to 1", "", "The same."), read: read_option },
    Key { name: "stop", about: KeyDoc::Text("list of strings", "", "The same."), read: read_option },
    Key { name: "seed", about: KeyDoc::Text("whole number", "", "The same."), read: read_option },
    Key { name: "reasoning", about: KeyDoc::Text("text", "", "The same."), read: read_option },
    Key { name: "strict_tools", about: KeyDoc::Text("true or false", "", "The same."), read: read_option },
    Key { name: "strict_schema", about: KeyDoc::Text("true or false", "", "The same."), read: read_option },
    Key { name: "extra_body", about: KeyDoc::Text("table", "", "The same."), read: read_option },
];

/// Returns the documentation of a model's tables.
pub(super) fn tables() -> [KeyTable; 2] {
    [key_table("[models.NAME]", KEYS), key_table("price of [models.NAME]", PRICE)]
}

/// Reads a section `[models.NAME]`; keys that it does not set keep the values of `known`.
pub(super) fn read(entry: &Entry<'_>, known: Option<ModelEntry>, problems: &mut Problems) -> ModelEntry {
    if RESERVED.contains(&entry.key) || entry.key.contains(':') {
        let message = format!("`{}` cannot be an alias: it already names a model; choose another name", entry.key);
        problems.push(Problem { key: entry.path.clone(), span: entry.key_span, message });
    }
    if known.is_none() {
        for name in ["provider", "id"] {
            if entry.json.members().is_some() && entry.json.get(name).is_none() {
                problems.push(entry.missing(name));
            }
        }
    }
    let mut model = known.unwrap_or_else(|| ModelEntry::bare(entry.key, "", ""));
    read_table(entry, KEYS, &mut model, problems);
    model
}

fn structured(entry: &Entry<'_>) -> Result<Option<StructuredBy>, Problem> {
    entry.named(&Names { what: "structured_output", rows: &STRUCTURED })
}

/// Reads one of the model options with the reader of their own table.
fn read_option(entry: &Entry<'_>, model: &mut ModelEntry, problems: &mut Problems) {
    if let Some(key) = OPTIONS.iter().find(|key| key.name == entry.key) {
        (key.read)(entry, &mut model.options, problems);
    }
}

const PRICE: &[Key<Price>] = &[
    Key {
        name: "input",
        about: KeyDoc::Text("number from 0", "", "Required: price of a million input tokens."),
        read: |entry, price, problems| set(&mut price.input, entry.amount(), problems),
    },
    Key {
        name: "output",
        about: KeyDoc::Text("number from 0", "", "Required: price of a million output tokens."),
        read: |entry, price, problems| set(&mut price.output, entry.amount(), problems),
    },
    Key {
        name: "cached_input",
        about: KeyDoc::Text("number from 0", "", "Price of a million input tokens read from the cache."),
        read: |entry, price, problems| set(&mut price.cached_input, entry.amount().map(Some), problems),
    },
    Key {
        name: "cache_write",
        about: KeyDoc::Text("number from 0", "", "Price of a million input tokens written to the cache."),
        read: |entry, price, problems| set(&mut price.cache_write, entry.amount().map(Some), problems),
    },
];

fn read_price(entry: &Entry<'_>, model: &mut ModelEntry, problems: &mut Problems) {
    for name in ["input", "output"] {
        if entry.json.members().is_some() && entry.json.get(name).is_none() {
            problems.push(entry.missing(name));
        }
    }
    let mut price = Price::default();
    read_table(entry, PRICE, &mut price, problems);
    model.price = Some(price);
}
