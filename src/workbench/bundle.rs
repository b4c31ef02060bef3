//! Bundles for bug reports: a session that replays elsewhere, its agent, findings about the machine, and a page that explains them.
//!
//! In: a session prepared for export. Out: a folder that appears whole or not at all. It never contains raw network frames: nothing in them
//! can be looked at. It must never change the session.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Workbench;
use super::doctor::{Finding, FindingsJson};
use super::export::{ExportError, PreparedExport, Secrets};
use super::format::plural;
use crate::event::{Envelope, Event, JsonText};
use crate::export::{Removal, printable};
use crate::replay::{Recording, ReplayOutcome, Report, adopt, regenerate};
use crate::session::{FILES, Header, Session, SessionId, copy_files, shell_word, write_session};

const AGENT: &str = "agent.toml";
const DOCTOR: &str = "doctor.json";
const README: &str = "README.md";

impl Workbench {
    /// Writes a bundle: the session, its agent with the inputs of its first run, findings about the machine, and a page that explains how
    /// to look at them. Returns its size in bytes.
    ///
    /// Errors: something looks like a secret, unless that is allowed; the id of the session is not a file name; the folder is there already
    /// or cannot be written.
    pub async fn write_bundle(
        &self,
        session: &Session,
        prepared: &PreparedExport,
        secrets: Secrets,
        findings: &[Finding],
        folder: &Path,
    ) -> Result<u64, ExportError> {
        prepared.check(secrets)?;
        let failed = |message: String| ExportError::File { path: folder.to_owned(), message };
        if folder.exists() {
            return Err(failed("already exists; choose another name for the folder".to_owned()));
        }
        if SessionId::from_file_name(&prepared.header.id.file_name()).is_none() {
            return Err(failed("the id of the session is not one of this program".to_owned()));
        }
        let shared = SharedSession::of(session, prepared).await;
        let draft = draft_folder(folder).ok_or_else(|| failed("not a folder name".to_owned()))?;
        let written = self.fill(&draft, &shared, prepared, findings).await;
        // What was removed from the events is not a file of the bundle either.
        let written = written.and_then(|bytes| {
            let copied = copy_files(shared.events.iter().cloned(), &session.path, &draft.join(AGENT))?;
            Ok(bytes + copied)
        });
        let named = written.and_then(|bytes| {
            std::fs::rename(&draft, folder).map_err(|error| format!("cannot be written: {error}"))?;
            Ok(bytes)
        });
        if named.is_err() {
            // Nothing to remove when it could not be made.
            _ = std::fs::remove_dir_all(&draft);
        }
        named.map_err(failed)
    }

    async fn fill(
        &self,
        folder: &Path,
        SharedSession { header, events }: &SharedSession,
        prepared: &PreparedExport,
        findings: &[Finding],
    ) -> Result<u64, String> {
        let path =
            write_session(folder, header, events).map_err(|error| format!("cannot be written: {}", error.error))?;
        let written = Session::open(&path).map_err(|error| error.to_string())?;
        // What is left of a definition may no longer be an agent: then it is as it is in the session.
        let agent = self.agent_of(&written).map_or_else(|_| first_definition(events), |agent| agent.to_toml());
        let report = self.replay(&written).await.map_err(|error| error.to_string())?;
        let page = page(header, &report, &prepared.removals);
        let doctor = printable(&FindingsJson::new(findings)) + "\n";
        for (name, text) in [(AGENT, agent), (DOCTOR, doctor), (README, page)] {
            std::fs::write(folder.join(name), text).map_err(|error| format!("{name} cannot be written: {error}"))?;
        }
        let sizes = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
        Ok(sizes.flatten().filter_map(|entry| entry.metadata().ok()).map(|entry| entry.len()).sum())
    }
}

/// The session in a bundle.
struct SharedSession {
    header: Header,
    events: Vec<Envelope>,
}

impl SharedSession {
    /// The session without raw frames, numbered without gaps. Where something was removed, what is computed from it is computed again, so
    /// that the session replays like any other; where the course of the run depends on removed content, the events stay as they were
    /// recorded, and the header records that.
    async fn of(session: &Session, prepared: &PreparedExport) -> Self {
        let header = prepared.header.clone();
        if prepared.removals.is_empty() {
            return Self { header, events: without_frames(session.events().collect()) };
        }
        let events = without_frames(prepared.content.events.clone());
        if let Some(events) = recomputed(&events).await {
            return Self { header, events };
        }
        let places = prepared.removals.iter().map(|removal| removal.count as u64).sum();
        Self { header: Header { redacted: Some(places), ..header }, events }
    }
}

/// The events with what is computed from removed content computed again; `None` when the run would take another course.
async fn recomputed(events: &[Envelope]) -> Option<Vec<Envelope>> {
    let recording = Arc::new(Recording::of_events(events.to_vec()));
    if recording.runs().iter().any(|run| !recording.is_complete(run)) {
        return None;
    }
    adopt(&recording).await.ok()?;
    regenerate(&recording).await.ok()
}

/// The definition of the first run.
fn first_definition(events: &[Envelope]) -> String {
    let toml = events.iter().find_map(|envelope| match &envelope.event {
        Event::RunStart(start) => Some(start.agent.toml.clone()),
        _ => None,
    });
    toml.unwrap_or_default()
}

fn without_frames(events: Vec<Envelope>) -> Vec<Envelope> {
    let is_raw = |event: &Event| matches!(event, Event::Wire(_) | Event::RawRequest(_) | Event::RawReply(_));
    let kept = events.into_iter().filter(|envelope| !is_raw(&envelope.event));
    let bare = |event: Event| match event {
        Event::Sent(mut sent) => {
            sent.frame = JsonText::default();
            Event::Sent(sent)
        }
        event => event,
    };
    (1..).zip(kept).map(|(seq, envelope)| Envelope { seq, event: bare(envelope.event), ..envelope }).collect()
}

/// Returns the temporary folder that is filled before it is renamed; `None` if the path does not end in a name.
fn draft_folder(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_string_lossy();
    Some(folder.with_file_name(format!(".{name}.{}.new", std::process::id())))
}

/// Returns the text of the README: how to look at the content of the folder, and what was removed from it.
fn page(header: &Header, report: &Report, removals: &[Removal]) -> String {
    let (id, file) = (&header.id, header.id.file_name());
    let replayed = match &report.outcome {
        ReplayOutcome::Identical if report.redacted > 0 => format!(
            "identical, {} derived events compared; {} differ because content was removed",
            report.compared, report.redacted
        ),
        ReplayOutcome::Identical => format!("identical, {} derived events compared", report.compared),
        ReplayOutcome::Unfinished { at } => format!("identical up to {at}, where the recording ends"),
        ReplayOutcome::Diverged(first) => format!("first difference at {}", first.describe_location()),
    };
    let mut by_rule: BTreeMap<&str, usize> = BTreeMap::new();
    for removal in removals {
        *by_rule.entry(&removal.rule).or_default() += removal.count;
    }
    let mut removed = String::new();
    for (rule, count) in &by_rule {
        _ = writeln!(removed, "* {}: {}", rule.replace(['`', '\n'], " "), plural(*count as u64, "place"));
    }
    if by_rule.is_empty() {
        removed.push_str("Nothing but the raw network frames.\n");
    } else {
        let rest = if header.redacted.is_some() {
            "Values computed from these places were left as recorded."
        } else {
            "Values computed from these places were recomputed."
        };
        _ = writeln!(removed, "* the raw network frames\n\n{rest}");
    }
    let file_word = shell_word(&file);
    format!(
        "# Session {id}

Recorded by {program}, bundled for the report of a bug.

| file | what it is |
|---|---|
| `{file}` | the session: everything that happened, an event per line |
| `{AGENT}` | its agent, with the inputs of its first run |
| `{DOCTOR}` | the machine where this was bundled: what `ptc-workbench doctor --json` finds without servers and examples |
| `{FILES}` | the files that were given as inputs, named by their hashes; only where there were any |

## Use

* `ptc-workbench {file_word}` opens it.
* `ptc-workbench replay {file_word} --check` replays it from the recording, without model, network and tools.
* `ptc-workbench run {AGENT} --model NAME` runs the agent again with a model.

Where this was bundled, the replay reported: {replayed}.

## Removed

{removed}",
        program = header.program,
    )
}
