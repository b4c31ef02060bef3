//! Text from outside on a terminal: nothing in a reply, a name or a file may move the cursor or hide text.

use super::program::{Done, Program};

/// Sequences that would clear the screen, set the title, write to the clipboard, reorder or hide text, ring or overwrite.
const HOSTILE: &str =
    "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{1b}]52;c;aGk=\u{1b}\\\u{202e}\u{2066}\u{200b}\u{feff}\u{8}\u{7f}\r";

fn is_safe(done: &Done) {
    for (name, text) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
        let hostile = |c: char| {
            c.is_control() && c != '\n'
                || matches!(c, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        };
        assert!(!text.contains(hostile), "{name}: {text:?}");
    }
}

#[test]
fn replies_names_contexts_and_sessions_reach_the_terminal_without_their_sequences() {
    let program = Program::new();
    let toml = |text: &str| serde_json::to_string(text).unwrap().replace('\u{7f}', "\\u007f");
    let agent = format!(
        "name = {}\nmode = \"json\"\nprompt = {}\nsignature = \"(x :string?) -> {{a :string}}\"\n",
        toml(&format!("n{HOSTILE}")),
        toml(&format!("p{HOSTILE} {{{{x}}}}"))
    );
    program.file("hostile.toml", agent);
    program.file("x.txt", HOSTILE);
    let reply = format!("{HOSTILE} {{\"a\": {}, \"b{HOSTILE}\": 1}}", serde_json::to_string(HOSTILE).unwrap());
    for json in [&["--json"][..], &[]] {
        let arguments = ["run", "hostile.toml", "--model", "human", "--set", "x=@x.txt"];
        let done = program.fed(arguments.iter().chain(json), &reply);
        done.exits(0);
        is_safe(&done);
    }
    let later: [&[&str]; 9] = [
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["sessions", "show", "last"],
        &["sessions", "show", "last", "--json"],
        &["replay", "last"],
        &["prompt", "hostile.toml", "--model", "sample", "--set", "x=@x.txt"],
        &["run", "hostile.toml", "--model", HOSTILE],
        &["run", HOSTILE],
        &["signature", "check", HOSTILE],
    ];
    for arguments in later {
        is_safe(&program.run(arguments));
    }
}

#[test]
fn a_session_file_cannot_smuggle_sequences_into_the_list() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample"]).exits(0);
    let file = program.session_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let id = file.file_stem().unwrap().to_str().unwrap();
    let hostile = "\\u001b[2J\\u009b31m\\u202e";
    let altered = text
        .replace(&format!("\"id\":\"{id}\""), &format!("\"id\":\"{id}{hostile}\""))
        .replace("\"mode\":\"json\"", &format!("\"mode\":\"json{hostile}\""))
        .replace("\"alias\":\"sample\"", &format!("\"alias\":\"sample{hostile}\""))
        .replace("\"k\":\"check\"", &format!("\"k\":\"check{hostile}\""));
    assert_ne!(text, altered);
    std::fs::write(&file, altered).unwrap();
    for arguments in [&["sessions", "list"][..], &["sessions", "show", "last"], &["replay", "last"]] {
        is_safe(&program.run(arguments));
    }
}

#[test]
fn a_large_text_runs_is_saved_and_replays() {
    let program = Program::new();
    let repeats = if crate::is_long() { 160_000 } else { 40_000 };
    program.file("big.txt", "ü a long line without an end ".repeat(repeats));
    let done = program.run(["run", "sentiment", "--model", "sample:missing_field", "--set", "text=@big.txt", "--json"]);
    assert!(done.exits(0).stdout.len() > repeats * 30);
    program.run(["replay", "last", "--check"]).exits(0);
    let line = program.run(["sessions", "list"]);
    assert!(line.exits(0).stdout.lines().all(|line| line.chars().count() < 160), "{}", line.stdout);
}

#[test]
fn colours_are_never_written_where_nobody_wants_them() {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "xterm-256color"), ("COLUMNS", "20")] {
        let program = Program::new().with_env(name, value);
        for arguments in
            [&["run", "sentiment", "--model", "sample"][..], &["--no-color", "models"], &["--help"], &["run"]]
        {
            is_safe(&program.run(arguments));
        }
    }
}
