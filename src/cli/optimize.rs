//! `optimize`: a search for better texts of an agent, its candidates as a tree, and what of one is written into the agent file.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::arguments::{OptimizeAction, OptimizeFlags};
use super::keyboard::confirm;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line};
use super::run::{stop_on_signal, stopped_code};
use super::{agent_source, source};
use crate::port::{EndSignals, Stop};
use crate::workbench::Workbench;
use crate::workbench::format::{Marks, plural};
use crate::workbench::optimize::{
    Action, AgentChanges, CandidateCase, CandidateDetail, CandidateLine, CandidateStatus, Component, Ending, Gain,
    Hunk, OptimizeError, OptimizeJob, Progress, SearchOutline, Settings, candidate_file,
};

pub(super) async fn optimize(flags: &OptimizeFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    match (&flags.action, &flags.agent) {
        (Some(OptimizeAction::Show { screen: true, .. }), _) => {
            Err(UsageError("--screen needs a terminal and no --plain; omit --screen, or use --json".to_owned()))
        }
        (Some(OptimizeAction::Show { dir, candidate, json, .. }), _) => {
            show(dir, candidate.as_deref(), *json, Marks::of(plain), workbench)
        }
        (Some(OptimizeAction::Apply { dir, candidate, yes, hunks }), _) => {
            let choice = if *yes { Choice::All } else { Choice::of(hunks) };
            apply(dir, candidate.as_deref(), &choice, workbench)
        }
        (None, Some(agent)) => search(agent, flags, plain, &flags.cache.apply(workbench)?).await,
        (None, None) => Err(UsageError("name an agent file".to_owned())),
    }
}

/// A search that is shown in the workbench.
pub struct ShownSearch {
    /// Its folder.
    pub dir: PathBuf,
    /// Its agent file, for the editors; `None` where it is not there.
    pub agent: Option<String>,
}

/// The search that `optimize show --screen` names; `None` for everything else. Errors: it cannot be read.
pub fn shown_search(flags: &OptimizeFlags, workbench: &Workbench) -> Result<Option<ShownSearch>, UsageError> {
    let Some(OptimizeAction::Show { dir, screen: true, .. }) = &flags.action else { return Ok(None) };
    let start = workbench.read_optimization(dir).map_err(refused)?.start;
    let agent = std::iter::once(start.agent).chain(start.file).find(|path| Path::new(path).is_file());
    Ok(Some(ShownSearch { dir: dir.clone(), agent }))
}

pub(super) fn refused(error: OptimizeError) -> UsageError {
    UsageError(error.0)
}

async fn search(name: &str, flags: &OptimizeFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
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
    let (signals, stop) = (EndSignals::catch(), Stop::default());
    let signals = tokio::spawn(stop_on_signal(signals, stop.clone()));
    let mut watch = |action: &Action, progress: &Progress| print_note(&safe_line(&step_line(action, progress)));
    let done = workbench.optimize(&job, &stop, &mut watch).await;
    signals.abort();
    let progress = done.map_err(refused)?;
    if flags.json {
        print_json(&SearchJson::of(&progress, &SearchOutline::of(&progress)));
    } else {
        print_tree(&progress, &dir, Marks::of(plain));
    }
    if progress.ending.is_some() {
        return Ok(exit::OK);
    }
    print_note("not finished: the same command continues the search");
    Ok(if stop.reason().is_some() { stopped_code(&stop) } else { exit::FAILED })
}

/// Returns the line that reports the result of an action; empty for the end of the search.
fn step_line(action: &Action, progress: &Progress) -> String {
    match action {
        Action::Try { candidate, cases } => {
            let results = &progress.search.candidates()[*candidate].results;
            let passed = cases.iter().filter(|case| results.get(*case).is_some_and(|one| one.passed)).count();
            let mean = progress.search.mean(*candidate, cases).unwrap_or_default();
            format!("c{candidate:02}  {passed} of {} passed, mean score {mean:.2}", plural(cases.len() as u64, "case"))
        }
        Action::Propose { parent, component, .. } => {
            let (search, last) = (&progress.search, progress.proposals.last());
            let in_a_row = search.refused_in_a_row(component);
            let (word, why) = match last {
                Some(one) if one.text.is_none() => ("no other", one.reason.as_str()),
                Some(_) if in_a_row > 0 => ("no other", "the proposed text is a duplicate"),
                last => ("another", last.map_or("", |one| one.reason.as_str())),
            };
            let given_up = if search.is_given_up(component) {
                format!(
                    "; {in_a_row} consecutive proposals gave no new text: this text is skipped until a candidate is accepted"
                )
            } else {
                String::new()
            };
            format!("c{parent:02}  {word} {component}: {why}{given_up}")
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

fn show(
    dir: &Path,
    candidate: Option<&str>,
    json: bool,
    marks: &Marks,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    let progress = workbench.read_optimization(dir).map_err(refused)?;
    match candidate {
        _ if json => print_json(&SearchJson::of(&progress, &SearchOutline::of(&progress))),
        Some(name) => print_candidate(&progress, number(&progress, name)?, marks),
        None => print_tree(&progress, dir, marks),
    }
    Ok(exit::OK)
}

/// The candidate of a name such as `c03`.
fn number(progress: &Progress, name: &str) -> Result<usize, UsageError> {
    let count = progress.search.candidates().len();
    let number = name.strip_prefix('c').unwrap_or(name).parse().ok().filter(|number| *number < count);
    number.ok_or_else(|| UsageError(format!("unknown candidate `{name}`; candidates are c00 to c{:02}", count - 1)))
}

/// Prints the candidates below their first parent, with their changes, score, cost and the cases that they won and lost against
/// their parents.
fn print_tree(progress: &Progress, dir: &Path, marks: &Marks) {
    let outline = SearchOutline::of(progress);
    let proposals = format!("proposals by {}", outline.reflect_model);
    print_line(&safe_line(&[&*outline.agent, &outline.mode, &outline.model, &proposals].join(marks.dot)));
    let [training, validation, held_out] = outline.cases;
    print_line(&format!("{} training, {validation} validation, {held_out} held out", plural(training as u64, "case")));
    outline.lines.iter().for_each(|line| print_line(&safe_line(&candidate_line(line))));
    print_line(&format!(
        "{} to models, cost {:.4}, {} refused",
        plural(outline.calls, "request"),
        outline.cost,
        plural(u64::from(outline.refused), "proposal")
    ));
    if !outline.given_up.is_empty() {
        let names: Vec<String> = outline.given_up.iter().map(ToString::to_string).collect();
        print_line(&safe_line(&format!("no new proposals for {}", names.join(", "))));
    }
    let best = outline.best;
    if best == 0 {
        print_line("no candidate is better than the original agent");
    } else {
        for (name, gain) in [("validation", &outline.validation), ("held-out", &outline.held_out)] {
            if let Some(gain) = gain {
                print_line(&format!("c{best:02} against c00, {name}: {}", gain_text(gain, marks)));
            }
        }
        print_line(&safe_line(&format!(
            "`ptc-workbench optimize apply {}` writes c{best:02} into {} ({})",
            dir.display(),
            outline.agent,
            candidate_file(dir, best).display()
        )));
    }
    if let Some(ending) = progress.ending {
        print_line(match ending {
            Ending::Solved => "ended: every validation case passes",
            Ending::Candidates => "ended: --max-candidates is reached",
            Ending::Budget => "ended: the budget is exhausted",
            Ending::Idle => "ended: many rounds without a better candidate",
            Ending::Exhausted => "ended: several consecutive proposals for each text gave no new text",
        });
    }
}

fn gain_text(gain: &Gain, marks: &Marks) -> String {
    let Gain { cases, before, after, won, lost, probability } = gain;
    let chance = if *probability < 0.001 { "p < 0.001".to_owned() } else { format!("p = {probability:.3}") };
    let (to, cases) = (marks.to, plural(*cases as u64, "case"));
    format!("{before:.2} {to} {after:.2} ({cases}: {won} won, {lost} lost, {chance})")
}

fn candidate_line(line: &CandidateLine) -> String {
    let standing = match (line.status, line.score) {
        (CandidateStatus::Accepted, Some(mean)) => format!("{mean:.2}"),
        (CandidateStatus::Accepted, None) => "accepted".to_owned(),
        (CandidateStatus::Rejected, _) => "rejected".to_owned(),
        (CandidateStatus::Trying, _) => "not finished".to_owned(),
    };
    let against = against_parents(line);
    let reason = if line.reason.is_empty() { String::new() } else { format!("  {}", line.reason) };
    let (indent, number, changed, cost) = (line.depth * 2, line.number, line.change(), line.cost);
    format!("{:indent$}c{number:02}  {changed}  {standing}{against}  cost {cost:.4}{reason}", "")
}

/// The cases that a candidate won and lost against its parent; of a merge against each of both.
fn against_parents(line: &CandidateLine) -> String {
    let one = |(parent, (won, lost)): (&usize, &(u32, u32))| match line.parents.len() {
        1 => format!("  won {won}, lost {lost}"),
        _ => format!("  against c{parent:02}: won {won}, lost {lost}"),
    };
    line.parents.iter().zip(&line.against_parents).map(one).collect()
}

/// Prints the changes of a candidate to each of its parents, and its cases with their sessions.
fn print_candidate(progress: &Progress, candidate: usize, marks: &Marks) {
    let parents = progress.search.candidates()[candidate].parents.len().max(1);
    let details: Vec<CandidateDetail> =
        (0..parents).filter_map(|place| CandidateDetail::of(progress, candidate, place)).collect();
    let Some(detail) = details.first() else { return };
    if !detail.reason.is_empty() {
        print_line(&safe_line(&detail.reason));
    }
    for detail in &details {
        let Some(parent) = detail.against else { continue };
        if parents > 1 {
            let (won, lost) = detail.won_and_lost();
            print_line(&format!("against c{parent:02}: won {won}, lost {lost}"));
        }
        for (component, hunks) in &detail.changes {
            print_line(&safe_line(&format!("{component} (c{parent:02} {} c{candidate:02})", marks.to)));
            hunks.iter().for_each(print_hunk);
        }
    }
    if let [one, other] = details.iter().filter_map(|detail| detail.against).collect::<Vec<_>>().as_slice() {
        print_line(&format!("cases, against c{one:02} and against c{other:02}:"));
    }
    let mut cases: Vec<&CandidateCase> = detail.cases.iter().collect();
    if parents > 1 {
        cases.sort_by(|one, other| one.name.cmp(&other.name));
    }
    for case in cases {
        let same = details.iter().filter_map(|detail| detail.cases.iter().find(|one| one.name == case.name));
        let words: Vec<&str> = same.map(word).collect();
        let session = case.session.as_deref().unwrap_or_default();
        print_line(&safe_line(&format!("  {}  {:.2}  {}  {session}", words.join("  "), case.score, case.name)));
    }
}

/// Returns the result of a case against a parent, four characters wide.
fn word(case: &CandidateCase) -> &'static str {
    match case {
        _ if case.is_won() => "won ",
        _ if case.is_lost() => "lost",
        _ if case.passed => "pass",
        _ => "fail",
    }
}

/// Prints a hunk of an agent file.
pub(super) fn print_hunk(hunk: &Hunk) {
    print_line(&format!("@@ line {}", hunk.line));
    hunk.lines.iter().for_each(|line| print_line(&safe(line)));
}

/// Choice of the hunks to write.
enum Choice {
    /// Those that the user confirms, on a terminal.
    Asked,
    All,
    /// Those of these numbers, from 1.
    Numbers(Vec<usize>),
}

impl Choice {
    fn of(numbers: &[usize]) -> Self {
        if numbers.is_empty() { Self::Asked } else { Self::Numbers(numbers.to_vec()) }
    }
}

fn apply(dir: &Path, candidate: Option<&str>, choice: &Choice, workbench: &Workbench) -> Result<u8, UsageError> {
    let progress = workbench.read_optimization(dir).map_err(refused)?;
    let candidate = candidate.map_or_else(|| Ok(progress.search.best()), |name| number(&progress, name))?;
    let changes = progress.changes(workbench, candidate).map_err(refused)?;
    let name = changes.path.display();
    if changes.hunks.is_empty() {
        print_line(&safe_line(&format!("c{candidate:02} changes nothing in {name}")));
        return Ok(exit::OK);
    }
    let accepted = accepted(&changes, choice)?;
    if !accepted.contains(&true) {
        let is_asked = std::io::stdin().is_terminal();
        let hint = "nothing was written; --yes writes all hunks, --hunks 1,3 writes hunks 1 and 3";
        print_note(if is_asked { "nothing was written" } else { hint });
        return Ok(if is_asked { exit::OK } else { exit::FAILED });
    }
    let written = changes.write(workbench, &accepted).map_err(refused)?;
    print_line(&safe_line(&format!("wrote {} of c{candidate:02} into {name}", plural(written, "hunk"))));
    Ok(exit::OK)
}

/// Prints the hunks, and returns which of them are accepted. Errors: a number has no hunk.
fn accepted(changes: &AgentChanges, choice: &Choice) -> Result<Vec<bool>, UsageError> {
    let count = changes.hunks.len();
    if let Choice::Numbers(numbers) = choice
        && let Some(unknown) = numbers.iter().find(|number| !(1..=count).contains(number))
    {
        let known = if count == 1 { "the only hunk is 1".to_owned() } else { format!("hunks are 1 to {count}") };
        return Err(UsageError(format!("--hunks {unknown}: unknown hunk; {known}")));
    }
    let asks = std::io::stdin().is_terminal();
    let one = |(place, hunk): (usize, &Hunk)| {
        print_line(&format!("hunk {} of {count}", place + 1));
        print_hunk(hunk);
        match choice {
            Choice::All => true,
            Choice::Numbers(numbers) => numbers.contains(&(place + 1)),
            Choice::Asked => asks && confirm("Write this hunk?") == Some(true),
        }
    };
    Ok(changes.hunks.iter().enumerate().map(one).collect())
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
    given_up: Vec<String>,
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
    standing: CandidateStatus,
    score: Option<f64>,
    held_out: Option<f64>,
    cost: f64,
    tries: usize,
    against_parents: Vec<AgainstJson>,
}

/// Cases that a candidate won and lost against a parent.
#[derive(Serialize)]
struct AgainstJson {
    parent: usize,
    won: u32,
    lost: u32,
}

impl<'p> SearchJson<'p> {
    fn of(progress: &'p Progress, outline: &'p SearchOutline) -> Self {
        let candidates = progress.search.candidates();
        let one = |line: &'p CandidateLine| {
            let texts = &candidates[line.number].texts;
            let against = line.parents.iter().zip(&line.against_parents);
            let against = against.map(|(parent, (won, lost))| AgainstJson { parent: *parent, won: *won, lost: *lost });
            CandidateJson {
                number: line.number,
                parents: &line.parents,
                changed: line.changed.as_ref().map(ToString::to_string),
                text: line.changed.as_ref().and_then(|component| texts.get(component)).map(String::as_str),
                reason: &line.reason,
                standing: line.status,
                score: line.score,
                held_out: line.held_out,
                cost: line.cost,
                tries: line.tries,
                against_parents: against.collect(),
            }
        };
        let mut candidates: Vec<CandidateJson<'p>> = outline.lines.iter().map(one).collect();
        candidates.sort_by_key(|one| one.number);
        Self {
            agent: &outline.agent,
            mode: &outline.mode,
            model: &outline.model,
            reflect_model: &outline.reflect_model,
            ending: outline.ending,
            best: outline.best,
            calls: outline.calls,
            cost: outline.cost,
            refused: outline.refused,
            given_up: outline.given_up.iter().map(Component::to_string).collect(),
            validation: progress.gain(outline.best, &progress.start.validation),
            held_out: progress.gain(outline.best, &progress.start.held_out),
            candidates,
        }
    }
}
