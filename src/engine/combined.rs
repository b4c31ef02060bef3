//! Combined mode: mode `text` with the native tool `lisp_eval` next to the app's tools (agent contract §6).
//!
//! In: a reply with calls. Out: the result of each call. A program's `return` and `fail` only give a result: the run ends with the
//! model's final text. Definitions stay during the run.

use ptc_core::lisp::Signal;
use ptc_core::reasons::Reason;
use ptc_core::value::Value;

use super::cycle::Cycle;
use super::edit::Edited;
use super::program::{failed, record};
use super::ptc_lisp::{Work, argument, call_result, told_call, too_large, written};
use super::{Halt, Input};
use crate::event::{Address, ErrorRecord, NativeCall};
use crate::model::Reply;
use crate::prompt::ptc_lisp::{LISP_EVAL, feedback};

/// Programs beside native calls.
pub(super) struct Combined {
    work: Work,
}

impl Combined {
    /// For a run in combined mode; `None` for any other.
    pub(super) fn begin(cycle: &Cycle<'_>, input: &Input) -> Result<Option<Self>, Halt> {
        if !cycle.plan.is_combined() {
            return Ok(None);
        }
        let (context, _) = cycle.plan.check_context(&input.context);
        Ok(Some(Self { work: Work::begin(cycle, context, input)? }))
    }

    /// Takes the edits of the turn that began.
    pub(super) async fn take(&mut self, cycle: &mut Cycle<'_>, at: &Address, edited: &Edited) -> Result<(), Halt> {
        self.work.take(cycle, at, edited).await
    }

    /// The results of the calls of this reply, when a program is among them; `None` when none is.
    pub(super) async fn answer(
        &mut self,
        cycle: &mut Cycle<'_>,
        at: &Address,
        reply: &Reply,
    ) -> Result<Option<Vec<String>>, Halt> {
        let refused = match program_among(&reply.calls) {
            Ok(None) => return Ok(None),
            Ok(Some(call)) => {
                let result = self.run(cycle, at, call, reply).await?;
                return Ok(Some(vec![result]));
            }
            Err(refused) => refused,
        };
        cycle.emit(at, told_call(reply, Err(&refused))).await?;
        let result = call_result(&self.work, Some(&refused), &refused.message);
        Ok(Some(vec![result; reply.calls.len()]))
    }

    async fn run(
        &mut self,
        cycle: &mut Cycle<'_>,
        at: &Address,
        call: &NativeCall,
        reply: &Reply,
    ) -> Result<String, Halt> {
        let program = match argument(call) {
            Ok(program) => program,
            Err(record) => {
                cycle.emit(at, told_call(reply, Err(&record))).await?;
                return Ok(call_result(&self.work, Some(&record), &record.message));
            }
        };
        cycle.emit(at, told_call(reply, Ok(&program))).await?;
        let world = self.work.world(cycle, feedback::TurnKind::Normal);
        let before = self.work.memory.clone();
        let outcome = cycle.run_program(at, &program, &world).await?;
        self.work.note(&program, &outcome);
        let (failure, parts) = match &outcome.result {
            Err(error) => {
                let place = error.span.map(|span| (program.as_str(), span));
                let parts = feedback::error(cycle.plan, error.reason.name(), &error.message(), place);
                (Some(record(error)), parts)
            }
            Ok((signal, value)) => {
                let seen = feedback::seen(cycle.plan, &outcome.memory, value, &before);
                let dropped = self.work.accept(cycle, at, &outcome).await?.map(|_| too_large(cycle.plan));
                self.work.remember(cycle, value);
                self.work.seen = Some(seen);
                let failure = dropped.or_else(|| (*signal == Signal::Fail).then(|| failed(cycle.plan, value)));
                (failure, feedback::success(cycle.plan, &outcome, shown(*signal, value), &before))
            }
        };
        Ok(call_result(&self.work, failure.as_ref(), &written(&parts)))
    }
}

/// The call of a program among these, which must then be the only one; `None` when there is none.
pub(super) fn program_among(calls: &[NativeCall]) -> Result<Option<&NativeCall>, ErrorRecord> {
    let is_program = |call: &&NativeCall| call.name == LISP_EVAL;
    match (calls.iter().filter(is_program).count(), calls) {
        (0, _) => Ok(None),
        (1, [only]) => Ok(Some(only)),
        (1, _) => Err(ErrorRecord::new(
            Reason::MixedWithLispEval,
            format!("{LISP_EVAL} came together with other calls and none was made; send it alone"),
        )),
        (several, _) => Err(ErrorRecord::new(
            Reason::MultipleToolCalls,
            format!("the reply holds {several} {LISP_EVAL} calls and none was made; send one"),
        )),
    }
}

/// What a failed program gave is told as its failure.
fn shown(signal: Signal, value: &Value) -> &Value {
    const NIL: &Value = &Value::Nil;
    if signal == Signal::Fail { NIL } else { value }
}
