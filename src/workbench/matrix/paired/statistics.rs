//! Statistics of paired results: exact tests, bootstrap intervals, corrections, sample sizes.
//!
//! In: counts and differences of pairs. Out: probabilities and intervals. Pure functions; randomness comes from a seed.

use crate::workbench::random::SplitMix;

/// Quantile of the normal distribution for a two-sided test at 5 %.
const Z_TEST: f64 = 1.959_963_984_540_054;
/// Quantile of the normal distribution for a power of 80 %.
const Z_POWER: f64 = 0.841_621_233_572_914;
/// Number of resamples of a bootstrap interval.
const RESAMPLES: usize = 4_000;

/// `McNemar`'s exact test: returns the two-sided probability of a split at least as uneven as `gained` to `lost` if both are equally
/// likely.
pub(in crate::workbench) fn mcnemar_exact(gained: u32, lost: u32) -> f64 {
    let n = u64::from(gained) + u64::from(lost);
    if n == 0 {
        return 1.0;
    }
    // Sums of binomial terms in logarithms: 2^n does not fit into a double.
    let fewer = u64::from(gained.min(lost));
    #[expect(clippy::cast_precision_loss, reason = "counts of cases")]
    let (count, ln_half) = (n as f64, 0.5_f64.ln());
    let mut ln_term = count * ln_half;
    let mut sum = ln_term.exp();
    for k in 1..=fewer {
        #[expect(clippy::cast_precision_loss, reason = "counts of cases")]
        let k = k as f64;
        ln_term += (count - k + 1.0).ln() - k.ln();
        sum += ln_term.exp();
    }
    (2.0 * sum).min(1.0)
}

/// Holm's correction: adjusts the probabilities of several tests so that the chance of any false finding stays bounded. Keeps the order of
/// the input.
pub(super) fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|one, other| probabilities[*one].total_cmp(&probabilities[*other]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut largest = 0.0_f64;
    for (rank, place) in order.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a count of comparisons")]
        let factor = (probabilities.len() - rank) as f64;
        largest = largest.max((probabilities[*place] * factor).min(1.0));
        adjusted[*place] = largest;
    }
    adjusted
}

/// Returns the number of pairs that a `McNemar` test at 5 % needs to find this difference with a power of 80 % (Connor 1987): `gained` and
/// `lost` of `pairs`. `None` without a difference.
pub(super) fn pairs_needed(gained: u32, lost: u32, pairs: u32) -> Option<u64> {
    if gained == lost || pairs == 0 {
        return None;
    }
    let n = f64::from(pairs);
    let discordant = f64::from(gained + lost) / n;
    let difference = (f64::from(gained) - f64::from(lost)) / n;
    let spread = Z_TEST * discordant.sqrt() + Z_POWER * (discordant - difference * difference).max(0.0).sqrt();
    let needed = (spread / difference).powi(2).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; what is larger saturates")]
    Some(needed as u64)
}

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// The lower end (2.5 %).
    pub low: f64,
    /// The upper end (97.5 %).
    pub high: f64,
}

/// Returns the mean of differences with its bootstrap interval (95 %, percentiles). Equal seeds give equal intervals. `None` without
/// values.
pub(super) fn bootstrap_mean(values: &[f64], seed: u64) -> Option<MeanInterval> {
    let mean = mean(values.iter().copied(), values.len())?;
    let mut random = SplitMix(seed);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let sample = (0..values.len()).map(|_| values[random.below(values.len())]);
            self::mean(sample, values.len())
        })
        .collect();
    means.sort_by(f64::total_cmp);
    Some(MeanInterval { mean, low: percentile(&means, 0.025), high: percentile(&means, 0.975) })
}

fn mean(values: impl Iterator<Item = f64>, count: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a count of cases")]
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

/// Returns the percentile of sorted values, interpolated linearly between neighbours.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    #[expect(clippy::cast_precision_loss, reason = "a count of resamples")]
    let place = share * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the last place")]
    let low = place.floor() as usize;
    let rest = place - place.floor();
    sorted[low] + rest * (sorted[(low + 1).min(last)] - sorted[low])
}

#[cfg(test)]
mod tests;
