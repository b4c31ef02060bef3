//! The matrix: one agent or several, in every mode, with every model, on every case, several times.
//!
//! In: a [`MatrixSpec`]. Out: a file of finished trials in the sessions folder, each trial a session of its own; a [`MatrixState`] for
//! screens and the command line; a [`CellReport`] per cell; the changes against a [`Baseline`].
//! Trials share only the gates of providers: the session of a trial does not depend on other trials that run at the same time.

mod answers;
mod background;
mod baseline;
mod chance;
mod estimate;
mod file;
mod meter;
mod page;
mod paired;
mod plan;
mod report;
mod results;
mod run;
mod state;

pub use crate::session::Ledger;
pub use answers::{AnswerGroup, canonical};
pub use background::{MatrixRun, MatrixUpdate};
pub use baseline::{Baseline, BaselineCell, BaselineError, Change, ChangeKind, compare_with};
pub use chance::{pass_hat, wilson};
pub use estimate::CostEstimate;
pub use file::{MATRIX_FOLDER, MatrixEntry, MatrixFile};
pub use meter::{Measures, Meter};
pub use page::{Failure, Results, SHOWN_FAILURES, matrix_markdown, matrix_page};
pub(super) use paired::mcnemar_exact;
pub use paired::{MeanInterval, PairedCase, PairedReport, PairedVerdict, paired};
pub use plan::{Cell, called};
pub use plan::{DefaultModes, MatrixAgent, MatrixPlan, MatrixSpec, split_models};
pub use report::{CellReport, Mean, TrialRef, report, totals};
pub use results::{
    MatrixRows, RESULTS_BEGIN, ResultRow, RowVerdict, matrix_rows, merge_rows, read_result_lines, suite_row, suite_rows,
};
pub(in crate::workbench) use run::watched;
pub use run::{MatrixError, Pace, Watch};
pub use state::{MatrixEvent, MatrixState, Outcome, Trial, TrialKey};
