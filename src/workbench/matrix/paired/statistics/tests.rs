//! The statistics against the values of scipy and statsmodels: `statistics/table.json`, written by `statistics/table.py`.

use serde::Deserialize;

use super::*;
use crate::workbench::matrix::chance::wilson;

#[derive(Deserialize)]
struct Table {
    mcnemar: Vec<(u32, u32, f64)>,
    holm: Vec<(Vec<f64>, Vec<f64>)>,
    wilson: Vec<(u32, u32, f64, f64)>,
    pairs: Vec<(u32, u32, u32, u64)>,
    bootstrap: Vec<(Vec<f64>, f64, f64, f64)>,
}

fn table() -> Table {
    serde_json::from_str(include_str!("table.json")).unwrap()
}

/// Equal to nine digits.
fn same(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

#[test]
fn mcnemar_is_that_of_statsmodels() {
    for (gained, lost, expected) in table().mcnemar {
        let found = mcnemar_exact(gained, lost);
        assert!(same(found, expected), "{gained} {lost}: {found} {expected}");
        assert!(same(found, mcnemar_exact(lost, gained)));
    }
}

#[test]
fn holm_is_that_of_statsmodels() {
    for (probabilities, expected) in table().holm {
        let found = holm(&probabilities);
        assert!(found.iter().zip(&expected).all(|(found, expected)| same(*found, *expected)), "{found:?} {expected:?}");
    }
    assert!(holm(&[]).is_empty());
}

#[test]
fn wilson_is_that_of_statsmodels() {
    for (passed, trials, low, high) in table().wilson {
        let found = wilson(passed, trials);
        assert!(same(found.0, low) && same(found.1, high), "{passed}/{trials}: {found:?} {low} {high}");
    }
}

#[test]
fn the_number_of_pairs_is_that_of_the_formula() {
    for (gained, lost, pairs, expected) in table().pairs {
        assert_eq!(pairs_needed(gained, lost, pairs), Some(expected), "{gained} {lost} of {pairs}");
    }
    assert_eq!((pairs_needed(3, 3, 9), pairs_needed(0, 0, 0)), (None, None));
}

#[test]
fn bootstrap_intervals_are_those_of_scipy_but_for_chance() {
    for (values, mean, low, high) in table().bootstrap {
        let found = bootstrap_mean(&values, 1).unwrap();
        assert!(same(found.mean, mean));
        // 4,000 resamples against 20,000: the ends differ by little of the width.
        let width = high - low;
        assert!(
            (found.low - low).abs() <= 0.08 * width && (found.high - high).abs() <= 0.08 * width,
            "{found:?} {low} {high}"
        );
        assert_eq!(bootstrap_mean(&values, 1), Some(found));
    }
    assert_eq!(bootstrap_mean(&[], 1), None);
    let one = bootstrap_mean(&[0.5], 1).unwrap();
    assert_eq!((one.mean, one.low, one.high), (0.5, 0.5, 0.5));
}
