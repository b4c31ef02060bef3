//! Breakpoints: a run stops before a call, or when a program has ended, until the user lets it continue.
//!
//! In: what a run has come to. Out: nothing changes; question and answer are recorded, so that a replay stops at the same places. What the
//! user may inspect there is in the session.

use std::sync::atomic::Ordering;

use ptc_core::lisp::{Memory, Outcome, Signal};
use ptc_core::value::{Bounds, Value};

use super::state::{Driver, Halt};
use crate::event::{Address, QuestionAsked, QuestionKind};
use crate::port::{Breakpoint, Checkpoint, Question};
use crate::tool::Tool;

/// The number of the question at a breakpoint among those of a call.
const AT_CALL: u32 = 3;
/// Characters of a value that a question shows.
const SHOWN: usize = 500;
/// The only answer.
const CONTINUE: &str = "continue";

impl Driver<'_> {
    /// Stops before a tool is called with these arguments, if a breakpoint asks for that.
    pub(super) async fn break_at_call(&self, at: &Address, tool: &Tool, args: &Value) -> Result<(), Halt> {
        let asked = at.question(AT_CALL);
        if !self.breaks(&asked, &[Breakpoint::Tool(tool.name.clone())]) {
            return Ok(());
        }
        let text = format!("The run stopped before calling (tool/{} {})", tool.name, printed(args));
        self.wait_at(at, asked, text).await
    }

    /// Stops after a program has ended, if a breakpoint asks for that.
    pub(super) async fn break_at_end(&self, at: &Address, outcome: &Outcome, before: &Memory) -> Result<(), Halt> {
        let mut defined: Vec<(&str, &Value)> = outcome
            .memory
            .iter()
            .filter(|(name, binding)| before.get(*name) != Some(*binding))
            .map(|(name, binding)| (name.name(), &binding.value))
            .collect();
        defined.sort_by_key(|(name, _)| *name);
        let failed = match &outcome.result {
            Ok((Signal::Fail, value)) => Some(format!("(fail {})", printed(value))),
            Ok(_) => None,
            Err(error) => Some(format!("{}: {}", error.reason.name(), error.message())),
        };
        let met = defined.iter().map(|(name, _)| Breakpoint::Def((*name).to_owned()));
        let met: Vec<Breakpoint> = met.chain(failed.is_some().then_some(Breakpoint::Error)).collect();
        let asked = at.question(self.questions.load(Ordering::Relaxed));
        if met.is_empty() || !self.breaks(&asked, &met) {
            return Ok(());
        }
        self.questions.fetch_add(1, Ordering::Relaxed);
        let lines = defined.iter().map(|(name, value)| format!("\n{name} = {}", printed(value)));
        let lines: String = lines.chain(failed.map(|words| format!("\n{words}"))).collect();
        self.wait_at(at, asked, format!("The run stopped after its program:{lines}")).await
    }

    /// Returns whether the run stops at one of these breakpoints.
    fn breaks(&self, question: &Address, met: &[Breakpoint]) -> bool {
        let recorded = self.ports.history.asked(question, &QuestionKind::Breakpoint);
        recorded.unwrap_or_else(|| self.ports.human.stops_at(Checkpoint::Breakpoints(met)))
    }

    /// Waits until the user lets the run continue.
    async fn wait_at(&self, at: &Address, asked: Address, text: String) -> Result<(), Halt> {
        // A recorded question keeps its own answer: older sessions have `go on`.
        let recorded = self.ports.history.question(&asked);
        let options = recorded.map_or_else(|| vec![CONTINUE.to_owned()], |recorded| recorded.options);
        let kind = QuestionKind::Breakpoint;
        self.emit(&asked, QuestionAsked { kind, text: text.clone(), options: options.clone() }).await?;
        self.answer(at, Question { address: asked, text, options, gate: None }).await.map(drop)
    }
}

fn printed(value: &Value) -> String {
    value.print(Bounds { items: None, chars: Some(SHOWN) }).text
}
