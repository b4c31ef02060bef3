//! The parts of the system text that an agent adds around the card, or replaces.

use super::*;

const PTC: &str = "mode = 'ptc_lisp'\nprompt = 'go'\nmax_turns = 2\n";
const COMBINED: &str = "mode = 'text'\ntransport = 'tool_call'\nprompt = 'go'\nmax_turns = 2\n";
/// Words of the language card, and of the card about the format.
const LANGUAGE: &str = "PTC-Lisp is a small Clojure";
const FORMAT: &str = "exactly one fenced block";
/// Words of what is neither.
const BEHAVIOUR: &str = "You solve the mission in turns";

fn agent_of(toml: &str) -> Agent {
    Agent::from_toml(toml, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// The system text of the first request, in one piece and by sections.
async fn system(toml: &str) -> (String, Vec<String>) {
    let (model, requests) = recorded_script(&["```clojure\n(return 1)\n```"]);
    let ran = run(&agent_of(toml), "{}", &model).await;
    replays(&ran.events).await;
    let text = requests.lock().unwrap()[0].system.clone().unwrap();
    assert_eq!(ran.step.messages[0].text(), text);
    (text, ran.step.messages[0].parts.iter().map(|part| part.section().to_owned()).collect())
}

#[tokio::test]
async fn the_parts_of_a_card_can_be_replaced_one_by_one() {
    let (usual, sections) = system(PTC).await;
    assert!([LANGUAGE, FORMAT, BEHAVIOUR].iter().all(|words| usual.contains(words)));
    assert_eq!(sections, ["language", "card", "format"]);

    let own = "[system_prompt]\nlanguage_spec = 'Only let and arithmetic.'\noutput_format = 'One block, no word.'\n";
    let (text, sections) = system(&format!("{PTC}{own}prefix = 'First.'\nsuffix = 'Last.'")).await;
    assert!(
        text.starts_with("First.\n\nOnly let and arithmetic.\n\n") && text.ends_with("One block, no word.\n\nLast."),
        "{text}"
    );
    assert!(text.contains(BEHAVIOUR) && !text.contains(LANGUAGE) && !text.contains(FORMAT), "{text}");
    assert_eq!(sections, ["prefix", "language", "card", "format", "suffix"]);
}

#[tokio::test]
async fn the_language_may_be_named_by_its_profile() {
    let of = async |options: &str| system(&format!("{PTC}{options}")).await.0.contains(LANGUAGE);
    assert!(!of("system_prompt = { language_spec = 'none' }").await);
    assert!(of("system_prompt = { language_spec = 'full' }").await);
    assert!(of("reference = 'none'\nsystem_prompt = { language_spec = 'full' }").await, "the nearer word counts");
    let (text, _) = system(&format!("{PTC}reference = 'none'\nsystem_prompt = {{ language_spec = 'Clojure.' }}")).await;
    assert!(text.starts_with("Clojure.\n") && !text.contains(LANGUAGE), "{text}");
}

#[tokio::test]
async fn programs_with_native_calls_have_a_language_as_well() {
    assert!(system(COMBINED).await.0.contains(LANGUAGE));
    let (text, _) = system(&format!("{COMBINED}system_prompt = {{ language_spec = 'Only arithmetic.' }}")).await;
    assert!(text.contains("Only arithmetic.\n") && text.contains("lisp_eval") && !text.contains(LANGUAGE), "{text}");
}

#[test]
fn parts_that_a_text_does_not_have_are_warned_about() {
    let reply_text = |toml: &str| -> Vec<String> {
        let plan = Plan::new(&agent_of(toml)).unwrap_or_else(|found| panic!("{found:?}"));
        plan.warnings.iter().map(|found| found.message.clone()).filter(|text| text.contains("system_prompt")).collect()
    };
    let both = "system_prompt = { language_spec = 'a', output_format = 'b' }";
    let unused = |key: &str, why: &str| format!("`system_prompt.{key}` is not used: {why}");
    assert_eq!(reply_text(&format!("{PTC}{both}")), [""; 0]);
    let none = "the text of text mode has no such part";
    assert_eq!(reply_text(&format!("{COMBINED}{both}")), [unused("output_format", none)]);
    let plain = format!("mode = 'text'\nprompt = 'go'\n{both}");
    assert_eq!(reply_text(&plain), [unused("language_spec", none), unused("output_format", none)]);
    let whole = format!("{PTC}system_prompt = {{ replace = 'all', output_format = 'b' }}");
    assert_eq!(reply_text(&whole), [unused("output_format", "`replace` takes the place of all parts")]);
}
