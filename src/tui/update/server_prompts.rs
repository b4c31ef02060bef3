//! A prompt of an MCP server for the prompt editor: consent for the servers, the dialog, the text that is inserted.

use super::response;
use crate::agent::Place;
use crate::event::{Address, Decision};
use crate::port::Question;
use crate::tool::FILE_DECISIONS;
use crate::tui::form::Form;
use crate::tui::message::Effect;
use crate::tui::model::{Asker, Model, Pane, Popup, Screen, Tone};
use crate::tui::sessions::Purpose;
use crate::tui::sessions::prompts::Prompts;
use crate::workbench::PromptList;
use crate::workbench::format::size;

/// Asks the servers of the draft for their prompts.
pub(super) fn ask(model: &mut Model) -> Vec<Effect> {
    let dialog = Prompts::open(model.workbench.texts());
    super::dialog::open(model, dialog)
}

/// The open dialog.
fn dialog(model: &mut Model) -> Option<(&mut Form, &mut Prompts)> {
    model.popups.iter_mut().rev().find_map(|popup| match popup {
        Popup::Form(form, Purpose::Prompts(prompts)) => Some((&mut **form, &mut **prompts)),
        _ => None,
    })
}

/// Shows the prompts of the servers, or asks for consent to one of them.
pub(super) fn listed(model: &mut Model, result: Result<PromptList, String>) -> Vec<Effect> {
    let Some((form, prompts)) = dialog(model) else { return Vec::new() };
    match result {
        Err(message) => form.fail(message),
        Ok(PromptList::Listed(all, failures)) => prompts.listed(form, all, &failures),
        Ok(PromptList::Undecided(definition, text)) => {
            let options = FILE_DECISIONS.iter().map(|decision| decision.name().to_owned()).collect();
            let question = Question { address: Address::run(0).question(0), text, options, gate: None };
            model.asked_ms = model.now_ms;
            let asker = Asker::Prompts(definition);
            model.popups.push(Popup::Answer {
                question,
                asker,
                top: 0,
                read: 0,
                end_seen: false,
                editor: Box::default(),
            });
        }
    }
    Vec::new()
}

/// The user has decided about a server.
pub(super) fn decided(model: &mut Model, definition: String, decision: Decision) -> Vec<Effect> {
    let request = dialog(model).map(|(_, prompts)| prompts.decided(definition, decision));
    request.map(Effect::Archive).into_iter().collect()
}

/// The question about a server was closed: nothing is inserted.
pub(super) fn put_aside(model: &mut Model) {
    super::unconfirmed_texts::close_where(model, |popup| matches!(popup, Popup::Form(_, Purpose::Prompts(_))));
    model.show_toast(Tone::Info, "nothing was inserted: the server was not started");
}

/// A prompt was filled in, or not: its text goes to the cursor of the prompt editor.
pub(super) fn filled(model: &mut Model, result: Result<String, String>) -> Vec<Effect> {
    let inserts_prompt = |purpose: &Purpose| matches!(purpose, Purpose::Prompts(_));
    match result {
        // The dialog was closed before, or is another one: nothing is inserted.
        _ if response::awaiting(model, inserts_prompt).is_none() => model.unconfirmed_texts.refuse(inserts_prompt),
        Ok(text) => {
            response::confirm(model, inserts_prompt);
            model.screen = Screen::Workbench;
            model.workbench.focus = Pane::Editor(Place::Prompt);
            model.workbench.edited_mut(Place::Prompt).draft.paste(&text);
            model.show_toast(Tone::Good, format!("inserted {} at the cursor of the prompt", size(text.len() as u64)));
        }
        Err(message) => response::refuse(model, inserts_prompt, "", message),
    }
    Vec::new()
}
