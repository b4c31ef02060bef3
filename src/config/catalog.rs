//! Known properties of models: sizes, prices, schema methods. A dated table in `assets/catalog.toml`.
//!
//! In: a provider's name and a model's id there. Out: the properties in the table. Missing ones are unknown, never
//! guessed.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Api, Config};
use crate::event::{Price, StructuredBy};

const TABLE: &str = include_str!("../../assets/catalog.toml");

/// Known properties of a model.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ModelFacts {
    /// Context size in tokens.
    pub context: Option<u64>,
    /// Maximum output tokens.
    pub max_output: Option<u64>,
    /// The strongest schema method, if it is not the strongest of its protocol.
    pub structured_output: Option<StructuredBy>,
    /// The API to use at the service itself, if it is not chat completions.
    #[serde(skip)]
    pub api: Option<Api>,
    /// True if schemas must be strict.
    #[serde(skip)]
    pub strict: bool,
    /// True if it has strict tools.
    #[serde(skip)]
    pub strict_tools: bool,
    /// Price per million tokens.
    pub price: Option<Price>,
}

/// The table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// Date of its prices.
    pub date: String,
    providers: HashMap<String, Service>,
    models: HashMap<String, HashMap<String, Row>>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    structured_output: Option<StructuredBy>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    strict_tools: bool,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    context: Option<u64>,
    max_output: Option<u64>,
    price: Option<Price>,
    structured_output: Option<StructuredBy>,
    api: Option<Api>,
}

impl Catalog {
    /// Returns the shipped table.
    pub fn shipped() -> &'static Self {
        static READ: OnceLock<Catalog> = OnceLock::new();
        // A test parses it, so the default is never used.
        READ.get_or_init(|| toml::from_str(TABLE).unwrap_or_default())
    }

    /// Returns the known properties of a provider's model.
    pub fn facts(&self, provider: &str, id: &str) -> ModelFacts {
        let service = self.providers.get(provider).copied().unwrap_or_default();
        let row = self.models.get(provider).and_then(|models| models.get(id)).copied().unwrap_or_default();
        ModelFacts {
            structured_output: row.structured_output.or(service.structured_output),
            strict: service.strict,
            strict_tools: service.strict_tools,
            api: row.api,
            context: row.context,
            max_output: row.max_output,
            price: row.price,
        }
    }
}

impl Config {
    /// Returns the known properties of a provider's model; values of the configuration take precedence.
    pub fn facts(&self, provider: &str, id: &str) -> ModelFacts {
        let facts = Catalog::shipped().facts(provider, id);
        let own = self.models.iter().filter(|model| model.provider == provider && model.id == id);
        own.fold(facts, |facts, model| ModelFacts {
            context: model.context.or(facts.context),
            price: model.price.or(facts.price),
            ..facts
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_table_is_valid() {
        let table: Catalog = toml::from_str(TABLE).unwrap();
        assert!(table.date.parse::<jiff::civil::Date>().is_ok(), "{}", table.date);
        assert!(table.models.values().map(HashMap::len).sum::<usize>() > 100);
        for row in table.models.values().flat_map(HashMap::values) {
            let price = row.price.unwrap_or_default();
            assert!(price.input <= price.output && price.cached_input.unwrap_or(0.0) <= price.input, "{row:?}");
        }
    }

    #[test]
    fn missing_properties_are_unknown() {
        let table = Catalog::shipped();
        assert_eq!(table.facts("local", "m"), ModelFacts::default());
        assert_eq!(
            table.facts("openai", "no-such-model"),
            ModelFacts { strict: true, strict_tools: true, ..ModelFacts::default() }
        );
        assert_eq!(table.facts("deepseek", "any").structured_output, Some(StructuredBy::JsonObject));
    }

    #[test]
    fn the_configuration_overrides_the_table() {
        let text = "[models.mine]\nprovider = \"openai\"\nid = \"gpt-4.1\"\ncontext = 9\nprice = { input = 7.0, output = 8.0 }";
        let config = Config::from_toml(text, "config.toml", &|_| None).unwrap();
        let facts = config.facts("openai", "gpt-4.1");
        assert_eq!((facts.context, facts.price.map(|price| price.input)), (Some(9), Some(7.0)));
        assert!(facts.max_output.is_some());
    }
}
