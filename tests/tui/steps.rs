//! Pipelines in the interface: the steps that are open, their runs one after the other, and what cannot be done with them.

use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::Envelope;
use ptc_workbench::tui::archive::{AgentSource, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane, Phase};
use ptc_workbench::tui::services::Services;
use ptc_workbench::workbench::{Pipeline, RunEnding, RunHandle, RunUpdate, Workbench};

use super::pictures::{screens, text};
use super::story::{NOW_MS, happened};
use super::{press, write};

const SIZES: &[(u16, u16)] = &[(80, 24), (140, 40)];

fn backend(dir: &std::path::Path, pipeline: Pipeline) -> Services {
    let folders = Folders::at(dir.to_owned(), dir, Some(dir));
    Services::of_pipeline(Workbench::new(Config::built_in().unwrap(), folders), pipeline)
}

fn quote() -> Pipeline {
    Pipeline::bundled("quote").unwrap().unwrap()
}

fn opened(size: (u16, u16), pipeline: Pipeline) -> Model {
    let dir = tempfile::tempdir().unwrap();
    Model::new(backend(dir.path(), pipeline).opened(), size, NOW_MS)
}

/// All events of a run, until it ends.
async fn events(run: &RunHandle) -> Vec<Envelope> {
    let mut shown = Vec::new();
    loop {
        run.changed().await;
        for happening in run.drain() {
            match happening {
                RunUpdate::Event(envelope) => shown.push(*envelope),
                RunUpdate::Ended(ended) => {
                    assert_eq!(ended, RunEnding::Run);
                    return shown;
                }
                RunUpdate::Question(question) => panic!("nobody asks: {question:?}"),
                RunUpdate::Unwritten { reason, .. } => panic!("{reason}"),
            }
        }
    }
}

#[test]
fn the_steps_of_a_pipeline_are_in_the_place_of_the_editors() {
    screens("steps", SIZES, |size| opened(size, quote()));
}

#[test]
fn a_pipeline_is_run_and_read_but_not_written() {
    let mut model = opened((80, 24), quote());
    assert_eq!(model.workbench.focus, Pane::Steps);
    let texts = model.workbench.texts();
    assert_eq!(write(&mut model, "xyz"), []);
    assert_eq!(model.workbench.texts(), texts);
    assert_eq!(press(&mut model, "ctrl-s"), []);
    assert!(model.toast.as_ref().unwrap().text.contains("a pipeline is edited in its file"));
    press(&mut model, "tab");
    assert_eq!(model.workbench.focus, Pane::Run);
    press(&mut model, "f2");
    assert_eq!(model.workbench.focus, Pane::Steps);
    assert_eq!(press(&mut model, "f5"), [Effect::StartPipeline(Box::new(quote()))]);
    assert_eq!(model.workbench.focus, Pane::Run, "the run page opens by itself");
    ptc_workbench::tui::update(&mut model, Msg::Started(Err(Vec::new())));
    assert_eq!(model.workbench.run.as_ref().map(|run| run.phase), None::<Phase>);
    press(&mut model, "ctrl-q");
    assert!(model.quitting, "nothing is unsaved");
}

#[test]
fn a_pipeline_is_opened_like_an_agent_and_gives_way_to_one() {
    let dir = tempfile::tempdir().unwrap();
    let live = backend(dir.path(), quote());
    let mut model = super::story::fresh((80, 24));
    super::story::ran(&mut model, super::story::two_turns(), Some(RunEnding::Run));
    for (name, is_pipeline) in [("quote", true), ("sentiment", false)] {
        let source = AgentSource::Named(name.to_owned());
        let taken = live.open_agent(&source).unwrap();
        ptc_workbench::tui::update(&mut model, Msg::Archive(ArchiveResponse::AgentOpened(source, Ok(Box::new(taken)))));
        assert_eq!(model.workbench.pipeline.is_some(), is_pipeline);
        assert_eq!(model.workbench.focus == Pane::Steps, is_pipeline);
        assert!(!model.workbench.unsaved());
        if is_pipeline {
            let shown = text(&mut model);
            assert!(shown.contains("✓ the pipeline quote is open"));
            assert!(!shown.contains("✓ 1 read_request"), "the run before was another agent's: {shown}");
            assert_eq!(press(&mut model, "f5"), [Effect::StartPipeline(Box::new(quote()))]);
            ptc_workbench::tui::update(&mut model, Msg::Started(Err(Vec::new())));
        }
    }
    let broken = dir.path().join("broken.toml");
    std::fs::write(&broken, "[[steps]]\nfile = 'no-such.toml'\n").unwrap();
    let error = live.open_agent(&AgentSource::Named(broken.display().to_string())).unwrap_err();
    assert!(error.message.contains("no-such.toml"), "{error:?}");
}

#[test]
fn a_pipeline_whose_types_do_not_fit_says_so_and_does_not_start() {
    let text = "[[steps]]\nname = 'a'\nprompt = 'x'\nmode = 'json'\nsignature = '() -> {a :int}'\n[[steps]]\nname = 'b'\n\
                prompt = '{{c}}'\nmode = 'json'\nsignature = '(c :int) -> :int'\n";
    let mut model = opened(
        (140, 40),
        Pipeline::from_toml(text, "p.toml", &ptc_workbench::tool::FileAccess::default()).unwrap().unwrap(),
    );
    let errors = &model.workbench.pipeline.as_ref().unwrap().0.errors;
    assert!(errors.len() == 1 && errors[0].contains('c'), "{errors:?}");
    assert_eq!(press(&mut model, "f5"), []);
    assert!(model.toast.as_ref().unwrap().text.starts_with("not started: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_of_a_pipeline_follow_each_other_in_one_transcript() {
    let dir = tempfile::tempdir().unwrap();
    let live = backend(dir.path(), quote());
    let run = live.start_pipeline(quote()).unwrap();
    let shown = events(&run).await;
    let mut model = Model::new(live.opened(), (140, 40), NOW_MS);
    press(&mut model, "f5");
    ptc_workbench::tui::update(&mut model, Msg::Started(Ok(run.session())));
    let second = shown.iter().position(|envelope| envelope.address.as_str() == "r1/t1").unwrap();
    let marks = |model: &mut Model| -> String {
        let rows = ptc_workbench::tui::ansi(&ptc_workbench::tui::picture(model, (140, 40)));
        let steps = ["read_request", "add_prices", "write_reply"];
        let found =
            steps.map(|step| rows.lines().find(|row| row.contains(&format!("{step}\u{1b}"))).unwrap().to_owned());
        found
            .map(|row| {
                if row.contains('●') {
                    '●'
                } else if row.contains('✓') {
                    '✓'
                } else {
                    '·'
                }
            })
            .iter()
            .collect()
    };
    happened(&mut model, shown[..second].to_vec(), None);
    assert_eq!(marks(&mut model), "✓●·");
    happened(&mut model, shown[second..].to_vec(), Some(RunEnding::Run));
    assert_eq!(marks(&mut model), "✓✓✓");
    let inputs: Vec<&str> =
        shown.iter().filter(|e| e.event.kind() == "run.start").map(|e| e.address.as_str()).collect();
    assert_eq!(inputs, ["r0", "r1", "r2"]);
}
