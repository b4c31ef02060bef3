//! What would be sent first, held against what the other modes would send.

use crate::agent::{Mode, set_option};
use crate::tui::message::Effect;
use crate::tui::model::{Against, Model, Popup};
use crate::workbench::Held;

/// Holds what would be sent against what the next mode would send; behind the last mode, shows it whole.
pub(super) fn against(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Preview { against, top }) = model.popups.last_mut() else { return Vec::new() };
    let own = model.workbench.preview.mode.split(' ').next().and_then(Mode::from_name);
    let next =
        against.as_ref().map_or(0, |held| Mode::ALL.iter().position(|mode| *mode == held.mode).map_or(0, |at| at + 1));
    let mode = Mode::ALL.into_iter().skip(next).find(|mode| Some(*mode) != own);
    *top = 0;
    *against = mode.map(|mode| Against { mode, held: None });
    let Some(mode) = mode else { return Vec::new() };
    let mut texts = model.workbench.texts();
    match set_option(&texts.options, "mode", mode.name(), String::new()) {
        Some(change) => texts.options.replace_range(change.span.start..change.span.end, &change.text),
        None => return held(model, mode, Err("the options are not TOML: correct them first".to_owned())),
    }
    vec![Effect::Hold(mode, Box::new(texts), model.workbench.preview.sent.clone())]
}

/// It was held against what that mode would send, or that mode would send nothing.
pub(super) fn held(model: &mut Model, mode: Mode, result: Result<Vec<Held>, String>) -> Vec<Effect> {
    // The help may have been opened over it meanwhile.
    let asked = model.popups.iter_mut().find_map(|popup| match popup {
        Popup::Preview { against: Some(against), .. } => Some(against).filter(|against| against.mode == mode),
        _ => None,
    });
    if let Some(against) = asked {
        against.held = Some(result);
    }
    Vec::new()
}
