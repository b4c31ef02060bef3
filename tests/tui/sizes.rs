//! Every screen and state at every size from nothing to very large: nothing panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::picture;

use super::scenes::every_state;

/// The largest size, in columns and rows.
const LARGEST: (u16, u16) = (250, 100);
/// Sizes at which something changes: the smallest usable one, two columns, and their neighbours.
const EDGES: [(u16, u16); 9] = [(0, 0), (1, 1), (39, 10), (40, 9), (40, 10), (41, 11), (80, 10), (99, 12), (100, 10)];

/// Steps between the tested sizes, in columns and rows; with `PTC_LONG_TESTS=1` every size is tested.
fn strides() -> (usize, usize) {
    if crate::is_long() { (1, 1) } else { (121, 73) }
}

/// The sizes for one of the states: another sample for each.
fn sizes(number: usize) -> impl Iterator<Item = (u16, u16)> {
    let (columns, rows) = strides();
    let columns = (0..=LARGEST.0).skip(number % columns).step_by(columns);
    let grid = columns
        .flat_map(move |columns| (0..=LARGEST.1).skip(number % rows).step_by(rows).map(move |rows| (columns, rows)));
    // The short form draws each state at a third of the edges.
    let is_tried = move |place: usize| crate::is_complete() || (place + number).is_multiple_of(3);
    grid.chain(EDGES.into_iter().enumerate().filter(move |(place, _)| is_tried(*place)).map(|(_, size)| size))
}

/// Draws a state at one size after the other; each begins with the scroll positions that the one before has left.
fn draw(name: &str, mut model: Model, sizes: impl Iterator<Item = (u16, u16)>) -> usize {
    let (mut at, mut drawn) = ((0, 0), 0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        for size in sizes {
            at = size;
            picture(&mut model, size);
            drawn += 1;
        }
    }));
    assert!(result.is_ok(), "{name} at {} × {}", at.0, at.1);
    drawn
}

#[test]
fn every_screen_and_state_is_drawn_at_every_size() {
    let states: Vec<_> = every_state().into_iter().enumerate().collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let drawn: usize = std::thread::scope(|scope| {
        let part = |states: &[(usize, (&'static str, Model))]| {
            let states = states.to_vec();
            scope.spawn(move || {
                states.into_iter().map(|(number, (name, model))| draw(name, model, sizes(number))).sum::<usize>()
            })
        };
        let parts: Vec<_> = states.chunks(states.len().div_ceil(threads)).map(part).collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    assert!(drawn >= states.len(), "{drawn} pictures of {} states", states.len());
}
