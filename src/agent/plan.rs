//! The plan: an agent that passed its construction checks, with its texts parsed and its schemas made. The engine runs it.
//!
//! In: an [`Agent`]. Out: a [`Plan`], or every reason why not. The plan never changes during a run.

use ptc_core::reply::Recovery;
use ptc_core::signature::{Field, InputMode, Signature, Type, from_json_schema, json_schema, underscored};
use ptc_core::template::{self, Template};
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value};

use super::checks::{ParsedAgent, check};
use std::borrow::Cow;
use std::sync::Arc;

use super::{Agent, Completion, Diagnostic, Mode, RawSchema, Settings, Transport, Variant, context};
use crate::config::document::advice;
use crate::port::Breakpoint;
use crate::tool::{Kind, Tool, provider_name};
use json_schema::{Schema, Wrap};

/// A checked agent.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its definition.
    pub agent: Agent,
    /// Its signature; without parameters and output where none was written.
    pub signature: Signature,
    /// Its prompt.
    pub template: Template,
    /// The type of the answer: the signature's output. For a raw schema that a signature could express, that type;
    /// for any other, and without a signature, `:any`.
    pub output: Type,
    /// The schema that goes to the model, in the modes that send one; `None` for any output.
    pub schema: Option<Schema>,
    /// The developer's own schema: it decides about answers instead of `output`.
    pub raw_schema: Option<RawSchema>,
    /// The variant of the mode `text`; in other modes the one it would have.
    pub variant: Variant,
    /// The options.
    pub settings: Settings,
    /// The tools, those that options add included.
    pub tools: Vec<Tool>,
    /// The child agents of tools, by tool name.
    pub children: Vec<(String, Arc<Self>)>,
    /// The allowed repairs of a reply.
    pub recovery: Recovery,
    /// Warnings; none prevents a run.
    pub warnings: Vec<Diagnostic>,
}

impl Plan {
    /// Checks an agent. Errors: every finding, warnings included, when at least one refuses the run.
    pub fn new(agent: &Agent) -> Result<Self, Vec<Diagnostic>> {
        let ParsedAgent { signature, template, schema: raw_schema, mut findings } = check(agent);
        let settings = Settings::of(agent, &mut findings);
        findings.extend(super::pinned::unreadable(agent));
        let (tools, children) = super::toolbox::open(agent, &mut findings);
        findings.extend(super::settings::check_calls(&settings, &tools));
        let Some(template) = template.filter(|_| !findings.iter().any(Diagnostic::is_error)) else {
            return Err(findings);
        };
        let signature = signature.unwrap_or(Signature { params: None, output: None });
        let output = match &agent.schema {
            Some(schema) => from_json_schema(schema).ok(),
            None => signature.output.clone(),
        };
        let output = output.unwrap_or(Type::Any);
        findings.extend(super::refs::astray(&settings.refs, &output));
        let variant = Variant::of(
            tools.iter().any(Tool::is_native)
                || (agent.mode == Mode::Text && settings.transport == Transport::ToolCall),
            &output,
            signature.output.is_some() || agent.schema.is_some(),
        );
        let answers_json = match (agent.mode, variant) {
            (Mode::Json, _) | (Mode::Text, Variant::Json) => true,
            // The prompt has the schema, if it may have any text of this program.
            (Mode::Text, Variant::ToolsJson) => settings.verbatim && agent.schema.is_some(),
            _ => false,
        };
        let schema = match &agent.schema {
            _ if !answers_json => None,
            Some(json) => Some(Schema { json: json.clone(), wrap: Wrap::None }),
            None => json_schema::answer(&output, &agent.field_descriptions),
        };
        Ok(Self {
            // The name was checked above.
            recovery: super::checks::recovery(agent),
            variant,
            settings,
            tools,
            children,
            agent: agent.clone(),
            signature,
            template,
            output,
            schema,
            raw_schema,
            warnings: findings,
        })
    }

    /// The same agent with a task in words: as its only open parameter, else after its own prompt; neither is a template then.
    #[must_use]
    pub fn on(&self, task: &str) -> Self {
        if let [only] = &self.open_params()[..] {
            let context = self.agent.context.clone().with(&only.name, Json::str(task));
            return Self { agent: Agent { context, ..self.agent.clone() }, ..self.clone() };
        }
        let prompt = format!("{}\n\n{task}", self.agent.prompt.trim_end());
        let agent = Agent { prompt, ..self.agent.clone() }.with_option("literal", Node::Bool(true).into());
        Self { template: template::literal(&agent.prompt), agent, ..self.clone() }
    }

    /// The parameters that must be given and that the agent's own context does not fill.
    pub(super) fn open_params(&self) -> Vec<Field> {
        let params = context::open_params(&self.agent.context, self.signature.params.as_deref().unwrap_or_default());
        params.into_iter().filter(|field| !field.ty.is_optional()).collect()
    }

    /// The same agent with at most so much mission time.
    #[must_use]
    pub fn within(&self, limit_ms: u64) -> Self {
        let mission_timeout_ms = Some(self.agent.mission_timeout_ms.map_or(limit_ms, |own| own.min(limit_ms)));
        Self { agent: Agent { mission_timeout_ms, ..self.agent.clone() }, ..self.clone() }
    }

    /// The tool of a name, or of the name that providers know it by.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        let wanted = provider_name(name);
        let same = |tool: &&Tool| tool.provider_name() == wanted;
        self.tools.iter().find(|tool| tool.name == name).or_else(|| self.tools.iter().find(same))
    }

    /// The tools that the model may call itself.
    pub fn native_tools(&self) -> impl Iterator<Item = &Tool> + Clone {
        self.tools.iter().filter(|tool| tool.is_native())
    }

    /// The tool that the model may call by this name; `-` and `_` are the same.
    pub fn native_tool(&self, name: &str) -> Option<&Tool> {
        self.tool(name).filter(|tool| tool.is_native())
    }

    /// Returns whether the mode `text` offers programs next to native tools.
    pub fn is_combined(&self) -> bool {
        self.agent.mode == Mode::Text && self.settings.transport == Transport::ToolCall
    }

    /// The tools that programs may call. Next to native tools they must be marked for programs.
    pub fn program_tools(&self) -> impl Iterator<Item = &Tool> + Clone {
        let explicit = self.is_combined();
        self.tools.iter().filter(move |tool| tool.is_for_programs() && (!explicit || tool.expose.is_some()))
    }

    /// Returns whether the run is a single program: one turn without retries or tools, whose value is the answer.
    pub fn is_single(&self) -> bool {
        is_single(self.agent.max_turns, &self.settings, &self.tools)
    }

    /// The child agent of a tool.
    pub fn child(&self, tool: &str) -> Option<&Arc<Self>> {
        self.children.iter().find(|(name, _)| name == tool).map(|(_, plan)| plan)
    }

    /// Returns whether names that start with `_` are hidden from the model; true also if a child agent hides its own.
    pub fn hides(&self) -> bool {
        self.settings.firewall || self.children.iter().any(|(_, child)| child.hides())
    }

    /// Returns whether the child agent of a tool hides names that start with `_` from models.
    pub fn hides_results_of(&self, tool: &Tool) -> bool {
        match tool.kind {
            Kind::SelfAgent => self.hides(),
            _ => self.child(&tool.name).is_some_and(|child| child.hides()),
        }
    }

    /// Returns the reason why no run of this agent, with its child runs, meets a breakpoint; `None` when one may.
    pub fn misses(&self, breakpoint: &Breakpoint) -> Option<String> {
        let plans = self.with_children();
        match breakpoint {
            Breakpoint::Tool(name) => {
                let tools: Vec<&str> =
                    plans.iter().flat_map(|plan| &plan.tools).map(|tool| tool.name.as_str()).collect();
                let is_met = tools.iter().any(|tool| underscored(tool) == underscored(name));
                let near = if tools.is_empty() { "; it has no tools".to_owned() } else { advice(name, &tools) };
                (!is_met).then(|| format!("the agent has no tool `{name}`{near}"))
            }
            Breakpoint::Def(_) | Breakpoint::Error => {
                let runs_programs = plans.iter().any(|plan| plan.agent.has_programs());
                (!runs_programs).then(|| format!("an agent in {} mode runs no programs", self.agent.mode))
            }
        }
    }

    /// This plan and those of its child agents. (Their nesting is that of the definition.)
    fn with_children(&self) -> Vec<&Self> {
        let mut plans = vec![self];
        plans.extend(self.children.iter().flat_map(|(_, child)| child.with_children()));
        plans
    }

    /// The wrapping of an answer that makes the schema sent an object.
    pub fn wrap(&self) -> Wrap {
        self.schema.as_ref().map_or(Wrap::None, |schema| schema.wrap)
    }

    /// The context as the template reads it: with nil under each optional name that is absent, on every level.
    pub fn template_values<'v>(&self, context: &'v Value) -> Cow<'v, Value> {
        context::with_nested_absent(self.signature.params.as_deref().unwrap_or_default(), context)
    }

    /// The context as the prompt and the run use it, with what was found: inputs converted and checked against the parameters,
    /// names of the prompt that have no value. Spans are those of `context`. Without errors the value may be used.
    pub fn check_context(&self, context: &Json) -> (Value, Vec<Diagnostic>) {
        context::check(&self.agent, &self.signature, &self.template, context)
    }
}

/// Returns whether a run with these options and tools is a single program.
pub(super) fn is_single(max_turns: u32, settings: &Settings, tools: &[Tool]) -> bool {
    max_turns == 1
        && settings.retry_turns == 0
        && settings.completion == Completion::ReturnRequired
        && settings.transport == Transport::Content
        && tools.is_empty()
}

/// The mode of a name in the table [`VALIDATION`](super::fields::VALIDATION).
pub(super) fn input_mode(name: &str) -> InputMode {
    match name {
        "warn_only" => InputMode::WarnOnly,
        "strict" => InputMode::Strict,
        "disabled" => InputMode::Disabled,
        _ => InputMode::Enabled,
    }
}
