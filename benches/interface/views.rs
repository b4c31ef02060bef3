//! Frames of the screens that show a whole run at once: the overview of 2,000 turns, four runs of 100,000 lines side by side.
//!
//! In: the run of the measurement. Out: the time of each frame in ms, a key before each.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ptc_workbench::tui::compare::Side;
use ptc_workbench::tui::message::{Msg, Slot};
use ptc_workbench::tui::model::{Model, RunView, Screen};
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::{picture, update};
use ptc_workbench::workbench::RunUpdate;

use crate::ms;
use crate::run::Reply;

/// Frames that are drawn of each screen.
const FRAMES: usize = 400;

fn press(model: &mut Model, code: KeyCode, modifiers: KeyModifiers) {
    drop(update(model, Msg::Key(KeyEvent::new(code, modifiers))));
}

/// Draws a frame after each of these keys, in turns. Returns the times from key to frame.
fn frames(model: &mut Model, keys: &[KeyCode]) -> Vec<f64> {
    let size = model.size;
    picture(model, size);
    let frame = |code: &KeyCode| {
        let begun = Instant::now();
        press(model, *code, KeyModifiers::NONE);
        picture(model, size);
        ms(begun.elapsed())
    };
    keys.iter().cycle().take(FRAMES).map(frame).collect()
}

/// The overview of a long run, with its orders.
pub(crate) fn overview(services: &Services, size: (u16, u16)) -> Vec<f64> {
    let mut model = Model::new(services.opened(), size, 0);
    press(&mut model, KeyCode::F(5), KeyModifiers::NONE);
    drop(update(&mut model, Msg::Started(Ok(None))));
    let events = Reply::Text.long_run().into_iter().map(|event| RunUpdate::Event(Box::new(event))).collect();
    drop(update(&mut model, Msg::RunUpdates(Slot::Workbench, events)));
    press(&mut model, KeyCode::Char('g'), KeyModifiers::ALT);
    press(&mut model, KeyCode::Char('r'), KeyModifiers::NONE);
    press(&mut model, KeyCode::Char('u'), KeyModifiers::NONE);
    frames(&mut model, &[KeyCode::PageUp, KeyCode::Up, KeyCode::Char('s'), KeyCode::PageDown, KeyCode::Char('}')])
}

/// Four long runs side by side.
pub(crate) fn side_by_side(services: &Services, size: (u16, u16)) -> Vec<f64> {
    let mut model = Model::new(services.opened(), size, 0);
    let side = |number: usize| {
        let mut run = RunView::default();
        Reply::Text.long_run().iter().for_each(|event| run.transcript.apply(event));
        run.transcript.close();
        Side { name: format!("run {number}"), run: Some(run) }
    };
    model.compare.sides = (1..=4).map(side).collect();
    model.screen = Screen::Compare;
    frames(
        &mut model,
        &[KeyCode::PageUp, KeyCode::PageDown, KeyCode::Tab, KeyCode::End, KeyCode::PageUp, KeyCode::Home],
    )
}
