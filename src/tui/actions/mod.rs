//! The one table of actions: dispatch, footer, help and palette read it, and the configuration remaps it by id.
//!
//! In: nothing. Out: every [`Action`] with its rows. It must never know the state of a screen.

mod context;
mod table;

pub use context::Context;
pub use table::ACTIONS;

use super::archive::ChangedFileAction;
use super::candidates::Step as CandidateStep;
use super::cases::Step as TestStep;
use super::compare::Step as Comparison;
use super::direction::{Direction, Leap};
use super::draft::{Motion, Reach};
use super::inspector::Step;
use super::overview::{Step as TurnStep, TurnPrompt};
use super::sessions::SessionAction;
use super::traffic::Step as TrafficStep;
use crate::agent::{Mode, Place};
use crate::port::Gate;

/// An action of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each action is described by its row below")]
pub enum Action {
    Help,
    Palette,
    Menu,
    MenuGo(Leap),
    MenuPick,
    Workbench,
    Sessions,
    Compare,
    BothModes,
    Comparing(Comparison),
    Tests,
    Testing(TestStep),
    Traffic,
    InTraffic(TrafficStep),
    Candidates,
    OpenCandidates,
    InCandidates(CandidateStep),
    Run,
    Intercept(Gate),
    Breakpoints,
    Preview,
    Against,
    FocusNext,
    FocusPrevious,
    Save,
    SaveAs,
    Mode(Mode),
    FocusOn(Place),
    FocusRun,
    Zoom,
    NextTheme,
    Tour,
    TourNext,
    TourBack,
    Fix,
    FixGo(Leap),
    FixApply,
    Find,
    FindNext,
    FindPrevious,
    FindField,
    FindReading,
    Replace,
    ReplaceEvery,
    ExternalEditor,
    Suspend,
    Redraw,
    Close,
    Quit,
    Go(Motion, Reach),
    Delete(Motion),
    Newline,
    Undo,
    Redo,
    SelectAll,
    Copy,
    Cut,
    Paste,
    StepUp,
    StepDown,
    StepIn,
    StepOut,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Fold,
    FoldAll,
    CycleView,
    Seek,
    SeekNext,
    SeekPrevious,
    SeekRepeats,
    SeekList,
    CopyPart,
    Overview,
    SwitchTurnList,
    Turns(TurnStep),
    Failing(Direction),
    AskTurn(TurnPrompt),
    ConfirmTurns,
    Inspect,
    Repl,
    PromptGrowth,
    OlderRun,
    NewerRun,
    CompareRuns,
    AgainstSaved,
    ChooseModel,
    OpenAgent,
    NewAgent,
    ContextView,
    InsertFile,
    InsertPrompt,
    TakeAgent,
    Inside(Step),
    ListUp,
    ListDown,
    ListPageUp,
    ListPageDown,
    ListTop,
    ListBottom,
    OpenSession,
    Failures,
    Replay,
    Resume,
    ReplayLenient,
    OpenDifference,
    Session(SessionAction),
    Original,
    Branches,
    Unlabelled,
    CompareMarked,
    PlayPause,
    PlayStep(isize),
    PlayTurn(isize),
    PlayEnd(isize),
    PlaySpeed(u32),
    FieldNext,
    FieldPrevious,
    ChoiceNext,
    ChoicePrevious,
    SubmitDialog,
    Filter,
    Reload,
    ReadUp,
    ReadDown,
    ReadPageUp,
    ReadPageDown,
    ReadTop,
    ReadBottom,
    PickGo(Leap),
    Pick,
    SaveAndQuit,
    DiscardAndQuit,
    Restore,
    DropKept,
    ConfirmPath,
    ConfirmOverwrite,
    TakeFile(ChangedFileAction),
    SendAnswer,
}

/// One action with all of its texts.
#[derive(Debug, Clone, Copy)]
pub struct ActionRow {
    /// The action.
    pub action: Action,
    /// Its stable name in the configuration.
    pub id: &'static str,
    /// A word or two for footer and palette.
    pub title: &'static str,
    /// One sentence for the help.
    pub help: &'static str,
    /// Default chords.
    pub chords: &'static [&'static str],
    /// Context in which it is available.
    pub context: Context,
    /// Place in the footer from the left; 0 = not there.
    pub footer: u8,
}

const fn row(
    action: Action,
    id: &'static str,
    title: &'static str,
    help: &'static str,
    chords: &'static [&'static str],
    context: Context,
    footer: u8,
) -> ActionRow {
    ActionRow { action, id, title, help, chords, context, footer }
}

impl Action {
    /// Returns whether it is about a search in a transcript, a turn or the help.
    pub fn is_search(self) -> bool {
        matches!(self, Self::Seek | Self::SeekNext | Self::SeekPrevious | Self::SeekRepeats | Self::SeekList)
    }

    /// The first row of this action.
    pub fn row(self) -> Option<&'static ActionRow> {
        ACTIONS.iter().find(|row| row.action == self)
    }
}
