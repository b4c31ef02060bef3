//! States that no scene of the program reaches: what disks, other programs and bad luck do, sent to the model. They are drawn with
//! the scenes, in the same sizes.

use ptc_core::reasons::Reason;
use ptc_workbench::event::{Address, ErrorRecord, RunWait};
use ptc_workbench::port::Question;
use ptc_workbench::tui::compare::CompareResponse;
use ptc_workbench::tui::inspector::Tab;
use ptc_workbench::tui::message::{Msg, Slot};
use ptc_workbench::tui::model::{Model, Tone};
use ptc_workbench::workbench::{RunEnding, RunUpdate, SaveError};

use super::story::{NOW_MS, apply_message, asked, fresh, happened, missed, ran, two_turns};
use super::{compare, continuing, differs, editing, exports, inspector, pictures, press, sessions, write};

/// The size at which they are made.
const SIZE: (u16, u16) = (120, 40);

/// A state by its name.
type State = (&'static str, fn() -> Model);

/// All of them.
pub(super) const STATES: &[State] = &[
    ("state-recovery", recovery),
    ("state-unwritten", unwritten),
    ("state-overwrite", || saved(SaveError::Changed)),
    ("state-not-saved", not_saved),
    ("state-waiting", waiting),
    ("state-cancelling", cancelling),
    ("state-second-turn", second_turn),
    ("state-long-message", long_message),
    ("state-long-question", long_question),
    ("state-wide-characters", wide_characters),
    ("state-two-fixes", two_fixes),
    ("state-edit-program", || continuing::editing(SIZE)),
    ("state-damaged", damaged),
    ("state-diverged", diverged),
    ("state-fork-refused", || sessions::fork_refused(SIZE)),
    ("state-secrets", || exports::exporting(SIZE)),
    ("state-play-begins", || sessions::playing(SIZE)),
    ("state-query-problem", || sessions::wrong_query(SIZE)),
    ("state-long-note", || sessions::long_note(SIZE)),
    ("state-both-live", || compare::watched(SIZE)),
    ("state-both-transcripts", both_transcripts),
    ("state-matrix-running", || compare::matrix(SIZE)),
    ("state-matrices-damaged", || compare::listed(SIZE)),
    ("state-matrices-none", matrices_none),
    ("state-suggest-question", super::suggest::question),
    ("state-suggest-asking", super::suggest::asking),
    ("state-suggest-answered", super::suggest::answered),
    ("state-candidates-merge", super::candidates::merged),
    ("state-inside-request", || inspector::inside(Tab::Request)),
    ("state-inside-reply", || inspector::inside(Tab::Reply)),
    ("state-inside-extract", || inspector::inside(Tab::Extract)),
    ("state-inside-calls", || inspector::inside(Tab::Calls)),
    ("state-inside-memory", || inspector::inside(Tab::Memory)),
];

fn recovery() -> Model {
    let mut model = fresh(SIZE);
    let recovery = model.workbench.recovery(NOW_MS - 180_000);
    apply_message(&mut model, Msg::Recoveries(vec![recovery]));
    apply_message(&mut model, Msg::Clock(NOW_MS + 1_000));
    model
}

fn unwritten() -> Model {
    let mut model = fresh(SIZE);
    ran(&mut model, two_turns(), None);
    let shown = "the session could not be written: No space left on device. Choose another folder for the session";
    let suggested = "/tmp/ptc-workbench-sessions".into();
    apply_message(
        &mut model,
        Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Unwritten { reason: shown.to_owned(), suggested }]),
    );
    model
}

/// An edited agent whose save was answered so.
fn saved(error: SaveError) -> Model {
    let mut model = fresh(SIZE);
    write(&mut model, "x");
    press(&mut model, "ctrl-s");
    press(&mut model, "enter");
    let texts = model.workbench.texts();
    apply_message(&mut model, Msg::Saved("sentiment.toml".to_owned(), texts, Err(error)));
    apply_message(&mut model, Msg::Clock(NOW_MS + 900));
    model
}

fn not_saved() -> Model {
    let error = ErrorRecord::new(Reason::WriteFailed, "sentiment.toml: No space left on device (os error 28)");
    saved(SaveError::Failed(error))
}

/// A run that was left while it asked the user.
fn waiting() -> Model {
    let mut model = fresh(SIZE);
    let wait = RunWait { question: "r0/t1/q0".to_owned() };
    ran(&mut model, asked().apply_message("r0", wait).events(), Some(RunEnding::Run));
    press(&mut model, "f2");
    model
}

/// A run that was asked to stop and has not ended.
fn cancelling() -> Model {
    let mut model = second_turn();
    press(&mut model, "f5");
    model
}

/// The second request was sent and nothing has come.
fn second_turn() -> Model {
    let mut model = fresh(SIZE);
    ran(&mut model, missed().wait(1_200).events(), None);
    press(&mut model, "f2");
    happened(&mut model, Vec::new(), None);
    model
}

fn long_message() -> Model {
    let mut model = fresh(SIZE);
    model.show_toast(Tone::Bad, "it could not be done, and this is why: ".repeat(8));
    model
}

fn long_question() -> Model {
    let mut model = fresh(SIZE);
    ran(&mut model, asked().events(), None);
    let text = "which of them? ".repeat(200);
    let question = Question { address: Address::from("r0/t1/q0"), text, options: Vec::new(), gate: None };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Question(question)]));
    model
}

fn wide_characters() -> Model {
    let mut model = fresh(SIZE);
    write(&mut model, "日本 e\u{301} \u{202e} 👩‍👩‍👧‍👦 ");
    model
}

fn two_fixes() -> Model {
    let mut model = fresh(SIZE);
    editing::two_fixes(&mut model);
    press(&mut model, "f8");
    model
}

fn damaged() -> Model {
    let mut model = pictures::listed(SIZE);
    press(&mut model, "end");
    model
}

/// A replay that gave something else.
fn diverged() -> Model {
    let mut model = differs::differing(SIZE, "r");
    apply_message(&mut model, Msg::Clock(NOW_MS + 1_000));
    model
}

/// Both runs have ended; their transcripts are next to each other.
fn both_transcripts() -> Model {
    let mut model = compare::aligned(SIZE);
    press(&mut model, "t");
    model
}

fn matrices_none() -> Model {
    let mut model = fresh(SIZE);
    press(&mut model, "f4");
    press(&mut model, "shift-m");
    apply_message(&mut model, Msg::Compare(CompareResponse::Matrices(Vec::new())));
    model
}
