//! Refs without a run: named parts of a result, by path or expression, as agents declare them.
//!
//! In: names with their sources, a result. Out: the values, or the names that have none.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::{Ref, RefSource};
use crate::program::{expression, path};

/// Takes named parts from results.
#[derive(Debug, Clone, Default)]
pub struct RefExtractor {
    refs: Vec<Ref>,
}

impl RefExtractor {
    /// Without refs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the value at a path such as `items[0].id` or `[*].name`.
    ///
    /// Errors: the path cannot be read.
    pub fn path(self, name: impl Into<String>, path: impl Into<String>) -> Result<Self, String> {
        let path = path.into();
        path::steps(&path).map_err(|error| format!("the path {path:?} cannot be read: {error}"))?;
        Ok(self.with(name.into(), RefSource::Path(path)))
    }

    /// Adds the value of a PTC-Lisp expression over `result`, such as `(count (:items result))`.
    ///
    /// Errors: the expression cannot be read, or uses more than `result`.
    pub fn expression(self, name: impl Into<String>, expression: impl Into<String>) -> Result<Self, String> {
        let text = expression.into();
        expression::check(&text).map_err(|error| format!("the expression cannot be used: {}", error.problem))?;
        Ok(self.with(name.into(), RefSource::Expression(text)))
    }

    /// The last ref may be without a value.
    #[must_use]
    pub fn optional(mut self) -> Self {
        if let Some(last) = self.refs.last_mut() {
            last.optional = true;
        }
        self
    }

    fn with(mut self, name: String, source: RefSource) -> Self {
        self.refs.push(Ref { name, source, optional: false });
        self
    }

    /// The values of all refs, as an object; null where there is none. Blocks while expressions are evaluated.
    pub fn extract(&self, result: &Json) -> Json {
        let value = result.to_value();
        Json::object(self.refs.iter().map(|one| {
            let found = match &one.source {
                RefSource::Path(place) => path::at(&value, place),
                RefSource::Expression(text) => expression::evaluate(text, &value).unwrap_or_default(),
            };
            (one.name.clone(), Json::from(&found))
        }))
    }

    /// Checks that extracted refs have every value that is not optional.
    ///
    /// Errors: the names without one.
    pub fn validate(&self, extracted: &Json) -> Result<(), Vec<String>> {
        let is_missing = |one: &&Ref| extracted.get(&one.name).is_none_or(|value| value.node == Node::Null);
        let missing = self.refs.iter().filter(|one| !one.optional).filter(is_missing);
        let missing: Vec<String> = missing.map(|one| one.name.clone()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }
}
