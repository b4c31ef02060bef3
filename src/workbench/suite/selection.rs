//! The selection of the cases of an agent that a suite runs.
//!
//! In: the cases of an agent in order, a [`CaseFilter`]. Out: the indexes of the chosen ones, ascending, so that a second pass over the
//! rows finds them without holding the others. A sample and a shard depend on names only: they are the same on every machine and in every
//! order.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sha2::{Digest as _, Sha256};

use crate::agent::{Case, CheckedCase, Diagnostic, Place};
use ptc_core::reasons::Reason;

/// Filter for the cases to run; the default chooses all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseFilter {
    /// Conditions, all of which must hold: a part of the name, `tag:NAME`, or one of these after `!`.
    pub conditions: Vec<String>,
    /// Size and seed of a random sample of the remaining cases.
    pub sample: Option<(usize, u64)>,
    /// The shard of the remaining cases.
    pub shard: Option<Shard>,
    /// Names of the only cases to choose.
    pub names: Option<BTreeSet<String>>,
}

/// One of several parts of the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1.
    pub index: u64,
    /// Number of shards.
    pub count: u64,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if index >= 1 && index <= count => Ok(Self { index, count }),
            _ => Err("write I/N with I from 1 to N, such as 1/4".to_owned()),
        }
    }
}

impl Shard {
    /// Returns whether the case of this name belongs to the shard.
    pub fn has(self, name: &str) -> bool {
        hash("shard", name) % self.count.max(1) == self.index - 1
    }
}

/// Selected cases of an agent.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Their indexes among all cases, ascending.
    pub(super) places: Vec<u32>,
    /// Names of the cases marked `skip` that the filter would have chosen.
    pub skipped: Vec<String>,
    /// Number of all cases of the agent.
    pub total: u64,
    /// At least one of them needs a model.
    pub(super) asks_model: bool,
    /// The first one that has a rubric without a model.
    pub(super) default_judge_case: Option<String>,
    /// Models of the embeddings that they need.
    pub(super) embedding_models: BTreeSet<String>,
    /// Warnings about inputs that the agent does not declare, each with the first case that has it.
    pub warnings: Vec<String>,
}

/// A case that may be chosen.
struct Candidate {
    place: u32,
    order: u64,
    only: bool,
    in_shard: bool,
    models: NeededModels,
    /// The problem that makes the case unusable.
    problem: Option<Diagnostic>,
}

/// Models that a case needs.
struct NeededModels {
    /// The agent's model: the case has no cassette.
    agent: bool,
    /// The configured default judge: the case of this name has a rubric without a model.
    default_judge: Option<String>,
}

impl Selection {
    /// Chooses among cases. Errors: a chosen case is invalid; the name of a row cannot be read; two cases have the same name.
    pub(in crate::workbench) fn of<C: Into<CheckedCase>>(
        cases: impl Iterator<Item = Result<C, Diagnostic>>,
        filter: &CaseFilter,
    ) -> Result<Self, Diagnostic> {
        let mut selection = Self::default();
        let mut names: HashSet<u128> = HashSet::new();
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut unknown: BTreeMap<String, String> = BTreeMap::new();
        let seed = filter.sample.map_or(0, |(_, seed)| seed);
        for (place, case) in cases.enumerate() {
            let CheckedCase { case, problem, undeclared_inputs } = case?.into();
            if !names.insert(identity(&case.name)) {
                let message = format!("two cases have the name `{}`; rename one", case.name);
                return Err(Diagnostic::error(Place::Options, Reason::InvalidAgent, message).key("cases"));
            }
            selection.total += 1;
            if !filter.admits(&case) {
                continue;
            }
            let in_shard = filter.shard.is_none_or(|shard| shard.has(&case.name));
            // The members of a sample are only known after all rows are read.
            if let Some(problem) = &problem
                && in_shard
                && filter.sample.is_none()
            {
                return Err(problem.clone());
            }
            if case.skip {
                if in_shard {
                    selection.skipped.push(case.name);
                }
                continue;
            }
            for message in undeclared_inputs {
                unknown.entry(message).or_insert_with(|| case.name.clone());
            }
            let default_judge = case.asks_default_judge().then(|| case.name.clone());
            selection.embedding_models.extend(case.embedding_models().map(ToOwned::to_owned));
            candidates.push(Candidate {
                place: u32::try_from(place).unwrap_or(u32::MAX),
                order: hash(&seed.to_string(), &case.name),
                only: case.only,
                in_shard,
                models: NeededModels { agent: case.cassette.is_none(), default_judge },
                problem,
            });
        }
        if candidates.iter().any(|candidate| candidate.only) {
            candidates.retain(|candidate| candidate.only);
        }
        if let Some((count, _)) = filter.sample {
            candidates.sort_by_key(|candidate| (candidate.order, candidate.place));
            candidates.truncate(count);
            candidates.sort_by_key(|candidate| candidate.place);
        }
        candidates.retain(|candidate| candidate.in_shard);
        if let Some(problem) = candidates.iter_mut().find_map(|candidate| candidate.problem.take()) {
            return Err(problem);
        }
        selection.asks_model = candidates.iter().any(|candidate| candidate.models.agent);
        selection.default_judge_case =
            candidates.iter_mut().find_map(|candidate| candidate.models.default_judge.take());
        selection.warnings =
            unknown.into_iter().map(|(message, case)| format!("the case `{case}`: {message}")).collect();
        selection.places = candidates.iter().map(|candidate| candidate.place).collect();
        Ok(selection)
    }

    /// Returns the chosen ones of the cases, in order.
    pub(in crate::workbench) fn choose(&self, cases: Vec<Case>) -> Vec<Case> {
        let mut places = self.places.iter().peekable();
        let is_chosen = |place: usize| places.next_if(|next| **next as usize == place).is_some();
        cases
            .into_iter()
            .enumerate()
            .scan(is_chosen, |is_chosen, (place, case)| Some(is_chosen(place).then_some(case)))
            .flatten()
            .collect()
    }

    /// Returns the number of chosen cases.
    pub fn count(&self) -> usize {
        self.places.len()
    }
}

impl CaseFilter {
    /// Returns the filter that chooses the case of one name.
    pub(super) fn named(name: &str) -> Self {
        Self { names: Some(BTreeSet::from([name.to_owned()])), ..Self::default() }
    }

    /// Returns whether a case meets the conditions on its name and tags.
    fn admits(&self, case: &Case) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(&case.name))
            && self.conditions.iter().all(|condition| match condition.strip_prefix('!') {
                Some(rest) => !holds(rest, case),
                None => holds(condition, case),
            })
    }
}

fn holds(condition: &str, case: &Case) -> bool {
    match condition.strip_prefix("tag:") {
        Some(tag) => case.tags.iter().any(|known| known == tag),
        None => case.name.contains(condition),
    }
}

/// Hashes a name with a salt: the result depends on both texts only.
fn hash(salt: &str, name: &str) -> u64 {
    let hash = Sha256::digest(format!("{salt}\n{name}"));
    u64::from_be_bytes(hash.first_chunk::<8>().copied().unwrap_or_default())
}

/// Returns the hash of a name in 16 bytes: a collision of different names is negligible.
fn identity(name: &str) -> u128 {
    u128::from_be_bytes(Sha256::digest(name).first_chunk::<16>().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(count: u32) -> impl Iterator<Item = Result<Case, Diagnostic>> {
        let tags = |number: u32| if number.is_multiple_of(2) { vec!["even".to_owned()] } else { Vec::new() };
        (0..count).map(move |number| Ok(Case { name: format!("case {number}"), tags: tags(number), ..Case::default() }))
    }

    fn chosen(filter: &CaseFilter) -> Vec<u32> {
        Selection::of(cases(40), filter).unwrap().places
    }

    #[test]
    fn conditions_are_about_names_and_tags() {
        let with = |conditions: &[&str]| {
            let conditions = conditions.iter().map(|condition| (*condition).to_owned()).collect();
            chosen(&CaseFilter { conditions, ..CaseFilter::default() })
        };
        assert_eq!(with(&["case 1"]).len(), 11);
        assert_eq!(with(&["case 1", "tag:even"]), [10, 12, 14, 16, 18]);
        assert_eq!(with(&["case 1", "!tag:even"]), [1, 11, 13, 15, 17, 19]);
        assert_eq!(with(&["tag:odd"]), [0_u32; 0]);
    }

    #[test]
    fn a_sample_depends_on_its_seed_and_on_names_only() {
        let sample =
            |count: usize, seed: u64| chosen(&CaseFilter { sample: Some((count, seed)), ..CaseFilter::default() });
        assert_eq!(sample(5, 1), sample(5, 1));
        assert_ne!(sample(5, 1), sample(5, 2));
        // A larger sample contains the smaller one.
        assert!(sample(5, 1).iter().all(|place| sample(9, 1).contains(place)));
        assert_eq!(sample(99, 1).len(), 40);
    }

    #[test]
    fn shards_are_disjoint_and_complete_also_of_a_sample() {
        for sample in [None, Some((17, 3))] {
            let whole = chosen(&CaseFilter { sample, ..CaseFilter::default() });
            let shard = |index: u64| {
                let shard = Some(Shard { index, count: 3 });
                chosen(&CaseFilter { sample, shard, ..CaseFilter::default() })
            };
            let mut parts: Vec<u32> = (1..=3).flat_map(shard).collect();
            parts.sort_unstable();
            assert_eq!(parts, whole);
        }
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_case_that_cannot_be_used_is_a_problem_only_where_it_is_chosen() {
        let named = |number: u32| Case { name: format!("case {number}"), ..Case::default() };
        let checked = |number: u32| {
            let unusable = || Diagnostic::error(Place::Options, Reason::InvalidAgent, "unusable");
            let problem = (number == 3).then(unusable);
            Ok(CheckedCase { problem, ..CheckedCase::from(named(number)) })
        };
        let of = |filter: &CaseFilter| Selection::of((0..8).map(checked), filter);
        assert_eq!(of(&CaseFilter::default()).unwrap_err().message, "unusable");
        let without = CaseFilter { conditions: vec!["!case 3".to_owned()], ..CaseFilter::default() };
        assert_eq!(of(&without).unwrap().count(), 7);
        let shard = |index: u64| CaseFilter { shard: Some(Shard { index, count: 3 }), ..CaseFilter::default() };
        assert_eq!((1..=3).filter(|index| of(&shard(*index)).is_err()).count(), 1);
        for count in 1..=8 {
            let sample = CaseFilter { sample: Some((count, 1)), ..CaseFilter::default() };
            let places = Selection::of((0..8).map(|number| Ok(named(number))), &sample).unwrap().places;
            assert_eq!(of(&sample).is_err(), places.contains(&3), "{count}");
        }
    }

    #[test]
    fn marks_and_equal_names_are_respected() {
        let of = |marks: &[(&str, bool, bool)]| {
            let case = |(name, skip, only): &(&str, bool, bool)| {
                Ok(Case { name: (*name).to_owned(), skip: *skip, only: *only, ..Case::default() })
            };
            Selection::of(marks.iter().map(case), &CaseFilter::default())
        };
        let skipped = of(&[("a", true, false), ("b", false, false)]).unwrap();
        assert_eq!((skipped.places, skipped.skipped, skipped.total), (vec![1], vec!["a".to_owned()], 2));
        assert_eq!(of(&[("a", false, false), ("b", false, true), ("c", true, true)]).unwrap().places, [1]);
        let twice = of(&[("a", false, false), ("a", false, false)]).unwrap_err();
        assert!(twice.message.contains("two cases have the name `a`"));
    }
}
