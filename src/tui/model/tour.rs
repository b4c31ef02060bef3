//! The first-run tour: six steps, each with the keys that it mentions.

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
        text: "Prompt, signature, inputs, tools and options each have an editor. {{name}} in the prompt inserts an input; \
               the signature declares the inputs and the fields of the answer.",
        actions: &[Action::FocusNext, Action::Save],
    },
    TourStep {
        title: "Texts are checked while you type",
        text: "Errors are marked where they are, with the reason below the text. Many can be corrected with one key; undo reverts \
               the correction.",
        actions: &[Action::Fix, Action::Undo, Action::Preview],
    },
    TourStep {
        title: "Run it",
        text: "Every turn is a card: the request, the reply as it streams in, its errors, and the feedback to the model. The model \
               `demo` needs no key and no network.",
        actions: &[Action::Run, Action::ChooseModel, Action::Workbench, Action::Inspect],
    },
    TourStep {
        title: "Nothing is lost",
        text: "Every run is saved as a session: open it, replay it without a model, resume it, or fork it at any turn. Mark sessions to \
               compare them side by side.",
        actions: &[Action::Sessions, Action::OpenSession, Action::Replay, Action::Session(SessionAction::Mark)],
    },
    TourStep {
        title: "Every action has a name",
        text: "The palette finds actions by name and shows why one is unavailable. The help lists every key; config.toml changes \
               them. A click on the top line opens a menu; a right click opens a context menu.",
        actions: &[Action::Palette, Action::Help],
    },
    TourStep {
        title: "Make it yours",
        text: "There are themes for dark and light terminals, and a theme file can define your own; `mouse = false` in [interface] of config.toml \
               leaves the mouse to the terminal. The palette shows this tour again.",
        actions: &[Action::NextTheme, Action::Tour, Action::Quit],
    },
];
