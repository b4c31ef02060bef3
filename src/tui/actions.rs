//! The one table of actions: dispatch, footer, help and palette read it, and the configuration remaps it by id.

use super::draft::{Motion, Reach};
use crate::agent::Mode;
use crate::port::Gate;

/// Where an action means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, popups included.
    Always,
    /// On every screen while no popup is open.
    Global,
    /// Wherever text is typed.
    Text,
    /// In the four editors and the answer of a person.
    Lines,
    /// In the four editors.
    Editor,
    /// In the steps of an open pipeline.
    Steps,
    /// In the transcript.
    Transcript,
    /// In the list of sessions.
    Sessions,
    /// While the filter of the list is typed.
    Filter,
    /// In an opened session.
    Viewer,
    /// In the help and other texts to read.
    Reading,
    /// In the palette.
    Palette,
    /// The question before leaving unsaved edits.
    Leaving,
    /// The offer of kept drafts.
    Recovery,
    /// The path to save to.
    SavePath,
    /// The question before overwriting.
    Overwrite,
    /// The answer of a person who is the model.
    Answer,
}

impl Context {
    /// Every context with its heading in the help, in the help's order.
    pub const ALL: [(Self, &'static str); 17] = [
        (Self::Global, "Everywhere"),
        (Self::Always, "Everywhere, popups included"),
        (Self::Editor, "Editors"),
        (Self::Lines, "Editors and answers"),
        (Self::Text, "Wherever text is typed"),
        (Self::Steps, "Steps of a pipeline"),
        (Self::Transcript, "Transcript"),
        (Self::Sessions, "Sessions"),
        (Self::Filter, "Filter of the sessions"),
        (Self::Viewer, "An opened session"),
        (Self::Reading, "Help and other texts"),
        (Self::Palette, "Palette"),
        (Self::Leaving, "Leaving with unsaved edits"),
        (Self::Recovery, "Kept drafts"),
        (Self::SavePath, "Saving under a path"),
        (Self::Overwrite, "Overwriting a file"),
        (Self::Answer, "Being the model"),
    ];

    /// Is text typed here, so that letters alone cannot be chords?
    pub fn takes_text(self) -> bool {
        !matches!(
            self,
            Self::Steps
                | Self::Transcript
                | Self::Sessions
                | Self::Viewer
                | Self::Reading
                | Self::Leaving
                | Self::Recovery
                | Self::Overwrite
        )
    }

    /// Can both be active at the same time?
    pub fn meets(self, other: Self) -> bool {
        let groups: [&[Self]; 13] = [
            &[Self::Editor, Self::Lines, Self::Text, Self::Global, Self::Always],
            &[Self::Steps, Self::Global, Self::Always],
            &[Self::Transcript, Self::Global, Self::Always],
            &[Self::Sessions, Self::Global, Self::Always],
            &[Self::Filter, Self::Text, Self::Global, Self::Always],
            &[Self::Viewer, Self::Transcript, Self::Global, Self::Always],
            &[Self::Reading, Self::Always],
            &[Self::Palette, Self::Text, Self::Always],
            &[Self::Leaving, Self::Always],
            &[Self::Recovery, Self::Always],
            &[Self::SavePath, Self::Text, Self::Always],
            &[Self::Overwrite, Self::Always],
            &[Self::Answer, Self::Lines, Self::Text, Self::Always],
        ];
        groups.iter().any(|group| group.contains(&self) && group.contains(&other))
    }
}

/// What a person can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each action is described by its row below")]
pub enum Action {
    Help,
    Palette,
    Workbench,
    Sessions,
    Run,
    Intercept(Gate),
    Preview,
    FocusNext,
    FocusPrevious,
    Save,
    SaveAs,
    Mode(Mode),
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
    PageUp,
    PageDown,
    Top,
    Bottom,
    Fold,
    FoldAll,
    CycleView,
    ListUp,
    ListDown,
    ListPageUp,
    ListPageDown,
    ListTop,
    ListBottom,
    OpenSession,
    Replay,
    GoOn,
    Filter,
    Reload,
    ReadUp,
    ReadDown,
    ReadPageUp,
    ReadPageDown,
    PickUp,
    PickDown,
    Pick,
    SaveAndQuit,
    DiscardAndQuit,
    Restore,
    DropKept,
    ConfirmPath,
    ConfirmOverwrite,
    SendAnswer,
}

/// One action: everything that the program says about it.
#[derive(Debug, Clone, Copy)]
pub struct ActionRow {
    /// What it does.
    pub action: Action,
    /// Its stable name in the configuration.
    pub id: &'static str,
    /// A word or two for footer and palette.
    pub title: &'static str,
    /// One sentence for the help.
    pub help: &'static str,
    /// Default chords.
    pub chords: &'static [&'static str],
    /// Where it means something.
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

use Action as A;
use Context as C;
use Motion as M;
use Reach::{Extend, Move};

/// Every action.
#[rustfmt::skip]
pub const ACTIONS: &[ActionRow] = &[
    row(A::Help, "help", "help", "Shows every key that means something, and what it does.", &["f1"], C::Global, 90),
    row(A::Palette, "palette", "actions", "Finds any action by name; disabled ones say why.", &["ctrl-p"], C::Global, 0),
    row(A::Workbench, "screen.workbench", "workbench", "Goes to the workbench; there it switches between editors and run.", &["f2"], C::Global, 9),
    row(A::Sessions, "screen.sessions", "sessions", "Goes to the saved sessions.", &["f3"], C::Global, 40),
    row(A::Run, "run.start", "run", "Runs the draft; while it runs, stops it.", &["f5"], C::Global, 1),
    row(A::Intercept(Gate::Send), "run.intercept_send", "intercept requests", "Runs stop before each request, so that you can change its messages; once more lets them pass.", &["f7"], C::Global, 0),
    row(A::Intercept(Gate::Apply), "run.intercept_apply", "intercept replies", "Runs stop before each reply is applied, so that you can change it; once more lets them pass.", &["f8"], C::Global, 0),
    row(A::Preview, "request.preview", "preview", "Shows exactly what would be sent first, and the schema of the answer.", &["f6"], C::Global, 35),
    row(A::FocusNext, "focus.next", "next field", "Moves to the next field.", &["tab"], C::Global, 10),
    row(A::FocusPrevious, "focus.previous", "previous field", "Moves to the field before.", &["backtab"], C::Global, 0),
    row(A::Save, "draft.save", "save", "Saves the agent to its file; asks for a path when it has none.", &["ctrl-s"], C::Global, 50),
    row(A::SaveAs, "draft.save_as", "save as", "Saves the agent under another path.", &[], C::Global, 0),
    row(A::Mode(Mode::PtcLisp), "mode.ptc_lisp", "mode ptc_lisp", "The model writes PTC-Lisp programs.", &[], C::Global, 0),
    row(A::Mode(Mode::Json), "mode.json", "mode json", "The model answers with JSON that fits the signature.", &[], C::Global, 0),
    row(A::Mode(Mode::Text), "mode.text", "mode text", "Text or JSON, with or without tools: the variant follows from tools and signature.", &[], C::Global, 0),
    row(A::Mode(Mode::JsonLoop), "mode.json_loop", "mode json_loop", "Every reply is one control object: a tool call or the answer.", &[], C::Global, 0),
    row(A::Suspend, "suspend", "suspend", "Hands the terminal back to the shell; `fg` comes back.", &["ctrl-z"], C::Always, 0),
    row(A::Redraw, "redraw", "redraw", "Draws the whole screen again.", &["ctrl-l"], C::Always, 0),
    row(A::Close, "close", "close", "Closes the topmost thing; stops a run only when nothing is open.", &["esc"], C::Always, 80),
    row(A::Quit, "quit", "quit", "Leaves; asks first when there are unsaved edits.", &["ctrl-q"], C::Always, 85),

    row(A::ExternalEditor, "editor.external", "$EDITOR", "Opens the field's text in $VISUAL or $EDITOR.", &["ctrl-e"], C::Editor, 60),
    row(A::Newline, "text.newline", "new line", "Starts a new line.", &["enter"], C::Lines, 0),
    row(A::Undo, "text.undo", "undo", "Takes the last change back, whoever made it.", &["ctrl-u", "alt-z"], C::Text, 70),
    row(A::Redo, "text.redo", "redo", "Does the undone change again.", &["ctrl-y", "alt-y"], C::Text, 0),
    row(A::SelectAll, "text.select_all", "select all", "Selects all of the text.", &["ctrl-a"], C::Text, 0),
    row(A::Copy, "text.copy", "copy", "Copies the selection, also to the terminal's clipboard.", &["ctrl-c"], C::Text, 0),
    row(A::Cut, "text.cut", "cut", "Cuts the selection, also to the terminal's clipboard.", &["ctrl-x"], C::Text, 0),
    row(A::Paste, "text.paste", "paste", "Inserts what was copied or cut here.", &["ctrl-v"], C::Text, 0),
    row(A::Delete(M::Left), "text.delete_back", "delete back", "Deletes the character before the cursor, or the selection.", &["backspace", "ctrl-h"], C::Text, 0),
    row(A::Delete(M::Right), "text.delete", "delete", "Deletes the character under the cursor, or the selection.", &["delete", "ctrl-d"], C::Text, 0),
    row(A::Delete(M::WordLeft), "text.delete_word_back", "delete word back", "Deletes to the start of the word.", &["ctrl-w", "alt-backspace", "ctrl-backspace"], C::Text, 0),
    row(A::Delete(M::WordRight), "text.delete_word", "delete word", "Deletes to the end of the word.", &["alt-d", "ctrl-delete"], C::Text, 0),
    row(A::Delete(M::LineEnd), "text.delete_line_end", "delete to line end", "Deletes to the end of the line.", &["ctrl-k"], C::Text, 0),
    row(A::Go(M::Left, Move), "text.left", "left", "One character back.", &["left", "ctrl-b"], C::Text, 0),
    row(A::Go(M::Right, Move), "text.right", "right", "One character on.", &["right", "ctrl-f"], C::Text, 0),
    row(A::Go(M::Up(1), Move), "text.up", "up", "One row up.", &["up"], C::Lines, 0),
    row(A::Go(M::Down(1), Move), "text.down", "down", "One row down.", &["down"], C::Lines, 0),
    row(A::Go(M::Up(10), Move), "text.page_up", "page up", "Ten rows up.", &["pageup"], C::Lines, 0),
    row(A::Go(M::Down(10), Move), "text.page_down", "page down", "Ten rows down.", &["pagedown"], C::Lines, 0),
    row(A::Go(M::WordLeft, Move), "text.word_left", "word left", "To the start of the word.", &["ctrl-left", "alt-b", "alt-left"], C::Text, 0),
    row(A::Go(M::WordRight, Move), "text.word_right", "word right", "To the end of the word.", &["ctrl-right", "alt-f", "alt-right"], C::Text, 0),
    row(A::Go(M::LineStart, Move), "text.line_start", "line start", "To the start of the line.", &["home"], C::Text, 0),
    row(A::Go(M::LineEnd, Move), "text.line_end", "line end", "To the end of the line.", &["end"], C::Text, 0),
    row(A::Go(M::Start, Move), "text.start", "text start", "To the start of the text.", &["ctrl-home"], C::Text, 0),
    row(A::Go(M::End, Move), "text.end", "text end", "To the end of the text.", &["ctrl-end"], C::Text, 0),
    row(A::Go(M::Left, Extend), "select.left", "select left", "Selects one character back.", &["shift-left"], C::Text, 0),
    row(A::Go(M::Right, Extend), "select.right", "select right", "Selects one character on.", &["shift-right"], C::Text, 0),
    row(A::Go(M::Up(1), Extend), "select.up", "select up", "Selects one row up.", &["shift-up"], C::Lines, 0),
    row(A::Go(M::Down(1), Extend), "select.down", "select down", "Selects one row down.", &["shift-down"], C::Lines, 0),
    row(A::Go(M::WordLeft, Extend), "select.word_left", "select word left", "Selects to the start of the word.", &["ctrl-shift-left"], C::Text, 0),
    row(A::Go(M::WordRight, Extend), "select.word_right", "select word right", "Selects to the end of the word.", &["ctrl-shift-right"], C::Text, 0),
    row(A::Go(M::LineStart, Extend), "select.line_start", "select to line start", "Selects to the start of the line.", &["shift-home"], C::Text, 0),
    row(A::Go(M::LineEnd, Extend), "select.line_end", "select to line end", "Selects to the end of the line.", &["shift-end"], C::Text, 0),

    row(A::StepUp, "transcript.up", "up", "To the card above, through a long one line by line.", &["up", "k"], C::Transcript, 0),
    row(A::StepDown, "transcript.down", "down", "To the card below, through a long one line by line.", &["down", "j"], C::Transcript, 0),
    row(A::PageUp, "transcript.page_up", "page up", "One page up.", &["pageup"], C::Transcript, 0),
    row(A::PageDown, "transcript.page_down", "page down", "One page down; at the end it follows what comes.", &["pagedown"], C::Transcript, 0),
    row(A::Top, "transcript.top", "top", "To the start.", &["home", "g"], C::Transcript, 0),
    row(A::Bottom, "transcript.bottom", "end", "To the end, and follows what comes.", &["end", "shift-g"], C::Transcript, 14),
    row(A::Fold, "transcript.fold", "fold", "Folds or unfolds the selected card.", &["enter", "space"], C::Transcript, 11),
    row(A::FoldAll, "transcript.fold_all", "fold all", "Folds every card, or unfolds every card.", &["a"], C::Transcript, 13),
    row(A::CycleView, "transcript.view", "rich/raw/wire", "Shows texts readable, exact with visible controls, or as they went over the wire.", &["v"], C::Transcript, 12),

    row(A::ListUp, "sessions.up", "up", "To the session above.", &["up", "k"], C::Sessions, 0),
    row(A::ListDown, "sessions.down", "down", "To the session below.", &["down", "j"], C::Sessions, 0),
    row(A::ListPageUp, "sessions.page_up", "page up", "One page up.", &["pageup"], C::Sessions, 0),
    row(A::ListPageDown, "sessions.page_down", "page down", "One page down.", &["pagedown"], C::Sessions, 0),
    row(A::ListTop, "sessions.top", "top", "To the newest session.", &["home", "g"], C::Sessions, 0),
    row(A::ListBottom, "sessions.bottom", "end", "To the oldest session.", &["end", "shift-g"], C::Sessions, 0),
    row(A::OpenSession, "sessions.open", "open", "Opens the session to read.", &["enter"], C::Sessions, 2),
    row(A::Replay, "sessions.replay", "replay", "Runs the session again from its recording, without a model, and compares.", &["r"], C::Sessions, 3),
    row(A::GoOn, "sessions.go_on", "go on", "Goes on with a run that waits for a person or broke off, in its session.", &["o"], C::Sessions, 6),
    row(A::Filter, "sessions.filter", "filter", "Filters the list: words, agent:, mode:, model:, status:.", &["/"], C::Sessions, 4),
    row(A::Reload, "sessions.reload", "reload", "Reads the list again.", &["ctrl-r"], C::Sessions, 5),
    row(A::ListUp, "filter.up", "up", "To the session above.", &["up"], C::Filter, 0),
    row(A::ListDown, "filter.down", "down", "To the session below.", &["down"], C::Filter, 0),
    row(A::OpenSession, "filter.open", "open", "Opens the session to read.", &["enter"], C::Filter, 2),
    row(A::Replay, "viewer.replay", "replay", "Runs the opened session again from its recording, and compares.", &["r"], C::Viewer, 3),

    row(A::GoOn, "viewer.go_on", "go on", "Goes on with the opened session, when it waits for a person or broke off.", &["o"], C::Viewer, 4),

    row(A::ReadUp, "steps.up", "up", "One line up.", &["up", "k"], C::Steps, 0),
    row(A::ReadDown, "steps.down", "scroll", "One line down.", &["down", "j"], C::Steps, 11),
    row(A::ReadPageUp, "steps.page_up", "page up", "One page up.", &["pageup"], C::Steps, 0),
    row(A::ReadPageDown, "steps.page_down", "page", "One page down.", &["pagedown", "space"], C::Steps, 0),

    row(A::ReadUp, "read.up", "up", "One line up.", &["up", "k"], C::Reading, 0),
    row(A::ReadDown, "read.down", "scroll", "One line down.", &["down", "j"], C::Reading, 1),
    row(A::ReadPageUp, "read.page_up", "page up", "One page up.", &["pageup"], C::Reading, 0),
    row(A::ReadPageDown, "read.page_down", "page", "One page down.", &["pagedown", "space"], C::Reading, 2),
    row(A::PickUp, "palette.up", "up", "To the entry above.", &["up"], C::Palette, 0),
    row(A::PickDown, "palette.down", "down", "To the entry below.", &["down"], C::Palette, 0),
    row(A::Pick, "palette.pick", "do it", "Does the selected action.", &["enter"], C::Palette, 1),
    row(A::SaveAndQuit, "leaving.save", "save", "Saves, then leaves.", &["s"], C::Leaving, 1),
    row(A::DiscardAndQuit, "leaving.discard", "discard", "Leaves without the edits.", &["d"], C::Leaving, 2),
    row(A::Restore, "recovery.restore", "restore", "Puts the kept texts into the editors.", &["r", "enter"], C::Recovery, 1),
    row(A::DropKept, "recovery.drop", "discard", "Throws the kept texts away.", &["d"], C::Recovery, 2),
    row(A::ConfirmPath, "save_path.confirm", "save", "Saves to the path.", &["enter"], C::SavePath, 1),
    row(A::ConfirmOverwrite, "overwrite.confirm", "overwrite", "Replaces the file.", &["o"], C::Overwrite, 1),
    row(A::ReadUp, "answer.up", "scroll up", "Scrolls what is asked up.", &["ctrl-up", "alt-up"], C::Answer, 0),
    row(A::ReadDown, "answer.down", "scroll", "Scrolls what is asked down.", &["ctrl-down", "alt-down"], C::Answer, 2),
    row(A::SendAnswer, "answer.send", "send reply", "Sends the text as the model's reply.", &["f5", "ctrl-enter", "alt-enter"], C::Answer, 1),
];

impl Action {
    /// The first row of this action.
    pub fn row(self) -> Option<&'static ActionRow> {
        ACTIONS.iter().find(|row| row.action == self)
    }
}
