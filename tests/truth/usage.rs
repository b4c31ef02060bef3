//! Tokens, requests and costs: every output shows the sums of what the server counted.

use ptc_workbench::event::Event;
use serde_json::{Value, json};

use super::service::{Chance, Counted, Fault, Service};
use crate::cli::program::{Done, Program};

/// A limit that is never reached.
const TOKEN_LIMIT: u64 = 1_000_000;

/// An agent of a mode, in which `boss` works with the agent `helper`.
fn agent(mode: &str, options: &str) -> String {
    let signature = if mode == "text" { "() -> :string" } else { "() -> {n :int}" };
    // The mode json has no tools.
    let helper = "[tools.helper]\nkind = \"agent\"\n[tools.helper.agent]\nmode = \"json\"\nprompt = \"You are a helper for {{text}}\"\n\
                  description = \"Helps\"\nsignature = \"(text :string) -> {ok :bool}\"\nmax_turns = 3\n\
                  [tools.helper.agent.retry]\nbase_delay_ms = 1\nmax_attempts = 4\n";
    let helper = if mode == "json" { "" } else { helper };
    format!(
        "name = \"boss\"\nmode = \"{mode}\"\nprompt = \"You are the boss\"\nsignature = \"{signature}\"\nmax_turns = 6\nturn_budget = 60\n\
         {options}\n[retry]\nbase_delay_ms = 1\nmax_attempts = 4\n{helper}"
    )
}

/// Replies of `boss` in its turns and of `helper`, by mode.
fn reply(mode: &str, boss: bool, body: &str) -> (String, Vec<(&'static str, Value)>) {
    if !boss {
        return ("{\"ok\": true}".to_owned(), Vec::new());
    }
    match mode {
        "ptc_lisp" => {
            let program = "(return {:n (count (pmap (fn [i] (tool/helper {:text (str i)})) [1 2 3]))})";
            (format!("```clojure\n{program}\n```"), Vec::new())
        }
        "text" if !body.contains("\"role\":\"tool\"") => {
            let call = |text: &str| ("helper", serde_json::json!({"text": text}));
            ("Let me ask.".to_owned(), vec![call("a"), call("b")])
        }
        "text" => ("done".to_owned(), Vec::new()),
        _ => ("{\"n\": 1}".to_owned(), Vec::new()),
    }
}

struct Seen {
    program: Program,
    ran: Done,
    service: Service,
}

/// Runs `boss` against a service with these faults.
async fn run(mode: &'static str, options: &str, fault: impl Fn(usize) -> Fault + Send + Sync + 'static) -> Seen {
    let service = Service::start(move |number, boss, received| {
        let (text, calls) = reply(mode, boss, &received.body);
        (text, calls, fault(number))
    })
    .await;
    let (config, agent) = (service.config(), agent(mode, options));
    let ran = tokio::task::spawn_blocking(move || {
        let program = Program::new();
        program.file("config.toml", config);
        program.file("boss.toml", agent);
        let ran = program.run(["--config", "config.toml", "run", "boss.toml", "--json"]);
        (program, ran)
    });
    let (program, ran) = ran.await.unwrap();
    Seen { program, ran, service }
}

/// Fails unless the usage is what was counted.
#[track_caller]
fn is_counted(usage: &Value, counted: Counted, what: &str) {
    let number = |key: &str| usage[key].as_u64().unwrap_or_default();
    let seen = Counted {
        requests: usage.get("llm_requests").or(usage.get("requests")).and_then(Value::as_u64).unwrap_or_default(),
        input: number("input_tokens"),
        output: number("output_tokens"),
    };
    assert_eq!(seen, counted, "{what}: {usage}");
    costs(&usage["cost"], counted, what);
}

#[track_caller]
fn costs(cost: &Value, counted: Counted, what: &str) {
    let cost = cost.as_f64().unwrap_or_default();
    assert!((cost - counted.cost()).abs() < 1e-12, "{what}: cost {cost}, counted {}", counted.cost());
}

/// The value of an attribute of a span.
fn attribute(span: &Value, key: &str) -> u64 {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key);
    found.and_then(|found| found["value"]["intValue"].as_str()?.parse().ok()).unwrap_or_default()
}

/// Every output shows what the server counted.
fn outputs_agree(seen: &Seen) {
    let Seen { program, ran, service } = seen;
    let (total, own, all) = (service.counted(None), service.counted(Some(true)), "all");
    let step = ran.json();
    is_counted(&step["usage"], total, "run --json usage");
    is_counted(&step["own_usage"], own, "run --json own_usage");
    let of_turns = |field: &str| {
        let turns = step["turns"].as_array().unwrap().iter();
        turns.map(|turn| turn["tokens"][field].as_u64().unwrap_or_default()).sum::<u64>()
    };
    assert_eq!((of_turns("input"), of_turns("output")), (own.input, own.output), "turns add up to the own usage");

    let shown = program.run(["sessions", "show", "last", "--json"]).exits(0).json();
    assert_eq!((&shown[0]["usage"], &shown[0]["own_usage"]), (&step["usage"], &step["own_usage"]), "sessions show");
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    let sum = total.input + total.output;
    // A run whose attempts all ended without a count has an unknown sum, not 0.
    let known = (sum > 0).then_some(sum);
    assert_eq!(listed[0]["tokens"].as_u64(), known, "sessions list: {}", listed[0]);
    assert_eq!(listed[0]["turns"], step["usage"]["turns"], "sessions list");
    costs(&listed[0]["cost"], total, "sessions list");
    for (query, found) in [("tokens:", usize::from(known.is_some())), ("tokens>", 0), ("tokens<", 0)] {
        let query = format!("agent:boss {query}{sum}");
        let hits = program.run(["sessions", "search", &query, "--json"]).json();
        let count = hits["sessions"].as_array().or(hits.as_array()).map_or(0, Vec::len);
        assert_eq!(count, found, "{query}: {hits}");
    }
    let query = |compared: &str, share: f64| format!("agent:boss cost{compared}{:.9}", total.cost() * share);
    for (query, found) in [(query(">", 0.99), total.input > 0), (query("<", 1.01), true), (query(">", 1.01), false)] {
        let hits = program.run(["sessions", "search", &query, "--json"]).json();
        let is_found = hits["sessions"].as_array().is_some_and(|sessions| !sessions.is_empty());
        assert_eq!(is_found, found && total.input > 0, "{query}: {hits}");
    }
    for (format, check) in
        [("json", json_export as fn(&str, Counted, Counted)), ("otlp", otlp), ("atif", atif), ("md", md)]
    {
        let exported = program.run(["sessions", "export", "last", "-f", format, "-o", "-"]);
        check(&exported.exits(0).stdout, total, own);
    }
    let compared = program.run(["compare", "last", "last", "--json"]).json();
    is_counted(&compared["columns"][0]["totals"][all], total, "compare all");
    is_counted(&compared["columns"][0]["totals"]["own"], own, "compare own");
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["sessions", "verify", "last"]).exits(0);
    budgets(program, total);
}

/// Checks that the remaining budget at the start of each turn of `boss` is its limit less the attempts before it, child runs included.
fn budgets(program: &Program, total: Counted) {
    let mut used = 0;
    for envelope in program.session().events() {
        match envelope.event {
            Event::ReplyEnd(end) => used += end.usage.map_or(0, |tokens| tokens.total()),
            Event::TurnStart(start) if envelope.address.run_part().as_str() == "r0" => {
                let left = start.remaining.tokens;
                assert!(left.is_none_or(|left| left == TOKEN_LIMIT - used), "{}: {left:?}", envelope.address);
            }
            _ => {}
        }
    }
    assert_eq!(used, total.input + total.output, "the ends of all attempts");
}

fn json_export(text: &str, total: Counted, own: Counted) {
    let document: Value = serde_json::from_str(text).unwrap();
    is_counted(&document["runs"][0]["usage"], total, "export json usage");
    is_counted(&document["runs"][0]["own_usage"], own, "export json own_usage");
}

fn otlp(text: &str, total: Counted, own: Counted) {
    let document: Value = serde_json::from_str(text).unwrap();
    let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let sum = |kind: &str, key: &str| -> u64 {
        let of = spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(kind));
        of.map(|span| attribute(span, key)).sum()
    };
    assert_eq!(sum("chat", "gen_ai.usage.input_tokens"), total.input, "chat spans");
    assert_eq!(sum("chat", "gen_ai.usage.output_tokens"), total.output, "chat spans");
    assert_eq!(sum("invoke_agent boss", "gen_ai.usage.input_tokens"), total.input, "the root span");
    assert_eq!(sum("invoke_agent boss", "ptc_workbench.own_usage.output_tokens"), own.output, "the root span");
}

fn atif(text: &str, total: Counted, own: Counted) {
    let document: Value = serde_json::from_str(text).unwrap();
    let metrics = &document["final_metrics"];
    assert_eq!(metrics["total_prompt_tokens"].as_u64().unwrap_or_default(), own.input);
    assert_eq!(metrics["total_completion_tokens"].as_u64().unwrap_or_default(), own.output);
    let with_subagents = metrics["extra"]["prompt_tokens_with_subagents"].as_u64();
    assert_eq!(with_subagents.unwrap_or(own.input), total.input);
}

fn md(text: &str, total: Counted, _: Counted) {
    let line = format!("- tokens {} in, {} out", total.input, total.output);
    assert!(total.input == 0 || text.contains(&line), "{line} is not in:\n{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_cut_after_its_count_is_in_every_total() {
    let seen = run("json", "", |number| if number < 2 { Fault::CutAfterCount } else { Fault::None }).await;
    seen.ran.exits(0);
    assert_eq!(seen.service.counted(None).requests, 3);
    outputs_agree(&seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_all_fail_are_in_every_total() {
    let seen = run("json", "", |_| Fault::CutAfterCount).await;
    seen.ran.exits(1);
    assert_eq!(seen.service.counted(None).requests, 4);
    outputs_agree(&seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn child_runs_are_in_every_total_and_the_limit_names_the_same_cost() {
    let seen = run("ptc_lisp", "", |_| Fault::None).await;
    seen.ran.exits(0);
    assert_eq!(seen.service.counted(None).requests, 4);
    outputs_agree(&seen);

    let seen = run("text", "cost_limit = 0.00004", |_| Fault::None).await;
    seen.ran.exits(1);
    let (step, counted) = (seen.ran.json(), seen.service.counted(None));
    assert_eq!(step["fail"]["reason"], "cost_exceeded", "{step}");
    let cost = format!("the run cost {:.6}", counted.cost());
    assert!(step["fail"]["message"].as_str().unwrap().starts_with(&cost), "{cost}: {step}");
    outputs_agree(&seen);
    let found = seen.program.run(["sessions", "search", "cost>0.00004", "--json"]);
    assert!(found.stdout.contains("boss"), "{}", found.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_agents_and_faults_give_totals_that_the_server_counted() {
    let rounds = crate::by_form(60, 3, 1);
    for seed in 0..rounds {
        let mut chance = Chance(seed * 7919 + 17);
        let mode = ["json", "text", "ptc_lisp"][usize::try_from(chance.below(3)).unwrap()];
        let faults: Vec<Fault> = (0..64)
            .map(|_| match chance.below(8) {
                0 | 1 => Fault::CutAfterCount,
                2 => Fault::CutBeforeCount,
                3 => Fault::Internal,
                4 if seed % 2 == 0 => Fault::TooMany,
                _ => Fault::None,
            })
            .collect();
        let options = if seed % 2 == 1 { format!("token_limit = {TOKEN_LIMIT}") } else { String::new() };
        let seen = run(mode, &options, move |number| faults[number % 64]).await;
        outputs_agree(&seen);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matrix_counts_every_attempt_and_child_run() {
    for mode in ["json", "text", "ptc_lisp"] {
        // Trials run at once, so that one of them can receive every cut: three cuts leave it the last of four attempts.
        let fault = |number: usize| if [0, 4, 7].contains(&number) { Fault::CutAfterCount } else { Fault::None };
        let service = Service::start(move |number, boss, received| {
            let (text, calls) = reply(mode, boss, &received.body);
            (text, calls, fault(number))
        })
        .await;
        let (config, agent) = (service.config(), agent(mode, ""));
        let ran = tokio::task::spawn_blocking(move || {
            let program = Program::new();
            program.file("config.toml", config);
            program.file("boss.toml", agent);
            program.run(["--config", "config.toml", "compare", "boss.toml", "--modes", mode, "--trials", "3", "--json"])
        });
        let cell = ran.await.unwrap().json()["cells"][0].clone();
        let (counted, trials) = (service.counted(None), cell["trials"].as_f64().unwrap());
        // Means are rounded.
        let sum = |key: &str| format!("{:.5}", cell[key].as_f64().unwrap_or_default() * trials);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let numbers = [counted.input as f64, counted.output as f64, counted.cost()];
        let shown = ["input_tokens", "output_tokens", "cost"].map(sum);
        assert_eq!(shown, numbers.map(|number| format!("{number:.5}")), "{mode}: {cell}");
    }
}

/// The lines of a session as an earlier version wrote them: totals without discarded attempts, and no hashes of inputs.
fn as_earlier_version(text: &str, is_counted: bool) -> String {
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut discarded = [0, 0];
    for line in &mut lines {
        let (kind, data) = (line["k"].as_str().unwrap_or_default().to_owned(), &mut line["d"]);
        let counts = ["input", "output"];
        if kind == "reply.end" && data["status"] == "discarded" {
            counts.iter().zip(&mut discarded).for_each(|(key, sum)| *sum += data["usage"][key].as_u64().unwrap_or(0));
        }
        let places: &[&str] = match kind.as_str() {
            "turn.end" => &["/usage", "/totals/tokens"],
            "run.end" => &["/usage/tokens"],
            _ => continue,
        };
        data.as_object_mut().unwrap().remove("inputs");
        for place in places.iter().filter(|_| !is_counted) {
            for (key, less) in counts.iter().zip(discarded) {
                let count = data.pointer_mut(&format!("{place}/{key}")).unwrap();
                *count = json!(count.as_u64().unwrap() - less);
            }
        }
    }
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("b");
    }
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_of_an_earlier_version_keeps_the_totals_that_it_recorded() {
    let Seen { program, ran, .. } =
        run("json", "", |number| if number < 2 { Fault::CutAfterCount } else { Fault::None }).await;
    ran.exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    program.file("earlier.jsonl", as_earlier_version(&text, false));
    let replayed = program.run(["replay", "earlier.jsonl", "--check"]);
    assert!(replayed.exits(0).stdout.starts_with("identical: "), "{}", replayed.stdout);
    program.run(["sessions", "verify", "earlier.jsonl"]).exits(0);
    // Totals that no version computes differ.
    program.file("neither.jsonl", as_earlier_version(&text, true));
    program.run(["replay", "neither.jsonl", "--check"]).exits(3);
}
