//! The tools of an agent: declarations read, tools that options add, and plans of their child agents.
//!
//! In: an [`Agent`]. Out: its tools and children; what is wrong with them is noted. Recursion over agents is bounded by their nesting
//! in the definition.

use std::sync::Arc;

use ptc_core::limits::MAX_TURNS;
use ptc_core::reasons::Reason;
use ptc_core::signature::Type;
use ptc_core::value::Json;

use super::checks::is_combined;
use super::file::from_table;
use super::lint::lint_snippet;
use super::{Agent, Diagnostic, Mode, Place, Plan, Tool as Declared};
use crate::tool::{Builtin, DELEGATE, Kind, LLM_QUERY, RESERVED_NAMES, Returns, Tool, answer_signature};

type Children = Vec<(String, Arc<Plan>)>;

/// Opens the toolbox.
pub(super) fn open(agent: &Agent, findings: &mut Vec<Diagnostic>) -> (Vec<Tool>, Children) {
    let mut tools: Vec<Tool> = Vec::new();
    // Declarations in json mode are refused as a whole.
    for declared in agent.tools.iter().filter(|_| agent.mode != Mode::Json) {
        match Tool::from_table(&declared.name, &declared.definition) {
            Ok(tool) => tools.push(completed(tool)),
            Err(wrong) => findings.extend(wrong.into_iter().map(|(key, message)| {
                let key = if key.is_empty() { String::new() } else { format!(".{key}") };
                note(&format!("tools.{}{key}", declared.name), message)
            })),
        }
    }
    if agent.mode != Mode::Json {
        tools.extend(added(agent, findings));
    }
    check_names(agent, &tools, findings);
    findings.extend(tools.iter().flat_map(lint_snippet));
    findings.extend(tools.iter().flat_map(misfits));
    let mut children = Children::new();
    for tool in &mut tools {
        if matches!(tool.kind, Kind::SelfAgent) {
            if agent.signature.is_none() {
                let message = format!("the agent calls itself as `{}`, so it needs a signature", tool.name);
                findings.push(note(&format!("tools.{}", tool.name), message));
            }
            complete_tool(tool, agent, findings);
        } else if let Some(plan) = child(agent, tool, findings) {
            findings.extend(untasked(tool, &plan));
            complete_tool(tool, &plan.agent, findings);
            children.push((tool.name.clone(), plan));
        }
    }
    findings.extend(tools.iter().filter_map(|tool| unreachable(agent, tool)));
    if matches!(agent.mode, Mode::Text | Mode::JsonLoop) {
        findings.extend(tools.iter().filter(|tool| is_unexplained(tool)).map(|tool| {
            let message = match tool.kind {
                Kind::Mcp(_) => {
                    format!("the arguments of `{}` are not known yet: the first run queries its server", tool.name)
                }
                _ => format!("the tool `{}` has no `signature`: the model does not see its arguments", tool.name),
            };
            note(&format!("tools.{}", tool.name), message).warning()
        }));
    }
    (tools, children)
}

/// Completes a tool from its child agent: signature and description, where it declares none.
fn complete_tool(tool: &mut Tool, agent: &Agent, findings: &mut Vec<Diagnostic>) {
    if tool.returns == Returns::Delegate {
        tool.signature = ptc_core::signature::parse(DELEGATE).ok();
        tool.signature_text = Some(DELEGATE.to_owned());
    }
    if tool.signature.is_none()
        && let Some(text) = &agent.signature
    {
        tool.signature = ptc_core::signature::parse_inputs(text).ok();
        tool.signature_text = Some(text.clone());
    }
    if tool.description.is_none() {
        tool.description.clone_from(&agent.description);
    }
    if tool.description.is_none() {
        let message = format!("the tool `{}` has no description; describe what its agent does", tool.name);
        let found = note(&format!("tools.{}", tool.name), message);
        // A delegated tool takes any task, and an agent that calls itself knows its own purpose.
        let is_needed = matches!(tool.kind, Kind::Agent(_)) && tool.returns != Returns::Delegate;
        findings.push(if is_needed { found } else { found.warning() });
    }
}

/// A tool that takes a task in words only, around an agent whose parameters it cannot fill.
fn untasked(tool: &Tool, plan: &Plan) -> Option<Diagnostic> {
    if tool.returns != Returns::Delegate {
        return None;
    }
    let open = plan.open_params();
    let takes_text = |ty: &Type| matches!(ty.base(), Type::String | Type::Any);
    let fits = open.is_empty() || (open.len() == 1 && takes_text(&open[0].ty));
    let names: Vec<String> = open.iter().map(|field| format!("`{}`", field.name)).collect();
    let key = format!("tools.{}.returns", tool.name);
    (!fits).then(|| {
        note(
            &key,
            format!(
                "`returns = \"delegate\"` passes one text, the task, and the agent of the tool `{}` needs {}; \
                 leave one parameter of type :string without a value in its context, or remove `returns`",
                tool.name,
                names.join(", ")
            ),
        )
    })
}

/// The parts of a tool's declaration that do not fit its signature.
fn misfits(tool: &Tool) -> impl Iterator<Item = Diagnostic> + '_ {
    tool.misfits().into_iter().map(|(key, why)| {
        note(&format!("tools.{}.{key}", tool.name), format!("the tool `{}`: {why}", tool.name)).warning()
    })
}

fn note(key: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Place::Options, Reason::InvalidAgent, message).key(key)
}

/// A tool that the mode offers to nothing.
fn unreachable(agent: &Agent, tool: &Tool) -> Option<Diagnostic> {
    let message = match agent.mode {
        Mode::PtcLisp if !tool.is_for_programs() => {
            format!(
                "`expose = \"native\"` hides the tool `{}` from programs, and ptc_lisp mode has nothing else; remove `expose`",
                tool.name
            )
        }
        Mode::Text | Mode::JsonLoop if !tool.is_native() && !is_combined(agent) => format!(
            "`expose = \"ptc_lisp\"` hides the tool `{}` from the model, and {} mode runs no programs; remove `expose`, or use ptc_lisp{}",
            tool.name,
            agent.mode,
            if agent.mode == Mode::Text { " or `transport = \"tool_call\"`" } else { "" }
        ),
        _ => return None,
    };
    Some(note(&format!("tools.{}.expose", tool.name), message).warning())
}

/// Returns whether the arguments of a native tool are undeclared. (An agent's own signature declares them.)
fn is_unexplained(tool: &Tool) -> bool {
    let is_described = tool.signature.is_some() || tool.parameters.is_some();
    tool.is_native() && !is_described && !matches!(tool.kind, Kind::Agent(_) | Kind::Llm(_))
}

/// A builtin tool with its card where the declaration has none.
fn completed(tool: Tool) -> Tool {
    let Kind::Builtin(builtin) = tool.kind else { return tool };
    let (signature, description) = builtin.card();
    Tool {
        signature: tool.signature.or_else(|| ptc_core::signature::parse(signature).ok()),
        signature_text: tool.signature_text.or_else(|| Some(signature.to_owned())),
        description: tool.description.or_else(|| Some(description.to_owned())),
        ..tool
    }
}

/// The tools of `builtin_tools` and `llm_query`.
fn added(agent: &Agent, findings: &mut Vec<Diagnostic>) -> Vec<Tool> {
    let mut names: Vec<String> = Vec::new();
    for item in agent.option("builtin_tools").and_then(Json::items).unwrap_or_default() {
        match item.as_str() {
            // One word adds both tools.
            Some("grep") => names.extend(["grep".to_owned(), "grep-n".to_owned()]),
            Some(name) if Builtin::from_name(name).is_some() => names.push(name.to_owned()),
            _ => {
                let near = crate::config::document::advice(
                    item.as_str().unwrap_or_default(),
                    &Builtin::ALL.map(Builtin::name),
                );
                findings.push(note("builtin_tools", format!("unknown builtin tool {}{near}", item.to_text())));
            }
        }
    }
    if agent.asks("llm_query") {
        names.push(LLM_QUERY.to_owned());
    }
    let declared = |name: &str| Tool::from_table(name, &Json::empty().with("kind", Json::str("builtin"))).ok();
    names.iter().filter_map(|name| declared(name)).map(completed).collect()
}

fn check_names(agent: &Agent, tools: &[Tool], findings: &mut Vec<Diagnostic>) {
    for (place, tool) in tools.iter().enumerate() {
        let key = format!("tools.{}", tool.name);
        if RESERVED_NAMES.contains(&tool.name.as_str()) {
            findings.push(note(&key, format!("the name `{}` is reserved; rename the tool", tool.name)));
        }
        if tools[..place].iter().any(|other| other.provider_name() == tool.provider_name()) {
            let message = format!("two tools are named `{}` (`-`, `?` and `!` are the same as `_`)", tool.name);
            findings.push(note(&key, message));
        }
        let in_context = agent.context.members().unwrap_or_default().iter().any(|member| member.key == tool.name);
        if in_context && agent.mode == Mode::PtcLisp {
            let message = format!("`{}` names both a tool and a field of the context; rename one", tool.name);
            findings.push(note(&key, message));
        }
    }
}

/// The plan of the child agent of a tool.
fn child(agent: &Agent, tool: &Tool, findings: &mut Vec<Diagnostic>) -> Option<Arc<Plan>> {
    let definition = match &tool.kind {
        Kind::Agent(table) => from_table(table).and_then(|agent| agent.for_mode(agent.mode)),
        Kind::Llm(table) => Ok(asked(agent, tool, table)),
        _ => return None,
    };
    let key = format!("tools.{}", tool.name);
    let answering = |child: Agent| if child.program().is_some() { child.once() } else { child };
    let planned = definition.map(answering).and_then(|child| Plan::new(&Agent { name: tool.name.clone(), ..child }));
    planned
        .map(Arc::new)
        .map_err(|wrong| {
            let errors = wrong.iter().filter(|finding| finding.is_error());
            findings.extend(errors.map(|finding| note(&key, format!("tool `{}`: {}", tool.name, finding.message))));
        })
        .ok()
}

/// A question to a model as an agent of one turn in mode `text`.
fn asked(agent: &Agent, tool: &Tool, table: &Json) -> Agent {
    let text = |key: &str| table.get(key).and_then(Json::as_str).map(str::to_owned);
    let tools = table.get("tools").and_then(Json::members).unwrap_or_default().iter();
    let tools: Vec<_> = tools.map(|tool| Declared { name: tool.key.clone(), definition: tool.value.clone() }).collect();
    // One answer, unless it may call tools before.
    let usual = if tools.is_empty() { 1 } else { MAX_TURNS.usual() };
    let max_turns = table.get("max_turns").and_then(|turns| turns.to_text().parse().ok()).unwrap_or(usual);
    Agent {
        name: tool.name.clone(),
        description: tool.description.clone(),
        mode: text("mode").and_then(|name| Mode::from_name(&name)).unwrap_or(Mode::Text),
        model: text("model").filter(|model| model != "caller"),
        prompt: text("prompt").unwrap_or_default(),
        // Its errors were reported when the tool was read.
        signature: answer_signature(tool.signature_text.as_deref(), text("json_signature").as_deref())
            .unwrap_or_default(),
        field_descriptions: descriptions(table),
        max_turns,
        tools,
        model_options: agent.model_options.clone(),
        options: agent.inherited(),
        ..Agent::default()
    }
}

/// The table `field_descriptions` of a tool.
fn descriptions(table: &Json) -> Vec<(String, String)> {
    let members = table.get("field_descriptions").and_then(Json::members).unwrap_or_default().iter();
    members.filter_map(|member| Some((member.key.clone(), member.value.as_str()?.to_owned()))).collect()
}
