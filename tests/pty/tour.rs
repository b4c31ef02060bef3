//! The guided tour, pressed key by key in the real program.

use super::terminal::Start;
use super::typing::bytes;
use crate::tour::{Do, STEPS, action};

/// Presses all of it on a terminal of this size.
fn pressed(columns: u16, rows: u16) {
    let home = tempfile::tempdir().unwrap();
    let is_large = columns >= 120;
    let mut terminal = Start::workbench(home.path()).first_time(home.path()).size(columns, rows).spawn();
    for step in STEPS {
        for done in step.moves {
            for what in done.does {
                match what {
                    Do::Press(id) => terminal.send(&bytes(action(id).chords[0])),
                    Do::Times(times, id) => terminal.send(&bytes(action(id).chords[0]).repeat(*times)),
                    Do::Type(text) => terminal.send(text),
                }
            }
            let large = done.large.iter().filter(|_| is_large);
            done.sees.iter().chain(large).for_each(|text| terminal.wait_for(text));
            done.gone.iter().for_each(|text| terminal.wait_until_gone(text));
        }
    }
    terminal.send(&bytes(action("quit").chords[0]));
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[test]
fn every_step_of_the_guided_tour_shows_what_it_says() {
    pressed(120, 40);
}

#[test]
fn every_step_of_the_guided_tour_can_be_gone_on_a_small_terminal() {
    pressed(80, 24);
}
