//! Where a session can be forked, and what stands there: what a dialog shows before anything is changed.

use super::fork::There;
use super::replies::Told;
use super::resume::unusable;
use super::{StartError, Workbench};
use crate::event::{Address, Event, JsonText};
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
    /// A program was found in its reply.
    pub program: bool,
    /// The names that it defined.
    pub defined: Vec<String>,
}

/// What stands at the target of an edit, and what the request of its turn asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standing {
    /// The text; `None` where nothing stands.
    pub text: Option<String>,
    /// What the model is asked for: program, json, text, `control_json`; empty where no request was made.
    pub want: String,
    /// JSON Schema of the answer.
    pub schema: Option<JsonText>,
    /// Names of the tools that the model may call natively.
    pub tools: Vec<String>,
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
                let told = Told::new(&recording, &address);
                let (program, defined) = (told.program().is_some(), told.defined());
                turns.push(TurnPoints { address, stages, calls: Vec::new(), program, defined });
            } else if line.k == "tool.call"
                && let Some(turn) = turns.iter_mut().rfind(|turn| turn.address == address.turn_part())
                && let Some(Event::ToolCall(call)) = session.event(place).map(|envelope| envelope.event)
            {
                turn.calls.push((address, call.name));
            }
        });
        Ok(turns)
    }

    /// What stands at the target of an edit at a point (`ADDRESS:STAGE`).
    pub fn stands_at(&self, session: &Session, at: &str, target: &str) -> Result<Standing, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let point = Point::find(&recording, at, Stage::Request).map_err(unusable)?;
        let there = There::of(&recording, &point.meets)?;
        let text = there.text(&recording, target, &point);
        let asked = Told::new(&recording, &point.address).request().map(|made| Standing {
            want: made.want.clone(),
            schema: made.schema.clone(),
            tools: made.tools.iter().map(|tool| tool.name.clone()).collect(),
            ..Standing::default()
        });
        Ok(Standing { text, ..asked.unwrap_or_default() })
    }
}
