//! The real backend: saving, recovery files, sessions that cannot be read, and a run from its texts to its end.

use std::fs;
use std::path::Path;

use ptc_core::reasons::Reason;
use ptc_workbench::agent::{Agent, BundledExample, DraftTexts};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::{ErrorRecord, Event};
use ptc_workbench::session::RunState;
use ptc_workbench::tui::archive::AgentSource;
use ptc_workbench::tui::services::Services;
use ptc_workbench::workbench::{
    AgentFile, Overwrite, RunEnding, RunUpdate, SaveError, SessionKey, Workbench, example_sessions,
};

fn live(dir: &std::path::Path) -> (Services, DraftTexts) {
    let folders = Folders::at(dir.to_owned(), dir, None);
    let agent = BundledExample::find("sentiment").unwrap().agent().unwrap();
    let live = Services::new(Workbench::new(Config::built_in().unwrap(), folders), &agent, None);
    (live, DraftTexts::of(&agent))
}

/// Saves texts as the driver does.
fn save(
    services: &Services,
    path: &Path,
    texts: &DraftTexts,
    known: Option<&AgentFile>,
    overwrite: Overwrite,
) -> Result<AgentFile, SaveError> {
    services.files.save(path, &texts.to_agent(&Agent::default()).unwrap(), known, overwrite)
}

#[test]
fn saving_keeps_the_comments_of_the_file_and_sees_when_it_changed_underneath() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let path = dir.path().join("mine.toml");
    let first = save(&live, &path, &texts, None, Overwrite::Unchanged).unwrap();
    let commented = format!("# mine\n{}", fs::read_to_string(&path).unwrap());
    fs::write(&path, &commented).unwrap();

    let edited = DraftTexts { prompt: "Judge: {{text}}".to_owned(), ..texts };
    assert!(matches!(save(&live, &path, &edited, Some(&first), Overwrite::Unchanged), Err(SaveError::Changed)));
    assert_eq!(fs::read_to_string(&path).unwrap(), commented, "a refused save leaves the file alone");

    save(&live, &path, &edited, Some(&first), Overwrite::Always).unwrap();
    let saved = fs::read_to_string(&path).unwrap();
    assert!(saved.starts_with("# mine\n"), "{saved}");
    assert_eq!(Agent::read(&path).unwrap().prompt, "Judge: {{text}}");
}

#[cfg(unix)]
#[test]
fn saving_through_a_link_writes_the_target_and_keeps_link_and_permissions() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let (target, link) = (dir.path().join("target.toml"), dir.path().join("link.toml"));
    symlink("target.toml", &link).unwrap();
    let file = save(&live, &link, &texts, None, Overwrite::Unchanged).unwrap();
    assert!(target.exists(), "the target is made where there was none");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();

    let edited = DraftTexts { prompt: "Judge: {{text}}".to_owned(), ..texts };
    save(&live, &link, &edited, Some(&file), Overwrite::Unchanged).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(Agent::read(&target).unwrap().prompt, "Judge: {{text}}");
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_was_deleted_is_written_again_with_its_comments() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    let text = format!("# mine\n{}", BundledExample::find("sentiment").unwrap().agent().unwrap().to_toml());
    fs::write(&path, &text).unwrap();
    let folders = Folders::at(dir.path().to_owned(), dir.path(), None);
    let agent = Agent::read(&path).unwrap();
    let live = Services::new(Workbench::new(Config::built_in().unwrap(), folders), &agent, Some(&path));
    let opening = live.opened();
    fs::remove_file(&path).unwrap();
    save(&live, &path, &opening.texts, opening.file.as_ref(), Overwrite::Unchanged).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_file_that_cannot_be_written_says_where_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let Err(SaveError::Failed(error)) =
        save(&live, &dir.path().join("no/such/a.toml"), &texts, None, Overwrite::Unchanged)
    else {
        panic!("there is no such folder")
    };
    assert_eq!(error.reason, Reason::WriteFailed.name());
    assert!(error.message.contains("no/such/a.toml") && error.hint.is_some(), "{error:?}");
}

/// The other end of the tests about kept drafts: what a process that was killed has left.
fn kept(dir: &Path) -> Vec<String> {
    let drafts = dir.join("sessions/drafts");
    let names = fs::read_dir(drafts).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn drafts_are_offered_when_their_process_is_gone_whatever_number_it_had() {
    let dir = tempfile::tempdir().unwrap();
    let (owner, texts) = live(dir.path());
    let (later, _) = live(dir.path());
    let recovery = ptc_workbench::tui::model::Model::new(
        ptc_workbench::workbench::OpenAgent { texts, ..Default::default() },
        (80, 24),
        0,
    )
    .workbench
    .recovery(7);
    owner.recovery().keep(&recovery).unwrap();
    owner.recovery().keep(&recovery).unwrap();
    assert!(later.recovery().find().is_empty(), "its process lives");
    drop(owner);
    let found = later.recovery().find();
    assert_eq!(found.iter().map(|found| found.saved_ms).collect::<Vec<_>>(), [7], "the same process number as ours");
    later.recovery().remove(&found[0].id);
    assert!(later.recovery().find().is_empty() && kept(dir.path()).is_empty(), "nothing is left behind");
    later.recovery().keep(&recovery).unwrap();
    later.recovery().forget();
    assert!(kept(dir.path()).is_empty());
}

#[test]
fn a_file_that_is_gone_is_written_again_and_one_that_is_the_same_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let path = dir.path().join("mine.toml");
    let file = save(&live, &path, &texts, None, Overwrite::Unchanged).unwrap();
    let other_name = dir.path().join("linked.toml");
    fs::hard_link(&path, &other_name).unwrap();
    assert_eq!(save(&live, &path, &texts, Some(&file), Overwrite::Unchanged).unwrap(), file);
    fs::write(&other_name, "seen").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "seen", "it is still the same file");
    fs::remove_file(&path).unwrap();
    assert_eq!(save(&live, &path, &texts, Some(&file), Overwrite::Unchanged).unwrap(), file);
    assert!(path.exists());
}

#[test]
fn a_session_that_cannot_be_read_has_its_own_reason() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = live(dir.path());
    let error = live.workbench.open(&SessionKey::File("no-such-session".into())).err().unwrap();
    let error = ErrorRecord::from(error);
    assert_eq!(error.reason, Reason::SessionUnreadable.name());
    assert!(error.message.contains("no-such-session"), "{}", error.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_texts_shows_its_events_and_its_end_and_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let options = texts.options.replace("model = \"demo\"", "model = \"sample:missing_field\"");
    let run = live.start(&DraftTexts { options, ..texts }).unwrap();
    let mut kinds = Vec::new();
    let ended = loop {
        run.changed().await;
        let mut ended = None;
        for happening in run.drain() {
            match happening {
                RunUpdate::Event(envelope) => kinds.push(envelope.event.kind().to_owned()),
                RunUpdate::Ended(end) => ended = Some(end),
                RunUpdate::Question(question) => panic!("nobody asks: {question:?}"),
                RunUpdate::Unwritten { reason, .. } => panic!("{reason}"),
            }
        }
        if let Some(ended) = ended {
            break ended;
        }
    };
    assert_eq!(ended, RunEnding::Run);
    assert_eq!(kinds.iter().filter(|kind| *kind == "turn.end").count(), 2);
    assert_eq!(kinds.last().map(String::as_str), Some("run.end"));
    let listed = live.workbench.sessions();
    assert_eq!(listed[0].id, run.session().unwrap());
    assert!(listed[0].task.contains("Classify the sentiment of"), "{}", listed[0].task);
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_branches_come_one_after_the_other_and_each_gets_its_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = live(dir.path());
    let texts = DraftTexts {
        prompt: "Ask them.".to_owned(),
        signature: "{all :string}".to_owned(),
        options: "name = \"asks\"\nmode = \"ptc_lisp\"\nmodel = \"human\"\nbuiltin_tools = [\"ask_user\"]\n".to_owned(),
        ..DraftTexts::default()
    };
    let run = live.start(&texts).unwrap();
    let program = "```clojure\n(return {:all (join \" \" (pmap (fn [q] (tool/ask_user {:question q})) [\"a\" \"b\" \"c\"]))})\n```";
    let (mut asked, mut answer) = (Vec::new(), None);
    loop {
        run.changed().await;
        let shown = run.drain();
        let ended = shown.iter().any(|happening| matches!(happening, RunUpdate::Ended(_)));
        for happening in shown {
            match happening {
                RunUpdate::Question(question) if question.address.is_question() => {
                    run.answer(&question.address, format!("{}!", question.text));
                    asked.push(question.text);
                }
                RunUpdate::Question(question) => run.answer(&question.address, program.to_owned()),
                RunUpdate::Event(envelope) => {
                    if let Event::RunEnd(end) = envelope.event {
                        answer = end.value.map(|value| value.as_str().to_owned());
                    }
                }
                RunUpdate::Unwritten { reason, .. } => panic!("{reason}"),
                RunUpdate::Ended(_) => {}
            }
        }
        if ended {
            break;
        }
    }
    asked.sort();
    assert_eq!(asked, ["a", "b", "c"]);
    assert_eq!(answer.as_deref(), Some(r#"{"all":"a! b! c!"}"#));
}

/// The file of an example session, written under other names.
fn recorded() -> String {
    let example = &example_sessions()[0];
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&example.path)).unwrap()
}

#[test]
fn a_session_opens_by_its_path_whatever_its_header_says() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = live(dir.path());
    let folder = dir.path().join("sessions");
    fs::create_dir_all(&folder).unwrap();
    let whole = recorded();
    let named = folder.join("2026-11-22T08-00-00Z-00000001.jsonl");
    let torn = dir.path().join("torn.jsonl");
    fs::write(&named, &whole).unwrap();
    fs::write(&torn, &whole[..whole.len() / 2]).unwrap();

    let listed = live.workbench.sessions();
    assert_eq!(listed[0].id, "2026-11-22T08-00-00Z-00000001", "a file is listed under its own name");
    assert_eq!(listed[0].key(), SessionKey::File(named));
    assert!(live.workbench.open(&listed[0].key()).unwrap().summary.damage.is_none());

    let opened = live.workbench.open(&SessionKey::File(torn.clone())).unwrap().summary;
    assert_eq!((opened.name(), opened.key()), (torn.display().to_string(), SessionKey::File(torn)));
    assert!(opened.damage.is_some() && opened.result == "not finished", "the torn copy, not the whole session");
}

#[test]
fn examples_are_marked_and_open_by_their_id() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = live(dir.path());
    let listed = live.workbench.sessions();
    assert!(!listed.is_empty() && listed.iter().all(|session| session.example));
    assert_eq!(live.workbench.open(&listed[0].key()).unwrap().summary, listed[0]);
}

#[test]
fn a_model_that_does_not_exist_is_found_while_typing() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    assert_eq!(live.check(&texts).0, []);
    for (model, text) in [("sonet", "did you mean `sonnet`?"), ("sample:mising_field", "did you mean `missing_field`?")]
    {
        let options = texts.options.replace("model = \"demo\"", &format!("model = \"{model}\""));
        let found = live.check(&DraftTexts { options, ..texts.clone() }).0;
        assert!(found.len() == 1 && found[0].is_error() && found[0].message.contains(text), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_put_down_waits_in_its_session_and_continues_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let folders = Folders::at(dir.path().to_owned(), dir.path(), Some(dir.path()));
    let agent = BundledExample::find("booking").unwrap().agent().unwrap();
    let live = Services::new(Workbench::new(Config::built_in().unwrap(), folders), &agent, None);
    let run = live.start(&DraftTexts::of(&agent)).unwrap();
    let mut kinds = Vec::new();
    let mut ended = false;
    while !ended {
        run.changed().await;
        for happening in run.drain() {
            match happening {
                RunUpdate::Event(envelope) => kinds.push(envelope.event.kind().to_owned()),
                RunUpdate::Question(_) => run.suspend(),
                RunUpdate::Unwritten { reason, .. } => panic!("{reason}"),
                RunUpdate::Ended(_) => ended = true,
            }
        }
    }
    assert_eq!(kinds.last().map(String::as_str), Some("run.wait"));
    let waiting = live.workbench.sessions().remove(0);
    assert_eq!(waiting.state, RunState::Open);
    drop(run);

    let run = tokio::task::block_in_place(|| live.resume(&waiting.key())).unwrap();
    let mut ended = false;
    while !ended {
        run.changed().await;
        for happening in run.drain() {
            match happening {
                RunUpdate::Question(question) => run.answer(&question.address, "4".to_owned()),
                RunUpdate::Ended(_) => ended = true,
                RunUpdate::Unwritten { reason, .. } => panic!("{reason}"),
                RunUpdate::Event(_) => {}
            }
        }
    }
    drop(run);
    let done = live.workbench.sessions().remove(0);
    assert_eq!((done.id, done.state), (waiting.id, RunState::Returned));
    assert!(done.result.contains("Da Enzo"), "{}", done.result);
    let again = SessionKey::File(waiting.path);
    let refused = tokio::task::block_in_place(|| live.resume(&again)).err().unwrap();
    assert!(refused.message.contains("has ended"), "{}", refused.message);
}

#[test]
fn the_agent_of_a_session_comes_into_the_editors_with_its_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = live(dir.path());
    let session = example_sessions().iter().find(|session| live_agent(session) == "sales").unwrap();
    let key = SessionKey::Example(session.header.id.to_string());
    let taken = live.open_agent(&AgentSource::Session(key)).unwrap();
    assert_eq!(taken.file, None, "saving asks for a path");
    assert!(taken.texts.options.contains("name = \"sales\""), "{}", taken.texts.options);
    assert!(taken.texts.context.contains("rows"), "{}", taken.texts.context);
}

fn live_agent(session: &ptc_workbench::session::Session) -> String {
    ptc_workbench::session::summarize(session).agent
}

#[test]
fn an_agent_is_opened_by_the_name_of_an_example_or_by_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let named = |name: &str| live.open_agent(&AgentSource::Named(name.to_owned()));
    assert_eq!(named("sentiment").unwrap().texts, texts);

    let path = dir.path().join("mine.toml");
    save(&live, &path, &texts, None, Overwrite::Unchanged).unwrap();
    let mine = named(path.to_str().unwrap()).unwrap();
    assert_eq!(mine.file.map(|file| file.path), Some(path), "it is saved to its file");

    let missing = named("no-such-agent").unwrap_err();
    assert!(missing.message.starts_with("no-such-agent"), "{}", missing.message);
    let new = named("no-such-agent.toml").unwrap();
    assert_eq!(new.file.map(|file| file.sha).as_deref(), Some(""), "the path of no file begins a new agent");
    let pipeline = dir.path().join("steps.toml");
    fs::write(&pipeline, "name = \"p\"\n[[steps]]\nprompt = \"a\"\n").unwrap();
    let pipeline = named(pipeline.to_str().unwrap()).unwrap();
    assert_eq!(pipeline.file, None, "a pipeline is edited in its file");
    assert_eq!(pipeline.pipeline.map(|open| open.definition.name).as_deref(), Some("p"));
}

#[test]
fn an_unknown_model_is_corrected_by_choosing_one_that_can_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let wrong = DraftTexts { options: texts.options.replace("\"demo\"", "\"dex\""), ..texts };
    let findings = live.check(&wrong).0;
    let unknown = findings.iter().find(|finding| finding.message.contains("no model `dex`")).unwrap();
    let human = unknown.fixes.iter().find(|fix| fix.title.starts_with("use the model human")).unwrap();
    let mut options = wrong.options.clone();
    options.replace_range(human.span.start..human.span.end, &human.text);
    assert!(options.contains("model = \"human\""), "{options}");
    assert!(live.check(&DraftTexts { options, ..wrong }).0.is_empty());
    let ready: Vec<_> = live.check(&texts_of(&live)).1.models.into_iter().map(|fix| fix.text).collect();
    let (models, faults) = ready.split_at(3);
    assert_eq!(models, ["\"demo\"", "\"sample\"", "\"human\""], "without keys these can be used");
    assert!(!faults.is_empty() && faults.iter().all(|fault| fault.starts_with("\"sample:")), "{faults:?}");
}

fn texts_of(live: &Services) -> DraftTexts {
    live.opened().texts
}

#[test]
fn a_file_is_changed_when_another_program_wrote_other_content() {
    let dir = tempfile::tempdir().unwrap();
    let (live, texts) = live(dir.path());
    let path = dir.path().join("mine.toml");
    let file = save(&live, &path, &texts, None, Overwrite::Unchanged).unwrap();
    assert_eq!(live.files.changed(&file), None);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("# theirs\n{text}")).unwrap();
    let found = live.files.changed(&file).unwrap();
    assert_eq!(live.files.changed(&file), Some(found.clone()), "the same content is the same change");
    assert_eq!(live.files.opened(&path).unwrap().sha, found);
    fs::write(&path, text).unwrap();
    assert_eq!(live.files.changed(&file), None, "it was changed back");
    fs::remove_file(&path).unwrap();
    assert_eq!(live.files.changed(&file), None, "a file that is gone is written again");
}
