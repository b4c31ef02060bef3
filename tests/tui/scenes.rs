//! Every scene of the program, and what no scene reaches, at the sizes that matter and without colours. Look at each before accepting it.

use std::sync::LazyLock;

use ptc_workbench::config::Config;
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::scenes::{SCENES, scene};
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::tui::{ansi, picture, screenshot};

use super::pictures::rows;
use super::states::STATES;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];
const PLAYED_AT: (u16, u16) = (120, 40);

/// The models of all scenes by name, played once.
static PLAYED: LazyLock<Vec<(&'static str, Model)>> = LazyLock::new(|| {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = Config::built_in().unwrap();
    let play = |name| (name, runtime.block_on(scene(&config, name, PLAYED_AT)).unwrap());
    SCENES.iter().map(|scene| play(scene.name)).collect()
});

/// Every screen and state by name.
pub(super) fn every_state() -> Vec<(&'static str, Model)> {
    PLAYED.iter().cloned().chain(STATES.iter().map(|(name, state)| (*name, state()))).collect()
}

/// The rows of a scene at the size of the pictures; `None` when there is no such scene.
pub(crate) fn shown(name: &str) -> Option<String> {
    played(name).map(|mut model| rows(&mut model))
}

/// A scene as `ptc-workbench screenshot` draws it; `None` when there is no such scene.
pub(crate) fn drawn(name: &str) -> Option<String> {
    played(name).map(|mut model| screenshot(&mut model, PLAYED_AT))
}

fn played(name: &str) -> Option<Model> {
    PLAYED.iter().find(|(known, _)| *known == name).map(|(_, model)| model.clone())
}

#[test]
fn every_screen_and_state_at_every_size_and_without_colours() {
    for (name, model) in every_state() {
        let drawn = |size: &(u16, u16)| {
            let mut model = model.clone();
            model.size = *size;
            picture(&mut model, *size);
            format!("{} × {}\n{}", size.0, size.1, rows(&mut model))
        };
        let sizes: Vec<String> = SIZES.iter().map(drawn).collect();
        let mut plain = model.clone();
        plain.theme = Theme::plain();
        let plain = ansi(&picture(&mut plain, SIZES[0]));
        assert!(!plain.contains(";3") && !plain.contains(";9"), "{name}: a colour is left");
        insta::with_settings!({ snapshot_path => "scenes", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, sizes.join("\n"));
            insta::assert_snapshot!(format!("{name}_plain"), plain.replace('\x1b', "␛"));
        });
    }
}

#[test]
fn a_scene_that_does_not_exist_names_the_nearest() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let error = runtime.block_on(scene(&Config::built_in().unwrap(), "matrx", PLAYED_AT)).unwrap_err();
    assert!(error.contains("did you mean `matrix`?") && error.contains("workbench"), "{error}");
}
