//! Transcripts next to each other: corresponding turns are in one row, and the words that differ inside them are marked. No IO.

use std::collections::HashMap;

use ptc_workbench::event::{Address, Envelope};
use ptc_workbench::tui::message::{Msg, Slot};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::tui::transcript::Cell;
use ptc_workbench::tui::{ansi, picture};
use ptc_workbench::workbench::RunEnding;

use super::compare::{NAMES, both, compared, happens};
use super::story::{Story, apply_message};
use super::{pictures, press};

const SIZE: (u16, u16) = (120, 24);

/// A run whose turns reply with so many members.
fn run_of(members: &[usize]) -> Vec<Envelope> {
    let story = members.iter().enumerate().fold(Story::new().start(), |story, (index, members)| {
        let turn = format!("r0/t{}", index + 1);
        let member = |number: usize| format!("\"a fairly long name of member {number} in turn {index}\": {number}");
        let reply = format!("{{{}}}", (0..*members).map(member).collect::<Vec<_>>().join(", "));
        story.turn(&turn).wait(300).reply(&turn, &reply, (1, 1)).turn_end(&turn, None, (1, 1), (1, 1, 1))
    });
    story.run_end(Some("{}"), None, (9, 1, 1)).events()
}

fn side_by_side(runs: [Vec<Envelope>; 2]) -> Model {
    let mut model = both(SIZE);
    for (slot, events) in [Slot::Left, Slot::Right].into_iter().zip(runs.clone()) {
        happens(&mut model, slot, events, Some(RunEnding::Run));
    }
    apply_message(&mut model, Msg::Compare(compared(&NAMES, runs.into())));
    picture(&mut model, SIZE);
    model
}

/// The row of the screen in which each visible turn of a side begins.
fn turn_rows(model: &Model, side: usize) -> HashMap<Address, usize> {
    let transcript = &model.compare.sides[side].run.as_ref().unwrap().transcript;
    let rows = transcript.rows().enumerate().filter(|(_, row)| row.line == 0);
    let start = |(line, row): (usize, ptc_workbench::tui::transcript::VisibleRow<'_>)| {
        let at = &transcript.cells()[row.cell].at;
        at.turn_number().is_some().then(|| (at.clone(), line))
    };
    rows.filter_map(start).collect()
}

/// Compares the rows of all visible turns with their counterparts, and returns how many pairs were seen.
fn pairs_in_one_row(model: &Model) -> usize {
    let [left, right] = [turn_rows(model, 0), turn_rows(model, 1)];
    let counterpart = |turn: &Address| model.compare.row_of(0, turn).and_then(|row| model.compare.turn_at(1, row));
    let seen = left.iter().filter_map(|(turn, row)| {
        let other = counterpart(turn)?;
        let found = right.get(&other);
        assert!(
            found.is_none_or(|found| found == row),
            "{turn} is in row {row}, {other} in {found:?}:\n{}",
            pictures::rows(&mut model.clone())
        );
        found
    });
    seen.count()
}

#[test]
fn corresponding_turns_are_in_one_row_at_every_step_of_scrolling() {
    let lengths: [[&[usize]; 2]; 4] = [
        [&[1, 9, 2, 30, 1, 1, 4], &[7, 1, 2, 3, 40, 1, 1]],
        [&[1, 1, 1], &[60, 1, 60]],
        [&[3, 3, 3, 3, 3, 3, 3, 3, 3, 3], &[3]],
        [&[5, 5, 20, 1, 1, 1], &[5, 5, 1, 1, 1, 1, 1, 1, 1]],
    ];
    for runs in lengths {
        let mut model = side_by_side(runs.map(run_of));
        let mut seen = 0;
        for focus in [0, 1] {
            for key in [
                "home", "pagedown", "pagedown", "end", "pageup", "pageup", "pageup", "pageup", "pageup", "home", "]",
                "]",
            ] {
                press(&mut model, key);
                picture(&mut model, SIZE);
                seen += pairs_in_one_row(&model);
            }
            for _ in 0..70 {
                press(&mut model, "down");
                picture(&mut model, SIZE);
                seen += pairs_in_one_row(&model);
            }
            assert!(seen > 4, "focus {focus} in {runs:?}: {seen}");
            press(&mut model, "tab");
        }
    }
}

#[test]
fn rows_of_alignment_do_not_stay_in_the_runs_of_the_workbench() {
    let mut model = side_by_side([run_of(&[1]), run_of(&[40])]);
    press(&mut model, "f2");
    let runs = model.workbench.runs.all().len();
    let padded = model.workbench.run.iter().flat_map(|run| run.transcript.cells()).map(Cell::padding).sum::<usize>();
    assert_eq!((runs, padded), (2, 0));
}

#[test]
fn the_words_that_differ_inside_a_turn_are_marked_in_both_transcripts() {
    let reply = |score: &str, word: &str| {
        let turn = "r0/t1";
        let text = format!(
            "{{\"sentiment\": \"positive\", \"reason\": \"the author is {word} about it\", \"score\": {score}}}"
        );
        let story = Story::new().start().turn(turn).wait(300).reply(turn, &text, (1, 1));
        story.turn_end(turn, None, (1, 1), (1, 1, 1)).run_end(Some("{}"), None, (9, 1, 1)).events()
    };
    let mut model = side_by_side([reply("0.97", "glad"), reply("0.93", "happy")]);
    let text = pictures::rows(&mut model);
    let marked = |side: usize| {
        let transcript = &model.compare.sides[side].run.as_ref().unwrap().transcript;
        let words = transcript.rows().flat_map(|row| {
            let text = row.row.plain();
            let marks = model.compare.marks.at(side, row.cell, row.line).to_vec();
            marks.into_iter().map(move |mark| text[mark].to_owned())
        });
        words.collect::<Vec<_>>()
    };
    assert_eq!(
        (marked(0), marked(1)),
        (vec!["glad".to_owned(), "0.97".to_owned()], vec!["happy".to_owned(), "0.93".to_owned()]),
        "{text}"
    );
    model.theme = Theme::plain();
    let text = ansi(&picture(&mut model, SIZE));
    let bold_underlined = ["\u{1b}[0;1;4mglad", "\u{1b}[0;1;4mhappy"];
    assert!(bold_underlined.iter().all(|word| text.contains(word)), "{}", text.replace('\u{1b}', "␛"));
}
