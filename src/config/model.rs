//! Aliases of models: which provider, which id there, how schemas travel, prices, options.

use super::OPTIONS;
use super::document::{About, Entry, Key, KeyTable, Names, Problem, Problems, key_table, read_table, set};
use crate::event::{Options, Price, StructuredBy};

/// A model with a short name.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEntry {
    /// Its short name.
    pub alias: String,
    /// Its provider's name.
    pub provider: String,
    /// Its id at the provider.
    pub id: String,
    /// How a schema travels to it; `None` = found out.
    pub structured_output: Option<StructuredBy>,
    /// Price per million tokens, when known.
    pub price: Option<Price>,
    /// Tokens that fit into its context.
    pub context: Option<u64>,
    /// The model that is asked when this one cannot answer.
    pub fallback: Option<String>,
    /// Answers are read while they arrive.
    pub stream: bool,
    /// Options sent unless the agent has others.
    pub options: Options,
}

impl ModelEntry {
    /// A model of which only the names are known.
    pub(super) fn bare(alias: &str, provider: &str, id: &str) -> Self {
        Self {
            alias: alias.to_owned(),
            provider: provider.to_owned(),
            id: id.to_owned(),
            structured_output: None,
            price: None,
            context: None,
            fallback: None,
            stream: true,
            options: Options::default(),
        }
    }
}

/// Names that are not aliases.
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
        about: About::Said(
            "name of a provider",
            "",
            "Needed: where the model is, a built-in provider or a section `[providers.NAME]`.",
        ),
        read: |entry, model, problems| set(&mut model.provider, entry.words(), problems),
    },
    Key {
        name: "id",
        about: About::Said("text", "", "Needed: what the provider calls it."),
        read: |entry, model, problems| set(&mut model.id, entry.words(), problems),
    },
    Key {
        name: "structured_output",
        about: About::Said(
            "auto, json_schema, tool, json_object, prompt",
            "auto",
            "How a schema travels (docs/structured-output.md); `auto` takes the strongest way that the server accepts.",
        ),
        read: |entry, model, problems| set(&mut model.structured_output, structured(entry), problems),
    },
    Key {
        name: "price",
        about: About::Said(
            "{ input, output, cached_input, cache_write }",
            "",
            "Price per million tokens, input and output needed; without it that of the shipped table, where the model is in it.",
        ),
        read: read_price,
    },
    Key {
        name: "context",
        about: About::Said("whole number", "", "Tokens that fit into its context."),
        read: |entry, model, problems| set(&mut model.context, entry.count().map(Some), problems),
    },
    Key {
        name: "fallback",
        about: About::Said(
            "a model",
            "",
            "The model that is asked when this one cannot answer: an alias or `provider:model`. One that cannot be used is left out, with a warning.",
        ),
        read: |entry, model, problems| set(&mut model.fallback, entry.words().map(Some), problems),
    },
    Key {
        name: "stream",
        about: About::Said("true or false", "true", "Replies are read while they arrive."),
        read: |entry, model, problems| set(&mut model.stream, entry.flag(), problems),
    },
    Key {
        name: "temperature",
        about: About::Said(
            "number from 0",
            "",
            "The model option of agent files, for agents that have none of their own.",
        ),
        read: read_option,
    },
    Key { name: "max_tokens", about: About::Said("whole number from 1", "", "The same."), read: read_option },
    Key { name: "top_p", about: About::Said("number from 0 to 1", "", "The same."), read: read_option },
    Key { name: "stop", about: About::Said("list of texts", "", "The same."), read: read_option },
    Key { name: "seed", about: About::Said("whole number", "", "The same."), read: read_option },
    Key { name: "reasoning", about: About::Said("text", "", "The same."), read: read_option },
];

/// The tables of a model for the reference.
pub(super) fn tables() -> [KeyTable; 2] {
    [key_table("[models.NAME]", KEYS), key_table("price of [models.NAME]", PRICE)]
}

/// Reads a section `[models.x]`; keys that it does not name keep the values of `known`.
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

/// One of the model options; their own table knows how to read it.
fn read_option(entry: &Entry<'_>, model: &mut ModelEntry, problems: &mut Problems) {
    if let Some(key) = OPTIONS.iter().find(|key| key.name == entry.key) {
        (key.read)(entry, &mut model.options, problems);
    }
}

const PRICE: &[Key<Price>] = &[
    Key {
        name: "input",
        about: About::Said("number from 0", "", "Needed: a million tokens that are sent."),
        read: |entry, price, problems| set(&mut price.input, entry.amount(), problems),
    },
    Key {
        name: "output",
        about: About::Said("number from 0", "", "Needed: a million tokens of replies."),
        read: |entry, price, problems| set(&mut price.output, entry.amount(), problems),
    },
    Key {
        name: "cached_input",
        about: About::Said("number from 0", "", "A million tokens that the service read from its cache."),
        read: |entry, price, problems| set(&mut price.cached_input, entry.amount().map(Some), problems),
    },
    Key {
        name: "cache_write",
        about: About::Said("number from 0", "", "A million tokens that the service wrote into its cache."),
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
