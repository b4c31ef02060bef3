//! Quick fixes: what they are called, and that each one makes its finding go away.

use ptc_workbench::agent::{DraftTexts, Fix, Place, diagnose};

fn draft(prompt: &str, signature: &str, context: &str, options: &str) -> DraftTexts {
    let [prompt, signature, context, options] = [prompt, signature, context, options].map(str::to_owned);
    DraftTexts { prompt, signature, context, options, ..DraftTexts::default() }
}

fn applied(texts: &DraftTexts, fix: &Fix) -> DraftTexts {
    let mut texts = texts.clone();
    let text = match fix.place {
        Place::Prompt => &mut texts.prompt,
        Place::Signature => &mut texts.signature,
        Place::Context => &mut texts.context,
        Place::Tools => &mut texts.tools,
        Place::Program => &mut texts.program,
        Place::Options => &mut texts.options,
    };
    text.replace_range(fix.span.start..fix.span.end, &fix.text);
    texts
}

/// The titles of every fix; each one must make its finding go away.
fn titles(texts: &DraftTexts) -> Vec<String> {
    let found = diagnose(texts);
    let mut titles = Vec::new();
    for finding in &found {
        for fix in &finding.fixes {
            let after = diagnose(&applied(texts, fix));
            let still = after.iter().any(|other| other.message == finding.message && other.place == finding.place);
            assert!(!still, "{} does not correct {}: {after:?}", fix.title, finding.message);
            titles.push(fix.title.clone());
        }
    }
    titles
}

const JSON: &str = "mode = \"json\"\n";

#[test]
fn a_name_that_is_no_parameter_is_declared_or_corrected() {
    let texts = draft(
        "{{text}} for {{usr}} {{tone}}",
        "(text :string, user :string) -> {a :int}",
        "{\"text\": \"x\", \"user\": \"y\", \"tone\": 3}",
        JSON,
    );
    let found = titles(&texts);
    assert_eq!(
        found,
        [
            "write `user` instead of `usr`",
            "add `usr` to the signature",
            "add `tone` to the signature",
            "use `user` in the prompt",
            "remove the unused parameter `user`",
        ]
    );
    let tone =
        diagnose(&texts).into_iter().flat_map(|found| found.fixes).find(|fix| fix.title.contains("tone")).unwrap();
    assert_eq!(applied(&texts, &tone).signature, "(text :string, user :string, tone :number) -> {a :int}");
}

#[test]
fn signatures_of_every_shape_take_one_parameter_more() {
    for (signature, after) in [
        ("() -> {a :int}", "(name :string) -> {a :int}"),
        ("(a :string) -> :int", "(a :string, name :string) -> :int"),
        ("(a {b :int, c [:string]}) -> :int", "(a {b :int, c [:string]}, name :string) -> :int"),
    ] {
        let texts = draft("{{name}}", signature, "", JSON);
        let fixes: Vec<Fix> = diagnose(&texts).into_iter().flat_map(|found| found.fixes).collect();
        let fix = fixes.iter().find(|fix| fix.title == "add `name` to the signature").unwrap();
        assert_eq!(applied(&texts, fix).signature, after);
    }
}

#[test]
fn unused_parameters_go_with_their_comma() {
    for (signature, name, after) in [
        ("(a :string, b :int, c :int) -> :int", "a", "(b :int, c :int) -> :int"),
        ("(a :string, b :int, c :int) -> :int", "c", "(a :string, b :int) -> :int"),
        ("(a :string) -> :int", "a", "() -> :int"),
    ] {
        let texts = draft("go", signature, "{\"a\": \"x\", \"b\": 1, \"c\": 2}", JSON);
        let fixes: Vec<Fix> = diagnose(&texts).into_iter().flat_map(|found| found.fixes).collect();
        let title = format!("remove the unused parameter `{name}`");
        let fix = fixes.iter().find(|fix| fix.title == title).unwrap();
        assert_eq!(applied(&texts, fix).signature, after);
    }
}

#[test]
fn values_are_filled_in_and_converted_at_their_place() {
    let texts = draft("{{text}} {{n}}", "(text :string, n :int) -> :int", "{\"n\": \"5\"}", JSON);
    let found = titles(&texts);
    assert!(found.contains(&"fill the inputs with a sample".to_owned()), "{found:?}");
    assert!(found.contains(&"write 5 here".to_owned()), "{found:?}");
    let fixed = diagnose(&texts).into_iter().flat_map(|found| found.fixes);
    let fill = fixed.into_iter().find(|fix| fix.title.starts_with("fill")).unwrap();
    let filled = applied(&texts, &fill).context;
    assert!(filled.contains("\"n\": \"5\"") && filled.contains("\"text\""), "what is there stays: {filled}");
}

#[test]
fn misspelled_names_are_corrected_in_options_and_signature() {
    let texts = draft("{{text}}", "(text :strin) -> :int", "{\"text\": \"x\"}", "mode = \"jsn\"\nmax_turs = 3\n");
    let found = titles(&texts);
    for title in [
        "write `string` instead of `strin`",
        "write `json` instead of `jsn`",
        "write `max_turns` instead of `max_turs`",
    ] {
        assert!(found.contains(&title.to_owned()), "{title}: {found:?}");
    }
}

#[test]
fn a_json_draft_without_a_signature_gets_one_from_its_prompt() {
    let texts = draft("{{text}} {{n}} {{text}}", "", "{\"text\": \"x\", \"n\": 1}", JSON);
    let fixes: Vec<Fix> = diagnose(&texts).into_iter().flat_map(|found| found.fixes).collect();
    let after = applied(&texts, &fixes[0]);
    assert_eq!(after.signature, "(text :string, n :number) -> {answer :string}");
    assert_eq!(diagnose(&after), []);
}

#[test]
fn a_mode_that_cannot_have_tools_is_changed() {
    let tools = "[tools.clock]\nkind = \"constant\"\nvalue = 1\nsignature = \"() -> :int\"\n".to_owned();
    let texts = DraftTexts { tools, ..draft("{{text}}", "(text :string) -> :int", "{\"text\": \"x\"}", JSON) };
    let found = diagnose(&texts);
    let refused = found.iter().find(|found| found.place == Place::Tools).unwrap();
    let titles: Vec<&str> = refused.fixes.iter().map(|fix| fix.title.as_str()).collect();
    assert_eq!(titles, ["use the mode ptc_lisp", "use the mode text", "use the mode json_loop"]);
    assert_eq!(applied(&texts, &refused.fixes[0]).options, "mode = \"ptc_lisp\"\n");
}

#[test]
fn tools_have_a_text_of_their_own_and_come_back_as_they_were() {
    let options =
        "[tools.clock]\nkind = \"constant\"\nvalue = 1\nsignature = \"() -> :int\"\n\n[model_options]\nseed = 1\n";
    let texts = draft("go", "() -> :int", "", options);
    let agent = texts.to_agent(&ptc_workbench::agent::Agent::default()).unwrap();
    let again = DraftTexts::of(&agent);
    assert!(again.tools.starts_with("[tools.clock]") && !again.options.contains("tools"), "{again:?}");
    assert_eq!(again.to_agent(&agent).as_ref(), Ok(&agent));
    let stray = DraftTexts { tools: "max_turns = 3\n".to_owned(), ..draft("go", "() -> :int", "", "") };
    let found = diagnose(&stray);
    assert!(found[0].place == Place::Tools && found[0].message.contains("`max_turns` is not a tool"), "{found:?}");
}
