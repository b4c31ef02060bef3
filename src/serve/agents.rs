//! The agents that are served, by name.
//!
//! In: names of files and examples. Out: checked agents with the schemas of their inputs and answers. It must never serve an
//! agent that could not run.

use std::path::Path;

use ptc_core::signature::json_schema::{self, Schema, Wrap};
use ptc_core::signature::{Field, Type};
use ptc_core::text::did_you_mean;
use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};

use crate::agent::{Agent, Context, Mode, Plan, Step, Tool, Variant};
use crate::event::{AgentRecord, ErrorRecord, Options};
use crate::workbench::{Source, StartError, Workbench};

/// An agent that is served.
#[derive(Debug, Clone)]
pub struct ServedAgent {
    /// The name in requests: that of its file without folder and ending, or of the example. `mcp` replaces characters that clients refuse.
    pub name: String,
    /// The file or the example as the owner named it.
    pub label: String,
    /// The agent.
    pub agent: Agent,
    /// Plan that a run executes.
    pub plan: Plan,
    /// The definitions that the sessions of its runs have: with its program, and without it.
    recorded: Vec<Agent>,
}

impl ServedAgent {
    /// Finds and checks agents. Errors: one that cannot run, a pipeline, two of one name.
    pub fn find_all(labels: &[String], workbench: &Workbench) -> Result<Vec<Self>, String> {
        let mut served: Vec<Self> = Vec::new();
        for label in labels {
            let one = Self::find(label, workbench)?;
            if let Some(other) = served.iter().find(|other| other.name == one.name) {
                let (name, other) = (&one.name, &other.label);
                return Err(if other == label {
                    format!("{label} is named twice")
                } else {
                    format!("{label} and {other} would both be served as `{name}`: rename one of the files")
                });
            }
            served.push(one);
        }
        Ok(served)
    }

    fn find(label: &str, workbench: &Workbench) -> Result<Self, String> {
        let path = Path::new(label);
        let agent = match Source::find(label, path, workbench.file_access())? {
            Source::Agent(agent) => *agent,
            Source::Pipeline(_) => {
                return Err(format!("{label} is a pipeline: only single agents are served"));
            }
        };
        let name = path.file_stem().map_or_else(|| label.to_owned(), |stem| stem.to_string_lossy().into_owned());
        Self::new(name, label.to_owned(), agent, workbench)
    }

    /// An agent under this name.
    pub fn new(name: String, label: String, agent: Agent, workbench: &Workbench) -> Result<Self, String> {
        let connected = workbench.connected(agent.clone()).map_err(|error| format!("{label}: {error}"))?;
        let plan = Plan::new(&connected).map_err(|findings| {
            let errors = StartError::Agent(findings).to_string();
            format!("{label}: {}", errors.lines().collect::<Vec<_>>().join("; "))
        })?;
        let params = plan.signature.params.as_deref().unwrap_or_default();
        if let Some(file) = params.iter().find(|field| field.ty.is_file() && !field.ty.is_optional()) {
            let name = &file.name;
            return Err(format!(
                "{label}: it needs the file `{name}`, and clients cannot give files; declare it as `{name} :file?`, or take its content as \
                 `{name} :string`"
            ));
        }
        let recorded = recorded_forms(&agent, workbench);
        Ok(Self { name, label, agent, plan, recorded })
    }

    /// Returns whether a run with this definition is one of this agent. The name is not enough: other agents may have the same one.
    pub fn has_made(&self, record: &AgentRecord) -> bool {
        record.name == self.agent.name
            && Agent::recorded(&record.toml).is_ok_and(|agent| self.recorded.contains(&comparable(agent)))
    }

    /// The agent of this name. The error names the others.
    pub fn named<'a>(served: &'a [Self], name: &str) -> Result<&'a Self, String> {
        served.iter().find(|one| one.name == name).ok_or_else(|| {
            let names = || served.iter().map(|one| one.name.as_str());
            let near = did_you_mean(name, names());
            format!("no agent `{name}` is served{near} (agents: {})", names().collect::<Vec<_>>().join(", "))
        })
    }

    /// The JSON Schema of its context, without the files, which clients cannot give. It is closed when the agent declares inputs: others
    /// are refused.
    pub fn input_schema(&self) -> Json {
        let params = self.plan.signature.params.as_deref().unwrap_or_default();
        let given: Vec<Field> = params.iter().filter(|field| !field.ty.is_file()).cloned().collect();
        let schema = json_schema::tool(&given);
        if params.is_empty() { schema.without("additionalProperties") } else { schema }
    }

    /// The JSON Schema of its answer as an object: lists and scalars are wrapped in one. `None` for any JSON, and for a schema of its
    /// own that describes no object.
    pub fn object_schema(&self) -> Option<Schema> {
        match self.own_schema() {
            Some(own) if own.get("type").and_then(Json::as_str) != Some("object") => None,
            Some(own) => Some(Schema { json: own.clone(), wrap: Wrap::None }),
            None => json_schema::returned_answer(self.output(), &self.agent.field_descriptions),
        }
    }

    /// Its schema, where answers are checked against it: those of programs are not.
    fn own_schema(&self) -> Option<&Json> {
        self.agent.schema.as_ref().filter(|_| self.agent.mode != Mode::PtcLisp)
    }

    /// The type of its answers.
    fn output(&self) -> &Type {
        let is_unchecked = self.agent.mode == Mode::PtcLisp && self.agent.schema.is_some();
        if is_unchecked && self.agent.signature.is_none() { &Type::Any } else { &self.plan.output }
    }

    /// Returns whether its answer can be a JSON object. An answer of the type `any` can.
    pub fn may_answer_object(&self) -> bool {
        if self.agent.mode == Mode::Text && self.plan.variant == Variant::Plain {
            return false;
        }
        match self.own_schema() {
            Some(own) => own.get("type").and_then(Json::as_str).is_none_or(|name| name == "object"),
            None => matches!(self.output().base(), Type::Record { .. } | Type::Map | Type::Any),
        }
    }

    /// The JSON Schema of its answer as it is; `None` for any JSON.
    pub fn answer_schema(&self) -> Option<Json> {
        if let Some(own) = self.own_schema() {
            return Some(own.clone());
        }
        let Schema { json, wrap } = self.object_schema()?;
        match wrap.key() {
            Some(key) => json.get("properties")?.get(key).cloned(),
            None => Some(json),
        }
    }

    /// Returns its summary: the first line of its description, else of its prompt.
    pub fn summary(&self) -> String {
        let described = self.agent.description.as_deref().filter(|text| !text.trim().is_empty());
        let text = described.unwrap_or(&self.agent.prompt);
        text.trim().lines().next().unwrap_or_default().to_owned()
    }

    /// A text as its context: the value of its only input, or a JSON object with its inputs.
    ///
    /// Errors: it has several inputs, and the text is not a JSON object; the object has two members of one name.
    pub fn context_of_text(&self, text: &str) -> Result<Json, String> {
        let several = self.plan.signature.params.as_ref().is_some_and(|params| params.len() > 1);
        let object = json::parse(text.trim()).ok().filter(|json| json.members().is_some());
        let takes_object = several || object.as_ref().is_some_and(|json| self.has_inputs_of(json));
        if takes_object && object.is_some() {
            return json::parse_unique(text.trim())
                .map_err(|error| format!("the message is ambiguous: {}", error.error()));
        }
        if takes_object {
            let params = self.plan.signature.params.as_deref().unwrap_or_default();
            let names: Vec<&str> = params.iter().map(|field| field.name.as_str()).collect();
            let (name, names) = (&self.name, names.join(", "));
            return Err(format!(
                "the agent `{name}` has the inputs {names}: write them as a JSON object in the message"
            ));
        }
        let step = Step { answer: Some(Json::str(text)), ..Step::default() };
        Context::for_plan(&step, &self.plan).map(|context| context.json).map_err(|error: ErrorRecord| error.message)
    }

    /// Returns whether this object contains its only input by name, and is not the value of that input.
    fn has_inputs_of(&self, object: &Json) -> bool {
        let params = self.plan.signature.params.as_deref().unwrap_or_default();
        let members = object.members().unwrap_or_default();
        matches!(params, [only] if members.len() == 1 && members[0].key == only.name && !matches!(only.ty.base(), Type::Map))
    }

    /// The names of the tools, those of child agents included, that start a process or leave the machine.
    pub fn outside_tools(&self) -> Vec<String> {
        fn collect(plan: &Plan, names: &mut Vec<String>) {
            let own = plan.tools.iter().filter(|tool| tool.definition().is_some());
            names.extend(own.map(|tool| tool.name.clone()).filter(|name| !names.contains(name)).collect::<Vec<_>>());
            plan.children.iter().for_each(|(_, child)| collect(child, names));
        }
        let mut names = Vec::new();
        collect(&self.plan, &mut names);
        names
    }

    /// Returns its entry in a list of agents.
    pub fn to_json(&self) -> Json {
        let text = |text: &str| Json::str(text);
        let answer = self.answer_schema().unwrap_or(Json { node: Node::Null, ..Json::default() });
        Json::empty()
            .with("name", text(&self.name))
            .with("mode", text(self.agent.mode.name()))
            .with("signature", self.agent.signature.as_deref().map_or_else(|| Node::Null.into(), text))
            .with("summary", Json::str(self.summary()))
            .with("context_schema", self.input_schema())
            .with("answer_schema", answer)
    }
}

/// The definitions that sessions of an agent may have: a run uses its pinned program once, or a model in its place.
fn recorded_forms(agent: &Agent, workbench: &Workbench) -> Vec<Agent> {
    let Ok(agent) = agent.for_mode(agent.mode) else { return Vec::new() };
    let forms = [agent.clone().once(), agent.without_program()];
    let forms = forms.into_iter().filter_map(|form| {
        let connected = workbench.connected(form).ok()?;
        Agent::recorded(&connected.record().toml).ok().map(comparable)
    });
    forms.collect()
}

/// A definition without additions from outside: options of the configuration, and the tool lists of servers.
fn comparable(agent: Agent) -> Agent {
    let tool = |tool: Tool| Tool { definition: unlisted(&tool.definition), ..tool };
    let tools = agent.tools.into_iter().map(tool).collect();
    Agent { tools, model_options: Options::default(), files: Vec::new(), ..agent }
}

/// The table of a tool without what a server lists of it; the tools of child agents, too. (The depth is that of a TOML text.)
fn unlisted(tool: &Json) -> Json {
    if tool.get("kind").and_then(Json::as_str) == Some("mcp") {
        return tool.clone().without("signature").without("description");
    }
    tool.map_members(|key, agent| match key {
        "agent" => agent.map_members(|key, tools| match key {
            "tools" => tools.map_members(|_, tool| unlisted(tool)),
            _ => tools.clone(),
        }),
        _ => agent.clone(),
    })
}
