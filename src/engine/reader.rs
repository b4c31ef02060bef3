//! How a reply would be read, while somebody writes it or while it arrives: by the functions that read it in a run.
//!
//! In: how a run began, what its turn asks for, a text. Out: would it be taken, and what is wrong with it. Pure; nothing is run or called.

use std::sync::Arc;

use ptc_core::lisp::Dialect;
use ptc_core::reply::Finish as Ending;
use ptc_core::reply::control::Action;
use ptc_core::reply::program::NoProgram;
use ptc_core::signature::{Issue, Path, Type};
use ptc_core::text::Span;
use ptc_core::text::lex::lisp::Balance;
use ptc_core::value::{Json, Value};

use super::{Edited, answer, combined, json, json_loop, ptc_lisp, text};
use crate::agent::{Agent, Completion, Diagnostic, Given, Mode, Plan, lint};
use crate::event::{Edit, ErrorRecord, NativeCall, RunStart};
use crate::model::{Reply, Written};
use crate::prompt::ptc_lisp::LISP_EVAL;

/// Targets of edits that change one turn, not the agent.
const OF_A_TURN: [&str; 2] = ["reply", "result"];

/// What a turn asks for, and what its programs are given.
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
    given: Given,
}

impl PartialEq for Reader {
    /// Readers of the same plan for the same turn.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan) && self.turn == other.turn
    }
}

/// Would a reply be taken?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// More text may decide it.
    #[default]
    Open,
    /// It can be read; what comes of it shows when it is run.
    Reads,
    /// Yes.
    Fits,
    /// No: it would be an error.
    Wrong,
}

/// Something about a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where: a path in the answer, a place in the program, the name of a call; empty for the whole.
    pub place: String,
    /// What.
    pub message: String,
    /// It is an error, not only worth knowing.
    pub is_error: bool,
}

/// What a reply would come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judged {
    /// Would it be taken?
    pub standing: Standing,
    /// What it would do, where it does more than answer: `calls lookup`.
    pub does: String,
    /// What is wrong with it or worth knowing.
    pub remarks: Vec<Remark>,
}

impl Judged {
    /// A text of which nothing more can be said.
    pub fn fine(standing: Standing) -> Self {
        Self { standing, ..Self::default() }
    }

    /// What these remarks come to; without an error among them it is this.
    pub fn of(otherwise: Standing, remarks: Vec<Remark>) -> Self {
        let is_wrong = remarks.iter().any(|remark| remark.is_error);
        Self { standing: if is_wrong { Standing::Wrong } else { otherwise }, does: String::new(), remarks }
    }

    fn wrong(place: &str, record: &ErrorRecord) -> Self {
        let message = format!("{}: {}", record.reason, record.message);
        Self::of(Standing::Wrong, vec![Remark { place: place.to_owned(), message, is_error: true }])
    }

    fn doing(self, does: impl Into<String>) -> Self {
        Self { does: does.into(), ..self }
    }
}

impl Reader {
    /// The reader of a recorded run after these edits, for a turn that asks for nothing yet; `None` when its agent cannot be read any more. A
    /// context of more bytes is as good as unknown.
    pub fn of<'e>(start: &RunStart, edits: impl Iterator<Item = &'e Edit>, context_bytes: usize) -> Option<Self> {
        let agent = Agent::from_toml(&start.agent.toml, "the recorded agent").ok()?;
        let changes = |edit: &&Edit| !OF_A_TURN.contains(&edit.target.as_str());
        let edits: Vec<Edit> = edits.filter(changes).cloned().collect();
        let (plan, context) = match edits.as_slice() {
            [] => (Plan::new(&agent).ok()?, None),
            edits => {
                let edited = Edited::of(&agent, &start.context.json(), edits).ok()?;
                (edited.plan, Some(edited.context.to_value()))
            }
        };
        let known = start.context.as_str().len() <= context_bytes;
        let mut given =
            Given { context: known.then(|| context.unwrap_or_else(|| start.context.value())), ..Given::by(&plan) };
        let defined = edits.iter().filter_map(|edit| edit.target.strip_prefix("memory."));
        given.memory.extend(defined.map(ToOwned::to_owned));
        Some(Self { plan: Arc::new(plan), turn: Turn::default(), given })
    }

    /// The same for a turn.
    #[must_use]
    pub fn for_turn(&self, turn: Turn) -> Self {
        let explicit = self.plan.agent.mode == Mode::PtcLisp && self.plan.settings.completion == Completion::Explicit;
        let closing = ["must_return", "retry"].contains(&turn.kind.as_str());
        let memory = self.given.memory.iter().chain(&turn.memory).cloned().collect();
        let given = Given { memory, must_end: explicit && closing, ..self.given.clone() };
        Self { plan: self.plan.clone(), turn, given }
    }

    /// Is each reply a control object?
    pub fn wants_control(&self) -> bool {
        self.turn.want == "control_json"
    }

    /// What a reply would come to that is typed like this; lines that begin with `/call` are calls where tools are offered.
    pub fn typed(&self, typed: &str) -> Judged {
        let written = if self.turn.offers.is_empty() { Written::text(typed) } else { Written::typed(typed) };
        if !written.calls.is_empty() {
            return self.calls(&written.calls);
        }
        match self.turn.want.as_str() {
            "program" if ptc_lisp::is_native(&self.plan) => self.in_words(&written.text),
            "program" => self.with_program(&written.text),
            "json" => self.answer(&written.text),
            "control_json" => self.control(&written.text),
            _ => Judged::fine(Standing::Fits),
        }
    }

    /// What is wrong with a program of this turn.
    pub fn program(&self, program: &str) -> Judged {
        programs(program, program, 0, &self.given)
    }

    /// The same for an expression that only sees definitions.
    pub fn expression(&self, expression: &str) -> Judged {
        let given = Given { memory: self.given.memory.clone(), dialect: Dialect::Current, ..Given::default() };
        programs(expression, expression, 0, &given)
    }

    /// What does not fit of a field of the answer that is whole, while the rest still arrives.
    pub fn field(&self, name: &str, value: &Json) -> Vec<Remark> {
        answer::field(&self.plan, name, value).iter().map(remark).collect()
    }

    /// Why the tool of this name cannot be called; nothing when it can.
    pub fn tool(&self, name: &str) -> Option<Remark> {
        let record = text::uncallable(&self.plan, name)?;
        Some(Remark { place: "tool_call.name".to_owned(), message: record.message, is_error: true })
    }

    fn with_program(&self, reply: &str) -> Judged {
        match ptc_lisp::program_in(&self.plan, reply, Ending::Complete) {
            Ok(found) => {
                let at = if found.span.text(reply) == found.text { found.span.start } else { 0 };
                let whole = if at == 0 { &found.text } else { reply };
                programs(&found.text, whole, at, &self.given)
            }
            Err(NoProgram::Absent) if ptc_lisp::ends_by_words(&self.plan) => {
                Judged::fine(Standing::Fits).doing("ends the run in words")
            }
            Err(NoProgram::Absent) => Judged::default(),
            Err(why) => Judged::wrong("", &ptc_lisp::refusal(&self.plan, why)),
        }
    }

    /// A reply without a call where programs travel as calls.
    fn in_words(&self, reply: &str) -> Judged {
        match ptc_lisp::program_in(&self.plan, reply, Ending::Complete) {
            Ok(_) | Err(NoProgram::Several(_)) => Judged::wrong("", &ptc_lisp::written_out()),
            Err(_) if matches!(self.plan.output, Type::String | Type::Any) => {
                Judged::fine(Standing::Fits).doing("answers in words")
            }
            Err(_) => self.answer(reply),
        }
    }

    fn answer(&self, reply: &str) -> Judged {
        let answer = answer::read(&self.plan, reply, Ending::Complete);
        match (&answer.issues, json::failure_of(&answer, false, reply)) {
            (Some(issues), _) => Judged::of(Standing::Fits, issues.iter().map(remark).collect()),
            (None, Some(record)) => Judged::wrong("", &record),
            (None, None) => Judged::fine(Standing::Fits),
        }
    }

    fn control(&self, reply: &str) -> Judged {
        let reply = Reply::from(reply.to_owned());
        let read = json_loop::read(&self.plan, &reply);
        let control = match json_loop::usable(&self.plan, read.control, &reply) {
            Ok(control) => control,
            Err(record) => return Judged::wrong("", &record),
        };
        match control.action {
            Action::Call { name, args } => {
                let given = answer::arguments(&self.plan, &read.extracted, &name, &args);
                self.call(&name, &given).doing(format!("calls {name}"))
            }
            Action::Ask { .. } => Judged::fine(Standing::Fits).doing("asks a person"),
            Action::Answer(json) => {
                let (issues, _) = answer::fit(&self.plan, &json);
                let within = |issue: &Issue| {
                    let remark = remark(issue);
                    let place = if remark.place.is_empty() { String::new() } else { format!(".{}", remark.place) };
                    Remark { place: format!("final_answer{place}"), ..remark }
                };
                Judged::of(Standing::Fits, issues.iter().map(within).collect()).doing("answers")
            }
        }
    }

    fn calls(&self, calls: &[NativeCall]) -> Judged {
        let program = match (self.plan.agent.mode, self.plan.is_combined()) {
            (Mode::PtcLisp, _) => ptc_lisp::program_of(calls).map(Some),
            (_, true) => combined::program_among(calls).and_then(|call| call.map(ptc_lisp::argument).transpose()),
            (_, false) => Ok(None),
        };
        match program {
            Err(record) => return Judged::wrong("", &record),
            Ok(Some(program)) => {
                return programs(&program, &program, 0, &self.given).doing(format!("calls {LISP_EVAL}"));
            }
            Ok(None) => {}
        }
        let judged = calls.iter().map(|call| match self.plan.agent.mode {
            Mode::JsonLoop => match json_loop::native(&self.plan, &call.name, &call.args) {
                Ok((name, args)) => self.call(&name, &args.to_value()),
                Err(problem) => {
                    Judged::wrong(&call.name, &ErrorRecord::new(ptc_core::reasons::Reason::ProtocolError, problem))
                }
            },
            _ => match text::arguments(call) {
                Ok(args) => self.call(&call.name, &args.to_value()),
                Err(record) => Judged::wrong(&call.name, &record),
            },
        });
        let remarks = judged.flat_map(|judged| judged.remarks).collect();
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        Judged::of(Standing::Fits, remarks).doing(format!("calls {}", names.join(", ")))
    }

    /// A call that the model makes.
    fn call(&self, name: &str, args: &Value) -> Judged {
        let refused = text::uncallable(&self.plan, name);
        let misfit = || self.plan.native_tool(name)?.converted(args).err();
        refused.or_else(misfit).map_or(Judged::fine(Standing::Fits), |record| Judged::wrong(name, &record))
    }
}

/// What is wrong with a program that stands at `at` in a text.
fn programs(program: &str, whole: &str, at: usize, given: &Given) -> Judged {
    let balance = Balance::of(program);
    if program.trim().is_empty() || (balance.fault.is_none() && (!balance.open.is_empty() || balance.text.is_some())) {
        return Judged::default();
    }
    let told = |found: &Diagnostic| {
        let span = found.span.map(|span| Span::new(span.start + at, span.end + at));
        let place = span.map_or_else(String::new, |span| {
            let place = span.line_col(whole);
            format!("{}:{}", place.line, place.column)
        });
        let message = format!("{}: {}", found.reason.name(), found.message);
        Remark { place, message, is_error: found.is_error() }
    };
    Judged::of(Standing::Reads, lint(program, given).iter().map(told).collect())
}

fn remark(issue: &Issue) -> Remark {
    let place = if issue.path == Path::default() { String::new() } else { issue.path.to_string() };
    Remark { place, message: issue.message.clone(), is_error: issue.is_error() }
}
