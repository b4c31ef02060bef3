//! The status line of a run: what it has used of its limits, and where it is saved. Each gauge shows its numbers next to its bar.

use crate::port::Gate;
use crate::tui::model::{Model, Phase, RunView, SessionFile};
use crate::tui::transcript::Facts;
use crate::tui::transcript::format::{cost, count, duration, plural};
use ptc_core::text::width::width;

/// Marks of a bar, at most.
const MARKS: u64 = 10;
/// Marks of a bar next to others.
const FEW: u64 = 5;

/// The time of a run.
pub(super) fn time(model: &Model, run: &RunView) -> String {
    let facts = &run.transcript.facts;
    if facts.run.is_some() { facts.time(model.now_ms) } else { "starting".to_owned() }
}

/// Turns, tokens, cost, time, calls, checklist and where it is saved; with little room, the least certain values are dropped first.
pub(super) fn used(model: &Model, run: &RunView, columns: usize) -> String {
    let facts = &run.transcript.facts;
    let turns = match facts.max_turns {
        Some(max) => {
            let turn = u64::from(facts.turn);
            format!("turns {}/{} {}", count(turn), count(max), bar(turn, max, MARKS))
        }
        None => format!("turns {}", count(facts.turn.into())),
    };
    let (verb, session) = match &run.session {
        Some(_) if run.file == SessionFile::Unwritten => ("session NOT saved", "session NOT saved".to_owned()),
        Some(session) if run.phase == Phase::Done => ("session saved", format!("saved {session}")),
        Some(session) => ("saving session", format!("saving {session}")),
        None => ("session not saved", "session not saved".to_owned()),
    };
    let verb = verb.to_owned();
    let (tokens, cost, time) = (tokens(facts), costs(facts), limited_time(model, run));
    let more = more(model, facts);
    let with = |parts: &[&String]| parts.iter().map(|part| (*part).clone()).chain(more.iter().cloned()).collect();
    let plain = |parts: &[&String]| parts.iter().map(|part| (*part).clone()).collect::<Vec<_>>();
    let mut shapes: Vec<Vec<String>> = vec![with(&[&turns, &tokens, &cost, &time, &session])];
    let priced = facts.cost.is_some() || facts.budget.cost.is_some();
    if !priced {
        shapes.push(with(&[&turns, &tokens, &time, &session]));
    }
    // A cost that is known stays to the end: tokens go before it.
    shapes.push(if priced {
        with(&[&turns, &tokens, &cost, &time, &verb])
    } else {
        with(&[&turns, &tokens, &time, &verb])
    });
    shapes.push(plain(&[&turns, &tokens, &cost, &time, &session]));
    shapes.push(if priced {
        plain(&[&turns, &tokens, &cost, &time, &verb])
    } else {
        plain(&[&turns, &tokens, &time, &session])
    });
    shapes.extend(if priced {
        [plain(&[&turns, &cost, &time, &verb]), plain(&[&turns, &cost, &time])]
    } else {
        [plain(&[&turns, &tokens, &time, &verb]), plain(&[&turns, &time, &verb])]
    });
    let mut texts = shapes.iter().map(|shape| shape.join("   "));
    texts.find(|text| width(text) + 2 <= columns).unwrap_or_else(|| format!("{turns}   {verb}"))
}

fn tokens(facts: &Facts) -> String {
    match (facts.tokens, facts.budget.tokens) {
        (tokens, Some(limit)) => {
            let used = tokens.map_or(0, |tokens| tokens.total());
            format!("tokens {}/{} {}", count(used), count(limit), bar(used, limit, FEW))
        }
        (Some(tokens), None) => format!("tokens {} in {} out", count(tokens.input), count(tokens.output)),
        (None, None) => "tokens –".to_owned(),
    }
}

fn costs(facts: &Facts) -> String {
    let used = format!("cost {}", cost(facts.cost));
    match (facts.cost, facts.budget.cost) {
        (Some(spent), Some(limit)) => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of five marks")]
            let thousandths = (spent / limit * 1_000.0).clamp(0.0, 1_000.0) as u64;
            format!("{used}/{limit} {}", bar(thousandths, 1_000, FEW))
        }
        (None, Some(limit)) => format!("{used}/{limit}"),
        (_, None) => used,
    }
}

fn limited_time(model: &Model, run: &RunView) -> String {
    let (facts, time) = (&run.transcript.facts, time(model, run));
    match facts.budget.time_ms {
        Some(limit) => format!("{time}/{} {}", duration(limit), bar(facts.elapsed_ms(model.now_ms), limit, FEW)),
        None => time,
    }
}

/// Calls, the checklist, and the gates at which runs stop.
fn more(model: &Model, facts: &Facts) -> Vec<String> {
    let calls = match facts.budget.calls {
        Some(limit) => Some(format!("calls {}/{} {}", count(facts.calls), count(limit), bar(facts.calls, limit, FEW))),
        None => (facts.calls > 0).then(|| format!("calls {}", count(facts.calls))),
    };
    let plan = facts.plan.map(|(done, all)| format!("plan {done}/{all} {}", bar(done as u64, all as u64, FEW)));
    let gates = model.workbench.gates.iter().map(|gate| match gate {
        Gate::Send => "stops before requests".to_owned(),
        Gate::Apply => "stops before replies".to_owned(),
        Gate::Result => "stops at results".to_owned(),
    });
    let breakpoints = model.workbench.breakpoints.iter().map(|breakpoint| format!("stops at {breakpoint}"));
    all_runs(model, facts).into_iter().chain(calls).chain(plan).chain(gates).chain(breakpoints).collect()
}

/// The usage of all runs of a session with several: the other values are those of the last one.
fn all_runs(model: &Model, facts: &Facts) -> Option<String> {
    let all = facts.all.as_ref()?;
    let time = duration(facts.all_elapsed_ms(model.now_ms));
    let tokens = facts.all_tokens().map(|tokens| format!(" {} tok", count(tokens.total()))).unwrap_or_default();
    let cost = facts.all_cost().map(|amount| format!(" cost {}", cost(Some(amount)))).unwrap_or_default();
    Some(format!("all {} runs: {}{tokens}{cost} {time}", all.count, plural(facts.all_turns(), "turn")))
}

/// A bar of at most `most` filled and empty marks.
fn bar(used: u64, of: u64, most: u64) -> String {
    let marks = of.clamp(1, most);
    let filled = if of == 0 { 0 } else { (used.min(of).saturating_mul(marks)).div_ceil(of) };
    let mark = |at| if at < filled { '▰' } else { '▱' };
    (0..marks).map(mark).collect()
}
