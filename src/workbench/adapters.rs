//! Adapters that several runs share: what a provider was found to refuse is learned once.
//!
//! The runs of a suite or a matrix share them. Runs that a user starts one after the other do not: a server may have changed in between.

use std::sync::{Arc, Mutex, PoisonError};

use super::StartError;
use crate::config::HttpModel;
use crate::model::Adapter;

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
