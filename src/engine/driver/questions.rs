//! Questions to the user: of tools and modes, of a model that is a user, and what happens when no answer comes.
//!
//! In: a question. Out: its answer, recorded or given now; without one the run waits, or ends because it was stopped.

use std::sync::atomic::Ordering;

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::state::{CallState, Driver, Halt};
use crate::engine::history::{answer_text, was_asked};
use crate::event::{Address, AnswerGiven, Answerer, JsonText, QuestionAsked, QuestionKind};
use crate::model::{Request, everything};
use crate::port::{Question, SinkError};
use crate::tool::ToolQuestion;

/// Numbers of the questions of a tool during one attempt of its call; those below the first are about the call.
const DURING_ATTEMPT: u32 = 1_000;

/// The event in place of an answer that no user gave.
fn unanswered() -> AnswerGiven {
    AnswerGiven { by: Answerer::Default, value: JsonText::of(&Json::from(Node::Null)), edited: false }
}

impl Driver<'_> {
    /// Asks the user and waits for the answer. `Err` with [`Halt::Wait`]: none is available.
    pub(super) async fn ask_user(&self, at: &Address, text: String, options: Vec<String>) -> Result<String, Halt> {
        let asked = at.question(self.questions_at(at));
        let shown = match options.as_slice() {
            [] => text.clone(),
            options => format!("{text}\n({})", options.join(" | ")),
        };
        self.emit(&asked, QuestionAsked { kind: QuestionKind::Ask, text, options }).await?;
        self.answer(at, Question { address: asked, text: shown, options: Vec::new(), gate: None }).await
    }

    /// Asks for the reply of a model that is the user and did not answer: the answer, when it is given later.
    pub(super) async fn ask_for_reply(&self, at: &Address, request: &Request) -> Result<String, Halt> {
        let asked = at.question(self.questions_at(at));
        let text = format!("What does the model reply to the request of {at}?");
        let kind = QuestionKind::Reply;
        self.emit(&asked, QuestionAsked { kind, text, options: Vec::new() }).await?;
        if !self.is_awaited(&asked, &QuestionKind::Reply) {
            return Err(Halt::Wait(asked));
        }
        let question = Question { address: asked, text: everything(request), options: Vec::new(), gate: None };
        self.answer(at, question).await
    }

    /// Returns the answer to a question that was emitted, and emits it.
    pub(super) async fn answer(&self, at: &Address, question: Question) -> Result<String, Halt> {
        let answer = if let Some(given) = self.ports.history.answer(&question.address) {
            Some(answer_text(&given, question.gate.map(|_| question.text.as_str())))
        } else {
            let _wait = self.input.tree.waiting();
            self.ports.human.ask(&question, self.ports.stop.token()).await
        };
        if answer.is_none() {
            self.stop_as_recorded(at);
        }
        match answer {
            Some(answer) => {
                let edited = question.gate.is_some() && answer != question.text;
                let as_it_is = question.gate.is_some() && !edited;
                let value = if as_it_is { Json::from(Node::Bool(true)) } else { Json::str(answer.as_str()) };
                let value = JsonText::of(&value);
                self.emit(&question.address, AnswerGiven { by: Answerer::User, value, edited }).await?;
                Ok(answer)
            }
            None if self.ports.stop.reason().is_some() => Err(self.interrupted(at).await),
            None => Err(Halt::Wait(question.address)),
        }
    }

    /// Begins an attempt of a call, with the recorded questions of that attempt, their answers, and replies of the model in their order.
    pub(super) async fn begin_attempt(&self, at: &Address, state: &mut CallState) -> Result<(), Halt> {
        state.attempt += 1;
        state.next = DURING_ATTEMPT * state.attempt;
        loop {
            if self.repeat_sample(at, state.next).await? {
                state.next += 1;
                continue;
            }
            let address = at.question(state.next);
            let Some(asked) = self.ports.history.question(&address) else { return Ok(()) };
            self.emit(&address, asked).await?;
            match self.ports.history.answer(&address) {
                Some(given) => self.emit(&address, given).await?,
                // The session ended while the user was asked: its caller is gone.
                None if !self.ports.history.is_replay() => self.emit(&address, unanswered()).await?,
                None => {}
            }
            state.next += 1;
        }
    }

    /// Asks the user what a tool asks during its call. Without an answer the tool continues without one: the run never waits for it.
    pub(super) async fn ask_for_tool(
        &self,
        at: &Address,
        state: &mut CallState,
        asked: ToolQuestion,
    ) -> Result<(), SinkError> {
        let _asking = self.input.tree.asking().await;
        let ToolQuestion { text, options, answer } = asked;
        let address = at.question(state.next);
        state.next += 1;
        let (kind, shown, offered) = (QuestionKind::Elicit, text.clone(), options.clone());
        self.emit(&address, QuestionAsked { kind, text, options }).await?;
        let question = Question { address, text: shown, options: offered, gate: None };
        let given = {
            let _wait = self.input.tree.waiting();
            self.ports.human.ask(&question, self.ports.stop.token()).await
        };
        let event = match &given {
            Some(text) => {
                AnswerGiven { by: Answerer::User, value: JsonText::of(&Json::str(text.as_str())), edited: false }
            }
            None => unanswered(),
        };
        self.emit(&question.address, event).await?;
        // A call that has ended meanwhile needs no answer.
        _ = answer.send(given);
        Ok(())
    }

    /// Questions are numbered per turn; a call asks one.
    fn questions_at(&self, at: &Address) -> u32 {
        if at.is_call() { 0 } else { self.questions.fetch_add(1, Ordering::Relaxed) }
    }

    /// Returns whether the recording has this question without an answer, or its answer was given beforehand.
    pub(super) fn is_awaited(&self, question: &Address, kind: &QuestionKind) -> bool {
        was_asked(self.ports.history, question, kind) || self.ports.human.has_answer(question)
    }

    /// Stops the run with the recorded stop of the turn of this address.
    pub(super) fn stop_as_recorded(&self, at: &Address) {
        if let Some(interrupt) = self.ports.history.interrupt(&at.turn_part()) {
            self.ports.stop.now(interrupt);
        }
    }

    /// Records that the run was stopped; the failure it ends with.
    pub(super) async fn interrupted(&self, at: &Address) -> Halt {
        let turn = at.turn_part();
        self.stop_as_recorded(at);
        let interrupt = self.ports.stop.reason().cloned().unwrap_or_default();
        if !self.is_stop_recorded.swap(true, Ordering::Relaxed)
            && let Err(error) = self.emit(&turn, interrupt.clone()).await
        {
            return error.into();
        }
        Halt::Fail(self.stopped(Some(&interrupt)))
    }
}
