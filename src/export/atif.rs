//! The export `atif`: a trajectory in the Agent Trajectory Interchange Format 1.7 (harbor, RFC 0001).
//!
//! One document per session: the root runs' steps in order, child runs as embedded trajectories. A step of source `agent` is a turn:
//! its message is the reply as it came, its tool calls are the calls that were made (by the model or by its program), its observation
//! holds their results and the feedback that went back.

#![expect(clippy::struct_field_names, reason = "the names of the format")]

use std::collections::HashSet;

use ptc_core::value::Json;
use ptc_core::value::json::{self, to_json};
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::iso;
use super::story::{Content, Run, calls, child_runs, roots, runs};
use super::text::{printable, visible_json};
use crate::event::{
    Address, CallStatus, JsonText, ModelRecord, Role, SentMessage, SentPart, Source, Tokens, TotalUsage,
};
use crate::record::{CallRecord, TurnRecord};

const SCHEMA: &str = "ATIF-v1.7";

pub(super) fn atif(content: &Content) -> String {
    let runs = runs(content);
    let root: Vec<&Run> = roots(&runs).collect();
    let trajectory = trajectory(content, &runs, &root, content.session.clone());
    printable(&visible_json(&to_json(&trajectory))) + "\n"
}

/// Runs that follow one another.
#[skip_serializing_none]
#[derive(Serialize)]
struct Trajectory<'a> {
    schema_version: &'static str,
    session_id: &'a str,
    trajectory_id: String,
    agent: AgentJson<'a>,
    steps: Vec<StepJson<'a>>,
    final_metrics: FinalMetrics,
    notes: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectories: Vec<Self>,
    extra: TrajectoryExtra<'a>,
}

#[derive(Serialize)]
struct TrajectoryExtra<'a> {
    runs: Vec<RunJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct RunJson<'a> {
    address: &'a Address,
    context: Json,
    #[serde(rename = "return")]
    answer: Option<&'a Json>,
    fail: Option<ErrorJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct ErrorJson<'a> {
    reason: &'a str,
    message: &'a str,
    details: Option<&'a JsonText>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct AgentJson<'a> {
    name: &'a str,
    version: &'a str,
    model_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_definitions: Vec<ToolDefinition>,
    extra: Option<AgentExtra<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct AgentExtra<'a> {
    system: &'a str,
    mode: &'a str,
    signature: Option<&'a str>,
}

#[derive(Serialize)]
struct ToolDefinition {
    r#type: &'static str,
    function: ToolFunction,
}

#[derive(Serialize)]
struct ToolFunction {
    name: String,
    description: String,
    parameters: JsonText,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct FinalMetrics {
    total_prompt_tokens: Option<u64>,
    total_completion_tokens: Option<u64>,
    total_cached_tokens: Option<u64>,
    total_cost_usd: Option<f64>,
    total_steps: u64,
    extra: Option<MetricsOfTree>,
}

/// Metrics of a trajectory with those of its subagents; the other metrics are of its own steps, by the format.
#[skip_serializing_none]
#[derive(Serialize)]
struct MetricsOfTree {
    prompt_tokens_with_subagents: Option<u64>,
    completion_tokens_with_subagents: Option<u64>,
    cached_tokens_with_subagents: Option<u64>,
    cost_usd_with_subagents: Option<f64>,
}

/// A step: a message of the prompt, or a turn.
#[derive(Serialize)]
struct StepJson<'a> {
    step_id: usize,
    timestamp: String,
    source: &'static str,
    message: String,
    #[serde(flatten)]
    turn: Option<TurnJson<'a>>,
}

/// The content of a step of source `agent` besides its message.
#[skip_serializing_none]
#[derive(Serialize)]
struct TurnJson<'a> {
    model_name: Option<&'a str>,
    reasoning_effort: Option<String>,
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallJson>,
    observation: Option<Observation>,
    metrics: Option<Metrics>,
    llm_call_count: Option<u8>,
    extra: TurnExtra<'a>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct CallJson {
    tool_call_id: String,
    function_name: String,
    arguments: Json,
    extra: Option<CallExtra>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct CallExtra {
    ms: u64,
    cached: bool,
    kind: Option<String>,
}

#[derive(Serialize)]
struct Observation {
    results: Vec<ResultJson>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct ResultJson {
    source_call_id: Option<String>,
    content: String,
    subagent_trajectory_ref: Option<[TrajectoryRef; 1]>,
    extra: Option<ResultExtra>,
}

#[derive(Serialize)]
struct TrajectoryRef {
    trajectory_id: String,
    session_id: String,
}

#[derive(Serialize)]
struct ResultExtra {
    status: CallStatus,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct Metrics {
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: Option<u64>,
    cost_usd: Option<f64>,
    extra: Option<MetricsExtra>,
}

#[derive(Serialize)]
struct MetricsExtra {
    reasoning_tokens: u64,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct TurnExtra<'a> {
    run: &'a Address,
    turn: u32,
    success: bool,
    reason: Option<&'a str>,
    program: Option<&'a str>,
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    prints: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repairs: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    issues: Vec<&'a str>,
    error: Option<ErrorJson<'a>>,
}

/// The trajectory of runs that follow one another.
fn trajectory<'a>(content: &'a Content, all: &'a [Run], shown_runs: &[&'a Run], id: String) -> Trajectory<'a> {
    let mut steps = Steps::default();
    for run in shown_runs {
        steps.run(content, all, run);
    }
    if steps.steps.is_empty() {
        steps.add(content.created_ms, "system", "no turn was made".to_owned(), None);
    }
    let count = steps.steps.len() as u64;
    let children = shown_runs.iter().flat_map(|run| child_runs(all, run));
    let children = children.map(|child| trajectory(content, all, &[child], id_of(content, child)));
    Trajectory {
        schema_version: SCHEMA,
        session_id: &content.session,
        trajectory_id: id,
        agent: agent(content, shown_runs.first().copied()),
        steps: steps.steps,
        final_metrics: final_metrics(shown_runs, count),
        notes: (content.imported.as_ref().map(|from| format!("imported from {from}")))
            .or_else(|| content.captured.as_ref().map(|from| format!("captured from {from}"))),
        subagent_trajectories: children.collect(),
        extra: TrajectoryExtra { runs: shown_runs.iter().map(|run| outcome(run)).collect() },
    }
}

fn id_of(content: &Content, run: &Run) -> String {
    format!("{}/{}", content.session, run.record().address)
}

fn agent<'a>(content: &'a Content, run: Option<&'a Run>) -> AgentJson<'a> {
    let (name, version) = content.program.rsplit_once(' ').unwrap_or((content.program.as_str(), "unknown"));
    let Some(run) = run else {
        return AgentJson { name, version, model_name: None, tool_definitions: Vec::new(), extra: None };
    };
    let request = run.turns().next().and_then(|turn| turn.request.as_ref());
    let tools = request.iter().flat_map(|request| &request.tools).map(|tool| ToolDefinition {
        r#type: "function",
        function: ToolFunction {
            name: tool.name.clone(),
            description: tool.description.clone().unwrap_or_default(),
            parameters: tool.parameters.clone(),
        },
    });
    let signature = run.step.signature.as_deref();
    AgentJson {
        name: if run.step.name.is_empty() { "agent" } else { &run.step.name },
        version,
        model_name: model(run.last_model()),
        tool_definitions: tools.collect(),
        extra: Some(AgentExtra { system: &content.program, mode: &run.record().start.mode, signature }),
    }
}

fn model(model: &ModelRecord) -> Option<&str> {
    let name = if model.id.is_empty() { &model.alias } else { &model.id };
    Some(name.as_str()).filter(|name| !name.is_empty())
}

fn outcome(run: &Run) -> RunJson<'_> {
    let fail = run.step.fail.as_ref();
    RunJson {
        address: &run.record().address,
        context: run.context(),
        answer: run.step.answer.as_ref(),
        fail: fail.map(|fail| ErrorJson { reason: &fail.reason, message: &fail.message, details: None }),
    }
}

fn final_metrics(shown_runs: &[&Run], total_steps: u64) -> FinalMetrics {
    let own = TotalUsage::of_runs(shown_runs.iter().map(|run| run.step.usage.own.clone()));
    let total = TotalUsage::of_trees(shown_runs.iter().map(|run| &run.step.usage.total));
    let tree = |total: &TotalUsage| MetricsOfTree {
        prompt_tokens_with_subagents: total.tokens.map(|tokens| tokens.input),
        completion_tokens_with_subagents: total.tokens.map(|tokens| tokens.output),
        cached_tokens_with_subagents: total.tokens.and_then(|tokens| tokens.cache_read),
        cost_usd_with_subagents: total.cost(),
    };
    FinalMetrics {
        total_prompt_tokens: own.tokens.map(|tokens| tokens.input),
        total_completion_tokens: own.tokens.map(|tokens| tokens.output),
        total_cached_tokens: own.tokens.and_then(|tokens| tokens.cache_read),
        total_cost_usd: own.cost(),
        total_steps,
        extra: (own != total).then(|| tree(&total)),
    }
}

/// Steps with their numbers.
#[derive(Default)]
struct Steps<'a> {
    steps: Vec<StepJson<'a>>,
}

impl<'a> Steps<'a> {
    fn add(&mut self, at_ms: i64, source: &'static str, message: String, turn: Option<TurnJson<'a>>) {
        self.steps.push(StepJson { step_id: self.steps.len() + 1, timestamp: iso(at_ms), source, message, turn });
    }

    fn run(&mut self, content: &Content, all: &[Run], run: &'a Run) {
        let mut sent = HashSet::new();
        // What a continued run carries from the one before has its own steps already.
        let new = |message: &&SentMessage| matches!(message.source, Source::Prompt | Source::User);
        let last = run.record().messages.iter().filter(new).map(|message| message.m).max();
        let carried = |message: &SentMessage| run.record().start.continues.is_some() && Some(message.m) != last;
        for turn in run.turns() {
            for message in run.sent(turn).filter(new).filter(|message| !carried(message)) {
                if sent.insert(message.m) {
                    let source = if message.role == Role::System { "system" } else { "user" };
                    self.add(turn.first_ms, source, message.text(), None);
                }
            }
            let more = turn_json(content, all, run, turn);
            self.add(turn.first_ms, "agent", turn.reply().to_owned(), Some(more));
        }
    }
}

fn turn_json<'a>(content: &Content, all: &[Run], run: &'a Run, turn: &'a TurnRecord) -> TurnJson<'a> {
    let calls = calls(turn);
    let spending = run.spending(turn);
    let mut tool_calls: Vec<CallJson> = calls.iter().map(|call| tool_call(call)).collect();
    let made: HashSet<String> = calls.iter().map(|call| call.name.replace('-', "_")).collect();
    // A call without a run of its own (a program) is described by its effects, but it was requested.
    let only_asked = || turn.native_calls().iter().filter(|call| !made.contains(&call.name.replace('-', "_")));
    tool_calls.extend(only_asked().map(|call| call_json(call.id.clone(), &call.name, call.json_args(), None)));
    let mut results: Vec<ResultJson> = calls.iter().map(|call| result(content, all, call)).collect();
    results.extend(only_asked().filter_map(|call| sent_result(run, &call.id)));
    results.extend(turn.feedback.clone().map(|content| ResultJson {
        source_call_id: None,
        content,
        subagent_trajectory_ref: None,
        extra: None,
    }));
    TurnJson {
        model_name: turn.last_end().and_then(|end| end.model.as_deref()).or_else(|| model(run.asked(turn))),
        reasoning_effort: turn.request.as_ref().and_then(|request| request.options.reasoning.clone()),
        reasoning_content: Some(turn.attempts.reasoning()).filter(|text| !text.is_empty()),
        tool_calls,
        observation: (!results.is_empty()).then_some(Observation { results }),
        metrics: spending.tokens.as_ref().map(|tokens| metrics(tokens, spending.cost())),
        llm_call_count: (turn.attempts.made() > 0).then_some(1),
        extra: extra(run, turn),
    }
}

/// A call. Arguments are an object by the format; anything else is put into one.
fn call_json(tool_call_id: String, name: &str, args: Json, extra: Option<CallExtra>) -> CallJson {
    let arguments = if args.members().is_some() { args } else { Json::empty().with("value", args) };
    CallJson { tool_call_id, function_name: name.to_owned(), arguments, extra }
}

fn tool_call(call: &CallRecord) -> CallJson {
    let kind = Some(call.kind.clone()).filter(|kind| !kind.is_empty());
    let extra = CallExtra { ms: call.ms, cached: call.cached, kind };
    call_json(call.address.to_string(), &call.name, call.args.json(), Some(extra))
}

fn result(content: &Content, all: &[Run], call: &CallRecord) -> ResultJson {
    let text = match (&call.result, &call.error) {
        (_, Some(error)) => format!("{}: {}", error.reason, error.message),
        (Some(result), None) => result.as_str().to_owned(),
        (None, None) => String::new(),
    };
    let child = all.iter().find(|run| run.record().address == call.address);
    ResultJson {
        source_call_id: Some(call.address.to_string()),
        content: text,
        subagent_trajectory_ref: child
            .map(|child| [TrajectoryRef { trajectory_id: id_of(content, child), session_id: content.session.clone() }]),
        extra: call.status.map(|status| ResultExtra { status }),
    }
}

/// The result of a call that another program made, as a later request contains it. A text that is not JSON is recorded as a JSON string.
fn sent_result(run: &Run, id: &str) -> Option<ResultJson> {
    let parts = run.record().messages.iter().flat_map(|message| &message.parts);
    let content = parts.into_iter().find_map(|part| match part {
        SentPart::Result { call, result, .. } if call == id && !id.is_empty() => Some(result.clone()),
        _ => None,
    })?;
    let text = json::parse(&content).ok().and_then(|json| json.as_str().map(str::to_owned));
    let content = text.unwrap_or(content);
    Some(ResultJson { source_call_id: Some(id.to_owned()), content, subagent_trajectory_ref: None, extra: None })
}

fn metrics(tokens: &Tokens, cost_usd: Option<f64>) -> Metrics {
    Metrics {
        prompt_tokens: tokens.input,
        completion_tokens: tokens.output,
        cached_tokens: tokens.cache_read,
        cost_usd,
        extra: tokens.reasoning.map(|reasoning_tokens| MetricsExtra { reasoning_tokens }),
    }
}

fn extra<'a>(run: &'a Run, turn: &'a TurnRecord) -> TurnExtra<'a> {
    TurnExtra {
        run: &run.record().address,
        turn: turn.number(),
        success: turn.success(),
        reason: turn.reason(),
        program: turn.program(),
        value: turn.value(),
        prints: turn.prints(),
        repairs: turn.fixes().collect(),
        issues: turn.issues().map(|issue| issue.message.as_str()).collect(),
        error: turn.error().map(|error| ErrorJson {
            reason: &error.reason,
            message: &error.message,
            details: error.details.as_ref(),
        }),
    }
}
