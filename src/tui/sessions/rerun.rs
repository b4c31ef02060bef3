//! The dialogs that run a session again: on its inputs from the start or a turn, or with a new message after its end.

use super::{Dialog, Purpose};
use crate::agent::Mode;
use crate::event::Address;
use crate::session::Summary;
use crate::tui::archive::ArchiveRequest;
use crate::tui::colours::Language;
use crate::tui::draft::Draft;
use crate::tui::form::{Choice, Field, Form, Input};
use crate::workbench::{ForkPoints, RerunSpec, SessionKey};

/// A re-run that is being described.
#[derive(Debug, Clone)]
pub struct Rerun {
    /// The session.
    pub key: SessionKey,
    /// The points from which it can be run again.
    pub points: ForkPoints,
}

impl Rerun {
    /// The dialog while the session is read.
    pub fn open(key: SessionKey) -> Dialog {
        let form = Form {
            title: "Re-run: live again on the same inputs, in a new session".to_owned(),
            verb: "run",
            waiting: Some("reading the session …"),
            held: Some(Vec::new()),
            ..Form::default()
        };
        let requests = vec![ArchiveRequest::ForkPoints(key.clone())];
        Dialog { form, purpose: Purpose::Rerun(Self { key, points: ForkPoints::default() }), requests }
    }

    /// Fills the form after the session was read.
    pub fn filled(&mut self, form: &mut Form, points: ForkPoints) -> Vec<ArchiveRequest> {
        self.points = points;
        form.waiting = None;
        let start = |run: &Address| Choice::new(run.as_str(), "all turns run again");
        let runs = self.points.runs.iter().map(start);
        let roots = self.points.turns.iter().map(|turn| &turn.address).filter(|turn| turn.depth() == 0);
        let turns = roots.map(|turn| Choice::new(turn.as_str(), "earlier turns are kept"));
        let from = runs.chain(turns).collect();
        form.put(Field::choice("from", "Start: a run, or a turn.", from, 0));
        form.put(Field::line("model", "The model.", last_model(&self.points.summary)));
        form.focus = 1;
        self.changed(form);
        look_at(last_model(&self.points.summary))
    }

    /// The mode can be changed from the start of a run only.
    pub fn changed(&mut self, form: &mut Form) {
        if form.choice("from").contains('/') {
            form.remove("mode");
        } else if form.field("mode").is_none() {
            let recorded = Choice::new("as recorded", self.points.summary.mode.clone());
            let modes = Mode::ALL.iter().map(|mode| Choice::new(mode.name(), ""));
            let options = std::iter::once(recorded).chain(modes).collect();
            form.put(Field::choice("mode", "The mode.", options, 0));
        }
    }

    /// The re-run that is described.
    pub fn submit(&self, form: &Form) -> ArchiveRequest {
        let from = Some(form.choice("from").to_owned()).filter(|from| !from.is_empty());
        let model = form.entered("model").filter(|model| *model != last_model(&self.points.summary));
        // The first choice is the recorded mode.
        let mode = form.chosen("mode").checked_sub(1).and_then(|at| Mode::ALL.get(at).copied());
        ArchiveRequest::Rerun(self.key.clone(), RerunSpec { from, model, mode, agent: None })
    }
}

/// The model that answered last.
fn last_model(summary: &Summary) -> String {
    summary.models.last().cloned().unwrap_or_default()
}

/// Requests whether a recorded model can be used here.
fn look_at(model: String) -> Vec<ArchiveRequest> {
    if model.is_empty() { Vec::new() } else { vec![ArchiveRequest::LookAtModel(model)] }
}

/// Empties the field of a model that cannot be used, unless the user has written there.
pub fn ask_for_model(form: &mut Form, unusable: &str) {
    let Some(field) = form.field_mut("model") else { return };
    if let Input::Line(draft) = &mut field.input
        && draft.text() == unusable
    {
        *draft = Draft::default();
        field.start_with(String::new());
        field.hint = "The model: the recorded one cannot be used here, so name another one.";
    }
}

/// A message that is being written to a finished run.
#[derive(Debug, Clone)]
pub struct Message {
    /// The session.
    pub key: SessionKey,
    /// The model that answered so far.
    model: String,
}

impl Message {
    /// The dialog.
    pub fn open(session: &Summary) -> Dialog {
        let model = last_model(session);
        let form = Form {
            title: "New message: the conversation continues in a new session".to_owned(),
            verb: "send",
            fields: vec![
                Field::text("message", "The next message; it is not a template.", "", Language::Plain),
                Field::line("model", "The model.", model.clone()),
            ],
            ..Form::default()
        };
        let requests = look_at(model.clone());
        Dialog { form, purpose: Purpose::Message(Self { key: session.key(), model }), requests }
    }

    /// The message.
    ///
    /// Errors: it is empty.
    pub fn submit(&self, form: &Form) -> Result<ArchiveRequest, String> {
        let message = form.entered("message").ok_or("an empty message is not sent: write one")?;
        let model = form.entered("model").filter(|model| *model != self.model);
        Ok(ArchiveRequest::Continue(self.key.clone(), message, model))
    }
}
