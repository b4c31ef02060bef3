//! Models without agents: a model from its alias, a text from it, or an object that conforms to a schema.
//!
//! In: a name as for `--model`, messages, a schema. Out: a model, its reply, a validated object. One request each; no
//! turns, no feedback.

use std::sync::Arc;

use ptc_core::reply::{self, AnswerShape, ExtractOutcome, Recovery, Reject};
use ptc_core::value::{Json, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::RawSchema;
use crate::config::{Config, Folders, HttpModel, ModelChoice, options_over, process_env};
use crate::event::{Address, Options, Role, Tokens, ToolSchema};
use crate::model::{
    self, Adapter, Call, ErrorClass, Finish, Message, Model, ModelError, Reply, Request, Sample, ToolChoice,
    WithFallback,
};

/// Queue length for reply events, which are discarded.
const QUEUE: usize = 64;

/// Returns the model of a name: an alias of the configuration, `provider:model`, or `sample`. Uses the built-in tables
/// and the user's configuration file. Errors: an unknown name, a missing key.
///
/// ```
/// use ptc_workbench::{resolve_model, run};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let llm = resolve_model("sample").unwrap();
/// let step = run("Classify: {{text}}").signature("(text :string) -> {sentiment :string}")
///     .context(serde_json::json!({"text": "Great product!"})).model(llm).await;
/// assert!(step.is_ok());
/// # });
/// ```
pub fn resolve_model(name: &str) -> Result<Arc<dyn Model>, ModelError> {
    let unusable = |error: &dyn std::fmt::Display| ModelError::new(ErrorClass::Configuration, error.to_string());
    let config = Config::load(None, &Folders::new(None), &process_env).map_err(|error| unusable(&error))?;
    resolve_model_in(&config, name)
}

/// Returns the model of a name in this configuration; see [`resolve_model`].
pub fn resolve_model_in(config: &Config, name: &str) -> Result<Arc<dyn Model>, ModelError> {
    let not_found = |message: String| ModelError::new(ErrorClass::NotFound, message);
    match config.resolve_model(name).map_err(|error| not_found(error.to_string()))? {
        ModelChoice::Http(model) => {
            let fallback = model.fallback.clone();
            let first = adapter(*model)?;
            let Some(second) = fallback else { return Ok(first) };
            let second = match config.resolve_model(&second).map_err(|error| not_found(error.to_string()))? {
                ModelChoice::Http(model) => adapter(*model)?,
                _ => return Err(not_found(format!("the fallback `{second}` is not a provider's model"))),
            };
            Ok(Arc::new(WithFallback::new(first, second)))
        }
        ModelChoice::Sample(settings) => Ok(Arc::new(Sample::parse(&settings).map_err(not_found)?)),
        ModelChoice::Demo | ModelChoice::Human | ModelChoice::Recorded(_) => Err(not_found(format!(
            "`{name}` is only available in the workbench; use a provider's model, `sample`, a closure or a script"
        ))),
    }
}

fn adapter(model: HttpModel) -> Result<Arc<dyn Model>, ModelError> {
    let options = model.options.clone();
    let adapter = Adapter::new(model.into())?;
    adapter.check_key()?;
    Ok(if options == Options::default() { Arc::new(adapter) } else { Arc::new(WithOptions { adapter, options }) })
}

/// A model whose alias has options.
struct WithOptions {
    adapter: Adapter,
    options: Options,
}

impl Model for WithOptions {
    fn info(&self) -> crate::event::ModelRecord {
        self.adapter.info()
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request,
        call: &'a Call,
    ) -> futures::future::BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let request = Request { options: options_over(&request.options, &self.options), ..request.clone() };
            self.adapter.answer(&request, call).await
        })
    }
}

/// A request to a model without an agent.
#[derive(Debug, Clone, Default)]
pub struct CompletionRequest {
    /// The messages, oldest first; system messages precede all others.
    pub messages: Vec<Message>,
    /// Tools that the model may call natively; the reply contains its calls.
    pub tools: Vec<ToolSchema>,
    /// Restricts these calls.
    pub tool_choice: Option<ToolChoice>,
    /// Options of the model.
    pub options: Options,
    /// Hint that the provider should cache the prompt.
    pub cache: bool,
}

impl From<&str> for CompletionRequest {
    fn from(text: &str) -> Self {
        vec![Message::text(Role::User, text)].into()
    }
}

impl From<String> for CompletionRequest {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Vec<Message>> for CompletionRequest {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }
}

/// An object that conforms to a schema, and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedObject {
    /// The value, with keys in the order of the reply.
    pub object: Json,
    /// Tokens as counted by the provider.
    pub tokens: Option<Tokens>,
    /// The reply that contains it.
    pub reply: Reply,
}

/// Returns one reply to a text or to messages.
///
/// ```
/// use ptc_workbench::complete;
/// use ptc_workbench::model::script;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let reply = complete(&script(["It is 42."]), "What is it?").await.unwrap();
/// assert_eq!(reply.text, "It is 42.");
/// # });
/// ```
pub async fn complete(model: &dyn Model, request: impl Into<CompletionRequest>) -> Result<Reply, ModelError> {
    send(model, request.into(), None).await
}

/// Returns an object that conforms to a JSON Schema: the schema is sent by the strongest method that the server
/// accepts, and the answer is validated. Errors: those of the model; class [`ErrorClass::Client`] for an invalid
/// schema, [`ErrorClass::Stream`] for a reply without a valid value.
///
/// ```
/// use ptc_workbench::generate_object;
/// use ptc_workbench::model::script;
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
/// let generated = generate_object(&script([r#"{"n": 2}"#]), "How many?", &schema).await.unwrap();
/// assert_eq!(generated.object.to_text(), r#"{"n":2}"#);
/// # });
/// ```
pub async fn generate_object(
    model: &dyn Model,
    request: impl Into<CompletionRequest>,
    schema: &serde_json::Value,
) -> Result<GeneratedObject, ModelError> {
    let unusable = |message: String| ModelError::new(ErrorClass::Client, message);
    let schema = json::parse(&schema.to_string()).map_err(|error| unusable(error.to_string()))?;
    let checker = RawSchema::compile(&schema).map_err(unusable)?;
    let reply = send(model, request.into(), Some(schema)).await?;
    let finish = if reply.finish == Some(Finish::Length) { reply::Finish::Truncated } else { reply::Finish::Complete };
    let mut accept = |json: &Json| match checker.fit(json) {
        Ok(_) => Ok(()),
        Err(issues) => Err(Reject::Invalid(issues.first().map(ToString::to_string).unwrap_or_default())),
    };
    let found = reply::extract(&reply.text, &AnswerShape::Any, Recovery::Standard, finish, &mut accept).outcome;
    let why = match found {
        ExtractOutcome::Found { json, .. } => {
            let object = checker.fit(&json).unwrap_or(json);
            return Ok(GeneratedObject { object, tokens: reply.usage, reply });
        }
        ExtractOutcome::Rejected { reject: Reject::Shape(why) | Reject::Invalid(why), .. } => why,
        ExtractOutcome::Malformed { error } => error.to_string(),
        ExtractOutcome::NotFound => "it contains no JSON".to_owned(),
    };
    let cut = if finish == reply::Finish::Truncated { " (it was truncated by its length limit)" } else { "" };
    Err(ModelError {
        usage: reply.usage.map(Box::new),
        requests: reply.requests,
        attempt: reply.attempt,
        ..ModelError::new(ErrorClass::Stream, format!("the reply contains no valid value{cut}: {why}"))
    }
    .hint("run it as an agent of mode json: it sends validation errors back to the model"))
}

async fn send(model: &dyn Model, completion: CompletionRequest, schema: Option<Json>) -> Result<Reply, ModelError> {
    if let Some(name) = completion.tool_choice.as_ref().and_then(ToolChoice::tool)
        && !completion.tools.iter().any(|tool| tool.name == name)
    {
        let message = format!("tool_choice names `{name}`, which is not among the tools of the request");
        return Err(ModelError::new(ErrorClass::Client, message));
    }
    let (system, messages): (Vec<_>, Vec<_>) =
        completion.messages.into_iter().partition(|message| message.role == Role::System);
    let system: String = system.iter().map(Message::joined).collect();
    let request = Request {
        address: Address::run(0).turn(1),
        agent: "library".to_owned(),
        mode: if schema.is_some() { "json" } else { "text" }.to_owned(),
        want: if schema.is_some() { model::Want::Json } else { model::Want::Text },
        system: (!system.is_empty()).then_some(system),
        messages: messages.into_iter().map(Arc::new).collect(),
        files: model::FileBytes::default(),
        schema,
        tool_names: completion.tools.iter().map(|tool| tool.name.clone()).collect(),
        tools: completion.tools,
        tool_choice: completion.tool_choice,
        tool_signatures: Vec::new(),
        signature: None,
        options: completion.options,
        retry: model::Retry::default(),
        cache: completion.cache,
        seed: 0,
    };
    let (events, mut received) = mpsc::channel(QUEUE);
    let answer = async {
        let call = Call { events, cancel: CancellationToken::new() };
        model.answer(&request, &call).await
    };
    let discard = async { while received.recv().await.is_some() {} };
    futures::join!(answer, discard).0
}
