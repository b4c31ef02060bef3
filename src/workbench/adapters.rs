//! Adapters and request gates that several runs share: what a provider refuses is learned once, and requests to one provider
//! share its limit and its pauses.
//!
//! The runs of a suite or a matrix share them. Runs that a user starts one after the other do not: a server may have changed in between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::limits::CONCURRENT_REQUESTS;

use super::StartError;
use crate::config::{Config, HttpModel};
use crate::model::{Adapter, Gate};

/// Adapters by everything that is configured of their models. Clones are the same adapters.
#[derive(Debug, Clone, Default)]
pub(super) struct Adapters(Arc<Mutex<Vec<Known>>>);

/// A model and the adapter that asks it.
type Known = (HttpModel, Arc<Adapter>);

impl Adapters {
    /// The adapter of this model, made when it is first asked for.
    pub(super) fn of(
        &self,
        model: &HttpModel,
        make: impl FnOnce() -> Result<Adapter, StartError>,
    ) -> Result<Arc<Adapter>, StartError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, adapter)) = known.iter().find(|(of, _)| of == model) {
            return Ok(Arc::clone(adapter));
        }
        let adapter = Arc::new(make()?);
        known.push((model.clone(), Arc::clone(&adapter)));
        Ok(adapter)
    }
}

/// Gates by provider. Clones are the same gates.
#[derive(Debug, Clone, Default)]
pub(super) struct Gates(Arc<Mutex<HashMap<String, Arc<Gate>>>>);

impl Gates {
    /// The gate of a provider, as wide as this configuration sets it at the first use.
    pub(super) fn of(&self, provider: &str, config: &Config) -> Arc<Gate> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let width = || config.provider(provider).map_or(CONCURRENT_REQUESTS.usual(), |found| found.concurrent_requests);
        Arc::clone(gates.entry(provider.to_owned()).or_insert_with(|| Gate::new(width())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_provider_has_one_gate() {
        let gates = Gates::default();
        let config = Config::from_toml("", "config.toml", &|_| None).unwrap();
        assert!(Arc::ptr_eq(&gates.of("a", &config), &gates.clone().of("a", &config)));
        assert!(!Arc::ptr_eq(&gates.of("a", &config), &gates.of("b", &config)));
    }
}
