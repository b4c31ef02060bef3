//! Reports of constructed trials.

use super::*;
use crate::event::{TextRecord, Tokens};
use crate::workbench::matrix::{Measures, Outcome};

fn cell(case: &str) -> Cell {
    Cell {
        agent: "a".to_owned(),
        mode: "json".to_owned(),
        model: "m".to_owned(),
        case: Some(case.to_owned()),
        unfit: None,
    }
}

fn trial(number: u32, passed: bool, answer: &str, time_ms: u64) -> Trial {
    let tokens = Tokens { input: 100 + u64::from(number), output: 10, cache_read: Some(50), ..Tokens::default() };
    Trial {
        cell: 0,
        trial: number,
        session: format!("s{number}"),
        passed,
        score: None,
        why: None,
        outcome: Outcome::Answer(TextRecord::Whole(answer.to_owned())),
        measures: Measures {
            turns: number,
            tokens: Some(tokens),
            cost: Some(0.5),
            time_ms,
            first_ms: Some(time_ms / 2),
            data_bytes: 100,
            kept_out_bytes: 90,
            errors: [("type_error".to_owned(), 2)].into(),
            retries: 1,
            waited_ms: 7,
            ..Measures::default()
        },
        rulings: Vec::new(),
    }
}

#[test]
fn a_cell_is_the_sum_of_its_trials() {
    let trials = [trial(1, true, "1", 30), trial(2, false, "2", 10), trial(3, true, "1", 20), trial(4, true, "1", 40)];
    let report = report(&cell("c"), trials.iter());
    assert_eq!((report.trials, report.passed, report.rate()), (4, 3, Some(0.75)));
    assert_eq!(report.interval, wilson(3, 4));
    assert_eq!(report.pass_hat, [0.75, 0.5, 0.25, 0.0]);
    let groups: Vec<_> = report.answers.iter().map(|group| (group.count, group.passed)).collect();
    assert_eq!(groups, [(3, 3), (1, 0)]);
    assert_eq!(
        (report.turns, report.input, report.output, report.cached),
        (Some(2.5), Some(102.5), Some(10.0), Some(50.0))
    );
    // The lower of 20 and 30; no percentile below five trials.
    assert_eq!((report.time_ms, report.first_ms, report.time_p95_ms), (Some(20), Some(10), None));
    assert_eq!((report.waited_ms, report.retries, report.errors["type_error"]), (28, 4, 8));
    assert_eq!((report.cost, report.data_bytes, report.kept_out_bytes), (Some(0.5), Some(100.0), Some(90.0)));
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let trials: Vec<_> = (1..=20).map(|n| trial(n, true, "1", u64::from(n) * 10)).collect();
    let of = |trials: &[Trial]| {
        let report = report(&cell("c"), trials.iter());
        (report.time_ms, report.time_p95_ms)
    };
    assert_eq!(of(&trials), (Some(100), Some(190)));
    assert_eq!(of(&trials[..5]), (Some(30), Some(50)));
    assert_eq!(of(&trials[..4]), (Some(20), None));
}

#[test]
fn what_one_trial_does_not_know_stays_unknown() {
    let mut trials = [trial(1, true, "1", 1), trial(2, true, "1", 1)];
    trials[1].measures.cost = None;
    trials[1].measures.tokens = None;
    let row = report(&cell("c"), trials.iter());
    assert_eq!((row.cost, row.input, row.cached), (None, None, None));
    let none = report(&cell("c"), std::iter::empty());
    assert_eq!((none.rate(), none.turns, none.time_ms, none.interval), (None, None, None, (0.0, 1.0)));
}

#[test]
fn cases_are_summed_up_per_mode_and_model() {
    let one = [trial(1, true, "1", 1), trial(2, true, "1", 1)];
    let two = [trial(1, true, "1", 1), trial(2, false, "2", 1)];
    let mut reports = vec![report(&cell("one"), one.iter()), report(&cell("two"), two.iter())];
    reports.push(report(&Cell { mode: "text".to_owned(), ..cell("one") }, one.iter()));
    let trials = [&one, &two, &one];
    let totals = totals(&reports, |place| trials[place].iter().collect());
    assert_eq!(totals.len(), 1, "one case needs no sum");
    let total = &totals[0];
    assert_eq!((total.cell.case.as_deref(), total.trials, total.passed), (None, 4, 3));
    // Case by case: 1 and 1/2, then 1 and 0.
    assert_eq!(total.pass_hat, [0.75, 0.5]);
}
