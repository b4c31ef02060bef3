//! Pinned programs: a turn's program taken out of a session, as an agent that needs no model.

use ptc_core::value::Json;

use super::fork::inputs_at;
use super::resume::unusable;
use super::{StartError, Workbench};
use crate::agent::{Agent, Inputs, Mode, StepFold};
use crate::event::Address;
use crate::replay::Recording;
use crate::session::Session;

impl Workbench {
    /// The agent of a session whose model is the program of the turn at this address, with the definitions that earlier turns of the
    /// run made. Tools stay as they are; child agents and questions still need a model or a user.
    pub fn pin(&self, session: &Session, turn: &Address) -> Result<Agent, StartError> {
        if let Some(origin) = session.header.foreign_origin() {
            return Err(unusable(format!(
                "{} was {origin}: its programs can be looked at, but not run again, because it does not hold what they were given",
                session.header.id
            )));
        }
        let run = turn.run_part();
        let mut fold = StepFold::default();
        session.events().filter(|envelope| envelope.run() == run).for_each(|envelope| fold.apply(&envelope));
        let recording = Recording::of(session).map_err(unusable)?;
        let Inputs { agent, context } = inputs_at(&recording, turn)?;
        let step = fold.step();
        let place = step.turns.iter().position(|known| known.address.as_ref() == Some(turn));
        let place = place.ok_or_else(|| unusable(format!("the session has no turn {turn}")))?;
        let program = |place: usize| step.turns[place].program.clone();
        let last = program(place).ok_or_else(|| unusable(format!("{turn} ran no program")))?;
        // A definition that was changed at a turn of a fork precedes its program.
        let defined = |place: usize| {
            let edits = step.turns[place].edits.iter();
            edits.filter_map(|edit| Some(format!("(def {} {})", edit.target.strip_prefix("memory.")?, edit.text())))
        };
        let earlier = |place: usize| program(place).filter(|_| step.turns[place].success);
        let earlier = (0..place).flat_map(|place| defined(place).chain(earlier(place)));
        let whole: Vec<String> = earlier.chain(defined(place)).chain([last]).collect();
        Ok(Agent { mode: Mode::PtcLisp, model: None, context, ..agent }
            .with_option("program", Json::str(whole.join("\n")))
            .with_option("completion", Json::str("return_required"))
            .once())
    }
}
