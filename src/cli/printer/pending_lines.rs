//! Lines that are printed later, or not at all: questions that the user may be asked, waits that may be over, events that were printed before.

use std::io::Write;

use super::{Printer, Questions};
use crate::event::{Address, Envelope, Event};

impl<W: Write> Printer<W> {
    /// Takes an event that was printed before. A question that still waits for its answer is held: it is asked again.
    pub(super) fn take_printed(&mut self, envelope: &Envelope) {
        if let Questions::Held(held) = &mut self.questions {
            let is_wait = matches!(envelope.event, Event::RunWait(_));
            held.retain(|question| is_wait || !is_closed(&question.address, envelope));
            if matches!(envelope.event, Event::QuestionAsked(_)) {
                held.push(envelope.clone());
            }
        }
        self.apply(envelope);
        _ = self.definitions.apply(envelope);
        if matches!(envelope.event, Event::TurnEnd(_)) {
            self.records.forget(&envelope.address);
        }
    }

    /// Leaves out the question at this address, which is about to be put to the user.
    pub(in crate::cli) fn omit_question(&mut self, at: &Address) {
        if let Questions::Held(held) = &mut self.questions {
            held.retain(|question| question.address != *at);
        }
        self.end_reply();
    }

    /// Prints the held questions that are not put to the user any more.
    pub(super) fn print_held(&mut self, is_closed: impl Fn(&Address) -> bool) {
        let Questions::Held(held) = &mut self.questions else { return };
        let (closed, open): (Vec<_>, Vec<_>) =
            std::mem::take(held).into_iter().partition(|question| is_closed(&question.address));
        *held = open;
        for question in &closed {
            self.print_applied(question);
        }
    }

    /// Prints the question that the run waits for. While a run is printed as it happens, only at its end: a recorded wait is over.
    pub(super) fn wait(&mut self, question: &str) {
        let line = format!("waiting for the answer to {question}");
        match self.questions {
            Questions::Here => self.line(&line),
            Questions::Held(_) => self.waiting = Some(line),
        }
    }
}

/// Returns whether this event answers a question, or ends the call, program, turn or run that asked it. Other agents continue
/// while a question waits for the user.
pub(super) fn is_closed(question: &Address, envelope: &Envelope) -> bool {
    let ends = matches!(
        envelope.event,
        Event::ToolEnd(_)
            | Event::ProgramEnd(_)
            | Event::TurnEnd(_)
            | Event::RunEnd(_)
            | Event::RunWait(_)
            | Event::Interrupt(_)
            | Event::AnswerGiven(_)
    );
    ends && question.is_within(&envelope.address)
}
