//! Editable parts of a recorded turn: its reply as one would type it, the program in it, its definitions.
//!
//! In: a recording, a turn, the user's text. Out: texts to begin with, and the change of a fork that puts the new text in place. A program
//! is part of its reply: changing it gives another reply.

use ptc_core::value::{Json, json};

use crate::event::{Address, Event, Extract, ExtractKind, RepeatedReply, RequestMade, TextRecord};
use crate::model::ManualReply;
use crate::prompt::ptc_lisp::LISP_EVAL;
use crate::replay::Recording;

/// The target of a change that puts another program into a reply. It is recorded as an edit of the reply.
pub const PROGRAM: &str = "program";

/// A turn of a recording.
pub(super) struct RecordedTurn<'r> {
    recording: &'r Recording,
    turn: Address,
}

impl<'r> RecordedTurn<'r> {
    pub(super) fn new(recording: &'r Recording, turn: &Address) -> Self {
        Self { recording, turn: turn.turn_part() }
    }

    fn last<T>(&self, of: impl Fn(&'r Event) -> Option<T>) -> Option<T> {
        self.recording.at(&self.turn).iter().rev().find_map(|envelope| of(&envelope.event))
    }

    /// The reply that counts.
    pub(super) fn reply(&self) -> Option<ManualReply> {
        let RepeatedReply { text, calls, .. } = self.recording.reply(&self.turn);
        (!text.is_empty() || !calls.is_empty()).then_some(ManualReply { text, calls })
    }

    fn extract(&self) -> Option<&'r Extract> {
        self.last(|event| match event {
            Event::Extract(extract) => Some(extract),
            _ => None,
        })
    }

    /// The program that was found in the reply.
    pub(super) fn program(&self) -> Option<String> {
        let reply = self.reply()?;
        let called = reply.calls.iter().find(|call| call.name == LISP_EVAL);
        if let Some(args) = called.and_then(|call| json::parse(&call.args).ok()) {
            return args.get(PROGRAM).and_then(Json::as_str).map(ToOwned::to_owned);
        }
        let extract = self.extract()?;
        extract.span?;
        extract.program_in(&reply.text).map(ToOwned::to_owned)
    }

    /// The reply with its program replaced.
    pub(super) fn with_program(&self, program: &str) -> Result<ManualReply, String> {
        let nothing = || format!("no program was found in the reply of {}: edit the reply itself", self.turn);
        let mut reply = self.reply().ok_or_else(nothing)?;
        if let Some(call) = reply.calls.iter_mut().find(|call| call.name == LISP_EVAL) {
            call.args = Json::empty().with(PROGRAM, Json::str(program)).to_text();
            return Ok(reply);
        }
        let (start, end) = self
            .extract()
            .filter(|found| found.kind == ExtractKind::Program)
            .and_then(|found| found.span)
            .ok_or_else(nothing)?;
        if reply.text.get(start..end).is_none() {
            return Err(nothing());
        }
        reply.text.replace_range(start..end, program);
        Ok(reply)
    }

    /// The request that was made.
    pub(super) fn request(&self) -> Option<&'r RequestMade> {
        self.last(|event| match event {
            Event::RequestMade(made) => Some(made),
            _ => None,
        })
    }

    /// The user's text of a reply, as the value of an edit: lines that begin with `/call` are calls where the request offers tools.
    pub(super) fn typed(&self, after: &Json) -> Result<Json, String> {
        let offers = self.request().is_some_and(|made| !made.tools.is_empty());
        let reply = match after.as_str() {
            Some(text) if offers => ManualReply::typed(text),
            _ => ManualReply::of_json(after)?,
        };
        if !reply.calls.is_empty() && !offers {
            return Err(format!("the request of {} offers no tools, so its reply cannot call any", self.turn));
        }
        Ok(reply.to_json())
    }

    /// The names that the turn defined, without those whose values are too long to be kept whole.
    pub(super) fn defined(&self) -> Vec<String> {
        let set = self.last(|event| match event {
            Event::MemoryChange(change) if !change.rolled_back => Some(&change.set),
            _ => None,
        });
        let whole = |kept: &TextRecord| matches!(kept, TextRecord::Whole(_));
        set.into_iter().flatten().filter(|(_, kept)| whole(kept)).map(|(name, _)| name.clone()).collect()
    }
}

/// The value of a definition as a turn of this number finds it, as an expression.
pub(super) fn definition(recording: &Recording, turn: &Address, name: &str) -> Option<String> {
    let run = turn.run_part();
    (1..turn.turn_number()?).rev().find_map(|number| {
        recording.at(&run.turn(number)).iter().rev().find_map(|envelope| match &envelope.event {
            Event::MemoryChange(change) if !change.rolled_back => {
                let (_, kept) = change.set.iter().find(|(known, _)| known == name)?;
                Some(kept.text().to_owned())
            }
            _ => None,
        })
    })
}
