//! The gates of providers: requests to one provider, from whatever run, share its limit and its pauses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::limits::CONCURRENT_REQUESTS;

use crate::config::Config;
use crate::model::Gate;

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
