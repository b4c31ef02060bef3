//! Judging by rubrics: each vote is a run of the judge in a session of its own, which names the judged session as its parent.
//!
//! In: a case, the Step of its run. Out: the verdict, with the rulings that it depends on. The run has ended when its judges begin: nothing
//! is added to its session, so that it replays, resumes and serves as a cassette as before.

use std::sync::Arc;

use futures::future::join_all;
use ptc_core::reasons::Reason;

use super::reply_cache::trial_name;
use super::run::Origin;
use super::session_saver::settled;
use super::{BackgroundRun, RunSpec, StartError, Workbench};
use crate::agent::{Agent, Case, Context, Judgement, Measure, Question, Ruling, Step, Verdict, Vote};
use crate::config::ModelChoice;
use crate::event::FromCache;
use crate::port::{NoUser, Stop, SystemClock};
use crate::session::{Parent, ParentKind, SessionKey, SessionRuling, read_rulings, write_ruling};

/// The run that is judged.
#[derive(Debug, Clone)]
pub(super) struct JudgedRun {
    /// Its Step.
    pub(super) step: Arc<Step>,
    /// Its session's id, where it has one.
    pub(super) session: Option<String>,
    /// Seed of the judges' randomness; each vote adds its place.
    pub(super) seed: u64,
    /// The number of the trial, from 1.
    pub(super) trial: u32,
    /// Rulings that are known already, if the run is a recording.
    pub(super) recorded: Vec<Ruling>,
}

impl Workbench {
    /// The verdict on a Step, with its score and the rulings that were needed. Predicates are programs and may take their time: they run on
    /// a thread for that. A judge that fails or is stopped makes the verdict an error.
    pub(super) async fn judgement(&self, case: &Case, run: &JudgedRun, stop: &Stop) -> (Judgement, Vec<Ruling>) {
        let error = |why: String| Judgement { verdict: Verdict::Error(why), score: 0.0 };
        let case = Arc::new(case.clone());
        let questions = match &case.expect {
            Some(expect) if expect.has_rubric() => blocking(&case, run, Case::questions).await,
            _ => Ok(Vec::new()),
        };
        let mut rulings = Vec::new();
        for question in match questions {
            Ok(questions) => questions,
            Err(why) => return (error(why), Vec::new()),
        } {
            let (ruling, failed) = self.ruled(&question, run, stop).await;
            rulings.push((question, ruling));
            if let Some(why) = failed {
                return (error(format!("the judge could not be asked: {why}")), only_rulings(rulings));
            }
        }
        let known = rulings.clone();
        let judgement = blocking(&case, run, move |case, step| case.judgement(step, &known)).await;
        (judgement.unwrap_or_else(error), only_rulings(rulings))
    }

    /// Returns the ruling on one question, and why a judge gave no vote. All judges are asked at the same time, as their providers' gates
    /// allow.
    pub(super) async fn ruled(&self, question: &Question, run: &JudgedRun, stop: &Stop) -> (Ruling, Option<String>) {
        let rubric = &question.rubric;
        if rubric.measure == Measure::Embedding {
            let (ruling, failed) = self.similarity(question, run, stop).await;
            if let (Some(session), None) = (&run.session, &failed) {
                self.keep_ruling(session, &ruling).await;
            }
            return (ruling, failed);
        }
        if rubric.models.is_empty()
            && let Err(error) = self.check_default_judge()
        {
            return (rubric.ruling(Vec::new()), Some(error.to_string()));
        }
        let own = [self.config.default_model.clone()];
        let models = if rubric.models.is_empty() { &own[..] } else { &rubric.models };
        let judges = models.iter().flat_map(|model| (0..rubric.votes).map(move |_| model));
        let votes = judges.zip(0..).map(|(model, place)| self.vote(question, run, (model, place), stop));
        let (votes, failed): (Vec<Vote>, Vec<Option<String>>) = join_all(votes).await.into_iter().unzip();
        let failed = failed.into_iter().flatten().next();
        let ruling = Ruling { answer_sha: Some(question.answer_sha()), ..rubric.ruling(votes) };
        if let (Some(session), None) = (&run.session, &failed) {
            self.keep_ruling(session, &ruling).await;
        }
        (ruling, failed)
    }

    /// Checks that the configured model can judge, which it does where a rubric names no model. Errors: what to do.
    pub(super) fn check_default_judge(&self) -> Result<(), StartError> {
        let name = &self.config.default_model;
        if matches!(self.choose(name)?, ModelChoice::Http(_)) {
            return Ok(());
        }
        let message = format!(
            "a rubric names no model, and the configured model `{name}` cannot judge: write model = \"PROVIDER:MODEL\" next to the \
             rubric, name one with --models where --rubric is given, or set default_model in config.toml"
        );
        Err(StartError::Model { reason: Reason::LlmRequired, message })
    }

    /// Returns one vote; if the judge gave none, a vote with the score 0, and the reason.
    async fn vote(
        &self,
        question: &Question,
        run: &JudgedRun,
        (model, place): (&str, u64),
        stop: &Stop,
    ) -> (Vote, Option<String>) {
        let rubric = &question.rubric;
        // A model that a file names is not a choice of the user: it is not trusted as one.
        let agent = Agent { model: Some(model.to_owned()), ..rubric.judge() };
        let spec = RunSpec {
            agent,
            model: None,
            context: Some(Context::from(rubric.inputs(&question.answer, &run.step))),
            human: Arc::new(NoUser),
            save: true,
            seed: run.seed.saturating_add(place),
            journal: None,
        };
        let parent = run.session.as_deref().map(|session| Parent::whole(session, ParentKind::Judge));
        let vote = Vote {
            model: model.to_owned(),
            score: 0.0,
            reason: String::new(),
            session: None,
            tokens: None,
            cost: None,
            from_cache: FromCache::default(),
        };
        let origin = Origin { parent, ..Origin::default() };
        let workbench = self.for_trial(format!("{} vote {place}", trial_name(run.trial)));
        let BackgroundRun { session, saver, task, .. } =
            match workbench.unattended().start_in(spec, origin, stop.child()) {
                Ok(running) => running,
                Err(error) => return (vote, Some(error.to_string())),
            };
        let ended = task.await;
        let saved = settled(saver).await;
        let step = match (ended, saved) {
            (Ok(step), Ok(())) => step,
            (Err(error), _) => return (vote, Some(format!("{}: {error}", Reason::InternalError))),
            (_, Err(why)) => return (vote, Some(why)),
        };
        let total = &step.usage.total;
        let vote = Vote {
            session: session.clone(),
            tokens: total.tokens,
            cost: total.cost(),
            from_cache: workbench.taken_from_cache(),
            ..vote
        };
        match rubric.vote(&step) {
            Ok((score, reason)) => (Vote { score, reason, ..vote }, None),
            Err(why) => (vote, Some(format!("{why} ({})", session.unwrap_or_default()))),
        }
    }

    /// Returns the rulings on a session, oldest first.
    pub fn rulings_on(&self, key: &SessionKey) -> Vec<SessionRuling> {
        let id = match key {
            SessionKey::Example(id) => id.clone(),
            SessionKey::File(path) => {
                path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
            }
        };
        read_rulings(&self.marks_dir(key), &id).unwrap_or_else(|error| {
            tracing::warn!(%error, "the rulings cannot be read");
            Vec::new()
        })
    }

    /// Adds a ruling to those of the folder. Losing it loses no result: the judges' sessions have it.
    async fn keep_ruling(&self, session: &str, ruling: &Ruling) {
        let dir = self.folders.sessions_dir.clone();
        let ruled = SessionRuling { t: SystemClock.now(), session: session.to_owned(), ruling: ruling.clone() };
        let written = tokio::task::spawn_blocking(move || write_ruling(&dir, &ruled)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "a ruling could not be written");
        }
    }
}

fn only_rulings(rulings: Vec<(Question, Ruling)>) -> Vec<Ruling> {
    rulings.into_iter().map(|(_, ruling)| ruling).collect()
}

/// Runs a function of a case on a blocking thread. Errors: it panicked.
async fn blocking<T: Send + 'static>(
    case: &Arc<Case>,
    run: &JudgedRun,
    of: impl FnOnce(&Case, &Step) -> T + Send + 'static,
) -> Result<T, String> {
    let (case, step) = (Arc::clone(case), Arc::clone(&run.step));
    let ended = tokio::task::spawn_blocking(move || of(&case, &step)).await;
    ended.map_err(|error| format!("{}: {error}", Reason::InternalError))
}
