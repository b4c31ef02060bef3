//! Replies that differ from the request: costs turn by turn, another model than the requested one, ignored options.

use ptc_workbench::event::Address;
use ptc_workbench::workbench::inspect::{Inspection, Mark};

use super::program::{Done, Program};
use crate::openai::server::{Play, Server, answer};

const AGENT: &str = "mode = \"json\"\nmodel = \"priced\"\nprompt = \"go\"\nsignature = \"{n :int}\"\n\
                     [model_options]\ntemperature = 0.5\nmax_tokens = 50\n";

/// The agent answered by a server whose model costs something: 10 tokens in, of which 4 are cached, and 7 out per reply.
async fn ran(model: &str, plays: Vec<Play>) -> (Program, Done) {
    let server = Server::play(plays).await;
    let config = format!(
        "[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n\
         [models.priced]\nprovider = \"local\"\nid = \"{model}\"\nprice = {{ input = 100, output = 200, cached_input = 10 }}\n",
        server.base_url
    );
    let program = Program::new();
    program.file("config.toml", config);
    program.file("a.toml", AGENT);
    let ran = tokio::task::spawn_blocking(move || {
        let done = program.run(["--config", "config.toml", "run", "a.toml"]);
        (program, done)
    });
    ran.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_turn_shows_what_it_cost_and_the_turns_add_up_to_the_run() {
    let (program, done) = ran("m-answering", vec![answer("{}"), answer(r#"{"n":7}"#)]).await;
    done.exits(0);
    let turn = "tokens 10 in, 7 out, 4 cached, cost 0.0020";
    assert_eq!(done.stderr.matches(turn).count(), 2, "{}", done.stderr);
    assert!(done.stderr.contains("returned after 2 turns") && done.stderr.contains(", 8 cached, cost 0.0041"));
    assert!(done.stderr.contains(" s, 20 tokens in, 14 out, 8 cached, cost 0.0041"), "{}", done.stderr);
    let shown = program.run(["sessions", "show", "last", "--json"]);
    let step = &shown.exits(0).json()[0];
    let costs: Vec<f64> = step["turns"].as_array().unwrap().iter().map(|turn| turn["cost"].as_f64().unwrap()).collect();
    assert_eq!(costs.len(), 2);
    assert!((costs[0] - 0.002_04).abs() < 1e-9, "{costs:?}");
    let whole = step["usage"]["cost"].as_f64().unwrap();
    assert!((costs.iter().sum::<f64>() - whole).abs() < 1e-9, "{costs:?} {whole}");
    assert_eq!(step["turns"][0]["tokens"]["cache_read"], 4);
    assert!(!done.stderr.contains("answered as"), "{}", done.stderr);
    assert_eq!(step["turns"][0].get("model_asked"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_than_the_one_that_was_asked_is_reported_everywhere() {
    let (program, done) = ran("m-asked", vec![answer("{}"), answer(r#"{"n":7}"#)]).await;
    let report_text = "asked for the model m-asked, answered as m-answering";
    assert_eq!(
        done.exits(0).stderr.matches(report_text).count(),
        1,
        "once, though two turns were answered: {}",
        done.stderr
    );
    assert!(program.run(["sessions", "show", "last"]).exits(0).stdout.contains(report_text));
    let shown = program.run(["sessions", "show", "last", "--json"]);
    let turn = shown.exits(0).json()[0]["turns"][1].clone();
    assert_eq!((&turn["model_asked"], &turn["model"]), (&"m-asked".into(), &"m-answering".into()));
    for format in ["md", "html"] {
        let page = program.run(["sessions", "export", "last", "--format", format]);
        assert!(page.exits(0).stdout.contains(report_text), "{format}: {}", page.stdout);
    }
    program.run(["replay", "last", "--check"]).exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_held_against_what_was_asked() {
    let busy = Play::page("503 Service Unavailable", "retry-after-ms: 1\r\n", r#"{"error":{"message":"busy"}}"#);
    let refused = Play::json(
        "400 Bad Request",
        r#"{"error":{"message":"'temperature' is not supported with this model","param":"temperature"}}"#,
    );
    let (program, done) = ran("m-asked", vec![busy, refused, answer(r#"{"n":7}"#)]).await;
    done.exits(0);
    let found = Inspection::of(&program.session(), &Address::run(0).turn(1)).unwrap();
    let part = found.reply.iter().find(|part| part.title == "asked / got").unwrap();
    let text = part.text();
    let line = |name: &str| text.lines().find(|line| line[2..].starts_with(name)).unwrap_or_default().to_owned();
    assert_eq!((part.mark, part.note.as_str()), (Mark::Warn, "3 differences"), "{text}");
    let model = line("model");
    assert!(model.starts_with("! ") && model.contains("m-asked") && model.ends_with("m-answering"), "{model}");
    assert!(line("temperature").starts_with("! ") && line("temperature").ends_with("omitted"), "{text}");
    assert!(line("max_tokens").starts_with("  ") && line("max_tokens").ends_with("sent"), "{text}");
    assert!(line("schema").starts_with("  ") && line("schema").ends_with("sent as json_schema"), "{text}");
    assert!(line("finish").ends_with("stop") && line("cache").ends_with("4 of 10 tokens read"), "{text}");
    assert!(line("attempts").starts_with("! ") && line("attempts").contains("3: server_error"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strict_tools_are_held_against_what_was_sent() {
    let words = r#"{"error":{"message":"tools.0.function.strict: strict tools are not supported","param":"tools"}}"#;
    let refused = || Play::json("400 Bad Request", words);
    for (plays, mark, got) in
        [(vec![answer("ok")], "  ", "1 of 1 tool"), (vec![refused(), answer("ok")], "! ", "0 of 1 tool")]
    {
        let server = Server::play(plays).await;
        let program = Program::new();
        let config = format!("[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url);
        program.file("config.toml", config);
        program.file(
            "a.toml",
            "mode = \"text\"\nmodel = \"local:m\"\nprompt = \"go\"\n[model_options]\nstrict_tools = true\n[tools.find]\n\
             kind = \"snippet\"\ncode = \"1\"\nsignature = \"(city :string) -> :int\"\n",
        );
        let run = || program.run(["--config", "config.toml", "run", "a.toml"]);
        tokio::task::block_in_place(run).exits(0);
        let found = Inspection::of(&program.session(), &Address::run(0).turn(1)).unwrap();
        let text = found.reply.iter().find(|part| part.title == "asked / got").unwrap().text();
        let line = text.lines().find(|line| line.contains("strict_tools")).unwrap();
        assert!(line.starts_with(mark) && line.contains("true") && line.ends_with(got), "{text}");
    }
}

#[test]
fn what_a_protocol_cannot_carry_is_reported_before_the_run() {
    let program = Program::new().with_env("ANTHROPIC_API_KEY", "sk-test-0123456789");
    program.file("a.toml", format!("{AGENT}seed = 7\n"));
    let done = program.run(["prompt", "a.toml", "--model", "sonnet"]);
    let shown = "warning: anthropic takes no temperature";
    assert!(done.exits(0).stderr.contains(shown) && done.stderr.contains("seed: omitted"), "{}", done.stderr);
    assert!(!program.run(["prompt", "a.toml", "--model", "openai:gpt-4.1"]).exits(0).stderr.contains("omitted"));
}

/// A run of two turns by a cheap model, whose second turn is repeated by one a thousand times as expensive.
async fn forked_to_a_dear_model(limit: &str, last: &str) -> (Program, Done) {
    let server = Server::play(vec![answer("{}"), answer(r#"{"n":7}"#), answer(last)]).await;
    let model = |name: &str, price: u32| {
        format!("[models.{name}]\nprovider = \"local\"\nid = \"m\"\nprice = {{ input = {price}, output = {price} }}\n")
    };
    let config = format!("[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url);
    let program = Program::new();
    program.file("config.toml", config + &model("cheap", 10) + &model("dear", 10_000));
    program.file(
        "a.toml",
        format!("model = \"cheap\"\n{limit}\nmode = \"json\"\nprompt = \"go\"\nsignature = \"{{n :int}}\"\n"),
    );
    let ran = tokio::task::spawn_blocking(move || {
        program.run(["--config", "config.toml", "run", "a.toml"]).exits(0);
        let fork = ["--config", "config.toml", "fork", "last", "--at", "r0/t2", "--model", "dear", "--json"];
        let done = program.run(fork);
        (program, done)
    });
    ran.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_continues_with_another_model_names_both_and_each_reply_has_its_own_price() {
    let (program, done) = forked_to_a_dear_model("", r#"{"n":8}"#).await;
    let step = done.exits(0).json();
    let (cheap, dear) = (17.0 * 10.0 / 1e6, 17.0 * 10_000.0 / 1e6);
    let is = |found: &serde_json::Value, wanted: f64| (found.as_f64().unwrap() - wanted).abs() < 1e-9;
    assert!(is(&step["usage"]["cost"], cheap + dear), "{step}");
    assert!(is(&step["turns"][0]["cost"], cheap) && is(&step["turns"][1]["cost"], dear), "{step}");
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    let fork = listed.as_array().unwrap().iter().find(|line| line["model"] == "cheap, dear").expect("the fork");
    assert!(is(&fork["cost"], cheap + dear), "{fork}");
    for (query, wanted) in [("model:dear", 1), ("model:cheap", 2), ("cost>0.1", 1)] {
        let found = program.run(["sessions", "search", query, "--json"]).exits(0).json();
        let own = |hit: &&serde_json::Value| hit["path"].is_string();
        assert_eq!(found["sessions"].as_array().unwrap().iter().filter(own).count(), wanted, "{query}: {found}");
    }
    for format in ["md", "html"] {
        let page = program.run(["sessions", "export", "last", "--format", format]);
        assert!(page.exits(0).stdout.contains("cheap, dear"), "{format}: {}", page.stdout);
    }
    let shown = program.run(["sessions", "show", "last"]);
    assert!(shown.exits(0).stdout.contains("cost 0.17\n"), "{}", shown.stdout);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_costs_counts_what_the_other_model_costs() {
    let (program, done) = forked_to_a_dear_model("cost_limit = 0.1", "{}").await;
    let step = done.exits(1).json();
    assert_eq!(step["fail"]["reason"], "cost_exceeded", "{step}");
    program.run(["replay", "last", "--check"]).exits(0);
}
