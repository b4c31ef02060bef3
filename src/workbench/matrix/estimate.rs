//! The cost of a matrix before it runs, estimated from earlier matrices.
//!
//! In: a plan, the matrices of the sessions folder. Out: the expected cost with its range. Only files of matrices are read, no sessions.

use super::plan::MatrixPlan;
use crate::workbench::Workbench;

/// Quantile of the normal distribution for a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Expected cost of a matrix, in the price table's unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CostEstimate {
    /// Number of trials of the plan.
    pub trials: u64,
    /// Expected cost of the trials that have earlier trials of the same kind.
    pub cost: f64,
    /// The lower end of the range (95 %).
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Number of earlier trials of known cost.
    pub earlier: u64,
    /// Number of trials whose agent, mode and model have no earlier trial of known cost.
    pub unknown: u64,
}

/// Trials to run of one agent, mode and model, and the costs of earlier ones.
struct Kind {
    due: u64,
    earlier: Vec<f64>,
}

impl CostEstimate {
    fn of(kinds: &[Kind]) -> Self {
        let (mut estimate, mut variance) = (Self::default(), 0.0);
        for kind in kinds {
            estimate.trials += kind.due;
            if kind.earlier.is_empty() {
                estimate.unknown += kind.due;
                continue;
            }
            estimate.earlier += kind.earlier.len() as u64;
            #[expect(clippy::cast_precision_loss, reason = "counts of trials")]
            let (due, known) = (kind.due as f64, kind.earlier.len() as f64);
            let mean = kind.earlier.iter().sum::<f64>() / known;
            let squares: f64 = kind.earlier.iter().map(|cost| (cost - mean).powi(2)).sum();
            let spread = if known > 1.0 { squares / (known - 1.0) } else { mean * mean };
            estimate.cost += due * mean;
            // Two sources of variance: the trials themselves, and the mean of the earlier ones.
            variance += due * spread + due * due * spread / known;
        }
        let half = Z * variance.sqrt();
        (estimate.low, estimate.high) = ((estimate.cost - half).max(0.0), estimate.cost + half);
        estimate
    }
}

impl Workbench {
    /// Estimates the cost of a plan; `None` when no earlier trial of one of its agents, modes and models has a known cost.
    pub fn estimate_cost(&self, plan: &MatrixPlan) -> Option<CostEstimate> {
        let version = |cell: &super::plan::Cell| (cell.agent.clone(), cell.mode.clone(), cell.model.clone());
        let mut kinds: Vec<((String, String, String), Kind)> = Vec::new();
        for cell in plan.cells.iter().filter(|cell| cell.unfit.is_none()) {
            let name = version(cell);
            let due = u64::from(plan.trials);
            match kinds.iter_mut().find(|(known, _)| *known == name) {
                Some((_, kind)) => kind.due += due,
                None => kinds.push((name, Kind { due, earlier: Vec::new() })),
            }
        }
        for state in self.matrices().into_iter().filter_map(|entry| entry.state.ok()) {
            for (place, cell) in state.plan.cells.iter().enumerate() {
                let name = version(cell);
                let Some((_, kind)) = kinds.iter_mut().find(|(known, _)| *known == name) else { continue };
                kind.earlier.extend(state.trials_of(place).filter_map(|trial| trial.measures.cost));
            }
        }
        let kinds: Vec<Kind> = kinds.into_iter().map(|(_, kind)| kind).collect();
        Some(CostEstimate::of(&kinds)).filter(|estimate| estimate.earlier > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_covers_the_trials_and_the_earlier_mean() {
        let kind = |due: u64, earlier: &[f64]| Kind { due, earlier: earlier.to_vec() };
        let estimate = CostEstimate::of(&[kind(10, &[1.0, 3.0]), kind(5, &[])]);
        assert_eq!((estimate.trials, estimate.earlier, estimate.unknown), (15, 2, 5));
        assert!((estimate.cost - 20.0).abs() < 1e-12);
        // The variance of one trial is 2: 10·2 of the trials, 100·2/2 of the mean.
        assert!((estimate.high - (20.0 + Z * 120.0_f64.sqrt())).abs() < 1e-9);
        assert!(estimate.low.abs() < 1e-12, "no cost is negative");
        let equal = CostEstimate::of(&[kind(4, &[0.5, 0.5, 0.5])]);
        assert_eq!((equal.cost, equal.low, equal.high), (2.0, 2.0, 2.0));
        assert_eq!(CostEstimate::of(&[]), CostEstimate::default());
    }
}
