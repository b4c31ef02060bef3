//! The dialog that asks again without a part of a request.
//!
//! In: an open turn. Out: which part is dropped, and how often the model is asked without it. It must never read the session.

use super::{Dialog, Purpose};
use crate::event::Address;
use crate::tui::compare::{CompareRequest, MOST_SIDES, WithoutRequest};
use crate::tui::form::{Choice, Field, Form};
use crate::tui::inspector::{Inspector, Tab};
use crate::tui::message::Effect;
use crate::workbench::RequestPlace;
use crate::workbench::format::count;
use crate::workbench::inspect::Part;

/// A request without one of its parts.
#[derive(Debug, Clone)]
pub struct Without {
    session: String,
    turn: Address,
    /// The parts of the request.
    parts: Vec<Droppable>,
}

/// A part of a request, and whether it can be dropped.
#[derive(Debug, Clone)]
struct Droppable {
    place: RequestPlace,
    title: String,
    /// The reason if it cannot be dropped.
    fixed: Option<String>,
}

impl Without {
    /// The dialog about the open turn: the selected part is chosen, else the largest.
    pub fn open(inspector: &Inspector) -> Dialog {
        let session = inspector.subject.name();
        let sections: Vec<_> =
            inspector.parts(Tab::Request).iter().filter_map(|part| Some((part.place.clone()?, part))).collect();
        let selected = inspector.part().and_then(|part| part.place.as_ref());
        let chosen = sections.iter().position(|(place, _)| Some(place) == selected);
        let can_go = |at: &usize| sections[*at].1.fixed.is_none();
        let largest = || (0..sections.len()).filter(can_go).max_by_key(|at| sections[*at].1.bytes);
        let choice = |(_, part): &(RequestPlace, &Part)| {
            let tokens = count(part.tokens.unwrap_or_default());
            let meaning = match &part.fixed {
                Some(reason) => format!("cannot be dropped: {reason}"),
                None => format!("~{tokens} tok · {}", part.note),
            };
            Choice::new(part.title.clone(), meaning)
        };
        let parts: Vec<Choice> = sections.iter().map(choice).collect();
        let times = (1..MOST_SIDES).map(|times| Choice::new(times.to_string(), "")).collect();
        let form = Form {
            title: format!("Drop a part of the request of {} and re-run", inspector.turn),
            verb: "ask",
            fields: vec![
                Field::choice(
                    "part",
                    "Part to omit, here and in the following turns. A call is omitted with its results.",
                    parts,
                    chosen.or_else(largest).unwrap_or_default(),
                ),
                Field::choice("times", "Number of runs without it, shown next to this one.", times, 0),
            ],
            ..Form::default()
        };
        let droppable =
            |(place, part): (_, &Part)| Droppable { place, title: part.title.clone(), fixed: part.fixed.clone() };
        let parts = sections.into_iter().map(droppable).collect();
        Dialog::new(form, Purpose::Without(Self { session, turn: inspector.turn.clone(), parts }))
    }

    /// Returns the effect that asks the model without the part.
    ///
    /// Errors: the request has no part, or the chosen one cannot be dropped.
    pub fn submit(&self, form: &Form) -> Result<Effect, String> {
        let part = self.parts.get(form.chosen("part")).cloned().ok_or("the request has no part to drop")?;
        let Droppable { place, title, fixed } = part;
        if let Some(reason) = fixed {
            return Err(format!("{title} cannot be dropped: {reason}"));
        }
        let (name, turn, times) = (self.session.clone(), self.turn.clone(), form.chosen("times") + 1);
        Ok(Effect::Compare(CompareRequest::Without(WithoutRequest { name, turn, place, title, times })))
    }
}
