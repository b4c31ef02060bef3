//! The guided tour, pressed key by key in the real program.

use super::terminal::Start;
use super::typing::bytes;
use crate::tour::{Do, STEPS, action};

#[test]
fn every_step_of_the_guided_tour_shows_what_it_says() {
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Start::workbench(home.path()).first_time(home.path()).size(120, 40).spawn();
    for step in STEPS {
        for done in step.moves {
            for what in done.does {
                match what {
                    Do::Press(id) => terminal.send(&bytes(action(id).chords[0])),
                    Do::Times(times, id) => terminal.send(&bytes(action(id).chords[0]).repeat(*times)),
                    Do::Type(text) => terminal.send(text),
                }
            }
            done.sees.iter().for_each(|text| terminal.wait_for(text));
            done.gone.iter().for_each(|text| terminal.wait_until_gone(text));
        }
    }
    terminal.send(&bytes(action("quit").chords[0]));
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}
