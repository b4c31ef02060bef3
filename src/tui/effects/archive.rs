//! Executes requests about saved sessions: reads and writes files, starts runs.
//!
//! In: an [`ArchiveRequest`] as an effect of `update`. Out: its [`ArchiveResponse`] as a message, or a run instead of the workbench's
//! run. No request ever changes a session's file; one deletes it.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::EffectResult;
use crate::config::read_regular_file;
use crate::event::{Envelope, ErrorRecord};
use crate::export::{Format, asciicast};
use crate::port::Stop;
use crate::session::index::{FoundSession, Query, TermSyntax};
use crate::session::{RunState, Session, Summary, summarize};
use crate::tui::archive::{AgentSource, ArchiveRequest, ArchiveResponse};
use crate::tui::message::{Msg, Slot};
use crate::tui::screenshot::session_screenshot;
use crate::tui::services::{Services, wait};
use crate::workbench::format::size;
use crate::workbench::{
    BackgroundRun, CaseSpec, ExportError, ExportPreview, ExportReport, ExportSpec, FailureGroup, MarkPlace,
    MissingReplySource, QuestionQueue, RunHandle, SearchError, SessionKey, StartError, Workbench, example_sessions,
    write_export,
};

/// Larger sessions are not held in memory to be played.
const PLAYED_BYTES: u64 = 256 << 20;
/// Columns and rows of pictures.
const PICTURE: (u16, u16) = (120, 40);

use ArchiveRequest as Request;
use ArchiveResponse as Response;

/// Executes a request; the stop ends a model that is asked for a suggestion. Reads and writes files: must be called on a blocking thread,
/// inside of the runtime.
pub(super) fn execute(request: Request, services: &Services, stop: &Stop) -> EffectResult {
    let workbench = &services.workbench;
    let session = |key: &SessionKey| workbench.open_found(key).map_err(ErrorRecord::from);
    let response = match request {
        Request::Search(query) => {
            let found = search(workbench, &query);
            Response::Found(query, found)
        }
        Request::Failures(query) => Response::Failures(failures(workbench, &query)),
        Request::Delete(key) => Response::Deleted(workbench.delete_session(&key).map_err(|error| error.0)),
        Request::Mark { session, at, mark } => {
            let place = MarkPlace { session, at, dir: workbench.folders.sessions_dir.clone() };
            let written = workbench.set_mark(&place, &mark);
            Response::Marked(written.map_err(|error| ErrorRecord::new(Reason::WriteFailed, error.0)))
        }
        Request::ForkPoints(key) => {
            let points = session(&key).and_then(|session| Ok(workbench.fork_points(&session)?));
            Response::ForkPoints(key, points)
        }
        Request::CurrentText(target) => {
            let text = session(&target.key)
                .and_then(|session| Ok(workbench.current_text(&session, &target.at, &target.name)?));
            Response::CurrentText(target, text)
        }
        Request::Fork(key, spec) => {
            return start(services, &key, |session, queue| wait(workbench.fork(session, spec, queue)));
        }
        Request::Rerun(key, spec) => {
            return start(services, &key, |session, queue| wait(workbench.rerun(session, spec, queue)));
        }
        Request::Continue(key, message, model) => {
            let model = model.as_deref();
            return start(services, &key, |session, queue| wait(workbench.proceed(session, &message, model, queue)));
        }
        Request::Accept(key) => {
            return start(services, &key, |session, queue| workbench.accept(session, &MissingReplySource::Fail, queue));
        }
        Request::MakeCase(key, spec) => {
            let named = spec.file.as_ref().map(|file| AgentSource::Named(file.display().to_string()));
            let file = spec.file.map(|file| services.files.resolve(&file));
            let spec = CaseSpec { file, ..spec };
            let made = session(&key).and_then(|session| Ok(workbench.make_case(&session, &spec)?));
            Response::CaseMade(made.map(|made| {
                let agent = named.and_then(|named| services.open_agent(&named).ok());
                (made, agent.map(Box::new))
            }))
        }
        Request::Example(key, turn, prompt) => {
            let example = session(&key).and_then(|session| Ok(workbench.example_of(&session, &turn, &prompt)?));
            Response::Example(example)
        }
        Request::PrepareSuggestion(key, turn, file, texts) => {
            let prepared = session(&key)
                .and_then(|session| super::suggest::prepare(workbench, &session, turn, file.as_deref(), &texts));
            Response::SuggestionPrepared(prepared.map(Box::new))
        }
        Request::Suggest(request, number) => {
            let suggested = super::suggest::ask(workbench, &request, stop);
            Response::Suggested(number, suggested.map(|texts| texts.map(Box::new)))
        }
        Request::PreviewExport(key, rules) => {
            let prepared = session(&key).and_then(|session| Ok(workbench.prepare_export(&session, &rules)?));
            Response::ExportPreview(key, rules, prepared.map(ExportPreview::from))
        }
        Request::Export(key, spec) => Response::Exported(export(services, &key, &spec)),
        Request::LookAtModel(name) => {
            let is_usable = workbench.is_usable_model(&name);
            Response::ModelLooked(name, is_usable)
        }
        Request::Events(key) => {
            let events = session(&key).and_then(|session| events(&session));
            Response::Events(key, events)
        }
        Request::OpenAgent(source) => open_agent(services, source),
        Request::ChangedFile(path, choice) => {
            let read = services.open_agent(&AgentSource::Named(path));
            Response::ChangedFile(choice, read.map(Box::new))
        }
        Request::LookAtFile(known) => {
            let changed = services.files.changed(&known);
            Response::FileLooked(known, changed)
        }
        Request::ExampleRun(agent, mode) => Response::ExampleRun(example_run(&agent, &mode)),
        Request::ReadFile(path) => {
            let text = read_regular_file(&services.files.resolve(&path));
            let failed = |error| ErrorRecord::new(Reason::InvalidContext, format!("{}: {error}", path.display()));
            Response::FileRead(text.map_err(failed))
        }
        Request::ListPrompts(query) => Response::PromptsListed(wait(workbench.list_prompts(&query))),
        Request::FillPrompt(request) => Response::PromptFilled(wait(workbench.fill_prompt(&request))),
        Request::AllowFile(source, named, decision) => {
            workbench.file_access().decide(&named, decision);
            open_agent(services, source)
        }
    };
    EffectResult::Msg(Msg::Archive(response))
}

/// Reads an agent, or finds that a file it names needs consent.
fn open_agent(services: &Services, source: AgentSource) -> Response {
    let access = services.workbench.file_access();
    access.take_named();
    let opened = services.open_agent(&source);
    match (opened, access.take_named().into_iter().find(|named| !access.is_allowed(named))) {
        (Err(_), Some(named)) => Response::FileQuestion(source, Box::new(named)),
        (Err(error), None) => {
            let unreadable = match &source {
                AgentSource::Named(name) => services.files.open_unreadable(name),
                AgentSource::Session(_) | AgentSource::Turn(..) | AgentSource::New(_) => None,
            };
            Response::AgentOpened(source, unreadable.map(Box::new).ok_or(error))
        }
        (opened, _) => Response::AgentOpened(source, opened.map(Box::new)),
    }
}

/// Starts a run from a session, instead of the workbench's run.
fn start(
    services: &Services,
    key: &SessionKey,
    begin: impl FnOnce(&Session, Arc<QuestionQueue>) -> Result<BackgroundRun, StartError>,
) -> EffectResult {
    let queue = services.queue();
    let session = services.workbench.open_found(key).map_err(ErrorRecord::from);
    let started = session.and_then(|session| Ok(begin(&session, queue.clone())?));
    EffectResult::started(Slot::Workbench, started.map(|run| RunHandle::of_run(run, queue)), |result| {
        Msg::Archive(Response::Started(result))
    })
}

fn search(workbench: &Workbench, query: &str) -> Result<Vec<FoundSession>, SearchError> {
    let report = workbench.search(&workbench.query(query, TermSyntax::Plain)?)?;
    report.notices.iter().for_each(|notice| tracing::warn!(notice, "a search"));
    Ok(report.found)
}

fn failures(workbench: &Workbench, query: &str) -> Result<Vec<FailureGroup>, ErrorRecord> {
    let query = match query.trim() {
        "" => Query::default(),
        text => workbench
            .query(text, TermSyntax::Plain)
            .map_err(|error| ErrorRecord::new(Reason::SessionUnreadable, error.to_string()))?,
    };
    let report = workbench.failures(&query)?;
    report.notices.iter().for_each(|notice| tracing::warn!(notice, "a search for failures"));
    Ok(report.groups)
}

fn export(services: &Services, key: &SessionKey, spec: &ExportSpec) -> Result<ExportReport, ExportError> {
    let workbench = &services.workbench;
    let path = services.files.resolve(&spec.path);
    let unreadable = |message: String| ExportError::File { path: path.clone(), message };
    let session = workbench.open_found(key).map_err(|error| unreadable(error.0))?;
    let prepared = workbench.prepare_export(&session, &spec.rules)?;
    let bytes = if spec.format == Format::Bundle {
        let findings = workbench.local_findings(None);
        wait(workbench.write_bundle(&session, &prepared, spec.secrets, &findings, &path))?
    } else {
        let content = &prepared.content;
        let text = match prepared.text(spec.format, spec.secrets)? {
            Some(text) => text,
            None if spec.format == Format::Asciicast => {
                let lines = services.terminal_lines.map(|lines| lines(content)).unwrap_or_default();
                asciicast(content, &lines, PICTURE)
            }
            None => session_screenshot(&content.session, &content.events, PICTURE),
        };
        if path.exists() && !spec.replace {
            return Err(ExportError::Exists(path));
        }
        write_export(&path, &text, &session)?;
        text.len() as u64
    };
    let places = prepared.removals.iter().map(|removal| removal.count).sum();
    Ok(ExportReport { path: std::path::absolute(&path).unwrap_or(path), bytes, places })
}

fn events(session: &Session) -> Result<Arc<[Envelope]>, ErrorRecord> {
    let bytes = session.bytes_of(0..session.len());
    if bytes > PLAYED_BYTES {
        let message = format!(
            "the session has {}; at most {} can be played. Open it to read it turn by turn",
            size(bytes),
            size(PLAYED_BYTES)
        );
        return Err(ErrorRecord::new(Reason::SessionUnreadable, message));
    }
    Ok(session.events().collect())
}

/// The example session of this agent in this mode, the newest of those that the model `demo` answered: its id and its events.
fn example_run(agent: &str, mode: &str) -> Option<(String, Arc<[Envelope]>)> {
    let sessions = example_sessions();
    let found = sessions.iter().rev().map(|session| (summarize(session), session));
    let fits =
        |summary: &Summary| summary.agent == agent && summary.mode == mode && summary.state == RunState::Returned;
    let mut fitting: Vec<(Summary, &Session)> = found.filter(|(summary, _)| fits(summary)).collect();
    fitting.sort_by_key(|(summary, _)| summary.models != ["demo"]);
    let (summary, session) = fitting.into_iter().next()?;
    Some((summary.id, events(session).ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::agent::BundledExample;
    use crate::config::{Config, Folders};
    use crate::replay::Stage;
    use crate::session::Mark;
    use crate::tui::archive::EditTarget;
    use crate::workbench::{Secrets, example_sessions};

    /// Services over an empty folder, and the id of an example session.
    fn services(dir: &Path) -> (Services, String) {
        let workbench = Workbench::new(Config::built_in().unwrap(), Folders::at(dir.to_owned(), dir, None));
        let agent = BundledExample::find("sentiment").unwrap().agent().unwrap();
        (Services::new(workbench, &agent, None), example_sessions()[0].header.id.to_string())
    }

    fn execute(services: &Services, request: Request) -> Response {
        let EffectResult::Msg(Msg::Archive(response)) = super::execute(request, services, &Stop::default()) else {
            panic!("a run started")
        };
        response
    }

    fn found(services: &Services, query: &str) -> Result<Vec<SessionKey>, SearchError> {
        let Response::Found(_, found) = execute(services, Request::Search(query.to_owned())) else { panic!("{query}") };
        found.map(|all| all.iter().map(|found| found.summary.key()).collect())
    }

    #[test]
    fn what_is_written_on_a_session_is_listed_and_found() {
        let dir = tempfile::tempdir().unwrap();
        let (services, id) = services(dir.path());
        let write = |mark: &Mark| {
            let request = Request::Mark { session: id.clone(), at: None, mark: mark.clone() };
            let Response::Marked(result) = execute(&services, request) else { panic!("{mark:?}") };
            result
        };
        let tags = std::iter::once("slow".to_owned()).collect();
        let mark = Mark { tags, note: Some("zebra crossing".to_owned()), marked: true, label: None };
        write(&mark).unwrap();
        assert_eq!(services.workbench.marks().unwrap().get(&id, None), Some(&mark));
        for query in ["tag:slow", "is:marked", "zebra"] {
            assert_eq!(found(&services, query).unwrap(), [SessionKey::Example(id.clone())], "{query}");
        }
        write(&Mark::default()).unwrap();
        assert!(found(&services, "tag:slow").unwrap().is_empty());
        let bad = Mark { tags: std::iter::once("no tag, this".to_owned()).collect(), ..Mark::default() };
        assert!(write(&bad).unwrap_err().message.contains("is not a tag"));
    }

    #[test]
    fn a_wrong_query_names_its_place_and_what_is_nearest() {
        let dir = tempfile::tempdir().unwrap();
        let (services, _) = services(dir.path());
        let Err(SearchError::Query(error)) = found(&services, "lamp modle:x") else { panic!("it is wrong") };
        assert_eq!((error.span.0, error.near.as_deref().map(|near| near.starts_with("mode"))), (5, Some(true)));
    }

    #[test]
    fn the_texts_at_the_points_of_a_fork_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let (services, id) = services(dir.path());
        let key = SessionKey::Example(id);
        let Response::ForkPoints(_, points) = execute(&services, Request::ForkPoints(key.clone())) else {
            panic!("no points")
        };
        let points = points.unwrap();
        assert!(!points.turns.is_empty() && points.turns.iter().all(|turn| turn.stages.contains(&Stage::Request)));
        for name in ["prompt", "signature", "context"] {
            let at = format!("{}:request", points.turns[0].address);
            let target = EditTarget { key: key.clone(), at, name: name.to_owned() };
            let Response::CurrentText(_, text) = execute(&services, Request::CurrentText(target)) else {
                panic!("{name}")
            };
            assert!(!text.unwrap().text.unwrap().is_empty(), "{name}");
        }
    }

    #[test]
    fn an_export_asks_before_it_replaces_and_a_case_goes_into_the_agent_file() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        let dir = tempfile::tempdir().unwrap();
        let (services, id) = services(dir.path());
        let key = SessionKey::Example(id);
        let export = |spec: &ExportSpec| {
            let Response::Exported(result) = execute(&services, Request::Export(key.clone(), spec.clone())) else {
                panic!("{spec:?}")
            };
            result
        };
        let secrets = Secrets::Refused;
        for name in ["md", "html", "json", "atif", "otlp", "svg"] {
            let path = dir.path().join(format!("export.{name}"));
            let format = Format::from_name(name).unwrap();
            let spec = ExportSpec { format, rules: vec!["secrets".to_owned()], path, replace: false, secrets };
            export(&spec).unwrap();
            let first = fs::read_to_string(&spec.path).unwrap();
            assert!(!first.is_empty());
            assert_eq!(export(&spec), Err(ExportError::Exists(spec.path.clone())), "{name}");
            export(&ExportSpec { replace: true, ..spec.clone() }).unwrap();
            assert_eq!(fs::read_to_string(&spec.path).unwrap(), first, "{name}");
        }
        let (format, rules, path) = (Format::Bundle, Vec::new(), dir.path().join("bug"));
        let spec = ExportSpec { format, rules, path, replace: false, secrets };
        assert_eq!(export(&spec).unwrap().places, 0);
        assert!(dir.path().join("bug/agent.toml").is_file());
        let again = export(&ExportSpec { replace: true, ..spec });
        assert!(
            matches!(&again, Err(error) if error.to_string().contains("already exists; choose another name for the folder")),
            "{again:?}"
        );
        let file = dir.path().join("mine.toml");
        let spec = CaseSpec {
            run: None,
            name: Some("first".to_owned()),
            file: Some(file.clone()),
            cassette: true,
            rubric: None,
        };
        let Response::CaseMade(made) = execute(&services, Request::MakeCase(key, spec)) else { panic!("no case") };
        assert_eq!(made.unwrap().0.name, "first");
        assert!(fs::read_to_string(&file).unwrap().contains("cassettes/first.jsonl"));
        assert!(dir.path().join("cassettes/first.jsonl").exists());
    }
}
