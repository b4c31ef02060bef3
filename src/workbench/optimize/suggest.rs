//! "Suggest a fix for this failure": a model reads a failing turn and proposes other texts of the agent.
//!
//! In: a turn of a session, the text of the agent file. Out: a [`Suggestion`] with the changed agent file. Only texts of the agent change:
//! its signature, its cases and their expectations stay. No file is written, and the session is never changed. The content of the run is
//! marked as untrusted for that model.

use std::path::{Path, PathBuf};

use ptc_core::signature::Type;
use ptc_core::text::estimate_tokens;
use ptc_core::value::{Json, json as json_values};
use serde_json::{Value, json};

use super::OptimizeError;
use super::apply::AgentChanges;
use super::components::{Component, SystemPart, Texts, check, texts_of, with_texts};
use super::propose::{ProposerAnswer, answered, cut, json_of, turns};
use crate::agent::{Agent, CallEntry, Context, Mode, Plan, Step, StepFold, Turn, Verdict};
use crate::config::{ModelChoice, read_regular_file};
use crate::event::{Address, Event, SentMessage, Tokens};
use crate::port::Stop;
use crate::session::{Session, SessionKey};
use crate::workbench::Workbench;
use crate::workbench::case::place;

/// The prompt of the model.
const PROMPT: &str = include_str!("../../../assets/prompts/suggest.md");
/// Maximum number of messages of the failing request in the model's inputs: the last ones.
const MOST_MESSAGES: usize = 4;

/// Input of a suggestion: the failing turn, the agent file and the model.
#[derive(Debug, Clone)]
pub struct SuggestSpec {
    /// The failing turn; the last failed one of the last run when absent.
    pub turn: Option<Address>,
    /// The agent file as the user named it, and its text.
    pub file: (String, String),
    /// The model that proposes; that of the agent when absent.
    pub model: Option<String>,
    /// Problem described by the user.
    pub problem: Option<String>,
}

/// A request for a suggestion that has not been sent.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestRequest {
    /// The turn.
    pub turn: Address,
    /// Problems of the run, one per line.
    pub problems: Vec<String>,
    /// The model that is asked.
    pub model: String,
    /// The estimated tokens of the request.
    pub tokens: u64,
    /// The expected cost, where prices are known.
    pub cost: Option<f64>,
    file: (String, String),
    agent: Agent,
    inputs: Value,
}

impl SuggestRequest {
    /// The agent file as the user named it.
    pub fn file_name(&self) -> &str {
        &self.file.0
    }
}

/// Suggested texts of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The turn that they should fix.
    pub turn: Address,
    /// The model's reason.
    pub reason: String,
    /// Names of the texts that change.
    pub changed: Vec<Component>,
    /// Proposed changes that cannot be used: name and reason.
    pub refused: Vec<String>,
    /// Changes of the agent file.
    pub changes: AgentChanges,
    /// The session of the model's run.
    pub session: Option<String>,
    /// Tokens of that run, if counted.
    pub tokens: Option<Tokens>,
    /// The cost that was paid now.
    pub cost: Option<f64>,
}

impl Workbench {
    /// Returns the name and text of a session's agent file: the given file, else the agent's name with `.toml` in the current folder.
    /// Errors: it cannot be read.
    pub fn suggest_file(&self, session: &Session, named: Option<&Path>) -> Result<(String, String), OptimizeError> {
        let recorded = self.agent_of(session).map_err(|error| OptimizeError(error.to_string()))?;
        let file = place(named, &recorded).map_err(|error| OptimizeError(error.0))?;
        let name = file.display().to_string();
        match read_regular_file(&file) {
            Ok(text) => Ok((name, text)),
            Err(error) => Err(OptimizeError(format!("{name}: {error}; a suggestion changes the file of an agent"))),
        }
    }

    /// Creates the request: collects the model's inputs from the failing turn with its request, and from errors, expectations, judges and
    /// labels. Reads files and evaluates predicates: blocks.
    ///
    /// Errors: the session has no such turn, or it is of a child agent; no problem of the run is known; the file contains another agent or
    /// cannot be read.
    pub fn suggest_request(&self, session: &Session, spec: SuggestSpec) -> Result<SuggestRequest, OptimizeError> {
        let failed = |why: String| OptimizeError(why);
        let id = session.header.id.as_str();
        let (step, turn) = failing(session, spec.turn.as_ref()).map_err(failed)?;
        let (name, text) = &spec.file;
        let agent = Agent::from_toml_with(text, name, self.file_access())
            .map_err(|error| OptimizeError(format!("{name}: {error}")))?;
        refuse_unfit(name, &agent, &step)?;
        let address = turn.address.clone().unwrap_or_default();
        let is_last = step.turns.last().is_some_and(|last| last.number == turn.number);
        let mut problems: Vec<String> = spec.problem.clone().into_iter().collect();
        problems.extend(turn.error.iter().map(|error| format!("{}: {}", error.reason, error.message)));
        problems.extend(turn.issues.iter().map(|issue| issue.message.clone()));
        if is_last {
            problems
                .extend(step.fail.iter().map(|fail| format!("the run failed with {}: {}", fail.reason, fail.message)));
            problems.extend(self.graded(session, &agent, name, &step)?);
        }
        let mut seen = std::collections::BTreeSet::new();
        problems.retain(|line| seen.insert(line.clone()));
        let problems: Vec<String> = problems.iter().map(|line| cut(line)).collect();
        if problems.is_empty() {
            return Err(OptimizeError(format!(
                "no problem is known at {address} of {id}: write --problem TEXT, label the run (`ptc-workbench sessions label {id} fail --note TEXT`) or \
                 give {name} a case with its inputs"
            )));
        }
        let inputs = inputs(&agent, &step, &turn, &problems);
        let model = self.model_name(spec.model.as_deref(), &agent);
        let context = json_of(&inputs).map_err(failed)?;
        let preview = self.preview(&fixer(), Some(&model), Some(Context::from(context)));
        let preview = preview.map_err(|error| OptimizeError(error.to_string()))?;
        let tokens = preview.parts().iter().map(|part| part.tokens).sum();
        let answer = texts_of(&agent).values().map(|text| estimate_tokens(text)).sum();
        let cost = self.expected_cost(&model, tokens, answer);
        Ok(SuggestRequest { turn: address, problems, model, tokens, cost, file: spec.file, agent, inputs })
    }

    /// Requests the suggestion; `None` when it was stopped. Errors: the model could not be asked, or proposed nothing that can be used.
    pub async fn suggest(&self, request: &SuggestRequest, stop: &Stop) -> Result<Option<Suggestion>, OptimizeError> {
        let asked = self.ask_proposer(fixer(), Some(&request.model), (&request.inputs, "suggestion".to_owned()), stop);
        let asked = match asked.await {
            Ok(Some(asked)) => asked,
            Ok(None) => return Ok(None),
            Err(failure) => {
                return Err(OptimizeError(format!("{} could not be asked: {}", request.model, failure.why)));
            }
        };
        let ProposerAnswer { step, session, cost: paid, .. } = asked;
        let cost = step.usage.total.cost().map(|_| paid);
        let at = session.as_deref().map(|id| format!(" (session {id})")).unwrap_or_default();
        let proposed = proposed(&step).map_err(|why| OptimizeError(format!("{why}{at}")))?;
        let (agent, changed, refused) = changed(&request.agent, &proposed.changes);
        let (name, old) = &request.file;
        if changed.is_empty() {
            let why = if refused.is_empty() { "it proposed no change".to_owned() } else { refused.join("; ") };
            return Err(OptimizeError(format!("no suggestion of {} can be used: {why}{at}", request.model)));
        }
        let new = agent.rewrite_with(old, name, self.file_access());
        // The written file must be a valid agent.
        Agent::from_toml_with(&new, name, self.file_access())
            .map_err(|error| OptimizeError(format!("{name}: {error}")))?;
        Ok(Some(Suggestion {
            turn: request.turn.clone(),
            reason: proposed.reason,
            changed,
            refused,
            changes: AgentChanges::between(PathBuf::from(name), old.clone(), new),
            session,
            tokens: step.usage.total.tokens,
            cost,
        }))
    }

    /// Returns the expected cost of a request to a model; `None` if its price is unknown.
    fn expected_cost(&self, model: &str, input: u64, output: u64) -> Option<f64> {
        let Ok(ModelChoice::Http(model)) = self.choose(model) else { return None };
        Some(model.price?.cost(&Tokens { input, output, ..Tokens::default() }))
    }

    /// Returns the problems that expectations, judges and labels found in the answer of a run.
    fn graded(&self, session: &Session, agent: &Agent, name: &str, step: &Step) -> Result<Vec<String>, OptimizeError> {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let context = step.context.clone().unwrap_or_default();
        let mut found = Vec::new();
        for case in agent.case_rows(folder, self.file_access()) {
            let case = case.map_err(|found| OptimizeError(format!("{name}: {}", found.message)))?;
            if json_values::same(&case.inputs(agent), &context) {
                if let Verdict::Fail(lines) = case.judge(step) {
                    found.extend(lines.iter().map(|line| format!("case `{}`: {line}", case.name)));
                }
                break;
            }
        }
        let key = SessionKey::of(session);
        let rulings = self.rulings_on(&key).into_iter().map(|ruled| ruled.ruling);
        found.extend(rulings.filter(|ruling| !ruling.passed).map(|ruling| format!("judged: {}", ruling.line())));
        let run = step.address.clone().unwrap_or_default();
        let label = self.label_of_run(session, &run).map_err(|error| OptimizeError(error.0))?;
        if let Some(label) = label.filter(|label| !label.grade.is_pass()) {
            let note = label.note.map(|note| format!(": {note}")).unwrap_or_default();
            found.push(format!("a user labelled the run {}{note}", label.grade));
        }
        Ok(found)
    }
}

/// Returns a turn and the Step of its run: the named turn, else the last failed turn of the last run, else its last one.
fn failing(session: &Session, named: Option<&Address>) -> Result<(Step, Turn), String> {
    let id = &session.header.id;
    if named.is_some_and(|turn| turn.depth() > 0) {
        return Err(format!(
            "{} is a turn of a child agent: name a turn of the run itself, such as r0/t1",
            turn_text(named)
        ));
    }
    let last = || {
        let starts = session.events().filter(|envelope| matches!(envelope.event, Event::RunStart(_)));
        starts.map(|envelope| envelope.address.root()).last()
    };
    let run = named.map(Address::root).or_else(last).ok_or_else(|| format!("{id} contains no run"))?;
    let mut fold = StepFold::default();
    session.events().filter(|envelope| envelope.address.root() == run).for_each(|envelope| fold.apply(&envelope));
    let step = fold.step();
    let turn = match named {
        Some(named) => step.turns.iter().find(|turn| turn.address.as_ref() == Some(&named.turn_part())),
        None => step.turns.iter().rev().find(|turn| !turn.success).or(step.turns.last()),
    };
    let turn = turn.cloned().ok_or_else(|| format!("{id} contains no turn {}", turn_text(named)))?;
    Ok((step, turn))
}

fn turn_text(named: Option<&Address>) -> String {
    named.map_or_else(|| "to fix".to_owned(), ToString::to_string)
}

/// Checks that the file can be changed. Errors: it is of another agent, or the mode has a prompt of its own.
fn refuse_unfit(name: &str, agent: &Agent, step: &Step) -> Result<(), OptimizeError> {
    if agent.name != step.name {
        return Err(OptimizeError(format!(
            "{name} contains the agent `{}`, and the session ran `{}`: name its file with --agent",
            agent.name, step.name
        )));
    }
    let in_mode = Mode::from_name(&step.mode).and_then(|mode| agent.for_mode(mode).ok());
    match in_mode {
        Some(used) if used.prompt != agent.prompt => Err(OptimizeError(format!(
            "{name} has a prompt of its own for the mode {0} in [modes.{0}]: edit it by hand",
            step.mode
        ))),
        _ => Ok(()),
    }
}

/// Returns the texts that may change: those of the agent, and empty ones for undescribed fields of the answer and for a suffix of the
/// system prompt.
fn open_texts(agent: &Agent) -> Texts {
    let mut texts = texts_of(agent);
    let suffix = Component::System(SystemPart::Suffix);
    let plan = Plan::new(agent).ok();
    let fields = match plan.as_ref().and_then(|plan| plan.signature.output.as_ref()) {
        Some(Type::Record { fields, .. }) => fields.iter().map(|field| Component::Field(field.name.clone())).collect(),
        _ => Vec::new(),
    };
    for component in fields.into_iter().chain([suffix]) {
        texts.entry(component).or_default();
    }
    texts
}

/// Returns the agent with an empty text for a field description that it lacks.
fn with_place(agent: &Agent, component: &Component) -> Agent {
    let mut agent = agent.clone();
    if let Component::Field(name) = component
        && !agent.field_descriptions.iter().any(|(known, _)| known == name)
    {
        agent.field_descriptions.push((name.clone(), String::new()));
    }
    agent
}

/// Returns the inputs of the model.
fn inputs(agent: &Agent, step: &Step, turn: &Turn, problems: &[String]) -> Value {
    let texts: serde_json::Map<String, Value> =
        open_texts(agent).into_iter().map(|(component, text)| (component.to_string(), Value::from(text))).collect();
    let sent: Vec<&SentMessage> = step.sent(turn).collect();
    let message = |message: &&SentMessage| json!({ "role": message.role.name(), "content": cut(&message.joined()) });
    let request: Vec<Value> = sent.iter().skip(sent.len().saturating_sub(MOST_MESSAGES)).map(message).collect();
    let before: Vec<Turn> = step.turns.iter().filter(|one| one.number <= turn.number).cloned().collect();
    let within = |at: &Address| turn.address.as_ref().is_some_and(|turn| at.is_within(turn));
    let calls = step.calls.iter().filter(|call| call.has_failed() && call.address.as_ref().is_some_and(within));
    let call = |call: &CallEntry| json!({ "tool": call.name, "args": cut(call.args.as_str()), "error": call.error.as_ref().map(|error| cut(&error.message)) });
    let inputs = step.context.as_ref().map(|context| cut(&context.to_text()));
    json!({
        "texts": texts,
        "signature": agent.signature.clone().unwrap_or_default(),
        "failed_run": {
            "inputs": inputs, "request": request, "turns": turns(&before),
            "failed_calls": calls.map(call).collect::<Vec<_>>(), "answer": answered(step),
        },
        "problems": problems,
    })
}

/// Returns the agent that proposes a fix.
fn fixer() -> Agent {
    let described = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    Agent {
        name: "fixer".to_owned(),
        description: Some("Proposes other texts of an agent after a failed run.".to_owned()),
        mode: Mode::Json,
        prompt: PROMPT.trim_end().to_owned(),
        signature: Some(
            "(texts :map, signature :string, failed_run :map, problems [:string]) -> {reason :string, changes [{name :string, text :string}]}".to_owned(),
        ),
        field_descriptions: vec![described("changes", "the texts that change: the name as in `texts`, and the complete new text")],
        context_descriptions: vec![
            described("texts", "the texts of the agent by name"),
            described("signature", "inputs and outputs of the agent; it does not change"),
            described("failed_run", "inputs, request, turns and answer of the run"),
            described("problems", "what is wrong with the run"),
        ],
        ..Agent::default()
    }
}

/// Answer of the model.
struct ProposedChanges {
    reason: String,
    changes: Vec<(String, String)>,
}

fn proposed(step: &Step) -> Result<ProposedChanges, String> {
    let failed = || step.fail.as_ref().map_or_else(String::new, |fail| format!(": {}", fail.message));
    let answer = step.answer.as_ref().ok_or_else(|| format!("the model gave no answer{}", failed()))?;
    let text = |of: &Json, key: &str| of.get(key).and_then(Json::as_str).map(str::to_owned).unwrap_or_default();
    let changes = answer.get("changes").and_then(Json::items).unwrap_or_default();
    Ok(ProposedChanges {
        reason: text(answer, "reason"),
        changes: changes.iter().map(|change| (text(change, "name"), text(change, "text"))).collect(),
    })
}

/// Applies the changes that can be used; returns the agent, the changed components and the reasons for the refused changes.
fn changed(agent: &Agent, changes: &[(String, String)]) -> (Agent, Vec<Component>, Vec<String>) {
    let open = open_texts(agent);
    let (mut agent, mut changed, mut refused) = (agent.clone(), Vec::new(), Vec::new());
    for (name, text) in changes {
        let component = name.parse::<Component>().ok().filter(|component| open.contains_key(component));
        let Some(component) = component else {
            refused.push(format!("unknown text `{name}` of the agent"));
            continue;
        };
        if open[&component] == *text {
            continue;
        }
        let with_place = with_place(&agent, &component);
        match check(&with_place, &component, &open[&component], text) {
            Ok(()) => {
                agent = with_texts(&with_place, &Texts::from([(component.clone(), text.clone())]));
                changed.push(component);
            }
            Err(why) => refused.push(format!("{name}: {why}")),
        }
    }
    (agent, changed, refused)
}
