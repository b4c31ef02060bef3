//! A new agent in six presses, inputs as fields, corrections at the cursor.

use std::path::PathBuf;

use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_workbench::agent::{Diagnostic, DraftTexts, Fix, Mode, Place};
use ptc_workbench::tui::archive::{AgentSource, ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Pane};
use ptc_workbench::workbench::{AgentFile, NewAgent, OpenAgent};

use super::pictures::text;
use super::story::{apply_message, fresh, sentiment};
use super::{press, write};

const WIDE: (u16, u16) = (140, 40);

fn archive(model: &mut Model, response: ArchiveResponse) -> Vec<Effect> {
    apply_message(model, Msg::Archive(response))
}

fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    apply_message(model, Msg::Paste(text.to_owned()))
}

fn context(model: &Model) -> String {
    model.workbench.texts().context
}

fn toast(model: &Model) -> &str {
    model.toast.as_ref().map_or("", |toast| toast.text.as_str())
}

/// A model with this signature and context.
fn with(signature: &str, context: &str) -> Model {
    let texts = DraftTexts { signature: signature.to_owned(), context: context.to_owned(), ..sentiment() };
    Model::new(OpenAgent { texts, ..OpenAgent::default() }, WIDE, 0)
}

#[test]
fn a_new_agent_runs_on_a_pasted_text_after_six_presses_in_addition_to_the_typing() {
    let mut model = fresh(WIDE);
    let mut presses = 0;
    let mut key = |model: &mut Model, chord: &str| {
        presses += 1;
        press(model, chord)
    };
    key(&mut model, "ctrl-n");
    write(&mut model, "invoice");
    let source = AgentSource::New(NewAgent::at("invoice"));
    assert_eq!(key(&mut model, "enter"), [Effect::Archive(ArchiveRequest::OpenAgent(source.clone()))]);
    let texts = DraftTexts {
        context: "{}".to_owned(),
        options: "mode = \"json\"\nmodel = \"sample\"\n".to_owned(),
        ..DraftTexts::default()
    };
    let file = Some(AgentFile { path: "invoice.toml".into(), sha: String::new() });
    let opened = OpenAgent { texts, file, ..OpenAgent::default() };
    archive(&mut model, ArchiveResponse::AgentOpened(source, Ok(Box::new(opened))));
    write(&mut model, "Read {{text}}");
    key(&mut model, "tab");
    write(&mut model, "(text :string) -> {total :float}");
    key(&mut model, "tab");
    let pasted = "Invoice \"7\"\n\ttotal: 5 €\\n";
    paste(&mut model, pasted);
    let effects = key(&mut model, "f5");
    let [Effect::Start(started)] = effects.as_slice() else { panic!("{effects:?}") };
    let agent = started.to_agent(&ptc_workbench::agent::Agent::default()).unwrap();
    assert_eq!(agent.context.members().unwrap()[0].value.as_str(), Some(pasted));
    assert!(presses <= 6, "{presses} presses");
}

#[test]
fn a_path_that_exists_is_refused_where_it_was_written() {
    let mut model = fresh(WIDE);
    press(&mut model, "ctrl-n");
    write(&mut model, "a");
    press(&mut model, "enter");
    let error = ptc_workbench::event::ErrorRecord { message: "a.toml already exists".to_owned(), ..Default::default() };
    archive(&mut model, ArchiveResponse::AgentOpened(AgentSource::New(NewAgent::at("a")), Err(error)));
    assert!(text(&mut model).contains("a.toml already exists"));
    press(&mut model, "tab");
    press(&mut model, "right");
    press(&mut model, "tab");
    press(&mut model, "right");
    let effects = press(&mut model, "f5");
    let new = NewAgent { mode: Some(Mode::ALL[0]), from: Some("sentiment".to_owned()), ..NewAgent::at("a") };
    assert_eq!(effects, [Effect::Archive(ArchiveRequest::OpenAgent(AgentSource::New(new)))]);
}

#[test]
fn inputs_are_fields_of_the_signature_in_its_order() {
    let mut model = with("(text :string, n :int, tags [:string]) -> :int", "{}");
    press(&mut model, "alt-g");
    press(&mut model, "c");
    write(&mut model, "a \"b\"");
    press(&mut model, "tab");
    write(&mut model, "12");
    press(&mut model, "tab");
    write(&mut model, "red");
    press(&mut model, "enter");
    write(&mut model, "green");
    let json = ptc_core::value::json::parse(&context(&model)).unwrap();
    assert_eq!(json.to_text(), "{\"text\":\"a \\\"b\\\"\",\"n\":12,\"tags\":[\"red\",\"green\"]}");
    press(&mut model, "tab");
    assert_eq!(model.workbench.focus, Pane::Editor(Place::Tools), "after the last field comes the next editor");
    press(&mut model, "backtab");
    assert_eq!((model.workbench.focus, model.workbench.inputs.focus), (Pane::Editor(Place::Context), 2));
}

#[test]
fn a_text_that_is_no_number_stays_as_it_was_typed_in_every_view() {
    let mut model = with("(n :int, o {a :int}) -> :int", "{\"n\": 5, \"more\": [1]}");
    press(&mut model, "alt-g");
    press(&mut model, "c");
    press(&mut model, "end");
    write(&mut model, "x");
    assert_eq!(ptc_core::value::json::parse(&context(&model)).unwrap().to_text(), "{\"n\":\"5x\",\"more\":[1]}");
    press(&mut model, "alt-j");
    assert!(!model.workbench.inputs.is_shown());
    press(&mut model, "alt-j");
    let shown: Vec<(&str, &str)> =
        model.workbench.inputs.fields.iter().map(|field| (field.name.as_str(), field.editor.draft.text())).collect();
    assert_eq!((shown[0], shown[1]), (("n", "5x"), ("o", "")));
    assert_eq!(shown[2].0, "more", "a member that is not a parameter has a field too");
    press(&mut model, "backspace");
    press(&mut model, "ctrl-u");
    press(&mut model, "ctrl-u");
}

#[test]
fn undo_in_a_field_takes_back_what_was_typed_there() {
    let mut model = with("(text :string) -> :int", "{\"text\": \"old\"}");
    press(&mut model, "alt-g");
    press(&mut model, "c");
    press(&mut model, "end");
    paste(&mut model, " new");
    assert!(context(&model).contains("old new"));
    press(&mut model, "ctrl-u");
    assert!(context(&model).contains("\"old\""), "{}", context(&model));
}

#[test]
fn a_pasted_text_becomes_the_value_of_a_parameter_and_undo_brings_it_back() {
    let pasted = "Dear \"team\",\n\ttotal 5\n";
    let mut model = with("(text :string) -> :int", pasted);
    assert!(!model.workbench.inputs.is_shown(), "what is not JSON is shown as it is");
    press(&mut model, "alt-g");
    press(&mut model, "c");
    let texts = model.workbench.texts();
    let findings = ptc_workbench::agent::diagnose(&texts);
    let version = model.workbench.version();
    apply_message(&mut model, Msg::Checked(version, findings, Box::default()));
    press(&mut model, "f8");
    assert!(toast(&model).contains("use as the value of `text`"), "{}", toast(&model));
    let json = ptc_core::value::json::parse(&context(&model)).unwrap();
    assert_eq!(json.members().unwrap()[0].value.as_str(), Some(pasted));
    assert_eq!(model.workbench.inputs.fields[0].editor.draft.text(), pasted);
    press(&mut model, "ctrl-u");
    assert_eq!(context(&model), pasted);
}

#[test]
fn a_file_is_inserted_where_one_types() {
    let mut model = with("(text :string) -> :int", "{}");
    press(&mut model, "alt-g");
    press(&mut model, "c");
    press(&mut model, "alt-i");
    write(&mut model, "letter.txt");
    let read = ArchiveRequest::ReadFile(PathBuf::from("letter.txt"));
    assert_eq!(press(&mut model, "enter"), [Effect::Archive(read)]);
    archive(&mut model, ArchiveResponse::FileRead(Ok("from a \"file\"\n".to_owned())));
    assert!(model.popups.is_empty());
    assert_eq!(model.workbench.inputs.fields[0].editor.draft.text(), "from a \"file\"\n");
}

fn finding(place: Place, at: (usize, usize), fixed: Option<&str>) -> Diagnostic {
    let span = Span::new(at.0, at.1);
    let fix = |text: &str| Fix { title: format!("write {text}"), place, span, text: text.to_owned() };
    let found = Diagnostic::error(place, Reason::InvalidAgent, format!("wrong at {}", at.0)).at(span);
    Diagnostic { fixes: fixed.map(fix).into_iter().collect(), ..found }
}

fn checked(model: &mut Model, findings: Vec<Diagnostic>) {
    let version = model.workbench.version();
    apply_message(model, Msg::Checked(version, findings, Box::default()));
}

#[test]
fn only_the_finding_at_the_cursor_is_corrected() {
    let mut model = fresh(WIDE);
    // At the cursor is one without a correction: the other one of this text is not touched.
    checked(&mut model, vec![finding(Place::Prompt, (0, 8), None), finding(Place::Prompt, (9, 12), Some("a"))]);
    let before = model.workbench.texts();
    press(&mut model, "f8");
    assert_eq!(model.workbench.texts(), before);
    for _ in 0..9 {
        press(&mut model, "right");
    }
    press(&mut model, "f8");
    assert!(model.workbench.texts().prompt.starts_with("Classify a "), "{:?}", model.workbench.texts().prompt);
}

#[test]
fn a_finding_of_another_text_is_gone_to_before_it_is_corrected() {
    let mut model = fresh(WIDE);
    checked(&mut model, vec![finding(Place::Options, (7, 18), Some("\"mine\""))]);
    let before = model.workbench.texts();
    press(&mut model, "f8");
    assert_eq!((model.workbench.focus, model.workbench.texts()), (Pane::Editor(Place::Options), before));
    assert!(toast(&model).contains("F8 again to write"), "{}", toast(&model));
    press(&mut model, "f8");
    assert!(model.workbench.texts().options.starts_with("name = \"mine\""));
}

#[test]
fn a_field_of_the_inputs_is_searched_and_replaced_in() {
    let mut model =
        with("(name :string, text :string) -> {n :int}", r#"{"name": "Ann", "text": "Ann met Ben. Ann left."}"#);
    press(&mut model, "alt-g");
    press(&mut model, "c");
    assert!(model.workbench.inputs.is_shown());
    press(&mut model, "tab");
    press(&mut model, "ctrl-f");
    write(&mut model, "Ann");
    let shown = text(&mut model);
    assert!(shown.contains("2 places") || shown.contains("1 of 2"), "{shown}");
    press(&mut model, "tab");
    write(&mut model, "Eve");
    press(&mut model, "alt-a");
    press(&mut model, "esc");
    text(&mut model);
    assert_eq!(
        ptc_core::value::json::parse(&context(&model)).unwrap().to_text(),
        r#"{"name":"Ann","text":"Eve met Ben. Eve left."}"#
    );
}

#[test]
fn a_field_that_is_cut_is_marked_also_without_the_focus() {
    let items: Vec<String> = (0..40).map(|number| format!("{{\"n\": {number}}}")).collect();
    let context = format!("{{\"items\": [{}], \"note\": \"x\"}}", items.join(", "));
    let mut model = with("(items [{n :int}], note :string) -> :int", &context);
    press(&mut model, "alt-g");
    press(&mut model, "c");
    assert!(!text(&mut model).contains("items▲"), "it begins with its first line");
    press(&mut model, "ctrl-end");
    text(&mut model);
    press(&mut model, "tab");
    let shown = text(&mut model);
    assert!(shown.contains("items▲"), "{shown}");
}
