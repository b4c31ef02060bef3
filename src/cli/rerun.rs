//! `rerun`: a session again, live; several times to see where the runs part.

use std::sync::Arc;

use ptc_core::value::Json;
use serde::Serialize;

use super::arguments::RerunFlags;
use super::fork::with;
use super::output::{UsageError, exit, print_json, print_line, print_note, print_waiting};
use super::run::{WatchedRun, is_unended, print_run, run_printer, warn_unless_whole, watch};
use super::source::{agent_source, mode};
use crate::agent::Step;
use crate::event::Address;
use crate::port::{EndSignals, Human};
use crate::session::Session;
use crate::session::diff::{Divergence, TurnPart};
use crate::workbench::format::plural;
use crate::workbench::{BackgroundRun, QuestionQueue, Repeats, RerunSpec, SaveOutcome, Workbench};

pub(super) async fn rerun(flags: &RerunFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    if flags.times > 1 {
        return several(flags, plain, workbench, &session).await;
    }
    let queue = Arc::new(QuestionQueue::default());
    // It may ask about the agent's file: before the signals have handlers.
    let spec = rerun_spec(flags, workbench)?;
    let signals = EndSignals::catch();
    let run = begin(spec, workbench, &session, &queue).await?;
    print_note(&super::output::safe_line(&format!("re-run of {}{}", session.header.id, with(flags.model.as_deref()))));
    print_run(run, &queue, flags.json, run_printer(plain), signals, workbench).await
}

/// Returns the re-run that the flags ask for.
fn rerun_spec(flags: &RerunFlags, workbench: &Workbench) -> Result<RerunSpec, UsageError> {
    let agent = flags.agent.as_deref().map(|name| agent_source(name, workbench.file_access())).transpose()?;
    Ok(RerunSpec {
        from: flags.from.clone(),
        model: flags.model.clone(),
        mode: flags.mode.as_deref().map(mode).transpose()?,
        agent: agent.map(Box::new),
    })
}

async fn begin(
    spec: RerunSpec,
    workbench: &Workbench,
    session: &Session,
    queue: &Arc<QuestionQueue>,
) -> Result<BackgroundRun, UsageError> {
    Ok(workbench.rerun(session, spec, Arc::clone(queue) as Arc<dyn Human>).await?)
}

/// One after the other, so that none waits for another one's answer. A run that is stopped, or waits, ends the row.
async fn several(flags: &RerunFlags, plain: bool, workbench: &Workbench, session: &Session) -> Result<u8, UsageError> {
    let (mut names, mut steps) = (Vec::new(), Vec::<Step>::new());
    let (mut code, mut is_lost) = (exit::OK, false);
    let spec = rerun_spec(flags, workbench)?;
    for number in 1..=flags.times {
        let queue = Arc::new(QuestionQueue::default());
        let signals = EndSignals::catch();
        let run = begin(spec.clone(), workbench, session, &queue).await?;
        let with = with(flags.model.as_deref());
        print_note(&super::output::safe_line(&format!(
            "re-run {number} of {} of {}{with}",
            flags.times, session.header.id
        )));
        names.extend(run.session.clone());
        let WatchedRun { step, settled, .. } = watch(run, &queue, run_printer(plain), signals).await?;
        warn_unless_whole(&settled);
        code = super::run::code(&step);
        is_lost |= matches!(settled, SaveOutcome::Partly { .. });
        steps.push(step);
        if is_unended(code) {
            break;
        }
    }
    // A run that waits or was stopped has not ended: it is not compared.
    let is_over = is_unended(code);
    let ended = names.len() - usize::from(is_over);
    let (comparison, warnings) = workbench.compare_sessions(&names[..ended])?;
    for warning in &warnings {
        print_note(&format!("warning: {}", super::output::safe_line(warning)));
    }
    let repeats = Repeats::of(&comparison);
    let parted = repeats.parted.iter().take(ended).map(Some).chain([None]);
    let rows = names.iter().zip(&steps).zip(parted);
    if flags.json {
        let rows = rows.map(|((name, step), parted)| RerunJson {
            session: name,
            answer: step.answer.as_ref(),
            fail: step.fail.as_ref().map(|fail| fail.reason.as_str()),
            waits_for: step.waits_for.as_ref(),
            first_difference: parted.and_then(Option::as_ref).map(DivergenceJson::from),
        });
        print_json(&RerunsJson {
            times: names.len(),
            same: repeats.same.min(ended),
            same_until: repeats.same_until.as_ref(),
            first_difference: repeats.first.as_ref().map(DivergenceJson::from),
            runs: rows.collect(),
        });
    } else {
        for (place, ((name, step), parted)) in rows.enumerate() {
            let outcome_text = match (parted, &step.waits_for) {
                (Some(Some(parting)), _) => words(parting),
                (Some(None), _) if place == 0 => "the first".to_owned(),
                (Some(None), _) => "identical".to_owned(),
                (None, Some(at)) => format!("waits for the answer to {at}"),
                (None, None) => "stopped".to_owned(),
            };
            print_line(&super::output::safe_line(&format!("{name}  {outcome_text}")));
        }
        if ended > 1 {
            print_line(&summary(&repeats, ended));
        }
    }
    match names.last() {
        Some(name) if code == exit::WAITING => print_waiting(name),
        _ => {}
    }
    Ok(if is_over {
        code
    } else if is_lost {
        exit::USAGE
    } else {
        exit::OK
    })
}

fn summary(repeats: &Repeats, times: usize) -> String {
    let all = plural(times as u64, "run");
    match (&repeats.first, &repeats.same_until) {
        (None, _) => format!("{all}, all identical"),
        (Some(first), None) => format!("{} of {all} identical; {}", repeats.same, words(first)),
        (Some(first), Some(until)) => {
            format!("{} of {all} identical, all identical up to {until}; {}", repeats.same, words(first))
        }
    }
}

fn words(parting: &Divergence) -> String {
    let what = parting.part.map_or("only one has this turn", |part| part.name());
    format!("first difference at {}: {what}", parting.at)
}

/// Output of `--times N --json`.
#[derive(Serialize)]
struct RerunsJson<'a> {
    times: usize,
    same: usize,
    same_until: Option<&'a Address>,
    first_difference: Option<DivergenceJson<'a>>,
    runs: Vec<RerunJson<'a>>,
}

#[derive(Serialize)]
struct RerunJson<'a> {
    session: &'a str,
    #[serde(rename = "return")]
    answer: Option<&'a Json>,
    fail: Option<&'a str>,
    waits_for: Option<&'a Address>,
    first_difference: Option<DivergenceJson<'a>>,
}

#[derive(Serialize)]
struct DivergenceJson<'a> {
    address: &'a Address,
    part: Option<TurnPart>,
}

impl<'a> From<&'a Divergence> for DivergenceJson<'a> {
    fn from(divergence: &'a Divergence) -> Self {
        Self { address: &divergence.at, part: divergence.part }
    }
}
