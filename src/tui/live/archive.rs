//! Searching, marks, forks, re-runs, cases and exports of saved sessions: the workbench behind the interface's door.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_core::reasons::Reason;
use ptc_core::value::{Json, json};

use super::{Live, files, run, steps, unreadable};
use crate::agent::{Agent, DraftTexts, Mode};
use crate::event::{Address, Edit, Editor, Envelope, ErrorRecord};
use crate::export::{Format, Piece, Removal, asciicast};
use crate::session::index::{Query, Reading};
use crate::session::{ParentKind, Session};
use crate::tui::archive::{
    Archive, CaseWanted, ExportRefusal, Exporting, Failing, Forking, Hit, Matched, Place, Points, QueryProblem,
    Removals, Rerunning, Source, Spot, Standing, Taken, TurnPoints,
};
use crate::tui::backend::{AgentFile, Run, SessionKey, Written};
use crate::tui::screenshot::session_screenshot;
use crate::workbench::format::{plural, size};
use crate::workbench::{
    CaseSpec, Changed, Desk, ForkSpec, MarkPlace, Missing, Prepared, RerunSpec, Running, Secrets, StartError,
    write_export,
};

/// Larger sessions are not held in memory to be played.
const PLAYED_BYTES: u64 = 256 << 20;
/// Columns and rows of pictures.
const PICTURE: (u16, u16) = (120, 40);
/// Lines of a preview.
const SHOWN: usize = 500;

impl Live {
    fn session(&self, key: &SessionKey) -> Result<Session, ErrorRecord> {
        self.workbench.open_found(key).map_err(|error| unreadable(error.to_string()))
    }
}

impl Live {
    /// An agent or pipeline file, or an example.
    fn named(&self, name: &str) -> Result<Taken, ErrorRecord> {
        let unreadable = |message: String| spoken(Reason::InvalidAgent, message);
        let path = files::place(Path::new(name), self.home.clone());
        Ok(match crate::workbench::Source::find(name, &path).map_err(unreadable)? {
            crate::workbench::Source::Agent(agent) => {
                // An example has no file.
                let file = files::stamp(&path).map(|file| AgentFile { path: name.into(), ..file });
                Taken { texts: DraftTexts::of(&agent), file, pipeline: None }
            }
            crate::workbench::Source::Pipeline(pipeline) => {
                let texts = DraftTexts::of(pipeline.steps.first().unwrap_or(&Agent::default()));
                Taken { texts, file: None, pipeline: Some(steps::outline(&self.workbench, pipeline)) }
            }
        })
    }
}

/// Waits for a future on a blocking thread that has entered a runtime.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Handle::current().block_on(future)
}

#[expect(clippy::needless_pass_by_value, reason = "errors go through map_err")]
fn refused(error: StartError) -> ErrorRecord {
    spoken(error.reason(), error.to_string())
}

/// An error whose message says what to do next by itself.
fn spoken(reason: Reason, message: String) -> ErrorRecord {
    ErrorRecord { hint: None, ..ErrorRecord::new(reason, message) }
}

fn begun(running: Result<Running, StartError>, desk: Arc<Desk>) -> Result<Arc<dyn Run>, ErrorRecord> {
    Ok(Arc::new(run::LiveRun::new(running.map_err(refused)?, desk)))
}

impl Archive for Live {
    fn search(&self, query: &str) -> Result<Vec<Hit>, QueryProblem> {
        let query = self.workbench.query(query, Reading::Plain).map_err(|error| {
            // What is nearest comes first: a narrow screen shows only the beginning.
            let near = error.near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            QueryProblem { span: Some(error.span.0..error.span.1), message: format!("{near}{}", error.message) }
        })?;
        let report = self.workbench.search(&query);
        let report = report.map_err(|error| QueryProblem { span: None, message: error.to_string() })?;
        report.notices.iter().for_each(|notice| tracing::warn!(notice, "a search"));
        let hit = |found: crate::session::index::Found| Hit {
            key: super::sessions::summary(found.summary).key(),
            count: found.count,
            matches: found
                .matches
                .into_iter()
                .map(|one| Matched {
                    at: one.at,
                    field: one.field.name(),
                    excerpt: one.excerpt,
                    highlight: one.highlight.0..one.highlight.1,
                })
                .collect(),
        };
        Ok(report.found.into_iter().map(hit).collect())
    }

    fn failures(&self, query: &str) -> Result<Vec<Failing>, ErrorRecord> {
        let failed = |message: String| spoken(Reason::SessionUnreadable, message);
        let query = match query.trim() {
            "" => Query::default(),
            text => self.workbench.query(text, Reading::Plain).map_err(|error| failed(error.to_string()))?,
        };
        let report = self.workbench.failures(&query).map_err(|error| failed(error.to_string()))?;
        report.notices.iter().for_each(|notice| tracing::warn!(notice, "a search for failures"));
        let line = |group: crate::workbench::FailureGroup| {
            let of = if group.path.is_empty() { String::new() } else { format!(" of {}", group.path) };
            let (times, sessions) = (plural(group.count as u64, "time"), plural(group.sessions as u64, "session"));
            Failing {
                title: format!("{}{of} · {times} in {sessions}", group.reason),
                key: super::sessions::summary(group.newest).key(),
                at: group.at,
            }
        };
        Ok(report.groups.into_iter().map(line).collect())
    }

    fn write(&self, place: &Place, written: &Written) -> Result<(), ErrorRecord> {
        let failed = |error: crate::workbench::OpenError| ErrorRecord::new(Reason::WriteFailed, error.to_string());
        let dir = self.workbench.folders.sessions_dir.clone();
        let place = MarkPlace { session: place.session.clone(), at: place.at.clone(), dir };
        let now = self.workbench.mark_of(&place).map_err(failed)?;
        let add: Vec<String> = written.tags.iter().filter(|tag| !now.tags.contains(*tag)).cloned().collect();
        let del: Vec<String> = now.tags.iter().filter(|tag| !written.tags.contains(tag)).cloned().collect();
        if !(add.is_empty() && del.is_empty()) {
            self.workbench.tag(&place, &add, &del).map_err(failed)?;
        }
        if now.note.unwrap_or_default() != written.note {
            self.workbench.note(&place, &written.note).map_err(failed)?;
        }
        if now.marked != written.marked {
            self.workbench.mark(&place, written.marked).map_err(failed)?;
        }
        Ok(())
    }

    fn points(&self, key: &SessionKey) -> Result<Points, ErrorRecord> {
        let session = self.session(key)?;
        let turns = self.workbench.fork_points(&session).map_err(refused)?;
        let summary = crate::session::summarize(&session);
        Ok(Points {
            session: summary.id,
            agent: summary.agent,
            model: summary.models.last().cloned().unwrap_or_default(),
            mode: summary.mode,
            runs: session.skeleton().roots().map(|run| run.address.clone()).collect(),
            turns: turns
                .into_iter()
                .map(|turn| TurnPoints {
                    address: turn.address,
                    stages: turn.stages.into_iter().map(crate::replay::Stage::name).collect(),
                    calls: turn.calls,
                    program: turn.program,
                    defined: turn.defined,
                })
                .collect(),
        })
    }

    fn text_at(&self, spot: &Spot) -> Result<Standing, ErrorRecord> {
        self.workbench.stands_at(&self.session(&spot.key)?, &spot.at, &spot.target).map_err(refused)
    }

    fn fork(&self, key: &SessionKey, fork: &Forking) -> Result<Arc<dyn Run>, ErrorRecord> {
        let session = self.session(key)?;
        let desk = Arc::new(Desk::behind(self.intercept.clone()));
        let changes = fork.change.iter().map(|(target, text)| changed(target, text)).collect::<Result<_, _>>()?;
        let spec = ForkSpec {
            at: fork.at.clone(),
            changes,
            model: fork.model.clone(),
            by: Editor::User,
            kind: ParentKind::Fork,
            person: desk.clone(),
        };
        begun(wait(self.workbench.fork(&session, spec)), desk)
    }

    fn rerun(&self, key: &SessionKey, rerun: &Rerunning) -> Result<Arc<dyn Run>, ErrorRecord> {
        let session = self.session(key)?;
        let desk = Arc::new(Desk::behind(self.intercept.clone()));
        let spec = RerunSpec {
            from: Some(rerun.from.clone()).filter(|from| !from.is_empty()),
            model: rerun.model.clone(),
            mode: rerun.mode.as_deref().and_then(Mode::from_name),
            agent: None,
            person: desk.clone(),
        };
        begun(wait(self.workbench.rerun(&session, spec)), desk)
    }

    fn proceed(&self, key: &SessionKey, message: &str, model: Option<&str>) -> Result<Arc<dyn Run>, ErrorRecord> {
        let session = self.session(key)?;
        let desk = Arc::new(Desk::behind(self.intercept.clone()));
        begun(wait(self.workbench.proceed(&session, message, model, desk.clone())), desk)
    }

    fn accept(&self, key: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord> {
        let session = self.session(key)?;
        let desk = Arc::new(Desk::default());
        begun(self.workbench.accept(&session, &Missing::Fail, desk.clone()), desk)
    }

    fn make_case(&self, key: &SessionKey, case: &CaseWanted) -> Result<String, ErrorRecord> {
        let session = self.session(key)?;
        let file = files::place(Path::new(&case.file), self.home.clone());
        let spec = CaseSpec { run: None, name: Some(case.name.clone()), file: Some(file), cassette: case.cassette };
        let made = self.workbench.make_case(&session, &spec);
        let made = made.map_err(|error| spoken(Reason::WriteFailed, error.to_string()))?;
        let new = if made.is_new_file { "the new file " } else { "" };
        let cassette = made.cassette.map(|path| format!(", cassette {}", path.display())).unwrap_or_default();
        Ok(format!("case `{}` is in {new}{}{cassette}", made.name, made.file.display()))
    }

    fn example(&self, key: &SessionKey, turn: &Address, prompt: &str) -> Result<String, ErrorRecord> {
        let example = self.workbench.example_of(&self.session(key)?, turn, prompt);
        example.map_err(|error| spoken(Reason::SessionUnreadable, error.to_string()))
    }

    fn prepare(&self, key: &SessionKey, rules: &[String]) -> Result<Removals, ErrorRecord> {
        let session = self.session(key)?;
        let prepared = self.workbench.prepare_export(&session, rules);
        let prepared = prepared.map_err(|error| spoken(Reason::WriteFailed, error.to_string()))?;
        Ok(Removals {
            removed: lines(&prepared.removals),
            places: prepared.removals.iter().map(|removal| removal.count).sum(),
            secrets: lines(&prepared.findings),
        })
    }

    fn export(&self, key: &SessionKey, export: &Exporting) -> Result<String, ExportRefusal> {
        let failed = |message: String| ExportRefusal::Failed(message);
        let session = self.session(key).map_err(|error| failed(error.message))?;
        let format = Format::from_name(&export.format).ok_or_else(|| failed("there is no such format".to_owned()))?;
        let prepared = self.workbench.prepare_export(&session, &export.rules).map_err(|e| failed(e.to_string()))?;
        let secrets = if export.allow_secrets { Secrets::Allowed } else { Secrets::Refused };
        let path = files::place(&export.path, self.home.clone());
        if format == Format::Bundle {
            let bundle = async {
                let findings = self.workbench.doctor().await;
                self.workbench.write_bundle(&session, &prepared, secrets, &findings, &path).await
            };
            return wait(bundle).map(|bytes| exported(path, bytes, &prepared)).map_err(|e| failed(e.to_string()));
        }
        let text = match prepared.text(format, secrets).map_err(|error| failed(error.to_string()))? {
            Some(text) => text,
            None if format == Format::Asciicast => {
                let pieces: Vec<Piece> = self.lines.map(|lines| lines(&prepared.content)).unwrap_or_default();
                asciicast(&prepared.content, &pieces, PICTURE)
            }
            None => session_screenshot(&prepared.content.session, &prepared.content.events, PICTURE),
        };
        if path.exists() && !export.replace {
            return Err(ExportRefusal::Exists);
        }
        write_export(&path, &text, &session).map_err(|error| failed(error.to_string()))?;
        Ok(exported(path, text.len() as u64, &prepared))
    }

    fn events(&self, key: &SessionKey) -> Result<Arc<[Envelope]>, ErrorRecord> {
        let session = self.session(key)?;
        let bytes = session.bytes_of(0..session.len());
        if bytes > PLAYED_BYTES {
            return Err(unreadable(format!(
                "the session has {}, and up to {} are played; opened it is read turn by turn",
                size(bytes),
                size(PLAYED_BYTES)
            )));
        }
        Ok(session.events().collect())
    }

    fn take(&self, source: &Source) -> Result<Taken, ErrorRecord> {
        match source {
            Source::Session(key) => {
                let agent = self.workbench.agent_of(&self.session(key)?).map_err(refused)?;
                Ok(Taken { texts: DraftTexts::of(&agent), file: None, pipeline: None })
            }
            Source::Named(name) => self.named(name),
        }
    }
}

/// Where an export is, and what was left out.
fn exported(path: PathBuf, bytes: u64, prepared: &Prepared) -> String {
    let places: usize = prepared.removals.iter().map(|removal| removal.count).sum();
    let removed = if places == 0 { "nothing".to_owned() } else { plural(places as u64, "place") };
    let whole = std::path::absolute(&path).unwrap_or(path);
    format!("exported {}, {}, {removed} left out", whole.display(), size(bytes))
}

/// What a person wrote for a target, as the value that goes there.
fn changed(target: &str, text: &str) -> Result<Changed, ErrorRecord> {
    let after = match target {
        "context" | Edit::RESULT => json::parse(text).map_err(|error| {
            let place = error.line_col(text);
            ErrorRecord::new(Reason::InvalidContext, format!("this is not JSON: {place}: {}", error.message))
        })?,
        _ => Json::str(text),
    };
    if target == "context" && after.members().is_none() {
        return Err(ErrorRecord::new(Reason::InvalidContext, "the context must be an object: {\"name\": value}"));
    }
    Ok(Changed::new(target, after))
}

/// Removals as lines to read, within bounds.
fn lines(removals: &[Removal]) -> Vec<String> {
    let mut lines: Vec<String> = removals.iter().take(SHOWN).map(ToString::to_string).collect();
    if removals.len() > SHOWN {
        lines.push(format!("… and {} more", removals.len() - SHOWN));
    }
    lines
}
