//! The gates of providers: requests to one provider, from whatever run, share its limit and its pauses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{CONCURRENT_REQUESTS, Gate};

/// Gates by provider. Clones are the same gates.
#[derive(Debug, Clone, Default)]
pub(super) struct Gates(Arc<Mutex<HashMap<String, Arc<Gate>>>>);

impl Gates {
    /// The gate of a provider.
    pub(super) fn of(&self, provider: &str) -> Arc<Gate> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(gates.entry(provider.to_owned()).or_insert_with(|| Gate::new(CONCURRENT_REQUESTS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_provider_has_one_gate() {
        let gates = Gates::default();
        assert!(Arc::ptr_eq(&gates.of("a"), &gates.clone().of("a")));
        assert!(!Arc::ptr_eq(&gates.of("a"), &gates.of("b")));
    }
}
