//! Scenes: every screen as it looks in use, for pictures, documentation and tests.
//!
//! In: a name of the table, a size. Out: the model in that state. The example agents and sessions and the files in `assets/scenes` are all
//! that is shown; keys are pressed on the real interface over a workbench in a folder of its own, so that a scene shows what the
//! program does. Times are those of the recordings: the same program gives the same picture. It must never touch a user's files.

mod folder;
mod player;
mod search;
mod table;
mod traffic;

use crate::agent::Mode;
use crate::config::Config;
use crate::tui::model::Model;

#[cfg(test)]
pub(super) use player::Easel;
pub use table::SCENES;

/// A screen in some state.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Its name: letters and hyphens.
    pub name: &'static str,
    /// Short description of the screen.
    pub about: &'static str,
    /// Agent or pipeline with which the workbench is opened.
    opens: Opens,
    /// Steps that lead to the screen, in order.
    steps: &'static [Step],
}

/// Agent or pipeline with which the workbench is opened, with its mode and model.
#[derive(Debug, Clone, Copy)]
struct Opens {
    /// An example agent or pipeline, or an agent of `assets/scenes`.
    name: &'static str,
    /// Another mode.
    mode: Option<Mode>,
    /// Another model.
    model: Option<&'static str>,
}

/// Something that is done in a scene.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Keys are pressed, one after the other; everything that they lead to is waited for.
    Keys(&'static [&'static str]),
    /// A text is typed.
    Type(&'static str),
    /// So many ms pass.
    Rest(i64),
    /// The draft has run: what is shown is its recording.
    Ran,
    /// A recorded run is shown before the first run.
    ExampleRun,
    /// A run on a picture was saved before.
    FileRun,
    /// It is running: the recording up to its first reply, of which this many parts have arrived.
    Streams(usize),
    /// It is running: the recording up to the first event of this kind, included.
    Until(&'static str),
    /// It was run and waits at the first question to a user.
    Asked,
    /// The topmost session of this agent and mode is selected in the list.
    Choose(&'static str, &'static str),
    /// The topmost one of this mode by this model, likewise.
    ChooseBy(&'static str, &'static str),
    /// The opened session was replayed without a difference.
    Replayed,
    /// Programs have asked models through the proxy.
    Traffic,
    /// A request of one of them waits.
    Held,
    /// The candidates of a search for better texts are shown.
    Searched,
    /// The selected one is about to be written into the agent file.
    Compared,
    /// The cases of the draft have run: the last one with this mismatch, the others as expected.
    Tested(&'static str, &'static str),
}

/// The model of a scene at a size in columns and rows. Must be called inside of a runtime.
///
/// Errors: there is no such scene (names the known ones), or it could not be set up.
pub async fn scene(config: &Config, name: &str, size: (u16, u16)) -> Result<Model, String> {
    let scene = SCENES.iter().find(|scene| scene.name == name).ok_or_else(|| {
        let names: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
        let near = ptc_core::text::did_you_mean(name, names.iter().copied());
        format!("unknown screen {name:?}{near}; known: {}", names.join(", "))
    })?;
    Box::pin(player::play(config, scene, size)).await.map_err(|error| format!("{name}: {error}"))
}
