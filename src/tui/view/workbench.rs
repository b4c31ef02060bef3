//! The workbench: editors with live findings, the run next to them or on a page of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::areas::{Areas, areas, place};
use super::{areas, bars, draft_runs, editor, inputs, overview, run, steps};
use crate::agent::{Diagnostic, Place, Severity};
use crate::tui::actions::Action;
use crate::tui::forms::brackets_at;
use crate::tui::model::{Model, Pane, Popup, Workbench, place_language, place_name};
use crate::tui::row::{Piece, Row};
use crate::tui::sessions::check;
use crate::tui::theme::Role;
use crate::tui::transcript::format::plural;
use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, wrap};

pub(super) fn layout(model: &mut Model) {
    if let (Pane::Editor(place), false) = (model.workbench.focus, model.mouse.held) {
        model.workbench.room = place;
    }
    let areas = screen_areas(model);
    let (now_ms, turn_list) = (model.now_ms, model.turn_list);
    let fix_key = model.keymap.first_name(Action::Fix);
    let workbench = &mut model.workbench;
    // A pipeline replaces the editors.
    let editors = areas.editors.filter(|_| workbench.pipeline.is_none());
    for index in 0..workbench.editors.len() {
        let area =
            editors.map_or(Rect::default(), |editors| text_area(editors[index].1, workbench, (place(index), &fix_key)));
        if place(index) == Place::Context && workbench.inputs.is_shown() {
            let focused = workbench.focus == Pane::Editor(Place::Context);
            inputs::layout(&mut workbench.inputs, area, focused);
            workbench.editors[index].area = Rect::default();
            continue;
        }
        editor::layout(&mut workbench.editors[index], area);
    }
    if let (Some((pipeline, top)), Some(column)) = (&mut workbench.pipeline, areas.column) {
        steps::clamp(pipeline, top, column);
    }
    workbench.run_area = areas.run.map_or(Rect::default(), |(_, rows)| rows);
    if let (Some(run), Some((_, rows))) = (&mut workbench.run, areas.run) {
        let rows = overview::layout(run, rows, turn_list);
        workbench.run_area = rows;
        run.transcript.prepare(run::card_columns(rows), usize::from(rows.height), now_ms);
    }
}

/// The parts whose texts can be selected, next to editors and transcript.
pub(super) fn text_areas(model: &Model) -> Vec<Rect> {
    let areas = screen_areas(model);
    let steps = areas.column.filter(|_| model.workbench.pipeline.is_some());
    let findings = areas.editors.filter(|_| steps.is_none()).into_iter().flatten().map(|(_, rows)| rows);
    steps.into_iter().chain(findings).chain(areas.run.map(|(_, rows)| rows)).collect()
}

fn screen_areas(model: &Model) -> Areas {
    let screen = areas::rest(model, Rect::new(0, 0, model.size.0, model.size.1));
    areas(screen, &model.workbench)
}

/// The rows of an editor that its findings leave to the text, one column from the edges.
fn text_area(area: Rect, workbench: &Workbench, place: Findings<'_>) -> Rect {
    let below = finding_rows(area, workbench, place).len();
    Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(1),
        height: area.height.saturating_sub(u16::try_from(below).unwrap_or(0)),
        ..area
    }
}

/// The message of the first finding, below the text: at most a third of the rows, or as many as it needs where one types.
fn finding_rows(area: Rect, workbench: &Workbench, (place, fix_key): Findings<'_>) -> Vec<Row> {
    let findings = workbench.findings(place);
    let focused = workbench.focus == Pane::Editor(place);
    // Where one types, the finding that a key would correct comes first.
    let fixable = workbench.fixable().filter(|finding| focused && finding.place == place);
    let Some(finding) = fixable.or(findings.first().copied()) else { return Vec::new() };
    let most = usize::from(if focused { area.height.saturating_sub(1) } else { (area.height / 3).min(3) });
    let text = SafeText::single_line(&finding.message);
    let columns = usize::from(area.width).saturating_sub(4).max(1);
    let mut ranges = wrap(&text, columns);
    let cut = ranges.len() > most;
    ranges.truncate(most);
    let last = ranges.len();
    let row = |(at, range): (usize, std::ops::Range<usize>)| {
        let part = text.slice(range);
        let part = if cut && at + 1 == last {
            SafeText::single_line(&format!("{} …", truncate(&part, columns.saturating_sub(2))))
        } else {
            part
        };
        let mark = if at == 0 { mark(finding) } else { Piece::literal(Role::Text, "  ") };
        Row::new([mark, Piece::safe(Role::Text, part)]).indented(1)
    };
    let mut rows: Vec<Row> = ranges.into_iter().enumerate().map(row).collect();
    if let (Some(finding), true) = (fixable, rows.len() < most) {
        let what = match finding.fixes.as_slice() {
            [only] => only.title.clone(),
            [first, rest @ ..] => format!("{}, or {} more", first.title, rest.len()),
            [] => String::new(),
        };
        let key = Piece::new(Role::Key, &format!("{fix_key} "));
        rows.push(Row::new([key, Piece::new(Role::Dim, &what)]).indented(3));
    }
    rows
}

/// The place of an editor, and the key that corrects its finding.
type Findings<'a> = (Place, &'a str);

fn mark(finding: &Diagnostic) -> Piece {
    match finding.severity {
        Severity::Error => Piece::literal(Role::Bad, "✗ "),
        Severity::Warning => Piece::literal(Role::Warn, "! "),
    }
}

pub(super) fn draw(model: &Model, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let areas = areas(areas::rest(model, screen), &model.workbench);
    bars::title(model, areas.title, buffer);
    let mut cursor = None;
    if let (Some((pipeline, top)), Some(column)) = (&model.workbench.pipeline, areas.column) {
        steps::draw(model, pipeline, *top, column, buffer);
    } else if let Some(editors) = areas.editors {
        for (index, (rule, rows)) in editors.into_iter().enumerate() {
            cursor = draw_editor(model, place(index), rule, rows, buffer).or(cursor);
        }
    }
    bars::rule(areas.rule, "", false, Vec::new(), buffer, model.theme);
    if let Some((rule, rows)) = areas.run {
        draw_run(model, rule, rows, buffer);
    }
    if let Some(row) = areas.runs {
        draft_runs::draw(model, row, buffer);
    }
    if let Some(divider) = areas.divider {
        draw_divider(model, divider, areas.rule, buffer);
    }
    bars::status(model, areas.status, buffer);
    if model.popups.is_empty() {
        bars::footer(model, areas.footer, buffer);
    }
    cursor
}

fn draw_editor(model: &Model, place: Place, rule: Rect, rows: Rect, buffer: &mut Buffer) -> Option<Position> {
    let workbench = &model.workbench;
    let focused = workbench.focus == Pane::Editor(place);
    let findings = workbench.findings(place);
    let fix_key = model.keymap.first_name(Action::Fix);
    let below = finding_rows(rows, workbench, (place, &fix_key));
    let mut state = state(workbench, place, &findings, below.is_empty());
    if rows.height > 0 {
        let shown = workbench.edited(place);
        state.splice(0..0, bars::more(editor::hidden_above(shown), editor::hidden_below(shown), rule.width));
    }
    let name = place_name(place);
    let heading = if rows.height == 0 { folded_heading(workbench, place) } else { name.to_owned() };
    bars::rule(rule, &heading, focused, state, buffer, model.theme);
    let first = usize::from(rows.height).saturating_sub(below.len());
    for (line, row) in below.iter().enumerate() {
        row.draw(line_of(rows, first + line), buffer, model.theme);
    }
    let area = text_area(rows, workbench, (place, &fix_key));
    if place == Place::Context && workbench.inputs.is_shown() {
        return inputs::draw(model, area, &findings, buffer);
    }
    let draft = &workbench.editor(place).draft;
    let is_program = focused && place == Place::Program && draft.text().len() <= LONGEST_PROGRAM;
    let brackets = is_program.then(|| brackets_at(draft.text(), draft.cursor())).flatten();
    let looks = editor::Looks {
        language: place_language(place),
        findings: &findings,
        found: match model.popups.last() {
            Some(Popup::Find(find)) if find.place == place => &find.places,
            _ => brackets.as_ref().map_or(&[], |brackets| brackets),
        },
        focused,
        theme: model.theme,
        placeholder: placeholder(place),
    };
    editor::draw(workbench.editor(place), area, &looks, buffer)
}

/// The heading of an editor that is only its title: its name and how its text begins.
fn folded_heading(workbench: &Workbench, place: Place) -> String {
    let text = workbench.editor(place).draft.text();
    if place == Place::Tools && text.trim().is_empty() {
        return format!("{}  none (optional)", place_name(place));
    }
    let words: Vec<&str> = text.split_whitespace().take(FOLDED_COLUMNS).collect();
    let line = truncate(&SafeText::single_line(&words.join(" ")), FOLDED_COLUMNS).into_owned();
    format!("{}  {line}", place_name(place)).trim_end().to_owned()
}

/// Columns of a folded editor's text in its title.
const FOLDED_COLUMNS: usize = 44;

/// Maximum bytes of a program in which the form under the cursor is marked.
const LONGEST_PROGRAM: usize = 256 << 10;

fn placeholder(place: Place) -> &'static str {
    match place {
        Place::Prompt => "What should the agent do? {{name}} takes a value.",
        Place::Signature => "(text :string) -> {answer :string}",
        Place::Context => "{\"text\": \"…\"}",
        Place::Tools => {
            "Functions that the model may call; optional. Start with [tools.NAME] and kind = \"table\" for fixed answers or \"command\" for a program; kind = \"?\" lists all kinds."
        }
        Place::Program => "Optional: a program that replaces the model, such as (return {:answer data/text})",
        Place::Options => "mode = \"json\"",
    }
}

/// The mark in an editor's rule: what is wrong first, or what is right.
fn state(workbench: &Workbench, place: Place, findings: &[&Diagnostic], with_message: bool) -> Vec<Piece> {
    let Some(finding) = findings.first() else {
        let good = match place {
            _ if workbench.checked.is_none() => return vec![Piece::literal(Role::Dim, "…")],
            _ if workbench.editor(place).draft.text().trim().is_empty() => return Vec::new(),
            Place::Signature => {
                workbench.preview.fields.map_or_else(String::new, |count| plural(count as u64, "field"))
            }
            // Whether they fit is a question to a signature that can be read.
            Place::Prompt | Place::Context if broken(workbench, Place::Signature) => {
                return vec![Piece::literal(Role::Dim, "–")];
            }
            Place::Context => "fits".to_owned(),
            Place::Program => check::program(workbench.editor(place).draft.text()).state,
            Place::Prompt | Place::Tools | Place::Options => String::new(),
        };
        return vec![Piece::new(Role::Good, format!("✓ {good}").trim_end())];
    };
    let text = workbench.editor(place).draft.text();
    let mut what: Vec<String> = Vec::new();
    if let Some(span) = finding.span {
        let at = span.line_col(text);
        what.push(format!("line {}:{}", at.line, at.column));
    }
    if with_message {
        what.push(finding.message.clone());
    } else if findings.len() > 1 {
        what.push(format!("and {} more", findings.len() - 1));
    }
    if what.is_empty() && !with_message {
        let word = if finding.severity == Severity::Error { "error" } else { "warning" };
        what.push(word.to_owned());
    }
    vec![mark(finding), Piece::new(Role::Text, &what.join(" "))]
}

/// Returns whether a text has an error.
fn broken(workbench: &Workbench, place: Place) -> bool {
    workbench.findings(place).iter().any(|finding| finding.severity == Severity::Error)
}

fn draw_run(model: &Model, rule: Rect, rows: Rect, buffer: &mut Buffer) {
    let focused = model.workbench.focus == Pane::Run;
    if let Some(view) = &model.workbench.run {
        run::draw_rule(model, view, rule, focused, buffer);
        run::draw_rows(model, view, rows, buffer);
        return;
    }
    bars::rule(rule, "Run", focused, Vec::new(), buffer, model.theme);
    let key = |action| model.keymap.first_name(action);
    let preview = &model.workbench.preview;
    let with = if preview.model.is_empty() { String::new() } else { format!(" with {}", preview.model) };
    let runs = match &model.workbench.pipeline {
        Some(_) => "runs the steps one after the other; every turn appears here".to_owned(),
        None => format!("runs the draft{with}; every turn appears here"),
    };
    let mut lines = vec![
        (key(Action::Run), runs),
        (key(Action::Preview), "shows what would be sent".to_owned()),
        (key(Action::Sessions), "opens saved sessions".to_owned()),
        (key(Action::OpenAgent), "opens another agent, a pipeline or an example".to_owned()),
        (key(Action::NewAgent), "creates a new agent".to_owned()),
    ];
    if model.enabled(Action::ChooseModel).is_ok() {
        lines.push((key(Action::ChooseModel), "chooses another model".to_owned()));
    }
    bars::keys(&lines, 1, rows, buffer, model.theme);
}

fn draw_divider(model: &Model, divider: Rect, rule: Rect, buffer: &mut Buffer) {
    let style = model.theme.style(Role::Border);
    let divider = divider.intersection(buffer.area);
    for y in divider.top()..divider.bottom() {
        let joint = if y == divider.top() { "┬" } else { "│" };
        buffer.set_string(divider.x, y, joint, style);
    }
    if !rule.is_empty() && rule.y < buffer.area.bottom() {
        buffer.set_string(divider.x, rule.y, "┴", style);
    }
}
