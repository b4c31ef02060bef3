//! Comparison of cells with a baseline, and the baseline file.

use super::*;
use crate::event::TextRecord;

fn cell(name: &str) -> Cell {
    Cell {
        agent: "a".to_owned(),
        mode: "json".to_owned(),
        model: "demo".to_owned(),
        case: Some(name.to_owned()),
        unfit: None,
    }
}

fn baseline_cell(passed: u32, trials: u32) -> BaselineCell {
    BaselineCell {
        cell: cell("one"),
        trials,
        passed,
        outcomes: vec![Outcome::Answer(TextRecord::Whole("1".to_owned()))],
        turns: Some(1.0),
        tokens: None,
        cost: None,
        time_ms: Some(5),
    }
}

fn kind(then: (u32, u32), now: (u32, u32)) -> ChangeKind {
    judge(Some(&baseline_cell(then.0, then.1)), Some(&baseline_cell(now.0, now.1))).0
}

#[test]
fn a_cell_that_always_passed_must_keep_passing() {
    assert_eq!(kind((3, 3), (3, 3)), ChangeKind::Same);
    assert_eq!(kind((3, 3), (2, 3)), ChangeKind::Worse);
    assert_eq!(kind((1, 1), (0, 1)), ChangeKind::Worse);
    assert_eq!(kind((3, 3), (10, 10)), ChangeKind::Same);
}

#[test]
fn a_rate_may_move_within_its_interval() {
    // 6 of 10: 31 to 83 %.
    assert_eq!(kind((6, 10), (4, 10)), ChangeKind::Same);
    assert_eq!(kind((6, 10), (3, 10)), ChangeKind::Worse);
    assert_eq!(kind((6, 10), (8, 10)), ChangeKind::Same);
    assert_eq!(kind((6, 10), (9, 10)), ChangeKind::Better);
    assert_eq!(kind((6, 10), (10, 10)), ChangeKind::Better);
    assert_eq!(kind((0, 3), (0, 3)), ChangeKind::Same);
    assert_eq!(kind((0, 3), (2, 3)), ChangeKind::Better);
}

#[test]
fn what_one_side_does_not_know_is_no_regression_but_what_cannot_run_any_more_is() {
    assert_eq!(judge(None, Some(&baseline_cell(1, 1))).0, ChangeKind::New);
    assert_eq!(judge(Some(&baseline_cell(1, 1)), None).0, ChangeKind::NotRun);
    assert_eq!(judge(Some(&baseline_cell(1, 1)), Some(&baseline_cell(0, 0))).0, ChangeKind::NotRun);
    let unfit =
        BaselineCell { cell: Cell { unfit: Some("no tools".to_owned()), ..cell("one") }, ..baseline_cell(0, 0) };
    assert_eq!(judge(Some(&baseline_cell(1, 1)), Some(&unfit)).0, ChangeKind::Worse);
    assert_eq!(judge(Some(&unfit), Some(&unfit)).0, ChangeKind::Same);
}

#[test]
fn an_agent_that_lost_a_mode_lost_its_cases_there() {
    let mut baseline = Baseline::of("m-1", &[]);
    baseline.cells = vec![baseline_cell(2, 2), BaselineCell { cell: cell("two"), ..baseline_cell(0, 2) }];
    let unfit = Cell { case: None, unfit: Some("no tools".to_owned()), ..cell("") };
    let now = super::super::report::report(&unfit, std::iter::empty());
    let changes = compare_with(&baseline, &[now]);
    let kinds: Vec<_> = changes.iter().map(|c| (c.kind, c.cell().unwrap().case.clone())).collect();
    assert_eq!(
        kinds,
        [
            (ChangeKind::Same, None),
            (ChangeKind::Worse, Some("one".to_owned())),
            (ChangeKind::Worse, Some("two".to_owned()))
        ]
    );
}

#[test]
fn a_file_gives_back_what_was_written_and_is_replaced_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("base.json");
    assert!(Baseline::read(&path).unwrap_err().0.contains("--save-baseline"));
    let mut baseline = Baseline::of("m-1", &[]);
    baseline.write(&path).unwrap();
    baseline.cells.push(baseline_cell(2, 3));
    baseline.write(&path).unwrap();
    assert_eq!(Baseline::read(&path).unwrap(), baseline);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    std::fs::write(&path, "{}").unwrap();
    assert!(Baseline::read(&path).unwrap_err().0.contains("this is not a baseline"));
}
