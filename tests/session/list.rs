//! Listing and finding: order within one second, `last`, ids and their beginnings, examples after the user's own.

use ptc_workbench::config::{Config, Folders};
use ptc_workbench::model::script;
use ptc_workbench::session::{FindError, Header, Parent, ParentKind, SessionId, find, list, summarize};
use ptc_workbench::workbench::{Workbench, example_sessions};

use super::{recorder, run_into};
use crate::cli::program::Program;
use crate::engine::agent;

/// Sessions made at these times with these ends of their ids.
async fn sessions(dir: &std::path::Path, made: &[(i64, u32)]) -> Vec<String> {
    let mut ids = Vec::new();
    for (created_ms, chance) in made {
        let recorder = recorder(dir, *created_ms, *chance);
        run_into(&recorder, &agent("x", "() -> :int"), "{}", &script(["1"])).await;
        ids.push(recorder.path().file_stem().unwrap().to_str().unwrap().to_owned());
    }
    ids
}

#[tokio::test]
async fn sessions_of_one_second_are_ordered_by_their_milliseconds() {
    let dir = tempfile::tempdir().unwrap();
    // The chance in the ids runs against the time.
    let ids = sessions(dir.path(), &[(5_900, 1), (5_100, 9), (5_500, 5), (4_000, 7)]).await;
    let listed: Vec<_> = list(dir.path()).into_iter().map(|summary| summary.id).collect();
    assert_eq!(listed, [&ids[0], &ids[2], &ids[1], &ids[3]].map(Clone::clone));
    assert_eq!(find(dir.path(), "last").unwrap().file_stem().unwrap().to_str().unwrap(), ids[0]);
}

#[tokio::test]
async fn a_beginning_names_a_session_when_only_one_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let ids = sessions(dir.path(), &[(5_000, 0x1a), (5_000, 0x1b), (66_000, 0x1b)]).await;
    for (name, id) in [(&ids[0][..], 0), (&ids[2][..18], 2)] {
        assert_eq!(find(dir.path(), name).unwrap().file_stem().unwrap().to_str().unwrap(), ids[id]);
    }
    let several = FindError::Several { name: ids[0][..28].to_owned(), ids: ids[..2].to_vec() };
    assert_eq!(find(dir.path(), &ids[0][..28]), Err(several));
    // The random part of an id, as cases are named after it.
    let random = ids[0].rsplit('-').next().unwrap();
    assert!(find(dir.path(), random).unwrap().ends_with(format!("{}.jsonl", ids[0])), "{random}");
    for name in ["", "1971", "Z", "last ", "0Z-", &random[6..]] {
        assert!(matches!(find(dir.path(), name), Err(FindError::None { .. })), "{name:?}");
    }
}

#[tokio::test]
async fn an_example_is_meant_only_when_no_own_session_is() {
    let dir = tempfile::tempdir().unwrap();
    let workbench =
        Workbench::new(Config::built_in().unwrap(), Folders::at(dir.path().into(), dir.path(), Some(dir.path())));
    let examples = example_sessions();
    let example = examples[0].header.id.clone();
    assert_eq!(workbench.open_session(example.as_str()).unwrap().header.id, example);
    assert!(workbench.open_session("last").is_err());
    // Own sessions of the same second: the beginning is theirs, and not unique.
    let ids = sessions(dir.path(), &[(examples[0].header.created_ms, 1), (examples[0].header.created_ms, 2)]).await;
    assert_eq!(ids[0][..20], example.as_str()[..20]);
    assert!(workbench.open_session(&ids[0][..20]).unwrap_err().0.contains("is ambiguous: 2 session ids start with it"));
    assert_eq!(workbench.open_session("last").unwrap().header.id.as_str(), ids[1]);
    let listed = workbench.sessions();
    assert_eq!(listed.len(), examples.len() + 2);
    assert_eq!(listed.last().unwrap().id, example.as_str());
}

#[test]
fn a_pipeline_is_listed_and_found_by_its_name() {
    let of_pipeline = example_sessions()
        .iter()
        .find(|session| session.skeleton().roots().any(|run| run.pipeline.is_some()))
        .expect("an example of a pipeline");
    let last = of_pipeline.skeleton().last().unwrap().agent.clone();
    let listed = summarize(of_pipeline);
    assert_eq!(listed.agent, "quote");
    let program = Program::new();
    let id = listed.id.as_str();
    for words in ["agent:quote".to_owned(), format!("agent:{last}")] {
        let found = program.run(["sessions", "search", &words, "--json"]);
        assert!(found.exits(0).stdout.contains(id), "{words}: {}", found.stdout);
    }
}

#[test]
fn a_chain_of_any_length_is_drawn_in_trees_of_bounded_depth() {
    const CHAIN: usize = 3_000;
    let program = Program::new();
    std::fs::create_dir(program.sessions_dir()).unwrap();
    let id = |at: usize| SessionId::new(1_000 * i64::try_from(at).unwrap(), 7).to_string();
    for at in 0..CHAIN {
        let mut header =
            Header::new(SessionId::new(1_000 * i64::try_from(at).unwrap(), 7), 1_000 * i64::try_from(at).unwrap());
        header.parent = at.checked_sub(1).map(|above| Parent::whole(id(above), ParentKind::Continue));
        let line = serde_json::to_string(&header).unwrap() + "\n";
        std::fs::write(program.sessions_dir().join(header.id.file_name()), line).unwrap();
    }
    let drawn = program.run(["sessions", "tree"]).exits(0).stdout.clone();
    assert_eq!(drawn.lines().count(), CHAIN, "each session stands there once");
    let deepest = drawn.lines().map(|line| line.len() - line.trim_start().len()).max().unwrap();
    let roots: Vec<&str> = drawn.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(deepest < 200 && roots.len() > 1, "{deepest}");
    assert_eq!(roots[0], id(0));
    let second = roots[1].split_once("  continuation of ").unwrap();
    assert!(second.1.ends_with(", listed at the end of another tree"), "{second:?}");
    let data = program.run(["sessions", "tree", "--json"]).exits(0).stdout.clone();
    assert_eq!(data.matches("\"id\":").count(), CHAIN);
    assert!(program.run(["sessions", "tree", second.0]).exits(0).stdout.starts_with(second.0));
}
