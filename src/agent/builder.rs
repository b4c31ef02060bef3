//! Building an agent in Rust or from the command line.
//!
//! In: parts of a definition. Out: an [`Agent`] that passed its construction checks, or all findings.

use std::fmt;
use std::sync::Arc;

use ptc_core::value::json::{self, Node};
use ptc_core::value::{Json, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Agent, Diagnostic, Mode, Plan, SystemPrompt, Tool};
use crate::config::document;
use crate::event::Options;
use crate::tool::{Closure, Expose, Kind};

/// An agent under construction. Unset values have the defaults of agent files.
#[derive(Clone, Default)]
pub struct AgentBuilder {
    agent: Agent,
    functions: Vec<(String, Closure)>,
    below: Vec<(String, AgentBuilder)>,
    wrong: Vec<Diagnostic>,
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions: Vec<_> = self.functions.iter().map(|(name, _)| name).collect();
        f.debug_struct("AgentBuilder")
            .field("agent", &self.agent)
            .field("functions", &functions)
            .finish_non_exhaustive()
    }
}

impl From<Agent> for AgentBuilder {
    /// The agent as it is in its own mode.
    fn from(agent: Agent) -> Self {
        let mode = agent.mode;
        Self { agent, ..Self::default() }.mode(mode)
    }
}

impl From<&str> for AgentBuilder {
    /// An agent that is only a prompt, in mode `text`: text without a signature or for `:string`, JSON for any other, with native
    /// calls when it has tools.
    fn from(prompt: &str) -> Self {
        Agent { name: "inline".to_owned(), prompt: prompt.to_owned(), mode: Mode::Text, ..Agent::default() }.into()
    }
}

impl Agent {
    /// Starts an agent.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// The agent of `--prompt TEXT [--signature S]`: a typed answer is asked for as JSON, and a prompt alone wants words.
    pub fn inline(prompt: impl Into<String>, signature: Option<String>) -> Self {
        let mode = if signature.is_some() { Mode::Json } else { Mode::Text };
        Self { name: "inline".to_owned(), prompt: prompt.into(), signature, mode, ..Self::default() }
    }
}

impl AgentBuilder {
    /// Its name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.agent.name = name.into();
        self
    }

    /// Its description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.agent.description = Some(description.into());
        self
    }

    /// The mission.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.agent.prompt = prompt.into();
        self
    }

    /// Its signature: inputs and output.
    #[must_use]
    pub fn signature(mut self, signature: impl Into<String>) -> Self {
        self.agent.signature = Some(signature.into());
        self
    }

    /// A JSON Schema of its own instead of the signature's output.
    #[must_use]
    pub fn schema(mut self, schema: Json) -> Self {
        self.agent.schema = Some(schema);
        self
    }

    /// Output mode. The agent's section for that mode, if it has one, replaces what was there.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.agent.mode = mode;
        if self.agent.modes.iter().any(|(other, _)| *other == mode) {
            match self.agent.for_mode(mode) {
                Ok(agent) => self.agent = agent,
                Err(found) => self.wrong.extend(found),
            }
        }
        self
    }

    /// Alias or `provider:model`.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.agent.model = Some(model.into());
        self
    }

    /// Limit `max_turns`.
    #[must_use]
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.agent.max_turns = turns;
        self
    }

    /// Limit `mission_timeout_ms`.
    #[must_use]
    pub fn mission_timeout_ms(mut self, ms: u64) -> Self {
        self.agent.mission_timeout_ms = Some(ms);
        self
    }

    /// Limit `token_limit`.
    #[must_use]
    pub fn token_limit(mut self, tokens: u64) -> Self {
        self.agent.token_limit = Some(tokens);
        self
    }

    /// Recovery level: strict, standard, lenient.
    #[must_use]
    pub fn recovery(mut self, level: impl Into<String>) -> Self {
        self.agent.recovery = Some(level.into());
        self
    }

    /// The validation of inputs: enabled, `warn_only`, strict, disabled.
    #[must_use]
    pub fn signature_validation(mut self, mode: impl Into<String>) -> Self {
        self.agent.signature_validation = mode.into();
        self
    }

    /// The texts around the system card, and replacements of its parts.
    #[must_use]
    pub fn system_prompt(mut self, prompt: SystemPrompt) -> Self {
        self.agent.system_prompt = prompt;
        self
    }

    /// The context that is used when a run gives none: a JSON object.
    #[must_use]
    pub fn context(mut self, context: Json) -> Self {
        self.agent.context = context;
        self
    }

    /// Describes an output field.
    #[must_use]
    pub fn describe(mut self, field: impl Into<String>, text: impl Into<String>) -> Self {
        self.agent.field_descriptions.push((field.into(), text.into()));
        self
    }

    /// Describes an input.
    #[must_use]
    pub fn describe_input(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.agent.context_descriptions.push((name.into(), text.into()));
        self
    }

    /// Model options.
    #[must_use]
    pub fn model_options(mut self, options: Options) -> Self {
        self.agent.model_options = options;
        self
    }

    /// Declares a tool; its definition is a JSON object with the keys of `[tools.x]`.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, definition: Json) -> Self {
        self.agent.tools.push(Tool { name: name.into(), definition });
        self
    }

    /// Sets any key of agent files, checked as there.
    #[must_use]
    pub fn set(mut self, key: &str, value: Json) -> Self {
        self.wrong.extend(super::file::set(&mut self.agent, key, value));
        self
    }

    /// A ref: a part of the answer by its path, such as `items[0].id` or `[*].name`.
    #[must_use]
    pub fn ref_path(self, name: &str, path: &str) -> Self {
        self.with_ref(name, Json::str(path))
    }

    /// A ref: what a PTC-Lisp expression over `result` gives.
    #[must_use]
    pub fn ref_expr(self, name: &str, expression: &str) -> Self {
        self.with_ref(name, Json::empty().with("expr", Json::str(expression)))
    }

    fn with_ref(self, name: &str, source: Json) -> Self {
        let refs = self.agent.option("refs").cloned().unwrap_or_default();
        self.set("refs", refs.with(name, source))
    }

    /// Declares a tool that is another agent, with the functions of its own tools: called with its parameters, it returns the
    /// answer of that agent. It needs a description.
    #[must_use]
    pub fn tool_agent(mut self, name: impl Into<String>, agent: AgentBuilder) -> Self {
        let name = name.into();
        self.wrong.extend(agent.wrong.iter().cloned());
        let table = document::parse(&agent.agent.to_toml()).unwrap_or_default();
        self.below.push((name.clone(), agent));
        self.tool(name, Json::empty().with("kind", Json::str("agent")).with("agent", table))
    }

    /// The child agent of the tool declared last is called with a task in words and answers `{result, summary, refs, trace}`.
    #[must_use]
    pub fn delegated(self) -> Self {
        self.with_last("returns", Json::str("delegate"))
    }

    /// Declares a tool that is a function: checked arguments in (a map with string keys), a value or an error text out. Without a
    /// signature (an empty text) arguments are not checked, and models get less information. The
    /// agent itself only declares such a tool, so that recordings of its runs can be replayed without the function.
    #[must_use]
    pub fn tool_fn(
        mut self,
        name: impl Into<String>,
        signature: &str,
        description: &str,
        function: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        self.functions.push((name.clone(), Arc::new(function)));
        let texts = [("signature", signature), ("description", description)].into_iter();
        let texts = texts.filter(|(_, text)| !text.is_empty());
        let kind = Json::empty().with("kind", Json::str("closure"));
        self.tool(name, texts.fold(kind, |table, (key, text)| table.with(key, Json::str(text))))
    }

    /// Declares a tool that is a function with typed arguments and result: the arguments, checked by the signature, are
    /// deserialized to `A`, usually a struct with a field for each parameter; the result is serialized. Otherwise as
    /// [`AgentBuilder::tool_fn`].
    #[must_use]
    pub fn typed_tool<A: DeserializeOwned, R: Serialize>(
        self,
        name: impl Into<String>,
        signature: &str,
        description: &str,
        function: impl Fn(A) -> Result<R, String> + Send + Sync + 'static,
    ) -> Self {
        self.tool_fn(name, signature, description, move |args| {
            let args = serde_json::from_str(&Json::from(args).to_text()).map_err(|error| error.to_string())?;
            let result = serde_json::to_string(&function(args)?).map_err(|error| error.to_string())?;
            json::parse(&result).map(|json| json.to_value()).map_err(|error| error.to_string())
        })
    }

    /// Adds a builtin tool: `ask_user`, `grep` or `llm-query`.
    #[must_use]
    pub fn builtin_tool(self, name: &str) -> Self {
        let tools = self.agent.option("builtin_tools").and_then(Json::items).unwrap_or_default();
        let tools = tools.iter().cloned().chain([Json::str(name)]).collect::<Vec<_>>();
        self.set("builtin_tools", Json::list(tools))
    }

    /// The tool declared last answers an equal call in the same run from memory.
    #[must_use]
    pub fn cached(self) -> Self {
        self.with_last("cache", Node::Bool(true).into())
    }

    /// Exposes the tool declared last to native calls, to programs, or to both.
    #[must_use]
    pub fn exposed(self, expose: Expose) -> Self {
        let word = match expose {
            Expose::Native => "native",
            Expose::PtcLisp => "ptc_lisp",
            Expose::Both => "both",
        };
        self.with_last("expose", Json::str(word))
    }

    /// The same agent with a message instead of its prompt: no template, no parameters.
    #[must_use]
    pub fn message(mut self, text: impl Into<String>) -> Self {
        self.agent.prompt = text.into();
        let written = self.agent.signature.take();
        let parsed = written.and_then(|text| ptc_core::signature::parse(&text).ok());
        self.agent.signature = parsed.and_then(|signature| signature.output).map(|output| output.render());
        self.set("literal", Node::Bool(true).into())
    }

    fn with_last(mut self, key: &str, value: Json) -> Self {
        if let Some(tool) = self.agent.tools.last_mut() {
            tool.definition = std::mem::take(&mut tool.definition).without(key).with(key, value);
        }
        self
    }

    /// The agent, without the functions of its tools. Errors: every finding, when at least one refuses a run.
    pub fn build(self) -> Result<Agent, Vec<Diagnostic>> {
        self.plan().map(|plan| plan.agent)
    }

    /// The agent, ready to run. Errors as in [`AgentBuilder::build`].
    pub fn plan(self) -> Result<Plan, Vec<Diagnostic>> {
        if !self.wrong.is_empty() {
            return Err(self.wrong);
        }
        let mut plan = Plan::new(&self.agent)?;
        for (name, below) in self.below {
            let below = below.name(&name).plan()?;
            if let Some((_, place)) = plan.children.iter_mut().find(|(tool, _)| *tool == name) {
                *place = Arc::new(below);
            }
        }
        for (name, function) in self.functions {
            if let Some(tool) = plan.tools.iter_mut().find(|tool| tool.name == name) {
                tool.kind = Kind::Closure(Some(function));
            }
        }
        Ok(plan)
    }
}
