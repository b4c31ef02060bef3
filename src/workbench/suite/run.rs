//! Running a suite: concurrent trials, reported as they end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures::stream::{self, StreamExt as _};

use super::{AgentReport, CaseReport, Suite, SuiteAgent, SuiteReport, TrialReport};
use crate::agent::{Case, Context, Judgement, Mismatch, Ruling, Step, Verdict};
use crate::event::FromCache;
use crate::port::{NoUser, Stop, SystemClock};
use crate::replay::{ReplayOutcome, cassette, replay_by};
use crate::session::{Session, read_rulings};
use crate::workbench::judging::JudgedRun;
use crate::workbench::matrix::{Meter, Outcome, watched};
use crate::workbench::reply_cache::trial_name;
use crate::workbench::run::Origin;
use crate::workbench::{RunSpec, StartError, Workbench};

/// A trial to run: the index of its agent, the index among the chosen cases, and its number from 1.
#[derive(Debug, Clone)]
struct Due {
    agent: usize,
    place: usize,
    case: Arc<Result<Case, String>>,
    number: u32,
}

/// A trial that has ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedTrial<'t> {
    /// Index of its agent in the suite.
    pub agent_place: usize,
    /// The agent.
    pub agent: &'t AgentReport,
    /// The case.
    pub case: &'t CaseReport,
    /// Result of the trial.
    pub trial: &'t TrialReport,
}

/// Callback for each trial as it ends.
type Watch<'a> = &'a mut (dyn FnMut(EndedTrial<'_>) + Send);

impl Workbench {
    /// Runs the cases of a suite. A stop ends the running trials, each with its session, and starts no others.
    pub async fn run_suite(&self, suite: &Suite, stop: &Stop, watch: Watch<'_>) -> SuiteReport {
        let (started_ms, started) = (SystemClock.now(), Instant::now());
        let mut report = SuiteReport {
            agents: suite.agents.iter().map(|agent| self.empty(suite, agent, started_ms)).collect(),
            ..SuiteReport::default()
        };
        let of_agent = |agent: &SuiteAgent| Vec::with_capacity(agent.selection.count());
        let mut cases: Vec<Vec<CaseReport>> = suite.agents.iter().map(of_agent).collect();
        let together = self.sharing_adapters();
        let (mut cost, left) = (0.0, AtomicBool::new(false));
        let spent = AtomicBool::new(suite.pace.is_spent(cost));
        let affordable = due(suite).take_while(|_| {
            let is_spent = spent.load(Ordering::Relaxed);
            left.fetch_or(is_spent, Ordering::Relaxed);
            !is_spent && !suite.pace.is_late()
        });
        let mut ended = stream::iter(affordable)
            .map(|due| together.try_case(suite, due, stop))
            .buffer_unordered(suite.pace.jobs.max(1));
        while let Some((due, trial)) = ended.next().await {
            let place = suite.agents[due.agent].selection.places.get(due.place).copied().unwrap_or(u32::MAX);
            let cases = &mut cases[due.agent];
            let at = cases.binary_search_by_key(&place, |case| case.place).unwrap_or_else(|at| {
                cases.insert(at, CaseReport { place, ..empty_case(&due, suite.trials) });
                at
            });
            let case = &mut cases[at];
            let Some(trial) = trial else {
                report.stopped = true;
                continue;
            };
            let agent = &report.agents[due.agent];
            watch(EndedTrial { agent_place: due.agent, agent, case, trial: &trial });
            cost += trial.spent();
            spent.store(suite.pace.is_spent(cost), Ordering::Relaxed);
            case.trials.push(trial.kept(suite.keeps_outcomes));
        }
        drop(ended);
        report.is_spent = left.load(Ordering::Relaxed);
        for (agent, cases) in report.agents.iter_mut().zip(cases) {
            agent.cases = cases;
            agent.cases.iter_mut().for_each(|case| case.trials.sort_by_key(|trial| trial.number));
        }
        report.stopped |= stop.reason().is_some();
        report.duration_ms = whole_ms(started);
        report
    }

    /// Checks that the models set for all runs, for judging by default and for embeddings can be used, where a case needs them. Errors: the
    /// problem and its solution.
    pub fn check_suite(&self, suite: &Suite) -> Result<(), StartError> {
        let asking = suite.agents.iter().find_map(|agent| Some((agent, agent.selection.default_judge_case.as_ref()?)));
        if let Some((agent, case)) = asking {
            self.check_default_judge().map_err(|error| error.about(&format!("{}: the case `{case}`", agent.label)))?;
        }
        let models = suite.agents.iter().flat_map(|agent| &agent.selection.embedding_models);
        models.into_iter().try_for_each(|name| self.check_embedding_model(name))?;
        match suite.model.as_deref().filter(|_| suite.agents.iter().any(|agent| agent.selection.asks_model)) {
            Some(name) => {
                self.trust_recording(name);
                self.build_model(self.choose(name)?, Arc::new(NoUser)).map(|_| ())
            }
            None => Ok(()),
        }
    }

    fn empty(&self, suite: &Suite, agent: &SuiteAgent, started_ms: i64) -> AgentReport {
        AgentReport {
            label: agent.label.clone(),
            name: agent.agent.name.clone(),
            mode: agent.agent.mode,
            model: self.answerer_name(suite.model.as_deref(), &agent.agent),
            started_ms,
            cases: Vec::new(),
            skipped: agent.selection.skipped.clone(),
        }
    }

    /// Runs one trial; `None` when it was stopped.
    async fn try_case(&self, suite: &Suite, due: Due, stop: &Stop) -> (Due, Option<TrialReport>) {
        if stop.reason().is_some() {
            return (due, None);
        }
        let agent = &suite.agents[due.agent];
        let case = match &*due.case {
            Ok(case) => case,
            Err(why) => {
                let verdict = Verdict::Error(why.clone());
                let trial = TrialReport { verdict, score: 0.0, ..begun(due.number) };
                return (due, Some(trial));
            }
        };
        let started = Instant::now();
        let trial = match &case.cassette {
            Some(name) => self.play(agent, case, name, begun(due.number), stop).await,
            None => self.live(suite, agent, case, begun(due.number), stop).await,
        };
        let duration_ms = whole_ms(started);
        let was_stopped = stop.reason().is_some() && !trial.verdict.is_pass();
        (due, (!was_stopped).then_some(TrialReport { duration_ms, ..trial }))
    }

    async fn live(
        &self,
        suite: &Suite,
        agent: &SuiteAgent,
        case: &Case,
        trial: TrialReport,
        stop: &Stop,
    ) -> TrialReport {
        let (agent, context) = case.run_inputs(agent.agent.clone());
        let spec = RunSpec {
            agent,
            model: suite.model.clone(),
            context: Some(Context::from(context)),
            human: Arc::new(NoUser),
            save: true,
            seed: trial.seed,
            journal: None,
        };
        let workbench = self.for_trial(trial_name(trial.number));
        let run = match workbench.unattended().start_in(spec, Origin::default(), stop.child()) {
            Ok(running) => running,
            Err(error) => {
                let why = format!("the run could not be started: {error}");
                return TrialReport { verdict: Verdict::Error(why), score: 0.0, ..trial };
            }
        };
        let session = run.session.clone();
        let ended = watched(run, |_| {}).await;
        let trial = TrialReport { session, from_cache: workbench.taken_from_cache(), ..trial };
        match ended {
            Ok((step, meter)) => {
                let trial = TrialReport { measures: Some(Box::new(meter.measures())), ..trial };
                self.judged(case, step, (trial, Vec::new()), stop).await
            }
            Err(why) => TrialReport { verdict: Verdict::Error(why), score: 0.0, ..trial },
        }
    }

    /// Returns the trial with its verdict and usage. `recorded`: earlier rulings of judges on a recording.
    async fn judged(
        &self,
        case: &Case,
        step: Step,
        (trial, recorded): (TrialReport, Vec<Ruling>),
        stop: &Stop,
    ) -> TrialReport {
        let trial = used(trial, &step);
        let (session, seed) = (trial.session.clone(), trial.seed);
        let run = JudgedRun { step: Arc::new(step), session, seed, trial: trial.number, recorded };
        let (Judgement { verdict, score }, rulings) = self.judgement(case, &run, stop).await;
        TrialReport { verdict, score, rulings, ..trial }
    }

    /// Reads the rulings of judges on a recording, from the folder of its file and from the sessions folder.
    fn recorded_rulings(&self, session: &Session, path: &Path) -> Vec<Ruling> {
        let folders = [path.parent(), Some(&*self.folders.sessions_dir)];
        let found = folders.into_iter().flatten().filter_map(|dir| read_rulings(dir, session.header.id.as_str()).ok());
        found.flatten().map(|ruled| ruled.ruling).collect()
    }

    /// Replays a cassette with the current agent: it passes when the replay is identical to the recording and, if the case has an
    /// expectation, the answer meets it.
    async fn play(&self, agent: &SuiteAgent, case: &Case, name: &str, trial: TrialReport, stop: &Stop) -> TrialReport {
        let failed = |why: String| Verdict::Error(format!("the cassette {name} cannot be played: {why}"));
        let error = |why: String| TrialReport { verdict: failed(why), score: 0.0, ..trial.clone() };
        let path = match self.file_access().resolve(&agent.root(), "cases.cassette", &agent.folder.join(name)) {
            Ok(path) => path,
            Err(refusal) => return error(refusal.of_it()),
        };
        let session = match Session::open(&path) {
            Ok(session) => session,
            Err(found) => return error(found.to_string()),
        };
        let recording = match cassette::with_agent(&session, &agent.agent) {
            Ok(recording) => Arc::new(recording),
            Err(found) => return error(found),
        };
        let report = match replay_by(&cassette::rules(case.lenient), &recording, None).await {
            Ok((report, _)) => report,
            Err(found) => return error(found.to_string()),
        };
        // The run is the recorded one, and so are its measures.
        let mut meter = Meter::default();
        for envelope in session.events() {
            meter.apply(&envelope);
        }
        let measures = Some(Box::new(meter.measures()));
        let trial = TrialReport { session: Some(session.header.id.to_string()), measures, ..trial };
        match (report.outcome, report.steps.into_iter().next_back()) {
            (ReplayOutcome::Identical, Some(step)) if case.expect.is_some() => {
                self.judged(case, step, (trial, self.recorded_rulings(&session, &path)), stop).await
            }
            (ReplayOutcome::Identical, Some(step)) => used(trial, &step),
            (ReplayOutcome::Diverged(found), _) => {
                let mismatch = Mismatch { why: format!("not as recorded: {found}"), ..Mismatch::default() };
                TrialReport { verdict: Verdict::Fail(vec![mismatch]), score: 0.0, ..trial }
            }
            _ => TrialReport { verdict: failed("it ends before its run does".to_owned()), score: 0.0, ..trial },
        }
    }
}

/// Returns every trial, case by case, each read when it is due. A cassette is replayed once: its result is the same each time.
fn due(suite: &Suite) -> impl Iterator<Item = Due> + Send {
    let trials = suite.trials.max(1);
    let of_agent = move |(agent, with): (usize, &SuiteAgent)| {
        let cases = with.cases().map(|case| Arc::new(case.map_err(|found| found.message))).enumerate();
        cases.flat_map(move |(place, case)| {
            let is_live = case.as_ref().as_ref().is_ok_and(|case| case.cassette.is_none());
            let last = if is_live { trials } else { 1 };
            (1..=last).map(move |number| Due { agent, place, case: Arc::clone(&case), number })
        })
    };
    suite.agents.iter().enumerate().flat_map(of_agent)
}

/// Creates the report of a case without trials, with capacity for them.
fn empty_case(due: &Due, trials: u32) -> CaseReport {
    let unread = Case { name: "a case that cannot be read".to_owned(), ..Case::default() };
    let case = due.case.as_ref().as_ref().unwrap_or(&unread);
    CaseReport {
        name: case.name.clone(),
        is_replayed: case.cassette.is_some(),
        weight: case.weight,
        tags: case.tags.clone(),
        place: 0,
        trials: Vec::with_capacity(if case.cassette.is_some() { 1 } else { trials.max(1) as usize }),
    }
}

/// Creates the report of a trial before its run.
fn begun(number: u32) -> TrialReport {
    TrialReport {
        number,
        seed: u64::from(number - 1),
        verdict: Verdict::Pass,
        score: 1.0,
        outcome: None,
        session: None,
        duration_ms: 0,
        turns: 0,
        tokens: None,
        cost: None,
        rulings: Vec::new(),
        from_cache: FromCache::default(),
        measures: None,
    }
}

/// Returns the trial with the usage of the run and its child runs.
fn used(trial: TrialReport, step: &Step) -> TrialReport {
    let total = &step.usage.total;
    let outcome = Some(Outcome::of(step));
    TrialReport { turns: total.turns, tokens: total.tokens, cost: total.cost(), outcome, ..trial }
}

/// Returns the whole milliseconds since a time.
fn whole_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Usage;
    use crate::event::{OwnUsage, Price, Spending, Tokens};

    /// A run of two turns with these child runs.
    fn run(price: Option<f64>, children: Vec<Step>) -> Step {
        let price = price.map(|input| Price { input, ..Price::default() });
        let tokens = Tokens { input: 1_000_000, ..Tokens::default() };
        let own = OwnUsage::new(Spending::of_tokens(price, tokens).with_counts(2, 3));
        let total = own.with_children(children.iter().map(|child| &child.usage.total));
        Step { children, usage: Usage { total, own, ..Usage::default() }, ..Step::default() }
    }

    #[test]
    fn a_trial_reports_the_usage_of_the_whole_tree() {
        let tree = |price: Option<f64>| run(Some(1.0), vec![run(Some(2.0), vec![run(price, Vec::new())])]);
        let of = |step: &Step| {
            let used = used(begun(1), step);
            (used.turns, used.tokens.map(|tokens| tokens.total()), used.cost)
        };
        assert_eq!(of(&tree(Some(4.0))), (6, Some(3_000_000), Some(7.0)));
        assert_eq!(of(&tree(None)), (6, Some(3_000_000), None), "a sum without one of its parts is not a sum");
    }

    #[test]
    fn a_stored_trial_has_its_texts_without_spare_room_and_its_outcome_only_where_it_is_wanted() {
        let roomy = |text: &str| {
            let mut roomy = String::with_capacity(4096);
            roomy.push_str(text);
            roomy
        };
        let mismatch = || Mismatch { expectation: roomy("all.0.run"), path: roomy("a.b"), why: roomy("not so") };
        for verdict in [Verdict::Pass, Verdict::Fail(vec![mismatch(), mismatch()]), Verdict::Error(roomy("no reply"))] {
            let outcome = Some(Outcome::Fail("timeout".to_owned()));
            let trial = || TrialReport {
                verdict: verdict.clone(),
                session: Some(roomy("2026-01-01")),
                outcome: outcome.clone(),
                ..begun(2)
            };
            let (with, without) = (trial().kept(true), trial().kept(false));
            assert_eq!((&with.outcome, &without.outcome), (&outcome, &None));
            assert_eq!((&with.verdict, with.session.as_deref()), (&verdict, Some("2026-01-01")));
            let texts = match &with.verdict {
                Verdict::Pass => Vec::new(),
                Verdict::Fail(found) => found.iter().flat_map(|one| [&one.expectation, &one.path, &one.why]).collect(),
                Verdict::Error(why) => vec![why],
            };
            assert!(texts.into_iter().chain(&with.session).all(|text| text.capacity() < 100));
        }
    }
}
