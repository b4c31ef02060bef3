//! `test` and `sessions case` as a script sees them: verdicts, `JUnit` XML, cases and cassettes made of sessions.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Value, json};

use super::program::{Program, keys};

const AGENT: &str = r#"# mine
name = "answers"
mode = "json"
model = "sample"
prompt = "Say {{word}}"
signature = "(word :string) -> {known :bool}"
max_turns = 2

[context]   # what is tried
word = "yes"

[[cases]]
name = "any"
expect = { schema = { required = ["known"] } }
"#;

/// An element of a document.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn of(start: &BytesStart<'_>) -> Self {
        let text = |text: &str| text.to_owned();
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = quick_xml::escape::unescape(&attribute.value).unwrap().into_owned();
            (text(attribute.key.as_ref()), value)
        });
        Self { name: text(start.name().as_ref()), attributes: attributes.collect(), ..Self::default() }
    }

    fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// The root of a document; fails when it is not well-formed.
fn parsed(xml: &str) -> Element {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => open.push(Element::of(&start)),
            Event::Empty(start) => open.last_mut().unwrap().children.push(Element::of(&start)),
            Event::End(_) => {
                let done = open.pop().unwrap();
                open.last_mut().unwrap().children.push(done);
            }
            Event::Text(text) => open.last_mut().unwrap().text.push_str(&text),
            Event::GeneralRef(name) => open.last_mut().unwrap().text.extend(["&", &*name, ";"]),
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open.len(), 1);
    open.remove(0).children.remove(0)
}

/// Fails unless the document keeps the rules of the `JUnit` schema that CI systems read.
fn is_junit(xml: &str) -> Element {
    let root = parsed(xml);
    let is_time =
        |text: &str| text.split_once('.').is_some_and(|(whole, part)| whole.parse::<u64>().is_ok() && part.len() == 3);
    let known = |element: &Element, names: &[&str]| {
        for (name, _) in &element.attributes {
            assert!(names.contains(&name.as_str()), "{}: attribute {name}", element.name);
        }
    };
    let counts = ["tests", "failures", "errors", "skipped"];
    assert_eq!(root.name, "testsuites");
    known(&root, &["name", "tests", "failures", "errors", "skipped", "time"]);
    let mut sums = [0_u64; 4];
    for suite in &root.children {
        assert_eq!(suite.name, "testsuite");
        known(suite, &["name", "tests", "failures", "errors", "skipped", "time", "timestamp", "file"]);
        assert!(!suite.get("name").is_empty() && is_time(suite.get("time")), "{suite:?}");
        assert!(suite.get("timestamp").parse::<jiff::civil::DateTime>().is_ok(), "{}", suite.get("timestamp"));
        assert_eq!(suite.children[0].name, "properties", "properties stand before the cases");
        let cases: Vec<&Element> = suite.all("testcase").collect();
        assert_eq!(cases.len() + 1, suite.children.len());
        for case in &cases {
            known(case, &["name", "classname", "time"]);
            assert!(!case.get("name").is_empty() && !case.get("classname").is_empty() && is_time(case.get("time")));
            let names: Vec<&str> = case.children.iter().map(|child| child.name.as_str()).collect();
            let results = names.iter().filter(|name| ["failure", "error", "skipped"].contains(name)).count();
            assert!(results <= 1 && names.iter().skip(results).all(|name| *name == "system-out"), "{names:?}");
        }
        let with = |name: &'static str| cases.iter().filter(|case| case.all(name).next().is_some()).count() as u64;
        let real = [cases.len() as u64, with("failure"), with("error"), with("skipped")];
        for (place, name) in counts.iter().enumerate() {
            assert_eq!(suite.get(name), real[place].to_string(), "{name}");
            sums[place] += real[place];
        }
    }
    for (place, name) in counts.iter().enumerate() {
        assert_eq!(root.get(name), sums[place].to_string(), "{name}");
    }
    root
}

#[test]
fn cases_marked_skip_are_reported_in_junit_and_json() {
    let program = Program::new();
    let case = |name: &str, mark: &str| format!("[[cases]]\nname = \"{name}\"\n{mark}expect = {{ ok = true }}\n");
    let agent = "mode = \"json\"\nmodel = \"sample\"\nprompt = \"go\"\nsignature = \"{ok :bool}\"\n";
    program.file("a.toml", [agent, &case("now", ""), &case("later", "skip = true\n")].concat());
    program.file("b.toml", [agent, &case("both", "skip = true\n"), &case("one", "")].concat());
    let done = program.run(["test", "a.toml", "b.toml", "--junit", "out.xml", "--json"]).json();
    assert_eq!((&done["skipped"], &done["trials"]), (&json!(2), &json!(2)));
    assert_eq!(done["agents"][1]["skipped"], 1);
    let root = is_junit(&std::fs::read_to_string(program.dir().join("out.xml")).unwrap());
    assert_eq!((root.get("tests"), root.get("skipped")), ("4", "2"));
    let case = root.children[0].all("testcase").last().unwrap();
    assert_eq!((case.get("name"), case.children[0].get("message")), ("later", "marked skip"));
    // Each skipped case belongs to one shard, as it would when it ran.
    let skipped = |shard: &str| {
        let done = program.run(["test", "a.toml", "b.toml", "--shard", shard, "--json"]).json();
        done["skipped"].as_u64().unwrap_or_default()
    };
    assert_eq!(skipped("1/2") + skipped("2/2"), 2);
}

#[test]
fn the_examples_pass_offline() {
    let program = Program::new();
    let done = program.run(["test", "sentiment", "extract", "--junit", "out.xml"]);
    let shown = "sentiment · json · demo\n  ✓ praise\nextract · json · demo\n  ✓ three items\n2 cases: 2 passed, 0 failed, 0 errors\n";
    assert_eq!(done.exits(0).stdout, shown);
    let root = is_junit(&std::fs::read_to_string(program.dir().join("out.xml")).unwrap());
    assert_eq!(root.get("tests"), "2");
    assert_eq!(program.session_files().len(), 2);
    let agents = ["sentiment", "extract", "sales", "reviews", "workshop", "statement"];
    program.run([&["test", "--mode", "ptc_lisp"], &agents[..]].concat()).exits(0);
}

#[test]
fn a_case_that_fails_is_reported_with_its_difference_and_its_session() {
    let program = Program::new();
    let cases = "[[cases]]\nname = \"a & <b>\"\ncontext = { word = \"]]>\\u0007\" }\nexpect = { known = \"\\u001b[31m<&\" }\n\
                 [[cases]]\nname = \"breaks\"\nexpect = \"(+ (:known result) 1)\"\n";
    let agent = AGENT.replace("{known :bool}", "{known :string}");
    program.file("a.toml", format!("{agent}{cases}"));
    let done = program.run(["test", "a.toml", "--junit", "out.xml", "--json"]).exits(1).json();
    assert_eq!(keys(&done), ["agents", "trials", "passed", "failed", "errors", "duration_ms", "stopped"]);
    assert_eq!([&done["trials"], &done["passed"], &done["failed"], &done["errors"]], [3, 1, 1, 1]);
    let trial = &done["agents"][0]["cases"][1]["trials"][0];
    assert_eq!(trial["verdict"], json!("fail"));
    assert_eq!(trial["why"][0]["path"], json!("known"));
    let session = trial["session"].as_str().unwrap();
    program.run(["replay", session, "--check"]).exits(0);

    let xml = std::fs::read_to_string(program.dir().join("out.xml")).unwrap();
    let root = is_junit(&xml);
    let case = &root.children[0].children[2];
    assert_eq!((case.get("name"), case.children[1].text.as_str()), ("a & <b>", format!("session {session}").as_str()));
    let failure = &case.children[0];
    assert!(failure.get("message").starts_with("known: expected \"\\u001b[31m<&\", got "), "{failure:?}");
    assert_eq!(root.children[0].children[3].children[0].name, "error");

    let text = program.run(["test", "a.toml"]).exits(1).stdout.clone();
    let line = |words: &str| assert!(text.lines().any(|line| line.contains(words)), "{words}:\n{text}");
    line("  ✗ a & <b>");
    line("      known: expected ");
    line("  ! breaks");
    line("3 cases: 1 passed, 1 failed, 1 error");
    let plain = program.run(["--plain", "test", "a.toml"]).exits(1).stdout.clone();
    assert!(plain.contains("  failed: a & <b>") && !plain.contains('✗'), "{plain}");
}

#[test]
fn each_trial_has_its_own_seed_and_session() {
    let program = Program::new();
    program.file("a.toml", AGENT.replace("required = [\"known\"]", "properties = { known = { const = true } }"));
    let done = program.run(["test", "a.toml", "--trials", "6", "--jobs", "3", "--json"]).json();
    let trials = done["agents"][0]["cases"][0]["trials"].as_array().unwrap();
    let seeds: Vec<u64> = trials.iter().map(|trial| trial["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [0, 1, 2, 3, 4, 5]);
    let mut sessions: Vec<&str> = trials.iter().map(|trial| trial["session"].as_str().unwrap()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), 6);
    let passed = trials.iter().filter(|trial| trial["verdict"] == json!("pass")).count();
    assert!(0 < passed && passed < 6, "the seeds give both answers: {done}");
    let again = program.run(["test", "a.toml", "--trials", "6", "--json"]).exits(1).json();
    let verdicts = |done: &Value| {
        done["agents"][0]["cases"][0]["trials"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["verdict"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&again), verdicts(&done));
    let text = program.run(["test", "a.toml", "--trials", "6"]).exits(1).stdout.clone();
    assert!(text.contains(&format!("  ✗ any  {passed} of 6 passed\n")), "{text}");
}

#[test]
fn only_skipped_cases_are_reported_and_nothing_runs() {
    let program = Program::new();
    program.file(
        "a.toml",
        "mode = \"json\"\nmodel = \"sample\"\nprompt = \"go\"\nsignature = \"{ok :bool}\"\n[[cases]]\nname = \"later\"\nskip = true\n",
    );
    let done = program.run(["test", "a.toml", "--junit", "out.xml", "--results", "out.jsonl"]);
    done.exits(0).reports("none of 1 case is selected");
    let root = is_junit(&std::fs::read_to_string(program.dir().join("out.xml")).unwrap());
    assert_eq!((root.get("tests"), root.get("skipped")), ("1", "1"));
    assert_eq!(std::fs::read_to_string(program.dir().join("out.jsonl")).unwrap(), "");
    assert_eq!(program.session_files().len(), 0);
}

#[test]
fn inputs_that_the_agent_does_not_declare_are_a_warning() {
    let program = Program::new();
    let agent = "cases = [\"c.csv\"]\nmode = \"json\"\nmodel = \"sample\"\nprompt = \"Rate {{text}}\"\nsignature = \"(text :string) -> {ok :bool}\"\n";
    program.file("a.toml", agent);
    program.file("c.csv", "name,context.text,context.tex\none,x,y\ntwo,x,z\n");
    let words = "warning: a.toml: the case `one`: no input `tex`; did you mean `text`? (inputs: text)";
    for command in [&["test", "a.toml"][..], &["compare", "a.toml", "--modes", "json"]] {
        let done = program.run(command);
        done.exits(0).reports(words);
        assert_eq!(done.stderr.matches("no input").count(), 1, "{}", done.stderr);
    }
}

#[test]
fn a_largest_cost_of_nothing_runs_nothing() {
    let program = Program::new();
    let done = program.run(["test", "sentiment", "--max-cost", "0", "--model", "sample"]);
    done.exits(1).reports("stopped at --max-cost 0: not all cases were run");
    assert_eq!(program.session_files().len(), 0);
}

#[test]
fn rows_of_results_have_the_measures_of_the_runs_as_those_of_a_matrix() {
    let program = Program::new();
    program.file(
        "a.toml",
        "mode = \"json\"\nmodel = \"sample\"\nprompt = \"Rate {{text}}\"\nsignature = \"(text :string) -> {ok :bool}\"\n\
         [[cases]]\nname = \"one\"\ncontext = { text = \"a bright lamp\" }\n",
    );
    program.run(["test", "a.toml", "--results", "test.jsonl"]).exits(0);
    program.run(["compare", "a.toml", "--modes", "json", "--results", "compare.jsonl"]).exits(0);
    let row = |name: &str| -> serde_json::Value {
        let text = std::fs::read_to_string(program.dir().join(name)).unwrap();
        serde_json::from_str(text.lines().next().unwrap()).unwrap()
    };
    let (test, compare) = (row("test.jsonl"), row("compare.jsonl"));
    for key in ["turns", "requests", "data_bytes", "kept_out_bytes"] {
        assert_eq!(test[key], compare[key], "{key}");
    }
    assert_eq!((&test["requests"], &test["turns"]), (&json!(1), &json!(1)));
    // Letters of the words of the input.
    assert_eq!((&test["data_bytes"], &test["kept_out_bytes"]), (&json!(11), &json!(0)));
    // A cassette has the measures of its recording.
    program.run(["run", "a.toml", "--set", "text=a bright lamp"]).exits(0);
    program.run(["sessions", "case", "last", "--agent", "a.toml", "--name", "two", "--cassette"]).exits(0);
    program.run(["test", "a.toml", "--filter", "two", "--results", "cassette.jsonl"]).exits(0);
    assert_eq!((&row("cassette.jsonl")["requests"], &row("cassette.jsonl")["data_bytes"]), (&json!(1), &json!(11)));
}

#[test]
fn what_cannot_be_tested_is_reported() {
    let program = Program::new();
    program.run(["test"]).exits(2);
    program.run(["test", "booking"]).exits(2).reports("no case to run");
    program.run(["test", "sentiment", "--mode", "jsn"]).exits(2).reports("did you mean `json`?");
    program.run(["test", "reviews", "--mode", "json"]).exits(2).reports("json mode has no tools");
    program.run(["test", "sentiment", "--trials", "0"]).exits(2);
    program.file("bad.toml", "prompt = \"x\"\n[[cases]]\nname = \"a\"\nexpect = \"(= 1\"\n");
    program.run(["test", "bad.toml"]).exits(2).reports("bad.toml:4:10: `cases.0.expect` is not a predicate");
    program.run(["test", "sentiment", "--model", "openai:m"]).exits(2).reports("OPENAI_API_KEY");
    program.run(["test", "sentiment", "--model", "samle"]).exits(2).reports("did you mean `sample`?");
    program.file(
        "own.toml",
        "prompt = \"x\"\nmode = \"text\"\nmodel = \"openai:m\"\n[[cases]]\nname = \"a\"\nexpect = \"b\"\n",
    );
    program
        .run(["test", "sentiment", "--junit", "none/out.xml"])
        .exits(2)
        .reports("none/out.xml cannot be written: the folder none does not exist");
    assert!(
        !program.dir().join("none").exists() && program.session_files().is_empty(),
        "reported before anything runs"
    );
    let own = std::fs::read(program.dir().join("own.toml")).unwrap();
    for command in [
        &["test", "sentiment", "--junit", "own.toml"][..],
        &["compare", "sentiment", "--models", "sample", "--save-baseline", "own.toml"],
        &["screenshot", "workbench", "-o", "own.toml"],
    ] {
        program
            .run(command)
            .exits(2)
            .reports("own.toml cannot be written: a file of another kind exists there and would be overwritten");
        assert_eq!(std::fs::read(program.dir().join("own.toml")).unwrap(), own);
    }
    for _ in 0..2 {
        program.run(["test", "sentiment", "--model", "sample", "--junit", "again.xml"]).exits(0);
        program.run(["compare", "sentiment", "--models", "sample", "--save-baseline", "again.json"]).exits(0);
        program.run(["screenshot", "workbench", "-o", "again.svg"]).exits(0);
    }
    let done = program.run(["test", "own.toml", "sentiment", "--json"]).exits(1).json();
    assert_eq!(done["errors"], json!(1), "{done}");
}

#[test]
fn a_case_is_made_of_a_session_and_the_file_stays_as_it_was_written() {
    let program = Program::new();
    program.file("a.toml", AGENT);
    program.run(["run", "a.toml", "--set", "word=\"(no)\"", "--model", "sample:bad_json"]).exits(0);
    program
        .run(["sessions", "case", "last", "--agent", "a.toml", "--name", "no"])
        .exits(0)
        .reports("case `no` added to a.toml");
    let text = std::fs::read_to_string(program.dir().join("a.toml")).unwrap();
    assert!(text.starts_with(AGENT), "{text}");
    let added = text.strip_prefix(AGENT).unwrap();
    assert!(added.starts_with("\n[[cases]]\nname = \"no\"\ncontext = { word = "), "{added}");
    program.run(["test", "a.toml"]).exits(0);

    program.run(["sessions", "case", "last", "--agent", "a.toml", "--name", "no"]).exits(2).reports("has a case `no`");
    program
        .run(["sessions", "case", "last", "--agent", "sentiment"])
        .exits(2)
        .reports("sentiment is an example of the program");
    program
        .run(["sessions", "case", "last"])
        .exits(2)
        .reports("name the agent file with --agent FILE (answers.toml does not exist");
    program.file("other.toml", AGENT.replace("answers", "others"));
    program.run(["sessions", "case", "last", "--agent", "other.toml"]).exits(2).reports("holds the agent `others`");
    assert_eq!(std::fs::read_to_string(program.dir().join("a.toml")).unwrap(), text);

    let nameless = program.run(["sessions", "case", "last", "--agent", "a.toml", "--name", ""]);
    nameless.exits(2).reports("a case needs a name");
    program.file("a gent.toml", AGENT);
    program
        .run(["sessions", "case", "last", "--agent", "a gent.toml"])
        .exits(0)
        .reports("run it with: ptc-workbench test 'a gent.toml'");
    let made = program.run(["sessions", "case", "last", "--agent", "a.toml", "--name", "as data", "--json"]);
    let made = made.exits(0).json();
    assert_eq!(made, json!({"name": "as data", "file": "a.toml", "new_file": false, "cassette": null}));

    // A link stays one, and the folder of a new file must be there.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.toml", program.dir().join("link.toml")).unwrap();
        program.run(["sessions", "case", "last", "--agent", "link.toml", "--name", "linked"]).exits(0);
        assert!(std::fs::symlink_metadata(program.dir().join("link.toml")).unwrap().is_symlink());
        assert!(std::fs::read_to_string(program.dir().join("a.toml")).unwrap().contains("name = \"linked\""));
    }
    let nowhere = ["sessions", "case", "last", "--agent", "nope/x.toml", "--cassette"];
    program.run(nowhere).exits(2).reports("nope/x.toml cannot be written: the folder nope does not exist");
    assert!(!program.dir().join("nope").exists());

    // An example becomes a file of one's own.
    let example = "2026-11-22T00-00-36";
    program.run(["sessions", "case", example, "--agent", "mine.toml"]).exits(0).reports("new file mine.toml");
    let done = program.run(["test", "mine.toml", "--model", "demo"]).exits(0).stdout.clone();
    assert!(done.contains("✓ session 43b4aa9e"), "{done}");
    program
        .run(["sessions", "case", "2026-11-22T00-00-26", "--agent", "x.toml"])
        .exits(2)
        .reports("holds 3 runs; name one with --run");
    for run in [&[][..], &["--run", "r0"]] {
        let several = ["sessions", "case", "2026-11-22T00-00-26", "--agent", "x.toml", "--cassette"];
        program.run(several.iter().chain(run)).exits(2).reports("holds 3 runs").reports("omit --cassette");
    }
}

#[test]
fn a_regression_test_replays_its_cassette_without_a_model() {
    let program = Program::new();
    program.file("a.toml", AGENT);
    program.run(["run", "a.toml", "--model", "sample:wrong_type"]).exits(0);
    let session = program.session_file();
    let before = std::fs::read(&session).unwrap();
    let made = ["sessions", "case", "last", "--agent", "a.toml", "--name", "Says yes", "--cassette"];
    program.run(made).exits(0).reports("cassette cassettes/says-yes.jsonl");
    assert_eq!(std::fs::read(&session).unwrap(), before, "the session stays as it was");
    assert_eq!(std::fs::read(program.dir().join("cassettes/says-yes.jsonl")).unwrap(), before);
    let text = std::fs::read_to_string(program.dir().join("a.toml")).unwrap();
    assert!(text.ends_with("\n[[cases]]\nname = \"Says yes\"\ncassette = \"cassettes/says-yes.jsonl\"\n"), "{text}");

    // No model is asked: one that cannot be used does not matter.
    let only =
        text.replace("expect = { schema = { required = [\"known\"] } }", "cassette = \"cassettes/says-yes.jsonl\"");
    program.file("a.toml", &only);
    let output = program.run(["test", "a.toml", "--model", "openai:m", "--trials", "3"]).exits(0).stdout.clone();
    assert!(output.contains("  ✓ Says yes  replayed\n") && output.contains("2 cases: 2 passed"), "{output}");
    assert_eq!(program.session_files().len(), 1, "a replay makes no session");

    let verdict = |text: &str| {
        program.file("a.toml", text);
        let done = program.run(["test", "a.toml", "--json"]).json();
        let trial = &done["agents"][0]["cases"][1]["trials"][0];
        (trial["verdict"].as_str().unwrap().to_owned(), trial["why"][0]["why"].as_str().unwrap_or_default().to_owned())
    };
    let (failed, why) = verdict(&only.replace("Say {{word}}", "Tell {{word}}"));
    assert_eq!(failed, "fail");
    assert!(why.contains("layer prompt"), "{why}");
    let lenient = format!("{only}lenient = true\n");
    assert_eq!(verdict(&lenient.replace("Say {{word}}", "Tell {{word}}")).0, "pass");
    let (failed, why) = verdict(&lenient.replace("known :bool", "known :int"));
    assert!(failed == "fail" && why.contains("layer check"), "{why}");
    let expecting = format!("{only}expect = \"(int? (:known result))\"\n");
    assert_eq!(verdict(&expecting).0, "fail", "a cassette may expect something as well");
    let (error, why) = verdict(&only.replace("cassettes/says-yes", "cassettes/gone"));
    assert!(error == "error" && why.contains("cannot be read"), "{why}");

    program.file("a.toml", AGENT);
    program.run(made).exits(2).reports("cannot be written: it already exists; give the case another --name");
    assert_eq!(std::fs::read_to_string(program.dir().join("a.toml")).unwrap(), AGENT);
}
