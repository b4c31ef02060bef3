//! `run`: one run, told as it happens.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::arguments::RunFlags;
use super::keyboard::Keyboard;
use super::printer::Printer;
use super::source::{described, in_file, place};
use super::{UsageError, exit, json, out, safe, tell};
use crate::agent::Step;
use crate::port::Stop;
use crate::workbench::{RunSpec, Running, StartError, Workbench};

pub(super) async fn run(flags: &RunFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let (agent, context) = described(&flags.agent)?;
    let spec = RunSpec {
        agent: agent.clone(),
        model: flags.agent.model.clone(),
        context,
        person: Arc::new(Keyboard),
        save: !flags.no_save,
        seed: 0,
    };
    let running = workbench.start(spec).map_err(|error| match error {
        StartError::Agent(findings) => in_file(&flags.agent, &agent, &findings),
        other => UsageError(other.to_string()),
    })?;
    for warning in &running.warnings {
        tell(&format!("warning: {}{}", place(&agent, warning), safe(&warning.message)));
    }
    let session = running.session.clone();
    let step = watch(running, plain).await?;
    if flags.json {
        out(&json::printable(&json::step(&step)));
    } else if let Some(answer) = &step.answer {
        out(&json::printable(answer));
    }
    if let Some(session) = session {
        tell(&format!("saved as {session}"));
    }
    Ok(code(&step))
}

fn code(step: &Step) -> u8 {
    match step.fail.as_ref().and_then(|fail| Reason::from_name(&fail.reason)) {
        _ if step.fail.is_none() => exit::OK,
        Some(Reason::Cancelled) => exit::CANCELLED,
        Some(Reason::Suspended) => exit::WAITING,
        _ => exit::FAILED,
    }
}

/// Prints events until the run has ended. Ctrl-C and SIGTERM stop the run; its ends are still written.
async fn watch(running: Running, plain: bool) -> Result<Step, UsageError> {
    let Running { feed, stop, mut task, .. } = running;
    let mut printer = Printer::new(std::io::stderr(), plain);
    let signals = tokio::spawn(stop_on_signal(stop));
    let step = loop {
        tokio::select! {
            biased;
            () = feed.changed() => feed.drain().iter().for_each(|envelope| printer.print(envelope)),
            step = &mut task => break step,
        }
    };
    feed.drain().iter().for_each(|envelope| printer.print(envelope));
    signals.abort();
    step.map_err(|error| UsageError(format!("the run broke: {error}")))
}

async fn stop_on_signal(stop: Stop) {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminated) => tokio::select! {
                _ = interrupted => stop.by_person(),
                _ = terminated.recv() => stop.now(Reason::Cancelled.name(), "signal"),
            },
            Err(_) => {
                if interrupted.await.is_ok() {
                    stop.by_person();
                }
            }
        }
    }
    #[cfg(not(unix))]
    if interrupted.await.is_ok() {
        stop.by_person();
    }
}
