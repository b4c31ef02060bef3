//! Where a session can be forked, and what stands there: what a dialog shows before anything is changed.

use super::fork::There;
use super::resume::unusable;
use super::{StartError, Workbench};
use crate::event::{Address, Event};
use crate::replay::{Point, Recording, Stage};
use crate::session::Session;

/// The points of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPoints {
    /// The turn.
    pub address: Address,
    /// The stages that it has; calls have theirs of their own.
    pub stages: Vec<Stage>,
    /// Its tool calls: address and name of the tool.
    pub calls: Vec<(Address, String)>,
}

impl Workbench {
    /// Every turn of a session with its points, in the order in which they began. Errors: the session cannot be replayed.
    pub fn fork_points(&self, session: &Session) -> Result<Vec<TurnPoints>, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let mut turns: Vec<TurnPoints> = Vec::new();
        session.visit(|place, line| {
            let address = Address::from(&*line.r);
            if line.k == "turn.start" {
                let has =
                    |stage: &Stage| Point::find(&recording, &format!("{address}:{}", stage.name()), *stage).is_ok();
                let stages = [Stage::Request, Stage::Reply, Stage::After].into_iter().filter(has).collect();
                turns.push(TurnPoints { address, stages, calls: Vec::new() });
            } else if line.k == "tool.call"
                && let Some(turn) = turns.iter_mut().rfind(|turn| turn.address == address.turn_part())
                && let Some(Event::ToolCall(call)) = session.event(place).map(|envelope| envelope.event)
            {
                turn.calls.push((address, call.name));
            }
        });
        Ok(turns)
    }

    /// What stands at the target of an edit at a point (`ADDRESS:STAGE`), as text; `None` where nothing does.
    pub fn stands_at(&self, session: &Session, at: &str, target: &str) -> Result<Option<String>, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let point = Point::find(&recording, at, Stage::Request).map_err(unusable)?;
        let there = There::of(&recording, &point.meets)?;
        Ok(there.text(&recording, target, &point))
    }
}
