//! Consent and unknown outcomes: what the user decides about a call before it is made.
//!
//! In: a call of a tool that starts a process or leaves the machine. Out: whether it may be made. Question and decision are recorded, so
//! that a replay decides the same without a question.

use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value};

use super::state::{CallState, Driver, Halt};
use crate::engine::history::{answer_text, is_unknown, was_asked};
use crate::event::{Address, AnswerGiven, Answerer, Decision, ErrorRecord, JsonText, QuestionAsked, QuestionKind};
use crate::port::{Question, named_option};
use crate::tool::{ALLOW_FLAG, ConsentDecision, Tool};

/// Characters of the arguments that a recorded question contains.
const ARGS_CHARS: usize = 2_000;
/// Characters of the arguments that the user sees.
const SHOWN_ARGS_CHARS: usize = 100_000;
/// The number of the first question that asks again for a recorded consent; those before it are asked for other reasons.
const RENEWED: u32 = 4;
/// The answers to the question about a call whose outcome is unknown: make it again, or continue without its result.
const AGAIN: [&str; 2] = ["repeat", "skip"];

impl Driver<'_> {
    /// Asks for consent where that is needed; returns the refusal of a call that may not be made.
    pub(super) async fn denied(&self, at: &Address, tool: &Tool, args: &Value) -> Result<Option<ErrorRecord>, Halt> {
        let Some(definition) = tool.definition() else { return Ok(None) };
        // One question at a time: of two calls that come together the second knows what was decided about the first.
        let _asking = self.input.tree.asking().await;
        let asked = at.question(0);
        let recorded = self.ports.history.asked(&asked, &QuestionKind::Consent);
        if !recorded.unwrap_or_else(|| !self.input.tree.allows(&definition)) {
            return Ok(None);
        }
        // A decision of the recording is valid for the recording only: what is done now asks again (`denied_again`).
        let is_recorded = self.ports.history.answer(&asked).is_some();
        let text = self.texts(tool, &definition, args, "");
        let (decision, refusal) = self.decide(at, asked, tool, text).await?;
        if matches!(decision, Decision::Run | Decision::Always) && !is_recorded {
            self.input.tree.allow(definition);
        }
        Ok(refusal)
    }

    /// Asks again for a call that only the recording of a resumed or forked session allows, before it is made. `Some`:
    /// it may not be made, and why. Earlier questions of this kind are repeated from the recording.
    pub(super) async fn denied_again(
        &self,
        at: &Address,
        tool: &Tool,
        args: &Value,
        state: &mut CallState,
    ) -> Result<Option<ErrorRecord>, Halt> {
        let Some(definition) = tool.definition() else { return Ok(None) };
        let history = self.ports.history;
        let _asking = self.input.tree.asking().await;
        let text = || {
            self.texts(
                tool,
                &definition,
                args,
                "This call was allowed in the recording; now it would actually be made.\n",
            )
        };
        let mut refusal = None;
        let mut number = RENEWED;
        while was_asked(history, &at.question(number), &QuestionKind::Consent) {
            let asked = at.question(number);
            let is_recorded = history.answer(&asked).is_some();
            let decision;
            (decision, refusal) = self.decide(at, asked, tool, text()).await?;
            self.begin_attempt(at, state).await?;
            if !is_recorded {
                if matches!(decision, Decision::Run | Decision::Always) {
                    self.input.tree.allow(definition);
                }
                return Ok(refusal);
            }
            number += 1;
        }
        let first = at.question(0);
        let by_recording = history.asked(&first, &QuestionKind::Consent) == Some(false)
            || history.answer(&first).is_some_and(|given| given.by != Answerer::Default);
        let is_live = !history.is_replay() && history.call(at).end.is_none();
        if !is_live || !by_recording || self.input.tree.allows(&definition) {
            return Ok(refusal);
        }
        let (decision, refusal) = self.decide(at, at.question(number), tool, text()).await?;
        self.begin_attempt(at, state).await?;
        if matches!(decision, Decision::Run | Decision::Always) {
            self.input.tree.allow(definition);
        }
        Ok(refusal)
    }

    /// The texts of the question about a call: what is recorded is the same on every machine, what the user sees shows
    /// this one.
    fn texts(&self, tool: &Tool, definition: &str, args: &Value, first: &str) -> ConsentTexts {
        let recorded = question(tool, definition, args, ARGS_CHARS);
        let shown = match self.ports.tools.details(tool) {
            Some(details) => question(tool, &details, args, SHOWN_ARGS_CHARS),
            None => recorded.clone(),
        };
        ConsentTexts { recorded: format!("{first}{recorded}"), shown: format!("{first}{shown}") }
    }

    /// Asks one question about a call, unless it is decided without the user. Returns the decision, and the error if it
    /// is no.
    async fn decide(
        &self,
        at: &Address,
        asked: Address,
        tool: &Tool,
        texts: ConsentTexts,
    ) -> Result<(Decision, Option<ErrorRecord>), Halt> {
        let options: Vec<String> = Decision::ALL.iter().map(|decision| decision.name().to_owned()).collect();
        let (kind, shown) = (QuestionKind::Consent, options.clone());
        self.emit(&asked, QuestionAsked { kind, text: texts.recorded, options }).await?;
        let is_new = self.ports.history.answer(&asked).is_none();
        let changes = if is_new { self.ports.tools.changes(tool) } else { Vec::new() };
        if !changes.is_empty() {
            let name = &tool.name;
            let text =
                format!("the tool {name} was always allowed, but this has changed since: {}", changes.join(", "));
            self.warn(at, text).await?;
        }
        let (decided, unread) = if let Some(decided) = self.decided(&asked, tool) {
            let value = JsonText::of(&Json::str(decided.decision.name()));
            self.emit(&asked, AnswerGiven { by: decided.by.clone(), value, edited: false }).await?;
            (decided, String::new())
        } else {
            let question = Question { address: asked, text: texts.shown, options: shown, gate: None };
            let answer = self.answer(at, question).await?;
            let decision = Decision::read(&answer);
            if decision == Some(Decision::Always) && is_new {
                self.ports.tools.keep(tool);
            }
            let unread = decision.is_none().then(|| format!(" (`{answer}` is not one of once, run, always, deny)"));
            (ConsentDecision::new(Answerer::User, decision.unwrap_or(Decision::Deny)), unread.unwrap_or_default())
        };
        if decided.decision != Decision::Deny {
            return Ok((decided.decision, None));
        }
        let name = &tool.name;
        let message = if decided.by == Answerer::Default {
            format!(
                "the tool {name} was not called: no user is present to allow it; start with {ALLOW_FLAG} to allow such tools"
            )
        } else {
            format!("the tool {name} was not called: it was not allowed{unread}")
        };
        Ok((Decision::Deny, Some(ErrorRecord::new(Reason::ToolDenied, message))))
    }

    /// Returns the decision that needs no question: the recorded one, else the one of the tools. `None`: the user is asked.
    fn decided(&self, asked: &Address, tool: &Tool) -> Option<ConsentDecision> {
        let history = self.ports.history;
        if let Some(given) = history.answer(asked) {
            let decision = Decision::read(&answer_text(&given, None)).unwrap_or(Decision::Deny);
            // An answer of the user is read again where the question is asked.
            return (given.by != Answerer::User).then(|| ConsentDecision::new(given.by, decision));
        }
        if self.ports.human.has_answer(asked) {
            return None;
        }
        // A run that waits for this answer keeps waiting: a policy may allow the call, not deny it.
        let is_awaited = was_asked(history, asked, &QuestionKind::Consent);
        self.ports.tools.consent_decision(tool).filter(|decided| decided.decision != Decision::Deny || !is_awaited)
    }

    /// Returns whether the user is asked about the outcome of this call.
    pub(super) fn is_outcome_asked(&self, at: &Address, tool: &Tool) -> bool {
        tool.is_effectful() && is_unknown(self.ports.history, at)
    }

    /// The failure in place of the result of a call that was started before the session was interrupted or forked; `None`: the call is
    /// made.
    pub(super) async fn unknown_outcome(&self, at: &Address, tool: &Tool) -> Result<Option<ErrorRecord>, Halt> {
        if !self.is_outcome_asked(at, tool) {
            return Ok(None);
        }
        let asked = at.question(1);
        let name = &tool.name;
        let text = format!(
            "The call of the tool {name} was started before, and its result is not in this session: it may have taken effect. Repeat the call (repeat) or continue without its result (skip)?"
        );
        // The recorded text is compared by replays and stays as it is; what the user reads is shorter.
        let shown = format!(
            "{name} was already called and may have taken effect; its result is not known. Repeat the call, or skip it?"
        );
        let options = AGAIN.map(ToOwned::to_owned).to_vec();
        let (kind, offered) = (QuestionKind::Outcome, options.clone());
        self.emit(&asked, QuestionAsked { kind, text, options }).await?;
        let answer = self.answer(at, Question { address: asked, text: shown, options: offered, gate: None }).await?;
        if named_option(&AGAIN, &answer) == Some(AGAIN[0]) {
            return Ok(None);
        }
        let message = format!(
            "the outcome of this call is unknown: {name} was called, its result is not in this session, and it was not repeated"
        );
        Ok(Some(ErrorRecord::new(Reason::ToolError, message)))
    }
}

/// A question about a call.
struct ConsentTexts {
    /// As the session contains it.
    recorded: String,
    /// As the user sees it.
    shown: String,
}

/// The question about a call, with at most `chars` characters of its arguments.
fn question(tool: &Tool, definition: &str, args: &Value, chars: usize) -> String {
    let arguments = Json::from(args).to_text();
    let shown: String = arguments.chars().take(chars).collect();
    let more = if shown.len() < arguments.len() { "…" } else { "" };
    format!("May the tool {} be called?\n{definition}\nwith {shown}{more}", tool.name)
}
