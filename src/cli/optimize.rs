//! `optimize`: a search for better texts of an agent, its candidates as a tree, and what of one is written into the agent file.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::arguments::{OptimizeAction, OptimizeFlags};
use super::keyboard::confirm;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line};
use super::run::stop_on_signal;
use super::{agent_source, source};
use crate::port::Stop;
use crate::workbench::Workbench;
use crate::workbench::files::write_whole;
use crate::workbench::format::plural;
use crate::workbench::optimize::{
    Action, Ending, Gain, Hunk, OptimizeError, OptimizeJob, Progress, Settings, Standing, applied, candidate_file,
    hunks,
};

pub(super) async fn optimize(flags: &OptimizeFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    match (&flags.action, &flags.agent) {
        (Some(OptimizeAction::Show { dir, candidate, json }), _) => show(dir, candidate.as_deref(), *json, workbench),
        (Some(OptimizeAction::Apply { dir, candidate, yes }), _) => apply(dir, candidate.as_deref(), *yes, workbench),
        (None, Some(agent)) => search(agent, flags, &flags.cache.apply(workbench)?).await,
        (None, None) => Err(UsageError("name an agent file".to_owned())),
    }
}

fn refused(error: OptimizeError) -> UsageError {
    UsageError(error.0)
}

async fn search(name: &str, flags: &OptimizeFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let agent = agent_source(name, workbench.file_access())?;
    let mode = flags.mode.as_deref().map(source::mode).transpose()?;
    let in_mode = agent.for_mode(mode.unwrap_or(agent.mode)).map_err(|found| {
        UsageError(found.iter().map(|one| format!("{name}: {}", one.message)).collect::<Vec<_>>().join("\nerror: "))
    })?;
    if in_mode.prompt != agent.prompt {
        return Err(UsageError(format!(
            "{name} has a prompt of its own for the mode {}: a search changes the prompt of the file; choose the mode that it is written for",
            in_mode.mode.name()
        )));
    }
    let text = text_of(name)?;
    let dir = flags.dir.clone().unwrap_or_else(|| PathBuf::from(format!("{}.optimize", agent.name)));
    let job = OptimizeJob {
        file: (name.to_owned(), text),
        agent: in_mode,
        folder: Path::new(name).parent().unwrap_or(Path::new("")).to_owned(),
        filter: flags.selection.to_filter(flags.seed),
        model: flags.model.clone(),
        reflect_model: flags.reflect_model.clone(),
        dir: dir.clone(),
        settings: Settings {
            seed: flags.seed,
            batch: flags.batch as usize,
            most_candidates: flags.max_candidates as usize,
            most_calls: flags.max_calls,
            most_cost: flags.max_cost,
            ..Settings::default()
        },
        jobs: flags.jobs.into(),
        most_time: flags.max_time.map(Duration::from_secs),
    };
    let stop = Stop::default();
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    let mut watch = |action: &Action, progress: &Progress| print_note(&safe_line(&step_line(action, progress)));
    let done = workbench.optimize(&job, &stop, &mut watch).await;
    signals.abort();
    let progress = done.map_err(refused)?;
    if flags.json {
        print_json(&SearchJson::of(&progress));
    } else {
        print_tree(&progress, &dir);
    }
    if progress.ending.is_some() {
        return Ok(exit::OK);
    }
    print_note("not finished: the same command continues the search");
    Ok(if stop.reason().is_some() { exit::CANCELLED } else { exit::FAILED })
}

/// What came of an action, as a line.
fn step_line(action: &Action, progress: &Progress) -> String {
    match action {
        Action::Try { candidate, cases } => {
            let results = &progress.search.candidates()[*candidate].results;
            let passed = cases.iter().filter(|case| results.get(*case).is_some_and(|one| one.passed)).count();
            let mean = progress.search.mean(*candidate, cases).unwrap_or_default();
            format!("c{candidate:02}  {passed} of {} passed, mean score {mean:.2}", plural(cases.len() as u64, "case"))
        }
        Action::Propose { parent, component, .. } => {
            let reason = progress.proposals.last().map_or("", |one| &one.reason);
            let word =
                if progress.proposals.last().is_some_and(|one| one.text.is_some()) { "another" } else { "no other" };
            format!("c{parent:02}  {word} {component}: {reason}")
        }
        Action::Finish(_) => String::new(),
    }
}

/// The text of an agent file. Errors: it is the name of an example, or cannot be read.
fn text_of(name: &str) -> Result<String, UsageError> {
    match crate::config::read_regular_file(Path::new(name)) {
        Ok(text) => Ok(text),
        Err(error) => Err(UsageError(format!(
            "{name}: {error}; a search needs the file of an agent (`ptc-workbench new NAME --from EXAMPLE` copies an example)"
        ))),
    }
}

fn show(dir: &Path, candidate: Option<&str>, json: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let progress = workbench.read_optimization(dir).map_err(refused)?;
    match candidate {
        _ if json => print_json(&SearchJson::of(&progress)),
        Some(name) => print_candidate(&progress, number(&progress, name)?),
        None => print_tree(&progress, dir),
    }
    Ok(exit::OK)
}

/// The candidate of a name such as `c03`.
fn number(progress: &Progress, name: &str) -> Result<usize, UsageError> {
    let count = progress.search.candidates().len();
    let number = name.strip_prefix('c').unwrap_or(name).parse().ok().filter(|number| *number < count);
    number.ok_or_else(|| UsageError(format!("there is no candidate `{name}`: they are c00 to c{:02}", count - 1)))
}

/// The candidates below their first parent, with what they change, their score and the cases that they win and lose against the agent as it was.
fn print_tree(progress: &Progress, dir: &Path) {
    let start = &progress.start;
    print_line(&safe_line(&format!(
        "{} · {} · {} · proposals by {}",
        start.agent, start.mode, start.model, start.reflect_model
    )));
    print_line(&format!(
        "{} training, {} validation, {} held out",
        plural(start.training.len() as u64, "case"),
        start.validation.len(),
        start.held_out.len()
    ));
    print_below(progress, 0, 0);
    let (calls, cost) = progress.search.spent();
    let refused = progress.search.refused();
    print_line(&format!(
        "{} to models, cost {cost:.4}, {} refused",
        plural(calls, "request"),
        plural(u64::from(refused), "proposal")
    ));
    let best = progress.search.best();
    if best == 0 {
        print_line("no candidate is better than the agent as it is");
    } else {
        for (name, cases) in [("validation", &start.validation), ("held-out", &start.held_out)] {
            if let Some(gain) = progress.gain(best, cases) {
                print_line(&format!("c{best:02}, {name}: {}", gain_text(&gain)));
            }
        }
        print_line(&safe_line(&format!(
            "`ptc-workbench optimize apply {}` writes c{best:02} into {} ({})",
            dir.display(),
            start.agent,
            candidate_file(dir, best).display()
        )));
    }
    if let Some(ending) = progress.ending {
        print_line(match ending {
            Ending::Solved => "ended: every validation case passes",
            Ending::Candidates => "ended: as many candidates as --max-candidates",
            Ending::Budget => "ended: the budget is used",
            Ending::Idle => "ended: many rounds without a better candidate",
        });
    }
}

fn gain_text(gain: &Gain) -> String {
    let Gain { cases, before, after, won, lost, probability } = gain;
    let chance = if *probability < 0.001 { "p < 0.001".to_owned() } else { format!("p = {probability:.3}") };
    format!("{before:.2} → {after:.2} ({}: {won} won, {lost} lost, {chance})", plural(*cases as u64, "case"))
}

fn print_below(progress: &Progress, candidate: usize, depth: usize) {
    let (search, validation) = (&progress.search, &progress.start.validation);
    let one = &search.candidates()[candidate];
    let changed = match (&one.changed, one.parents.len()) {
        (Some(component), _) => component.to_string(),
        (None, 0) => "as it is".to_owned(),
        (None, _) => "merge".to_owned(),
    };
    let standing = match one.standing {
        Standing::Accepted => match search.mean(candidate, validation) {
            Some(mean) => {
                let (won, lost) = search.won_and_lost(candidate, 0, validation);
                format!("{mean:.2}  won {won}, lost {lost}")
            }
            None => "accepted".to_owned(),
        },
        Standing::Rejected => "rejected".to_owned(),
        Standing::Trying => "not finished".to_owned(),
    };
    let reason = if one.reason.is_empty() { String::new() } else { format!("  {}", one.reason) };
    print_line(&safe_line(&format!(
        "{:indent$}c{candidate:02}  {changed}  {standing}{reason}",
        "",
        indent = depth * 2
    )));
    for (number, other) in search.candidates().iter().enumerate() {
        if other.parents.first() == Some(&candidate) {
            print_below(progress, number, depth + 1);
        }
    }
}

/// What a candidate changes in its first parent, and its cases with their sessions.
fn print_candidate(progress: &Progress, candidate: usize) {
    let candidates = progress.search.candidates();
    let one = &candidates[candidate];
    let parent = one.parents.first().copied().unwrap_or(candidate);
    if !one.reason.is_empty() {
        print_line(&safe_line(&one.reason));
    }
    for (component, text) in &one.texts {
        let before = candidates[parent].texts.get(component).map_or("", String::as_str);
        let found = hunks(before, text);
        if !found.is_empty() {
            print_line(&safe_line(&format!("{component} (c{parent:02} → c{candidate:02})")));
            found.iter().for_each(print_hunk);
        }
    }
    for (case, result) in &one.results {
        let session = progress.tries.get(&(candidate, case.clone())).and_then(|one| one.session.as_deref());
        let word = if result.passed { "pass" } else { "fail" };
        print_line(&safe_line(&format!("  {word}  {:.2}  {case}  {}", result.score, session.unwrap_or_default())));
    }
}

/// Prints a hunk of an agent file.
pub(super) fn print_hunk(hunk: &Hunk) {
    print_line(&format!("@@ line {}", hunk.line));
    hunk.lines.iter().for_each(|line| print_line(&safe(line)));
}

fn apply(dir: &Path, candidate: Option<&str>, yes: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let progress = workbench.read_optimization(dir).map_err(refused)?;
    let candidate = candidate.map_or_else(|| Ok(progress.search.best()), |name| number(&progress, name))?;
    let name = &progress.start.agent;
    let old = text_of(name)?;
    let new = progress.agent_file(workbench, candidate, &old).map_err(refused)?;
    let found = hunks(&old, &new);
    if found.is_empty() {
        print_line(&safe_line(&format!("c{candidate:02} changes nothing in {name}")));
        return Ok(exit::OK);
    }
    let asks = !yes && std::io::stdin().is_terminal();
    let mut accepted = Vec::with_capacity(found.len());
    for hunk in &found {
        print_hunk(hunk);
        accepted.push(yes || (asks && confirm("Write this hunk?") == Some(true)));
    }
    if !accepted.contains(&true) {
        print_note(if asks { "nothing was written" } else { "nothing was written; --yes writes all hunks" });
        return Ok(if asks { exit::OK } else { exit::FAILED });
    }
    let text = applied(&old, &new, &accepted);
    crate::agent::Agent::from_toml_with(&text, name, workbench.file_access()).map_err(|error| {
        UsageError(format!("the file with these hunks cannot be read, and was not written: {error}"))
    })?;
    write_whole(Path::new(name), text.as_bytes())
        .map_err(|error| super::output::unwritable(Path::new(name), &error))?;
    let taken = accepted.iter().filter(|one| **one).count() as u64;
    print_line(&safe_line(&format!("wrote {} of c{candidate:02} into {name}", plural(taken, "hunk"))));
    Ok(exit::OK)
}

/// A search as JSON.
#[skip_serializing_none]
#[derive(Serialize)]
struct SearchJson<'p> {
    agent: &'p str,
    mode: &'p str,
    model: &'p str,
    reflect_model: &'p str,
    ending: Option<Ending>,
    best: usize,
    calls: u64,
    cost: f64,
    refused: u32,
    validation: Option<Gain>,
    held_out: Option<Gain>,
    candidates: Vec<CandidateJson<'p>>,
}

/// A candidate as JSON.
#[skip_serializing_none]
#[derive(Serialize)]
struct CandidateJson<'p> {
    number: usize,
    parents: &'p [usize],
    changed: Option<String>,
    text: Option<&'p str>,
    reason: &'p str,
    standing: Standing,
    score: Option<f64>,
    won: u32,
    lost: u32,
}

impl<'p> SearchJson<'p> {
    fn of(progress: &'p Progress) -> Self {
        let (search, start) = (&progress.search, &progress.start);
        let (calls, cost) = search.spent();
        let best = search.best();
        let one = |(number, one): (usize, &'p crate::workbench::optimize::Candidate)| {
            let (won, lost) = search.won_and_lost(number, 0, &start.validation);
            CandidateJson {
                number,
                parents: &one.parents,
                changed: one.changed.as_ref().map(ToString::to_string),
                text: one.changed.as_ref().and_then(|component| one.texts.get(component)).map(String::as_str),
                reason: &one.reason,
                standing: one.standing,
                score: search.mean(number, &start.validation),
                won,
                lost,
            }
        };
        Self {
            agent: &start.agent,
            mode: &start.mode,
            model: &start.model,
            reflect_model: &start.reflect_model,
            ending: progress.ending,
            best,
            calls,
            cost,
            refused: search.refused(),
            validation: progress.gain(best, &start.validation),
            held_out: progress.gain(best, &start.held_out),
            candidates: search.candidates().iter().enumerate().map(one).collect(),
        }
    }
}
