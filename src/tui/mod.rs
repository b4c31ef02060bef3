//! The full-screen workbench: model, update, views, transcript, drafts, keys, theme, terminal, pictures of screens.
//!
//! In: [`services::Services`] over a workbench, the terminal. Out: frames, and an exit code. State is one [`model::Model`]; `update` turns
//! a message into changes and effects, views draw the model, `drive` waits and calls the workbench. It must never call the engine.

pub mod actions;
pub mod archive;
pub mod candidates;
pub mod cases;
pub mod checks;
pub mod colours;
pub mod compare;
pub mod direction;
pub mod draft;
pub mod drive;
pub mod editor;
mod effects;
pub mod form;
mod forms;
pub mod found;
pub mod inspector;
pub mod keys;
pub mod limiter;
pub mod menu;
pub mod message;
pub mod model;
pub mod overview;
mod palette;
pub mod recovery;
pub mod row;
pub mod run_view;
pub mod scenes;
mod screenshot;
pub mod services;
pub mod sessions;
pub mod stage;
pub mod terminal;
pub mod theme;
pub mod traffic;
pub mod transcript;
pub mod unconfirmed_texts;
mod update;
mod view;
pub mod wrap;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;

pub use effects::FollowedProxy;
pub use screenshot::{ansi, picture, screenshot, session_screenshot};
pub use terminal::{Pointer, Signals};
pub use update::{start, update};
pub use view::{draw, layout};

use crate::config::{Config, process_env};
use crate::proxy::ProxySpec;
use crate::tool::NamedFile;
use crate::workbench::{RunEnding, SessionKey};

use archive::AgentSource;
use candidates::CandidatesRequest;
use drive::{Clock, Driver, Exit};
use keys::{KeyError, Keymap};
use message::Effect;
use model::{Model, Popup};
use services::Services;
use terminal::{Screen, TakeError};
use theme::{Level, Theme};
use traffic::ProxyPhase;

/// Options of the interface.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Looks of roles.
    pub theme: Theme,
    /// The themes that can be chosen, by name.
    pub themes: Vec<(String, Theme)>,
    /// Keys.
    pub keymap: Keymap,
    /// Owner of the mouse: the program or the terminal.
    pub pointer: Pointer,
    /// A session to open at once.
    pub session: Option<SessionKey>,
    /// The folder of a search for better texts to open at once.
    pub search: Option<PathBuf>,
    /// An agent to open once the user has allowed the file that it names.
    pub file: Option<(AgentSource, NamedFile)>,
}

impl Setup {
    /// The setup of a configuration: its keys, its theme with as many colours as the terminal has, none when `colours` is off
    /// or `NO_COLOR` is set. Themes of a user's own lie next to the configuration, or
    /// below `config_dir`.
    ///
    /// Errors: every conflict and unknown name among the keys, one a line after the name of the file; what is wrong with the theme's file.
    pub fn new(config: &Config, config_dir: &Path, colours: Colours) -> Result<Self, String> {
        let keys = config.keys.iter().map(|(action, chords)| (action.as_str(), chords.as_slice()));
        let keymap = Keymap::configured(keys).map_err(|errors| in_file(config, &errors))?;
        let level = match colours {
            Colours::On => Level::of(&process_env),
            Colours::Off => Level::None,
        };
        // A configuration of its own has its themes next to it.
        let nearby = config.file.as_deref().and_then(Path::parent).filter(|dir| *dir != config_dir);
        let own = nearby.map(|dir| theme::named(&config.interface.theme, dir)).and_then(Result::ok);
        let chosen = own.map_or_else(|| theme::named(&config.interface.theme, config_dir), Ok)?;
        let mut themes = nearby.map(theme::all).unwrap_or_default();
        for (name, theme) in theme::all(config_dir) {
            if !themes.iter().any(|(known, _)| *known == name) {
                themes.push((name, theme));
            }
        }
        let themes = themes.into_iter().map(|(name, theme)| (name, theme.at(level)));
        let themes = themes.filter(|_| level > Level::None).collect();
        let pointer = if config.interface.mouse { Pointer::Taken } else { Pointer::Left };
        Ok(Self { theme: chosen.at(level), themes, keymap, pointer, session: None, search: None, file: None })
    }
}

/// Errors of the keys, each after the file that contains it.
fn in_file(config: &Config, errors: &[KeyError]) -> String {
    let file = config.file.as_ref().map(|file| format!("{}: ", file.display())).unwrap_or_default();
    let lines: Vec<String> = errors.iter().map(|error| format!("{file}{error}")).collect();
    lines.join("\n")
}

/// Use of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Unless `NO_COLOR` is set.
    On,
    /// `--no-color`.
    Off,
}

/// The exit code when no folder took the session of a run.
const UNSAVED: u8 = 2;

/// Result of the workbench at exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuiExit {
    /// The exit code.
    pub code: u8,
    /// The session of a run that waits for an answer.
    pub waiting: Option<String>,
    /// Places of sessions that could not be written to their own files, and what is lost.
    pub notes: Vec<String>,
}

/// Shows the workbench, and the traffic of a proxy if there is one (with the signals that came since before it listened), until a user leaves or a signal comes.
///
/// Must be the outermost future of its runtime (`block_on`): the thread that polls it first is the interface's thread.
/// On any end other than leaving, a panic included, unsaved texts are kept for the next start.
pub async fn run(
    services: Arc<Services>,
    setup: Setup,
    proxy: Option<(ProxySpec, FollowedProxy, Signals)>,
) -> Result<TuiExit, TakeError> {
    let (proxy, signals) = proxy.map_or((None, None), |(spec, proxy, signals)| (Some((spec, proxy)), Some(signals)));
    let mut screen = Screen::take(setup.pointer, signals)?;
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let now_ms = i64::try_from(now_ms).unwrap_or_default();
    let mut model = Model::new(services.opened(), screen.size(), now_ms);
    model.theme = setup.theme;
    model.themes = setup.themes;
    model.keymap = setup.keymap;
    model.notify = services.workbench.config.interface.notify;
    model.turn_list = services.workbench.config.interface.turn_list;
    model.utc_offset_s = i64::from(jiff::Zoned::now().offset().seconds());
    let mut driver = Driver::new(services.clone(), Clock::starting_at(now_ms));
    let opens_session = setup.session.is_some() || setup.search.is_some() || proxy.is_some();
    if let Some((spec, proxy)) = proxy {
        model.traffic.spec = spec;
        model.traffic.phase = ProxyPhase::Listening(proxy.facts());
        model.screen = model::Screen::Traffic;
        driver.proxy = Some(proxy);
    }
    let first = match (setup.session, setup.search) {
        (Some(key), _) => {
            model.screen = model::Screen::Sessions;
            Some(Effect::Open(key))
        }
        (None, Some(dir)) => Some(Effect::Candidates(CandidatesRequest::Open(dir))),
        (None, None) => update::example_run(&model),
    };
    // The tour is about the workbench: it waits for a start there.
    if !opens_session && !recovery::is_tour_seen(&services.workbench.folders.state_dir) {
        model.popups.push(Popup::Tour(0));
    }
    if let Some((source, named)) = setup.file {
        update::ask_about_file(&mut model, source, named);
    }
    let result = AssertUnwindSafe(driver.run(&mut model, &mut screen, first)).catch_unwind().await;
    drop(screen);
    // What its sessions do not have yet is written.
    driver.end_proxy().await;
    if !matches!(result, Ok(Ok(Exit::Quit)))
        && let Some(recovery) = model.recovery()
        && let Err(error) = services.recovery().keep(&recovery)
    {
        tracing::error!(message = error.message, "unsaved texts could not be kept");
    }
    match result {
        Ok(exit) => {
            let run = model.workbench.run.filter(|run| run.waits);
            let mut code = exit?.code();
            let mut notes = Vec::new();
            for ending in driver.unsaved {
                match ending {
                    RunEnding::Elsewhere(text) => notes.push(text),
                    RunEnding::Unsaved(text) => {
                        notes.push(text);
                        code = code.max(UNSAVED);
                    }
                    _ => {}
                }
            }
            // A session in another folder is resumed by its path, which the notes name.
            let waiting = run.and_then(|run| run.session).filter(|_| notes.is_empty());
            Ok(TuiExit { code, waiting, notes })
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
