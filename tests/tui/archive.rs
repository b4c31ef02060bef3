//! What the sessions screen asks of the real backend: marks, searches, points of forks, exports and cases of an example session.

use std::fs;

use ptc_workbench::agent::Bundled;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::tui::archive::{Archive, CaseWanted, ExportRefusal, Exporting, Place, Spot};
use ptc_workbench::tui::backend::{Backend, SessionKey, Written};
use ptc_workbench::tui::live::Live;
use ptc_workbench::workbench::{Workbench, example_sessions};

/// A backend over an empty folder, and an example session.
fn live(dir: &std::path::Path) -> (Live, String) {
    let folders = Folders::at(dir.to_owned(), dir, None);
    let agent = Bundled::find("sentiment").unwrap().agent().unwrap();
    let id = example_sessions()[0].header.id.to_string();
    (Live::new(Workbench::new(Config::built_in().unwrap(), folders), &agent, None), id)
}

#[test]
fn what_is_written_on_a_session_is_listed_and_found() {
    let dir = tempfile::tempdir().unwrap();
    let (live, id) = live(dir.path());
    let place = Place { session: id.clone(), at: None };
    let written = Written { tags: vec!["slow".to_owned()], note: "zebra crossing".to_owned(), marked: true };
    live.write(&place, &written).unwrap();
    let listed = live.sessions().unwrap();
    assert_eq!(listed.iter().find(|session| session.id == id).unwrap().written, written);
    for query in ["tag:slow", "is:marked", "zebra"] {
        let found = live.search(query).unwrap();
        assert_eq!(found.iter().map(|hit| &hit.key).collect::<Vec<_>>(), [&SessionKey::Example(id.clone())], "{query}");
    }
    live.write(&place, &Written::default()).unwrap();
    assert!(live.search("tag:slow").unwrap().is_empty());
    let bad = Written { tags: vec!["no tag, this".to_owned()], ..Written::default() };
    assert!(live.write(&place, &bad).unwrap_err().message.contains("is no tag"));
}

#[test]
fn a_wrong_query_names_its_place_and_what_is_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let (live, _) = live(dir.path());
    let problem = live.search("lamp modle:x").unwrap_err();
    assert_eq!(problem.span.unwrap().start, 5);
    assert!(problem.message.starts_with("did you mean `mode"), "{}", problem.message);
}

#[test]
fn what_stands_at_the_points_of_a_fork_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let (live, id) = live(dir.path());
    let key = SessionKey::Example(id);
    let points = live.points(&key).unwrap();
    assert!(!points.turns.is_empty() && points.turns.iter().all(|turn| turn.stages.contains(&"request")));
    for target in ["prompt", "signature", "context"] {
        let at = format!("{}:request", points.turns[0].address);
        let spot = Spot { key: key.clone(), at, target: target.to_owned() };
        assert!(!live.text_at(&spot).unwrap().text.unwrap().is_empty(), "{target}");
    }
}

#[test]
fn an_export_asks_before_it_replaces_and_a_case_goes_into_the_agent_file() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let dir = tempfile::tempdir().unwrap();
    let (live, id) = live(dir.path());
    let key = SessionKey::Example(id);
    for format in ["md", "html", "json", "atif", "otlp", "svg"] {
        let path = dir.path().join(format!("export.{format}"));
        let rules = vec!["secrets".to_owned()];
        let export =
            Exporting { format: format.to_owned(), rules, path: path.clone(), replace: false, allow_secrets: false };
        live.export(&key, &export).unwrap();
        let first = fs::read_to_string(&path).unwrap();
        assert!(!first.is_empty());
        assert_eq!(live.export(&key, &export), Err(ExportRefusal::Exists), "{format}");
        live.export(&key, &Exporting { replace: true, ..export }).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), first, "{format}");
    }
    let (format, rules, path) = ("bundle".to_owned(), Vec::new(), dir.path().join("bug"));
    let export = Exporting { format, rules, path, replace: false, allow_secrets: false };
    assert!(live.export(&key, &export).unwrap().contains("nothing left out"));
    assert!(dir.path().join("bug/agent.toml").is_file());
    let there = live.export(&key, &Exporting { replace: true, ..export });
    assert!(matches!(&there, Err(ExportRefusal::Failed(why)) if why.contains("is there already")), "{there:?}");
    let file = dir.path().join("mine.toml").display().to_string();
    let case = CaseWanted { name: "first".to_owned(), file: file.clone(), cassette: true };
    assert!(live.make_case(&key, &case).unwrap().contains("first"));
    assert!(fs::read_to_string(&file).unwrap().contains("cassettes/first.jsonl"));
    assert!(dir.path().join("cassettes/first.jsonl").exists());
}
