//! The modes as values: a machine gets replies and results, and its decisions are compared, without tasks, models or clocks.
//!
//! In: agents, replies, results. Out: decisions as lines: effects in their order, then what comes next.

mod json;
mod json_loop;
mod ptc_lisp;
mod text;

use ptc_core::lisp::{Memory, Outcome, Signal, Usage};
use ptc_core::reasons::Reason;
use ptc_core::value::Value;
use ptc_workbench::agent::{Agent, Plan};
use ptc_workbench::engine::modes::{
    Decision, Effect, Machine, Messages, Next, RunAnswer, RunInputs, Start, ToolResult, ToolUse, View, machine,
};
use ptc_workbench::event::{ErrorRecord, Event, MessagePart};
use ptc_workbench::model::{Finish, Reply};

use super::parsed;

/// Characters of a message that a line shows.
const SHOWN: usize = 40;

/// A machine that is driven by hand, and the facts that it sees.
struct Play {
    plan: Plan,
    machine: Box<dyn Machine>,
    /// Turns that ended.
    used: u32,
    /// The tool that was called last.
    call: Option<ToolUse>,
}

impl Play {
    /// A run of this agent that was opened with this context. Also the lines of its opening.
    fn open(toml: &str, context: &str) -> (Self, Vec<String>) {
        let agent = Agent::from_toml(toml, "test.toml").unwrap_or_else(|error| panic!("{error}"));
        let plan = Plan::new(&agent).unwrap_or_else(|findings| panic!("{findings:?}"));
        let machine = machine(&plan, Start::default());
        let mut play = Self { plan, machine, used: 0, call: None };
        let inputs = RunInputs { context: parsed(context).to_value(), memory: play.plan.settings.memory.clone() };
        let lines = play.step(|machine, view| machine.open(view, Some(inputs)));
        (play, lines)
    }

    /// The same without its opening.
    fn of(toml: &str) -> Self {
        Self::open(toml, "{}").0
    }

    /// In the turn after so many.
    fn after(toml: &str, used: u32) -> Self {
        Self { used, ..Self::of(toml) }
    }

    fn view(&self) -> View<'_> {
        let first = View::first(&self.plan);
        let tree = first.tree.saturating_sub(self.used);
        View { turn: first.turn.run_part().turn(self.used + 1), used: self.used, tree, tree_after: tree - 1, ..first }
    }

    /// Gives the machine something; the lines of its decision. A turn that ends is followed by the next one.
    fn step(&mut self, give: impl FnOnce(&mut dyn Machine, &View<'_>) -> Decision) -> Vec<String> {
        let mut machine = std::mem::replace(&mut self.machine, machine(&self.plan, Start::default()));
        let decision = give(&mut *machine, &self.view());
        self.machine = machine;
        let lines = lines(&decision);
        self.used += u32::from(decision.effects.iter().any(|effect| matches!(effect, Effect::EndTurn(_))));
        self.call = match decision.next {
            Next::Call(call) => Some(call),
            _ => None,
        };
        lines
    }

    fn reply(&mut self, reply: impl Into<Reply>) -> Vec<String> {
        let reply = reply.into();
        self.step(|machine, view| machine.on_reply(view, &reply))
    }

    /// The call that was decided last gives this value.
    fn gives(&mut self, value: &str) -> Vec<String> {
        self.result(Ok(parsed(value).to_value()))
    }

    /// The call that was decided last fails.
    fn fails(&mut self, reason: Reason, message: &str) -> Vec<String> {
        self.result(Err(ErrorRecord::new(reason, message)))
    }

    fn result(&mut self, result: ToolResult) -> Vec<String> {
        let call = self.call.take().expect("a call was decided");
        self.step(|machine, view| machine.on_result(view, &call, result))
    }

    fn outcome(&mut self, outcome: Outcome) -> Vec<String> {
        self.step(|machine, view| machine.on_outcome(view, outcome))
    }

    fn evaluated(&mut self, outcomes: Vec<Outcome>) -> Vec<String> {
        self.step(|machine, view| machine.on_evaluated(view, outcomes))
    }

    fn answer(&mut self, answer: &str) -> Vec<String> {
        self.step(|machine, view| machine.on_answer(view, answer.to_owned()))
    }

    /// Returns the kind of answer that the next request asks for, its tools, and the messages it carries.
    fn request(&mut self) -> String {
        let mut machine = std::mem::replace(&mut self.machine, machine(&self.plan, Start::default()));
        let request = machine.request(&self.view());
        self.machine = machine;
        let messages = match request.messages {
            Messages::All => "all messages",
            Messages::Trimmed => "trimmed messages",
            Messages::Summary { .. } => "a summary",
        };
        let options = request.options;
        let tools: Vec<_> = options.tools.iter().map(|tool| tool.name.as_str()).collect();
        format!("{} [{}] [{}] {messages}", options.want.name(), tools.join(" "), options.tool_names.join(" "))
    }
}

/// A reply that the output limit cut.
fn cut(text: &str) -> Reply {
    Reply { finish: Some(Finish::Length), ..Reply::from(text) }
}

/// A reply that the model refused.
fn refused(text: &str) -> Reply {
    Reply { finish: Some(Finish::Refusal), ..Reply::from(text) }
}

/// A program that ended like this.
fn ended(signal: Signal, value: &str) -> Outcome {
    outcome(Ok((signal, parsed(value).to_value())))
}

fn outcome(result: Result<(Signal, Value), ptc_core::lisp::Error>) -> Outcome {
    Outcome {
        result,
        memory: Memory::new(),
        prints: Vec::new(),
        calls: Vec::new(),
        summaries: Vec::new(),
        journal: None,
        warnings: Vec::new(),
        usage: Usage::default(),
    }
}

fn lines(decision: &Decision) -> Vec<String> {
    decision.effects.iter().map(effect_line).chain([next_line(&decision.next)]).collect()
}

fn effect_line(effect: &Effect) -> String {
    match effect {
        Effect::Emit(event) => format!("emit {}", event_line(event)),
        Effect::AddMessage { role, source, parts } => format!("say {} ({source:?}): {}", role.name(), shown(parts)),
        Effect::CheckBudget => "check budget".to_owned(),
        Effect::EndTurn(None) => "end turn".to_owned(),
        Effect::EndTurn(Some(reason)) => format!("end turn: {reason}"),
    }
}

fn event_line(event: &Event) -> String {
    let reason = |error: &Option<ErrorRecord>| error.as_ref().map_or("found", |record| &record.reason).to_owned();
    let detail = match event {
        Event::Extract(extract) => format!("{} {}", extract.kind, reason(&extract.error)),
        Event::Check(check) => format!("{} {}", check.layer, if check.ok { "ok" } else { "failed" }),
        Event::Notice(notice) => format!("{}: {}", notice.level, notice.text),
        Event::MemoryChange(change) => change.set.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" "),
        Event::PlanState(state) => format!("{} items", state.items.len()),
        _ => String::new(),
    };
    format!("{} {detail}", event.kind())
}

fn next_line(next: &Next) -> String {
    let record = |record: &ErrorRecord| format!("fail {}: {}", record.reason, record.message);
    match next {
        Next::Open(Ok(opening)) => format!("open: {}", shown(&opening.user)),
        Next::Open(Err(error)) => format!("no opening: {}", error.message),
        Next::Call(ToolUse { number, name, args, refused, .. }) => {
            let refused = refused.as_ref().map(|record| format!(" refused: {}", record.reason)).unwrap_or_default();
            format!("call {number} {name} {}{refused}", args.to_text())
        }
        Next::Run(program) => {
            let closed = if program.closed.is_some() { " without tools" } else { "" };
            format!("run {}{closed}", program.job.source)
        }
        Next::Evaluate(jobs) => format!("evaluate {}", jobs.len()),
        Next::Ask(text) => format!("ask {text}"),
        Next::Continue => "next turn".to_owned(),
        Next::Finish(answered) => format!("finish {}", answer(answered)),
        Next::Fail(found) => record(found),
    }
}

fn answer(answered: &RunAnswer) -> String {
    let refs = answered.refs.as_ref().map(|refs| format!(" refs {}", refs.to_text()));
    let summary = answered.summary.as_ref().map(|text| format!(" summary {text}"));
    let from = answered.from_turn.map(|turn| format!(" of turn {turn}"));
    let more = [refs, summary, from].into_iter().flatten().collect::<String>();
    format!("{}{more}", answered.value.to_text())
}

fn shown(parts: &[MessagePart]) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Text { text, .. } => text.clone(),
        MessagePart::Reply { reply } => format!("the reply of {reply}"),
        MessagePart::File { file } => format!("file {}", file.name),
        MessagePart::Call { call } => format!("call {}", call.name),
        MessagePart::Result { call, name, result } => format!("{call} {name} gave {result}"),
    };
    let text: String = parts.iter().map(part).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect::<String>().trim_end().to_owned()
}

#[test]
fn what_a_machine_did_not_ask_for_fails_the_run() {
    let modes = ["json", "text", "json_loop"];
    for mode in modes {
        let mut play = Play::of(&format!("mode = \"{mode}\"\nprompt = \"go\"\nsignature = \"{{n :int}}\"\n"));
        let lines = play.outcome(ended(Signal::Return, "1"));
        assert_eq!(lines, ["fail internal_error: the mode got a result that it did not ask for"], "{mode}");
    }
    let mut play = Play::of("mode = \"ptc_lisp\"\nprompt = \"go\"\n");
    assert_eq!(play.answer("yes"), ["fail internal_error: the mode got a result that it did not ask for"]);
}

#[test]
fn a_variable_without_a_value_stays_in_the_text_and_is_an_error_for_programs() {
    for mode in ["json", "text", "json_loop", "ptc_lisp"] {
        let toml =
            format!("mode = \"{mode}\"\nprompt = \"About {{{{what}}}}\"\nsignature = \"(what :string) -> :string\"\n");
        let (_, lines) = Play::open(&toml, "{}");
        let start = if mode == "ptc_lisp" { "no opening: " } else { "open: " };
        assert!(lines.len() == 1 && lines[0].starts_with(start), "{mode}: {lines:?}");
        let (_, lines) = Play::open(&toml, r#"{"what":"cats"}"#);
        assert!(lines.len() == 1 && lines[0].starts_with("open: "), "{mode}: {lines:?}");
    }
}

#[test]
fn an_edited_context_opens_the_run_again() {
    for mode in ["json", "text", "json_loop"] {
        let toml =
            format!("mode = \"{mode}\"\nprompt = \"{{{{what}}}}?\"\nsignature = \"(what :string) -> :string\"\n");
        let (mut play, first) = Play::open(&toml, r#"{"what":"Cats"}"#);
        let inputs = RunInputs { context: parsed(r#"{"what":"Dogs"}"#).to_value(), memory: Vec::new() };
        let again = play.step(|machine, view| machine.open(view, Some(inputs)));
        assert_eq!(again, [first[0].replace("Cats", "Dogs")], "{mode}");
        assert_eq!(play.step(|machine, view| machine.open(view, None)), again, "{mode}: without inputs they stay");
    }
}
