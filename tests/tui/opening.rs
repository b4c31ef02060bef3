//! The preview of the first request: whole, and compared with those of the other modes; and runs of another agent than the open one.

use ptc_workbench::agent::Mode;
use ptc_workbench::event::{Address, Event, NativeCall, Role, Source};
use ptc_workbench::session::Marks;
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::tui::transcript::Transcript;
use ptc_workbench::workbench::{RequestPart, RunEnding, compared_with};

use super::pictures::rows;
use super::press;
use super::story::{NOW_MS, Story, apply_message, fresh, happened, ran, two_turns};

fn part(title: &str, text: &str) -> RequestPart {
    let tokens = ptc_core::text::estimate_tokens(text);
    RequestPart { title: title.to_owned(), text: text.to_owned(), tokens, is_json: false }
}

fn draft() -> Model {
    let mut model = fresh((100, 30));
    model.workbench.preview.sent = vec![part("system · card", "Answer with JSON.\n"), part("user · task", "Go.\n")];
    model.workbench.preview.limits = vec!["acme takes no seed: omitted".to_owned()];
    model
}

#[test]
fn limits_of_the_protocol_are_above_what_would_be_sent() {
    let mut model = draft();
    press(&mut model, "f6");
    let text = rows(&mut model);
    let (limit, card) = (text.find("acme takes no seed: omitted").unwrap(), text.find("system · card").unwrap());
    assert!(text.contains("! worth knowing") && limit < card, "{text}");
}

#[test]
fn one_key_holds_it_against_each_other_mode_and_then_shows_it_whole() {
    let mut model = draft();
    press(&mut model, "f6");
    let whole = rows(&mut model);
    let other =
        [part("system · card", "Answer with a program.\n"), part("user · task", "Go.\n"), part("user · data", "x\n")];
    for mode in [Mode::PtcLisp, Mode::Text, Mode::JsonLoop] {
        let effects = press(&mut model, "d");
        let [Effect::ComparePreview(asked, texts, sent)] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!((*asked, sent), (mode, &model.workbench.preview.sent), "the draft's own mode is left out");
        assert!(texts.options.contains(&format!("mode = \"{mode}\"")), "{}", texts.options);
        let held = compared_with(sent, &other);
        // An answer about the mode before comes too late.
        let late = Mode::ALL.into_iter().find(|other| *other != mode).unwrap();
        apply_message(&mut model, Msg::PreviewCompared(late, Err("late".to_owned())));
        assert!(rows(&mut model).contains("making it …"));
        apply_message(&mut model, Msg::PreviewCompared(mode, Ok(held)));
        let text = rows(&mut model);
        assert!(text.contains(&format!("against mode {mode}: - there, + here")), "{text}");
        for line in
            ["- Answer with a program.", "+ Answer with JSON.", "= the same", "- x", "user · data · about 1 → 0 tok"]
        {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
    assert!(press(&mut model, "d").is_empty());
    assert_eq!(rows(&mut model), whole);
    press(&mut model, "d");
    apply_message(
        &mut model,
        Msg::PreviewCompared(Mode::PtcLisp, Err("tools need a model that calls them".to_owned())),
    );
    let text = rows(&mut model);
    assert!(
        text.contains("the draft has errors in mode ptc_lisp: no request") && text.contains("tools need a model"),
        "{text}"
    );
    press(&mut model, "esc");
    assert!(model.popups.is_empty());
}

#[test]
fn options_that_cannot_be_read_have_no_other_mode() {
    let mut model = draft();
    press(&mut model, "f6");
    model.workbench.editor_mut(ptc_workbench::agent::Place::Options).draft.replace_all("mode = [");
    assert!(press(&mut model, "d").is_empty());
    assert!(
        matches!(model.popups.last(), Some(Popup::Preview { against: Some(against), .. }) if against.held.is_some())
    );
    assert!(rows(&mut model).contains("the options are not TOML"));
}

#[test]
fn a_run_of_another_agent_than_the_one_that_is_open_says_its_name() {
    let rule =
        |model: &mut Model| rows(model).lines().find(|row| row.contains(" Run r0 ")).unwrap_or_default().to_owned();
    let mut model = fresh((120, 40));
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    assert!(!rule(&mut model).contains("sentiment"), "the title says it");
    model.workbench.preview.name = "sales".to_owned();
    assert!(rule(&mut model).contains("Run r0 · sentiment · json · demo"), "{}", rule(&mut model));
}

#[test]
fn while_a_run_continues_the_title_shows_its_mode_and_model() {
    let mut model = fresh((120, 40));
    ran(&mut model, Vec::new(), None);
    let mut events = two_turns();
    events.truncate(6);
    for envelope in &mut events {
        if let Event::RunStart(start) = &mut envelope.event {
            (start.agent.name, start.mode, start.model.alias) = ("sales".into(), "ptc_lisp".into(), "human".into());
        }
    }
    happened(&mut model, events, None);
    let title = rows(&mut model).lines().next().unwrap_or_default().to_owned();
    assert!(title.contains("sentiment") && title.contains("ptc_lisp · human · turn 1 of 3 · run of sales"), "{title}");
    happened(&mut model, Vec::new(), Some(RunEnding::Run));
    let title = rows(&mut model).lines().next().unwrap_or_default().to_owned();
    assert!(title.contains("json · demo"), "{title}");
}

#[test]
fn without_sessions_the_keys_that_need_some_are_not_offered() {
    let mut model = fresh((80, 24));
    press(&mut model, "f3");
    assert_eq!(model.screen, Screen::Sessions);
    apply_message(&mut model, Msg::Listed(Vec::new(), Marks::default()));
    let footer = rows(&mut model).lines().last().unwrap_or_default().to_owned();
    assert!(
        footer.contains("Ctrl-R reload") && !footer.contains("failures") && !footer.contains("/ search"),
        "{footer}"
    );
}

#[test]
fn a_live_request_shows_the_native_calls_of_a_reply_that_it_repeats() {
    let call = NativeCall { id: "c1".to_owned(), name: "orders".to_owned(), args: "{\"region\":\"north\"}".to_owned() };
    let end = ptc_workbench::event::ReplyEnd {
        calls: vec![call],
        ..super::story::end(1, ptc_workbench::event::ReplyStatus::Ok, None)
    };
    let reply = ptc_workbench::event::MessageAdded {
        m: 1,
        role: Role::Assistant,
        source: Source::Reply,
        parts: vec![ptc_workbench::event::MessagePart::Reply { reply: Address::from("r0/t1") }],
    };
    let events = Story::new()
        .start()
        .turn("r0/t1")
        .message("r0/t1", 0, Role::User, Source::Prompt, "task", "Sum it up.")
        .request("r0/t1", 0)
        .part("r0/t1", 1, "I look.")
        .apply_message("r0/t1", end)
        .apply_message("r0/t1", reply)
        .turn_end("r0/t1", Some("tool_calls"), (1, 1), (1, 1, 1))
        .turn("r0/t2")
        .request("r0/t2", 1)
        .events();
    let mut transcript = Transcript::default();
    for envelope in &events {
        transcript.apply(envelope);
    }
    transcript.toggle_all();
    transcript.toggle_all();
    transcript.prepare(100, 80, NOW_MS);
    let text: Vec<String> = transcript.rows().map(|row| row.row.plain()).collect();
    let text = text.join("\n");
    let second = &text[text.rfind("Request").unwrap()..];
    assert!(second.contains("I look.") && second.contains("orders") && second.contains("north"), "{text}");
}
