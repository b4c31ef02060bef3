//! The interface without a terminal: updates, pictures of screens, the loop on a paused clock.

mod actions;
mod alignment;
pub(crate) mod candidates;
mod cases;
mod changed_file;
mod compare;
mod consent;
mod continuing;
mod deletion;
mod differs;
mod drive;
mod editing;
mod ends;
mod entrances;
mod exports;
mod failures;
mod figures;
mod gaps;
mod growing;
mod hands;
mod held;
mod inputs;
mod inspector;
mod kept;
mod labels;
mod live;
mod mouse;
mod newcomer;
mod opening;
mod order;
mod overview;
mod palette;
mod pictures;
mod places;
mod questions;
mod reading;
mod reports;
mod runs;
mod saved;
pub(crate) mod scenes;
mod searches;
mod server_prompts;
pub(crate) mod services;
mod sessions;
mod sizes;
mod spent;
mod states;
mod steps;
pub(crate) mod story;
mod suggest;
mod traffic;
mod transcript;
mod updates;
mod waiting;
mod ways;
mod ways_to_failures;
mod whole;
mod without;
mod work;
mod written;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::{keys, update};

/// Presses a chord such as `ctrl-s`.
fn press(model: &mut Model, chord: &str) -> Vec<Effect> {
    let chord = keys::read(chord).unwrap();
    let key = KeyEvent::new(*chord.codes.first(), chord.modifiers);
    update(model, Msg::Key(key))
}

/// Types a text.
fn write(model: &mut Model, text: &str) -> Vec<Effect> {
    text.chars().flat_map(|c| update(model, Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)))).collect()
}
