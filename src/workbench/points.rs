//! The points at which a session can be forked, and the texts there, for a dialog before anything is changed.
//!
//! In: a session, a point, the target of an edit. Out: turns with their stages; one text with what its request asks for. It must never
//! change anything.

use std::sync::Arc;

use super::fork::{inputs_at, standing};
use super::replies::RecordedTurn;
use super::resume::unusable;
use super::{Definitions, StartError, Workbench};
use crate::agent::Inputs;
use crate::engine::{Reader, Turn};
use crate::event::{Address, Event, JsonText};
use crate::replay::{Point, Recording, Stage};
use crate::session::{Session, Summary, summarize};

/// Points at which a session can be forked and run again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForkPoints {
    /// The session's line in the list.
    pub summary: Box<Summary>,
    /// Root runs.
    pub runs: Vec<Address>,
    /// Every turn, in the order in which they began.
    pub turns: Vec<TurnPoints>,
}

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
    /// Its run has programs, so that definitions can be edited.
    pub has_memory: bool,
}

/// The text at the target of an edit, and what the request of its turn asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurrentText {
    /// The text; `None` where the target has none.
    pub text: Option<String>,
    /// Form of the reply that was requested: program, json, text, `control_json`; empty where no request was made.
    pub want: String,
    /// JSON Schema of the answer.
    pub schema: Option<JsonText>,
    /// Names of the tools that the model may call natively.
    pub tools: Vec<String>,
    /// Judges another text for the target; `None` where the agent cannot be read any more.
    pub reader: Option<Arc<Reader>>,
}

impl Workbench {
    /// Returns the points at which a session can be forked and run again.
    ///
    /// Errors: the session cannot be replayed.
    pub fn fork_points(&self, session: &Session) -> Result<ForkPoints, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let mut turns: Vec<TurnPoints> = Vec::new();
        let has_programs = |run: &Address| {
            let agent = recording.run_start(run).and_then(|start| Inputs::of(start).ok());
            agent.is_none_or(|inputs| inputs.agent.has_programs())
        };
        session.visit(|place, line| {
            let address = Address::from(&*line.r);
            if line.k == "turn.start" {
                let has =
                    |stage: &Stage| Point::find(&recording, &format!("{address}:{}", stage.name()), *stage).is_ok();
                let stages = [Stage::Request, Stage::Reply, Stage::After].into_iter().filter(has).collect();
                let recorded_turn = RecordedTurn::new(&recording, &address);
                let (program, defined) = (recorded_turn.program().is_some(), recorded_turn.defined());
                let run = address.run_part();
                let before = turns.iter().rev().find(|turn| turn.address.run_part() == run);
                let has_memory = before.map_or_else(|| has_programs(&run), |turn| turn.has_memory);
                turns.push(TurnPoints { address, stages, calls: Vec::new(), program, defined, has_memory });
            } else if line.k == "tool.call"
                && let Some(turn) = turns.iter_mut().rfind(|turn| turn.address == address.turn_part())
                && let Some(Event::ToolCall(call)) = session.event(place).map(|envelope| envelope.event)
            {
                turn.calls.push((address, call.name));
            }
        });
        let runs = session.skeleton().roots().map(|run| run.address.clone()).collect();
        Ok(ForkPoints { summary: Box::new(summarize(session)), runs, turns })
    }

    /// Returns the text at the target of an edit at a point (`ADDRESS:STAGE`).
    pub fn current_text(&self, session: &Session, at: &str, target: &str) -> Result<CurrentText, StartError> {
        let recording = Recording::of(session).map_err(unusable)?;
        let point = Point::find(&recording, at, Stage::Request).map_err(unusable)?;
        let there = inputs_at(&recording, &point.target)?;
        let text = standing(&there, &recording, target, &point);
        let asked = RecordedTurn::new(&recording, &point.address).request().map(|made| CurrentText {
            want: made.want.name().to_owned(),
            schema: made.schema.clone(),
            tools: made.tools.iter().map(|tool| tool.name.clone()).collect(),
            ..CurrentText::default()
        });
        let current = CurrentText { text, ..asked.unwrap_or_default() };
        let reader = reader(&recording, &point, &current).map(Arc::new);
        Ok(CurrentText { reader, ..current })
    }
}

/// Returns the reader that judges a text at a point.
fn reader(recording: &Recording, point: &Point, current: &CurrentText) -> Option<Reader> {
    let turn = point.address.turn_part();
    let (run, number) = (turn.run_part(), turn.turn_number()?);
    let start = recording.run_start(&run)?;
    let turns = || (1..=number).flat_map(|number| recording.at(&run.turn(number)));
    let edits = turns().filter_map(|envelope| match &envelope.event {
        Event::Edit(edit) => Some(edit),
        _ => None,
    });
    let before = if point.stage == Stage::After { number } else { number - 1 };
    let kind = recording.at(&turn).iter().find_map(|envelope| match &envelope.event {
        Event::TurnStart(start) => Some(start.kind_name().to_owned()),
        _ => None,
    });
    let turn = Turn {
        want: current.want.clone(),
        kind: kind.unwrap_or_default(),
        offers: current.tools.clone(),
        memory: defined(recording, &run, before),
    };
    Some(Reader::of(start, edits, usize::MAX)?.for_turn(turn))
}

/// The names that a run has defined after `turns` turns, with those of the run that it continues.
fn defined(recording: &Recording, run: &Address, turns: u32) -> Vec<String> {
    let mut known = Definitions::default();
    let mut runs = vec![(run.clone(), turns)];
    while let Some(earlier) = runs.last().and_then(|(run, _)| recording.run_start(run)?.continues.as_deref()) {
        let earlier = Address::from(earlier);
        if runs.iter().any(|(known, _)| *known == earlier) {
            break;
        }
        let turns = (1..u32::MAX).take_while(|number| !recording.at(&earlier.turn(*number)).is_empty()).count();
        runs.push((earlier, u32::try_from(turns).unwrap_or(u32::MAX)));
    }
    for (run, turns) in runs.iter().rev() {
        let all = (1..=*turns).flat_map(|number| recording.at(&run.turn(number)));
        recording.at(run).iter().chain(all).for_each(|envelope| _ = known.apply(envelope));
    }
    known.names(run)
}
