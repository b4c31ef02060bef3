//! Every scene of the program at the sizes that matter, and without colours. Look at each before accepting it.

use std::sync::LazyLock;

use ptc_workbench::config::Config;
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::scenes::{SCENES, scene};
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::tui::{ansi, picture};

use super::pictures::rows;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];
const PLAYED_AT: (u16, u16) = (120, 40);

/// The models of all scenes by name, played once.
pub(super) static PLAYED: LazyLock<Vec<(&'static str, Model)>> = LazyLock::new(|| {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = Config::built_in().unwrap();
    let play = |name| (name, runtime.block_on(scene(&config, name, PLAYED_AT)).unwrap());
    SCENES.iter().map(|scene| play(scene.name)).collect()
});

#[test]
fn every_scene_at_every_size_and_without_colours() {
    for (name, model) in PLAYED.iter() {
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
            insta::assert_snapshot!(*name, sizes.join("\n"));
            insta::assert_snapshot!(format!("{name}_plain"), plain.replace('\x1b', "␛"));
        });
    }
}

#[test]
fn a_scene_that_does_not_exist_names_the_nearest() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let error = runtime.block_on(scene(&Config::built_in().unwrap(), "matrx", PLAYED_AT)).unwrap_err();
    assert!(error.contains("did you mean matrix?") && error.contains("workbench"), "{error}");
}
