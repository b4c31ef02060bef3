//! A panic of the interface: the terminal comes back first, then the message, and the edits are kept.

use std::io::Write as _;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::Address;
use ptc_workbench::tui::backend::{Happening, Run};
use ptc_workbench::tui::{self, Colours, Setup};

use super::terminal::{Start, home};
use crate::tui::fake::Fake;

/// Set for the process that plays the program.
const CHILD: &str = "PTC_WORKBENCH_TEST_PANICS";
const F5: &str = "\x1b[15~";

/// A run that panics on the interface's thread.
struct Fatal;

impl Run for Fatal {
    fn session(&self) -> Option<String> {
        None
    }

    fn drain(&self) -> Vec<Happening> {
        panic!("a fault of the interface")
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        futures::future::pending().boxed()
    }

    fn cancel(&self) {}

    fn save_to(&self, _: Option<std::path::PathBuf>) {}

    fn answer(&self, _: &Address, _: String) {}

    fn put_down(&self) {}
}

/// Does nothing in an ordinary test run; in the process that [`a_panic_restores_the_terminal_and_keeps_the_edits`] starts,
/// it is the program.
#[test]
fn as_the_program() {
    let Some(home) = std::env::var_os(CHILD) else { return };
    let fake = Arc::new(Fake { fatal: Some(Arc::new(Fatal)), ..Fake::default() });
    let folders = Folders::at(home.clone().into(), home.as_ref(), None);
    let config = Config::load(None, &folders, &|_| None).unwrap();
    let setup = Setup::new(&config, std::path::Path::new(""), Colours::On).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let seen = fake.clone();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(tui::run(fake, setup))));
    let kept = seen.kept.lock().unwrap().clone();
    assert!(result.is_err(), "it did not panic");
    writeln!(std::io::stdout(), "KEPT {}", kept[0].drafts[0].text()).unwrap();
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
