//! The candidates screen of the real program: a search is followed, walked through, a run opened, a hunk written.

use super::terminal::Start;
use super::{CTRL_Q, ENTER, home_after_a_run};
use crate::tui::candidates::recorded;

const ESC: &str = "\x1b";

#[test]
fn a_search_is_followed_a_run_is_opened_and_a_hunk_is_written() {
    let home = home_after_a_run();
    let sessions = home.path().join(".local/share/ptc-workbench/sessions");
    let run = std::fs::read_dir(sessions).unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let run = run.filter(|path| path.extension().is_some_and(|one| one == "jsonl")).map(|path| path.with_extension(""));
    let run = run.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).find(|id| id.starts_with("20"));
    // All runs of the search are this one.
    let search = recorded(home.path(), usize::MAX);
    let journal = search.join("journal.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    let with_run = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        if value["k"] == "try" {
            value["session"] = run.clone().unwrap().into();
        }
        format!("{value}\n")
    };
    let lines: Vec<String> = lines.lines().map(with_run).collect();
    let half = lines.len() / 2;
    std::fs::write(&journal, lines[..half].concat()).unwrap();

    // The program is started elsewhere: the journal knows where the agent file is.
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let dir = search.display().to_string();
    let start = Start::workbench(home.path()).args(&["optimize", "show", &dir, "--screen"]).size(120, 40);
    let mut terminal = start.folder(&elsewhere).spawn();
    terminal.wait_for("● not ended");
    // A line may come in two pieces.
    let rest = lines[half..].concat();
    let (one, other) = rest.split_at(rest.len() / 3);
    let append = |text: &str| {
        use std::io::Write as _;
        std::fs::OpenOptions::new().append(true).open(&journal).unwrap().write_all(text.as_bytes()).unwrap();
    };
    append(one);
    append(other);
    terminal.wait_for("✓ every validation case passes");

    terminal.send("b");
    terminal.wait_for("c05 against c03");
    terminal.send(ENTER);
    terminal.wait_for("▸ ✓ won");
    terminal.send(ENTER);
    terminal.wait_for("✓ returned");
    terminal.send(ESC);
    terminal.wait_for("Cases against c");
    // A key that follows at once would be one with Alt.
    terminal.send(ESC);
    terminal.wait_for("━ Tree");
    terminal.send("w");
    terminal.wait_for("0 of 2 hunks chosen");
    terminal.send(" ");
    terminal.wait_for("1 of 2 hunks chosen");
    terminal.send(ENTER);
    terminal.wait_for("wrote 1 hunk of");
    let agent = std::fs::read_to_string(home.path().join("desk.toml")).unwrap();
    assert!(agent.contains("Requests about") && agent.contains("label = \"what the request is about\""), "{agent}");
    terminal.send(CTRL_Q);
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}
