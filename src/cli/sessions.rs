//! `sessions`: the list, and one session turn by turn; searching, marks, recovery and deletion have files of their own.

mod delete;
mod failures;
mod marks;
mod search;
pub(super) mod verify;

use ptc_core::text::width;
use serde::Serialize;

use super::arguments::{CapturedAgentFlags, CaseFlags, ExampleFlags, SessionsCommand};
use super::export;
use super::output::Stdout;
use super::output::{UsageError, exit, print_bytes, print_exact, print_json, print_line, print_note, safe, safe_line};
use super::printer::Printer;
use super::screenshot::InterfaceServices;
use crate::agent::{Step, StepFold};
use crate::event::{Address, Event};
use crate::export::step;
use crate::session::{Marks, RunState, Session, SessionRuling, Summary, shell_word, summarize};
use crate::workbench::format::{self, SIGNS, WORDS, plural};
use crate::workbench::{
    CaseSpec, FileNaming, Workbench, check_captured_agent, sent_bytes, store_captured_files, write_new_agent,
};
use marks::MarkJson;

/// Columns that a result may take on a terminal.
const RESULT_COLUMNS: usize = 60;

pub(super) async fn sessions(
    command: &SessionsCommand,
    plain: bool,
    workbench: &Workbench,
    interface: InterfaceServices<'_>,
) -> Result<u8, UsageError> {
    match command {
        SessionsCommand::Case(flags) => case(flags, workbench)?,
        SessionsCommand::Example(flags) => example(flags, workbench)?,
        SessionsCommand::Agent(flags) => make_captured_agent(flags, workbench)?,
        SessionsCommand::List { json } => list(&workbench.sessions(), &workbench.marks()?, *json, plain),
        SessionsCommand::Show { session, body: Some(at), .. } => {
            let key = workbench.find_session(session)?;
            print_bytes(&sent_bytes(&workbench.open_found(&key)?, at)?);
        }
        SessionsCommand::Show { session, json, body: None } => {
            let key = workbench.find_session(session)?;
            show(&workbench.open_found(&key)?, &workbench.marks_next_to(&key)?, *json, plain);
            print_rulings(&workbench.rulings_on(&key));
        }
        SessionsCommand::Search(flags) => return search::search(flags, plain, workbench),
        SessionsCommand::Failures(flags) => return failures::failures(flags, plain, workbench),
        SessionsCommand::Tag(flags) => return marks::tag(flags, plain, workbench),
        SessionsCommand::Note(flags) => return marks::note(flags, plain, workbench),
        SessionsCommand::Mark(flags) => return marks::mark(flags, plain, workbench),
        SessionsCommand::Label(flags) => return marks::label(flags, plain, workbench),
        SessionsCommand::Verify(flags) => return verify::verify(flags, workbench).await,
        SessionsCommand::Recover(flags) => return verify::recover(flags, workbench),
        SessionsCommand::Delete(flags) => return delete::delete(flags, workbench),
        SessionsCommand::Export(flags) => return export::export(flags, workbench, interface).await,
        SessionsCommand::Import(flags) => return export::import(flags, workbench),
        SessionsCommand::Tree { session, json } => super::tree::tree(session.as_deref(), *json, workbench)?,
    }
    Ok(exit::OK)
}

fn case(flags: &CaseFlags, workbench: &Workbench) -> Result<(), UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let spec = CaseSpec {
        run: flags.run.as_deref().map(Address::from),
        name: flags.name.clone(),
        file: flags.agent.clone(),
        cassette: flags.cassette,
        rubric: flags.rubric.clone(),
    };
    let made = workbench.make_case(&session, &spec)?;
    let file = made.file.display().to_string();
    if flags.json {
        print_json(&CaseJson {
            name: &made.name,
            file: &file,
            new_file: made.is_new_file,
            cassette: made.cassette.as_ref().map(|cassette| cassette.display().to_string()),
        });
        return Ok(());
    }
    let new = if made.is_new_file { "new file " } else { "" };
    print_note(&safe_line(&format!("case `{}` added to {new}{file}", made.name)));
    if let Some(cassette) = &made.cassette {
        print_note(&safe_line(&format!("cassette {}", cassette.display())));
    }
    print_note(&safe_line(&format!("run it with: ptc-workbench test {}", shell_word(&file))));
    Ok(())
}

fn example(flags: &ExampleFlags, workbench: &Workbench) -> Result<(), UsageError> {
    let (session, turn) = workbench.turn_place(&flags.place)?;
    let added = workbench.add_example(&session, &turn, flags.agent.as_deref())?;
    let file = added.file.display().to_string();
    if flags.json {
        print_json(&ExampleJson {
            session: session.header.id.as_str(),
            address: &added.turn,
            file: &file,
            new_file: added.is_new_file,
            example: &added.example,
        });
        return Ok(());
    }
    print_line(&safe(added.example.trim()));
    let new = if added.is_new_file { "new file " } else { "" };
    print_note(&safe_line(&format!("{} added as an example at the end of the prompt in {new}{file}", added.turn)));
    Ok(())
}

fn make_captured_agent(flags: &CapturedAgentFlags, workbench: &Workbench) -> Result<(), UsageError> {
    let (session, turn) = if flags.place.contains('@') {
        workbench.turn_place(&flags.place)?
    } else {
        (workbench.open_session(&flags.place)?, Address::run(0).turn(1))
    };
    let file = flags.output.as_deref();
    let name = file.and_then(|file| file.file_stem()?.to_str()).unwrap_or("captured");
    let naming = if file.is_some() { FileNaming::Name } else { FileNaming::Record };
    let agent = workbench.captured_agent(&session, &turn, name, naming)?;
    match file {
        None => {
            check_captured_agent(&agent, "captured.toml")?;
            store_captured_files(&agent, &workbench.folders.sessions_dir)?;
            print_exact(&agent.file_text());
        }
        Some(file) => {
            write_new_agent(file, &agent)?;
            print_note(&safe_line(&format!("agent created from {turn} of {}: {}", session.header.id, file.display())));
            for input in &agent.files {
                let path = file.with_file_name(&input.path);
                print_note(&safe_line(&format!("input {} ({})", path.display(), input.record.media_type)));
            }
        }
    }
    for difference in &agent.differences {
        print_note(&safe_line(&format!("differs from the captured request: {difference}")));
    }
    Ok(())
}

fn list(sessions: &[Summary], marks: &Marks, as_json: bool, plain: bool) {
    if as_json {
        print_json(&sessions.iter().map(|summary| SummaryJson::new(summary, marks)).collect::<Vec<_>>());
        return;
    }
    let mut lines = String::new();
    for summary in sessions {
        lines.push_str(&if plain { spoken(summary, marks) } else { line(summary, marks) });
        lines.push('\n');
    }
    if sessions.is_empty() {
        print_note("no sessions yet: `ptc-workbench run sentiment` creates one");
        return;
    }
    print_line(lines.trim_end_matches('\n'));
}

/// Output of `sessions case --json`.
#[derive(Serialize)]
struct CaseJson<'a> {
    name: &'a str,
    file: &'a str,
    new_file: bool,
    cassette: Option<String>,
}

/// Output of `sessions example --json`.
#[derive(Serialize)]
struct ExampleJson<'a> {
    session: &'a str,
    address: &'a Address,
    file: &'a str,
    new_file: bool,
    example: &'a str,
}

/// A session of a list as `--json` prints it.
#[derive(Serialize)]
struct SummaryJson<'a> {
    id: &'a str,
    created_ms: i64,
    path: Option<String>,
    agent: &'a str,
    mode: &'a str,
    model: String,
    turns: u32,
    tokens: Option<u64>,
    cost: Option<f64>,
    state: RunState,
    result: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    example: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<MarkJson<'a>>,
}

impl<'a> SummaryJson<'a> {
    fn new(summary: &'a Summary, marks: &'a Marks) -> Self {
        Self {
            id: &summary.id,
            created_ms: summary.created_ms,
            path: (!summary.example).then(|| summary.path.display().to_string()),
            agent: &summary.agent,
            mode: &summary.mode,
            model: summary.models.join(", "),
            turns: summary.usage.turns,
            tokens: summary.usage.tokens.map(|tokens| tokens.total()),
            cost: summary.usage.cost(),
            state: summary.state,
            result: &summary.result,
            example: summary.example,
            damage: summary.damage.as_deref(),
            marks: marks.of_session(&summary.id).map(|(address, mark)| MarkJson { address, mark }).collect(),
        }
    }
}

/// A session as a sentence, for a listener.
fn spoken(summary: &Summary, marks: &Marks) -> String {
    let (turns, tokens) =
        (plural(summary.usage.turns.into(), "turn"), summary.usage.tokens.map(|tokens| tokens.total()));
    let tokens = tokens.map(|tokens| format!(", {}", plural(tokens, "token"))).unwrap_or_default();
    let example = if summary.example { "example, " } else { "" };
    let result_text = match &summary.damage {
        Some(damage) => format!("damaged: {damage}"),
        None => format!("{}: {}", summary.state.name(), summary.result),
    };
    let own = marks::words(&marks.of(&summary.id, None), &WORDS);
    let gap = if own.is_empty() { "" } else { ", " };
    let text = format!(
        "{}, {example}{}, {}, {}, {turns}{tokens}, {}{gap}{own}",
        summary.id,
        summary.agent,
        summary.mode,
        summary.models.join(", "),
        width::truncate(&safe_line(&result_text), RESULT_COLUMNS),
    );
    safe_line(&text)
}

/// A session on one line.
fn line(summary: &Summary, marks: &Marks) -> String {
    let mark = match summary.state {
        RunState::Returned => "✓",
        RunState::Failed => "✗",
        RunState::Open => "…",
    };
    let tokens = summary.usage.tokens.map_or_else(|| "–".to_owned(), |tokens| tokens.total().to_string());
    let result_text = match &summary.damage {
        Some(damage) => format!("damaged: {damage}"),
        None if summary.example => format!("example  {}", summary.result),
        None => summary.result.clone(),
    };
    let own = marks::words(&marks.of(&summary.id, None), &SIGNS);
    let text = format!(
        "{}  {}  {}  {}  {:>3}  {:>7}  {mark} {}  {own}",
        safe_line(&summary.id),
        width::pad(&safe_line(&summary.agent), 14),
        width::pad(&safe_line(&summary.mode), 9),
        width::pad(&safe_line(&summary.models.join(", ")), 14),
        summary.usage.turns,
        tokens,
        width::truncate(&safe_line(&result_text), RESULT_COLUMNS),
    );
    text.trim_end().to_owned()
}

/// Prints a session line by line.
pub(super) fn show_in_words(name: &str, workbench: &Workbench) -> Result<(), UsageError> {
    let key = workbench.find_session(name)?;
    show(&workbench.open_found(&key)?, &workbench.marks_next_to(&key)?, false, true);
    print_rulings(&workbench.rulings_on(&key));
    Ok(())
}

/// Prints what judges found, after the turns.
fn print_rulings(rulings: &[SessionRuling]) {
    for SessionRuling { ruling, .. } in rulings {
        print_note(&safe_line(&format!("judged by the rubric {:?}: {}", ruling.rubric, ruling.line())));
        let sessions: Vec<&str> = ruling.votes.iter().filter_map(|vote| vote.session.as_deref()).collect();
        print_note(&safe_line(&format!("    judges: {}", sessions.join(" "))));
    }
}

fn show(session: &Session, marks: &Marks, as_json: bool, plain: bool) {
    if let Some(damage) = session.damage_report() {
        print_note(&format!("warning: {}", safe_line(&damage)));
    }
    match session.len() - session.events().count() {
        0 => {}
        unread => {
            let all = plural(session.len() as u64, "event");
            print_note(&format!("warning: this program cannot read the data of {unread} of {all}; it is omitted"));
        }
    }
    for (at, mark) in marks.of_session(&summarize(session).id) {
        let at = at.map_or_else(|| "session".to_owned(), |at| safe_line(at.as_str()));
        print_note(&format!("{at}: {}", marks::words(mark, format::Marks::of(plain))));
    }
    if as_json {
        print_json(&steps(session).iter().map(step).collect::<Vec<_>>());
        return;
    }
    let mut printer = Printer::new(Stdout, plain).with_addresses();
    session.events().for_each(|envelope| printer.print(&envelope));
}

/// The Step of each run of a session.
fn steps(session: &Session) -> Vec<Step> {
    let mut folds: Vec<(crate::event::Address, StepFold)> = Vec::new();
    for envelope in session.events() {
        let run = envelope.address.root();
        if matches!(envelope.event, Event::RunStart(_)) && !folds.iter().any(|(address, _)| *address == run) {
            folds.push((run.clone(), StepFold::default()));
        }
        if let Some((_, fold)) = folds.iter_mut().find(|(address, _)| *address == run) {
            fold.apply(&envelope);
        }
    }
    folds.into_iter().map(|(_, fold)| Step { session: Some(session.header.id.to_string()), ..fold.step() }).collect()
}
