//! The firewall: names that start with `_` stay usable for programs and unseen by models, also those of child agents.

use ptc_workbench::model::{Reply, Request};

use super::ptc::{p, ran};
use super::*;

/// The texts of all requests.
fn everything(requests: &[Request]) -> String {
    let text = requests.iter().flat_map(|request| request.messages.iter().map(|message| message.joined()));
    let system = requests.iter().filter_map(|request| request.system.clone());
    text.chain(system).collect::<Vec<_>>().join("\n")
}

const CHILD: &str = r#"
[tools.find]
kind = "agent"
description = "Finds a person"
[tools.find.agent]
mode = "ptc_lisp"
max_turns = 1
firewall = true
prompt = "Find"
signature = "() -> {name :string, _key :string, rows [{id :int, _note :string}]}"
"#;
const FOUND: &str = r#"{:name "Ada" :_key "hush-key" :rows [{:id 1 :_note "hush-note"}]}"#;

/// The parent's program uses what its model does not see; neither the tool's line, nor results, prints, definitions, nor a later
/// value of the same names shows it.
#[tokio::test]
async fn a_parent_works_with_what_its_model_does_not_see() {
    let toml = format!("max_turns = 4\n{CHILD}");
    let agent = ptc::agent(&toml);
    let replies: Vec<Reply> = [
        p("(def found (tool/find)) (println found) found"),
        p(FOUND),
        p("(get found \"rows\")"),
        p("(return [(get found \"_key\") (get-in found [\"rows\" 0 \"_note\"])])"),
    ]
    .into_iter()
    .map(Into::into)
    .collect();
    let (model, requests) = recorded_replies(replies);
    let ran = run(&agent, "{}", &model).await;
    replays(&ran.events).await;
    assert_eq!(ran.outcome(), r#"["hush-key","hush-note"]"#, "{:?}", ran.step.fail);
    let requests = requests.lock().unwrap();
    let of_parent: Vec<Request> = requests.iter().filter(|request| request.agent != "find").cloned().collect();
    assert_eq!(of_parent.len(), 3);
    let text = everything(&of_parent);
    assert!(text.contains("tool/find()") && text.contains("\"name\" \"Ada\"") && text.contains("{\"id\" 1}"), "{text}");
    // The programs are the model's own words; nothing else names what is hidden.
    let fed_back: String = of_parent.iter().skip(1).map(|request| request.messages.last().unwrap().joined()).collect();
    assert!(!text.contains("hush"), "{text}");
    assert!(!of_parent[0].messages[0].joined().contains("_key") && !fed_back.contains("_note"), "{fed_back}");
}

/// The developer sees everything: the Step and the session hold the whole values.
#[tokio::test]
async fn the_step_keeps_what_models_do_not_see() {
    let toml = format!("max_turns = 2\n{CHILD}");
    let (ran, _) = ran(&toml, "{}", &[&p("(return (tool/find))"), &p(FOUND)]).await;
    assert!(ran.outcome().contains("hush-key"), "{}", ran.outcome());
    assert!(ran.step.calls[0].result.as_ref().unwrap().as_str().contains("hush-note"));
    assert!(ran.step.children[0].answer.as_ref().unwrap().to_text().contains("hush-key"));
}

/// A model that calls such an agent itself gets the rest of its answer.
#[tokio::test]
async fn native_callers_get_the_rest_of_the_answer() {
    for mode in ["text", "json_loop"] {
        let agent = Agent::from_toml(&format!("mode = '{mode}'\nprompt = 'go'\n{CHILD}"), "test.toml").unwrap();
        let (call, done): (Reply, Reply) = match mode {
            "text" => (Reply::calling([("find", "{}")]), "done".into()),
            _ => (
                r#"{"thought":"t","tool_call":{"name":"find","arguments":{}}}"#.into(),
                r#"{"thought":"t","final_answer":"done"}"#.into(),
            ),
        };
        let (model, requests) = recorded_replies(vec![call, p(FOUND).into(), done]);
        let ran = run(&agent, "{}", &model).await;
        replays(&ran.events).await;
        assert_eq!(ran.outcome(), r#""done""#, "{mode}: {:?}", ran.step.fail);
        let last = requests.lock().unwrap()[2].messages.last().unwrap().joined();
        assert!(last.contains(r#"{"name":"Ada","rows":[{"id":1}]}"#), "{mode}: {last}");
    }
}

/// Without the option nothing is hidden: a child's result reaches the model whole.
#[tokio::test]
async fn without_a_firewall_the_result_of_a_child_is_shown_whole() {
    let toml = format!("max_turns = 3\n{}", CHILD.replace("firewall = true", ""));
    let (_, texts) = ran(&toml, "{}", &[&p("(tool/find)"), &p(FOUND), &p("(return 1)")]).await;
    assert!(texts[0].contains("_key") && texts[2].contains("hush-key"), "{texts:?}");
}

#[tokio::test]
async fn prints_journals_and_coalesced_calls_hide_as_well() {
    let toml = "firewall = true\njournaling = true\nmax_turns = 4\ncompression = true\n\
                [tools.t]\nkind = \"table\"\ndefault = 1\n";
    let program = p("(println \"is\" {:_key data/_key :n 1}) \
                     (task \"look\" {:_key data/_key :n 2}) (tool/t {:_key data/_key :n 3}) nil");
    let (ran, texts) = ran(toml, r#"{"_key":["hush"]}"#, &[&program, &p("(return 1)")]).await;
    assert_eq!(ran.outcome(), "1");
    assert!(texts[1].contains("is {:n 1}") && texts[1].contains("{\"n\" 3}"), "{}", texts[1]);
    assert!(!texts[1].contains("hush"), "{}", texts[1]);
}

/// A run that continues contains the answer before; a message about missing refs shows its start.
#[tokio::test]
async fn what_is_reported_of_an_answer_hides_as_well() {
    let toml = "firewall = true\nmax_turns = 3\nrefs = { miss = 'nope' }\n";
    let answer = p("(return {:_a \"hush\" :b {:_c \"hush\" :d 1}})");
    let (ran, texts) = ran(toml, "{}", &[&answer, &p("(return {:nope 1})")]).await;
    assert_eq!(ran.outcome(), r#"{"nope":1}"#);
    assert!(texts[1].contains("\"d\" 1") && !texts[1].contains("hush"), "{}", texts[1]);
}

/// The parent agent reads a child's failure without the fields that the firewall hides; the details of the failure keep everything.
#[tokio::test]
async fn the_failure_of_a_child_hides_as_well() {
    for value in ["{:_x \"hush\" :why \"z\"}", "[{:_x \"hush\" :why \"z\"}]", "{:message {:_x \"hush\" :why \"z\"}}"] {
        let toml = format!("max_turns = 3\n{CHILD}");
        let calls = p("(tool/find)");
        let (ran, texts) = ran(&toml, "{}", &[&calls, &p(&format!("(fail {value})")), &p("(return 1)")]).await;
        assert_eq!(ran.outcome(), "1");
        assert!(texts[2].contains("why") && !texts[2].contains("hush"), "{}", texts[2]);
        let fail = ran.step.children[0].fail.as_ref().unwrap();
        assert!(fail.details.as_ref().unwrap().as_str().contains("hush"), "{fail:?}");
    }
}

/// The delegate form holds texts of programs and values, from which nothing could be left out.
#[tokio::test]
async fn the_trace_of_a_child_hides_as_well() {
    let toml =
        format!("max_turns = 3\n{}", CHILD.replace("kind = \"agent\"", "kind = \"agent\"\nreturns = \"delegate\""));
    let (ran, texts) =
        ran(&toml, "{}", &[&p("(println (str (tool/find {:task \"x\"})))"), &p(FOUND), &p("(return 1)")]).await;
    assert_eq!(ran.outcome(), "1");
    let (_, trace) = texts[2].split_once("trace").unwrap_or_else(|| panic!("{}\n{}", texts[1], texts[2]));
    assert!(!trace.contains("hush"), "{trace}");
}

#[tokio::test]
async fn descriptions_of_values_hide_as_well() {
    let program = p("(println (describe {:_x \"hush\" :y {:_z \"hush\" :n 1}} {:paths true :depth 3}))");
    let (_, texts) = ran("firewall = true\nmax_turns = 3\n", "{}", &[&program, &p("(return 1)")]).await;
    assert!(texts[1].contains(":n") && !texts[1].contains("hush") && !texts[1].contains("_x"), "{}", texts[1]);
}

#[tokio::test]
async fn a_run_that_continues_says_the_rest_of_the_answer() {
    let plan = Plan::new(&ptc::agent("firewall = true\nmax_turns = 2\n")).unwrap();
    let answer = p("(return {:_a data/_key :b 1})");
    let (model, requests) = recorded_replies(vec![answer.into(), p("(return 2)").into()]);
    let sink = Memory::default();
    let ports = Ports::new(&model, &Ticks(10), &sink, Stop::default());
    let (step, carry) = engine::run_carrying(&plan, Input::new(parsed(r#"{"_key":"hush"}"#)), &ports).await;
    assert_eq!(step.answer.unwrap().to_text(), r#"{"_a":"hush","b":1}"#);
    let next = Input { continues: Some((Address::run(0), carry)), ..Input::at(Address::run(1), parsed("{}")) };
    engine::run(&plan, next, &ports).await;
    let message = everything(&requests.lock().unwrap());
    assert!(message.contains(r#"{"b":1}"#) && !message.contains("hush"), "{message}");
}

const SECRET: &str = "sk-live-93ba77c1";

/// Programs that give texts and collections made of a hidden value, or an error that quotes one.
const DERIVED: &[&str] = &[
    "data/_token",
    "[data/_token]",
    "{:copy data/_token}",
    "(str data/rec)",
    "(json/generate-string data/rec)",
    "(upper-case data/_token)",
    "(subs data/_token 4)",
    "(str/split data/_token #\"-\")",
    "(println data/_token)",
    "(println (str \"the key is \" data/_token))",
    "(map (fn [r] (str (:name r) \" has \" (:_token r))) [data/rec])",
    "(def copy (str data/_token \"!\"))",
    "(tool/fails {:key data/_token})",
    "(tool/echo {:key data/_token})",
    "(str/split data/_token 5)",
    "(throw-it data/_token)",
];

/// The rule goes by value: whatever a program makes of a hidden text, and however it fails with it, its model sees `<hidden>`.
#[tokio::test]
async fn texts_and_collections_made_of_hidden_values_are_hidden() {
    let toml = "firewall = true\nmax_turns = 3\n[tools.echo]\nkind = \"snippet\"\nsignature = \"(key :string) -> :any\"\n\
                code = \"{:got data/key}\"\n[tools.fails]\nkind = \"snippet\"\nsignature = \"(key :string) -> :any\"\n\
                code = \"(fail (str \\\"cannot use \\\" data/key))\"\n";
    let context = r#"{"_token":"sk-live-93ba77c1","rec":{"name":"Ada","_token":"sk-live-93ba77c1"}}"#;
    for program in DERIVED {
        let (ran, texts) =
            ran(toml, context, &[&p(program), &p("(return {:real data/_token :n (count data/_token)})")]).await;
        let outcome = ran.outcome();
        assert_eq!(outcome, r#"{"n":16,"real":"sk-live-93ba77c1"}"#, "{program}: {:?}", ran.step.fail);
        let text = texts.join("\n").to_lowercase();
        for part in [SECRET, "live-93ba77c1", "93ba77c1"] {
            assert!(!text.contains(part), "{program}: {text}");
        }
    }
}

#[tokio::test]
async fn numbers_and_booleans_computed_from_hidden_values_are_shown() {
    let program = p("[(count data/_token) (* 2 data/_pin) (= data/_token \"x\") data/name]");
    let context = r#"{"_token":"sk-live-93ba77c1","_pin":1200,"name":"Ada"}"#;
    let (_, texts) = ran("firewall = true\nmax_turns = 3\n", context, &[&program, &p("(return 1)")]).await;
    assert!(texts[1].contains("[16 2400 false \"Ada\"]"), "{}", texts[1]);
    assert!(texts[0].contains("<hidden>"), "{}", texts[0]);
}

/// A child agent and a question to a model get the value: in their data, not in their prompts.
#[tokio::test]
async fn a_hidden_value_under_another_name_stays_hidden_from_the_models_of_children() {
    let toml = "firewall = true\nmax_turns = 3\n[tools.use]\nkind = \"agent\"\ndescription = \"Uses a key\"\n\
                [tools.use.agent]\nmode = \"ptc_lisp\"\nmax_turns = 1\nprompt = \"Use {{key}}\"\n\
                signature = \"(key :string) -> {key :string}\"\n\
                [tools.ask]\nkind = \"llm\"\ndescription = \"Asks\"\nprompt = \"Is {{key}} fine?\"\n\
                signature = \"(key :string) -> :string\"\n";
    let program = p("(def a (tool/use {:key data/_token})) (def b (tool/ask {:key data/_token})) \
                     (pmap (fn [k] (tool/use {:key k})) [data/_token data/_token]) \
                     (return [(get a \"key\") b])");
    let agent = ptc::agent(toml);
    let child = p("{:key data/key}");
    let replies: Vec<Reply> =
        [program, child.clone(), "fine".to_owned(), child.clone(), child].into_iter().map(Into::into).collect();
    let (model, requests) = recorded_replies(replies);
    let ran = run(&agent, r#"{"_token":"sk-live-93ba77c1"}"#, &model).await;
    replays(&ran.events).await;
    assert_eq!(ran.outcome(), r#"["sk-live-93ba77c1","fine"]"#, "{:?}", ran.step.fail);
    let requests = requests.lock().unwrap();
    let text = everything(&requests);
    assert!(requests.len() == 5 && text.contains("Is <hidden> fine?") && !text.contains("93ba77c1"), "{text}");
}

/// The other modes show data in their prompts: a hidden value is not among them.
#[tokio::test]
async fn every_mode_hides_by_value() {
    for (mode, reply) in
        [("text", "done"), ("json", r#"{"ok":true}"#), ("json_loop", r#"{"thought":"t","final_answer":{"ok":true}}"#)]
    {
        let signature = if mode == "text" { "" } else { "signature = '{ok :bool}'\n" };
        let toml =
            format!("mode = '{mode}'\nfirewall = true\nprompt = 'Use {{{{_token}}}} of {{{{name}}}}'\n{signature}");
        let agent = Agent::from_toml(&toml, "test.toml").unwrap();
        let (model, requests) = recorded_replies(vec![reply.into()]);
        let ran = run(&agent, r#"{"_token":"sk-live-93ba77c1","name":"Ada"}"#, &model).await;
        assert!(ran.step.is_ok(), "{mode}: {:?}", ran.step.fail);
        replays(&ran.events).await;
        let text = everything(&requests.lock().unwrap());
        assert!(text.contains("<hidden> of Ada") && !text.contains("93ba77c1"), "{mode}: {text}");
    }
}
