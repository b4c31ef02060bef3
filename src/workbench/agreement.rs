//! Agreement of judges with labels: Cohen's kappa over the labelled runs of an agent.
//!
//! In: an agent, its rubrics or one of the user's, the labels of the sessions folder. Out: for each labelled run the label and the ruling,
//! and the agreement of both. Sessions and labels are not changed; the runs of the judges are recorded like those of tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, StreamExt as _};
use ptc_core::value::json;

use super::judging::JudgedRun;
use super::matrix::Pace;
use super::{OpenError, StartError, Workbench};
use crate::agent::{Agent, Case, Expect, Question, Rubric, Ruling, Step, StepFold};
use crate::event::{Address, Event};
use crate::port::Stop;
use crate::session::{Label, Session, Summary};

/// Options of an agreement measurement.
#[derive(Debug, Clone)]
pub struct AgreementSpec {
    /// The agent; its labelled runs are those of sessions with its name.
    pub agent: Agent,
    /// Its cases.
    pub cases: Vec<Case>,
    /// A rubric for all runs instead of those of the cases.
    pub rubric: Option<Rubric>,
    /// Maximum number of labelled runs; the newest are judged.
    pub most: usize,
    /// Runs that are judged at the same time, and the cost of the judges at which no further run is judged.
    pub pace: Pace,
}

/// The labelled runs that were judged.
#[derive(Debug, Clone, Default)]
pub struct Agreement {
    /// The runs, newest sessions first.
    pub runs: Vec<LabelledRun>,
    /// The largest cost was reached before all runs were judged.
    pub is_spent: bool,
}

/// A labelled run and what judges found.
#[derive(Debug, Clone)]
pub struct LabelledRun {
    /// Its session's id.
    pub session: String,
    /// The root run.
    pub run: Address,
    /// The user's label.
    pub label: Label,
    /// The judges' rulings, or the reason why there are none.
    pub judged: Result<Vec<Ruling>, String>,
}

impl LabelledRun {
    /// Returns whether every rubric passed; `None` if the run was not judged.
    pub fn judge_passes(&self) -> Option<bool> {
        let rulings = self.judged.as_ref().ok()?;
        Some(rulings.iter().all(|ruling| ruling.passed))
    }
}

/// Counts of runs by the results of label and judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgreementTable {
    /// Both pass.
    pub both_pass: u64,
    /// The judge passes, the label fails.
    pub only_judge: u64,
    /// The label passes, the judge fails.
    pub only_label: u64,
    /// Both fail.
    pub both_fail: u64,
}

/// Cohen's kappa with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kappa {
    /// The share of runs on which both agree.
    pub agreement: f64,
    /// 1: always equal; 0: as by chance. `None` if both pass all runs or both fail all runs: kappa is undefined there.
    pub kappa: Option<f64>,
    /// 95 % interval, by the large-sample variance of Fleiss, Cohen and Everitt.
    pub interval: Option<(f64, f64)>,
}

/// The factor of a 95 % interval.
const NORMAL_95: f64 = 1.959_963_984_540_054;

impl AgreementTable {
    /// Counts the runs that were judged.
    pub fn of(runs: &[LabelledRun]) -> Self {
        let mut table = Self::default();
        for run in runs {
            match (run.judge_passes(), run.label.grade.is_pass()) {
                (None, _) => {}
                (Some(true), true) => table.both_pass += 1,
                (Some(true), false) => table.only_judge += 1,
                (Some(false), true) => table.only_label += 1,
                (Some(false), false) => table.both_fail += 1,
            }
        }
        table
    }

    /// The number of runs.
    pub fn runs(self) -> u64 {
        self.both_pass + self.only_judge + self.only_label + self.both_fail
    }

    /// Returns Cohen's kappa of label and judge; `None` without runs.
    pub fn kappa(self) -> Option<Kappa> {
        let runs = self.runs();
        #[expect(clippy::cast_precision_loss, reason = "counts of runs")]
        let share = |count: u64| count as f64 / runs as f64;
        let cells = [[share(self.both_pass), share(self.only_judge)], [share(self.only_label), share(self.both_fail)]];
        let row = [cells[0][0] + cells[0][1], cells[1][0] + cells[1][1]];
        let column = [cells[0][0] + cells[1][0], cells[0][1] + cells[1][1]];
        let agreement = cells[0][0] + cells[1][1];
        if runs == 0 {
            return None;
        }
        let expected = row[0] * column[0] + row[1] * column[1];
        let more = 1.0 - expected;
        // Without chance of a difference there is nothing to compare with.
        if runs == self.both_pass || runs == self.both_fail {
            return Some(Kappa { agreement, kappa: None, interval: None });
        }
        let kappa = (agreement - expected) / more;
        let same: f64 = (0..2).map(|i| cells[i][i] * (1.0 - (row[i] + column[i]) * (1.0 - kappa)).powi(2)).sum();
        let different = cells[0][1] * (column[0] + row[1]).powi(2) + cells[1][0] * (column[1] + row[0]).powi(2);
        let shift = (kappa - expected * (1.0 - kappa)).powi(2);
        #[expect(clippy::cast_precision_loss, reason = "counts of runs")]
        let variance = (same + different * (1.0 - kappa).powi(2) - shift) / more.powi(2) / runs as f64;
        let wide = NORMAL_95 * variance.max(0.0).sqrt();
        Some(Kappa {
            agreement,
            kappa: Some(kappa),
            interval: Some(((kappa - wide).max(-1.0), (kappa + wide).min(1.0))),
        })
    }
}

/// Cost of the judges so far, as far as it is known; runs that are judged at the same time add to it.
#[derive(Debug, Default)]
struct Paid(Mutex<f64>);

impl Paid {
    fn add(&self, cost: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += cost;
    }

    fn sum(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A labelled run to judge with its questions, or the reason why it cannot be judged.
struct Due {
    session: String,
    run: Address,
    label: Label,
    questions: Result<(JudgedRun, Vec<Question>), String>,
}

impl Workbench {
    /// Judges the labelled runs of an agent, newest sessions first. After a stop or at the cost limit no further run is judged. A stop also
    /// ends running judges; at the cost limit they finish.
    ///
    /// Errors: the marks cannot be read.
    pub async fn agreement(&self, spec: &AgreementSpec, stop: &Stop) -> Result<Agreement, OpenError> {
        let together = self.sharing_adapters();
        let labelled = self.labelled_runs(&spec.agent.name)?.into_iter().take(spec.most);
        let (paid, left) = (Paid::default(), AtomicBool::new(false));
        let affordable = labelled.take_while(|_| {
            let is_spent = spec.pace.is_spent(paid.sum());
            left.fetch_or(is_spent, Ordering::Relaxed);
            !is_spent
        });
        // Each session is opened when it is its turn.
        let due = affordable.map(|(summary, run, label)| self.due(spec, &summary, run.as_ref(), label));
        let judged = stream::iter(due).map(|due| together.judged_as_due(due, &paid, stop));
        let runs = judged.buffered(spec.pace.jobs.max(1)).filter_map(std::future::ready).collect().await;
        Ok(Agreement { runs, is_spent: left.load(Ordering::Relaxed) })
    }

    /// Checks that the configured model can judge where a rubric names no model. Errors: what to do.
    pub fn check_agreement(&self, spec: &AgreementSpec) -> Result<(), StartError> {
        if spec.asks_default_judge() { self.check_default_judge() } else { Ok(()) }
    }

    /// The labelled runs of an agent. A label of a session is one of its last root run.
    fn labelled_runs(&self, agent: &str) -> Result<Vec<(Summary, Option<Address>, Label)>, OpenError> {
        let marks = self.marks()?;
        let of_agent = self.sessions().into_iter().filter(|summary| summary.agent == agent);
        let labels = |summary: Summary| {
            let found = marks.of_session(&summary.id).filter_map(|(at, mark)| Some((at.cloned(), mark.label.clone()?)));
            let runs: Vec<_> = found.filter(|(at, _)| at.as_ref().is_none_or(|at| at.root() == *at)).collect();
            runs.into_iter().map(move |(at, label)| (summary.clone(), at, label))
        };
        Ok(of_agent.flat_map(labels).collect())
    }

    fn due(&self, spec: &AgreementSpec, summary: &Summary, run: Option<&Address>, label: Label) -> Due {
        let session = summary.id.clone();
        let read = || {
            let opened = self.open_found(&summary.key()).map_err(|error| error.to_string())?;
            let (run, step) = step_of_run(&opened, run).ok_or("the run is not in the session")?;
            if let Some(fail) = &step.fail {
                return Err(format!("the run failed with {}: there is no answer to judge", fail.reason));
            }
            let questions = spec.questions(&step)?;
            let recorded = self.rulings_on(&summary.key()).into_iter().map(|ruled| ruled.ruling).collect();
            let judged =
                JudgedRun { step: Arc::new(step), session: Some(session.clone()), seed: 0, trial: 1, recorded };
            Ok((run, judged, questions))
        };
        match read() {
            Ok((run, judged, questions)) => Due { run, questions: Ok((judged, questions)), session, label },
            Err(why) => {
                let run = run.cloned().unwrap_or_else(|| Address::run(0));
                Due { run, questions: Err(why), session, label }
            }
        }
    }

    async fn judged_as_due(&self, due: Due, paid: &Paid, stop: &Stop) -> Option<LabelledRun> {
        let Due { session, run, label, questions } = due;
        let of = |judged| Some(LabelledRun { session, run, label, judged });
        let (judged_run, questions) = match questions {
            Ok(questions) => questions,
            Err(why) => return of(Err(why)),
        };
        let mut rulings = Vec::new();
        for question in &questions {
            if stop.reason().is_some() {
                return None;
            }
            let (ruling, failed) = self.ruled(question, &judged_run, stop).await;
            paid.add(ruling.spent());
            match (ruling, failed) {
                (ruling, None) => rulings.push(ruling),
                (_, Some(_)) if stop.reason().is_some() => return None,
                (_, Some(why)) => return of(Err(why)),
            }
        }
        of(Ok(rulings))
    }
}

impl AgreementSpec {
    /// Returns whether a rubric names no model, so that the configured model judges.
    fn asks_default_judge(&self) -> bool {
        match &self.rubric {
            Some(rubric) => rubric.models.is_empty(),
            None => self.cases.iter().any(Case::asks_default_judge),
        }
    }

    /// The questions about a run: by the rubric of the user, else by those of the case with its inputs, else by the only rubric of all
    /// cases.
    fn questions(&self, step: &Step) -> Result<Vec<Question>, String> {
        let answer = step.answer.clone().unwrap_or_default();
        let about_all = |rubric: &Rubric| vec![Question { rubric: rubric.clone(), answer: answer.clone() }];
        let context = step.context.clone().unwrap_or_default();
        let of_case = || {
            let case = self.cases.iter().find(|case| json::same(&case.inputs(&self.agent), &context))?;
            // Only the rubrics count: the rest of an expectation is not a judge's.
            Some(case.questions(step)).filter(|questions| !questions.is_empty())
        };
        let only = || {
            let mut rubrics = self.cases.iter().filter_map(|case| case.expect.as_ref()).flat_map(Expect::rubrics);
            let first = rubrics.next()?;
            rubrics.all(|rubric| rubric == first).then(|| about_all(first))
        };
        let questions = self.rubric.as_ref().map(about_all).or_else(of_case).or_else(only);
        let questions = questions.ok_or("no case has its inputs and a rubric; name one with --rubric")?;
        Ok(questions.into_iter().map(without_own_example).collect())
    }
}

/// The question without examples of the same answer: a judge that has seen the label would only repeat it.
fn without_own_example(question: Question) -> Question {
    let Question { mut rubric, answer } = question;
    rubric.examples.retain(|example| !json::same(&example.answer, &answer));
    Question { rubric, answer }
}

/// The Step of a root run, or of the last one.
fn step_of_run(session: &Session, run: Option<&Address>) -> Option<(Address, Step)> {
    let last = || {
        let starts = session.events().filter(|envelope| matches!(envelope.event, Event::RunStart(_)));
        starts.map(|envelope| envelope.address.root()).last()
    };
    let run = run.cloned().or_else(last)?;
    let mut fold = StepFold::default();
    session.events().filter(|envelope| envelope.address.root() == run).for_each(|envelope| fold.apply(&envelope));
    Some((run, fold.step()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table and what statsmodels and scikit-learn make of it: see `tests/matrix/kappa.py`.
    #[derive(serde::Deserialize)]
    struct Known {
        table: [u64; 4],
        agreement: f64,
        kappa: f64,
        low: f64,
        high: f64,
    }

    #[test]
    fn kappa_and_its_interval_are_those_of_other_programs() {
        let known: Vec<Known> = serde_json::from_str(include_str!("../../tests/matrix/kappa.json")).unwrap();
        assert!(known.len() > 100);
        for Known { table: [both_pass, only_judge, only_label, both_fail], agreement, kappa, low, high } in known {
            let table = AgreementTable { both_pass, only_judge, only_label, both_fail };
            let found = table.kappa().unwrap();
            let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
            let (found_low, found_high) = found.interval.unwrap();
            assert!(near(found.agreement, agreement) && near(found.kappa.unwrap(), kappa), "{table:?} {found:?}");
            assert!(near(found_low, low.max(-1.0)) && near(found_high, high.min(1.0)), "{table:?} {found:?}");
        }
    }

    #[test]
    fn without_runs_or_without_chance_there_is_no_kappa() {
        assert_eq!(AgreementTable::default().kappa(), None);
        for table in [
            AgreementTable { both_pass: 5, ..Default::default() },
            AgreementTable { both_fail: 1, ..Default::default() },
        ] {
            assert_eq!(table.kappa(), Some(Kappa { agreement: 1.0, kappa: None, interval: None }));
        }
        // Always different: worse than chance can be.
        let never = AgreementTable { only_judge: 4, ..Default::default() }.kappa().unwrap();
        assert_eq!((never.agreement, never.kappa), (0.0, Some(0.0)));
    }
}
