//! Inputs reach the model or are reported: contexts and answers of earlier steps in every mode.

use ptc_workbench::agent::{Agent, Context, Plan, Reach, Step};
use ptc_workbench::event::Event;
use ptc_workbench::workbench::Pipeline;

use super::{Ran, Request, json, parsed, recorded_replies, run};

fn agent(toml: &str) -> Agent {
    Agent::from_toml(toml, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn reply(mode: &str) -> &'static str {
    match mode {
        "json" => r#"{"ok":true}"#,
        "json_loop" => r#"{"thought":"t","final_answer":"done"}"#,
        "ptc_lisp" => "```clojure\n(return 1)\n```",
        _ => "done",
    }
}

async fn ran(agent: &Agent, context: &str) -> (Ran, Vec<Request>) {
    let (model, requests) = recorded_replies(vec![reply(agent.mode.name()).into()]);
    let ran = run(agent, context, &model).await;
    super::replays(&ran.events).await;
    let requests = requests.lock().unwrap().clone();
    (ran, requests)
}

/// The findings about inputs that the run reports.
fn findings(ran: &Ran) -> Vec<String> {
    let issues = ran.events.iter().filter_map(|envelope| match &envelope.event {
        Event::Check(check) => Some(check.issues.iter().map(|issue| format!("{} {}", issue.path, issue.message))),
        _ => None,
    });
    issues.flatten().collect()
}

/// Modes with their signature, with and without a parameter.
const MODES: &[(&str, &str)] = &[
    ("text", ""),
    ("text", "(topic :string) -> :string"),
    ("json", "{ok :bool}"),
    ("json", "(topic :string) -> {ok :bool}"),
    ("json_loop", ""),
    ("json_loop", "(topic :string) -> :string"),
    ("ptc_lisp", ""),
    ("ptc_lisp", "(topic :string) -> :int"),
];

#[tokio::test]
async fn a_value_that_the_prompt_does_not_name_arrives_or_is_reported() {
    for (mode, signature) in MODES {
        let prompt = if signature.contains("topic") { "Write about {{topic}}" } else { "Write" };
        let agent = agent(&format!("mode = '{mode}'\nprompt = '{prompt}'\nsignature = '{signature}'\n"));
        let (ran, requests) = ran(&agent, r#"{"topic":"tea","review":"Great value!"}"#).await;
        assert!(ran.step.is_ok(), "{mode} {signature}: {:?}", ran.step.fail);
        let text: String = requests[0].messages.iter().map(|message| message.joined()).collect();
        let found = findings(&ran);
        for (name, value) in [("topic", "tea"), ("review", "Great value!")] {
            let is_reported = found.iter().any(|finding| finding.contains(name));
            assert!(text.contains(value) || is_reported, "{mode} {signature}: {name}: {text}\n{found:?}");
        }
    }
}

#[tokio::test]
async fn json_mode_shows_values_without_parameters_below_the_prompt_and_says_so() {
    let agent = agent("mode = 'json'\nprompt = 'Rate it'\nsignature = '{ok :bool}'\n");
    let (ran, requests) = ran(&agent, r#"{"review":"Great!"}"#).await;
    let user = requests[0].messages[0].joined();
    assert!(user.contains("# Context\n\n- review (string)\n<data>\n\"Great!\"\n</data>"), "{user}");
    assert_eq!(findings(&ran), ["review the prompt does not use `review`; the value is added below the prompt"]);
}

#[tokio::test]
async fn text_mode_reports_values_that_it_does_not_show_and_refuses_them_where_the_validation_is_strict() {
    let toml = "mode = 'text'\nprompt = 'Rate it'\n";
    let (first, _) = ran(&agent(toml), r#"{"review":"Great!"}"#).await;
    let shown = findings(&first);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].contains("does not reach the model") && shown[0].contains("{{review}}"), "{shown:?}");
    let strict = agent(&format!("{toml}signature_validation = 'strict'\n"));
    let (second, requests) = ran(&strict, r#"{"review":"Great!"}"#).await;
    assert_eq!(second.outcome(), "invalid_context");
    assert!(requests.is_empty());
}

/// The answer of any step reaches the next one under a name, or the plans of the pipeline report that it does not.
#[tokio::test]
async fn the_answer_of_a_step_arrives_at_the_next_or_is_reported() {
    let answers = [r#""some words""#, r#"[1,2,"three"]"#, "42", r#"{"review":"Great value!"}"#];
    for (mode, signature) in MODES {
        let prompts = if signature.contains("topic") { vec!["About {{topic}}"] } else { vec!["Go", "About {{topic}}"] };
        for (prompt, answer) in prompts.iter().flat_map(|prompt| answers.iter().map(move |answer| (prompt, answer))) {
            let next = agent(&format!("mode = '{mode}'\nprompt = '{prompt}'\nsignature = '{signature}'\n"));
            let plan = Plan::new(&next).unwrap();
            let step = Step { answer: Some(json::parse(answer).unwrap()), name: "first".to_owned(), ..Step::default() };
            let case = format!("{answer} → {mode} {signature} {prompt}");
            let context = Context::chained_onto(&plan, &step).unwrap();
            let has = |name: &str| context.json.get(name).is_some();
            if plan.signature.params.iter().flatten().any(|field| !field.ty.is_optional() && !has(&field.name)) {
                continue;
            }
            let json = context.json.to_text();
            assert!(json != "{}", "{case}: the context is empty");
            let (ran, requests) = ran(&next, &json).await;
            let Some(request) = requests.first() else {
                assert!(ran.step.fail.is_some(), "{case}");
                continue;
            };
            let text: String = request.messages.iter().map(|message| message.joined()).collect();
            let is_there = ["some words", "three", "42", "Great value!"].iter().any(|part| text.contains(part));
            assert!(is_there || !findings(&ran).is_empty(), "{case}: {text}");
        }
    }
}

#[test]
fn the_places_of_inputs_are_listed() {
    let reach = |toml: &str| {
        let plan = Plan::new(&agent(toml)).unwrap();
        let context = json::parse(r#"{"a":1,"b":2}"#).unwrap();
        plan.reach(&context)
            .into_iter()
            .map(|input| format!("{} {}", input.name, input.reach.name()))
            .collect::<Vec<_>>()
    };
    assert_eq!(reach("mode = 'text'\nprompt = 'x {{a}}'\n"), ["a prompt", "b nowhere"]);
    assert_eq!(reach("mode = 'json'\nprompt = 'x {{a}}'\nsignature = ':int'\n"), ["a prompt", "b context block"]);
    assert_eq!(
        reach("mode = 'json'\nprompt = 'x {{a}}'\nsignature = '(a :int, c :int?) -> :int'\n"),
        ["a prompt", "c context block", "b nowhere"]
    );
    assert_eq!(reach("mode = 'ptc_lisp'\nprompt = 'x {{a}}'\n"), ["a prompt", "b data"]);
    assert_eq!(reach("mode = 'json_loop'\nprompt = 'x'\n"), ["a context block", "b context block"]);
    assert_eq!(Reach::Nowhere.name(), "nowhere");
    assert_eq!(parsed("{}").to_text(), "{}");
}

/// An optional field that an element leaves out renders empty, like an optional parameter; data that programs see stays as it is.
#[tokio::test]
async fn missing_optional_fields_render_empty_on_every_level() {
    let agent = agent(
        "mode = 'text'\nprompt = 'Notes:{{#rows}} {{name}}({{note}}){{/rows}} {{who.nick}}.'\n\
         signature = '(rows [{name :string, note :string?}], who {nick :string?}) -> :string'\n",
    );
    let (ran, requests) = ran(&agent, r#"{"rows":[{"name":"a","note":"x"},{"name":"b"}],"who":{}}"#).await;
    assert!(requests[0].messages[0].joined().contains("Notes: a(x) b() ."), "{}", requests[0].messages[0].joined());
    assert_eq!(findings(&ran), [""; 0]);
}

#[tokio::test]
async fn a_prompt_that_grows_too_large_fails_with_its_own_reason() {
    let agent = agent(
        "mode = 'text'\nprompt = '{{#rows}}{{text}}{{/rows}}'\nsignature = '(rows [:int], text :string) -> :string'\n",
    );
    let context = format!(r#"{{"rows":[{}],"text":"{}"}}"#, vec!["1"; 200].join(","), "x".repeat(100_000));
    let (ran, _) = ran(&agent, &context).await;
    assert_eq!(ran.outcome(), "template_error");
}

#[test]
fn a_place_in_a_list_is_no_name_and_the_advice_works() {
    let toml = |prompt: &str| {
        agent(&format!(
            "mode = 'text'\nprompt = '{prompt}'\nsignature = '(order {{items [{{id :int}}], tags [:string]}}) -> :string'\n"
        ))
    };
    for (prompt, advice) in [
        ("{{order.items.0}}", "{{#order.items}}{{id}}{{/order.items}}"),
        ("{{order.tags.0}}", "{{#order.tags}}{{.}}{{/order.tags}}"),
    ] {
        let findings = Plan::new(&toml(prompt)).unwrap_err();
        assert!(findings[0].message.contains(&format!("write `{advice}`")), "{}", findings[0].message);
        assert!(Plan::new(&toml(advice)).is_ok());
    }
}

/// Of several answers that fit the first counts, and the run reports that there were others.
#[tokio::test]
async fn several_answers_that_fit_are_reported() {
    let agent = agent("mode = 'json'\nprompt = 'Go'\nsignature = '{n :int}'\n");
    let (model, _) = recorded_replies(vec!["First {\"n\": 1}, or {\"n\": 2}.".into()]);
    let ran = run(&agent, "{}", &model).await;
    assert_eq!(ran.outcome(), r#"{"n":1}"#);
    let notices = ran.events.iter().filter_map(|envelope| match &envelope.event {
        Event::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    });
    let notices: Vec<_> = notices.collect();
    assert!(notices.iter().any(|text| text.contains("2 answers that fit")), "{notices:?}");
}

#[test]
fn an_agent_with_two_inputs_cannot_follow_one_that_answers_with_text() {
    let errors = |first: &str, inputs: &str| {
        let toml = format!(
            "[[steps]]\nprompt = 'Go'\n{first}\n[[steps]]\nmode = 'json'\nprompt = '{{{{v}}}}'\nsignature = '({inputs}) -> :int'\n"
        );
        let access = ptc_workbench::tool::FileAccess::default();
        let plans = Pipeline::from_toml(&toml, "p.toml", &access).unwrap().unwrap().plans();
        plans.err().unwrap_or_default().into_iter().map(|found| found.message).collect::<Vec<_>>()
    };
    for first in ["mode = 'text'", "mode = 'json_loop'", "mode = 'json'\nsignature = '[:int]'"] {
        let found = errors(first, "v :any, w :any?");
        assert!(found.len() == 1 && found[0].starts_with("step 2 (agent): the input `v` is missing"), "{found:?}");
        assert!(found[0].contains("the answer of step 1 (agent) has no fields"), "{found:?}");
        assert_eq!(errors(first, "v :any"), [""; 0]);
    }
    assert_eq!(errors("mode = 'ptc_lisp'", "v :any, w :any?"), [""; 0], "a program may return a map");
}

#[test]
fn a_pipeline_names_what_its_next_step_does_not_show() {
    let steps = |next: &str| {
        format!(
            "name = 'p'\n[[steps]]\nname = 'one'\nmode = 'json'\nprompt = 'Go'\nsignature = '{{review :string}}'\n\
             [[steps]]\nname = 'two'\nmode = 'text'\nprompt = '{next}'\n"
        )
    };
    let warnings = |next: &str| {
        let pipeline =
            Pipeline::from_toml(&steps(next), "p.toml", &ptc_workbench::tool::FileAccess::default()).unwrap().unwrap();
        let plans = pipeline.plans().unwrap();
        plans[1].warnings.iter().map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    let shown = warnings("Judge it");
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(
        shown[0].starts_with("step 2 (two), answer of step 1 (one): `review` does not reach the model"),
        "{shown:?}"
    );
    assert!(warnings("Judge {{review}}").iter().all(|text| !text.contains("does not reach")));
}
