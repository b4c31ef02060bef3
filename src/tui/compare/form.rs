//! The dialog that begins a matrix: modes, models, trials, how many at the same time.

use crate::agent::Mode;
use crate::tui::draft::{Draft, Motion, Reach};
use crate::workbench::matrix::{MatrixSpec, split_models};

/// Trials of a cell beyond which it is a slip.
const MOST_TRIALS: u32 = 1_000;
/// Trials at the same time beyond which it is one.
const MOST_JOBS: usize = 64;

/// A field that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Field {
    /// The modes; the mode at this place of [`Mode::ALL`].
    #[default]
    Modes,
    /// The models.
    Models,
    /// Trials of each cell.
    Trials,
    /// Trials at the same time.
    Jobs,
}

impl Field {
    /// All, from top to bottom.
    pub const ALL: [Self; 4] = [Self::Modes, Self::Models, Self::Trials, Self::Jobs];
}

/// Content of the dialog that begins a matrix.
#[derive(Debug, Clone)]
pub struct Form {
    /// The field that has the focus.
    pub field: Field,
    /// The mode that has it.
    pub mode: usize,
    /// The modes that are wanted, as in [`Mode::ALL`].
    pub modes: [bool; Mode::ALL.len()],
    /// The user has chosen among the modes.
    pub modes_chosen: bool,
    /// Models between commas; the agent's own when empty.
    pub models: Draft,
    /// Trials of each cell.
    pub trials: Draft,
    /// Trials at the same time.
    pub jobs: Draft,
    /// Error of the last attempt to start.
    pub error: Option<String>,
    /// It is being started.
    pub beginning: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            field: Field::Modes,
            mode: 0,
            modes: Mode::ALL.map(is_first),
            modes_chosen: false,
            models: Draft::default(),
            trials: at_end("3"),
            jobs: at_end("4"),
            error: None,
            beginning: false,
        }
    }
}

/// Returns whether a mode is chosen at first.
fn is_first(mode: Mode) -> bool {
    matches!(mode, Mode::PtcLisp | Mode::Json)
}

/// A line with the cursor after its text.
pub(in crate::tui) fn at_end(text: &str) -> Draft {
    let mut draft = Draft::new(text);
    draft.go(Motion::End, Reach::Move, usize::MAX >> 1);
    draft
}

impl Form {
    /// Chooses the modes in which the draft can run, unless the user has chosen: the usual ones, else all that are left.
    pub fn suggest_modes(&mut self, runnable: &[Mode]) {
        if self.modes_chosen || runnable.is_empty() {
            return;
        }
        let any = runnable.iter().any(|mode| is_first(*mode));
        self.modes = Mode::ALL.map(|mode| runnable.contains(&mode) && (is_first(mode) || !any));
    }

    /// Chooses the mode that has the focus, or not.
    pub fn toggle_mode(&mut self) {
        self.modes[self.mode] = !self.modes[self.mode];
        self.modes_chosen = true;
    }

    /// The text that keys are typed into.
    pub fn draft(&self) -> Option<&Draft> {
        match self.field {
            Field::Modes => None,
            Field::Models => Some(&self.models),
            Field::Trials => Some(&self.trials),
            Field::Jobs => Some(&self.jobs),
        }
    }

    /// Like `draft`, mutable.
    pub fn draft_mut(&mut self) -> Option<&mut Draft> {
        match self.field {
            Field::Modes => None,
            Field::Models => Some(&mut self.models),
            Field::Trials => Some(&mut self.trials),
            Field::Jobs => Some(&mut self.jobs),
        }
    }

    /// Returns the matrix that is described, its agents missing, and the trials at once.
    ///
    /// Errors: what is missing or no number, with the field to correct.
    pub fn spec(&self) -> Result<(MatrixSpec, usize), (Field, String)> {
        let modes: Vec<Mode> =
            Mode::ALL.into_iter().zip(self.modes).filter(|(_, on)| *on).map(|(mode, _)| mode).collect();
        if modes.is_empty() {
            return Err((Field::Modes, "no mode is chosen: Space chooses one".to_owned()));
        }
        let words: Vec<String> = self.models.text().split(',').map(|word| word.trim().to_owned()).collect();
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let trials = self.trials.text().trim().parse().ok().filter(|trials| (1..=MOST_TRIALS).contains(trials));
        let jobs = self.jobs.text().trim().parse().ok().filter(|jobs| (1..=MOST_JOBS).contains(jobs));
        let wrong = |most: usize| format!("write a number from 1 to {most}");
        let trials = trials.ok_or_else(|| (Field::Trials, wrong(MOST_TRIALS as usize)))?;
        let jobs = jobs.ok_or_else(|| (Field::Jobs, wrong(MOST_JOBS)))?;
        let models = split_models(&words);
        Ok((MatrixSpec { modes, models, trials, ..MatrixSpec::default() }, jobs))
    }
}
