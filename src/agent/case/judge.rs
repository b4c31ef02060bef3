//! Judging: a Step against the expectation of a case.
//!
//! In: a [`Case`], a [`Step`], the [`Rulings`] of judges. Out: a [`Judgement`]: the verdict with every expectation that failed and why, and
//! a score from 0 to 1. Nothing is run but predicates; a rubric without a ruling is a question that the workbench puts to a judge first. A
//! run that failed is judged by expectations only where one of them expects a failure.

use std::cell::RefCell;

use ptc_core::text::cut;
use ptc_core::value::Json;
use ptc_core::value::json::{self, Difference, Node};

use super::expect::{Part, Tolerance};
use super::rubric::{Question, Rubric, Ruling};
use super::similarity::{MOST_CHARS, similarity};
use super::trajectory::facts;
use super::{Case, Expect, Mismatch, Verdict};
use crate::agent::Step;
use crate::event::ErrorRecord;
use crate::program::expression::OF_RUN;

/// Characters of a value in a message.
const SHOWN: usize = 200;
/// Thresholds are compared with this tolerance: sums of weights are rounded.
pub(super) const ROUNDING: f64 = 1e-9;

/// The judgement of a case on a Step.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// From 0 to 1: the weighted share of the expectations that hold, or the similarity.
    pub score: f64,
}

/// The rulings on the rubrics of a case, and the questions that have none yet.
#[derive(Debug, Default)]
struct Rulings<'r> {
    known: &'r [(Question, Ruling)],
    open: RefCell<Vec<Question>>,
}

impl Rulings<'_> {
    /// Judges by a rubric. Without a ruling it does not hold, and the question is kept.
    fn judged(&self, question: Question) -> (Vec<Mismatch>, f64) {
        match self.known.iter().find(|(known, _)| *known == question) {
            Some((_, ruling)) if ruling.passed => (Vec::new(), ruling.score),
            Some((_, ruling)) => (vec![Mismatch::whole(ruling.why())], ruling.score),
            None => {
                let mut open = self.open.borrow_mut();
                if !open.contains(&question) {
                    open.push(question);
                }
                graded(vec![Mismatch::whole("no judge was called")])
            }
        }
    }
}

/// An expectation after judging: what failed, and its score. Errors: a predicate failed.
type JudgeResult = Result<(Vec<Mismatch>, f64), String>;

impl Case {
    /// Returns whether a rubric of it names no model, so that the configured one judges.
    pub fn asks_default_judge(&self) -> bool {
        self.expect.iter().flat_map(Expect::rubrics).any(|rubric| rubric.models.is_empty())
    }

    /// The models whose embeddings it needs.
    pub fn embedding_models(&self) -> impl Iterator<Item = &str> {
        let rubrics = self.expect.iter().flat_map(Expect::rubrics).filter(|rubric| !rubric.measure.is_judge());
        rubrics.flat_map(|rubric| &rubric.models).map(String::as_str)
    }

    /// Judges the Step of a run. A predicate is run here and blocks until it has ended.
    pub fn judge(&self, step: &Step) -> Verdict {
        self.judgement(step, &[]).verdict
    }

    /// The questions that judges must answer before a verdict on this Step; none where the verdict does not depend on them.
    pub fn questions(&self, step: &Step) -> Vec<Question> {
        let rulings = Rulings::default();
        self.judged(step, &rulings);
        rulings.open.into_inner()
    }

    /// The verdict with its score, given the rulings on the rubrics. A predicate is run here and blocks until it has ended.
    pub fn judgement(&self, step: &Step, rulings: &[(Question, Ruling)]) -> Judgement {
        let rulings = Rulings { known: rulings, open: RefCell::default() };
        let judgement = self.judged(step, &rulings);
        if rulings.open.into_inner().is_empty() {
            return judgement;
        }
        Judgement { verdict: Verdict::Error("a rubric needs a judge, and none was called".to_owned()), score: 0.0 }
    }

    fn judged(&self, step: &Step, rulings: &Rulings<'_>) -> Judgement {
        let of = |verdict: Verdict| Judgement { score: f64::from(u8::from(verdict.is_pass())), verdict };
        if let Some(at) = &step.waits_for {
            let why = format!("the run waits for the answer to {at}; cases cannot ask the user");
            return of(Verdict::Error(why));
        }
        let fails = |expect: &Expect| expect.expects(&|one| matches!(one, Expect::Fail(_)));
        let this = |fail: &ErrorRecord| {
            let is_it = |one: &Expect| matches!(one, Expect::Fail(reason) if *reason == fail.reason);
            self.expect.as_ref().is_some_and(|expect| expect.expects(&is_it))
        };
        match (&step.fail, &self.expect) {
            (Some(fail), _) if Self::is_untried(fail) && !this(fail) => {
                of(Verdict::Error(format!("the run could not be tried: {}", failure_text(fail))))
            }
            (Some(fail), expect) if !expect.as_ref().is_some_and(fails) => {
                of(Verdict::fail(format!("the run failed with {}", failure_text(fail))))
            }
            (_, None) => of(Verdict::Pass),
            (_, Some(expect)) => match judge(expect, step, rulings) {
                Ok((found, score)) if found.is_empty() => Judgement { verdict: Verdict::Pass, score },
                Ok((found, score)) => Judgement { verdict: Verdict::Fail(found), score },
                Err(why) => of(Verdict::Error(why)),
            },
        }
    }
}

impl Expect {
    /// Returns whether this expectation, or one of its parts, satisfies `is_such`.
    fn expects(&self, is_such: &dyn Fn(&Self) -> bool) -> bool {
        is_such(self)
            || match self {
                Self::All(parts, _) => parts.iter().any(|part| part.expect.expects(is_such)),
                Self::Any(parts) => parts.iter().any(|part| part.expects(is_such)),
                Self::Not(part) => part.expects(is_such),
                _ => false,
            }
    }

    /// Returns whether it contains a rubric.
    pub fn has_rubric(&self) -> bool {
        !self.rubrics().is_empty()
    }

    /// The rubrics in it, in order.
    pub fn rubrics(&self) -> Vec<&Rubric> {
        match self {
            Self::Rubric(rubric) => vec![rubric],
            Self::All(parts, _) => parts.iter().flat_map(|part| part.expect.rubrics()).collect(),
            Self::Any(parts) => parts.iter().flat_map(Self::rubrics).collect(),
            Self::At(parts) => parts.iter().flat_map(|(_, part)| part.rubrics()).collect(),
            Self::Not(part) => part.rubrics(),
            _ => Vec::new(),
        }
    }
}

fn failure_text(fail: &ErrorRecord) -> String {
    format!("{}: {}", fail.reason, fail.message)
}

fn judge(expect: &Expect, step: &Step, rulings: &Rulings<'_>) -> JudgeResult {
    match expect {
        Expect::All(parts, at_least) => all(parts, *at_least, step, rulings),
        Expect::Any(parts) => any(parts, step, rulings),
        Expect::Not(part) => {
            let (found, _) = judge(part, step, rulings)?;
            let why = || {
                vec![Mismatch {
                    expectation: "not".to_owned(),
                    ..Mismatch::whole(format!("{} holds", part.form_name()))
                }]
            };
            Ok(graded(if found.is_empty() { why() } else { Vec::new() }))
        }
        Expect::Run(trajectory) => Ok(graded(trajectory.mismatches(step))),
        Expect::Fail(reason) => Ok(graded(failure(reason, step))),
        Expect::Predicate(text) if step.fail.is_none() => predicate(text, step),
        _ => match (&step.fail, &step.answer) {
            (Some(fail), _) => Ok(graded(vec![Mismatch::whole(format!("the run failed with {}", failure_text(fail)))])),
            (None, answer) => of_answer(expect, &answer.clone().unwrap_or_default(), step, rulings),
        },
    }
}

/// All or nothing.
fn graded(found: Vec<Mismatch>) -> (Vec<Mismatch>, f64) {
    let score = if found.is_empty() { 1.0 } else { 0.0 };
    (found, score)
}

/// The mismatches of a part of a combination, with its place and its form in front: `all.1.contains`.
fn named(found: Vec<Mismatch>, part: &str, form: &str) -> Vec<Mismatch> {
    let add = |mismatch: Mismatch| {
        // Combinations and `run` begin with their form themselves.
        let has_form = mismatch.expectation.split('.').next() == Some(form);
        let inner = if has_form { mismatch.expectation } else { join_names(form, &mismatch.expectation) };
        Mismatch { expectation: join_names(part, &inner), ..mismatch }
    };
    found.into_iter().map(add).collect()
}

fn join_names(outer: &str, inner: &str) -> String {
    if inner.is_empty() { outer.to_owned() } else { format!("{outer}.{inner}") }
}

fn all(parts: &[Part], at_least: Option<f64>, step: &Step, rulings: &Rulings<'_>) -> JudgeResult {
    let (mut found, mut sum, mut total, mut held) = (Vec::new(), 0.0, 0.0, 0.0);
    for (place, part) in parts.iter().enumerate() {
        let (of_part, score) = judge(&part.expect, step, rulings)?;
        total += part.weight;
        sum += part.weight * score;
        held += if of_part.is_empty() { part.weight } else { 0.0 };
        found.extend(named(of_part, &format!("all.{place}"), part.expect.form_name()));
    }
    let (score, share) = (sum / total, held / total);
    match at_least {
        Some(least) if share + ROUNDING >= least => Ok((Vec::new(), score)),
        Some(least) => {
            let why = format!("{:.0} % of the weight is met, expected at least {:.0} %", share * 100.0, least * 100.0);
            let whole = Mismatch { expectation: "all".to_owned(), path: String::new(), why };
            Ok(([whole].into_iter().chain(found).collect(), score))
        }
        None => Ok((found, score)),
    }
}

fn any(parts: &[Expect], step: &Step, rulings: &Rulings<'_>) -> JudgeResult {
    let (mut all, mut best) = (Vec::new(), 0.0_f64);
    for (place, part) in parts.iter().enumerate() {
        let (found, score) = judge(part, step, rulings)?;
        if found.is_empty() {
            return Ok((Vec::new(), score));
        }
        best = best.max(score);
        all.extend(named(found, &format!("any.{place}"), part.form_name()));
    }
    Ok((all, best))
}

fn failure(reason: &str, step: &Step) -> Vec<Mismatch> {
    let why = match &step.fail {
        Some(fail) if fail.reason == reason => return Vec::new(),
        Some(fail) => format!("expected the failure {reason}, the run failed with {}", failure_text(fail)),
        None => {
            let answer = step.answer.clone().unwrap_or_default();
            format!("expected the failure {reason}, the run returned {}", shown(&answer))
        }
    };
    vec![Mismatch::whole(why)]
}

fn predicate(text: &str, step: &Step) -> JudgeResult {
    let answer = step.answer.clone().unwrap_or_default();
    match OF_RUN.evaluate(text, &facts(step).with("result", answer.clone()).to_value()) {
        Ok(value) if value.is_truthy() => Ok((Vec::new(), 1.0)),
        Ok(value) => Ok(graded(vec![Mismatch::whole(format!("the predicate is {value} for {}", shown(&answer)))])),
        Err(error) => Err(format!("the predicate failed for {}: {}", shown(&answer), error.message())),
    }
}

/// Judges an expectation about the answer or a part of it.
fn of_answer(expect: &Expect, answer: &Json, step: &Step, rulings: &Rulings<'_>) -> JudgeResult {
    let whole = |why: String| Ok(graded(vec![Mismatch::whole(why)]));
    match expect {
        Expect::Value(wanted) => Ok(graded(json::differences(wanted, answer).iter().map(mismatch).collect())),
        Expect::Schema(schema) => {
            let issues = schema.check(answer);
            let issue = |issue: &ptc_core::signature::Issue| Mismatch {
                path: issue.path.to_string(),
                ..Mismatch::whole(issue.message.clone())
            };
            Ok(graded(issues.iter().map(issue).collect()))
        }
        Expect::Contains(wanted) => Ok(graded(contains(wanted, answer))),
        Expect::Matches(regex) => match answer.as_str() {
            Some(text) if regex.is_match(text) => Ok((Vec::new(), 1.0)),
            _ => whole(format!("expected a match of /{regex}/, got {}", shown(answer))),
        },
        Expect::Similar(wanted, at_least) => match answer.as_str().map(|text| similarity(wanted, text)) {
            Some(Some(found)) if found + ROUNDING >= *at_least => Ok((Vec::new(), found)),
            Some(Some(found)) => {
                let why = format!(
                    "the similarity is {found:.2}, expected at least {at_least} to {wanted:?}, got {}",
                    shown(answer)
                );
                Ok((vec![Mismatch::whole(why)], found))
            }
            Some(None) => whole(format!("the texts differ in more than {MOST_CHARS} characters")),
            None => whole(format!("expected a text similar to {wanted:?}, got {}", shown(answer))),
        },
        Expect::Near(wanted, within) => match number(answer) {
            Some(found) if (found - wanted).abs() <= within.amount(*wanted) => Ok((Vec::new(), 1.0)),
            _ => whole(format!("expected {wanted} ± {}, got {}", within.amount(*wanted), shown(answer))),
        },
        Expect::Set(wanted) => Ok(graded(set(wanted, answer))),
        Expect::At(parts) => at(parts, answer, step, rulings),
        Expect::Rubric(rubric) if !rubric.measure.is_judge() && answer.as_str().is_none() => {
            Ok(graded(vec![Mismatch::whole(format!("expected a text, got {}", shown(answer)))]))
        }
        Expect::Rubric(rubric) => Ok(rulings.judged(Question { rubric: (**rubric).clone(), answer: answer.clone() })),
        // Nested below `at`, these apply to the part.
        _ => judge(expect, &Step { answer: Some(answer.clone()), ..step.clone() }, rulings),
    }
}

/// The parts of an answer by path.
fn at(parts: &[(String, Expect)], answer: &Json, step: &Step, rulings: &Rulings<'_>) -> JudgeResult {
    let (mut all, mut sum) = (Vec::new(), 0.0);
    for (path, expect) in parts {
        let (found, score) = match answer.at(path) {
            Some(part) => of_answer(expect, part, step, rulings)?,
            None => graded(vec![Mismatch::whole("expected a value, got nothing")]),
        };
        let place = |inner: &str| if inner.is_empty() { path.clone() } else { format!("{path}.{inner}") };
        all.extend(found.into_iter().map(|mismatch| Mismatch { path: place(&mismatch.path), ..mismatch }));
        sum += score;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of written parts")]
    Ok((all, if parts.is_empty() { 1.0 } else { sum / parts.len() as f64 }))
}

fn contains(wanted: &[Json], answer: &Json) -> Vec<Mismatch> {
    let holds = |wanted: &Json| match (&answer.node, wanted.as_str()) {
        (Node::Str(text), Some(part)) => text.contains(part),
        (Node::List(items), _) => items.iter().any(|item| json::same(item, wanted)),
        _ => false,
    };
    let missing = wanted.iter().filter(|wanted| !holds(wanted));
    missing.map(|wanted| Mismatch::whole(format!("{} is not in {}", shown(wanted), shown(answer)))).collect()
}

fn set(wanted: &[Json], answer: &Json) -> Vec<Mismatch> {
    let Some(items) = answer.items() else {
        return vec![Mismatch::whole(format!("expected a list, got {}", shown(answer)))];
    };
    let lacks = |list: &[Json], item: &Json| !list.iter().any(|other| json::same(other, item));
    let missing = wanted.iter().filter(|item| lacks(items, item));
    let more = items.iter().filter(|item| lacks(wanted, item));
    let missing = missing.map(|item| Mismatch::whole(format!("the item {} is missing", shown(item))));
    missing.chain(more.map(|item| Mismatch::whole(format!("the item {} is unexpected", shown(item))))).collect()
}

fn number(json: &Json) -> Option<f64> {
    match json.node {
        #[expect(clippy::cast_precision_loss, reason = "numbers with a tolerance are doubles")]
        Node::Int(int) => Some(int as f64),
        Node::Float(float) => Some(float),
        _ => None,
    }
}

impl Tolerance {
    /// The largest difference from an expected number.
    fn amount(self, expected: f64) -> f64 {
        match self {
            Self::Absolute(amount) => amount,
            Self::Relative(share) => expected.abs() * share,
        }
    }
}

fn mismatch(found: &Difference) -> Mismatch {
    let why = match (&found.left, &found.right) {
        (Some(wanted), Some(got)) => format!("expected {}, got {}", shown(wanted), shown(got)),
        (Some(wanted), None) => format!("expected {}, got nothing", shown(wanted)),
        (None, Some(got)) => format!("expected nothing, got {}", shown(got)),
        (None, None) => String::new(),
    };
    Mismatch { path: found.path.clone(), ..Mismatch::whole(why) }
}

/// A value on one line.
pub(super) fn shown(json: &Json) -> String {
    cut(&json.to_text(), SHOWN)
}
