//! `fork`: a new session from a point of another one.

use std::sync::Arc;

use ptc_core::value::Json;

use super::arguments::ForkFlags;
use super::context::{self, SetInput, text_of};
use super::output::{UsageError, print_note};
use super::run::{print_run, run_printer};
use crate::agent::Agent;
use crate::config::OPTIONS;
use crate::event::{Address, Edit, Editor};
use crate::port::{EndSignals, Human};
use crate::session::{ParentKind, Session};
use crate::workbench::{ForkChange, ForkSpec, PROGRAM, QuestionQueue, Workbench};

pub(super) async fn fork(flags: &ForkFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let changes = changes(flags, &session, workbench)?;
    let queue = Arc::new(QuestionQueue::default());
    let spec = ForkSpec {
        at: flags.at.clone(),
        changes,
        model: flags.model.clone(),
        by: Editor::Command,
        kind: ParentKind::Fork,
    };
    let human = Arc::clone(&queue) as Arc<dyn Human>;
    let signals = EndSignals::catch();
    let run = match &flags.drop {
        Some(title) => {
            let turn = Address::from(flags.at.trim_end_matches(":request"));
            let place = workbench.request_place(&session, &turn, title)?;
            workbench.ask_without(&session, place, spec, human).await?
        }
        None => workbench.fork(&session, spec, human).await?,
    };
    for warning in &run.warnings {
        print_note(&super::output::safe_line(&format!("warning: {}", warning.message)));
    }
    print_note(&super::output::safe_line(&format!(
        "fork of {} at {}{}",
        session.header.id,
        flags.at,
        with(flags.model.as_deref())
    )));
    print_run(run, &queue, flags.json, run_printer(plain), signals, workbench).await
}

/// The named model, as text: the following output begins with the recorded one.
pub(super) fn with(model: Option<&str>) -> String {
    model.map(|model| format!(" with the model {model}")).unwrap_or_default()
}

/// Returns the edits that the flags ask for.
fn changes(flags: &ForkFlags, session: &Session, workbench: &Workbench) -> Result<Vec<ForkChange>, UsageError> {
    let mut changes = Vec::new();
    let text = |text: &str| text_of(text).map(Json::str);
    if let Some(prompt) = &flags.prompt {
        changes.push(ForkChange::new("prompt", text(prompt)?));
    }
    if let Some(signature) = &flags.signature {
        changes.push(ForkChange::new("signature", Json::str(signature.as_str())));
    }
    for pair in &flags.options {
        let (key, value) = named(pair, "--option")?;
        if OPTIONS.iter().any(|option| option.name == key) {
            return Err(UsageError(format!(
                "--option {key}: it is an option of the model; write model_options.{key}=…"
            )));
        }
        let value = text_of(value)?;
        let json = context::argument_json(&value, &format!("--option {key}"))?;
        changes.push(ForkChange::new(format!("option.{key}"), json.unwrap_or_else(|_| Json::str(value))));
    }
    if let Some(context) = &flags.context {
        let (_, json) = context::object(context)?;
        context::warn_undeclared(&json, &agent(flags, session, workbench)?);
        changes.push(ForkChange::new("context", json));
    }
    if !flags.set.is_empty() {
        let agent = agent(flags, session, workbench)?;
        for pair in &flags.set {
            let SetInput { name, value, file } = context::set(pair, &agent)?;
            file.iter().try_for_each(|file| workbench.store_input(file))?;
            changes.push(ForkChange::new(format!("context.{name}"), value));
        }
    }
    for pair in &flags.memory {
        let (name, expression) = named(pair, "--memory")?;
        changes.push(ForkChange::new(format!("memory.{name}"), text(expression)?));
    }
    if let Some(reply) = &flags.reply {
        changes.push(ForkChange::new(Edit::REPLY, text(reply)?));
    }
    if let Some(reply) = &flags.reply_json {
        changes.push(ForkChange::new(Edit::REPLY, json_of(reply, "--reply-json")?));
    }
    if let Some(program) = &flags.program {
        changes.push(ForkChange::new(PROGRAM, text(program)?));
    }
    if let Some(result) = &flags.result {
        changes.push(ForkChange::new(Edit::RESULT, json_of(result, "--result")?));
    }
    match flags.options.iter().find_map(|pair| repeated_key(pair, &changes)) {
        Some(key) => Err(UsageError(format!("--option {key}: `{key}` is changed twice; give one value"))),
        None => Ok(changes),
    }
}

/// The key of an `--option` that several flags change.
fn repeated_key<'p>(pair: &'p str, changes: &[ForkChange]) -> Option<&'p str> {
    let (key, _) = pair.split_once('=')?;
    let is_same = |change: &&ForkChange| change.target.strip_prefix("option.").unwrap_or(&change.target) == key;
    (changes.iter().filter(is_same).count() > 1).then_some(key)
}

/// `JSON|@FILE`
fn json_of(text: &str, flag: &str) -> Result<Json, UsageError> {
    let written = text_of(text)?;
    context::argument_json(&written, flag)?
        .map_err(|error| UsageError(format!("{flag}: {}: {} (strings need quotes)", error.at, error.parts().1)))
}

/// The agent whose parameters `--set` gives.
fn agent(flags: &ForkFlags, session: &Session, workbench: &Workbench) -> Result<Agent, UsageError> {
    let agent = workbench.agent_at(session, &flags.at)?;
    Ok(Agent { signature: flags.signature.clone().or_else(|| agent.signature.clone()), ..agent })
}

/// `NAME=VALUE`
fn named<'p>(pair: &'p str, flag: &str) -> Result<(&'p str, &'p str), UsageError> {
    let named = pair.split_once('=').filter(|(name, _)| !name.trim().is_empty());
    named.ok_or_else(|| UsageError(format!("{flag} {pair}: write it as NAME=VALUE")))
}
