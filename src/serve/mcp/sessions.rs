//! Tools about sessions: lists, searches, turns, comparisons, replays, forks.
//!
//! In: names and addresses from a client. Out: texts. Sessions are named by id: a path is refused.

use std::collections::HashSet;
use std::fmt::Write as _;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::value::Json;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::agents::{finish, token_count};
use super::arguments::{
    Arguments, CompareArguments, ForkArguments, ListArguments, QueryArguments, ResumeArguments, SessionArguments,
    TurnArguments, TurnPart, read,
};
use super::{Answer, WorkbenchServer};
use crate::event::{Address, Editor};
use crate::serve::runs::{check_context_of_client, has_ended, maker};
use crate::session::index::TermSyntax;
use crate::session::{ParentKind, Session, SessionKey, Summary};
use crate::workbench::comparison::{Frame, Line, against, totals, turns};
use crate::workbench::format::{cost, duration, plural};
use crate::workbench::inspect::Part;
use crate::workbench::overview::TurnLine;
use crate::workbench::{Answers, ForkChange, ForkSpec};

/// Sessions of a list without `limit`.
const USUAL_SESSIONS: usize = 20;
/// Sessions of a search result.
const MOST_FOUND: usize = 30;
/// Columns of tables.
const COLUMNS: usize = 160;

impl WorkbenchServer {
    /// The session of an id, a beginning of one, or `last`.
    fn key(&self, name: &str) -> Result<SessionKey, String> {
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !is_name {
            return Err(format!("`{name}` is not a session id (sessions_list shows them)"));
        }
        let key = self.workbench.find_session(name).map_err(|error| error.to_string())?;
        match &key {
            SessionKey::File(path) if path.parent() != Some(&*self.workbench.folders.sessions_dir) => {
                Err(format!("`{name}` is not a session id (sessions_list shows them)"))
            }
            _ => Ok(key),
        }
    }

    fn session(&self, name: &str) -> Result<Session, String> {
        self.workbench.open_found(&self.key(name)?).map_err(|error| error.to_string())
    }

    /// Without `--allow-runs`, only runs of the served agents are resumed.
    fn check_resumable(&self, session: &Session) -> Result<(), String> {
        if self.options.allow_runs || maker(&self.agents, session).is_some() {
            return Ok(());
        }
        Err("not a run of a served agent in its current version; other runs need --allow-runs".to_owned())
    }
}

pub(super) fn list(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let ListArguments { limit } = read(arguments)?;
    let all = server.workbench.sessions();
    let shown: Vec<String> = all.iter().take(limit.unwrap_or(USUAL_SESSIONS)).map(summary).collect();
    let left = all.len() - shown.len();
    let more = if left > 0 { format!("\n{left} more: raise `limit`, or use sessions_search") } else { String::new() };
    Ok(if all.is_empty() { "no sessions yet".to_owned() } else { format!("{}{more}", shown.join("\n")) })
}

pub(super) fn summary(summary: &Summary) -> String {
    let tokens = summary.usage.tokens.map(|tokens| format!(", {}", token_count(tokens.total()))).unwrap_or_default();
    let cost = summary.usage.cost().map(|amount| format!(", cost {}", cost(Some(amount)))).unwrap_or_default();
    let example = if summary.example { " (example)" } else { "" };
    let outcome = match &summary.damage {
        Some(damage) => format!("damaged: {damage}"),
        None => format!("{}: {}", summary.state.name(), summary.result),
    };
    let models = summary.models.join(", ");
    let (id, agent, mode) = (&summary.id, &summary.agent, &summary.mode);
    let turns = plural(u64::from(summary.usage.turns), "turn");
    format!("{id}{example}: {agent}, {mode}, {models}, {turns}{tokens}{cost}; {outcome}")
}

pub(super) fn search(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let QueryArguments { query } = read(arguments)?;
    let query = server.workbench.query(&query, TermSyntax::Plain).map_err(|error| error.to_string())?;
    let report = server.workbench.search(&query).map_err(|error| error.to_string())?;
    let mut lines = report.notices.clone();
    for found in report.found.iter().take(MOST_FOUND) {
        lines.push(summary(&found.summary));
        lines.extend(found.matches.iter().map(|hit| format!("  {} {}: {}", hit.at, hit.field.name(), hit.excerpt)));
        if found.count > found.matches.len() {
            lines.push(format!("  {} more in this session", found.count - found.matches.len()));
        }
    }
    let (found, searched) = (report.found.len(), plural(report.searched as u64, "session"));
    let cut = if found > MOST_FOUND { format!("; {} are not shown", found - MOST_FOUND) } else { String::new() };
    lines.push(format!("{found} of {searched}{cut}"));
    Ok(lines.join("\n"))
}

pub(super) fn failures(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let QueryArguments { query } = read(arguments)?;
    let query = server.workbench.query(&query, TermSyntax::Plain).map_err(|error| error.to_string())?;
    let report = server.workbench.failures(&query).map_err(|error| error.to_string())?;
    let groups = report.groups.iter().map(|group| {
        let of = if group.path.is_empty() { String::new() } else { format!(" of {}", group.path) };
        let (times, sessions) = (plural(group.count as u64, "time"), plural(group.sessions as u64, "session"));
        format!("{}{of}: {times} in {sessions}, newest {} {}", group.reason, group.newest.id, group.at)
    });
    let lines: Vec<String> = report.notices.iter().cloned().chain(groups).collect();
    let empty = format!("nothing failed in {}", plural(report.sessions as u64, "session"));
    Ok(if lines.is_empty() { empty } else { lines.join("\n") })
}

pub(super) fn show(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let SessionArguments { session } = read(arguments)?;
    let key = server.key(&session)?;
    let open = server.workbench.open(&key).map_err(|error| error.to_string())?;
    let overview = server.workbench.overview(&key).map_err(|error| error.to_string())?;
    let mut lines = vec![summary(&open.summary)];
    let roots: HashSet<Address> = overview.lines().iter().map(|line| line.address.root()).collect();
    lines.extend(overview.lines().iter().map(|line| turn_line(line, roots.len() > 1)));
    Ok(lines.join("\n"))
}

/// The line of a turn. Where the session has several runs, it names the agent of each; else only that of child runs.
fn turn_line(line: &TurnLine, has_several_runs: bool) -> String {
    let indent = "  ".repeat(line.depth() + 1);
    let agent = line.agent.as_ref().filter(|_| has_several_runs || line.depth() > 0);
    let agent = agent.map(|agent| format!(" [{agent}]")).unwrap_or_default();
    let tools = line.tools().into_iter().map(|(name, calls, failed)| match failed {
        0 => format!("{name} ×{calls}"),
        failed => format!("{name} ×{calls}, {failed} failed"),
    });
    let tools = tools.collect::<Vec<_>>().join("; ");
    let tools = if tools.is_empty() { String::new() } else { format!("; tools: {tools}") };
    let error = line.error.as_ref().map(|error| format!("; first error: {error}")).unwrap_or_default();
    let extra = [("repair", "repairs", line.repairs), ("retry", "retries", line.retries)];
    let extra = extra.iter().filter(|(.., count)| *count > 0);
    let extra = extra.map(|(one, many, count)| format!("; {count} {}", if *count == 1 { one } else { many }));
    let failed = if line.has_failed() { "failed" } else { "ok" };
    let (address, action) = (&line.address, &line.action);
    let tokens = token_count(line.tokens.map_or(0, |tokens| tokens.total()));
    let time = duration(line.time.total);
    format!("{indent}{address}{agent} {failed}: {action}{tools}{error}{}; {tokens}, {time}", extra.collect::<String>())
}

pub(super) fn show_turn(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let TurnArguments { session, turn, parts } = read(arguments)?;
    let session = server.session(&session)?;
    let turn = Address::from(turn.as_str());
    let inspection = server.workbench.inspect(&session, &turn).map_err(|error| error.to_string())?;
    let usual = [TurnPart::Reply, TurnPart::Check, TurnPart::Program, TurnPart::Calls];
    let wanted = if parts.is_empty() { &usual[..] } else { &parts[..] };
    let facts = &inspection.facts;
    let outcome = match (facts.success, &facts.reason) {
        (Some(true), _) => "ok".to_owned(),
        (_, Some(reason)) => format!("failed: {reason}"),
        (Some(false), None) => "no answer".to_owned(),
        (None, None) => "not ended".to_owned(),
    };
    let mut text = format!("{} of {} ({}): {outcome}\n", facts.turn, facts.agent, facts.mode);
    for part in wanted {
        let (title, parts) = match part {
            TurnPart::Request => ("request", &inspection.request),
            TurnPart::Reply => ("reply", &inspection.reply),
            TurnPart::Check => ("check", &inspection.extract),
            TurnPart::Program => ("program", &inspection.program),
            TurnPart::Calls => ("calls", &inspection.calls),
            TurnPart::Memory => ("memory", &inspection.memory),
            TurnPart::Wire => ("wire", &inspection.wire),
        };
        if parts.is_empty() {
            continue;
        }
        _ = writeln!(text, "\n# {title}");
        text.extend(parts.iter().map(part_text));
    }
    Ok(text)
}

fn part_text(part: &Part) -> String {
    let note = if part.note.is_empty() { String::new() } else { format!(" ({})", part.note) };
    let cut = if part.is_cut { " [the recording has only the start]" } else { "" };
    format!("\n## {}{note}{cut}\n{}\n", part.title, part.text().trim_end())
}

pub(super) fn compare(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let CompareArguments { sessions } = read(arguments)?;
    if sessions.len() < 2 {
        return Err("name two sessions or more".to_owned());
    }
    for name in &sessions {
        server.key(name.split_once(':').map_or(name, |(session, _)| session))?;
    }
    let (comparison, warnings) = server.workbench.compare_sessions(&sessions).map_err(|error| error.to_string())?;
    let frame = Frame { columns: COLUMNS, whole: true, words: true };
    let mut sections = vec![totals(&comparison, frame), turns(&comparison, frame)];
    sections.extend(comparison.pairs.iter().map(|pair| against(&comparison, pair, frame)));
    let section = |lines: &Vec<Line>| lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    Ok(warnings.into_iter().chain(sections.iter().map(section)).collect::<Vec<_>>().join("\n\n"))
}

pub(super) fn replay<'a>(
    server: &'a WorkbenchServer,
    arguments: &'a Arguments,
    _: &'a RequestContext<RoleServer>,
) -> BoxFuture<'a, Result<Answer, String>> {
    async move {
        let SessionArguments { session } = read(arguments)?;
        server.key(&session)?;
        let found = server.workbench.verify(&session).await.map_err(|error| error.to_string())?;
        let mut lines: Vec<String> = found.findings.iter().map(ToString::to_string).collect();
        let compared = found.replay.as_ref().map(|report| report.compared);
        lines.push(match (found.findings.is_empty(), compared) {
            (true, Some(compared)) => format!("identical: {} compared", plural(compared as u64, "computed event")),
            (true, None) => "no findings; the session cannot be replayed".to_owned(),
            (false, _) => plural(found.findings.len() as u64, "finding"),
        });
        Ok(Answer::Text(lines.join("\n")))
    }
    .boxed()
}

pub(super) fn fork<'a>(
    server: &'a WorkbenchServer,
    arguments: &'a Arguments,
    context: &'a RequestContext<RoleServer>,
) -> BoxFuture<'a, Result<Answer, String>> {
    async move {
        let ForkArguments { session, at, changes, model } = read(arguments)?;
        let exact = arguments.exact("changes");
        let session = server.session(&session)?;
        let changed = |target: String| {
            let value = exact.get(&target).cloned().unwrap_or_default();
            ForkChange::new(target, value)
        };
        let changes: Vec<ForkChange> = changes.into_keys().map(changed).collect();
        check_inputs(server, &session, &at, &changes)?;
        let spec = ForkSpec { at, changes, model, by: Editor::Command, kind: ParentKind::Fork };
        let human = server.human(context);
        let run = server.workbench.fork(&session, spec, human).await.map_err(|error| error.to_string())?;
        finish(server, run, context).await.map(|step| Answer::Run(Box::new(step)))
    }
    .boxed()
}

/// Refuses inputs of a fork as those of a run: what its agent does not declare, and files.
fn check_inputs(server: &WorkbenchServer, session: &Session, at: &str, changes: &[ForkChange]) -> Result<(), String> {
    let given = changes.iter().filter_map(|change| match change.target.split_once('.') {
        None if change.target == "context" => Some(change.after.clone()),
        Some(("context", name)) => Some(Json::empty().with(name, change.after.clone())),
        _ => None,
    });
    let given: Vec<Json> = given.collect();
    if given.is_empty() {
        return Ok(());
    }
    let agent = server.workbench.agent_after(session, at, changes).map_err(|error| error.to_string())?;
    given.iter().try_for_each(|context| check_context_of_client(&agent, context))
}

pub(super) fn resume<'a>(
    server: &'a WorkbenchServer,
    arguments: &'a Arguments,
    context: &'a RequestContext<RoleServer>,
) -> BoxFuture<'a, Result<Answer, String>> {
    async move {
        let ResumeArguments { session, answers } = read(arguments)?;
        let session = server.session(&session)?;
        server.check_resumable(&session)?;
        if has_ended(&session) {
            let id = &session.header.id;
            return Err(format!(
                "the run of {id} has ended: no question waits for an answer (session_show shows it; session_fork runs it again from a turn)"
            ));
        }
        let answers = Answers { in_order: answers.into(), ..Answers::default() };
        let human = server.human(context);
        let run = server.workbench.resume(&session, answers, None, human).await.map_err(|error| error.to_string())?;
        finish(server, run, context).await.map(|step| Answer::Run(Box::new(step)))
    }
    .boxed()
}
