//! Current state of the compare screen: active contexts, possible steps and their names.

use super::{Compare, Field, Page, Step};
use crate::tui::actions::Context;

impl Compare {
    /// The contexts that are active, the innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        use Context as C;
        match self.page {
            Page::Sides if self.shows_transcripts() => vec![C::BothRuns, C::Transcript, C::Global, C::Always],
            Page::Sides => vec![C::Turns, C::Global, C::Always],
            Page::Matrix => vec![C::Matrix, C::Global, C::Always],
            Page::Matrices => vec![C::Matrices, C::Global, C::Always],
            Page::Form if self.form.field == Field::Modes => vec![C::FormModes, C::Form, C::Always],
            Page::Form => vec![C::Form, C::Text, C::Always],
        }
    }

    /// Checks that a step is possible now. Errors: why not.
    pub fn enabled(&self, step: Step) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        let matrix = self.matrix.as_ref();
        match (self.page, step) {
            (
                Page::Sides,
                Step::First
                | Step::Next
                | Step::Previous
                | Step::Up
                | Step::Down
                | Step::PageUp
                | Step::PageDown
                | Step::Pair,
            ) => rule(self.compared.is_some(), "nothing is compared yet"),
            (Page::Sides, Step::Open) if self.shows_transcripts() => {
                rule(self.turn_in_transcript().is_some(), "no turn has begun in this run")
            }
            (Page::Sides, Step::Open) => rule(self.turn().is_some(), "this run has no turn here"),
            (Page::Sides, Step::Transcripts) => rule(
                self.compared.is_some() && self.sides.iter().any(|side| side.run.is_some()),
                "there are no transcripts",
            ),
            (Page::Matrix, Step::Open) => {
                rule(matrix.is_some_and(|matrix| matrix.session().is_some()), "this trial has not started")
            }
            (Page::Matrix, Step::Beside) => {
                rule(matrix.is_some_and(|matrix| matrix.comparable_sessions().len() > 1), "nothing to compare with yet")
            }
            (Page::Matrix, Step::StopMatrix) => match matrix {
                Some(matrix) if matrix.stopping => Err("the matrix is being stopped"),
                Some(matrix) if matrix.running => Ok(()),
                _ => Err("the matrix is not running"),
            },
            (Page::Matrix, Step::ResumeMatrix) => match matrix {
                None => Err("no matrix is open"),
                Some(matrix) if matrix.running => Err("the matrix is running"),
                Some(matrix) => rule(!matrix.state.is_complete(), "every trial has ended"),
            },
            (Page::Matrices, Step::Open) => {
                rule(self.matrices.as_ref().is_some_and(|all| !all.is_empty()), "no matrix yet")
            }
            (_, Step::NewMatrix) => {
                rule(!matrix.is_some_and(|matrix| matrix.running), "a matrix is running; stop it first")
            }
            (Page::Form, Step::Begin) => rule(!self.form.beginning, "the matrix is starting"),
            _ => Ok(()),
        }
    }
}
