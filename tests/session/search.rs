//! Searching: what is found where, and an index that is always the same as no index.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::{Address, Envelope, Event};
use ptc_workbench::model::script;
use ptc_workbench::session::index::{Catalogue, Field, INDEX_FOLDER, Query, Term, TermSyntax};
use ptc_workbench::session::{Header, Marks, SessionId, list, write_session};
use ptc_workbench::workbench::Workbench;
use serde_json::{Value, json};

use super::{recorder, run_into};
use crate::cli::program::Program;
use crate::engine::agent;

/// A folder with this many sessions; number n contains `wordN`.
async fn folder(count: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..count {
        session(dir.path(), number).await;
    }
    dir
}

async fn session(dir: &Path, number: u32) -> PathBuf {
    let recorder = recorder(dir, 1_000 + i64::from(number) * 1_000, number);
    let replies = ["no JSON here".to_owned(), format!(r#"{{"a": "word{number} ÄÖ"}}"#)];
    let agent = agent("Say {{x}}", "(x :string) -> {a :string}");
    run_into(&recorder, &agent, r#"{"x": "a lamp"}"#, &script(replies)).await;
    recorder.path().to_owned()
}

/// Ids (their ends), addresses, fields and highlighted words of what a query finds in a folder.
fn found(dir: &Path, query: &str) -> (Vec<String>, Vec<String>) {
    let query = Query::parse(query, TermSyntax::Plain, 0).unwrap();
    let mut catalogue = Catalogue::open(dir);
    let found = catalogue.find(&query, &Marks::read(dir).unwrap());
    let shown = found.iter().map(|found| {
        let shown = found.matches.iter().map(|at| {
            let words = &at.excerpt[at.highlight.0..at.highlight.1];
            format!("{} {} {words}", at.at, at.field.name())
        });
        format!("{}: {}", &found.summary.id[21..], shown.collect::<Vec<_>>().join(", "))
    });
    (shown.collect(), catalogue.notices)
}

fn index_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir.join(INDEX_FOLDER)).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn words_are_found_with_their_place_in_any_case() {
    let dir = folder(3).await;
    let shown = |query: &str| found(dir.path(), query).0;
    assert_eq!(shown("WORD1"), ["00000001: r0/t2 reply word1"]);
    assert_eq!(shown("word1 äö"), ["00000001: r0/t2 reply word1, r0/t2 reply ÄÖ"]);
    assert_eq!(shown("\"word1 äö\""), ["00000001: r0/t2 reply word1 ÄÖ"]);
    assert_eq!(shown("word1 word2"), [""; 0]);
    assert_eq!(shown("/word[02]/ -word0"), ["00000002: r0/t2 reply word2"]);
    assert_eq!(shown("in:prompt lamp id:*02"), ["00000002: r0/t1 prompt lamp"]);
    assert_eq!(shown("in:prompt word1"), [""; 0]);
    assert_eq!(shown("in:error,feedback lamp"), [""; 0]);
    assert_eq!(shown("reason:json_parse_error turns:2 word2 status:ok mode:json"), ["00000002: r0/t2 reply word2"]);
    assert_eq!(shown("turns>2"), [""; 0]);
    assert_eq!(shown("id:*02"), ["00000002: "]);
}

#[tokio::test]
async fn an_index_is_the_same_as_no_index_and_follows_the_files() {
    let dir = folder(3).await;
    let listed = |dir: &Path| Catalogue::open(dir).summaries();
    assert_eq!(listed(dir.path()), list(dir.path()));
    assert_eq!(index_files(dir.path()).len(), 1);
    assert_eq!(listed(dir.path()), list(dir.path()));

    let new = session(dir.path(), 3).await;
    std::fs::remove_file(dir.path().join("1970-01-01T00-00-01Z-00000000.jsonl")).unwrap();
    let text = std::fs::read_to_string(&new).unwrap();
    std::fs::write(&new, text.replace("word3", "changed")).unwrap();
    assert_eq!(listed(dir.path()), list(dir.path()));
    assert_eq!(found(dir.path(), "changed").0, ["00000003: r0/t2 reply changed"]);
    assert_eq!(found(dir.path(), "word0 word3").0, [""; 0]);
    assert_eq!(found(dir.path(), "/word[123]/").0.len(), 2);
    assert_eq!(index_files(dir.path()).len(), 1, "small files of the index are put together");
}

#[tokio::test]
async fn a_damaged_index_is_made_again_with_a_notice() {
    let dir = folder(2).await;
    let whole = found(dir.path(), "word1").0;
    let file = index_files(dir.path()).remove(0);
    let bytes = std::fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 60) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        for damaged in [damaged, bytes[..at].to_vec()] {
            for file in index_files(dir.path()) {
                std::fs::remove_file(file).unwrap();
            }
            std::fs::write(&file, damaged).unwrap();
            let (shown, notices) = found(dir.path(), "word1");
            assert_eq!(shown, whole, "{at}");
            assert_eq!(notices.len(), 1, "{at}: {notices:?}");
            assert!(notices[0].contains("is damaged or outdated; rebuilding it from the sessions"), "{notices:?}");
            assert_eq!(found(dir.path(), "word1"), (whole.clone(), vec![]), "{at}");
        }
    }
}

#[tokio::test]
async fn a_folder_that_takes_no_index_is_searched_all_the_same() {
    let dir = folder(2).await;
    std::fs::write(dir.path().join(INDEX_FOLDER), "a file where the folder should be").unwrap();
    for _ in 0..2 {
        let (shown, notices) = found(dir.path(), "word1");
        assert_eq!(shown, ["00000001: r0/t2 reply word1"]);
        assert!(notices[0].contains("cannot be written"), "{notices:?}");
    }
}

#[tokio::test]
async fn several_programs_use_one_index() {
    let dir = folder(12).await;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..12 {
                    let (shown, notices) = found(dir.path(), &format!("\"word{number} \""));
                    assert_eq!((shown.len(), notices), (1, vec![]), "{number}");
                    if number % 3 == 0 {
                        let is_whole = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "seg");
                        for file in index_files(dir.path()).into_iter().filter(is_whole) {
                            // Another one may have been faster.
                            drop(std::fs::remove_file(file));
                        }
                    }
                }
            });
        }
    });
}

#[tokio::test]
async fn many_sessions_are_read_by_several_threads_and_listed_in_order() {
    let dir = folder(1).await;
    let text = std::fs::read_to_string(dir.path().join("1970-01-01T00-00-01Z-00000000.jsonl")).unwrap();
    for number in 1..700 {
        let id = format!("1970-01-01T00-00-01Z-{number:08x}");
        let own = text.replace("1970-01-01T00-00-01Z-00000000", &id).replace("word0", &format!("word{number}"));
        std::fs::write(dir.path().join(format!("{id}.jsonl")), own).unwrap();
    }
    let listed = Catalogue::open(dir.path()).summaries();
    assert_eq!(listed.len(), 700);
    assert!(listed.windows(2).all(|pair| pair[0].id > pair[1].id));
    assert_eq!(found(dir.path(), "word699").0, ["000002bb: r0/t2 reply word699"]);
    assert_eq!(found(dir.path(), "lamp").0.len(), 700);
}

#[test]
fn programs_arguments_and_errors_are_found_in_the_examples() {
    let dir = tempfile::tempdir().unwrap();
    let workbench =
        Workbench::new(Config::built_in().unwrap(), Folders::at(dir.path().into(), dir.path(), Some(dir.path())));
    let fields = |query: &str| {
        let report = workbench.search(&workbench.query(query, TermSyntax::Plain).unwrap()).unwrap();
        let mut fields: Vec<&str> =
            report.found.iter().flat_map(|found| &found.matches).map(|found| found.field.name()).collect();
        fields.sort_unstable();
        fields.dedup();
        assert!(report.found.iter().all(|found| found.summary.example));
        fields
    };
    assert_eq!(fields("in:program return"), ["program"]);
    assert_eq!(fields("in:args mode:json_loop Friday"), ["args"]);
    assert_eq!(fields("is:example tool:free_tables /./ in:result"), ["result"]);
    assert!(fields("is:damaged").is_empty());
}

#[test]
fn the_command_line_finds_sessions_and_shows_mistakes() {
    let program = Program::new();
    program.fed(["run", "sentiment", "--model", "human"], r#"{"sentiment": "positive", "score": 0.75}"#).exits(0);
    let search = |words: &[&str]| program.run(["sessions", "search"].iter().chain(words));
    let done = search(&["0.75 -is:example", "--plain"]);
    done.exits(0).reports("1 of ");
    assert!(
        done.stdout.contains("r0/t1      reply    {\"sentiment\": \"positive\", \"score\": 0.75}"),
        "{}",
        done.stdout
    );
    let json = search(&["--json", "--", "0.75", "-is:example"]).exits(0).json();
    let (session, found) = (&json["sessions"][0], &json["sessions"][0]["matches"][0]);
    assert_eq!((session["agent"].as_str(), session["count"].as_u64()), (Some("sentiment"), Some(1)));
    assert_eq!((found["address"].as_str(), found["field"].as_str()), (Some("r0/t1"), Some("reply")));
    let excerpt = found["excerpt"].as_str().unwrap();
    let at = |n: usize| usize::try_from(found["highlight"][n].as_u64().unwrap()).unwrap();
    assert_eq!(&excerpt[at(0)..at(1)], "0.75");
    assert_eq!(search(&["--regex", r"0\.\d5 -is:example", "--json"]).exits(0).json()["found"], 1);
    // A minus needs no care, and a beginning of an id is enough.
    let turned = |words: &[&str]| search(words).exits(0).json()["found"].as_u64().unwrap();
    assert_eq!([turned(&["-is:example", "--json"]), turned(&["0.75", "-is:example", "--json"])], [1, 1]);
    assert_eq!(turned(&["-is:example -mode:json", "--json"]), 0);
    let [one, all] = [turned(&["id:2026-11-22T00-00-38", "--json"]), turned(&["id:2026-11-22", "--json"])];
    assert!(one == 1 && all > 10, "{one} {all}");
    program.run(["sessions", "failures", "-is:example", "--json"]).exits(0);
    let wrong = search(&["mode:json", "stats:ok"]);
    wrong.exits(2).reports("(did you mean `status`?)\n  mode:json stats:ok\n            ^^^^^^");
    let taken = search(&["after:2026-11-22"]);
    taken
        .exits(0)
        .reports("0 of ")
        .reports("notice: `after:2026-11-22` was searched as text; filters are mode, model, ");
    for text in ["https://nowhere.example", "std::vec", "no such words"] {
        assert!(!search(&[text]).exits(0).stderr.contains("notice"), "{text}");
    }
    let example = search(&["is:example", "--json", "--limit", "1"]).exits(0).json();
    assert_eq!(example["sessions"][0]["path"], serde_json::Value::Null, "it is part of the program");
    assert!(search(&["--help"]).stdout.contains("turns>3"));
}

/// A session file whose only call has these arguments and this result.
fn with_call(dir: &Path, number: u32, args: &Value, result: &Value) {
    let id = SessionId::new(1_000 + i64::from(number) * 1_000, number);
    let mut events = Vec::new();
    let mut add = |address: &str, kind: &str, data: Value| {
        let data = serde_json::value::to_raw_value(&data).unwrap();
        let event = Event::read(kind, &data).unwrap();
        events.push(Envelope { seq: events.len() as u64 + 1, at_ms: 0, address: Address::from(address), event });
    };
    let agent = json!({"name": "a", "toml": "prompt = \"p\"", "sha": ""});
    let model = json!({"alias": "m", "provider": "p", "id": "m"});
    add(
        "r0",
        "run.start",
        json!({"agent": agent, "mode": "json", "model": model, "limits": [], "context": {}, "seed": 0}),
    );
    add("r0/t1", "turn.start", json!({"now": 0, "remaining": {"turns": 1}}));
    add("r0/t1/c0", "tool.call", json!({"name": "t", "kind": "table", "args": args}));
    add("r0/t1/c0", "tool.end", json!({"status": "ok", "result": result, "ms": 1}));
    write_session(dir, &Header::new(id, 0), &events).unwrap();
}

/// Every text of data as its reader sees it: names, texts and numbers.
fn texts(data: &Value, out: &mut Vec<String>) {
    match data {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            out.push(name.clone());
            texts(value, out);
        }),
        other => out.push(other.to_string()),
    }
}

/// Words in which JSON, patterns and shells would escape something.
const WORDS: [&str; 14] = [
    r"C:\path\new",
    "say \"hi\"",
    "two\nlines",
    "tab\there",
    "a/b",
    "ÄÖ ß",
    "\u{202e}bidi",
    "/e n/",
    "lamp",
    "0.75",
    "é",
    r"\d+",
    "'quoted'",
    "x{y}",
];

fn data() -> impl Strategy<Value = Value> {
    let word = (0..WORDS.len(), "[a-z ]{0,4}").prop_map(|(place, more)| format!("{more}{}{more}", WORDS[place]));
    let leaf = prop_oneof![word.clone().prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A query finds the same as reading every session.
    #[test]
    fn a_search_finds_what_reading_every_session_finds(
        calls in prop::collection::vec((data(), data()), 1..6),
        words in prop::collection::vec((0..WORDS.len(), 0..4_usize, 1..9_usize), 12),
    ) {
        let dir = tempfile::tempdir().unwrap();
        for ((args, result), number) in calls.iter().zip(0..) {
            with_call(dir.path(), number, &json!({"in": args}), result);
        }
        let mut catalogue = Catalogue::open(dir.path());
        for (place, skip, length) in words {
            let word: String = WORDS[place].chars().skip(skip).take(length).collect();
            // Quotes, brackets and commas are also between the texts.
            if word.trim().is_empty() || word.contains(['"', '{', '}', '[', ']', ',', ':']) {
                continue;
            }
            for (field, name) in [(Field::Args, "args"), (Field::Result, "result")] {
                let pattern = regex::RegexBuilder::new(&regex::escape(&word)).case_insensitive(true).build().unwrap();
                let read = |data: &Value| {
                    let mut all = Vec::new();
                    texts(data, &mut all);
                    all.iter().any(|text| pattern.is_match(text))
                };
                let expected: Vec<usize> = calls.iter().enumerate().rev()
                    .filter(|(_, (args, result))| if field == Field::Args { read(&json!({"in": args})) } else { read(result) })
                    .map(|(number, _)| number)
                    .collect();
                let query = Query { terms: vec![Term { pattern, absent: false }], fields: vec![field], ..Query::default() };
                let found = catalogue.find(&query, &Marks::default());
                let found: Vec<usize> = found.iter().map(|found| usize::from_str_radix(&found.summary.id[21..], 16).unwrap()).collect();
                prop_assert_eq!(found, expected, "in:{} {:?}", name, word);
            }
        }
    }
}

#[test]
fn a_text_in_arguments_and_results_is_found_as_its_reader_sees_it() {
    let dir = tempfile::tempdir().unwrap();
    with_call(dir.path(), 0, &json!({"path": "C:\\path"}), &json!("C:\\path\\new and \"quotes\""));
    with_call(dir.path(), 1, &json!({"path": "elsewhere"}), &json!({"text": ["two\nlines"]}));
    let ids = |query: &str| found(dir.path(), query).0.iter().map(|line| line[..8].to_owned()).collect::<Vec<_>>();
    assert_eq!(ids(r"in:result C:\path"), ["00000000"]);
    assert_eq!(ids(r"in:args C:\path"), ["00000000"]);
    assert_eq!(ids(r"in:result C:\\path"), [""; 0]);
    assert_eq!(ids(r#"in:result /and "quotes"/"#), ["00000000"]);
    assert_eq!(ids("in:result /^lines/"), ["00000001"], "a line of a text begins a line");
}
