//! The palette's entries: every action by name, and where each is available.
//!
//! In: what is typed, the model. Out: entries, those of the screen first, and the way to each. It must never change the model.

use super::actions::{ACTIONS, Action, ActionRow, Context};
use super::candidates::Step as CandidateStep;
use super::compare::Step;
use super::draft::Reach;
use super::menu::is_motion;
use super::model::{Model, Pane, Screen};
use super::overview::TurnPrompt;

/// An entry of the palette.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// The action.
    pub(super) row: &'static ActionRow,
    /// The heading of the contexts in which it is available, if not here.
    pub(super) elsewhere: Option<&'static str>,
}

/// Way from the current context to one where an action is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is available in the current context.
    Here,
    /// It is about the session of the run that is shown.
    Shown,
    /// By closing the turn that lies over it.
    Below,
    /// By moving to a pane of the workbench.
    Pane(Pane),
    /// By this action, if any leads there.
    Opener(Option<Action>),
}

/// The entries for what is typed: the actions of the contexts below the popup, then those of other panes, then of other screens.
/// While nothing is typed, only those that are available here.
pub(super) fn entries(model: &Model, typed: &str) -> Vec<Entry> {
    let wanted = typed.to_lowercase();
    let mut found: Vec<((usize, usize), &ActionRow)> = ACTIONS
        .iter()
        .filter(|row| row.action != Action::Palette && !matches!(row.action, Action::Go(_, Reach::Move)))
        .filter_map(|row| {
            let distance = distance(model, row);
            let rank = rank(row, distance > 0, &wanted)?;
            // An action that is available here has its name of this context, whichever name was found.
            let named_here = if distance > 0 { here(model, row.action) } else { None };
            Some(named_here.map_or(((distance, rank), row), |row| ((0, rank), row)))
        })
        .filter(|((distance, _), _)| *distance == 0 || !wanted.is_empty())
        .collect();
    found.sort_by_key(|(order, _)| *order);
    let mut seen = Vec::new();
    found.retain(|(_, row)| {
        let new = !seen.contains(&row.action);
        seen.push(row.action);
        new
    });
    let entry = |((distance, _), row): ((usize, usize), &'static ActionRow)| Entry {
        row,
        elsewhere: (distance > 0).then(|| row.context.heading()),
    };
    found.into_iter().map(entry).collect()
}

/// The row of an action that is available here.
fn here(model: &Model, action: Action) -> Option<&'static ActionRow> {
    ACTIONS.iter().find(|row| row.action == action && distance(model, row) == 0)
}

/// Returns the rank of a match, the best first: in the title, in the id or the help, as letters in order. Actions of other contexts that
/// only move something are found by title or exact id alone.
fn rank(row: &ActionRow, elsewhere: bool, wanted: &str) -> Option<usize> {
    let title = row.title.to_lowercase();
    let mut letters = title.chars();
    if title.starts_with(wanted) {
        Some(0)
    } else if title.contains(wanted) {
        Some(1)
    } else if elsewhere && is_motion(row.action) {
        (row.id == wanted).then_some(2)
    } else if row.id.contains(wanted) || row.help.to_lowercase().contains(wanted) {
        Some(2)
    } else {
        wanted.chars().all(|c| letters.any(|letter| letter == c)).then_some(3)
    }
}

/// Returns the distance to the context of an action: 0 here, 1 on this screen, 2 elsewhere.
fn distance(model: &Model, row: &ActionRow) -> usize {
    match way(model, row) {
        Way::Here => 0,
        Way::Below => 1,
        Way::Pane(_) if model.screen == Screen::Workbench => 1,
        Way::Shown | Way::Pane(_) | Way::Opener(_) => 2,
    }
}

pub(super) fn way(model: &Model, row: &ActionRow) -> Way {
    use Context as C;
    let about_shown = matches!(row.action, Action::Session(action) if action.is_about_session());
    let pipeline = model.workbench.pipeline.is_some();
    match row.context {
        C::Global | C::Always => Way::Here,
        context if model.screen_contexts().contains(&context) => Way::Here,
        context if model.inspector.is_some() && model.page_contexts().contains(&context) => Way::Below,
        C::Editor | C::Lines | C::Text if !pipeline => Way::Pane(Pane::Editor(model.workbench.last_editor)),
        C::Steps if pipeline => Way::Pane(Pane::Steps),
        C::Transcript | C::Runs if model.workbench.run.is_some() => Way::Pane(Pane::Run),
        _ if about_shown && model.saved_subject().is_some() => Way::Shown,
        context => Way::Opener(opener(context)),
    }
}

/// The action that leads to a context.
pub(super) fn opener(context: Context) -> Option<Action> {
    use Context as C;
    match context {
        C::Sessions | C::Filter | C::Viewer | C::Playing => Some(Action::Sessions),
        C::Turns | C::BothRuns | C::Matrix => Some(Action::Compare),
        C::Matrices => Some(Action::Comparing(Step::Matrices)),
        C::Form | C::FormModes => Some(Action::Comparing(Step::NewMatrix)),
        C::Inspector => Some(Action::Inspect),
        C::Repl => Some(Action::Repl),
        C::Transcript | C::Runs | C::Answer => Some(Action::Run),
        C::Seek => Some(Action::Seek),
        C::Overview => Some(Action::Overview),
        C::Tests => Some(Action::Tests),
        C::Traffic => Some(Action::Traffic),
        C::Candidates => Some(Action::Candidates),
        C::Hunks => Some(Action::InCandidates(CandidateStep::Write)),
        C::TurnPrompt => Some(Action::AskTurn(TurnPrompt::Number)),
        C::Differs => Some(Action::Replay),
        C::Reading => Some(Action::Help),
        C::Preview => Some(Action::Preview),
        C::Menu => Some(Action::Menu),
        C::Find => Some(Action::Find),
        C::Fixes => Some(Action::Fix),
        C::Tour => Some(Action::Tour),
        C::SavePath | C::Overwrite => Some(Action::Save),
        C::Leaving => Some(Action::Quit),
        C::Global
        | C::Always
        | C::Editor
        | C::Lines
        | C::Text
        | C::Steps
        | C::Palette
        | C::Recovery
        | C::Dialog
        | C::Choice
        | C::ListChoice
        | C::OneLine => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::OpenAgent;

    #[test]
    fn every_action_is_found_by_its_name_from_every_screen() {
        let mut model = Model::new(OpenAgent::default(), (80, 24), 0);
        for screen in [Screen::Workbench, Screen::Sessions, Screen::Compare] {
            model.screen = screen;
            for row in ACTIONS.iter().filter(|row| row.action != Action::Palette) {
                let found = entries(&model, row.id).into_iter().any(|entry| entry.row.action == row.action);
                // Moving a cursor is not an action that one looks for.
                assert_eq!(found, !matches!(row.action, Action::Go(_, Reach::Move)), "{} on {screen:?}", row.id);
            }
        }
    }

    #[test]
    fn no_context_leads_back_to_the_same_context() {
        for (context, heading) in Context::ALL {
            assert!(opener(context).and_then(Action::row).is_none_or(|opener| opener.context != context), "{heading}");
        }
    }
}
