//! `resume`, `continue` and `exec`: continuing a session.

use std::path::Path;
use std::sync::Arc;

use super::arguments::{ContinueFlags, ExecFlags, ResumeFlags};
use super::fork::with;
use super::output::UsageError;
use super::run::{print_run, run_printer};
use crate::agent::Context;
use crate::event::Address;
use crate::port::{EndSignals, Human};
use crate::session::shell_word;
use crate::workbench::{Answers, QuestionQueue, RunSpec, Workbench};

pub(super) async fn resume(flags: &ResumeFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let mut answers = Answers::default();
    for answer in &flags.answer {
        match answer.split_once('=').filter(|(address, _)| Address::is_form(address)) {
            Some((address, text)) => _ = answers.by_address.insert(Address::from(address), plain_text(text)),
            None => answers.in_order.push_back(plain_text(answer)),
        }
    }
    let queue = Arc::new(QuestionQueue::default());
    let human = Arc::clone(&queue) as Arc<dyn Human>;
    let signals = EndSignals::catch();
    let last = session.events().map(|envelope| envelope.seq).last().unwrap_or_default();
    let run = workbench.resume(&session, answers, flags.model.as_deref(), human).await?;
    let with = with(flags.model.as_deref());
    super::output::print_note(&super::output::safe_line(&format!("resume of {}{with}", session.header.id)));
    // What the session holds was printed when it happened.
    let printer = run_printer(plain).after(last);
    print_run(run, &queue, flags.json, printer, signals, workbench).await
}

/// An answer may be JSON text or the text itself.
fn plain_text(answer: &str) -> String {
    let json = ptc_core::value::json::parse(answer).ok();
    json.as_ref().and_then(|json| json.as_str()).unwrap_or(answer).to_owned()
}

pub(super) async fn proceed(flags: &ContinueFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let queue = Arc::new(QuestionQueue::default());
    let human = Arc::clone(&queue) as Arc<dyn Human>;
    let signals = EndSignals::catch();
    let run = workbench.proceed(&session, &flags.message, flags.model.as_deref(), human).await?;
    for warning in &run.warnings {
        super::output::print_note(&super::output::safe_line(&format!("warning: {}", warning.message)));
    }
    print_run(run, &queue, flags.json, run_printer(plain), signals, workbench).await
}

pub(super) async fn exec(flags: &ExecFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let agent = workbench.pin(&session, &Address::from(flags.address.as_str()))?;
    if let Some(file) = &flags.save {
        write_new(file, &agent.to_toml())?;
        let name = file.display().to_string();
        super::output::print_note(&super::output::safe_line(&format!(
            "pinned as {name}; run it with: ptc-workbench run {}",
            shell_word(&name)
        )));
        return Ok(super::output::exit::OK);
    }
    let context = flags.context.as_deref().map(super::context::object).transpose()?.map(|(_, json)| json);
    if let Some(json) = &context {
        super::context::warn_undeclared(json, &agent);
    }
    let queue = Arc::new(QuestionQueue::default());
    let spec = RunSpec {
        agent,
        model: None,
        context: context.map(Context::from),
        human: Arc::clone(&queue) as Arc<dyn Human>,
        save: !flags.no_save,
        seed: 0,
        journal: None,
    };
    let signals = EndSignals::catch();
    let run = workbench.start(spec)?;
    print_run(run, &queue, flags.json, run_printer(plain), signals, workbench).await
}

/// Writes a file that must not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), UsageError> {
    use std::io::Write as _;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| UsageError(format!("{} cannot be written: {error}", path.display())))
}
