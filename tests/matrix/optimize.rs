//! `optimize` against a model whose answers depend on the prompt in a known way: it labels a text rightly when the prompt contains the rule
//! for it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::cli::program::{Program, wait_for};
use crate::openai::server::{Play, Received, Server, answer};

/// Words of texts, their labels, and the rules by which the model knows them.
const RULES: [(&str, &str, &str); 3] =
    [("parcel", "ship", "RULE-SHIP"), ("invoice", "bill", "RULE-BILL"), ("password", "access", "RULE-ACCESS")];
/// Beginning of the proposer's mission.
const MISSION: &str = "Improve one text of an AI agent";

/// All messages of a request as one text.
fn sent(received: &Received) -> String {
    let messages = received.json()["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The model: labels by the rules that are in the prompt; as the proposer it adds the rule for a word of the failed runs.
fn play(received: &Received) -> Play {
    let text = sent(received);
    if text.contains(MISSION) {
        let failed =
            text.split_once("failed_runs").map_or("", |(_, rest)| rest.split("passed_runs").next().unwrap_or(rest));
        let missing = RULES.iter().find(|(word, _, rule)| failed.contains(word) && !text.contains(rule));
        let rule = missing.map_or("RULE-NOTHING", |(_, _, rule)| rule);
        let known: Vec<&str> = RULES.iter().map(|(_, _, rule)| *rule).filter(|rule| text.contains(rule)).collect();
        let known = known.join(" ");
        let proposal = json!({"reason": format!("the text lacks {rule}"), "text": format!("Label the request. {known} {rule}\n{{{{text}}}}")});
        return answer(&proposal.to_string());
    }
    let label = RULES
        .iter()
        .find(|(word, _, rule)| text.contains(word) && text.contains(rule))
        .map_or("other", |(_, label, _)| label);
    answer(&json!({"label": label}).to_string())
}

/// A folder with an agent of 30 cases; each text has a word of its own, so that it can be found in requests.
fn program(server: &Server) -> Program {
    let program = Program::new();
    program.file("config.toml", format!("[providers.made]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url));
    let mut agent = "# the agent of the help desk\nname = \"desk\"\nmode = \"json\"\nmodel = \"made:m\"\nprompt = \"\"\"\nLabel the request.\n{{text}}\"\"\"\nsignature = \"(text :string) -> {label :string}\"   # stays\n".to_owned();
    for number in 0..30 {
        let (word, label, _) = RULES[number % 3];
        _ = write!(
            agent,
            "\n[[cases]]\nname = \"case {number}\"\ncontext = {{ text = \"About my {word}, mark{number:02}.\" }}\nexpect = {{ label = \"{label}\" }}\n"
        );
    }
    program.file("desk.toml", agent);
    program
}

const OPTIMIZE: [&str; 7] = ["--config", "config.toml", "optimize", "desk.toml", "--jobs", "2", "--dir"];

/// Returns the results of a search, as `optimize show` prints them.
fn found(program: &Program, dir: &str) -> Value {
    program.run(["optimize", "show", dir, "--json"]).exits(0).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_the_rules_and_its_proposer_never_reads_other_cases_than_training_ones() {
    let server = Server::script(|_, received| play(received)).await;
    let program = program(&server);
    let (program, search) = tokio::task::spawn_blocking(move || {
        let done = program.run(OPTIMIZE.iter().copied().chain(["search"]));
        assert!(done.exits(0).stdout.contains("ended: every validation case passes"), "{}", done.stdout);
        let search = found(&program, "search");
        (program, search)
    })
    .await
    .unwrap();
    assert_eq!(
        (&search["ending"], &search["validation"]["after"], &search["held_out"]["after"]),
        (&json!("solved"), &json!(1.0), &json!(1.0))
    );
    assert_eq!(search["validation"]["before"], 0.0, "without a rule nothing is labelled rightly");
    let journal = fs::read_to_string(program.dir().join("search/journal.jsonl")).unwrap();
    let lines: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let part = |name: &str| -> BTreeSet<String> {
        let names = lines[0][name].as_array().unwrap().iter().map(|case| case.as_str().unwrap().to_owned());
        names.map(|case| format!("mark{:0>2}", case.trim_start_matches("case "))).collect()
    };
    assert_eq!((part("training").len(), part("validation").len(), part("held_out").len()), (12, 12, 6));
    let proposers: Vec<String> = server.received().iter().map(sent).filter(|text| text.contains(MISSION)).collect();
    assert!(!proposers.is_empty());
    for text in &proposers {
        assert!(part("training").iter().any(|mark| text.contains(mark)), "{text}");
        for mark in part("validation").iter().chain(&part("held_out")) {
            assert!(!text.contains(mark), "{mark} is in a request of the proposer:\n{text}");
        }
    }
    let tries = lines.iter().filter(|line| line["k"] == "try");
    for one in tries {
        let session = one["session"].as_str().unwrap();
        assert!(program.sessions_dir().join(format!("{session}.jsonl")).exists(), "each try is a session");
    }
    // Applying changes the prompt alone.
    let before = fs::read_to_string(program.dir().join("desk.toml")).unwrap();
    let shown = program.run(["optimize", "apply", "search"]);
    shown.exits(1).reports("nothing was written; --yes writes all hunks");
    assert_eq!(fs::read_to_string(program.dir().join("desk.toml")).unwrap(), before);
    program
        .run(["optimize", "apply", "search", "--hunks", "1,2"])
        .exits(2)
        .reports("--hunks 2: unknown hunk; the only hunk is 1");
    // Also from another folder than the search was started in.
    fs::create_dir(program.dir().join("elsewhere")).unwrap();
    let applied = program
        .command(["optimize", "apply", "../search", "--hunks", "1"])
        .current_dir(program.dir().join("elsewhere"))
        .output();
    assert!(applied.unwrap().status.success());
    let after = fs::read_to_string(program.dir().join("desk.toml")).unwrap();
    let rules_at = after.lines().filter(|line| line.contains("RULE-")).count();
    assert_eq!(rules_at, 1, "{after}");
    let unchanged = |text: &str| {
        text.lines().filter(|line| !line.contains("Label the request.")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(unchanged(&after), unchanged(&before), "signature, cases and comments stay");
    program
        .run(["optimize", "apply", "search", "--yes"])
        .exits(2)
        .reports("desk.toml has changed since the search began");
    let done =
        tokio::task::spawn_blocking(move || program.run(OPTIMIZE.iter().copied().chain(["search"]))).await.unwrap();
    done.exits(2).reports("a search was begun here with another agent file, or one that has changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_is_killed_at_any_try_continues_to_the_same_end() {
    let server = Server::script(|_, received| play(received)).await;
    let program = program(&server);
    tokio::task::spawn_blocking(move || {
        program.run(OPTIMIZE.iter().copied().chain(["whole"])).exits(0);
        let whole = found(&program, "whole");
        let journal = |dir: &str| fs::read_to_string(program.dir().join(dir).join("journal.jsonl")).unwrap_or_default();
        let all = journal("whole").lines().count();
        let mut moments = vec![1, all / 2, 3, all - 2];
        moments.truncate(crate::by_form(4, 2, 1));
        for lines in moments {
            let dir = format!("killed{lines}");
            let mut child = program.command(OPTIMIZE.iter().copied().chain([dir.as_str()])).spawn().unwrap();
            wait_for("lines of the journal", || (journal(&dir).lines().count() >= lines).then_some(()));
            child.kill().unwrap();
            child.wait().unwrap();
            program.run(OPTIMIZE.iter().copied().chain([dir.as_str()])).exits(0);
            assert_eq!(found(&program, &dir), whole, "killed after {lines} lines");
        }
        // A line that was cut is one that is missing, also in the middle of a character.
        let cut = program.dir().join("killed1/journal.jsonl");
        let mut bytes = fs::read(&cut).unwrap();
        bytes.extend("{\"k\":\"try\",\"case\":\"ä".bytes().take(20));
        fs::write(&cut, &bytes).unwrap();
        program.run(OPTIMIZE.iter().copied().chain(["killed1"])).exits(0);
        assert_eq!(found(&program, "killed1"), whole);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn budgets_end_a_search_and_what_cannot_be_searched_is_refused() {
    let server = Server::script(|_, received| play(received)).await;
    let program = program(&server);
    tokio::task::spawn_blocking(move || {
        let done = program.run(OPTIMIZE.iter().copied().chain(["few", "--max-calls", "30"]));
        assert!(done.exits(0).stdout.contains("ended: the budget is exhausted"), "{}", done.stdout);
        let few = found(&program, "few");
        assert_eq!(few["ending"], "budget", "{few}");
        let candidates = few["candidates"].as_array().unwrap();
        let tries: u64 = candidates.iter().map(|one| one["tries"].as_u64().unwrap()).sum();
        assert!(candidates.iter().all(|one| one["cost"].is_number()) && tries > 0, "{few}");
        assert!(
            few["held_out"]["after"].is_number() && done.stdout.contains(&format!("{} requests", few["calls"])),
            "{few}"
        );
        let spent = few["calls"].as_u64().unwrap();
        assert!(spent <= 30 + 4 + 1 + 4 + 12 + 12, "{spent}");
        let done = program.run(OPTIMIZE.iter().copied().chain(["late", "--max-time", "0"]));
        done.exits(1).reports("not finished: the same command continues the search");
        program.run(["optimize", "sentiment"]).exits(2).reports("a search needs the file of an agent");
        program.file("bare.toml", "name = \"bare\"\nprompt = \"hello\"\nmode = \"text\"\nmodel = \"sample\"\n");
        program.run(["optimize", "bare.toml"]).exits(2).reports("a search needs 4 cases or more");
        program
            .run(["optimize", "show", "nowhere"])
            .exits(2)
            .reports("nowhere: this folder contains no search; `ptc-workbench optimize AGENT.toml` starts one");
        program.run(["optimize", "show", "few", "--screen"]).exits(2).reports("--screen needs a terminal");
        program.run(["optimize", "show", "few", "c99"]).exits(2).reports("unknown candidate `c99`");
        program.file("few/journal.jsonl", "{}\n");
        program.run(["optimize", "show", "few"]).exits(2).reports("journal.jsonl: line 1: invalid journal line");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_loses_a_variable_is_refused_and_a_service_that_fails_leaves_a_search_to_continue() {
    let (outages, labelled) = (std::sync::atomic::AtomicU32::new(0), std::sync::atomic::AtomicU32::new(0));
    let server = Server::script(move |_, received| match sent(received).contains(MISSION) {
        true if outages.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 => Play::json("401 Unauthorized", "{}"),
        true => answer(&json!({"reason": "shorter", "text": "Label it. RULE-SHIP"}).to_string()),
        false if labelled.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 18 => {
            Play::json("401 Unauthorized", "{}")
        }
        false => play(received),
    })
    .await;
    let program = program(&server);
    tokio::task::spawn_blocking(move || {
        let run = || program.run(OPTIMIZE.iter().copied().chain(["search", "--max-calls", "80"]));
        run().exits(2).reports("the proposer could not be asked").reports("the same command continues the search");
        let broken = run();
        broken.exits(2).reports("could not be judged").reports("the same command continues the search");
        broken.reports("no other prompt: the text lacks {{text}}");
        broken.reports("3 consecutive proposals gave no new text: this text is skipped until a candidate is accepted");
        let done = run();
        done.exits(0);
        for line in
            ["no new proposals for prompt", "ended: several consecutive proposals for each text gave no new text"]
        {
            assert!(done.stdout.contains(line), "{line}:\n{}", done.stdout);
        }
        let search = found(&program, "search");
        assert_eq!(search["candidates"].as_array().unwrap().len(), 1, "no candidate came of it");
        assert_eq!((&search["refused"], &search["ending"]), (&json!(3), &json!("exhausted")), "{search}");
        assert_eq!(search["given_up"], json!(["prompt"]));
        let journal = fs::read_to_string(program.dir().join("search/journal.jsonl")).unwrap();
        assert!(journal.contains("the text lacks {{text}}"), "{journal}");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_of_solved_training_cases_are_a_candidate_like_others() {
    // Parcels are always labelled rightly, the rest where the prompt shows examples; the proposer knows nothing.
    let server = Server::script(|_, received| {
        let text = sent(received);
        if text.contains(MISSION) {
            return answer(
                &json!({"reason": "shorter", "text": format!("Label it, {}.\n{{{{text}}}}", text.len())}).to_string(),
            );
        }
        let (_, message) = text.split_once("About my ").unwrap();
        let rule = RULES
            .iter()
            .find(|(word, ..)| message.starts_with(word))
            .filter(|(_, label, _)| *label == "ship" || text.contains("<examples>"));
        answer(&json!({"label": rule.map_or("other", |(_, label, _)| label)}).to_string())
    })
    .await;
    let program = program(&server);
    tokio::task::spawn_blocking(move || {
        program.run(OPTIMIZE.iter().copied().chain(["search"])).exits(0);
        let search = found(&program, "search");
        let best = &search["candidates"][usize::try_from(search["best"].as_u64().unwrap()).unwrap()];
        assert_eq!((&best["changed"], &search["validation"]["after"]), (&json!("examples"), &json!(1.0)), "{search}");
        let journal = fs::read_to_string(program.dir().join("search/journal.jsonl")).unwrap();
        let start: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
        let block = best["text"].as_str().unwrap();
        assert!((1..=4).contains(&block.matches("Input:").count()), "{block}");
        let marks = |name: &str| -> Vec<String> {
            let names = start[name].as_array().unwrap().iter().map(|case| case.as_str().unwrap().to_owned());
            names.map(|case| format!("mark{:0>2}", case.trim_start_matches("case "))).collect()
        };
        assert!(marks("training").iter().any(|mark| block.contains(mark)), "{block}");
        for mark in marks("validation").iter().chain(&marks("held_out")) {
            assert!(!block.contains(mark), "{mark} is in the examples: {block}");
        }
        // They are a block of the prompt in the agent file, and the same search gives the same block.
        program.run(["optimize", "apply", "search", "--yes"]).exits(0);
        let file = fs::read_to_string(program.dir().join("desk.toml")).unwrap();
        assert!(file.contains("<examples>\nInput:\n") && file.contains("</examples>"), "{file}");
        program.run(["prompt", "desk.toml", "--set", "text=hello"]);
    })
    .await
    .unwrap();
}

#[test]
fn a_merge_is_shown_against_both_of_its_parents() {
    let (journal, merge, [one, other]) = crate::tui::candidates::merged_journal();
    let program = Program::new();
    fs::create_dir(program.dir().join("search")).unwrap();
    program.file("search/journal.jsonl", journal);
    let shown = program.run(["optimize", "show", "search", &format!("c{merge:02}")]);
    for parent in [one, other] {
        let against = format!("against c{parent:02}: won 1, lost 0\n");
        assert!(shown.exits(0).stdout.contains(&against), "{against}{}", shown.stdout);
    }
    for change in ["+Parcels are ship.", "+Invoices are bill."] {
        assert_eq!(shown.stdout.matches(change).count(), 1, "{}", shown.stdout);
    }
    assert!(shown.stdout.contains(&format!("cases, against c{one:02} and against c{other:02}:\n")), "{}", shown.stdout);
    for case in ["validation-0", "validation-1"] {
        let line = shown.stdout.lines().find(|line| line.contains(case)).unwrap();
        assert!(line.starts_with("  won   pass  ") || line.starts_with("  pass  won   "), "{line}");
    }
    let search = found(&program, "search");
    let against = json!([{"parent": one, "won": 1, "lost": 0}, {"parent": other, "won": 1, "lost": 0}]);
    assert_eq!(search["candidates"][merge]["against_parents"], against);
    // The tree has the figures of every candidate against its parents: those of the JSON and of the screen.
    let tree = program.run(["optimize", "show", "search"]).exits(0).stdout.clone();
    let lines =
        |number: u64| tree.lines().find(|line| line.trim_start().starts_with(&format!("c{number:02}  "))).unwrap();
    for candidate in search["candidates"].as_array().unwrap() {
        let parents = candidate["against_parents"].as_array().unwrap();
        let line = lines(candidate["number"].as_u64().unwrap());
        for one in parents {
            let figures = format!("won {}, lost {}", one["won"], one["lost"]);
            let named = format!("  against c{:02}: {figures}", one["parent"].as_u64().unwrap());
            assert!(line.contains(&if parents.len() > 1 { named } else { format!("  {figures}") }), "{line}");
        }
        assert_eq!(line.matches("won ").count(), parents.len(), "{line}");
        assert!(candidate.get("won").is_none());
    }
}
