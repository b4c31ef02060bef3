//! Judges the replies of a turn while they are typed or while they arrive, by the machine that reads them in a run.
//!
//! In: how a run began, what its turn asks for, a text. Out: its validity, and remarks about it. Nothing is run or called.

use std::sync::Arc;

use ptc_core::lisp::Dialect;
use ptc_core::signature;
use ptc_core::value::Json;

use super::input::EditedInputs;
use super::modes::{Remark, ReplyJudgement, ReplyValidity, Start, field, machine, program_judged, remark, uncallable};
use crate::agent::{Agent, Completion, LintInputs, Mode, Plan};
use crate::event::{Edit, RunStart};
use crate::model::ManualReply;

/// Targets of edits that change one turn, not the agent.
const OF_A_TURN: [&str; 2] = ["reply", "result"];

/// The kind of reply that a turn asks for, and the inputs of its programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// program, json, text, `control_json`
    pub want: String,
    /// normal, `must_return` or retry, where the mode knows them.
    pub kind: String,
    /// Names of the tools that can be called natively.
    pub offers: Vec<String>,
    /// The names that earlier programs of the run defined.
    pub memory: Vec<String>,
}

/// Reads the replies of one turn.
#[derive(Debug, Clone)]
pub struct Reader {
    plan: Arc<Plan>,
    turn: Turn,
    given: LintInputs,
}

impl PartialEq for Reader {
    /// Readers of the same plan for the same turn.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan) && self.turn == other.turn
    }
}

impl Reader {
    /// The reader of a recorded run after these edits, for a turn that asks for nothing yet; `None` when its agent cannot be read any more.
    /// A context of more bytes is as good as unknown.
    pub fn of<'e>(start: &RunStart, edits: impl Iterator<Item = &'e Edit>, context_bytes: usize) -> Option<Self> {
        let agent = Agent::recorded(&start.agent.toml).ok()?;
        let changes = |edit: &&Edit| !OF_A_TURN.contains(&edit.target.as_str());
        let edits: Vec<Edit> = edits.filter(changes).cloned().collect();
        let (plan, context) = match edits.as_slice() {
            [] => (Plan::new(&agent).ok()?, None),
            edits => {
                let edited = EditedInputs::of(&agent, &start.context.json(), edits).ok()?;
                (edited.plan, Some(edited.context.to_value()))
            }
        };
        let known = start.context.as_str().len() <= context_bytes;
        let mut given = LintInputs {
            context: known.then(|| context.unwrap_or_else(|| start.context.value())),
            ..LintInputs::by(&plan)
        };
        let defined = edits.iter().filter_map(|edit| edit.target.strip_prefix("memory."));
        given.memory.extend(defined.map(ToOwned::to_owned));
        Some(Self { plan: Arc::new(plan), turn: Turn::default(), given })
    }

    /// A reader for a turn.
    #[must_use]
    pub fn for_turn(&self, turn: Turn) -> Self {
        let explicit = self.plan.agent.mode == Mode::PtcLisp && self.plan.settings.completion == Completion::Explicit;
        let closing = ["must_return", "retry"].contains(&turn.kind.as_str());
        let memory = self.given.memory.iter().chain(&turn.memory).cloned().collect();
        let given = LintInputs { memory, must_end: explicit && closing, ..self.given.clone() };
        Self { plan: self.plan.clone(), turn, given }
    }

    /// Returns whether each reply is a control object.
    pub fn wants_control(&self) -> bool {
        self.turn.want == "control_json"
    }

    /// Judges a reply that is typed like this; lines that begin with `/call` are calls where tools are offered.
    pub fn typed(&self, typed: &str) -> ReplyJudgement {
        let reply = if self.turn.offers.is_empty() { ManualReply::text(typed) } else { ManualReply::typed(typed) };
        if self.turn.want.is_empty() && reply.calls.is_empty() {
            return ReplyJudgement::fine(ReplyValidity::Fits);
        }
        machine(&self.plan, Start::default()).judge(&self.plan, &self.given, &reply)
    }

    /// Judges a program of this turn.
    pub fn program(&self, program: &str) -> ReplyJudgement {
        program_judged(program, program, 0, &self.given)
    }

    /// Like `program`, for an expression that only sees definitions.
    pub fn expression(&self, expression: &str) -> ReplyJudgement {
        let given =
            LintInputs { memory: self.given.memory.clone(), dialect: Dialect::Current, ..LintInputs::default() };
        program_judged(expression, expression, 0, &given)
    }

    /// Returns the issues of a complete field of the answer, while the rest still arrives.
    pub fn field(&self, name: &str, value: &Json) -> Vec<Remark> {
        field(&self.plan, name, value).iter().map(remark).collect()
    }

    /// Returns the issues of a result of this tool; none where its signature declares no output.
    pub fn result(&self, tool: &str, value: &Json) -> Vec<Remark> {
        let output = self.plan.tool(tool).and_then(|tool| tool.signature.as_ref()?.output.as_ref());
        output.map_or_else(Vec::new, |output| signature::check(output, &value.to_value()).iter().map(remark).collect())
    }

    /// Returns the reason why the tool of this name cannot be called; `None` when it can.
    pub fn tool(&self, name: &str) -> Option<Remark> {
        let record = uncallable(&self.plan, name)?;
        Some(Remark { place: "tool_call.name".to_owned(), message: record.message, is_error: true })
    }
}
