//! The dialog that inserts a prompt of an MCP server: which one, and its arguments.
//!
//! In: the prompts that the servers of the draft list, what the user chose and wrote. Out: the request that fills one in, or why there is
//! none.

use crate::agent::DraftTexts;
use crate::event::Decision;
use crate::tui::archive::ArchiveRequest;
use crate::tui::form::{Choice, Field, Form, Input};
use crate::tui::theme::Role;
use crate::workbench::{PromptArgument, PromptQuery, PromptRequest, ServerPrompt};

use super::{Dialog, Purpose};

/// The choice of the prompt, the first field.
const PROMPT: &str = "prompt";

/// The state of the dialog.
#[derive(Debug, Clone)]
pub struct Prompts {
    /// The draft, and what was decided about its servers.
    pub query: PromptQuery,
    all: Vec<ServerPrompt>,
}

impl Prompts {
    /// The dialog before the servers were asked.
    pub fn open(texts: DraftTexts) -> Dialog {
        let query = PromptQuery { texts, decisions: Vec::new() };
        let waiting = Some("querying the servers …");
        let form = Form { title: "Insert an MCP prompt".to_owned(), verb: "insert", waiting, ..Form::default() };
        let requests = vec![ArchiveRequest::ListPrompts(Box::new(query.clone()))];
        Dialog { form, purpose: Purpose::Prompts(Box::new(Self { query, all: Vec::new() })), requests }
    }

    /// The user has decided about a server: asks again.
    pub fn decided(&mut self, definition: String, decision: Decision) -> ArchiveRequest {
        self.query.decisions.push((definition, decision));
        ArchiveRequest::ListPrompts(Box::new(self.query.clone()))
    }

    /// Shows the listed prompts.
    pub fn listed(&mut self, form: &mut Form, prompts: Vec<ServerPrompt>, failures: &[String]) {
        form.waiting = None;
        form.notes = failures.iter().map(|failure| (Role::Warn, format!("! {failure}"))).collect();
        if prompts.is_empty() {
            form.fail("the servers of the draft's tools list no prompts");
            return;
        }
        let choice = |prompt: &ServerPrompt| {
            let about = if prompt.description.is_empty() { "no description" } else { &prompt.description };
            Choice::new(&prompt.name, format!("{}: {about}", prompt.server))
        };
        let options = prompts.iter().map(choice).collect();
        form.put(Field::choice(PROMPT, "Prompt to insert at the cursor of the prompt editor.", options, 0));
        self.all = prompts;
        self.changed(form);
    }

    /// Shows the arguments of the chosen prompt.
    pub fn changed(&self, form: &mut Form) {
        let Some(prompt) = self.all.get(form.chosen(PROMPT)) else { return };
        // What is written for an argument is for this server and prompt only.
        let key = |argument: &PromptArgument| format!("{}/{}/{}", prompt.server, prompt.name, argument.name);
        if form.fields.iter().skip(1).map(|field| field.key.to_string()).eq(prompt.arguments.iter().map(key)) {
            return;
        }
        form.truncate(1);
        form.focus = 0;
        for argument in &prompt.arguments {
            let hint = if argument.is_required {
                "An argument of the prompt."
            } else {
                "An argument of the prompt; optional."
            };
            form.add(Field::line(argument.name.clone(), hint, "").keyed(key(argument)));
        }
    }

    /// The arguments of a prompt and what is written for them.
    fn written<'a>(prompt: &'a ServerPrompt, form: &'a Form) -> Vec<(&'a PromptArgument, &'a str)> {
        let written = form.fields.iter().skip(1).map(|field| match &field.input {
            Input::Line(draft) => draft.text(),
            Input::Choice { .. } | Input::Text(..) => "",
        });
        prompt.arguments.iter().zip(written).collect()
    }

    /// The field of the first required argument that is missing.
    pub fn missing_field(&self, form: &Form) -> Option<usize> {
        let prompt = self.all.get(form.chosen(PROMPT))?;
        let is_missing = |(argument, text): (&PromptArgument, &str)| argument.is_required && text.trim().is_empty();
        Self::written(prompt, form).into_iter().position(is_missing).map(|place| place + 1)
    }

    /// The request that fills in the chosen prompt.
    ///
    /// Errors: a required argument is missing.
    pub fn submit(&self, form: &Form) -> Result<ArchiveRequest, String> {
        let prompt = self.all.get(form.chosen(PROMPT)).ok_or("no prompt to insert")?;
        if let Some(field) = self.missing_field(form).and_then(|place| form.fields.get(place)) {
            return Err(format!("the argument `{}` is missing", field.name));
        }
        let pairs = Self::written(prompt, form);
        let given = pairs.iter().filter(|(_, text)| !text.is_empty());
        let arguments = given.map(|(argument, text)| (argument.name.clone(), (*text).to_owned())).collect();
        let (texts, prompt) = (self.query.texts.clone(), prompt.clone());
        Ok(ArchiveRequest::FillPrompt(Box::new(PromptRequest { texts, prompt, arguments })))
    }
}
