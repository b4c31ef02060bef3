//! The suggestion that a model is asked for: its request, the time, and the screen from which it was sent.
//!
//! In: a request that is sent. Out: what the screen shows of it, whether a response belongs to it, whether the user has left. Plain data.

use super::{Model, Screen};
use crate::agent::DraftTexts;
use crate::event::Address;
use crate::workbench::SessionKey;
use crate::workbench::optimize::SuggestRequest;

/// Requests for suggestions, one at a time.
#[derive(Debug, Clone, Default)]
pub struct Suggestions {
    /// Requests since the start.
    asked: u64,
    /// The one that a model works at.
    pub current: Option<Box<PendingSuggestion>>,
}

/// A model that works at a suggestion.
#[derive(Debug, Clone)]
pub struct PendingSuggestion {
    /// The number of the request, which its response names.
    pub number: u64,
    /// The model.
    pub model: String,
    /// The turn.
    pub turn: Address,
    /// Time of the request, Unix time in ms.
    pub since_ms: i64,
    /// The texts that it is asked about.
    pub texts: DraftTexts,
    /// The screen, and the session opened there: leaving them stops the model.
    from: (Screen, Option<SessionKey>),
}

impl Model {
    /// Begins to ask; returns the number of the request.
    pub(in crate::tui) fn begin_suggesting(&mut self, request: &SuggestRequest) -> u64 {
        let number = self.suggestions.asked + 1;
        let suggestion = PendingSuggestion {
            number,
            model: request.model.clone(),
            turn: request.turn.clone(),
            since_ms: self.now_ms,
            texts: self.workbench.texts(),
            from: self.place_of_suggestions(),
        };
        self.suggestions = Suggestions { asked: number, current: Some(Box::new(suggestion)) };
        number
    }

    /// Takes the request of this number, if a model still works at it.
    pub(in crate::tui) fn end_suggesting(&mut self, number: u64) -> Option<Box<PendingSuggestion>> {
        self.suggestions.current.take_if(|current| current.number == number)
    }

    /// Returns whether the user has left the place from which the model was asked.
    pub(in crate::tui) fn has_left_suggestion(&self) -> bool {
        self.suggestions.current.as_ref().is_some_and(|current| current.from != self.place_of_suggestions())
    }

    fn place_of_suggestions(&self) -> (Screen, Option<SessionKey>) {
        let viewer = self.sessions.viewer.as_ref().filter(|_| self.screen == Screen::Sessions);
        (self.screen, viewer.and_then(|viewer| viewer.key.clone()))
    }
}
