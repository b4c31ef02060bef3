//! The traffic screen: what waits and the conversations of other programs above, the selected one below.

use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, width};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::sessions::local;
use super::{bars, run};
use crate::port::Gate;
use crate::proxy::{ConversationLine, ConversationState, HeldExchange, HeldSide, UnrecordedRequest};
use crate::tui::actions::Action;
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::traffic::{ProxyPhase, Step, Traffic, TrafficRow};
use crate::tui::transcript::format::{cost, count, duration, plural};
use crate::tui::transcript::wrapped_text::{Look, WrappedText};

/// Minimum columns of a list that shows the times of the last requests.
const TIMES_FROM: u16 = 100;
/// Minimum columns of a list whose head names the last text of a user, which narrower ones only begin.
const LAST_TEXT_FROM: u16 = 132;
/// Fewest rows of the list.
const LIST_ROWS: u16 = 3;

struct Areas {
    title: Rect,
    heads: Rect,
    /// Conversations.
    list: Rect,
    /// Requests that are not recorded.
    unrecorded: Rect,
    rule: Rect,
    view: Rect,
    status: Rect,
    footer: Rect,
}

/// The lists get two fifths of the screen, and the conversation the rest. Up to a third of the lists is for the last requests that are not
/// recorded.
fn areas(screen: Rect, unrecorded: usize) -> Areas {
    let line = |y: u16| Rect { y: y.min(screen.bottom()), height: 1, ..screen };
    let rows = screen.height.saturating_sub(5);
    let list = (rows * 2 / 5).max(LIST_ROWS).min(rows);
    let top = screen.y + 2;
    let unrecorded = u16::try_from(unrecorded).unwrap_or(u16::MAX).min(list / 3);
    Areas {
        title: line(screen.y),
        heads: line(screen.y + 1),
        list: Rect { y: top, height: list - unrecorded, ..screen },
        unrecorded: Rect { y: top + list - unrecorded, height: unrecorded, ..screen },
        rule: line(top + list),
        view: Rect { y: top + list + 1, height: rows - list, ..screen },
        status: line(screen.bottom().saturating_sub(2)),
        footer: line(screen.bottom().saturating_sub(1)),
    }
}

/// The parts whose texts can be selected.
pub(super) fn text_areas(model: &Model, screen: Rect) -> Vec<Rect> {
    let areas = areas(screen, model.traffic.unrecorded.len());
    vec![areas.list, areas.unrecorded, areas.view]
}

pub(super) fn layout(model: &mut Model) {
    let areas = areas(Rect::new(0, 0, model.size.0, model.size.1), model.traffic.unrecorded.len());
    let now_ms = model.now_ms;
    let traffic = &mut model.traffic;
    (traffic.area, traffic.view_area) = (areas.list, areas.view);
    traffic.scroll_to_selected(usize::from(areas.list.height).max(1));
    if let Some(view) = &mut traffic.view {
        view.transcript.prepare(run::card_columns(areas.view), usize::from(areas.view.height), now_ms);
    }
}

pub(super) fn draw(model: &Model, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let traffic = &model.traffic;
    let areas = areas(screen, traffic.unrecorded.len());
    title(model).draw(areas.title, buffer, model.theme);
    let columns = Columns { width: areas.list.width };
    let lines = usize::from(areas.list.height);
    let (above, below) = traffic.hidden_rows(lines);
    let hidden = bars::more(above, below, areas.heads.width);
    let title = (areas.list.width >= TIMES_FROM).then(|| Piece::literal(Role::Dim, "last at "));
    let ending: Vec<Piece> = title.into_iter().chain(hidden).collect();
    columns.heads().ending(ending).draw(areas.heads, buffer, model.theme);
    let rows = traffic.rows().enumerate();
    let is_visible = |row: usize| row < traffic.pinned || row >= traffic.pinned + traffic.top;
    let visible = rows.filter(|(row, _)| is_visible(*row)).map(|(_, row)| row).take(lines);
    for (line, row) in visible.enumerate() {
        let selected = traffic.selected.as_ref() == Some(&row);
        let row = match &row {
            TrafficRow::Held(id) => traffic.held(*id).map(|held| columns.held(held, selected, model.now_ms)),
            TrafficRow::Conversation(session) => {
                let line = traffic.lines.iter().find(|line| line.session == *session);
                line.map(|line| columns.conversation(line, selected).ending(asked_at(model, line, areas.list.width)))
            }
        };
        if let Some(row) = row {
            row.draw(line_of(areas.list, line), buffer, model.theme);
        }
    }
    for (line, unrecorded) in traffic.unrecorded.iter().take(usize::from(areas.unrecorded.height)).enumerate() {
        columns.unrecorded(unrecorded).draw(line_of(areas.unrecorded, line), buffer, model.theme);
    }
    if traffic.rows().next().is_none() {
        draw_empty(model, &areas, buffer);
    }
    match (traffic.selected_held(), &traffic.view) {
        (Some(held), _) => {
            bars::rule(areas.rule, held_title(held), false, Vec::new(), buffer, model.theme);
            let text: String = held
                .text
                .lines()
                .take(usize::from(areas.view.height))
                .fold(String::new(), |text, line| text + line + "\n");
            let columns = usize::from(areas.view.width.saturating_sub(4)).max(1);
            let rows = WrappedText::of(&text, columns, Look::Rich(crate::tui::colours::Language::Json));
            for (line, row) in rows.into_iter().take(usize::from(areas.view.height)).enumerate() {
                row.indented(2).draw(line_of(areas.view, line), buffer, model.theme);
            }
        }
        (None, Some(view)) => {
            run::draw_rule(model, view, areas.rule, false, buffer);
            run::draw_rows(model, view, areas.view, buffer);
        }
        (None, None) => bars::rule(areas.rule, "", false, Vec::new(), buffer, model.theme),
    }
    let status = if model.screen_toast().is_some() { bars::toast(model) } else { status(model) };
    status.draw(areas.status, buffer, model.theme);
    if model.popups.is_empty() {
        bars::footer(model, areas.footer, buffer);
    }
    None
}

/// The proxy, and the number of its conversations.
fn title(model: &Model) -> Row {
    let traffic = &model.traffic;
    let (role, state) = match &traffic.phase {
        ProxyPhase::Off => (Role::Dim, "no proxy".to_owned()),
        ProxyPhase::Starting => (Role::Accent, "● starting".to_owned()),
        ProxyPhase::Listening(facts) => (Role::Accent, format!("● http://{}", facts.address)),
        ProxyPhase::Ending => (Role::Accent, "● ending".to_owned()),
    };
    let conversations = match traffic.lines.len() {
        0 => String::new(),
        lines => count(lines as u64),
    };
    let mut left = vec![Piece::literal(Role::Title, " Traffic  "), Piece::new(Role::Text, &conversations)];
    if !traffic.held.is_empty() {
        left.push(Piece::new(Role::Warn, &format!("   ‖ {} held", count(traffic.held.len() as u64))));
    }
    Row::new(left).ending([Piece::new(role, &format!("{state} "))])
}

/// Returns the status line: problem, gates at which exchanges stop, counts and cost.
fn status(model: &Model) -> Row {
    let gates = [(Gate::Send, "requests"), (Gate::Apply, "replies")];
    let closed: Vec<&str> =
        gates.iter().filter(|(gate, _)| model.workbench.gates.contains(gate)).map(|(_, what)| *what).collect();
    let mut pieces = Vec::new();
    if let Some(problem) = &model.traffic.problem {
        pieces.extend([Piece::literal(Role::Bad, " ✗ "), Piece::new(Role::Text, problem)]);
    }
    if !closed.is_empty() {
        pieces.push(Piece::new(Role::Warn, &format!(" ‖ {} are held  ", closed.join(" and "))));
    }
    let traffic = &model.traffic;
    let running =
        |line: &&ConversationLine| matches!(line.state, ConversationState::Asked | ConversationState::Streams);
    let running = traffic.lines.iter().filter(running).count();
    let cost_sum: Option<f64> = traffic.lines.iter().filter_map(|line| line.cost).reduce(|sum, cost| sum + cost);
    let requests: u64 = traffic.lines.iter().map(|line| u64::from(line.turns)).sum();
    let mut facts = vec![plural(requests, "request"), format!("{} running", count(running as u64))];
    facts.extend(cost_sum.map(|sum| format!("cost {}", cost(Some(sum)))));
    if traffic.unrecorded_count > 0 {
        facts.push(format!("{} not recorded", count(traffic.unrecorded_count)));
    }
    if requests > 0 || traffic.unrecorded_count > 0 {
        pieces.push(Piece::new(Role::Dim, &format!(" {}", facts.join("   "))));
    }
    Row::new(pieces)
}

/// Draws the key that starts the proxy, or its address for programs.
fn draw_empty(model: &Model, areas: &Areas, buffer: &mut Buffer) {
    let key = |action| model.keymap.first_name(action);
    let mut lines = Vec::new();
    match &model.traffic.phase {
        ProxyPhase::Off => {
            let Traffic { spec, .. } = &model.traffic;
            let start = key(Action::InTraffic(Step::Listen));
            lines.push(format!("{start} starts a proxy on http://{}:{}.", spec.host, spec.port));
            lines.push("The requests of programs that use its address appear here.".to_owned());
        }
        ProxyPhase::Starting | ProxyPhase::Ending => {}
        ProxyPhase::Listening(facts) => {
            let none = if model.traffic.unrecorded.is_empty() { "No request" } else { "No request to a model" };
            lines.push(format!("{none} has come. Give a program this address:"));
            lines.extend(facts.variables.iter().map(|(name, value)| format!("  export {name}={value}")));
            lines.push(String::new());
            lines.extend(facts.upstreams.iter().map(|upstream| format!("upstream {upstream}")));
        }
    }
    let (list, view) = (usize::from(areas.list.height), usize::from(areas.view.height));
    for (line, text) in lines.iter().enumerate().take(list + view) {
        let place = line.checked_sub(list).map_or_else(|| line_of(areas.list, line), |line| line_of(areas.view, line));
        Row::new([Piece::new(Role::Text, text)]).indented(2).draw(place, buffer, model.theme);
    }
}

/// The time of a conversation's last request, which tells apart those of one program.
fn asked_at(model: &Model, line: &ConversationLine, columns: u16) -> Option<Piece> {
    let at = local(line.at_ms, model.utc_offset_s).filter(|_| columns >= TIMES_FROM)?;
    Some(Piece::new(Role::Dim, &format!("{:02}:{:02}:{:02} ", at.hour(), at.minute(), at.second())))
}

/// The title of the held part of an exchange.
fn held_title(held: &HeldExchange) -> &'static str {
    match held.side {
        HeldSide::Request => "Held request",
        HeldSide::Reply => "Held reply",
    }
}

/// The columns that fit the width.
struct Columns {
    width: u16,
}

/// The cells of a row.
struct Cells<'a> {
    state: (Role, &'a str),
    client: &'a str,
    upstream: &'a str,
    model: &'a str,
    /// Turns, tokens, cost, time to the first part; none where the rest begins in their place.
    numbers: Option<[String; 4]>,
    rest: Vec<Piece>,
}

impl Columns {
    fn heads(&self) -> Row {
        let numbers = Some(["turns", "tokens", "cost", "first"].map(str::to_owned));
        let rest =
            vec![Piece::literal(Role::Dim, if self.width < LAST_TEXT_FROM { "errors" } else { "errors, last text" })];
        let heads = Cells {
            state: (Role::Dim, "state"),
            client: "client",
            upstream: "upstream",
            model: "model",
            numbers,
            rest,
        };
        self.row(Role::Dim, "  ", heads)
    }

    fn held(&self, held: &HeldExchange, selected: bool, now_ms: i64) -> Row {
        let waited = duration(u64::try_from(now_ms - held.at_ms).unwrap_or_default());
        let rest = vec![Piece::new(Role::Warn, &format!("waits {waited}"))];
        let state = match held.side {
            HeldSide::Request => "‖ request",
            HeldSide::Reply => "‖ reply",
        };
        let cells = Cells {
            state: (Role::Warn, state),
            client: &held.client,
            upstream: &held.upstream,
            model: &held.model,
            numbers: None,
            rest,
        };
        self.row(Role::Text, if selected { "▸ " } else { "  " }, cells)
    }

    fn conversation(&self, line: &ConversationLine, selected: bool) -> Row {
        let state = match line.state {
            ConversationState::Asked => (Role::Accent, "● asked"),
            ConversationState::Streams => (Role::Accent, "● streams"),
            ConversationState::Answered => (Role::Good, "✓ answered"),
            ConversationState::Failed => (Role::Bad, "✗ failed"),
            ConversationState::Ended => (Role::Dim, "■ ended"),
        };
        let numbers = Some([
            count(line.turns.into()),
            line.tokens.map_or_else(|| "–".to_owned(), |tokens| count(tokens.total())),
            cost(line.cost),
            line.first_ms.map_or_else(|| "–".to_owned(), duration),
        ]);
        let mut rest = Vec::new();
        if line.errors > 0 {
            rest.push(Piece::new(Role::Bad, &format!("{} ✗ ", count(line.errors.into()))));
        }
        rest.push(match &line.problem {
            Some(problem) => Piece::new(Role::Text, problem),
            None => Piece::new(Role::Dim, &line.user_text),
        });
        let (client, upstream, model) = (&line.client, &line.upstream, &line.model);
        let role = if selected { Role::Title } else { Role::Text };
        self.row(role, if selected { "▸ " } else { "  " }, Cells { state, client, upstream, model, numbers, rest })
    }

    /// A request that is not recorded.
    fn unrecorded(&self, line: &UnrecordedRequest) -> Row {
        let (mark, state) = match &line.from {
            Some(_) => (Role::Good, "✓ replayed"),
            None => (Role::Dim, "· passed"),
        };
        let role = if line.status.is_some_and(|status| status < 400) { Role::Dim } else { Role::Bad };
        let status = line.status.map_or_else(|| "no reply".to_owned(), |status| status.to_string());
        let upstream = line.upstream.as_deref().unwrap_or("–");
        let facts = format!("  {}  {}", plural(line.bytes, "byte"), duration(line.ms));
        let (state, facts_width) = (format!("{state:<11}"), 4 + width(&facts));
        let asked = format!("{upstream} {} {}", line.method, line.path);
        let room = usize::from(self.width).saturating_sub(3 + 11 + facts_width + 1);
        let asked = SafeText::single_line(&asked);
        let mut pieces = vec![
            Piece::new(mark, &format!("   {state}")),
            Piece::new(Role::Dim, &truncate(&asked, room)),
            Piece::new(role, &format!(" {status}")),
            Piece::new(Role::Dim, &facts),
        ];
        pieces.extend(line.problem.as_deref().map(|problem| Piece::new(Role::Bad, &format!("  {problem}"))));
        Row::new(pieces)
    }

    fn row(&self, role: Role, mark: &'static str, cells: Cells<'_>) -> Row {
        let mut pieces = vec![Piece::literal(Role::Accent, " "), Piece::literal(Role::Accent, mark)];
        let left = |role: Role, text: &str, columns: usize| {
            let text = SafeText::single_line(text);
            let text = truncate(&text, columns).into_owned();
            let gap = columns.saturating_sub(width(&text)) + 1;
            Piece::new(role, &format!("{text}{}", " ".repeat(gap)))
        };
        let is_wide = self.width >= 110;
        let name = |text: &str, columns: usize| left(role, if text.is_empty() { "–" } else { text }, columns);
        pieces.push(left(cells.state.0, cells.state.1, 10));
        pieces.push(name(cells.client, if is_wide { 18 } else { 14 }));
        if is_wide {
            pieces.push(name(cells.upstream, 10));
        }
        if self.width >= 60 {
            pieces.push(name(cells.model, if is_wide { 22 } else { 16 }));
        }
        if let Some([turns, tokens, cost, first]) = cells.numbers {
            let right = |text: String, columns: usize| Piece::new(role, &format!("{text:>columns$} "));
            pieces.push(right(turns, 5));
            if self.width >= 70 {
                pieces.push(right(tokens, 8));
            }
            if is_wide {
                pieces.push(right(cost, 8));
            }
            pieces.push(right(first, 7));
        }
        pieces.push(Piece::literal(Role::Text, " "));
        pieces.extend(cells.rest);
        Row::new(pieces)
    }
}
