//! A panic of the interface: the terminal comes back first, then the message, and the edits are kept.

use std::io::Write as _;
use std::sync::Arc;

use ptc_workbench::config::{Config, Folders};
use ptc_workbench::tui::recovery::{Recovery, mark_tour_seen};
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::{self, Colours, Setup};
use ptc_workbench::workbench::Workbench;
use tracing::span;

use super::terminal::{Start, home};
use crate::tui::story::sentiment;

/// Set for the process that plays the program.
const CHILD: &str = "PTC_WORKBENCH_TEST_PANICS";
const F5: &str = "\x1b[15~";

/// A log that panics on the interface's thread: when the driver begins to follow a run.
struct FatalLog;

impl tracing::Subscriber for FatalLog {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "ptc_workbench::tui::drive"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        panic!("a fault of the interface")
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Does nothing in an ordinary test run; in the process that [`a_panic_restores_the_terminal_and_keeps_the_edits`] starts,
/// it is the program.
#[test]
fn as_the_program() {
    let Some(home) = std::env::var_os(CHILD) else { return };
    let folders = Folders::at(home.clone().into(), home.as_ref(), None);
    mark_tour_seen(&folders.state_dir).unwrap();
    let drafts = folders.drafts_dir.clone();
    let config = Config::load(None, &folders, &|_| None).unwrap();
    let setup = Setup::new(&config, std::path::Path::new(""), Colours::On).unwrap();
    let agent = sentiment().to_agent(&ptc_workbench::agent::Agent::default()).unwrap();
    let services = Arc::new(Services::new(Workbench::new(config, folders), &agent, None));
    tracing::subscriber::set_global_default(FatalLog).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let run = || runtime.block_on(tui::run(services.clone(), setup, None));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    assert!(result.is_err(), "it did not panic");
    let files = std::fs::read_dir(drafts).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    let recovery: Recovery = serde_json::from_slice(&std::fs::read(&kept[0]).unwrap()).unwrap();
    writeln!(std::io::stdout(), "KEPT {}", recovery.drafts[0].text()).unwrap();
}

#[test]
fn a_panic_restores_the_terminal_and_keeps_the_edits() {
    let (home, _) = home("sample");
    let program = std::env::current_exe().unwrap();
    let mut terminal = Start::program(&program, home.path())
        .args(&["pty::panics::as_the_program", "--exact", "--nocapture"])
        .env(CHILD, home.path())
        .spawn();
    terminal.wait_for("Classify");
    terminal.send("Never lost. ");
    terminal.wait_for("● unsaved");
    terminal.send(F5);
    terminal.wait_for("a fault of the interface");
    terminal.wait_for("KEPT Never lost. Classify");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}
