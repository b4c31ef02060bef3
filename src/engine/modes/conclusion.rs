//! The way from an answer to the end of the run, or from a misfit to the next turn; shared by the modes `json` and `text`.
//!
//! In: replies that are answers, outcomes of refs. Out: decisions.

use ptc_core::lisp::Outcome;
use ptc_core::value::Json;

use super::decision::{Decision, Effects, Next, View};
use super::refs::Refs;
use super::verdict::{feedback, read_answer};
use crate::agent::{Mode, Plan, Variant};
use crate::event::{ErrorRecord, MessagePart, Role, Source};
use crate::model::Reply;

/// The state of an answer until its refs are evaluated.
#[derive(Debug)]
pub(super) struct Conclusion {
    refs: Refs,
    /// The answer whose refs are evaluated, and whether its reply becomes a message when they are missing.
    pending: Option<(Json, bool)>,
}

impl Conclusion {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { refs: Refs::new(plan), pending: None }
    }

    /// Reads a reply as the answer.
    pub(super) fn read(&mut self, view: &View<'_>, reply: &Reply, mut effects: Effects) -> Decision {
        let (answer, failure) = read_answer(view.plan, reply, &mut effects);
        match failure {
            None => self.complete(view, reply, answer.value.unwrap_or_default(), effects),
            Some(record) => {
                let parts = feedback(view.plan, &answer, &record, reply);
                miss(view, is_message(reply), record, Some(parts), effects)
            }
        }
    }

    /// Completes an answer that fits with its refs.
    pub(super) fn complete(&mut self, view: &View<'_>, reply: &Reply, answer: Json, effects: Effects) -> Decision {
        let jobs = Refs::jobs(view.plan, &answer);
        if jobs.is_empty() {
            return self.end(view, answer, is_message(reply), Vec::new(), effects);
        }
        self.pending = Some((answer, is_message(reply)));
        effects.then(Next::Evaluate(jobs))
    }

    pub(super) fn on_evaluated(&mut self, view: &View<'_>, outcomes: Vec<Outcome>) -> Decision {
        let (answer, is_message) = self.pending.take().unwrap_or_default();
        self.end(view, answer, is_message, outcomes, Effects::default())
    }

    fn end(
        &mut self,
        view: &View<'_>,
        value: Json,
        is_message: bool,
        outcomes: Vec<Outcome>,
        mut effects: Effects,
    ) -> Decision {
        match self.refs.take(view.plan, value.into(), outcomes, &mut effects) {
            Ok(answer) => effects.finish(answer),
            Err(missing) => {
                let (record, parts) = *missing;
                // The plain variant of mode `text` makes one request, whatever max_turns is.
                let is_plain = view.plan.agent.mode == Mode::Text && view.plan.variant == Variant::Plain;
                miss(view, is_message, record, parts.filter(|_| !is_plain), effects)
            }
        }
    }
}

/// Ends a turn without a usable answer: with feedback and another turn, or with the run. `is_message`: the reply becomes a message.
pub(super) fn miss(
    view: &View<'_>,
    is_message: bool,
    record: ErrorRecord,
    feedback: Option<Vec<MessagePart>>,
    mut effects: Effects,
) -> Decision {
    let reason = record.reason.clone();
    let Some(parts) = feedback.filter(|_| view.turns_after() > 0) else {
        return effects.end(Some(&reason), Some(record));
    };
    // Without a turn of the tree the next request is not made.
    if view.tree_after > 0 {
        if is_message {
            effects.add_message(Role::Assistant, Source::Reply, view.reply_part());
        }
        effects.add_message(Role::User, Source::Feedback, parts);
    }
    effects.end(Some(&reason), None)
}

/// Returns whether the reply can be sent back as a message. Providers refuse an empty message, and a call without its result.
pub(super) fn is_message(reply: &Reply) -> bool {
    reply.calls.is_empty() && !reply.text.trim().is_empty()
}
