//! The export `atif`: a trajectory in the Agent Trajectory Interchange Format 1.7 (harbor, RFC 0001).
//!
//! One document per session: the root runs' steps in order, agents below as embedded trajectories. A step of source `agent` is a turn:
//! its message is the reply as it came, its tool calls are the calls that were made (by the model or by its program), its observation
//! holds their results and the feedback that went back.

use std::collections::HashSet;

use ptc_core::value::Json;
use ptc_core::value::json;

use super::iso;
use super::story::{Content, Run, below, roots, runs};
use super::text::{printable, visible_json};
use crate::agent::{CallEntry, Turn};
use crate::event::{JsonText, ModelRecord, Role, SentMessage, Source, Tokens};
use crate::record::TurnRecord;

const SCHEMA: &str = "ATIF-v1.7";

pub(super) fn atif(content: &Content) -> String {
    let runs = runs(content);
    let root: Vec<&Run> = roots(&runs).collect();
    let trajectory = trajectory(content, &runs, &root, &content.session);
    printable(&visible_json(&trajectory)) + "\n"
}

type Members = Vec<(&'static str, Json)>;

fn text(text: &str) -> Json {
    Json::str(text)
}

/// Adds the member when there is something in it.
fn put(members: &mut Members, key: &'static str, value: Option<Json>) {
    members.extend(value.map(|value| (key, value)));
}

fn some_list(items: Vec<Json>) -> Option<Json> {
    (!items.is_empty()).then(|| Json::list(items))
}

/// The trajectory of runs that follow one another.
fn trajectory(content: &Content, all: &[Run], told: &[&Run], id: &str) -> Json {
    let mut steps = Steps::default();
    for run in told {
        steps.run(content, all, run);
    }
    if steps.steps.is_empty() {
        steps.add(content.created_ms, "system", "no turn was made", Members::new());
    }
    let count = steps.steps.len() as u64;
    let children = told.iter().flat_map(|run| below(all, run));
    let children: Vec<Json> =
        children.map(|child| trajectory(content, all, &[child], &id_of(content, child))).collect();
    let mut members: Members = vec![
        ("schema_version", text(SCHEMA)),
        ("session_id", text(&content.session)),
        ("trajectory_id", text(id)),
        ("agent", agent(content, told.first().copied())),
        ("steps", Json::list(steps.steps)),
        ("final_metrics", final_metrics(told, count)),
    ];
    put(&mut members, "notes", content.imported.as_ref().map(|from| text(&format!("imported from {from}"))));
    put(&mut members, "subagent_trajectories", some_list(children));
    members.push(("extra", Json::object([("runs", Json::list(told.iter().map(|run| outcome(run))))])));
    Json::object(members)
}

fn id_of(content: &Content, run: &Run) -> String {
    format!("{}/{}", content.session, run.record().address)
}

fn agent(content: &Content, run: Option<&Run>) -> Json {
    let (name, version) = content.program.rsplit_once(' ').unwrap_or((content.program.as_str(), "unknown"));
    let Some(run) = run else {
        return Json::object([("name", text(name)), ("version", text(version))]);
    };
    let request = run.turns().next().and_then(|(_, record)| record.request.as_ref());
    let tools = request.iter().flat_map(|request| &request.tools).map(|tool| {
        let function = Json::object([
            ("name", text(&tool.name)),
            ("description", text(tool.description.as_deref().unwrap_or_default())),
            ("parameters", tool.parameters.json()),
        ]);
        Json::object([("type", text("function")), ("function", function)])
    });
    let called = if run.step.name.is_empty() { "agent" } else { run.step.name.as_str() };
    let mut members: Members = vec![("name", text(called)), ("version", text(version))];
    put(&mut members, "model_name", model(run.last_model()));
    put(&mut members, "tool_definitions", some_list(tools.collect()));
    let mut extra: Members = vec![("system", text(&content.program)), ("mode", text(&run.record().start.mode))];
    put(&mut extra, "signature", run.step.signature.as_deref().map(text));
    members.push(("extra", Json::object(extra)));
    Json::object(members)
}

fn model(model: &ModelRecord) -> Option<Json> {
    let name = if model.id.is_empty() { &model.alias } else { &model.id };
    (!name.is_empty()).then(|| text(name))
}

fn outcome(run: &Run) -> Json {
    let mut members: Members = vec![("address", text(run.record().address.as_str())), ("context", run.context())];
    put(&mut members, "return", run.step.answer.clone());
    let fail = run.step.fail.as_ref();
    put(
        &mut members,
        "fail",
        fail.map(|fail| Json::object([("reason", text(&fail.reason)), ("message", text(&fail.message))])),
    );
    Json::object(members)
}

fn final_metrics(told: &[&Run], steps: u64) -> Json {
    let mut sum: Option<Tokens> = None;
    let mut cost = None;
    let mut unpriced = false;
    for run in told {
        if let Some(tokens) = run.step.usage.tokens {
            sum = Some(sum.map_or(tokens, |sum| sum.plus(&tokens)));
            match run.step.usage.cost {
                Some(of_run) => cost = Some(cost.unwrap_or(0.0) + of_run),
                None => unpriced = true,
            }
        }
    }
    let mut members = Members::new();
    put(&mut members, "total_prompt_tokens", sum.map(|sum| sum.input.into()));
    put(&mut members, "total_completion_tokens", sum.map(|sum| sum.output.into()));
    put(&mut members, "total_cached_tokens", sum.and_then(|sum| sum.cache_read).map(Json::from));
    put(&mut members, "total_cost_usd", cost.filter(|_| !unpriced).map(Json::from));
    members.push(("total_steps", steps.into()));
    Json::object(members)
}

/// Steps with their numbers.
#[derive(Default)]
struct Steps {
    steps: Vec<Json>,
}

impl Steps {
    fn add(&mut self, at_ms: i64, source: &str, message: &str, more: Members) {
        let number = Json::from(self.steps.len() + 1);
        let mut members: Members = vec![
            ("step_id", number),
            ("timestamp", text(&iso(at_ms))),
            ("source", text(source)),
            ("message", text(message)),
        ];
        members.extend(more);
        self.steps.push(Json::object(members));
    }

    fn run(&mut self, content: &Content, all: &[Run], run: &Run) {
        let mut sent = HashSet::new();
        // What a continued run carries from the one before has its own steps already.
        let new = |message: &&SentMessage| matches!(message.source, Source::Prompt | Source::Person);
        let last = run.step.messages.iter().filter(new).map(|message| message.m).max();
        let carried = |message: &SentMessage| run.record().start.continues.is_some() && Some(message.m) != last;
        for (turn, record) in run.turns() {
            for message in run.step.sent(turn).filter(new).filter(|message| !carried(message)) {
                if sent.insert(message.m) {
                    let source = if message.role == Role::System { "system" } else { "user" };
                    self.add(record.first_ms, source, &message.text(), Members::new());
                }
            }
            self.turn(content, all, run, (turn, record));
        }
    }

    fn turn(&mut self, content: &Content, all: &[Run], run: &Run, (turn, record): (&Turn, &TurnRecord)) {
        let effort = record.request.as_ref().and_then(|request| request.options.reasoning.as_deref());
        let reasoning = record.attempts.reasoning();
        let mut members = Members::new();
        put(&mut members, "model_name", turn.model.as_deref().map(text).or_else(|| model(run.asked(turn))));
        put(&mut members, "reasoning_effort", effort.map(text));
        put(&mut members, "reasoning_content", (!reasoning.is_empty()).then(|| text(&reasoning)));
        let calls: Vec<&CallEntry> = run.calls_of(turn).collect();
        let mut tool_calls: Vec<Json> = calls.iter().map(|call| tool_call(call)).collect();
        let made: HashSet<String> = calls.iter().map(|call| call.name.replace('-', "_")).collect();
        // A call that started nothing of its own (a program) is told by its effects, but it was asked for.
        let only_asked = record.native_calls().iter().filter(|call| !made.contains(&call.name.replace('-', "_")));
        tool_calls.extend(only_asked.map(|call| {
            let args = json::parse(&call.args).unwrap_or_else(|_| Json::str(call.args.as_str()));
            call_object(&call.id, &call.name, args, None)
        }));
        put(&mut members, "tool_calls", some_list(tool_calls));
        let mut results: Vec<Json> = calls.iter().map(|call| result(content, all, call)).collect();
        results.extend(turn.feedback.as_deref().map(|feedback| Json::object([("content", text(feedback))])));
        put(&mut members, "observation", some_list(results).map(|results| Json::object([("results", results)])));
        put(&mut members, "metrics", turn.tokens.as_ref().map(|tokens| metrics(turn, tokens)));
        put(&mut members, "llm_call_count", (turn.attempts > 0).then(|| 1_u64.into()));
        members.push(("extra", extra(run, turn)));
        self.add(record.first_ms, "agent", &turn.raw_response, members);
    }
}

fn call_object(id: &str, name: &str, args: Json, extra: Option<Json>) -> Json {
    // Arguments are an object by the format; anything else stands in one.
    let args = if args.members().is_some() { args } else { Json::object([("value", args)]) };
    let mut members: Members = vec![("tool_call_id", text(id)), ("function_name", text(name)), ("arguments", args)];
    put(&mut members, "extra", extra);
    Json::object(members)
}

fn call_id(call: &CallEntry) -> String {
    call.address.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn tool_call(call: &CallEntry) -> Json {
    let mut extra: Members = vec![("ms", call.ms.into()), ("cached", call.cached.into())];
    put(&mut extra, "kind", (!call.kind.is_empty()).then(|| text(&call.kind)));
    call_object(&call_id(call), &call.name, call.args.json(), Some(Json::object(extra)))
}

fn result(content: &Content, all: &[Run], call: &CallEntry) -> Json {
    let said = match (&call.result, &call.error) {
        (_, Some(error)) => format!("{}: {}", error.reason, error.message),
        (Some(result), None) => result.as_str().to_owned(),
        (None, None) => String::new(),
    };
    let mut members: Members = vec![("source_call_id", text(&call_id(call))), ("content", text(&said))];
    let child = all.iter().find(|run| Some(&run.record().address) == call.address.as_ref());
    put(
        &mut members,
        "subagent_trajectory_ref",
        child.map(|child| {
            Json::list([Json::object([
                ("trajectory_id", text(&id_of(content, child))),
                ("session_id", text(&content.session)),
            ])])
        }),
    );
    put(&mut members, "extra", call.status.map(|status| Json::object([("status", text(status.name()))])));
    Json::object(members)
}

fn metrics(turn: &Turn, tokens: &Tokens) -> Json {
    let mut members: Members =
        vec![("prompt_tokens", tokens.input.into()), ("completion_tokens", tokens.output.into())];
    put(&mut members, "cached_tokens", tokens.cache_read.map(Json::from));
    put(&mut members, "cost_usd", turn.cost.map(Json::from));
    put(
        &mut members,
        "extra",
        tokens.reasoning.map(|reasoning| Json::object([("reasoning_tokens", reasoning.into())])),
    );
    Json::object(members)
}

fn extra(run: &Run, turn: &Turn) -> Json {
    let mut members: Members = vec![
        ("run", text(run.record().address.as_str())),
        ("turn", turn.number.into()),
        ("success", turn.success.into()),
    ];
    put(&mut members, "reason", turn.reason.as_deref().map(text));
    put(&mut members, "program", turn.program.as_deref().map(text));
    put(&mut members, "value", turn.result.as_deref().map(text));
    put(&mut members, "prints", some_list(turn.prints.iter().map(|print| text(print)).collect()));
    put(&mut members, "repairs", some_list(turn.fixes.iter().map(|fix| text(fix)).collect()));
    put(&mut members, "issues", some_list(turn.issues.iter().map(|issue| text(&issue.message)).collect()));
    put(
        &mut members,
        "error",
        turn.error.as_ref().map(|error| {
            let details = error.details.as_ref().map(JsonText::json);
            let mut members: Members = vec![("reason", text(&error.reason)), ("message", text(&error.message))];
            put(&mut members, "details", details);
            Json::object(members)
        }),
    );
    Json::object(members)
}
