//! The answer of a finished run: as JSON, as text, or as a Rust type.
//!
//! In: a [`Step`]. Out: its answer, or the reason why there is none.

use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use serde::de::DeserializeOwned;

use crate::agent::Step;
use crate::event::ErrorRecord;

impl Step {
    /// Returns the answer. Errors: the reason why there is none.
    pub fn into_answer(self) -> Result<Json, Box<ErrorRecord>> {
        match self.fail {
            None => Ok(self.answer.unwrap_or_default()),
            Some(fail) => Err(Box::new(fail)),
        }
    }

    /// Returns the answer as text: a string without quotes, any other value as JSON. Errors: the reason why there is none.
    pub fn into_text(self) -> Result<String, Box<ErrorRecord>> {
        let answer = self.into_answer()?;
        Ok(answer.as_str().map_or_else(|| answer.to_text(), str::to_owned))
    }

    /// Returns the answer as a Rust type. Errors: the reason why there is no answer, or `validation_error` when the
    /// answer does not fit the type.
    pub fn into_typed<T: DeserializeOwned>(self) -> Result<T, Box<ErrorRecord>> {
        let answer = self.into_answer()?;
        serde_json::from_str(&answer.to_text()).map_err(|error| {
            let message = format!("the answer does not fit {}: {error}", std::any::type_name::<T>());
            Box::new(ErrorRecord::new(Reason::ValidationError, message))
        })
    }
}
