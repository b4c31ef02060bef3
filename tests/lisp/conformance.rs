//! Every case and probe gives what the reference gave, or is listed with the reason why not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;

use super::suite::{Check, Finding, checks, differing};

/// Share of the cases that may differ on purpose, in percent. Probes look for the odd places, so they are not counted.
const MOST_DIVERGENCES: usize = 3;

/// Topics in which the language improves on the reference.
const TOPICS: &[&str] = &[
    "keyword vs map order, date order, Inf in sort",
    "sort :asc/:desc",
    "nil roots in get-in, update, dissoc, union, join, mapcat",
    "into/conj/concat accidental failures",
    "forward references, def in loops/functions, per-loop counting, for over >1,000",
    "tool argument conversion crashes",
    "tool-call limit inside closures",
    "keywords between turns",
    "map keys nil/true/false printed",
    "float overflow",
    "error texts with host internals",
    "regex $1, format width/flags, vector :as, if-let without else, multi-argument fnil, get on sets/strings",
    "prints, tool calls and summaries dropped when a program breaks",
    "texts of doc, dir, apropos, meta, ns-publics, source",
    "$1 in replacements, format width and flags, unmatched groups, type, json/generate-string, def inside doseq",
    "pmap/pcalls with no free worker",
    "program clock",
];

/// Numbered groups of additions to the reference (`[+] §` and the number in `divergences.toml`); 20 is that of the wider limits.
const SECTIONS: &[&str] = &[
    "1", "4.3", "5", "7.1", "7.4", "7.5", "7.6", "8", "9.1", "9.4", "10", "11.2", "11.3", "11.5", "13", "14.2", "14.3",
    "14.4", "14.5", "14.6", "14.7", "14.8", "14.9", "14.10", "14.11", "14.14", "15", "16", "17", "19", "20", "22",
];

#[derive(Deserialize)]
struct Divergences {
    #[serde(default)]
    divergence: Vec<Divergence>,
}

/// Results that differ on purpose.
#[derive(Deserialize)]
struct Divergence {
    /// One of [`TOPICS`], or `[+] §` and one of [`SECTIONS`].
    topic: String,
    /// Ids of cases and probes.
    ids: Vec<String>,
    /// One sentence.
    why: String,
}

fn listed() -> Vec<Divergence> {
    let text = include_str!("divergences.toml");
    toml::from_str::<Divergences>(text).expect("the list of divergences is TOML").divergence
}

#[test]
fn results_are_those_of_the_reference_or_listed() {
    let checks = checks();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let found: BTreeMap<String, Finding> =
        differing(&checks, threads).into_iter().map(|finding| (finding.id.clone(), finding)).collect();
    let listed: BTreeSet<String> = listed().into_iter().flat_map(|divergence| divergence.ids).collect();
    let mut report = String::new();
    let mut unlisted = 0;
    for finding in found.values().filter(|finding| !listed.contains(&finding.id)) {
        unlisted += 1;
        let Finding { id, category, program, expected, got } = finding;
        _ = write!(report, "\n{id} [{category}] {program}\n    expected {expected}\n    got      {got}");
    }
    assert_eq!(unlisted, 0, "of {} results these differ:{report}", checks.len());
    let same: Vec<&String> = listed.iter().filter(|id| !found.contains_key(*id)).collect();
    assert!(same.is_empty(), "listed as divergences, but as expected (or unknown): {same:?}");
}

#[test]
fn divergences_are_few_known_and_explained() {
    let total = checks().iter().filter(|check| check.id.starts_with('c')).count();
    let divergences = listed();
    let mut ids = BTreeSet::new();
    for Divergence { topic, ids: these, why } in &divergences {
        let section = topic.strip_prefix("[+] §");
        let is_known = section.map_or_else(|| TOPICS.contains(&topic.as_str()), |section| SECTIONS.contains(&section));
        assert!(is_known, "unknown topic: {topic}");
        assert!(!these.is_empty() && why.ends_with('.'), "{topic}: ids and a sentence are needed");
        for id in these {
            assert!(ids.insert(id), "{id} is listed twice");
        }
    }
    let cases = ids.iter().filter(|id| id.starts_with('c')).count();
    assert!(cases * 100 <= total * MOST_DIVERGENCES, "{cases} of {total} cases differ on purpose");
}

#[test]
fn the_suite_is_read_whole() {
    let checks = checks();
    let probes = checks.iter().filter(|check: &&Check| check.id.starts_with('p')).count();
    assert!(checks.len() - probes >= 3_523 && probes >= 1_400, "{} checks, {probes} probes", checks.len());
}

#[test]
fn a_program_that_ends_well_holds_nothing_that_is_certainly_wrong() {
    let found = checks().into_iter().filter(Check::ends_well).filter_map(|check| {
        let certain = check.surveyed().faults.into_iter().find(|fault| fault.certain)?;
        Some(format!("{}: {}: {}", check.id, check.program(), certain.error.message()))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
