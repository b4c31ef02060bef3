//! Executes effects: requests go to the workbench on blocking threads, the rest to runs and the stage.

mod archive;
mod candidates;
mod cases;
mod compare;
mod result;
mod suggest;
mod traffic;

pub(super) use result::EffectResult;
pub use traffic::FollowedProxy;
pub(super) use traffic::set_gates;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use super::drive::{Driver, Listing};
use super::inspector::Subject;
use super::message::{Effect, Msg, Slot};
use super::model::{Model, Tone};
use super::services::Services;
use super::stage::Stage;
use super::traffic::TrafficRequest;
use super::transcript::Transcript;
use super::{recovery, update};
use crate::agent::{DraftTexts, Mode};
use crate::config::{LockedFile, open_resolved_file};
use crate::event::{Address, ErrorRecord};
use crate::session::{RunState, Summary};
use crate::workbench::inspect::LazyBench;
use crate::workbench::{RequestPart, RunHandle, SaveError, SessionKey, compared_with};

/// Executes an effect of `update`.
#[expect(clippy::too_many_lines, reason = "one row for each effect")]
pub(super) async fn perform(
    driver: &mut Driver,
    model: &mut Model,
    stage: &mut dyn Stage,
    effect: Effect,
) -> io::Result<()> {
    let run = |slot: Slot| driver.runs[slot as usize].clone();
    match effect {
        Effect::Check(version, texts) => {
            driver.checks.ask((version, texts), Instant::now());
            check(driver);
        }
        Effect::ComparePreview(mode, texts, sent) => {
            work(driver, move |services| EffectResult::Msg(compare_preview(services, mode, &texts, &sent)));
        }
        Effect::Start(texts) => {
            work(driver, move |services| EffectResult::started(Slot::Workbench, services.start(&texts), Msg::Started));
        }
        Effect::StartPipeline(pipeline) => work(driver, move |services| {
            EffectResult::started(Slot::Workbench, services.start_pipeline(*pipeline), Msg::Started)
        }),
        Effect::Resume(key) => {
            work(driver, move |services| {
                EffectResult::started(Slot::Workbench, services.resume(&key), Msg::SessionResumed)
            });
        }
        Effect::Replay(key, policy) => work(driver, move |services| {
            let session = services.workbench.open_found(&key).map_err(|error| error.0);
            let replay = session.and_then(|session| RunHandle::of_replay(&session, policy));
            EffectResult::started(Slot::Viewer, replay, |result| Msg::ReplayStarted(result.map(|_| ())))
        }),
        Effect::Archive(request) => {
            let stop = driver.suggestion.child();
            work(driver, move |services| archive::execute(request, services, &stop));
        }
        Effect::StopSuggestion => std::mem::take(&mut driver.suggestion).by_user(),
        Effect::Traffic(request) => change_traffic(driver, request),
        Effect::Candidates(request) => work(driver, move |services| candidates::execute(request, services)),
        Effect::Compare(request) => work(driver, move |services| compare::execute(request, services)),
        Effect::Cancel(slot) => run(slot).iter().for_each(|run| run.cancel()),
        Effect::Answer(question, text) => {
            if let Some(run) = run(Slot::Workbench) {
                run.answer(&question, text);
            }
        }
        Effect::SaveSession(slot, dir) => run(slot).iter().for_each(|run| run.save_to(dir.clone())),
        Effect::SuspendRun(slot) => run(slot).iter().for_each(|run| run.suspend()),
        Effect::StopMatrix => driver.matrix.iter().for_each(|matrix| matrix.stop()),
        Effect::Intercept(gate, closed) => {
            driver.services.intercept.set(gate, closed);
            if let Some(proxy) = &driver.proxy {
                set_gates(proxy, &model.workbench.gates);
            }
        }
        Effect::StopAt(breakpoints) => driver.services.intercept.stop_at(breakpoints),
        Effect::List => list(driver),
        Effect::Open(key) => work(driver, move |services| match services.workbench.open(&key) {
            Ok(session) => EffectResult::Session(session.turns.clone(), Msg::Opened(Ok(session))),
            Err(error) => EffectResult::Msg(Msg::Opened(Err(error.into()))),
        }),
        Effect::ReadTurns(session, turns) => read_turns(driver, &session, turns),
        Effect::FindUnread(session, needle, turns) => find_unread(driver, session, needle, turns),
        Effect::StopTests => std::mem::take(&mut driver.tests).by_user(),
        Effect::Tests(request) => {
            let stop = driver.tests.child();
            work(driver, move |services| cases::execute(request, services, &stop));
        }
        Effect::ReadOverview(key) => work(driver, move |services| {
            let overview = services.workbench.overview(&key).map(Box::new);
            EffectResult::Msg(Msg::OverviewRead(key, overview.map_err(ErrorRecord::from)))
        }),
        Effect::Inspect(subject, turn) => work(driver, move |services| inspect(services, subject, turn)),
        Effect::Probe(turn, at) => {
            let bench = bench(driver, &turn);
            work(driver, move |_| EffectResult::Msg(Msg::Probed(turn, at, bench.and_then(|bench| bench.probe(at)))));
        }
        Effect::Evaluate(turn, input) => {
            let bench = bench(driver, &turn);
            work_in_turn(driver, move |_| Msg::Evaluated(turn, bench.and_then(|bench| bench.evaluate(&input))));
        }
        Effect::ComputeValue(turn, name) => {
            let bench = bench(driver, &turn);
            work(driver, move |_| {
                let value = bench.and_then(|bench| bench.value_of(&name));
                EffectResult::Msg(Msg::ValueComputed(turn, name, value))
            });
        }
        Effect::Save { path, texts, known, overwrite } => work(driver, move |services| {
            let agent = Services::agent(&texts).map_err(unsaveable);
            let saved =
                agent.and_then(|agent| services.files.save(Path::new(&path), &agent, known.as_ref(), overwrite));
            EffectResult::Msg(Msg::Saved(path, texts, saved))
        }),
        Effect::Keep(recovery) => work_in_turn(driver, move |services| Msg::Kept(services.recovery().keep(&recovery))),
        Effect::Forget => work_in_turn(driver, move |services| {
            services.recovery().forget();
            Msg::Kept(Ok(()))
        }),
        Effect::Drop(id) => work_in_turn(driver, move |services| {
            services.recovery().remove(&id);
            Msg::Kept(Ok(()))
        }),
        Effect::TakeOver(recovery, id) => work_in_turn(driver, move |services| {
            let mut files = services.recovery();
            Msg::Kept(files.keep(&recovery).inspect(|()| files.remove(&id)))
        }),
        Effect::Edit(place, text) => {
            let result = stage.edit(place, &text).await;
            stage.redraw();
            for effect in update(model, Msg::Edited(place, result)) {
                Box::pin(perform(driver, model, stage, effect)).await?;
            }
        }
        Effect::TourSeen => work_in_turn(driver, move |services| {
            Msg::TourNoted(recovery::mark_tour_seen(&services.workbench.folders.state_dir))
        }),
        Effect::Clip(text) => {
            stage.clip(&text)?;
            if let Some(copy) = stage.local_clipboard() {
                work(driver, move |_| EffectResult::Msg(Msg::Clipped(copy(&text))));
            }
        }
        Effect::Notify(how, text) => stage.notify(how, &text)?,
        Effect::Suspend => suspend(model, stage).await,
        Effect::Redraw => stage.redraw(),
    }
    Ok(())
}

/// Executes a request about the traffic.
fn change_traffic(driver: &mut Driver, request: TrafficRequest) {
    match request {
        TrafficRequest::Start(spec) => work(driver, move |services| traffic::start(services, &spec)),
        TrafficRequest::End => {
            if let Some(proxy) = driver.proxy.take() {
                work(driver, move |_| traffic::end(proxy));
            }
        }
        TrafficRequest::Follow(session) => {
            if let Some(proxy) = &driver.proxy {
                // From now on its events come; those before are in its file.
                proxy.live.show([session.clone()]);
            }
            work(driver, move |services| traffic::read(services, session));
        }
        TrafficRequest::Decide(id, verdict) => {
            // An exchange whose client has left is not in the list any more.
            if let Some(proxy) = &driver.proxy {
                _ = proxy.live.holds().decide(id, verdict);
            }
        }
    }
}

/// Checks the texts that wait for it, when a check is due.
pub(super) fn check(driver: &mut Driver) {
    let Some((version, texts)) = driver.checks.begin(Instant::now()) else { return };
    driver.counts.checks += 1;
    work(driver, move |services| {
        let (findings, summary) = services.check(&texts);
        EffectResult::Msg(Msg::Checked(version, findings, Box::new(summary)))
    });
}

/// A check has ended: the texts that were typed meanwhile are next.
pub(super) fn checked(driver: &mut Driver) {
    driver.checks.ended(Instant::now());
    check(driver);
}

/// Compares what would be sent with what the texts of another mode would send.
fn compare_preview(services: &Services, mode: Mode, texts: &DraftTexts, sent: &[RequestPart]) -> Msg {
    let (findings, other) = services.check(texts);
    let messages = || findings.iter().map(|found| found.message.as_str()).collect::<Vec<_>>().join("\n");
    Msg::PreviewCompared(
        mode,
        if other.sent.is_empty() { Err(messages()) } else { Ok(compared_with(sent, &other.sent)) },
    )
}

fn inspect(services: &Services, subject: Subject, turn: Address) -> EffectResult {
    let session = match &subject {
        Subject::Saved(key) => services.workbench.open_found(key),
        Subject::Named(name) => services.workbench.open_session(name),
    };
    let inspected = session.and_then(|session| Ok((services.workbench.inspect(&session, &turn)?, session)));
    match inspected {
        Ok((inspection, session)) => {
            let bench = Arc::new(LazyBench::new(session, turn.clone()));
            EffectResult::Turn(turn.clone(), bench, Msg::Inspected(subject, turn, Ok(Box::new(inspection))))
        }
        Err(error) => EffectResult::Msg(Msg::Inspected(subject, turn, Err(error.into()))),
    }
}

/// Texts that are not an agent are not saved; they stay as a kept draft.
fn unsaveable(error: ErrorRecord) -> SaveError {
    let hint = "correct it, then save again; until then the edits are kept as a draft".to_owned();
    SaveError::Failed(ErrorRecord { hint: Some(hint), ..error })
}

/// Lists the sessions, one listing at a time, so that an older list never replaces a newer one.
fn list(driver: &mut Driver) {
    if driver.listing != Listing::Idle {
        driver.listing = Listing::RunsAgain;
        return;
    }
    driver.listing = Listing::Runs;
    driver.counts.listings += 1;
    // Marks that cannot be read hide nothing else; a search and every change of them report why.
    work(driver, move |services| {
        EffectResult::Msg(Msg::Listed(sessions(services), services.workbench.marks().unwrap_or_default()))
    });
}

/// Reads the list of sessions, and which of the unfinished ones a program is writing.
fn sessions(services: &Services) -> Vec<Summary> {
    let mut all = services.workbench.sessions();
    for session in &mut all {
        if session.state == RunState::Open && !session.example && session.damage.is_none() {
            let file = open_resolved_file(&session.path);
            session.is_in_use = file.is_ok_and(|file| LockedFile::is_held_elsewhere(&file));
        }
    }
    all
}

/// A listing has ended: another one follows when it was asked for meanwhile. Does one?
pub(super) fn listed(driver: &mut Driver) -> bool {
    let follows = std::mem::replace(&mut driver.listing, Listing::Idle) == Listing::RunsAgain;
    if follows {
        list(driver);
    }
    follows
}

/// The bench of this turn.
fn bench(driver: &Driver, turn: &Address) -> Result<Arc<LazyBench>, String> {
    let known = driver.bench.as_ref().filter(|(known, _)| known == turn);
    known.map(|(_, bench)| bench.clone()).ok_or_else(|| "the turn is still being read".to_owned())
}

/// Gives the terminal to the shell and takes it back.
pub(super) async fn suspend(model: &mut Model, stage: &mut dyn Stage) {
    if let Err(reason) = stage.suspend().await {
        model.show_toast(Tone::Bad, format!("not suspended: {reason}"));
    }
    model.dirty = true;
}

/// Runs a job on a blocking thread, inside of the runtime.
fn work(driver: &mut Driver, job: impl FnOnce(&Services) -> EffectResult + Send + 'static) {
    driver.working += 1;
    let (done, services) = (driver.done.clone(), driver.services.clone());
    tokio::task::spawn_blocking(move || {
        if done.send(job(&services)).is_err() {
            tracing::debug!("background work ended after the interface");
        }
    });
}

/// Like `work`, after all earlier jobs queued with it, so that the last write or removal wins.
fn work_in_turn(driver: &mut Driver, job: impl FnOnce(&Services) -> Msg + Send + 'static) {
    driver.working += 1;
    let (done, services) = (driver.done.clone(), driver.services.clone());
    let before = driver.in_turn.take();
    driver.in_turn = Some(tokio::spawn(async move {
        if let Some(before) = before
            && let Err(error) = before.await
        {
            tracing::error!(%error, "a background job failed");
        }
        let msg = tokio::task::spawn_blocking(move || job(&services)).await;
        match msg.map(|msg| done.send(EffectResult::Msg(msg)).is_ok()) {
            Ok(true) => {}
            Ok(false) => tracing::debug!("background work ended after the interface"),
            Err(error) => tracing::error!(%error, "a background job failed"),
        }
    }));
}

/// Looks for kept texts of earlier starts.
pub(super) fn look_for_recoveries(driver: &mut Driver) {
    work(driver, |services| EffectResult::Msg(Msg::Recoveries(services.recovery().find())));
}

/// Looks for a text in turns that were not read, until another search begins.
fn find_unread(driver: &mut Driver, session: SessionKey, needle: String, turns: Vec<(Address, Range<usize>)>) {
    let Some(reader) = driver.turns.clone() else { return };
    let current = Arc::new(());
    let still = Arc::downgrade(&current);
    // The previous search ends when its token is dropped.
    driver.search = Some(current);
    work(driver, move |_| {
        let holds = |(turn, places): &(Address, Range<usize>)| {
            Transcript::turn_holds(turn, &reader.events(places.clone()), &needle)
        };
        let searched = turns.iter().take_while(|_| still.strong_count() > 0);
        let found = searched.filter(|turn| holds(turn)).map(|(turn, _)| turn.clone()).collect();
        EffectResult::Msg(Msg::FoundUnread(session, needle, found))
    });
}

/// Reads the turns of the opened session that the last frame showed unread.
pub(super) fn read_what_is_seen(driver: &mut Driver, model: &Model) {
    let Some(viewer) = &model.sessions.viewer else { return };
    let (Some(session), false) = (&viewer.key, viewer.replay.is_some()) else { return };
    let unread = viewer.transcript.unread();
    let new: Vec<_> = unread.into_iter().filter(|(turn, _)| !driver.reading.contains(turn)).collect();
    if !new.is_empty() {
        read_turns(driver, session, new);
    }
}

fn read_turns(driver: &mut Driver, session: &SessionKey, turns: Vec<(Address, Range<usize>)>) {
    let Some(reader) = driver.turns.clone() else { return };
    for (turn, places) in turns {
        driver.reading.push(turn.clone());
        let (reader, session) = (reader.clone(), session.clone());
        work(driver, move |_| {
            let body = reader.read(&turn, places);
            EffectResult::Msg(Msg::TurnRead(session, turn, body))
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;
    use crate::agent::Agent;
    use crate::config::{Config, Folders};
    use crate::event::{Envelope, RunStart};
    use crate::session::{Header, SessionId};
    use crate::workbench::Workbench;

    #[test]
    fn an_unfinished_session_is_in_use_as_long_as_a_program_writes_it() {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::at(dir.path().to_owned(), dir.path(), None);
        let services = Services::new(Workbench::new(Config::built_in().unwrap(), folders), &Agent::default(), None);
        let folder = services.workbench.folders.sessions_dir.clone();
        fs::create_dir_all(&folder).unwrap();
        let header = Header::new(SessionId::new(1, 7), 1);
        let start = RunStart { mode: "text".to_owned(), ..RunStart::default() };
        let event = Envelope { seq: 1, at_ms: 1, address: Address::run(0), event: start.into() };
        let lines = [serde_json::to_string(&header).unwrap(), event.to_line(None).unwrap()];
        let path = folder.join(header.id.file_name());
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let is_in_use = || {
            let all = sessions(&services);
            all.into_iter().find(|session| session.path == path).map(|session| session.is_in_use)
        };
        let open = || File::options().read(true).append(true).open(&path).unwrap();
        let writer = LockedFile::lock(open()).unwrap();
        assert_eq!(is_in_use(), Some(true));
        drop(writer);
        assert_eq!(is_in_use(), Some(false));
    }
}
