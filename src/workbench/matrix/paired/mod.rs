//! Paired comparison of the versions (agent, mode and model) of a matrix on the same cases.
//!
//! In: the reports of a matrix. Out: a [`PairedReport`] for every other version against the first: differences with intervals, an exact
//! test, the number of cases missing for a decision, the cases that differ. It counts cases, not trials: trials of one case are not
//! independent.

mod statistics;

pub use statistics::MeanInterval;
pub(in crate::workbench) use statistics::mcnemar_exact;
use statistics::{bootstrap_mean, holm, pairs_needed};

use super::plan::Cell;
use super::report::CellReport;

/// Probability below which a difference is significant.
const SIGNIFICANCE: f64 = 0.05;
/// Seed of the bootstrap intervals: equal results give equal intervals.
const SEED: u64 = 1;

/// Verdict of a paired comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairedVerdict {
    /// More cases pass, and the difference is significant.
    Better,
    /// Fewer cases pass, and the difference is significant.
    Worse,
    /// There is a difference, but it is not significant.
    Undecided,
    /// No case differs.
    Equal,
}

impl PairedVerdict {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Undecided => "undecided",
            Self::Equal => "equal",
        }
    }
}

/// A case whose pass rates differ between two versions.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedCase {
    /// Name of the case; `None` for an agent without cases.
    pub case: Option<String>,
    /// Passed trials and all trials of the first version.
    pub then: (u32, u32),
    /// Passed trials and all trials of the other version.
    pub now: (u32, u32),
    /// A session of each version, a failed one if there is one.
    pub sessions: (String, String),
}

/// Comparison of a version with the first.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedReport {
    /// Agent, mode and model of the first version.
    pub base: Cell,
    /// Agent, mode and model of the other version.
    pub other: Cell,
    /// Number of cases that both versions have tried.
    pub cases: u32,
    /// Number of cases with a higher pass rate.
    pub gained: u32,
    /// Number of cases with a lower pass rate.
    pub lost: u32,
    /// `McNemar`'s exact probability that the difference is chance; with several trials of a case, the sign test over cases.
    pub probability: f64,
    /// The probability after Holm's correction for all comparisons of the matrix.
    pub adjusted: f64,
    /// Verdict of the comparison.
    pub verdict: PairedVerdict,
    /// Estimated number of further cases needed for a decision, at the differences seen; `None` when it is decided or as many cases gained
    /// as lost.
    pub more: Option<u64>,
    /// Difference of the pass rates.
    pub rate: Option<MeanInterval>,
    /// Difference of the scores.
    pub score: Option<MeanInterval>,
    /// Difference of the costs per trial; `None` unless all are known.
    pub cost: Option<MeanInterval>,
    /// Difference of the tokens per trial; `None` unless all are known.
    pub tokens: Option<MeanInterval>,
    /// Cases that differ, those with a lower pass rate first.
    pub changed: Vec<PairedCase>,
}

/// Compares every version of a matrix with the first, in their order. Empty for one version, or without common cases.
pub fn paired(reports: &[CellReport]) -> Vec<PairedReport> {
    let mut versions: Vec<(&Cell, Vec<&CellReport>)> = Vec::new();
    for report in reports.iter().filter(|report| report.trials > 0) {
        match versions.iter_mut().find(|(cell, _)| is_version(cell, &report.cell)) {
            Some((_, cells)) => cells.push(report),
            None => versions.push((&report.cell, vec![report])),
        }
    }
    let Some(((base, first), others)) = versions.split_first() else { return Vec::new() };
    let mut found: Vec<PairedReport> =
        others.iter().filter_map(|(other, cells)| compared(base, first, other, cells)).collect();
    let adjusted = holm(&found.iter().map(|report| report.probability).collect::<Vec<_>>());
    for (report, adjusted) in found.iter_mut().zip(adjusted) {
        report.adjusted = adjusted;
        report.verdict = match () {
            () if report.gained == 0 && report.lost == 0 => PairedVerdict::Equal,
            () if adjusted >= SIGNIFICANCE => PairedVerdict::Undecided,
            () if report.gained > report.lost => PairedVerdict::Better,
            () => PairedVerdict::Worse,
        };
        if report.verdict == PairedVerdict::Undecided {
            let needed = pairs_needed(report.gained, report.lost, report.cases);
            report.more = needed.map(|needed| needed.saturating_sub(u64::from(report.cases)).max(1));
        }
    }
    found
}

/// Returns whether two cells have the same agent, mode and model.
fn is_version(one: &Cell, other: &Cell) -> bool {
    (&one.agent, &one.mode, &one.model) == (&other.agent, &other.mode, &other.model)
}

fn compared(base: &Cell, first: &[&CellReport], other: &Cell, cells: &[&CellReport]) -> Option<PairedReport> {
    let pairs: Vec<(&CellReport, &CellReport)> = cells
        .iter()
        .filter_map(|now| Some((*first.iter().find(|then| then.cell.case == now.cell.case)?, *now)))
        .collect();
    let difference = |of: fn(&CellReport) -> Option<f64>| {
        let values: Option<Vec<f64>> = pairs.iter().map(|(then, now)| Some(of(now)? - of(then)?)).collect();
        bootstrap_mean(&values?, SEED)
    };
    // Rates are compared as products of integers, so that equal rates of different trial counts are equal.
    let order = |(then, now): &(&CellReport, &CellReport)| {
        (u64::from(now.passed) * u64::from(then.trials)).cmp(&(u64::from(then.passed) * u64::from(now.trials)))
    };
    let count = |wanted: std::cmp::Ordering| {
        u32::try_from(pairs.iter().filter(|pair| order(pair) == wanted).count()).unwrap_or(u32::MAX)
    };
    let (gained, lost) = (count(std::cmp::Ordering::Greater), count(std::cmp::Ordering::Less));
    let mut changed: Vec<&(&CellReport, &CellReport)> = pairs.iter().filter(|pair| order(pair).is_ne()).collect();
    changed.sort_by_key(|pair| order(pair));
    let probability = mcnemar_exact(gained, lost);
    let version = |cell: &Cell| Cell { case: None, unfit: None, ..cell.clone() };
    (!pairs.is_empty()).then(|| PairedReport {
        base: version(base),
        other: version(other),
        cases: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        gained,
        lost,
        probability,
        adjusted: probability,
        verdict: PairedVerdict::Undecided,
        more: None,
        rate: difference(CellReport::rate),
        score: difference(|report| report.score),
        cost: difference(|report| report.cost),
        tokens: difference(|report| Some(report.input? + report.output?)),
        changed: changed.into_iter().map(|(then, now)| paired_case(then, now)).collect(),
    })
}

fn paired_case(then: &CellReport, now: &CellReport) -> PairedCase {
    let session = |report: &CellReport| {
        let failed = report.sessions.iter().find(|trial| !trial.passed);
        failed.or(report.sessions.first()).map(|trial| trial.session.clone()).unwrap_or_default()
    };
    PairedCase {
        case: now.cell.case.clone(),
        then: (then.passed, then.trials),
        now: (now.passed, now.trials),
        sessions: (session(then), session(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TextRecord;
    use crate::workbench::matrix::report::report;
    use crate::workbench::matrix::{Measures, Outcome, Trial};

    /// Reports of versions whose trials of each case passed (`+`) or failed (`-`), one word per case.
    fn reports(versions: &[(&str, &str)]) -> Vec<CellReport> {
        let cell = |agent: &str, case: usize| Cell {
            agent: agent.to_owned(),
            mode: "json".to_owned(),
            model: "demo".to_owned(),
            case: Some(format!("c{case}")),
            unfit: None,
        };
        let trial = |(place, mark): (usize, char)| Trial {
            cell: 0,
            trial: u32::try_from(place + 1).unwrap(),
            session: format!("s{place}"),
            passed: mark == '+',
            score: None,
            why: None,
            outcome: Outcome::Answer(TextRecord::Whole("1".to_owned())),
            measures: Measures { cost: Some(0.5), ..Measures::default() },
            rulings: Vec::new(),
        };
        let of_case = |agent: &str, case: usize, marks: &str| {
            let trials: Vec<Trial> = marks.chars().enumerate().map(trial).collect();
            report(&cell(agent, case), trials.iter())
        };
        let of = |(agent, words): &(&str, &str)| {
            words.split(' ').enumerate().map(|(case, marks)| of_case(agent, case, marks)).collect::<Vec<_>>()
        };
        versions.iter().flat_map(of).collect()
    }

    #[test]
    fn nine_gained_cases_and_none_lost_are_no_chance() {
        let (base, other) = (["-"; 9].join(" "), ["+"; 9].join(" "));
        let found = paired(&reports(&[("a", &base), ("b", &other)]));
        let [only] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((only.cases, only.gained, only.lost, only.verdict), (9, 9, 0, PairedVerdict::Better));
        assert!((only.probability - 2.0 / 512.0).abs() < 1e-12);
        assert_eq!((only.more, only.changed.len()), (None, 9));
        let worse = &paired(&reports(&[("b", &other), ("a", &base)]))[0];
        assert_eq!(worse.verdict, PairedVerdict::Worse);
        assert_eq!(worse.rate.map(|rate| (rate.mean, rate.low, rate.high)), Some((-1.0, -1.0, -1.0)));
        assert_eq!(worse.cost.map(|cost| cost.mean), Some(0.0));
    }

    #[test]
    fn a_small_difference_shows_how_many_cases_are_missing() {
        let found = &paired(&reports(&[("a", "- - + + +"), ("b", "+ + - + +")]))[0];
        assert_eq!((found.gained, found.lost, found.verdict), (2, 1, PairedVerdict::Undecided));
        let needed = pairs_needed(2, 1, 5).unwrap();
        assert_eq!(found.more, Some(needed - 5));
        let changed: Vec<_> = found.changed.iter().map(|case| case.case.as_deref().unwrap()).collect();
        assert_eq!(changed, ["c2", "c0", "c1"], "lost cases come first");
        let equal = &paired(&reports(&[("a", "+ -"), ("b", "+ -")]))[0];
        assert_eq!((equal.verdict, equal.more, equal.probability), (PairedVerdict::Equal, None, 1.0));
    }

    #[test]
    fn trials_of_a_case_count_as_one_case() {
        let found = &paired(&reports(&[("a", "++-- ++++"), ("b", "+++- ++++")]))[0];
        assert_eq!((found.cases, found.gained, found.lost), (2, 1, 0));
        assert_eq!(found.rate.map(|rate| rate.mean), Some(0.125));
        assert_eq!(found.changed[0].then, (2, 4));
        // Half of the trials pass on both sides, whatever their number.
        assert_eq!(paired(&reports(&[("a", "+-"), ("b", "++--")]))[0].verdict, PairedVerdict::Equal);
    }

    #[test]
    fn several_comparisons_are_corrected() {
        let (base, other) = (["-"; 7].join(" "), ["+"; 7].join(" "));
        let alone = &paired(&reports(&[("a", &base), ("b", &other)]))[0];
        assert_eq!(alone.verdict, PairedVerdict::Better);
        let versions = [("a", base.as_str()), ("b", &other), ("c", &base), ("d", &base), ("e", &base)];
        let found = paired(&reports(&versions));
        assert_eq!(found.len(), 4);
        assert!((found[0].adjusted - 4.0 * alone.probability).abs() < 1e-12);
        assert_eq!(found[0].verdict, PairedVerdict::Undecided);
    }

    #[test]
    fn versions_without_a_common_case_are_not_compared() {
        let mut all = reports(&[("a", "+"), ("b", "+")]);
        all[1].cell.case = Some("other".to_owned());
        assert!(paired(&all).is_empty());
        assert!(paired(&reports(&[("a", "+ -")])).is_empty());
    }
}
