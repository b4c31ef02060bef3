//! `run`: one run, printed as it happens.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::arguments::RunFlags;
use super::journal;
use super::keyboard;
use super::output::{UsageError, exit, print_json, print_note, print_waiting, safe};
use super::printer::Printer;
use super::source::{described, first_step, in_file, pipeline_of};
use crate::agent::{Plan, Step};
use crate::event::{ErrorRecord, Interrupt, InterruptReason, InterruptSource};
use crate::port::{EndSignal, EndSignals, Human, Stop};
use crate::workbench::{
    BackgroundRun, Intercept, Pipeline, PipelineSpec, QuestionQueue, RunSpec, SaveOutcome, StartError, Workbench,
};

pub(super) async fn run(flags: &RunFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(pipeline) = pipeline_of(&flags.agent, workbench.file_access())? {
        return run_pipeline(pipeline, flags, plain, workbench).await;
    }
    let (agent, context) = described(&flags.agent, workbench.file_access())?;
    // An agent that cannot be planned is refused at the start of its run.
    check_stops(flags, || Plan::new(&agent).into_iter().collect())?;
    let kept = flags.journal.as_deref().map(journal::load).transpose()?;
    let queue = Arc::new(queue(flags));
    let spec = RunSpec {
        agent: agent.clone(),
        model: flags.agent.model.clone(),
        context,
        human: Arc::clone(&queue) as Arc<dyn Human>,
        save: !flags.no_save,
        seed: 0,
        journal: kept,
    };
    let signals = EndSignals::catch();
    let run = workbench.start(spec).map_err(|error| match error {
        StartError::Agent(findings) => in_file(&flags.agent, &agent, &findings),
        other => not_started(&other),
    })?;
    for warning in &run.warnings {
        print_note(&safe(&format!("warning: {}{}", agent.position_of(warning), warning.message)));
    }
    let printer = run_printer(plain);
    let (code, step) = print_whole(run, &queue, flags.json, printer, signals, workbench).await?;
    Ok(flags.journal.as_deref().map_or(code, |file| journal::save(file, &step, code)))
}

/// Returns the error of a run of an agent or pipeline that did not start.
fn not_started(error: &StartError) -> UsageError {
    let more = if matches!(error, StartError::Recorder(_)) { "; --no-save runs without a session" } else { "" };
    UsageError(format!("{error}{more}"))
}

/// Prints a run as it happens, then its answer or its Step as JSON; returns the exit code.
pub(super) async fn print_run(
    run: BackgroundRun,
    queue: &QuestionQueue,
    as_json: bool,
    printer: RunPrinter,
    signals: EndSignals,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    print_whole(run, queue, as_json, printer, signals, workbench).await.map(|(code, _)| code)
}

/// Like `print_run`, and returns the Step.
async fn print_whole(
    run: BackgroundRun,
    queue: &QuestionQueue,
    as_json: bool,
    printer: RunPrinter,
    signals: EndSignals,
    workbench: &Workbench,
) -> Result<(u8, Step), UsageError> {
    let WatchedRun { step, path, settled } = watch(run, queue, printer, signals).await?;
    let session = path.as_deref().map(|path| workbench.name_of(path));
    if as_json {
        print_json(&crate::export::step(&step));
    } else if let Some(answer) = &step.answer {
        print_json(answer);
    }
    match (session, reason(&step)) {
        (Some(session), Some(Reason::RecorderFailed)) => {
            print_note(&safe(&format!("saved up to this failure as {session}")));
        }
        (Some(session), Some(Reason::Suspended)) if step.waits_for.is_some() => {
            print_note(&safe(&format!("saved as {session}")));
            print_waiting(&session);
        }
        (Some(session), Some(Reason::Suspended)) => {
            print_note(&safe(&format!("saved as {session}; resume with: ptc-workbench resume {session}")));
        }
        (Some(session), _) if matches!(settled, SaveOutcome::Whole) => {
            print_note(&safe(&format!("saved as {session}")));
        }
        (None, Some(Reason::Suspended)) if step.waits_for.is_some() => {
            print_note("not saved, so it cannot be resumed; omit --no-save to save it");
        }
        _ => {}
    }
    warn_unless_whole(&settled);
    // An answer whose session is lost is a failure for a script.
    let is_lost = matches!(settled, SaveOutcome::Partly { .. });
    Ok((if is_lost && step.fail.is_none() { exit::USAGE } else { code(&step) }, step))
}

/// Prints the path of a session that could not be written completely where it began.
pub(super) fn warn_unless_whole(settled: &SaveOutcome) {
    if !matches!(settled, SaveOutcome::Whole) {
        print_note(&format!("warning: {}", safe(&settled.to_string())));
    }
}

/// The queue of a run that stops at the gates and breakpoints that the flags name.
fn queue(flags: &RunFlags) -> QuestionQueue {
    let intercept = Intercept::default();
    flags.intercept.iter().for_each(|gate| intercept.set((*gate).into(), true));
    intercept.stop_at(flags.stop.clone());
    QuestionQueue::with_intercept(intercept)
}

/// Refuses breakpoints that no step of the run can meet.
fn check_stops(flags: &RunFlags, plans: impl FnOnce() -> Vec<Plan>) -> Result<(), UsageError> {
    if flags.stop.is_empty() {
        return Ok(());
    }
    let plans = plans();
    for stop in &flags.stop {
        let missed: Vec<String> = plans.iter().filter_map(|plan| plan.misses(stop)).collect();
        if let Some(reason) = missed.first().filter(|_| missed.len() == plans.len()) {
            return Err(UsageError(format!("--stop {stop}: the run would never stop there: {reason}")));
        }
    }
    Ok(())
}

async fn run_pipeline(
    pipeline: Pipeline,
    flags: &RunFlags,
    plain: bool,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    if let Some(file) = &flags.journal {
        return Err(UsageError(format!(
            "--journal {}: pipelines do not support a journal; run a single agent",
            file.display()
        )));
    }
    check_stops(flags, || pipeline.plans().unwrap_or_default())?;
    let first = first_step(&pipeline)?.clone();
    let context = super::context::context(&flags.agent, &first, workbench.file_access())?;
    let queue = Arc::new(queue(flags));
    let spec = PipelineSpec {
        pipeline,
        model: flags.agent.model.clone(),
        context,
        human: Arc::clone(&queue) as Arc<dyn Human>,
        save: !flags.no_save,
    };
    let signals = EndSignals::catch();
    let run = workbench.start_pipeline(spec).map_err(|error| match error {
        StartError::Agent(findings) => in_file(&flags.agent, &first, &findings),
        other => not_started(&other),
    })?;
    for warning in &run.warnings {
        print_note(&safe(&format!("warning: {}", warning.message)));
    }
    print_run(run, &queue, flags.json, run_printer(plain), signals, workbench).await
}

fn reason(step: &Step) -> Option<Reason> {
    step.fail.as_ref().and_then(|fail| Reason::from_name(&fail.reason))
}

pub(super) fn code(step: &Step) -> u8 {
    match reason(step) {
        _ if step.fail.is_none() => exit::OK,
        Some(Reason::Cancelled) => exit::CANCELLED,
        Some(Reason::Suspended) if step.waits_for.is_none() => exit::TERMINATED,
        Some(Reason::Suspended) => exit::WAITING,
        _ => exit::FAILED,
    }
}

/// The printer of runs as they happen.
pub(super) type RunPrinter = Printer<std::io::Stderr>;

/// Returns a printer to stderr for a run whose questions the user may answer.
pub(super) fn run_printer(plain: bool) -> RunPrinter {
    Printer::new(std::io::stderr(), plain).with_user()
}

/// A run that was printed to its end.
pub(super) struct WatchedRun {
    /// Its Step.
    pub(super) step: Step,
    /// The file that has the whole session; `None` for a run that is not saved.
    pub(super) path: Option<PathBuf>,
    /// Result of saving the session.
    pub(super) settled: SaveOutcome,
}

/// Prints events and asks the user until the run has ended, and saves its session. Ctrl-C cancels the run; its end is still recorded. SIGTERM
/// ends the program at once: the session can be resumed.
pub(super) async fn watch(
    run: BackgroundRun,
    queue: &QuestionQueue,
    mut printer: RunPrinter,
    mut signals: EndSignals,
) -> Result<WatchedRun, UsageError> {
    let BackgroundRun { session, path, saver, feed, stop, mut task, .. } = run;
    let step = loop {
        tokio::select! {
            biased;
            signal = signals.next() => match signal {
                EndSignal::Interrupt => stop.by_user(),
                EndSignal::Terminate => {
                    task.abort();
                    // When the task is dropped, everything that it emitted is in the file.
                    break match task.await {
                        Ok(step) => Ok(step),
                        Err(error) if error.is_cancelled() => Ok(terminated_step(session)),
                        Err(error) => Err(error),
                    };
                }
            },
            () = feed.changed() => printer.print_all(&feed.drain()),
            Some(queued) = queue.next() => {
                printer.print_all(&feed.drain());
                printer.omit_question(&queued.question.address);
                keyboard::ask(queued);
            }
            step = &mut task => break step,
        }
    };
    printer.print_all(&feed.drain());
    let step = step.map_err(|error| UsageError(format!("{}: {error}", Reason::InternalError)))?;
    printer.close(&step);
    let settled = saver.map_or(SaveOutcome::Whole, |saver| saver.settle());
    // Where the session is complete: it is resumed from there.
    let path = match &settled {
        SaveOutcome::Elsewhere { path, .. } => Some(path.clone()),
        _ => path,
    };
    Ok(WatchedRun { step, path, settled })
}

/// The Step of a run that SIGTERM interrupted.
fn terminated_step(session: Option<String>) -> Step {
    let message = "SIGTERM ended the program; the run has not ended and can be resumed";
    let hint = Some("Resume it with `ptc-workbench resume SESSION`.".to_owned());
    let fail = Some(ErrorRecord { hint, ..ErrorRecord::new(Reason::Suspended, message) });
    Step { fail, session, ..Step::default() }
}

/// Returns whether this exit code is that of an unfinished run: it was stopped, or waits for the user.
pub(super) fn is_unended(code: u8) -> bool {
    [exit::CANCELLED, exit::TERMINATED, exit::WAITING].contains(&code)
}

/// The exit code of a signal that ends a command.
pub(super) fn signal_code(signal: EndSignal) -> u8 {
    match signal {
        EndSignal::Interrupt => exit::CANCELLED,
        EndSignal::Terminate => exit::TERMINATED,
    }
}

/// The exit code of a command that this stop has ended.
pub(super) fn stopped_code(stop: &Stop) -> u8 {
    match stop.reason() {
        Some(Interrupt { by: InterruptSource::Signal, .. }) => exit::TERMINATED,
        _ => exit::CANCELLED,
    }
}

/// Stops with Ctrl-C and SIGTERM.
pub(super) async fn stop_on_signal(mut signals: EndSignals, stop: Stop) {
    match signals.next().await {
        EndSignal::Interrupt => stop.by_user(),
        EndSignal::Terminate => {
            stop.now(Interrupt { reason: InterruptReason::Cancelled, by: InterruptSource::Signal });
        }
    }
}

/// Ends the program at a signal: where questions on stdin follow, which wait for a line and not for signals.
pub(super) async fn exit_on_interrupt() {
    std::process::exit(signal_code(EndSignals::catch().next().await).into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_has_the_exit_code_of_its_signal() {
        let by_user = Stop::default();
        by_user.by_user();
        let by_signal = Stop::default();
        by_signal.now(Interrupt { reason: InterruptReason::Cancelled, by: InterruptSource::Signal });
        assert_eq!([stopped_code(&by_user), stopped_code(&by_signal)], [130, 143]);
        assert_eq!([EndSignal::Interrupt, EndSignal::Terminate].map(signal_code), [130, 143]);
    }
}
