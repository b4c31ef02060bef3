//! The dialog of a re-run: from where, with which model and mode.

use crate::agent::Mode;
use crate::event::Address;
use crate::tui::archive::{Ask, Points, Rerunning};
use crate::tui::backend::SessionKey;
use crate::tui::form::{Choice, Field, Form};

/// A re-run that is being described.
#[derive(Debug, Clone)]
pub struct Rerun {
    /// The session.
    pub key: SessionKey,
    /// Where it can be run again from.
    pub points: Points,
}

impl Rerun {
    /// The dialog while the session is read.
    pub fn open(key: SessionKey) -> (Form, Self) {
        let form = Form {
            title: "Re-run: live again on the same inputs, in a new session".to_owned(),
            verb: "run",
            waiting: Some("reading the session …"),
            held: Some(Vec::new()),
            ..Form::default()
        };
        (form, Self { key, points: Points::default() })
    }

    /// The session was read.
    pub fn filled(&mut self, form: &mut Form, points: Points) {
        self.points = points;
        form.waiting = None;
        let start = |run: &Address| Choice::new(run.as_str(), "everything is asked anew");
        let runs = self.points.runs.iter().map(start);
        let roots = self.points.turns.iter().map(|turn| &turn.address).filter(|turn| turn.depth() == 0);
        let turns = roots.map(|turn| Choice::new(turn.as_str(), "the turns before it are kept"));
        let from = runs.chain(turns).collect();
        form.put(Field::choice("from", "A run from its start, or from a turn on.", from, 0));
        form.put(Field::line("model", "The model that is asked.", self.points.model.clone()));
        form.focus = 1;
        self.changed(form);
    }

    /// The mode can be changed from the start of a run only.
    pub fn changed(&mut self, form: &mut Form) {
        if form.choice("from").contains('/') {
            form.remove("mode");
        } else if form.field("mode").is_none() {
            let recorded = Choice::new("as recorded", self.points.mode.clone());
            let modes = Mode::ALL.iter().map(|mode| Choice::new(mode.name(), ""));
            let options = std::iter::once(recorded).chain(modes).collect();
            form.put(Field::choice("mode", "How the model works.", options, 0));
        }
    }

    /// The re-run that is described.
    pub fn submit(&self, form: &Form) -> Ask {
        let mode = (form.chosen("mode") > 0).then(|| form.choice("mode").to_owned());
        let model = form.said("model").filter(|model| *model != self.points.model);
        Ask::Rerun(self.key.clone(), Rerunning { from: form.choice("from").to_owned(), model, mode })
    }
}
