//! Every screen at every size: nothing panics, nothing is drawn outside.

use proptest::prelude::*;
use ptc_workbench::tui::backend::{Ended, Question, SessionSummary};
use ptc_workbench::tui::message::{Msg, Slot};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::picture;

use super::story::{NOW_MS, asked, failed, fresh, ran, streaming, tell, two_turns};
use super::{press, write};

/// One of the screens, as it looks after some use.
fn scene(number: usize, size: (u16, u16)) -> Model {
    let mut model = fresh((120, 40));
    match number {
        0 => {}
        1 => ran(&mut model, two_turns(), Some(Ended::Run)),
        2 => ran(&mut model, streaming(), None),
        3 => {
            ran(&mut model, failed(), Some(Ended::Run));
            press(&mut model, "backtab");
            press(&mut model, "v");
        }
        4 => _ = press(&mut model, "f1"),
        5 => {
            press(&mut model, "ctrl-p");
            write(&mut model, "s");
        }
        6 => {
            write(&mut model, "日本 e\u{301} \u{202e} 👩‍👩‍👧‍👦");
            press(&mut model, "ctrl-q");
        }
        7 => {
            press(&mut model, "f3");
            let session =
                |id: &str| SessionSummary { id: id.to_owned(), agent: "日本".repeat(9), ..SessionSummary::default() };
            tell(&mut model, Msg::Listed(Ok(vec![session("a"), session("b")])));
            press(&mut model, "/");
            write(&mut model, "日");
        }
        8 => _ = press(&mut model, "f6"),
        9 => {
            write(&mut model, "x");
            press(&mut model, "ctrl-s");
        }
        10 => {
            ran(&mut model, asked().events(), None);
            let question =
                Question { address: "r0/t1/q0".into(), text: "long ".repeat(300), options: Vec::new(), gate: None };
            let told = vec![ptc_workbench::tui::backend::Happening::Question(question)];
            tell(&mut model, Msg::Happened(Slot::Workbench, told));
        }
        11 => {
            press(&mut model, "ctrl-f");
            write(&mut model, "e");
        }
        12 => model.popups.push(ptc_workbench::tui::model::Popup::Tour(2)),
        13 => {
            press(&mut model, "alt-g");
            let later = model.now_ms + 300;
            tell(&mut model, Msg::Clock(later));
        }
        14 => {
            super::editing::two_fixes(&mut model);
            press(&mut model, "f8");
        }
        15..21 => return Model { size, ..super::sessions::scene(number - 15, (120, 40)) },
        21..26 => return Model { size, ..super::compare::scene(number - 21) },
        _ => {
            let recovery = model.workbench.recovery(NOW_MS);
            tell(&mut model, Msg::Recoveries(vec![recovery]));
        }
    }
    model.size = size;
    model
}

proptest! {
    #[test]
    fn every_screen_is_drawn_at_every_size(number in 0_usize..27, columns in 0_u16..250, rows in 0_u16..100) {
        let mut model = scene(number, (columns, rows));
        picture(&mut model, (columns, rows));
        // Again with the scroll positions of the first frame, at another size.
        picture(&mut model, (rows, columns.min(100)));
    }
}

#[test]
fn the_inspector_is_drawn_at_every_size() {
    for tab in 0..7 {
        for inside in [false, true] {
            let mut model = super::inspector::scene(tab, inside);
            for (columns, rows) in
                (0..250).step_by(13).flat_map(|columns| [(columns, 0), (columns, 11), (columns, 100 - columns / 3)])
            {
                picture(&mut model, (columns, rows));
            }
            picture(&mut model, (40, 10));
        }
    }
}

#[test]
fn every_screen_is_drawn_at_the_smallest_size() {
    for number in 0..27 {
        picture(&mut scene(number, (40, 10)), (40, 10));
    }
}
