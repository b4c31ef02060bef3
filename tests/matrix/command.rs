//! `compare AGENT.toml` as a user meets it.

use ptc_workbench::session::Session;
use serde_json::json;

use crate::cli::program::Program;

#[test]
fn two_modes_of_an_example_are_compared_offline() {
    let program = Program::new();
    let done = program.run(["compare", "sales", "--modes", "ptc_lisp,json", "--trials", "3", "--json"]);
    let matrix = done.exits(0).reports("saved as m-").reports("look at two: ptc-workbench compare ").json();
    assert_eq!((&matrix["complete"], &matrix["trials"], &matrix["seed"]), (&json!(true), &json!(3), &json!(0)));
    let cells = matrix["cells"].as_array().unwrap();
    let modes: Vec<_> = cells.iter().map(|cell| cell["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["ptc_lisp", "json"]);
    for cell in cells {
        assert_eq!(
            (&cell["passed"], &cell["rate"], &cell["pass_hat"]),
            (&json!(3), &json!(1.0), &json!([1.0, 1.0, 1.0]))
        );
        assert_eq!(cell["interval"], json!([0.438_503, 1.0]));
        assert_eq!(cell["answers"].as_array().unwrap().len(), 1);
        assert_eq!((&cell["answers"][0]["count"], &cell["cost"]), (&json!(3), &json!(null)));
    }
    // The same answer; only the program left the rows where they were.
    assert_eq!(cells[0]["answers"][0]["answer"], cells[1]["answers"][0]["answer"]);
    assert_eq!((&cells[0]["turns"], &cells[1]["turns"]), (&json!(2.0), &json!(1.0)));
    assert_eq!(cells[1]["kept_out_bytes"], json!(0.0));
    let kept = cells[0]["kept_out_bytes"].as_f64().unwrap() / cells[0]["data_bytes"].as_f64().unwrap();
    assert!(kept > 0.95, "{kept}");
}

#[test]
fn each_trial_is_a_session_that_names_its_matrix_and_has_a_seed_of_its_own() {
    let program = Program::new();
    let matrix =
        program.run(["compare", "sentiment", "--modes", "json", "--models", "sample", "--trials", "3", "--json"]);
    let matrix = matrix.exits(0).json();
    let sessions: Vec<Session> = matrix["cells"][0]["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| {
            let file = program.sessions_dir().join(format!("{}.jsonl", trial["session"].as_str().unwrap()));
            Session::open(&file).unwrap()
        })
        .collect();
    let mut seeds = Vec::new();
    for session in &sessions {
        let group = session.header.group.as_ref().unwrap();
        assert_eq!(
            (group.id.as_str(), group.cell.as_str()),
            (matrix["matrix"].as_str().unwrap(), "sentiment · json · sample · praise")
        );
        let start = session.events().find_map(|envelope| match envelope.event {
            ptc_workbench::event::Event::RunStart(start) => Some(start.seed),
            _ => None,
        });
        seeds.push(start.unwrap());
        program.run(["replay", session.header.id.as_str(), "--check"]).exits(0);
    }
    seeds.dedup();
    assert_eq!(seeds.len(), 3);
    // Different seeds, different data: the answers are grouped.
    assert!(matrix["cells"][0]["answers"].as_array().unwrap().len() > 1);
}

#[test]
fn a_mode_that_an_agent_cannot_run_in_is_reported_with_the_reason() {
    let program = Program::new();
    let tool = "[tools.t]\nkind = \"table\"\nsignature = \"() -> :int\"\ndescription = \"A number\"\ndefault = 1\n";
    program.file(
        "a.toml",
        format!("mode = \"text\"\nmodel = \"sample\"\nprompt = \"go\"\nsignature = \"{{n :int}}\"\n{tool}"),
    );
    let done = program.run(["compare", "a.toml", "--modes", "text,json"]);
    let text = &done.exits(0).stdout;
    assert!(text.contains("cannot run\n  a.toml · json · sample: json mode has no tools"), "{text}");
    let refused = program.run(["compare", "a.toml", "--modes", "json"]);
    refused.exits(2).reports("no cell can run").reports("json mode has no tools");
}

#[test]
fn cases_decide_and_are_summed_up() {
    let program = Program::new();
    let agent =
        "mode = \"json\"\nmodel = \"sample:seed=1\"\nprompt = \"{{n}}\"\nsignature = \"(n :int) -> {ok :bool}\"\n";
    let cases = "[[cases]]\nname = \"any\"\ncontext = { n = 1 }\nexpect = \"(map? result)\"\n\
                 [[cases]]\nname = \"none\"\ncontext = { n = 2 }\nexpect = \"(nil? result)\"\n";
    program.file("a.toml", format!("{agent}{cases}"));
    let matrix = program.run(["compare", "a.toml", "--modes", "json", "--trials", "2", "--json"]).exits(0).json();
    let passed: Vec<_> =
        matrix["cells"].as_array().unwrap().iter().map(|cell| (&cell["case"], &cell["passed"])).collect();
    assert_eq!(passed, [(&json!("any"), &json!(2)), (&json!("none"), &json!(0))]);
    let why = matrix["cells"][1]["sessions"][0]["why"].as_str().unwrap();
    assert!(why.contains("the predicate is false"), "{why}");
    let total = &matrix["totals"][0];
    assert_eq!((&total["trials"], &total["passed"], &total["pass_hat"]), (&json!(4), &json!(2), &json!([0.5, 0.5])));
    let shown = program.run(["compare", "a.toml", "--modes", "json", "--trials", "2"]);
    let text = &shown.exits(0).stdout;
    assert!(text.contains("\nall cases\n") && text.contains("2× ✗"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn what_could_not_be_tried_is_no_verdict_and_is_tried_again() {
    let program = Program::new();
    program.file("a.toml", "mode = \"json\"\nprompt = \"go\"\nsignature = \"{n :int}\"\n");
    let models = "sample:provider_error,every,sample";
    let done = program.run(["compare", "a.toml", "--modes", "json", "--models", models, "--json"]);
    done.exits(1)
        .reports("not tried: a.toml · json · sample:provider_error,every, trial 1")
        .reports("compare --resume m-");
    let matrix = done.json();
    let tried: Vec<_> =
        matrix["cells"].as_array().unwrap().iter().map(|cell| (&cell["model"], &cell["trials"])).collect();
    assert_eq!(tried, [(&json!("sample:provider_error,every"), &json!(0)), (&json!("sample"), &json!(1))]);
    assert_eq!((&matrix["complete"], matrix["untried"].as_array().unwrap().len()), (&json!(false), 1));
    let again = program.run(["compare", "--resume", "last", "--json"]).exits(1).json();
    assert_eq!(again["matrix"], matrix["matrix"]);
    assert_eq!(program.session_files().len(), 3);
}

#[test]
fn inputs_that_do_not_fit_are_reported_before_anything_runs() {
    let program = Program::new();
    let agent = "mode = \"json\"\nmodel = \"sample\"\nprompt = \"go {{x}}\"\nsignature = \"(x :string) -> {n :int}\"\n";
    program.file("a.toml", agent);
    let refused = program.run(["compare", "a.toml", "--modes", "json"]);
    refused.exits(2).reports("no cell can run\n  a.toml · json · sample: `x` is missing; add it to the context");
    assert_eq!(program.session_files().len(), 0);
    let cases = "[[cases]]\nname = \"with\"\ncontext = { x = \"a\" }\n[[cases]]\nname = \"without\"\n";
    program.file("a.toml", format!("{agent}{cases}"));
    let done = program.run(["compare", "a.toml", "--modes", "json"]);
    let text = &done.exits(0).stdout;
    assert!(text.contains("cannot run\n  a.toml · json · sample · without: `x` is missing"), "{text}");
    assert_eq!(program.session_files().len(), 1);
}

#[test]
fn slips_are_reported_before_anything_runs() {
    let program = Program::new();
    let slips: [(&[&str], &str); 13] = [
        (&["compare", "quote"], "quote is a pipeline, not an agent"),
        (&["compare", "quote", "--models", "sample"], "quote is a pipeline, not an agent"),
        (&["compare", "sentiment", "--models", "human"], "the model `human` cannot be compared"),
        (&["compare", "sentiment", "--models", "sampel"], "no model `sampel`; did you mean `sample`?"),
        (&["compare", "sentiment", "--models", "demo,demo"], "`demo` is named twice"),
        (&["compare", "sentiment", "--models", "openai:m"], "OPENAI_API_KEY is not set"),
        (&["compare", "sentiment", "--modes", "jsn"], "did you mean `json`?"),
        (&["compare", "sentiment", "--modes", "json,text,json"], "the mode `json` is named twice"),
        (
            &["compare", "sentiment", "--save-baseline", "none/base.json"],
            "none/base.json cannot be written: the folder none does not exist",
        ),
        (&["compare", "sentiment", "--save-baseline", "home"], "home cannot be written: this is a folder"),
        (&["compare", "sentiment", "--trials", "0"], "at least one trial"),
        (&["compare", "sentiment", "--jobs", "0"], "--jobs must be at least 1"),
        (
            &["compare", "sentiment", "--baseline", "none.json"],
            "none.json: the baseline is missing; --save-baseline FILE writes one",
        ),
    ];
    for (arguments, output) in slips {
        program.run(arguments).exits(2).reports(output);
    }
    program.run(["compare", "--resume", "last"]).exits(2).reports("no matrix \"last\"");
    assert_eq!(program.session_files().len(), 0);
    assert!(!program.sessions_dir().join("matrix").exists());
}

#[test]
fn any_seed_is_reported_as_it_is() {
    let program = Program::new();
    let seed = u64::MAX.to_string();
    let arguments = ["compare", "sentiment", "--modes", "json", "--models", "sample", "--seed", &seed, "--json"];
    assert_eq!(program.run(arguments).exits(0).json()["seed"], json!(u64::MAX));
}

/// Runs git in the folder of a program, with the identity that a commit needs.
fn git(program: &Program, arguments: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=me", "-c", "user.email=me@localhost"]).args(arguments).current_dir(program.dir());
    let done = git.output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[cfg(unix)]
#[test]
fn an_agent_file_at_a_revision_is_read_without_running_anything_of_the_repository() {
    use std::os::unix::fs::PermissionsExt as _;
    let program = Program::new();
    let agent = "mode = \"json\"\nmodel = \"sample\"\nprompt = \"go\"\nsignature = \"{n :enum[yes]}\"\n";
    program.file("a.toml", agent);
    program.file(".gitattributes", "*.toml filter=evil diff=evil\n");
    program.file("evil.sh", "#!/bin/sh\ntouch ran\ncat\n");
    let evil = program.dir().join("evil.sh");
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    git(&program, &["init", "-q", "."]);
    git(&program, &["add", "."]);
    git(&program, &["commit", "-qm", "before"]);
    let evil = evil.display().to_string();
    for key in [
        "core.fsmonitor",
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.evil.textconv",
        "core.pager",
        "core.sshCommand",
    ] {
        git(&program, &["config", key, &evil]);
    }
    program.file("a.toml", agent.replace("yes", "no"));
    let done = program.run(["compare", "a.toml@HEAD", "a.toml", "--modes", "json", "--json"]);
    let matrix = done.exits(0).json();
    let answers: Vec<_> =
        matrix["cells"].as_array().unwrap().iter().map(|cell| &cell["answers"][0]["answer"]["n"]).collect();
    assert_eq!(answers, [&json!("yes"), &json!("no")]);
    assert_eq!(matrix["cells"][0]["agent"], json!("a.toml@HEAD"));
    assert!(!program.dir().join("ran").exists());
    program.run(["compare", "a.toml@nothing", "a.toml"]).exits(2).reports("a.toml@nothing: ");
    program.run(["compare", "b.toml@HEAD", "a.toml"]).exits(2).reports("b.toml@HEAD: ");
}
