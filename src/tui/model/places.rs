//! The places of the four editors: order, names, languages.

use crate::agent::Place;
use crate::tui::colours::Language;

pub(super) fn place_index(place: Place) -> usize {
    match place {
        Place::Prompt => 0,
        Place::Signature => 1,
        Place::Context => 2,
        Place::Options => 3,
    }
}

/// The name of an editor.
pub fn place_name(place: Place) -> &'static str {
    match place {
        Place::Prompt => "Prompt",
        Place::Signature => "Signature",
        Place::Context => "Context",
        Place::Options => "Options",
    }
}

/// What an editor's text is written in.
pub fn place_language(place: Place) -> Language {
    match place {
        Place::Prompt => Language::Template,
        Place::Signature => Language::Signature,
        Place::Context => Language::Json,
        Place::Options => Language::Toml,
    }
}
