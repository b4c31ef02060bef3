//! The line of a request of which only the end of the reply shows whether it is recorded.
//!
//! In: the line of the request when it has ended, and the decision of the recorder, in any order. Out: a report of the line, unless the
//! request is recorded. It must never report a line twice.

use std::sync::{Arc, Mutex, PoisonError};

use super::unrecorded::{UnrecordedReport, UnrecordedRequest};

/// Decision of the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recording {
    /// It is still to come.
    Undecided,
    Recorded,
    Unrecorded,
}

struct LineState {
    report: UnrecordedReport,
    /// The line, from the end of the request until it is reported.
    line: Option<UnrecordedRequest>,
    recording: Recording,
}

/// The line of a request. It is reported at once until the recorder holds it. Clones are the same line.
#[derive(Clone)]
pub(super) struct LateLine(Arc<Mutex<LineState>>);

/// A line whose report the recorder decides about: dropping it reports the line.
pub(super) struct HeldLine(LateLine);

impl LateLine {
    /// A line that this report gets.
    pub(super) fn new(report: &UnrecordedReport) -> Self {
        let state = LineState { report: Arc::clone(report), line: None, recording: Recording::Unrecorded };
        Self(Arc::new(Mutex::new(state)))
    }

    /// The report that takes the line at the end of the request.
    pub(super) fn report(&self) -> UnrecordedReport {
        let late = self.clone();
        Arc::new(move |line| late.change(|state| state.line = Some(line)))
    }

    /// Waits for the decision of the recorder from now on.
    pub(super) fn hold(self) -> HeldLine {
        self.change(|state| state.recording = Recording::Undecided);
        HeldLine(self)
    }

    fn change(&self, change: impl FnOnce(&mut LineState)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if state.recording == Recording::Undecided {
            return;
        }
        let is_recorded = state.recording == Recording::Recorded;
        let (line, report) = (state.line.take(), Arc::clone(&state.report));
        // The report may take its time.
        drop(state);
        if let Some(line) = line.filter(|_| !is_recorded) {
            report(line);
        }
    }
}

impl HeldLine {
    /// The request is recorded: the recorder reports it.
    pub(super) fn set_recorded(self) {
        self.0.change(|state| state.recording = Recording::Recorded);
    }
}

impl Drop for HeldLine {
    fn drop(&mut self) {
        self.0.change(|state| {
            if state.recording == Recording::Undecided {
                state.recording = Recording::Unrecorded;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of reports of a line. `steps`: `e` the request ends, `h` the recorder holds it, `r` it is recorded, `u` it is
    /// not.
    fn reports(steps: &str) -> usize {
        let count: Arc<Mutex<usize>> = Arc::default();
        let counted = Arc::clone(&count);
        let report: UnrecordedReport = Arc::new(move |_| *counted.lock().unwrap() += 1);
        let line = LateLine::new(&report);
        let end = line.report();
        let mut held = None;
        for step in steps.chars() {
            match step {
                'e' => end(UnrecordedRequest::default()),
                'h' => held = Some(line.clone().hold()),
                'r' => held.take().unwrap().set_recorded(),
                _ => drop(held.take()),
            }
        }
        drop(held);
        let count = count.lock().unwrap();
        *count
    }

    #[test]
    fn a_line_is_reported_once_unless_its_request_is_recorded() {
        for (steps, expected) in [("e", 1), ("heu", 1), ("hue", 1), ("her", 0), ("hre", 0), ("he", 1), ("h", 0)] {
            assert_eq!(reports(steps), expected, "{steps}");
        }
    }
}
