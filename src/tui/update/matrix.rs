//! The matrix on the compare screen: its dialog, running it, moving among its cells, the list of earlier ones.

use super::compare;
use crate::event::ErrorRecord;
use crate::tui::compare::{CompareRequest, Field, MatrixView, Page, Step, at_end};
use crate::tui::message::Effect;
use crate::tui::model::{Model, Screen, Tone};
use crate::workbench::format::plural;
use crate::workbench::matrix::{MatrixEntry, MatrixSpec, MatrixState, MatrixUpdate};

/// Concurrent trials when the dialog has no number.
const JOBS: usize = 4;

/// Opens the dialog.
pub(super) fn form(model: &mut Model) -> Vec<Effect> {
    if model.workbench.pipeline.is_some() {
        model.show_toast(Tone::Info, "a matrix runs single agents: open an agent file instead of the pipeline");
        return Vec::new();
    }
    model.screen = Screen::Compare;
    let runnable = model.workbench.texts().runnable_modes();
    let compare = &mut model.compare;
    compare.form.suggest_modes(&runnable);
    compare.page = Page::Form;
    compare.form.error = None;
    compare.form.beginning = false;
    if compare.form.models.text().is_empty() {
        compare.form.models = at_end(&model.workbench.preview.model);
    }
    Vec::new()
}

/// Opens the list of earlier matrices.
pub(super) fn list(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Compare;
    model.compare.page = Page::Matrices;
    vec![Effect::Compare(CompareRequest::Matrices)]
}

pub(super) fn listed(model: &mut Model, all: Vec<MatrixEntry>) -> Vec<Effect> {
    model.compare.chosen = model.compare.chosen.min(all.len().saturating_sub(1));
    model.compare.matrices = Some(all);
    Vec::new()
}

pub(super) fn opened(model: &mut Model, id: String, result: Result<MatrixState, ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok(state) => {
            model.compare.matrix = Some(MatrixView::new(id, state, false));
            model.compare.page = Page::Matrix;
        }
        Err(error) => model.show_toast(Tone::Bad, format!("not opened: {}", error.message)),
    }
    Vec::new()
}

pub(super) fn started(model: &mut Model, result: Result<(String, MatrixState), ErrorRecord>) -> Vec<Effect> {
    model.compare.form.beginning = false;
    match result {
        Ok((id, state)) => {
            let selected = model.compare.matrix.as_ref().filter(|matrix| matrix.id == id).map(|matrix| matrix.cell);
            let mut matrix = MatrixView::new(id, state, true);
            matrix.cell = selected.unwrap_or_default();
            model.compare.matrix = Some(matrix);
            model.compare.page = Page::Matrix;
        }
        Err(error) if model.compare.page == Page::Form => model.compare.form.error = Some(error.message),
        Err(error) => model.show_toast(Tone::Bad, format!("not begun: {}", error.message)),
    }
    Vec::new()
}

/// Takes the updates of the matrix.
pub(super) fn updates(model: &mut Model, updates: &[MatrixUpdate]) -> Vec<Effect> {
    let Some(matrix) = &mut model.compare.matrix else { return Vec::new() };
    matrix.take(updates);
    if !updates.iter().any(|update| matches!(update, MatrixUpdate::Ended(_))) {
        return Vec::new();
    }
    let state = &matrix.state;
    let done = format!("{} of {} have ended", state.done(), plural(state.total() as u64, "trial"));
    let (tone, text) = match &matrix.error {
        Some(error) => (Tone::Bad, format!("the matrix was aborted: {error}; {done}")),
        None if state.is_complete() => (Tone::Good, format!("the matrix is complete: {done}")),
        None => (Tone::Info, format!("{done}; what is finished is kept")),
    };
    model.show_toast(tone, text);
    vec![Effect::List]
}

/// Performs the action of a key on the matrix pages.
pub(super) fn step(model: &mut Model, step: Step) -> Vec<Effect> {
    match model.compare.page {
        Page::Sides => Vec::new(),
        Page::Form => in_form(model, step),
        Page::Matrices => in_list(model, step),
        Page::Matrix => in_matrix(model, step),
    }
}

fn in_form(model: &mut Model, step: Step) -> Vec<Effect> {
    let form = &mut model.compare.form;
    let modes = form.modes.len();
    let place = Field::ALL.iter().position(|field| *field == form.field).unwrap_or_default();
    let fields = Field::ALL.len();
    match step {
        Step::NextField => form.field = Field::ALL[(place + 1) % fields],
        Step::PreviousField => form.field = Field::ALL[(place + fields - 1) % fields],
        Step::Left => form.mode = (form.mode + modes - 1) % modes,
        Step::Right => form.mode = (form.mode + 1) % modes,
        Step::Toggle => form.toggle_mode(),
        Step::Begin => match form.spec() {
            Ok((spec, jobs)) => {
                form.error = None;
                form.beginning = true;
                let spec = MatrixSpec { folder: super::cases::folder(model), ..spec };
                return vec![Effect::Compare(CompareRequest::Matrix(model.workbench.texts(), spec, jobs))];
            }
            Err((field, error)) => {
                form.field = field;
                form.error = Some(error);
            }
        },
        _ => {}
    }
    Vec::new()
}

/// Returns the number of lines that a step moves; `None` for other steps.
fn lines(model: &Model, step: Step) -> Option<isize> {
    let page = isize::from(super::keys::page_rows(model));
    match step {
        Step::Up => Some(-1),
        Step::Down => Some(1),
        Step::PageUp => Some(-page),
        Step::PageDown => Some(page),
        Step::Top => Some(isize::MIN),
        Step::Bottom => Some(isize::MAX),
        _ => None,
    }
}

fn in_list(model: &mut Model, step: Step) -> Vec<Effect> {
    let by = lines(model, step);
    let compare = &mut model.compare;
    let all = compare.matrices.as_deref().unwrap_or_default();
    if let Some(by) = by {
        compare.chosen = compare.chosen.saturating_add_signed(by).min(all.len().saturating_sub(1));
    }
    let Some(line) = all.get(compare.chosen).filter(|_| step == Step::Open) else { return Vec::new() };
    let (id, damage) = (line.id.clone(), line.state.as_ref().err().map(ToString::to_string));
    let running = compare.matrix.as_ref().filter(|matrix| matrix.running).map(|matrix| matrix.id.clone());
    match (running, damage) {
        (Some(running), _) if running == id => compare.page = Page::Matrix,
        (Some(_), _) => model.show_toast(Tone::Info, "a matrix is running: stop it before you open another"),
        (None, Some(damage)) => model.show_toast(Tone::Bad, damage),
        (None, None) => return vec![Effect::Compare(CompareRequest::OpenMatrix(id))],
    }
    Vec::new()
}

fn in_matrix(model: &mut Model, step: Step) -> Vec<Effect> {
    let jobs = model.compare.form.spec().map_or(JOBS, |(_, jobs)| jobs);
    let by = lines(model, step);
    let Some(matrix) = &mut model.compare.matrix else { return Vec::new() };
    if let Some(by) = by {
        matrix.go(by);
    }
    match step {
        Step::Left => matrix.go_trial(-1),
        Step::Right => matrix.go_trial(1),
        Step::Open => {
            let session = matrix.session();
            return session.map(|name| Effect::Compare(CompareRequest::Find(name, None))).into_iter().collect();
        }
        Step::Beside => {
            let names = matrix.comparable_sessions();
            return compare::sessions(model, names);
        }
        Step::StopMatrix => {
            matrix.stopping = true;
            return vec![Effect::StopMatrix];
        }
        Step::ResumeMatrix => return vec![Effect::Compare(CompareRequest::ResumeMatrix(matrix.id.clone(), jobs))],
        _ => {}
    }
    Vec::new()
}
