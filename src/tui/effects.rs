//! Effects become calls of the backend, on blocking threads, and of the stage.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use super::archive::{self, Answer, Archive, Ask, Told};
use super::backend::{Overwrite, Run, SaveError, SessionKey, Trial};
use super::drive::{Done, Driver, Listing};
use super::message::{Effect, Msg, Slot, TurnBody};
use super::model::{Model, Tone};
use super::stage::Stage;
use super::transcript::Transcript;
use super::update;
use crate::agent::{Diagnostic, DraftTexts, Mode};
use crate::event::ErrorRecord;
use crate::workbench::{RequestPart, held_against};

/// Does what `update` asked for.
pub(super) async fn perform(
    driver: &mut Driver,
    model: &mut Model,
    stage: &mut dyn Stage,
    effect: Effect,
) -> io::Result<()> {
    let backend = driver.backend.clone();
    match effect {
        Effect::Check(version, texts) => {
            driver.checks.ask((version, texts), Instant::now());
            check(driver);
        }
        Effect::Hold(mode, texts, sent) => hold(driver, mode, *texts, sent),
        Effect::Start(texts) => start(driver, move || backend.start(&texts)),
        Effect::StartPipeline(pipeline) => start(driver, move || backend.start_pipeline(&pipeline)),
        Effect::Replay(key, policy) => {
            let handle = tokio::runtime::Handle::current();
            work(driver, move || {
                let _inside = handle.enter();
                match backend.replay(&key, policy) {
                    Ok(run) => Done::Run(Slot::Viewer, run, Msg::ReplayStarted(Ok(()))),
                    Err(error) => Done::Msg(Msg::ReplayStarted(Err(error))),
                }
            });
        }
        Effect::Ask(ask) => ask_archive(driver, ask),
        Effect::Cancel(slot) => driver.runs[slot as usize].iter().for_each(|run| run.cancel()),
        Effect::Answer(question, text) => {
            driver.runs[Slot::Workbench as usize].iter().for_each(|run| run.answer(&question, text.clone()));
        }
        Effect::Intercept(gate, closed) => backend.intercept(gate, closed),
        Effect::Place(dir) => driver.runs[Slot::Workbench as usize].iter().for_each(|run| run.save_to(dir.clone())),
        Effect::PutDown => driver.runs[Slot::Workbench as usize].iter().for_each(|run| run.put_down()),
        Effect::Resume(key) => go_on(driver, key),
        Effect::List => list(driver),
        Effect::Open(key) => work(driver, move || match backend.open(&key) {
            Ok(session) => Done::Bodies(session.bodies.clone(), Msg::Opened(Ok(session))),
            Err(error) => Done::Msg(Msg::Opened(Err(error))),
        }),
        Effect::Comparing(ask) => super::compare::perform::perform(driver, ask),
        Effect::ReadTurns(session, turns) => read_turns(driver, &session, turns),
        Effect::FindUnread(session, needle, turns) => find_unread(driver, session, needle, turns),
        Effect::Inspect(subject, turn) => {
            let handle = tokio::runtime::Handle::current();
            work(driver, move || {
                let _inside = handle.enter();
                match backend.inspect(&subject, &turn) {
                    Ok((found, trial)) => {
                        Done::Trial(turn.clone(), trial, Msg::Inspected(subject, turn, Ok(Box::new(found))))
                    }
                    Err(error) => Done::Msg(Msg::Inspected(subject, turn, Err(error))),
                }
            });
        }
        Effect::Probe(turn, at) => {
            let trial = trial(driver, &turn);
            work(driver, move || Done::Msg(Msg::Probed(turn, at, trial.and_then(|trial| trial.probe(at)))));
        }
        Effect::Evaluate(turn, input) => {
            let trial = trial(driver, &turn);
            work_in_turn(driver, move || Done::Msg(Msg::Evaluated(turn, trial.and_then(|trial| trial.say(&input)))));
        }
        Effect::Save { path, texts, known, overwrite } => work(driver, move || {
            let result = save(&*backend, &path, &texts, known.as_ref(), overwrite);
            Done::Msg(Msg::Saved(path, texts, result))
        }),
        Effect::Keep(recovery) => work_in_turn(driver, move || Done::Msg(Msg::Kept(backend.keep(&recovery)))),
        Effect::Forget => work_in_turn(driver, move || {
            backend.forget();
            Done::Msg(Msg::Kept(Ok(())))
        }),
        Effect::Drop(id) => work_in_turn(driver, move || {
            backend.drop_recovery(&id);
            Done::Msg(Msg::Kept(Ok(())))
        }),
        Effect::TakeOver(recovery, id) => work_in_turn(driver, move || {
            let kept = backend.keep(&recovery);
            if kept.is_ok() {
                backend.drop_recovery(&id);
            }
            Done::Msg(Msg::Kept(kept))
        }),
        Effect::Edit(place, text) => {
            let result = stage.edit(place, &text).await;
            stage.redraw();
            for effect in update(model, Msg::Edited(place, result)) {
                Box::pin(perform(driver, model, stage, effect)).await?;
            }
        }
        Effect::TourSeen => work_in_turn(driver, move || Done::Msg(Msg::TourNoted(backend.tour_seen()))),
        Effect::Clip(text) => {
            stage.clip(&text)?;
            if let Some(copy) = stage.local_clipboard() {
                work(driver, move || Done::Msg(Msg::Clipped(copy(&text))));
            }
        }
        Effect::Suspend => suspend(model, stage).await,
        Effect::Redraw => stage.redraw(),
    }
    Ok(())
}

/// Checks the texts that wait for it, when a check is due.
pub(super) fn check(driver: &mut Driver) {
    let Some((version, texts)) = driver.checks.begin(Instant::now()) else { return };
    let backend = driver.backend.clone();
    work(driver, move || {
        let (findings, preview) = (backend.diagnose(&texts), backend.preview(&texts));
        Done::Msg(Msg::Checked(version, findings, Box::new(preview)))
    });
}

/// A check has ended: the texts that came meanwhile are next.
pub(super) fn checked(driver: &mut Driver) {
    driver.checks.ended(Instant::now());
    check(driver);
}

/// Makes what would be sent in another mode, and holds what would be sent against it.
fn hold(driver: &mut Driver, mode: Mode, texts: DraftTexts, sent: Vec<RequestPart>) {
    let backend = driver.backend.clone();
    work(driver, move || {
        let other = backend.preview(&texts).sent;
        let told = || backend.diagnose(&texts).into_iter().map(|found| found.message).collect::<Vec<_>>().join("\n");
        let held = if other.is_empty() { Err(told()) } else { Ok(held_against(&sent, &other)) };
        Done::Msg(Msg::Held(mode, held))
    });
}

/// Lists the sessions, one listing at a time, so that an older list never takes the place of a newer one.
fn list(driver: &mut Driver) {
    if driver.listing != Listing::Idle {
        driver.listing = Listing::RunsAgain;
        return;
    }
    driver.listing = Listing::Runs;
    let backend = driver.backend.clone();
    work(driver, move || Done::Msg(Msg::Listed(backend.sessions())));
}

/// A listing has ended: what was asked for meanwhile may have changed since it began. Does another one follow?
pub(super) fn listed(driver: &mut Driver) -> bool {
    let follows = std::mem::replace(&mut driver.listing, Listing::Idle) == Listing::RunsAgain;
    if follows {
        list(driver);
    }
    follows
}

/// Goes on with a run that waits or broke off.
fn go_on(driver: &mut Driver, key: SessionKey) {
    let (handle, backend) = (tokio::runtime::Handle::current(), driver.backend.clone());
    work(driver, move || {
        let _inside = handle.enter();
        match backend.resume(&key) {
            Ok(run) => {
                let session = run.session();
                Done::Run(Slot::Workbench, run, Msg::WentOn(Ok(session)))
            }
            Err(error) => Done::Msg(Msg::WentOn(Err(error))),
        }
    });
}

/// Starts the workbench's run on a blocking thread.
fn start(driver: &mut Driver, begin: impl FnOnce() -> Started + Send + 'static) {
    let handle = tokio::runtime::Handle::current();
    work(driver, move || {
        let _inside = handle.enter();
        match begin() {
            Ok(run) => {
                let session = run.session();
                Done::Run(Slot::Workbench, run, Msg::Started(Ok(session)))
            }
            Err(findings) => Done::Msg(Msg::Started(Err(findings))),
        }
    });
}

/// What is tried on this turn.
fn trial(driver: &Driver, turn: &crate::event::Address) -> Result<Arc<dyn Trial>, String> {
    let known = driver.trial.as_ref().filter(|(known, _)| known == turn);
    known.map(|(_, trial)| trial.clone()).ok_or_else(|| "the turn is still being read".to_owned())
}

/// Asks something about saved sessions on a blocking thread. What starts a run becomes the workbench's run.
fn ask_archive(driver: &mut Driver, ask: Ask) {
    let backend = driver.backend.clone();
    let handle = tokio::runtime::Handle::current();
    work(driver, move || {
        let _inside = handle.enter();
        let archive: &dyn Archive = &*backend;
        match archive::answer(archive, ask) {
            Answer::Run(run) => {
                let session = run.session();
                Done::Run(Slot::Workbench, run, Msg::Told(Told::Began(Ok(session))))
            }
            Answer::Told(told) => Done::Msg(Msg::Told(told)),
        }
    });
}

/// A run, or why it is refused.
type Started = Result<Arc<dyn Run>, Vec<Diagnostic>>;

fn save(
    backend: &dyn super::backend::Backend,
    path: &str,
    texts: &DraftTexts,
    known: Option<&super::backend::AgentFile>,
    overwrite: Overwrite,
) -> Result<super::backend::AgentFile, SaveError> {
    backend.save(Path::new(path), texts, known, overwrite)
}

/// Gives the terminal to the shell and takes it back.
pub(super) async fn suspend(model: &mut Model, stage: &mut dyn Stage) {
    if let Err(reason) = stage.suspend().await {
        model.say(Tone::Bad, format!("not suspended: {reason}"));
    }
    model.dirty = true;
}

/// Runs something slow on a blocking thread.
pub(super) fn work(driver: &mut Driver, job: impl FnOnce() -> Done + Send + 'static) {
    driver.working += 1;
    let done = driver.done.clone();
    tokio::task::spawn_blocking(move || {
        let result = job();
        if done.send(result).is_err() {
            tracing::debug!("background work ended after the interface");
        }
    });
}

/// The same after all work in turn that was asked for before: what is kept last must stay, what is forgotten last must go.
fn work_in_turn(driver: &mut Driver, job: impl FnOnce() -> Done + Send + 'static) {
    driver.working += 1;
    let done = driver.done.clone();
    let before = driver.in_turn.take();
    driver.in_turn = Some(tokio::spawn(async move {
        if let Some(before) = before
            && let Err(error) = before.await
        {
            tracing::error!(%error, "a piece of background work failed");
        }
        match tokio::task::spawn_blocking(job).await.map(|result| done.send(result).is_ok()) {
            Ok(true) => {}
            Ok(false) => tracing::debug!("background work ended after the interface"),
            Err(error) => tracing::error!(%error, "a piece of background work failed"),
        }
    }));
}

/// Asks for kept texts of earlier starts.
pub(super) fn look_for_recoveries(driver: &mut Driver) {
    let backend = driver.backend.clone();
    work(driver, move || Done::Msg(Msg::Recoveries(backend.recoveries())));
}

/// Looks for a text in turns that were not read, until another search begins.
fn find_unread(
    driver: &mut Driver,
    session: SessionKey,
    needle: String,
    turns: Vec<(crate::event::Address, std::ops::Range<usize>)>,
) {
    let Some(bodies) = driver.bodies.clone() else { return };
    let current = Arc::new(());
    let still = Arc::downgrade(&current);
    // The search before ends when nobody holds it any more.
    driver.search = Some(current);
    work(driver, move || {
        let holds = |(turn, places): &(crate::event::Address, std::ops::Range<usize>)| {
            let events = bodies.events(places.clone()).unwrap_or_default();
            Transcript::turn_holds(turn, &events, &needle)
        };
        let searched = turns.iter().take_while(|_| still.strong_count() > 0);
        let found = searched.filter(|turn| holds(turn)).map(|(turn, _)| turn.clone()).collect();
        Done::Msg(Msg::FoundUnread(session, needle, found))
    });
}

/// Reads the turns of the opened session that the last frame showed unread.
pub(super) fn read_what_is_seen(driver: &mut Driver, model: &Model) {
    let Some(viewer) = &model.sessions.viewer else { return };
    let (Some(session), false) = (&viewer.key, viewer.replay) else { return };
    let unread = viewer.transcript.unread();
    let new: Vec<_> = unread.into_iter().filter(|(turn, _)| !driver.reading.contains(turn)).collect();
    if !new.is_empty() {
        read_turns(driver, session, new);
    }
}

fn read_turns(driver: &mut Driver, session: &SessionKey, turns: Vec<(crate::event::Address, std::ops::Range<usize>)>) {
    let Some(bodies) = driver.bodies.clone() else { return };
    for (turn, places) in turns {
        driver.reading.push(turn.clone());
        let (bodies, session) = (bodies.clone(), session.clone());
        work(driver, move || {
            let body = bodies.events(places).map(|events| TurnBody {
                events,
                request: request(&*bodies, &turn),
                replaced: bodies.replaced(&turn),
            });
            Done::Msg(Msg::TurnRead(session, turn, body))
        });
    }
}

/// What was sent in a turn; a request that cannot be rebuilt leaves the card without it.
fn request(
    bodies: &dyn super::backend::Bodies,
    turn: &crate::event::Address,
) -> Option<Vec<super::backend::SentMessage>> {
    match bodies.request(turn) {
        Ok(messages) => Some(messages),
        Err(ErrorRecord { message, .. }) => {
            tracing::debug!(%turn, message, "a request could not be rebuilt");
            None
        }
    }
}
