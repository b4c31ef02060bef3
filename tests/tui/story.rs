//! Runs as lists of events, and models that have seen them: what the interface's tests send it.

use ptc_core::value::json;
use ptc_workbench::agent::{Diagnostic, DraftTexts, Place};
use ptc_workbench::event::{
    Address, AgentRecord, BudgetRecord, Check, CheckLayer, Envelope, ErrorRecord, Event, Extract, ExtractKind,
    IssueRecord, IssueSeverity, JsonText, MessageAdded, MessagePart, ModelRecord, PartKind, ReplyEnd, ReplyPart,
    ReplyStatus, RequestMade, RetryWait, Role, RunEnd, RunStart, Source, StructuredBy, Tokens, Totals, TurnEnd,
    TurnStart, UsageRecord, Want,
};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::update;
use ptc_workbench::workbench::{DraftSummary, OpenAgent, RunEnding, RunUpdate};

/// 2026-11-21 20:52:07 UTC.
pub(crate) const NOW_MS: i64 = 1_795_294_327_000;
pub(crate) const SESSION: &str = "2026-11-21T20-52-07Z-3f9a11c2";

pub(crate) fn sentiment() -> DraftTexts {
    DraftTexts {
        prompt: "Classify the sentiment of: {{text}}".to_owned(),
        signature: "(text :string) -> {sentiment :enum[positive negative neutral], score :float}".to_owned(),
        context: "{\n  \"text\": \"I love this product!\"\n}".to_owned(),
        options: "name = \"sentiment\"\nmode = \"json\"\nmodel = \"demo\"\nmax_turns = 3\n".to_owned(),
        ..DraftTexts::default()
    }
}

/// A model at this size that was just started and whose texts were checked.
pub(crate) fn fresh(size: (u16, u16)) -> Model {
    let opening = OpenAgent { texts: sentiment(), ..OpenAgent::default() };
    let mut model = Model::new(opening, size, NOW_MS);
    checked(&mut model, Vec::new());
    model
}

/// Gives the model the findings about its texts.
pub(crate) fn checked(model: &mut Model, findings: Vec<Diagnostic>) {
    let preview = DraftSummary {
        name: "sentiment".to_owned(),
        mode: "json".to_owned(),
        model: "demo".to_owned(),
        max_turns: 3,
        fields: findings.iter().all(|finding| finding.place != Place::Signature).then_some(2),
        ..DraftSummary::default()
    };
    let version = model.workbench.version();
    apply_message(model, Msg::Checked(version, findings, Box::new(preview)));
}

/// Gives the model a message. A question of a run has been on the screen for long enough to be answered.
pub(crate) fn apply_message(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let is_question = |update: &RunUpdate| matches!(update, RunUpdate::Question(_));
    let asks = matches!(&msg, Msg::RunUpdates(_, updates) if updates.iter().any(is_question));
    let effects = update(model, msg);
    if asks {
        model.asked_ms = 0;
    }
    effects
}

/// Starts a run in the model and sends it these events.
pub(crate) fn ran(model: &mut Model, events: Vec<Envelope>, ended: Option<RunEnding>) {
    super::press(model, "f5");
    apply_message(model, Msg::Started(Ok(Some(SESSION.to_owned()))));
    happened(model, events, ended);
}

pub(crate) fn happened(model: &mut Model, events: Vec<Envelope>, ended: Option<RunEnding>) {
    let last = events.last().map_or(NOW_MS, |envelope| envelope.at_ms);
    apply_message(model, Msg::Clock(last));
    let events = events.into_iter().map(|envelope| RunUpdate::Event(Box::new(envelope)));
    let shown = events.chain(ended.map(RunUpdate::Ended)).collect();
    apply_message(model, Msg::RunUpdates(Slot::Workbench, shown));
}

/// Numbers events and gives them times.
#[derive(Default)]
pub(crate) struct Story {
    events: Vec<Envelope>,
    at_ms: i64,
}

impl Story {
    pub(crate) fn new() -> Self {
        Self { events: Vec::new(), at_ms: NOW_MS }
    }

    pub(crate) fn wait(mut self, ms: i64) -> Self {
        self.at_ms += ms;
        self
    }

    pub(crate) fn apply_message(mut self, address: &str, event: impl Into<Event>) -> Self {
        let seq = self.events.len() as u64 + 1;
        self.events.push(Envelope { seq, at_ms: self.at_ms, address: Address::from(address), event: event.into() });
        self
    }

    pub(crate) fn events(self) -> Vec<Envelope> {
        self.events
    }

    pub(crate) fn start(self) -> Self {
        self.apply_message(
            "r0",
            RunStart {
                agent: recorded("json"),
                mode: "json".to_owned(),
                model: ModelRecord {
                    alias: "demo".to_owned(),
                    provider: "demo".to_owned(),
                    id: "demo".to_owned(),
                    price: None,
                },
                limits: vec![("max_turns".to_owned(), 3)],
                context: text(r#"{"text":"I love this product!"}"#),
                context_descriptions: Vec::new(),
                seed: 7,
                ..RunStart::default()
            },
        )
    }

    pub(crate) fn turn(self, turn: &str) -> Self {
        let remaining = BudgetRecord { turns: 3, ..BudgetRecord::default() };
        let now = self.at_ms;
        self.apply_message(turn, TurnStart { now, kind: None, remaining, waited_ms: 0, stop: None })
    }

    pub(crate) fn message(self, at: &str, m: u32, role: Role, source: Source, section: &str, reply_text: &str) -> Self {
        let part = MessagePart::Text { section: section.to_owned(), text: reply_text.to_owned(), untrusted: false };
        self.apply_message(at, MessageAdded { m, role, source, parts: vec![part] })
    }

    pub(crate) fn request(self, turn: &str, last: u32) -> Self {
        self.request_of(turn, (0, last))
    }

    /// A request with these messages, from the first to the last.
    pub(crate) fn request_of(self, turn: &str, messages: (u32, u32)) -> Self {
        self.apply_message(
            turn,
            RequestMade {
                messages: vec![messages],
                want: Want::Json,
                schema: Some(text(SCHEMA)),
                tools: Vec::new(),
                tool_names: Vec::new(),
                options: ptc_workbench::event::Options::default(),
                cache: false,
            },
        )
    }

    pub(crate) fn part(self, turn: &str, attempt: u32, message: &str) -> Self {
        let length = u32::try_from(message.len()).unwrap();
        let part =
            ReplyPart { attempt, kind: PartKind::Text, text: message.to_owned(), lens: vec![length], ms: vec![0] };
        self.apply_message(turn, part)
    }

    pub(crate) fn reply(self, turn: &str, text: &str, tokens: (u64, u64)) -> Self {
        self.part(turn, 1, text).apply_message(turn, end(1, ReplyStatus::Ok, Some(tokens)))
    }

    pub(crate) fn extract(self, turn: &str, rule: &str, span: (usize, usize)) -> Self {
        let (rule, span) = (Some(rule.to_owned()), Some(span));
        self.apply_message(turn, Extract { kind: ExtractKind::Json, rule, candidates: 1, span, ..Extract::default() })
    }

    pub(crate) fn check(self, turn: &str, issues: Vec<IssueRecord>) -> Self {
        let ok = issues.iter().all(|issue| issue.severity == IssueSeverity::Warning);
        self.apply_message(turn, Check { layer: CheckLayer::Return, ok, issues })
    }

    pub(crate) fn turn_end(
        self,
        turn: &str,
        reason: Option<&str>,
        tokens: (u64, u64),
        totals: (u32, u64, u64),
    ) -> Self {
        let count = |(input, output)| Some(Tokens { input, output, ..Tokens::default() });
        let totals = Totals { turns: totals.0, requests: totals.0, tokens: count((totals.1, totals.2)) };
        let reason = reason.map(str::to_owned);
        self.apply_message(
            turn,
            TurnEnd { success: reason.is_none(), reason, usage: count(tokens), totals, inputs: None },
        )
    }

    pub(crate) fn run_end(self, value: Option<&str>, fail: Option<ErrorRecord>, totals: (u32, u64, u64)) -> Self {
        let tokens = Tokens { input: totals.1, output: totals.2, ..Tokens::default() };
        let usage = UsageRecord {
            totals: Totals { turns: totals.0, requests: totals.0, tokens: Some(tokens) },
            children: None,
            schema_used: true,
            schema_bytes: Some(SCHEMA.len() as u64),
            structured_output: Some(StructuredBy::JsonSchema),
            system_prompt_tokens: Some(41),
        };
        self.apply_message("r0", RunEnd { value: value.map(text), fail, usage, ..RunEnd::default() })
    }
}

/// The agent as it is recorded in this mode.
pub(crate) fn recorded(mode: &str) -> AgentRecord {
    let toml = format!(
        "mode = '{mode}'\nprompt = 'Classify the sentiment of: {{{{text}}}}'\nsignature = '(text :string) -> {{sentiment :enum[positive negative neutral], score :float}}'\n"
    );
    AgentRecord { name: "sentiment".to_owned(), toml, ..AgentRecord::default() }
}

const SCHEMA: &str = r#"{"type":"object","properties":{"sentiment":{"type":"string","enum":["positive","negative","neutral"]},"score":{"type":"number"}},"required":["sentiment","score"],"additionalProperties":false}"#;

pub(crate) fn text(source: &str) -> JsonText {
    JsonText::of(&json::parse(source).unwrap())
}

pub(crate) fn end(attempt: u32, status: ReplyStatus, tokens: Option<(u64, u64)>) -> ReplyEnd {
    ReplyEnd {
        finish: Some("stop".to_owned()),
        usage: tokens.map(|(input, output)| Tokens { input, output, ..Tokens::default() }),
        structured_by: Some(StructuredBy::JsonSchema),
        first_ms: Some(40),
        ..ReplyEnd::new(attempt, status)
    }
}

pub(crate) fn issue(path: &str, severity: &str, expected: &str, got: &str, message: &str) -> IssueRecord {
    let owned = str::to_owned;
    IssueRecord {
        path: owned(path),
        severity: severity.into(),
        expected: owned(expected),
        got: owned(got),
        message: owned(message),
    }
}

/// The first turn up to its request.
pub(crate) fn asked() -> Story {
    Story::new()
        .start()
        .turn("r0/t1")
        .message(
            "r0/t1",
            0,
            Role::System,
            Source::Prompt,
            "card",
            &"You answer with JSON that fits the schema. ".repeat(4),
        )
        .message("r0/t1", 1, Role::User, Source::Prompt, "task", "Classify the sentiment of: I love this product!")
        .request("r0/t1", 1)
}

/// A first turn whose answer does not fit, with its feedback.
pub(crate) fn missed() -> Story {
    let issues = vec![
        issue("sentiment", "error", "field", "nil", "sentiment: expected field, got nil"),
        issue("score", "error", "field", "nil", "score: expected field, got nil"),
        issue("feeling", "warning", "", "", "not in the signature"),
    ];
    asked()
        .wait(412)
        .reply("r0/t1", r#"{"feeling": "positive"}"#, (59, 11))
        .extract("r0/t1", "whole", (0, 23))
        .check("r0/t1", issues)
        .message(
            "r0/t1",
            2,
            Role::User,
            Source::Feedback,
            "feedback",
            &"Your answer did not fit the signature. ".repeat(4),
        )
        .turn_end("r0/t1", Some("validation_error"), (59, 11), (1, 59, 11))
        .turn("r0/t2")
        .request("r0/t2", 2)
}

/// The whole run of two turns.
pub(crate) fn two_turns() -> Vec<Envelope> {
    let reply = "```json\n{\"sentiment\": \"positive\", \"score\": 0.97}\n```";
    missed()
        .wait(388)
        .reply("r0/t2", reply, (97, 16))
        .extract("r0/t2", "json_fence", (8, 48))
        .check("r0/t2", Vec::new())
        .turn_end("r0/t2", None, (97, 16), (2, 156, 27))
        .wait(100)
        .run_end(Some(r#"{"sentiment":"positive","score":0.97}"#), None, (2, 156, 27))
        .events()
}

/// A second turn that is being answered.
pub(crate) fn streaming() -> Vec<Envelope> {
    missed().wait(250).part("r0/t2", 1, "Here is the answer:\n```json\n{\"sentiment\": \"posi").events()
}

/// A run that a discarded attempt, a retry and a truncated reply bring to its end.
pub(crate) fn failed() -> Vec<Envelope> {
    let overload = ErrorRecord {
        reason: "llm_error".to_owned(),
        message: "429 Too Many Requests: slow down".to_owned(),
        hint: None,
        class: Some("rate_limit".to_owned()),
        status: Some(429),
        details: None,
    };
    let wait = RetryWait {
        attempt: 1,
        wait_ms: 2_000,
        class: "rate_limit".to_owned(),
        retry_after: true,
        message: "429 Too Many Requests: slow down".to_owned(),
        of: Some(3),
    };
    let fail = ErrorRecord {
        reason: "max_turns_exceeded".to_owned(),
        message: "1 turn was used; the last error was json_parse_error: the reply ends inside a string".to_owned(),
        hint: None,
        class: None,
        status: None,
        details: None,
    };
    let discarded = ReplyEnd { error: Some(overload), ..end(1, ReplyStatus::Discarded, None) };
    let cut = ErrorRecord {
        reason: "json_parse_error".to_owned(),
        message: "the JSON ends inside a string".to_owned(),
        ..ErrorRecord::default()
    };
    asked()
        .wait(120)
        .part("r0/t1", 1, "{\"senti")
        .apply_message("r0/t1", discarded)
        .apply_message("r0/t1", wait)
        .wait(2_000)
        .part("r0/t1", 2, "{\"sentiment\": \"posi")
        .wait(300)
        .apply_message("r0/t1", end(2, ReplyStatus::Ok, Some((59, 8))))
        .apply_message(
            "r0/t1",
            Extract {
                kind: ExtractKind::Json,
                candidates: 1,
                error: Some(cut),
                error_at: Some(19),
                ..Extract::default()
            },
        )
        .turn_end("r0/t1", Some("json_parse_error"), (59, 8), (1, 59, 8))
        .run_end(None, Some(fail), (1, 59, 8))
        .events()
}
