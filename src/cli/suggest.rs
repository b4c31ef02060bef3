//! `suggest`: a model reads a failing turn and proposes other texts of the agent, as a diff of which hunks are written.
//!
//! In: a session, a turn, the agent file. Out: the reason, the diff, and the cost before and after. It writes nothing that the user has not
//! accepted.

use std::io::IsTerminal as _;

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::arguments::SuggestFlags;
use super::keyboard::confirm;
use super::optimize::{print_hunk, refused};
use super::output::{UsageError, exit, print_json, print_line, print_note, safe_line};
use super::run::{exit_on_interrupt, stop_on_signal, stopped_code};
use crate::event::{Address, Tokens};
use crate::port::{EndSignals, Stop};
use crate::workbench::Workbench;
use crate::workbench::format::plural;
use crate::workbench::optimize::{Hunk, SuggestRequest, SuggestSpec, Suggestion};

pub(super) async fn suggest(flags: &SuggestFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let workbench = flags.cache.apply(workbench)?;
    let (session, turn) = if flags.session.contains('@') {
        let (session, turn) = workbench.turn_place(&flags.session)?;
        (session, Some(turn))
    } else {
        (workbench.open_session(&flags.session)?, flags.turn.as_deref().map(turn_of).transpose()?)
    };
    let file = workbench.suggest_file(&session, flags.agent.as_deref()).map_err(refused)?;
    let spec = SuggestSpec { turn, file, model: flags.model.clone(), problem: flags.problem.clone() };
    let request = workbench.suggest_request(&session, spec).map_err(refused)?;
    let (signals, stop) = (EndSignals::catch(), Stop::default());
    print_note(&safe_line(&before(&request)));
    let signals = tokio::spawn(stop_on_signal(signals, stop.clone()));
    let suggestion = workbench.suggest(&request, &stop).await;
    signals.abort();
    let Some(suggestion) = suggestion.map_err(refused)? else {
        print_note("stopped: nothing was suggested");
        return Ok(stopped_code(&stop));
    };
    print_note(&safe_line(&after(&suggestion)));
    let accepted = if flags.json {
        print_json(&SuggestionJson::new(request.file_name(), &suggestion));
        vec![flags.write; suggestion.changes.hunks.len()]
    } else {
        tokio::spawn(exit_on_interrupt());
        shown(&suggestion, flags.write)
    };
    write(&suggestion, &accepted, &workbench)
}

/// A turn by its number in the first run or by its address.
fn turn_of(text: &str) -> Result<Address, UsageError> {
    let at = match text.parse::<u32>() {
        Ok(number) => Address::run(0).turn(number),
        Err(_) => Address::from(text),
    };
    if at.turn_number().is_none() {
        return Err(UsageError(format!(
            "{text} is not a turn; name one by its number or its address, such as 2 or r0/t2"
        )));
    }
    Ok(at.turn_part())
}

fn before(request: &SuggestRequest) -> String {
    let cost = request.cost.map(|cost| format!(", about {cost:.4}")).unwrap_or_default();
    format!("asks {} for a fix of {}: ~{}{cost}", request.model, request.turn, plural(request.tokens, "token"))
}

fn after(suggestion: &Suggestion) -> String {
    let used = suggestion.tokens.map(|tokens| plural(tokens.total(), "token"));
    let cost = suggestion.cost.map(|cost| format!("cost {cost:.4}"));
    let session = suggestion.session.as_ref().map(|id| format!("session {id}"));
    let parts: Vec<String> = [used, cost, session].into_iter().flatten().collect();
    format!("used {}", parts.join(", "))
}

/// Prints the suggestion; returns which hunks are accepted.
fn shown(suggestion: &Suggestion, writes: bool) -> Vec<bool> {
    print_line(&safe_line(&suggestion.reason));
    for refused in &suggestion.refused {
        print_note(&safe_line(&format!("not used: {refused}")));
    }
    let asks = !writes && std::io::stdin().is_terminal();
    let hunks = suggestion.changes.hunks.iter();
    hunks
        .map(|hunk| {
            print_hunk(hunk);
            writes || (asks && confirm("Write this hunk?") == Some(true))
        })
        .collect()
}

/// Writes the accepted hunks. Errors: the file has changed meanwhile; it could not be read with them.
fn write(suggestion: &Suggestion, accepted: &[bool], workbench: &Workbench) -> Result<u8, UsageError> {
    if !accepted.contains(&true) {
        print_note("nothing was written; --write writes all hunks");
        return Ok(exit::OK);
    }
    let written = suggestion.changes.write(workbench, accepted).map_err(refused)?;
    print_note(&safe_line(&format!("wrote {} into {}", plural(written, "hunk"), suggestion.changes.path.display())));
    Ok(exit::OK)
}

/// A suggestion as JSON.
#[skip_serializing_none]
#[derive(Serialize)]
struct SuggestionJson<'s> {
    file: &'s str,
    turn: &'s Address,
    reason: &'s str,
    changed: Vec<String>,
    refused: &'s [String],
    hunks: Vec<HunkJson<'s>>,
    session: Option<&'s str>,
    tokens: Option<Tokens>,
    cost: Option<f64>,
}

/// A hunk as JSON.
#[derive(Serialize)]
struct HunkJson<'s> {
    line: usize,
    lines: &'s [String],
}

impl<'s> HunkJson<'s> {
    fn of(hunk: &'s Hunk) -> Self {
        Self { line: hunk.line, lines: &hunk.lines }
    }
}

impl<'s> SuggestionJson<'s> {
    fn new(file: &'s str, suggestion: &'s Suggestion) -> Self {
        Self {
            file,
            turn: &suggestion.turn,
            reason: &suggestion.reason,
            changed: suggestion.changed.iter().map(ToString::to_string).collect(),
            refused: &suggestion.refused,
            hunks: suggestion.changes.hunks.iter().map(HunkJson::of).collect(),
            session: suggestion.session.as_deref(),
            tokens: suggestion.tokens,
            cost: suggestion.cost,
        }
    }
}
