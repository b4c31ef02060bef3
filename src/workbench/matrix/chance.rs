//! Statistics of a few trials: the interval of a pass rate, and the probability that k trials all pass.
//!
//! In: numbers of passed trials and of all trials. Out: numbers between 0 and 1. Pure functions.

/// Quantile of the normal distribution for a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Returns the Wilson interval (95 %) of a pass rate: lower and upper end. `(0, 1)` without trials.
pub fn wilson(passed: u32, trials: u32) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let n = f64::from(trials);
    let rate = f64::from(passed.min(trials)) / n;
    let z2 = Z * Z;
    let middle = rate + z2 / (2.0 * n);
    let spread = Z * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    // At the ends the exact values are 0 and 1; the formula has rounding errors there.
    let low = if passed == 0 { 0.0 } else { ((middle - spread) / scale).max(0.0) };
    let high = if passed >= trials { 1.0 } else { ((middle + spread) / scale).min(1.0) };
    (low, high)
}

/// Returns pass^k: the probability that k trials all pass, estimated without bias as `C(passed, k) / C(trials, k)`. `None` for fewer than k
/// trials, or for k = 0.
pub fn pass_hat(passed: u32, trials: u32, k: u32) -> Option<f64> {
    if k == 0 || k > trials {
        return None;
    }
    let passed = passed.min(trials);
    Some((0..k).map(|i| f64::from(passed.saturating_sub(i)) / f64::from(trials - i)).product())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Per cent with one decimal.
    fn shown((low, high): (f64, f64)) -> String {
        format!("{:.1}–{:.1}", low * 100.0, high * 100.0)
    }

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // 10 of 10: 1 / (1 + z²/10) = 10 / 13.8415 = 72.2 %.
        // 5 of 10: 50 % ± z·√(1/40 + z²/400) / (1 + z²/10) = 50 ± 26.3 %.
        let known = [
            (0, 1, "0.0–79.3"),
            (1, 1, "20.7–100.0"),
            (3, 3, "43.9–100.0"),
            (2, 3, "20.8–93.9"),
            (0, 10, "0.0–27.8"),
            (5, 10, "23.7–76.3"),
            (6, 10, "31.3–83.2"),
            (10, 10, "72.2–100.0"),
            (81, 263, "25.5–36.6"),
        ];
        for (passed, trials, expected) in known {
            assert_eq!(shown(wilson(passed, trials)), expected, "{passed} of {trials}");
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn the_interval_holds_the_rate_and_narrows() {
        for trials in 1..60 {
            for passed in 0..=trials {
                let (low, high) = wilson(passed, trials);
                let rate = f64::from(passed) / f64::from(trials);
                assert!(low <= rate && rate <= high && (0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
                let (low_of_more, high_of_more) = wilson(passed * 2, trials * 2);
                assert!(high_of_more - low_of_more < high - low);
            }
        }
    }

    #[test]
    fn k_passes_in_a_row_are_counted_over_all_choices() {
        // 3 of 4 passed: C(3,2) / C(4,2) = 3/6; C(3,3) / C(4,3) = 1/4; C(3,4) = 0.
        let of = |k| pass_hat(3, 4, k).map(|chance| format!("{chance:.4}"));
        assert_eq!([1, 2, 3, 4].map(of), ["0.7500", "0.5000", "0.2500", "0.0000"].map(|text| Some(text.to_owned())));
        assert_eq!(pass_hat(5, 5, 5), Some(1.0));
        assert_eq!((pass_hat(3, 4, 5), pass_hat(3, 4, 0)), (None, None));
        // By counting: the share of the 3-element choices out of 7 trials, 5 of which passed, that hold passes only.
        let all: Vec<u32> = (0..1 << 7).filter(|set: &u32| set.count_ones() == 3).collect();
        let good = all.iter().filter(|set| **set & !0b1_1111 == 0).count();
        let counted = f64::from(u32::try_from(good).unwrap()) / f64::from(u32::try_from(all.len()).unwrap());
        assert!((pass_hat(5, 7, 3).unwrap() - counted).abs() < 1e-12);
    }
}
