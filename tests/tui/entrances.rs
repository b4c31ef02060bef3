//! One model for a mode: the same section of an agent file counts wherever its agent is run, compared or looked at.

use std::time::Duration;

use ptc_workbench::agent::{Agent, DraftTexts, Mode};
use ptc_workbench::event::Event;
use ptc_workbench::tui::services::Services;
use ptc_workbench::workbench::matrix::MatrixSpec;
use ptc_workbench::workbench::{RunHandle, RunUpdate};

use super::services::workbench;

/// An agent whose mode `json` names a model of its own.
const AGENT: &str = "name = 'two'\nmode = 'ptc_lisp'\nmodel = 'sample'\nprompt = 'go'\nsignature = '{n :int}'\n\
                     [modes.json]\nmodel = 'sample:missing_field'\n";

/// The model that a run names at its start.
async fn model_of(run: &RunHandle) -> String {
    loop {
        let started = run.drain().into_iter().find_map(|update| match update {
            RunUpdate::Event(envelope) => match envelope.event {
                Event::RunStart(start) => Some(start.model.alias),
                _ => None,
            },
            _ => None,
        });
        if let Some(model) = started {
            return model;
        }
        tokio::time::timeout(Duration::from_mins(1), run.changed()).await.expect("the run begins");
    }
}

#[tokio::test]
async fn the_model_of_a_mode_s_section_counts_at_every_entrance() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::from_toml(AGENT, "two.toml").unwrap();
    let services = Services::new(workbench(dir.path()), &agent, None);
    let expected = |mode: Mode| if mode == Mode::Json { "sample:missing_field" } else { "sample" };
    for mode in [Mode::PtcLisp, Mode::Json] {
        let in_mode = Agent { mode, ..agent.clone() };
        let texts = DraftTexts::of(&in_mode);
        assert_eq!(services.workbench.model_name(None, &in_mode), expected(mode), "named");
        assert_eq!(services.workbench.model_name(Some("demo"), &in_mode), "demo", "the user's choice wins");
        assert_eq!(services.check(&texts).1.model, expected(mode), "the title of the workbench");
        assert_eq!(model_of(&services.start(&texts).unwrap()).await, expected(mode), "F5 in {mode}");
    }
    let both = services.start_modes(&DraftTexts::of(&agent), &[Mode::PtcLisp, Mode::Json]).unwrap();
    assert_eq!([model_of(&both[0]).await, model_of(&both[1]).await], ["sample", "sample:missing_field"], "F9");
    let spec = MatrixSpec {
        agents: vec![("two".to_owned(), agent)],
        modes: vec![Mode::PtcLisp, Mode::Json],
        trials: 1,
        ..MatrixSpec::default()
    };
    let plan = services.workbench.plan_matrix(&spec).unwrap();
    let cells: Vec<_> = plan.cells.iter().map(|cell| (cell.mode.as_str(), cell.model.as_str())).collect();
    assert_eq!(cells, [("ptc_lisp", "sample"), ("json", "sample:missing_field")], "compare --modes");
}

#[test]
fn an_unknown_model_of_a_mode_s_section_is_a_finding_of_that_mode_only() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::from_toml(&AGENT.replace("sample:missing_field", "no-such-model"), "two.toml").unwrap();
    let services = Services::new(workbench(dir.path()), &agent, None);
    let found = |mode: Mode| {
        let (findings, _) = services.check(&DraftTexts::of(&Agent { mode, ..agent.clone() }));
        findings.iter().any(|finding| finding.key == "model")
    };
    assert_eq!([found(Mode::PtcLisp), found(Mode::Json)], [false, true]);
}
