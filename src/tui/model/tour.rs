//! The first-run tour: six steps, each with the keys that it speaks of.

use crate::tui::actions::Action;
use crate::tui::sessions::SessionAction;

/// A step of the tour.
#[derive(Debug, Clone, Copy)]
pub struct TourStep {
    /// Its heading.
    pub title: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The actions whose keys it shows.
    pub actions: &'static [Action],
}

/// The steps, in their order.
pub const TOUR: [TourStep; 6] = [
    TourStep {
        title: "An agent is a few texts",
        text: "Prompt, signature, inputs, tools and options have an editor each. {{name}} in the prompt takes an input; the signature \
               declares the inputs and the fields of the answer.",
        actions: &[Action::FocusNext, Action::Save],
    },
    TourStep {
        title: "They are checked while you type",
        text: "What does not fit is marked at its place, with the reason below the text. Many findings have a correction that one key \
               makes, and undo takes back.",
        actions: &[Action::Fix, Action::Undo, Action::Preview],
    },
    TourStep {
        title: "Run it",
        text: "Every turn becomes a card: what was sent, the reply as it comes, what was wrong with it, what went back to the \
               model. The model demo needs no key and no network.",
        actions: &[Action::Run, Action::ChooseModel, Action::Workbench, Action::Inspect],
    },
    TourStep {
        title: "Nothing is lost",
        text: "Every run is a session: open it, replay it without a model, resume it, or start again from any of its turns. Marked ones \
               are shown side by side.",
        actions: &[Action::Sessions, Action::OpenSession, Action::Replay, Action::Session(SessionAction::Mark)],
    },
    TourStep {
        title: "Every action has a name",
        text: "The palette finds actions by name and shows why one cannot be done now. The help lists every key; keys are changed \
               in config.toml. A click on the first line opens a menu, the right button one for its place.",
        actions: &[Action::Palette, Action::Help],
    },
    TourStep {
        title: "Make it yours",
        text: "Themes for dark and light screens, or one of your own from a file; `mouse = false` in [interface] of config.toml leaves the \
               mouse to the terminal. The tour is in \
               the palette whenever you want it again.",
        actions: &[Action::NextTheme, Action::Tour, Action::Quit],
    },
];
