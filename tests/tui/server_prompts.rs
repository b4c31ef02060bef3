//! A prompt of an MCP server is inserted into the prompt editor: consent, the choice, its arguments, errors. No IO.

use ptc_workbench::agent::Place;
use ptc_workbench::event::Decision;
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane, Popup};
use ptc_workbench::workbench::{PromptArgument, PromptList, PromptQuery, PromptRequest, ServerPrompt};

use super::pictures::text;
use super::story::{apply_message, fresh};
use super::{press, write};

const SIZE: (u16, u16) = (100, 30);
const DEFINITION: &str = "the server files";

fn argument(name: &str, is_required: bool) -> PromptArgument {
    PromptArgument { name: name.to_owned(), is_required }
}

fn prompt(name: &str, arguments: Vec<PromptArgument>) -> ServerPrompt {
    ServerPrompt { server: "files".to_owned(), name: name.to_owned(), description: format!("About {name}"), arguments }
}

fn all() -> Vec<ServerPrompt> {
    vec![prompt("greet", Vec::new()), prompt("review", vec![argument("file", true), argument("prompt", false)])]
}

/// The draft has a tool of a server, and the dialog was opened from the palette.
fn opened() -> (Model, PromptQuery) {
    let mut model = fresh(SIZE);
    let tools = "[tools.look]\nkind = \"mcp\"\nserver = \"files\"\n";
    model.workbench.editor_mut(Place::Tools).draft.replace_all(tools);
    model.workbench.focus = Pane::Editor(Place::Signature);
    press(&mut model, "ctrl-p");
    write(&mut model, "mcp prompt");
    let effects = press(&mut model, "enter");
    let [Effect::Archive(ArchiveRequest::ListPrompts(query))] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(text(&mut model).contains("querying the servers"));
    let query = PromptQuery::clone(query);
    (model, query)
}

fn respond(model: &mut Model, response: ArchiveResponse) -> Vec<Effect> {
    apply_message(model, Msg::Archive(response))
}

fn listed(model: &mut Model, prompts: Vec<ServerPrompt>, failures: &[&str]) {
    let failures = failures.iter().map(|failure| (*failure).to_owned()).collect();
    respond(model, ArchiveResponse::PromptsListed(Ok(PromptList::Listed(prompts, failures))));
}

#[test]
fn a_draft_without_servers_has_no_prompts_to_insert() {
    let mut model = fresh(SIZE);
    press(&mut model, "ctrl-p");
    write(&mut model, "mcp prompt");
    assert!(text(&mut model).contains("the draft has no tools of an MCP server"));
}

#[test]
fn a_server_is_started_after_consent_only() {
    let undecided = || {
        let question = "May this server be used?\nserver     files".to_owned();
        ArchiveResponse::PromptsListed(Ok(PromptList::Undecided(DEFINITION.to_owned(), question)))
    };
    for (key, decision) in [("o", Decision::Once), ("a", Decision::Always), ("d", Decision::Deny)] {
        let (mut model, query) = opened();
        respond(&mut model, undecided());
        let later = model.now_ms + 1_000;
        apply_message(&mut model, Msg::Clock(later));
        let shown = text(&mut model);
        assert!(shown.contains("May this server be used?") && shown.contains("once: for this prompt"), "{shown}");
        let query = PromptQuery { decisions: vec![(DEFINITION.to_owned(), decision)], ..query };
        assert_eq!(press(&mut model, key), [Effect::Archive(ArchiveRequest::ListPrompts(Box::new(query)))]);
    }
    let (mut model, _) = opened();
    respond(&mut model, undecided());
    assert_eq!(press(&mut model, "esc"), []);
    assert!(model.popups.is_empty(), "the dialog closes with the question");
}

#[test]
fn the_text_of_a_prompt_goes_to_the_cursor_of_the_prompt_editor() {
    let (mut model, query) = opened();
    let draft = &mut model.workbench.editor_mut(Place::Prompt).draft;
    draft.replace_all("before after");
    draft.place(7, ptc_workbench::tui::draft::Reach::Move);
    listed(&mut model, all(), &["other: refused"]);
    let shown = text(&mut model);
    assert!(
        shown.contains("greet") && shown.contains("files: About greet") && shown.contains("other: refused"),
        "{shown}"
    );
    press(&mut model, "right");
    assert!(text(&mut model).contains("file"), "the arguments of the chosen prompt are fields");
    assert_eq!(press(&mut model, "ctrl-enter"), []);
    assert!(text(&mut model).contains("the argument `file` is missing"));
    // What is written next is that argument.
    write(&mut model, "main.rs");
    let arguments = vec![("file".to_owned(), "main.rs".to_owned())];
    let fill =
        ArchiveRequest::FillPrompt(Box::new(PromptRequest { texts: query.texts, prompt: all()[1].clone(), arguments }));
    assert_eq!(press(&mut model, "ctrl-enter"), [Effect::Archive(fill)]);
    respond(&mut model, ArchiveResponse::PromptFilled(Ok("Review main.rs ".to_owned())));
    assert!(model.popups.is_empty() && model.workbench.focus == Pane::Editor(Place::Prompt));
    assert_eq!(model.workbench.editor(Place::Prompt).draft.text(), "before Review main.rs after");
    press(&mut model, "ctrl-u");
    assert_eq!(model.workbench.editor(Place::Prompt).draft.text(), "before after");
}

#[test]
fn errors_stay_in_the_dialog() {
    let (mut model, _) = opened();
    listed(&mut model, Vec::new(), &["files: the server has no prompts"]);
    let shown = text(&mut model);
    assert!(shown.contains("list no prompts") && shown.contains("files: the server has no prompts"), "{shown}");
    let (mut model, _) = opened();
    listed(&mut model, all(), &[]);
    press(&mut model, "ctrl-enter");
    respond(&mut model, ArchiveResponse::PromptFilled(Err("the server files ended".to_owned())));
    assert!(text(&mut model).contains("the server files ended"));
    press(&mut model, "esc");
    respond(&mut model, ArchiveResponse::PromptFilled(Ok("late".to_owned())));
    assert!(!model.workbench.editor(Place::Prompt).draft.text().contains("late"));
    let (mut model, _) = opened();
    respond(&mut model, ArchiveResponse::PromptsListed(Err("the draft cannot be read: x".to_owned())));
    assert!(text(&mut model).contains("the draft cannot be read"));
    assert!(matches!(model.popups.last(), Some(Popup::Form(..))));
}

#[test]
fn arguments_are_kept_for_their_prompt_when_another_one_is_chosen_and_when_the_dialog_closes() {
    let (mut model, _) = opened();
    listed(&mut model, all(), &[]);
    press(&mut model, "right");
    press(&mut model, "tab");
    write(&mut model, "main.rs");
    press(&mut model, "backtab");
    press(&mut model, "left");
    press(&mut model, "right");
    let file = |model: &Model| match model.popups.last() {
        Some(Popup::Form(form, _)) => form.written("file").to_owned(),
        _ => panic!("no dialog"),
    };
    assert_eq!(file(&model), "main.rs");
    press(&mut model, "esc");
    press(&mut model, "ctrl-p");
    write(&mut model, "mcp prompt");
    press(&mut model, "enter");
    listed(&mut model, all(), &[]);
    assert_eq!(file(&model), "main.rs", "the prompt is chosen again");
}
