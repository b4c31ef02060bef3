//! Contexts: where an action is available, and which contexts are active at the same time.

/// A part of the interface where an action is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, popups included.
    Always,
    /// On every screen while no popup is open.
    Global,
    /// Wherever text is typed.
    Text,
    /// In the four editors and the answer of a user.
    Lines,
    /// In the four editors.
    Editor,
    /// In the steps of an open pipeline.
    Steps,
    /// In the transcript.
    Transcript,
    /// Among the cases of the draft.
    Tests,
    /// In the list of other programs' conversations.
    Traffic,
    /// Among the candidates of a search for better texts.
    Candidates,
    /// Among the hunks of a candidate that is written into the agent file.
    Hunks,
    /// In the overview of a run.
    Overview,
    /// While the number of a turn or a filter of turns is typed.
    TurnPrompt,
    /// In the workbench's run, next to the other runs of the draft.
    Runs,
    /// While a search text for the transcript is typed.
    Seek,
    /// In the list of sessions.
    Sessions,
    /// While the filter of the list is typed.
    Filter,
    /// In an opened session.
    Viewer,
    /// Among the turns of runs side by side.
    Turns,
    /// In the transcripts of runs side by side.
    BothRuns,
    /// In a matrix.
    Matrix,
    /// In the list of matrices.
    Matrices,
    /// In the dialog that begins a matrix.
    Form,
    /// Among the modes of that dialog.
    FormModes,
    /// In the inspector of a turn.
    Inspector,
    /// In the input of the inspector's REPL.
    Repl,
    /// In the report of a replay that differs.
    Differs,
    /// In the help and other texts to read.
    Reading,
    /// In what would be sent.
    Preview,
    /// In the menu.
    Menu,
    /// In the palette.
    Palette,
    /// In the search over an editor.
    Find,
    /// In the quick fixes of a finding.
    Fixes,
    /// In the tour.
    Tour,
    /// The question before leaving unsaved edits.
    Leaving,
    /// The offer of kept drafts.
    Recovery,
    /// The path to save to.
    SavePath,
    /// The question before overwriting.
    Overwrite,
    /// The answer of a user who is the model.
    Answer,
    /// A session that is played.
    Playing,
    /// A dialog of several fields.
    Dialog,
    /// A field of a dialog that takes one of several values.
    Choice,
    /// A choice whose values are in a list.
    ListChoice,
    /// A field of a dialog that takes one line.
    OneLine,
}

impl Context {
    /// Every context with its heading in the help, in the help's order.
    pub const ALL: [(Self, &'static str); 44] = [
        (Self::Global, "Every screen"),
        (Self::Always, "Everywhere, popups included"),
        (Self::Editor, "Editors"),
        (Self::Lines, "Editors and answers"),
        (Self::Text, "Every text field"),
        (Self::Steps, "Steps of a pipeline"),
        (Self::Transcript, "Transcript"),
        (Self::Tests, "Tests of the draft"),
        (Self::Traffic, "Traffic of other programs"),
        (Self::Candidates, "Candidates of a search"),
        (Self::Hunks, "Writing a candidate into the agent file"),
        (Self::Overview, "Overview of a run"),
        (Self::TurnPrompt, "A turn by number, a filter of turns"),
        (Self::Runs, "Runs of the draft"),
        (Self::Seek, "Search in the transcript"),
        (Self::Sessions, "Sessions"),
        (Self::Filter, "Filter of the sessions"),
        (Self::Viewer, "An opened session"),
        (Self::Turns, "Runs side by side: turns"),
        (Self::BothRuns, "Runs side by side: transcripts"),
        (Self::Matrix, "Matrix"),
        (Self::Matrices, "Earlier matrices"),
        (Self::Form, "A new matrix"),
        (Self::FormModes, "A new matrix: modes"),
        (Self::Inspector, "Inspector of a turn"),
        (Self::Repl, "REPL of a turn"),
        (Self::Differs, "A replay that differs"),
        (Self::Reading, "Help and other texts"),
        (Self::Preview, "Preview of the request"),
        (Self::Menu, "Menu"),
        (Self::Palette, "Palette"),
        (Self::Find, "Search and replace"),
        (Self::Fixes, "Quick fixes"),
        (Self::Tour, "Tour"),
        (Self::Leaving, "Unsaved edits at exit"),
        (Self::Recovery, "Kept drafts"),
        (Self::SavePath, "Save under a path"),
        (Self::Overwrite, "Overwriting a file"),
        (Self::Answer, "Questions and gates"),
        (Self::Playing, "Playing a session"),
        (Self::Dialog, "Dialogs"),
        (Self::Choice, "Choices in dialogs"),
        (Self::ListChoice, "Lists in dialogs"),
        (Self::OneLine, "Lines in dialogs"),
    ];

    /// Its heading in the help.
    pub fn heading(self) -> &'static str {
        Self::ALL.iter().find(|(context, _)| *context == self).map_or("", |(_, heading)| heading)
    }

    /// Returns whether text is typed in this context, so that letters alone cannot be chords.
    pub fn takes_text(self) -> bool {
        !matches!(
            self,
            Self::Steps
                | Self::Transcript
                | Self::Overview
                | Self::Tests
                | Self::Traffic
                | Self::Candidates
                | Self::Hunks
                | Self::Runs
                | Self::Sessions
                | Self::Viewer
                | Self::Turns
                | Self::BothRuns
                | Self::Matrix
                | Self::Matrices
                | Self::FormModes
                | Self::Inspector
                | Self::Differs
                | Self::Reading
                | Self::Preview
                | Self::Menu
                | Self::Fixes
                | Self::Tour
                | Self::Leaving
                | Self::Recovery
                | Self::Overwrite
                | Self::Playing
                | Self::Choice
                | Self::ListChoice
        )
    }

    /// Returns whether both contexts can be active at the same time.
    pub fn meets(self, other: Self) -> bool {
        let groups: [&[Self]; 41] = [
            &[Self::Editor, Self::Lines, Self::Text, Self::Global, Self::Always],
            &[Self::Steps, Self::Global, Self::Always],
            &[Self::Transcript, Self::Global, Self::Always],
            &[Self::Runs, Self::Transcript, Self::Global, Self::Always],
            &[Self::Sessions, Self::Global, Self::Always],
            &[Self::Filter, Self::Text, Self::Global, Self::Always],
            &[Self::Tests, Self::Global, Self::Always],
            &[Self::Traffic, Self::Global, Self::Always],
            &[Self::Candidates, Self::Global, Self::Always],
            &[Self::Hunks, Self::Global, Self::Always],
            &[Self::Overview, Self::Global, Self::Always],
            &[Self::Viewer, Self::Overview, Self::Global, Self::Always],
            &[Self::TurnPrompt, Self::Text, Self::Always],
            &[Self::Viewer, Self::Transcript, Self::Global, Self::Always],
            &[Self::Turns, Self::Global, Self::Always],
            &[Self::BothRuns, Self::Transcript, Self::Global, Self::Always],
            &[Self::Matrix, Self::Global, Self::Always],
            &[Self::Matrices, Self::Global, Self::Always],
            &[Self::Form, Self::Text, Self::Always],
            &[Self::FormModes, Self::Form, Self::Always],
            &[Self::Inspector, Self::Global, Self::Always],
            &[Self::Repl, Self::Text, Self::Global, Self::Always],
            &[Self::Differs, Self::Reading, Self::Always],
            &[Self::Reading, Self::Always],
            &[Self::Preview, Self::Reading, Self::Always],
            &[Self::Menu, Self::Always],
            &[Self::Seek, Self::Text, Self::Always],
            &[Self::Palette, Self::Text, Self::Always],
            &[Self::Find, Self::Text, Self::Always],
            &[Self::Fixes, Self::Always],
            &[Self::Tour, Self::Always],
            &[Self::Leaving, Self::Always],
            &[Self::Recovery, Self::Always],
            &[Self::SavePath, Self::Text, Self::Always],
            &[Self::Overwrite, Self::Always],
            &[Self::Answer, Self::Lines, Self::Text, Self::Always],
            &[Self::Playing, Self::Global, Self::Always],
            &[Self::Dialog, Self::Choice, Self::Always],
            &[Self::Dialog, Self::ListChoice, Self::Always],
            &[Self::Dialog, Self::OneLine, Self::Text, Self::Always],
            &[Self::Dialog, Self::Lines, Self::Text, Self::Always],
        ];
        groups.iter().any(|group| group.contains(&self) && group.contains(&other))
    }
}
