//! The search with simulated cases and proposers: a case passes when the texts contain the words that it needs, and the proposer finds a
//! missing word with some probability. Nothing is run.

use std::collections::BTreeMap;

use super::search::{Action, CandidateStatus, CaseScore, Outcome, Search, Settings};
use super::{Component, Ending, Texts};
use crate::workbench::random::SplitMix;

/// Words that the texts must contain for a case to pass. Any word of `spoils` in the prompt fails it.
#[derive(Debug, Clone)]
struct Need {
    words: Vec<(Component, String)>,
    spoils: Vec<String>,
}

struct World {
    texts: Texts,
    needs: BTreeMap<String, Need>,
    vocabulary: Vec<String>,
}

fn tool() -> Component {
    Component::Tool("find".to_owned())
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}")).collect()
}

fn world(needs: impl Fn(usize) -> Need, texts: &[Component]) -> World {
    let cases = names("training", 8).into_iter().chain(names("validation", 8)).chain(names("held", 4));
    World {
        texts: texts.iter().map(|component| (component.clone(), "start".to_owned())).collect(),
        needs: cases.enumerate().map(|(number, case)| (case, needs(number))).collect(),
        vocabulary: names("word", 40),
    }
}

/// Each case needs one of four words in the prompt.
fn one_text() -> World {
    let need =
        |number: usize| Need { words: vec![(Component::Prompt, format!("word{}", number % 4))], spoils: Vec::new() };
    world(need, &[Component::Prompt])
}

/// Half of the cases need words in the prompt, half in the description of a tool.
fn two_texts() -> World {
    let place = |number: usize| if number.is_multiple_of(2) { Component::Prompt } else { tool() };
    let need = |number: usize| Need { words: vec![(place(number), format!("word{}", number % 4))], spoils: Vec::new() };
    world(need, &[Component::Prompt, tool()])
}

/// Cases that need words in the prompt and fail with another word, which none of them needs.
fn opposed() -> World {
    let need = |number: usize| {
        let words = vec![(Component::Prompt, format!("word{}", number % 3))];
        Need { words, spoils: vec!["word9".to_owned()] }
    };
    world(need, &[Component::Prompt])
}

impl World {
    fn settings(seed: u64, most_calls: u64) -> Settings {
        Settings {
            seed,
            batch: 4,
            most_candidates: 60,
            most_calls: Some(most_calls),
            most_cost: None,
            training: names("training", 8),
            validation: names("validation", 8),
            held_out: names("held", 4),
        }
    }

    fn result(&self, texts: &Texts, case: &str) -> CaseScore {
        let need = &self.needs[case];
        let has = |component: &Component, word: &str| texts[component].split(' ').any(|one| one == word);
        let passed = need.words.iter().all(|(component, word)| has(component, word))
            && !need.spoils.iter().any(|word| has(&Component::Prompt, word));
        CaseScore { score: f64::from(u8::from(passed)), passed, calls: 1, cost: 0.0 }
    }

    /// Appends a word to a text: with a probability of one half the word that a failure needs there, else a random one.
    fn propose(&self, text: &str, component: &Component, failures: &[String], random: &mut SplitMix) -> String {
        let case = &failures[random.below(failures.len())];
        let wanted =
            self.needs[case].words.iter().find(|(place, word)| place == component && !text.contains(word.as_str()));
        let word = match wanted {
            Some((_, word)) if random.below(2) == 0 => word.clone(),
            _ => self.vocabulary[random.below(self.vocabulary.len())].clone(),
        };
        format!("{text} {word}")
    }

    fn outcome(&self, search: &Search, action: &Action, random: &mut SplitMix) -> Outcome {
        match action {
            Action::Try { candidate, cases } => {
                let texts = &search.candidates()[*candidate].texts;
                Outcome::Tried(cases.iter().map(|case| (case.clone(), self.result(texts, case))).collect())
            }
            Action::Propose { component: Component::Examples, passes, .. } => {
                Outcome::Proposed(Ok((passes.join(" "), String::new())), 0, 0.0)
            }
            Action::Propose { parent, component, failures, .. } => {
                let text = &search.candidates()[*parent].texts[component];
                Outcome::Proposed(Ok((self.propose(text, component, failures, random), String::new())), 1, 0.0)
            }
            Action::Finish(_) => panic!("nothing comes of an end"),
        }
    }

    /// Runs a search to its end; returns it with all actions.
    fn searched(&self, seed: u64, most_calls: u64) -> (Search, Vec<Action>, Ending) {
        let mut search = Search::new(Self::settings(seed, most_calls), self.texts.clone());
        let (mut random, mut actions) = (SplitMix(seed + 1_000), Vec::new());
        loop {
            let action = search.next_action();
            if let Action::Finish(ending) = action {
                return (search, actions, ending);
            }
            let outcome = self.outcome(&search, &action, &mut random);
            search.record(outcome).unwrap();
            actions.push(action);
        }
    }

    /// Returns the best mean score of a random search with the same proposer and as many requests: each round changes a random text of a
    /// random earlier candidate by a proposal for the failures of a random minibatch, and tries the result on all validation cases.
    fn random_search(&self, seed: u64, most_calls: u64) -> f64 {
        let (mut random, validation) = (SplitMix(seed + 1_000), names("validation", 8));
        let components: Vec<&Component> = self.texts.keys().collect();
        let score = |texts: &Texts| validation.iter().map(|case| self.result(texts, case).score).sum::<f64>() / 8.0;
        let (mut candidates, mut calls) = (vec![self.texts.clone()], 8);
        while calls + 4 + 1 + 8 <= most_calls {
            let texts = candidates[random.below(candidates.len())].clone();
            let component = components[random.below(components.len())];
            let mut cases = names("training", 8);
            random.shuffle(&mut cases);
            let failures: Vec<String> =
                cases.into_iter().take(4).filter(|case| !self.result(&texts, case).passed).collect();
            calls += 4;
            if !failures.is_empty() {
                let text = self.propose(&texts[component], component, &failures, &mut random);
                calls += 1 + 8;
                candidates.push(texts.into_iter().chain([(component.clone(), text)]).collect());
            }
        }
        candidates.iter().map(score).fold(0.0, f64::max)
    }
}

/// Runs the searches of seeds 0 to 19: returns the number of complete solutions, the mean score, and that of random searches.
fn compared(world: &World, most_calls: u64) -> (usize, f64, f64) {
    let found: Vec<f64> = (0..20)
        .map(|seed| {
            let (search, ..) = world.searched(seed, most_calls);
            search.mean(search.best(), &names("validation", 8)).unwrap()
        })
        .collect();
    let random: f64 = (0..20).map(|seed| world.random_search(seed, most_calls)).sum();
    (found.iter().filter(|score| **score >= 1.0).count(), found.iter().sum::<f64>() / 20.0, random / 20.0)
}

#[test]
fn planted_improvements_are_found_within_the_budget_where_a_random_search_with_the_same_proposer_finds_fewer() {
    for (name, world) in [("one text", one_text()), ("two texts", two_texts()), ("opposed", opposed())] {
        let (solved, mean, random) = compared(&world, 400);
        eprintln!("{name}: {solved} of 20 solved, mean {mean:.3}, random search {random:.3}");
        assert!(solved >= 18, "{name}: only {solved} of 20 searches found everything");
        assert!(mean >= random + 0.1, "{name}: {mean} against {random}");
    }
}

#[test]
fn held_out_cases_are_tried_at_the_end_with_the_first_and_the_best_candidate_only() {
    let (search, actions, _) = two_texts().searched(3, 400);
    let is_held_out = |case: &String| case.starts_with("held");
    let first =
        actions.iter().position(|action| matches!(action, Action::Try { cases, .. } if cases.iter().any(is_held_out)));
    for action in &actions[first.unwrap()..] {
        let Action::Try { candidate, cases } = action else { panic!("{action:?}") };
        assert!(cases.iter().all(is_held_out) && [0, search.best()].contains(candidate));
    }
    for action in &actions {
        if let Action::Propose { failures, passes, .. } = action {
            assert!(failures.iter().chain(passes).all(|case| case.starts_with("training")), "{action:?}");
        }
    }
}

#[test]
fn the_same_outcomes_give_the_same_search_and_requests_stay_within_the_budget() {
    for seed in 0..10 {
        let (one, actions, ending) = two_texts().searched(seed, 120);
        let again = two_texts().searched(seed, 120);
        assert_eq!((&one, &actions, ending), (&again.0, &again.1, again.2));
        // The last round starts below the budget; it costs a minibatch, its comparison, a proposal and the validation cases.
        assert!(one.spent().0 <= 120 + 4 + 1 + 4 + 8, "{:?}", one.spent());
    }
}

/// Scores a world in which a change of the prompt wins one case and loses another, one of the tool the reverse, and both together win both.
fn traded(texts: &Texts, case: &str) -> CaseScore {
    let (prompt, tool) = (texts[&Component::Prompt].contains('A'), texts[&tool()].contains('B'));
    let score = match (prompt, tool, case) {
        (true, true, _) | (true, false, "validation0") | (false, true, "validation1") => 1.0,
        (true, false, "validation1") | (false, true, "validation0") => 0.0,
        (false, false, "training0") => 0.2,
        (false, false, _) => 0.4,
        _ => 0.6,
    };
    CaseScore { score, passed: score >= 1.0, calls: 1, cost: 0.0 }
}

#[test]
fn a_merge_has_the_changes_of_both_its_parents_and_is_compared_where_they_differ() {
    let settings = |seed: u64| Settings {
        training: names("training", 1),
        validation: names("validation", 2),
        held_out: Vec::new(),
        ..World::settings(seed, 400)
    };
    let start: Texts = [(Component::Prompt, String::new()), (tool(), String::new())].into();
    let merged = (0..40).filter(|seed| {
        let mut search = Search::new(settings(*seed), start.clone());
        let mut compared_on = None;
        loop {
            let outcome = match search.next_action() {
                Action::Finish(_) => break,
                Action::Try { candidate, cases } => {
                    let one = &search.candidates()[candidate];
                    if one.parents.len() == 2 {
                        compared_on.get_or_insert(cases.clone());
                    }
                    let result = |case: &String| (case.clone(), traded(&one.texts, case));
                    Outcome::Tried(cases.iter().map(result).collect())
                }
                Action::Propose { parent, component, .. } => {
                    let letter = if component == Component::Prompt { "A" } else { "B" };
                    let text = format!("{}{letter}", search.candidates()[parent].texts[&component]);
                    Outcome::Proposed(Ok((text, String::new())), 1, 0.0)
                }
            };
            search.record(outcome).unwrap();
        }
        let best = &search.candidates()[search.best()];
        let is_merge = best.parents.len() == 2;
        if is_merge {
            assert_eq!((&*best.texts[&Component::Prompt], &*best.texts[&tool()]), ("A", "B"));
            assert_eq!(compared_on, Some(names("validation", 2)));
        }
        is_merge
    });
    assert!(merged.count() > 0, "no search merged anything");
}

#[test]
fn a_rejected_candidate_has_no_results_of_validation_cases() {
    let (search, ..) = one_text().searched(1, 400);
    let rejected: Vec<_> = search.candidates().iter().filter(|one| one.status == CandidateStatus::Rejected).collect();
    assert!(!rejected.is_empty());
    assert!(rejected.iter().all(|one| one.results.keys().all(|case| case.starts_with("training"))));
}

#[test]
fn an_outcome_that_does_not_belong_to_the_action_is_refused() {
    let mut search = Search::new(World::settings(0, 100), one_text().texts);
    assert!(search.record(Outcome::Proposed(Err("no".to_owned()), 1, 0.0)).is_err());
    assert!(search.record(Outcome::Tried(Vec::new())).is_err());
}

/// Scores a world in which showing examples passes every case; half of the training cases pass without, and other texts have no effect.
fn shown(texts: &Texts, case: &str) -> CaseScore {
    let is_easy = ["training0", "training2", "training4", "training6"].contains(&case);
    let passed = is_easy || texts.contains_key(&Component::Examples);
    CaseScore { score: f64::from(u8::from(passed)), passed, calls: 1, cost: 0.0 }
}

/// Runs a search to its end over cases that [`shown`] grades.
fn run_shown(search: &mut Search, mut propose: impl FnMut(&Search, Action) -> Outcome) {
    loop {
        let outcome = match search.next_action() {
            Action::Finish(_) => return,
            Action::Try { candidate, cases } => {
                let texts = &search.candidates()[candidate].texts;
                Outcome::Tried(cases.iter().map(|case| (case.clone(), shown(texts, case))).collect())
            }
            proposal @ Action::Propose { .. } => propose(search, proposal),
        };
        search.record(outcome).unwrap();
    }
}

#[test]
fn examples_are_solved_cases_of_training_alone_and_are_shown_once_for_a_candidate() {
    let texts: Texts = [(Component::Prompt, "start".to_owned())].into();
    let mut chosen = Vec::new();
    for _ in 0..2 {
        let mut search = Search::new(World::settings(5, 400), texts.clone());
        let mut shown_in = Vec::new();
        run_shown(&mut search, |search, proposal| match proposal {
            Action::Propose { component: Component::Examples, parent, passes, .. } => {
                assert!(!shown_in.iter().any(|(known, _)| *known == parent), "twice for c{parent:02}");
                assert!(passes.iter().all(|case| case.starts_with("training")), "{passes:?}");
                assert!(passes.iter().all(|case| shown(&texts, case).passed), "{passes:?}");
                let text = passes.join(" ");
                shown_in.push((parent, passes));
                Outcome::Proposed(Ok((text, String::new())), 0, 0.0)
            }
            Action::Propose { parent, component, .. } => {
                let text = format!("{} more", search.candidates()[parent].texts[&component]);
                Outcome::Proposed(Ok((text, String::new())), 1, 0.0)
            }
            Action::Try { .. } | Action::Finish(_) => unreachable!("run_shown answers these"),
        });
        let best = &search.candidates()[search.best()];
        assert_eq!(best.changed, Some(Component::Examples), "{best:?}");
        chosen.push(shown_in);
    }
    assert!(!chosen[0].is_empty());
    assert_eq!(chosen[0], chosen[1], "the seed determines the examples");
}

#[test]
fn without_training_cases_of_their_own_no_examples_are_shown() {
    let settings = Settings { validation: names("training", 8), ..World::settings(5, 200) };
    let mut search = Search::new(settings, [(Component::Prompt, "start".to_owned())].into());
    run_shown(&mut search, |_, proposal| {
        let is_of_prompt = matches!(proposal, Action::Propose { component: Component::Prompt, .. });
        assert!(is_of_prompt, "these cases are those of validation, too: {proposal:?}");
        Outcome::Proposed(Err("none".to_owned()), 1, 0.0)
    });
}

#[test]
fn what_was_paid_without_a_result_counts_in_the_budget() {
    let mut search = Search::new(World::settings(0, 100), one_text().texts);
    search.charge(100, 2.0);
    assert_eq!(search.spent(), (100, 2.0));
    let Action::Try { candidate: 0, cases } = search.next_action() else { panic!("the first tries are begun") };
    let results = cases.iter().map(|case| (case.clone(), CaseScore::default())).collect();
    search.record(Outcome::Tried(results)).unwrap();
    let next = search.next_action();
    assert!(matches!(&next, Action::Try { cases, .. } if cases[0].starts_with("held")), "{next:?}");
}

/// Runs a search over two texts with proposals from a function of the component and the number of the proposal; returns the proposed
/// components too.
fn proposed_by(
    texts: Texts,
    propose: impl Fn(&Component, usize) -> Result<String, String>,
) -> (Search, Vec<Component>, Ending) {
    let world = two_texts();
    let mut search = Search::new(World::settings(1, 400), texts);
    let mut asked = Vec::new();
    loop {
        let outcome = match search.next_action() {
            Action::Finish(ending) => return (search, asked, ending),
            Action::Try { candidate, cases } => {
                let texts = &search.candidates()[candidate].texts;
                let result = |case: &String| (case.clone(), world.result(&with_tool(texts), case));
                Outcome::Tried(cases.iter().map(result).collect())
            }
            Action::Propose { component: Component::Examples, .. } => {
                Outcome::Proposed(Err("none is short enough".to_owned()), 0, 0.0)
            }
            Action::Propose { component, .. } => {
                asked.push(component.clone());
                let text = propose(&component, asked.len());
                Outcome::Proposed(text.map(|text| (text, String::new())), 1, 0.0)
            }
        };
        search.record(outcome).unwrap();
    }
}

/// Adds the tool's text, which the world requires.
fn with_tool(texts: &Texts) -> Texts {
    [(tool(), String::new())].into_iter().chain(texts.clone()).collect()
}

/// A proposer: a function of the component and the number of the proposal.
type Propose = fn(&Component, usize) -> Result<String, String>;

#[test]
fn a_text_for_which_three_proposals_in_a_row_give_nothing_new_is_dropped_and_the_search_ends() {
    let start = || "start".to_owned();
    let texts: Texts = [(Component::Prompt, start())].into();
    let refused: Propose = |_, _| Err("it lacks {{text}}".to_owned());
    // With the same text each time, the first proposal is tried and the later ones are known already.
    let same: Propose = |_, _| Ok("start over".to_owned());
    for (propose, paid) in [(refused, 3), (same, 4)] {
        let (search, asked, ending) = proposed_by(texts.clone(), propose);
        assert_eq!((ending, asked.len(), search.refused()), (Ending::Exhausted, paid, 3));
        assert_eq!(search.given_up(), [Component::Prompt]);
    }
    let (_, asked, ending) = proposed_by(texts, |_, number| Ok(format!("other {}", number / 3)));
    assert!(ending != Ending::Exhausted && asked.len() > 20, "two in a row are no reason: {ending:?}, {}", asked.len());
}

#[test]
fn the_search_continues_with_other_texts_and_asks_for_a_dropped_one_again_after_a_candidate_is_accepted() {
    let texts: Texts = [(Component::Prompt, "start".to_owned()), (tool(), "start".to_owned())].into();
    let (search, asked, ending) = proposed_by(texts.clone(), |component, number| match component {
        Component::Prompt => Err("the answer has no text".to_owned()),
        // At first no proposal helps.
        _ if number < 9 => Ok(format!("start {number}")),
        _ => Ok("start word0 word1 word2 word3".to_owned()),
    });
    let of_prompt = |asked: &[Component]| asked.iter().filter(|one| **one == Component::Prompt).count();
    assert_eq!(of_prompt(&asked[..9]), 3, "{asked:?}");
    assert_eq!((of_prompt(&asked), ending), (6, Ending::Exhausted), "{asked:?}");
    let accepted = search.candidates().iter().filter(|one| one.status == CandidateStatus::Accepted).count();
    assert_eq!(accepted, 2, "the agent as it is, and the one with other words for the tool");
}
