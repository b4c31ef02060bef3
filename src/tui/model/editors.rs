//! The editors of the workbench: their places, names, languages, and the texts in them.

use ptc_core::reasons::Reason;

use super::{Model, Pane, Screen, Workbench};
use crate::agent::{Diagnostic, DraftTexts, Mode, Place, locate};
use crate::tui::actions::Action;
use crate::tui::colours::Language;
use crate::tui::editor::Editor;
use crate::tui::recovery::Recovery;

/// The places of the editors, from top to bottom.
pub const PLACES: [Place; 6] =
    [Place::Prompt, Place::Signature, Place::Context, Place::Tools, Place::Program, Place::Options];

/// The places of the drafts that a recovery file lists; the others came later and have keys of their own.
pub const RECOVERED: [Place; 4] = [Place::Prompt, Place::Signature, Place::Context, Place::Options];

/// The editor in which an agent opens: that of the options where they hold a file that is not TOML.
pub fn first_place(texts: &DraftTexts) -> Place {
    if texts.is_whole_file() { Place::Options } else { Place::Prompt }
}

/// The texts of the editors, in the order of [`PLACES`].
pub fn texts_of(texts: &DraftTexts) -> [&str; 6] {
    [&texts.prompt, &texts.signature, &texts.context, &texts.tools, &texts.program, &texts.options]
}

impl Workbench {
    /// The editor of a place.
    pub fn editor(&self, place: Place) -> &Editor {
        &self.editors[place as usize]
    }

    /// Like `editor`, mutable.
    pub fn editor_mut(&mut self, place: Place) -> &mut Editor {
        &mut self.editors[place as usize]
    }

    /// The texts.
    pub fn texts(&self) -> DraftTexts {
        let [prompt, signature, context, tools, program, options] =
            PLACES.map(|place| self.editor(place).draft.text().to_owned());
        DraftTexts { prompt, signature, context, tools, program, options }
    }

    /// The agent of the last run, where it is not the one that is open.
    pub fn other_agent(&self) -> Option<&str> {
        let agent = self.run.as_ref().map(|run| run.transcript.facts.agent.as_str()).filter(|name| !name.is_empty())?;
        let open = self.pipeline.as_ref().map_or(&self.preview.name, |(pipeline, _)| &pipeline.definition.name);
        (agent != open).then_some(agent)
    }

    /// The findings for which a run was refused, in the texts that they are about: where the editors already show errors, those with
    /// their fixes.
    pub fn placed(&self, mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let is_about_texts = findings.iter().all(|found| found.reason != Reason::RecorderFailed);
        if self.pipeline.is_some() || !is_about_texts {
            return findings;
        }
        if self.checked == Some(self.version()) && self.diagnostics.iter().any(Diagnostic::is_error) {
            return self.diagnostics.clone();
        }
        locate(&self.texts(), &mut findings);
        findings
    }

    /// Returns whether there are edits that no file contains.
    pub fn unsaved(&self) -> bool {
        !self.changed().is_empty()
    }

    /// The places whose texts differ from what was loaded or saved.
    pub fn changed(&self) -> Vec<Place> {
        let saved = PLACES.into_iter().zip(texts_of(&self.saved));
        saved.filter(|(place, saved)| self.editor(*place).draft.text() != *saved).map(|(place, _)| place).collect()
    }

    /// Returns whether an editor is folded to its rule: that of tools or program, when it is empty and has no focus.
    pub fn folded(&self, place: Place) -> bool {
        let blank = self.editor(place).draft.text().trim().is_empty();
        matches!(place, Place::Tools | Place::Program) && blank && self.focus != Pane::Editor(place)
    }

    /// Returns whether an editor is hidden: a folded one of the program, where no programs are run.
    pub fn hidden(&self, place: Place) -> bool {
        place == Place::Program && self.folded(place) && !self.preview.mode.starts_with(Mode::PtcLisp.name())
    }

    /// The editors that are there.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        PLACES.into_iter().filter(|place| !self.hidden(*place))
    }

    /// Returns the content of a recovery file.
    pub fn recovery(&self, now_ms: i64) -> Recovery {
        Recovery {
            id: String::new(),
            saved_ms: now_ms,
            file: self.file.clone(),
            folder: None,
            drafts: RECOVERED.map(|place| self.editor(place).draft.clone()),
            tools: self.editor(Place::Tools).draft.clone(),
            program: self.editor(Place::Program).draft.clone(),
            reply: None,
            is_saved: !self.unsaved(),
        }
    }
}

impl Model {
    /// Checks that an action on the draft, or one that replaces it, is possible now. Errors: why not.
    pub(super) fn enabled_for_draft(&self, action: Action) -> Result<(), &'static str> {
        let rule = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(reason) };
        let workbench = &self.workbench;
        match action {
            Action::OpenAgent | Action::NewAgent | Action::TakeAgent if workbench.running() => {
                Err("a run is in progress")
            }
            Action::TakeAgent if self.is_foreign() => Err("the session has no agent: another program ran it"),
            Action::TakeAgent => rule(self.sessions.subject().is_some(), self.sessions.missing()),
            Action::Preview => rule(
                self.screen == Screen::Workbench && self.inspector.is_none(),
                "only for the draft, in the workbench",
            ),
            Action::OpenAgent | Action::NewAgent => Ok(()),
            Action::InsertPrompt if self.screen != Screen::Workbench => {
                Err("only for the prompt editor, in the workbench")
            }
            _ if workbench.pipeline.is_some() => Err("a pipeline is edited in its file"),
            Action::Save => rule(
                workbench.unsaved() || workbench.file.is_none() || self.changed_file().is_some(),
                "there are no unsaved edits",
            ),
            Action::Mode(mode) => {
                let now = workbench.preview.mode.split(' ').next();
                rule(now != Some(mode.name()), "the draft already has this mode")
            }
            Action::InsertPrompt => {
                rule(workbench.texts().tools.contains("mcp"), "the draft has no tools of an MCP server")
            }
            Action::ChooseModel => rule(!workbench.preview.models.is_empty(), "the options cannot be read yet"),
            _ => Ok(()),
        }
    }
}

/// The name of an editor.
pub fn place_name(place: Place) -> &'static str {
    match place {
        Place::Prompt => "Prompt",
        Place::Signature => "Signature",
        Place::Context => "Inputs",
        Place::Tools => "Tools",
        Place::Program => "Program",
        Place::Options => "Options",
    }
}

/// Returns the language of an editor's text.
pub fn place_language(place: Place) -> Language {
    match place {
        Place::Prompt => Language::Template,
        Place::Signature => Language::Signature,
        Place::Context => Language::Json,
        Place::Tools | Place::Options => Language::Toml,
        Place::Program => Language::Lisp,
    }
}
