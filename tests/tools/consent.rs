//! Consent: who decides, what is recorded, what is kept for good, and that a replay starts nothing.

use super::{agent, script};
use crate::cli::program::Program;
use ptc_workbench::event::{AnswerGiven, Event, QuestionAsked};
use ptc_workbench::tool::{self, Grant, Grants};

const CALL: &str = "(return (tool/t {:n 1}))";

/// A tool that adds a line to the file `calls`.
fn counting(program: &Program) -> String {
    let argv = script(program, "count.sh", "echo x >> calls\necho '\"done\"'\n");
    format!("[tools.t]\nkind = \"command\"\ncommand = {argv}\n")
}

fn calls(program: &Program) -> usize {
    std::fs::read_to_string(program.dir().join("calls")).unwrap_or_default().lines().count()
}

fn decisions(program: &Program) -> Vec<(QuestionAsked, Option<AnswerGiven>)> {
    let session = program.session();
    let events: Vec<_> = session.events().collect();
    let questions = events.iter().filter_map(|envelope| match &envelope.event {
        Event::QuestionAsked(question) => Some((envelope.address.clone(), question.clone())),
        _ => None,
    });
    let answer = |address| {
        events.iter().find_map(|envelope| match &envelope.event {
            Event::AnswerGiven(answer) if envelope.address == address => Some(answer.clone()),
            _ => None,
        })
    };
    questions.map(|(address, question)| (question, answer(address))).collect()
}

#[test]
fn nobody_there_means_no_call() {
    let program = Program::new();
    program.file("a.toml", agent(CALL, &counting(&program)));
    program.run(["run", "a.toml"]).exits(1).reports("tool_denied").reports("--allow-tools");
    assert_eq!(calls(&program), 0);
    let [(question, Some(answer))] = &decisions(&program)[..] else { panic!("one question") };
    assert_eq!((question.kind.name(), answer.by.name(), answer.value.as_str()), ("consent", "default", "\"deny\""));
    assert!(question.text.contains("count.sh") && question.text.contains("{\"n\":1}"), "{}", question.text);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn the_flag_allows_and_a_replay_starts_nothing() {
    let program = Program::new();
    program.file("a.toml", agent("(return [(tool/t {:n 1}) (tool/t {:n 2})])", &counting(&program)));
    program.run(["run", "a.toml", "--allow-tools"]).exits(0);
    assert_eq!(calls(&program), 2);
    let shown = decisions(&program);
    assert_eq!(shown.len(), 1, "one question for the run");
    assert_eq!(shown[0].1.as_ref().map(|answer| answer.by.name()), Some("--allow-tools"));
    program.run(["replay", "last", "--check", "--allow-tools"]).exits(0);
    assert_eq!(calls(&program), 2);
}

#[test]
fn calls_of_branches_ask_once_and_replay() {
    let program = Program::new();
    let code = "(return (count (pmap (fn [n] (tool/t {:n n})) (range 8))))";
    program.file("a.toml", agent(code, &counting(&program)));
    program.run(["run", "a.toml", "--allow-tools"]).exits(0);
    assert_eq!((calls(&program), decisions(&program).len()), (8, 1));
    for _ in 0..5 {
        program.run(["replay", "last", "--check"]).exits(0);
    }
}

/// Records a run of two allowed calls and cuts its file before the first line that holds `text`, counted from 1.
fn cut_before(text: &str, number: usize) -> Program {
    let program = Program::new();
    program.file("a.toml", agent("(return [(tool/t {:n 1}) (tool/t {:n 2})])", &counting(&program)));
    program.run(["run", "a.toml", "--allow-tools"]).exits(0);
    let file = program.session_file();
    let recorded = std::fs::read_to_string(&file).unwrap();
    let (at, _) = recorded.match_indices(text).nth(number - 1).expect("the line is recorded");
    let line = recorded[..at].rfind('\n').map_or(0, |end| end + 1);
    std::fs::write(&file, &recorded[..line]).unwrap();
    std::fs::remove_file(program.dir().join("calls")).unwrap();
    program
}

#[test]
fn a_recorded_consent_allows_nothing_that_is_done_now() {
    // Before the first call but after its answer; before the second call, which the first answer covered.
    for (number, recorded) in [(1, 0), (2, 1)] {
        let program = cut_before("\"k\":\"tool.call\"", number);
        program.run(["resume", "last"]).exits(1).reports("tool_denied");
        assert!(!program.dir().join("calls").exists(), "a call was made on a recorded answer");
        program.run(["replay", "last", "--check"]).exits(0);

        let program = cut_before("\"k\":\"tool.call\"", number);
        program.run(["resume", "last", "--allow-tools"]).exits(0);
        assert_eq!(calls(&program), 2 - recorded);
        program.run(["replay", "last", "--check"]).exits(0);
    }
}

#[test]
fn a_call_that_is_repeated_is_asked_for_again() {
    let program = cut_before("\"k\":\"tool.end\"", 1);
    let effectful = std::fs::read_to_string(program.session_file()).unwrap().contains("\"effectful\":true");
    assert!(effectful, "a command may have had effects");
    program.run(["resume", "last"]).exits(4).reports("may have taken effect");
    program.run(["resume", "last", "--answer", "repeat"]).exits(1).reports("tool_denied");
    assert!(!program.dir().join("calls").exists(), "a call was made on a recorded answer");
    program.run(["replay", "last", "--check"]).exits(0);
}

/// Allows the tool of `a.toml` always, as the answer `always` in the folder of the program does.
fn allow_always(program: &Program, argv: &[&str]) -> Grant {
    let states = program.run(["tools", "a.toml", "--json"]).exits(0).json();
    let definition = states[0]["definition"].as_str().expect("the tool has a definition").to_owned();
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let folder = Some(program.dir().display().to_string());
    let grant = Grant::of_program(definition, &tool::Program { argv, folder, variables: Vec::new() });
    let file = program.dir().join("home/.local/share/ptc-workbench/tools/allowed");
    Grants::at(file).grant(&grant).unwrap();
    grant
}

#[test]
fn a_grant_is_for_one_program_in_one_place_and_can_be_revoked() {
    let program = Program::new();
    script(&program, "count.sh", "echo x >> calls\necho '\"done\"'\n");
    let tools = "[tools.t]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"count.sh\"]\n";
    program.file("a.toml", agent(CALL, tools));
    let grant = allow_always(&program, &["/bin/sh", "count.sh"]);
    program.run(["run", "a.toml"]).exits(0);
    assert_eq!(calls(&program), 1);
    program.run(["replay", "last", "--check"]).exits(0);

    // Another program of that name.
    script(&program, "count.sh", "echo x >> calls\necho '\"changed\"'\n");
    program.run(["run", "a.toml"]).exits(1).reports("tool_denied").reports("content of count.sh");
    assert_eq!(calls(&program), 1);
    program.run(["replay", "last", "--check"]).exits(0);
    script(&program, "count.sh", "echo x >> calls\necho '\"done\"'\n");
    program.run(["run", "a.toml"]).exits(0);

    // The same program in another folder.
    std::fs::create_dir(program.dir().join("other")).unwrap();
    std::fs::copy(program.dir().join("count.sh"), program.dir().join("other/count.sh")).unwrap();
    let mut elsewhere = program.command(["run", "../a.toml"]);
    let denied = elsewhere.current_dir(program.dir().join("other")).output().unwrap();
    assert!(String::from_utf8_lossy(&denied.stderr).contains("tool_denied"), "{denied:?}");
    assert!(!program.dir().join("other/calls").exists());

    let listed = program.run(["tools", "grants"]).exits(0).printed();
    assert!(listed.contains(&grant.id()) && listed.contains("count.sh"), "{listed}");
    program.run(["tools", "grants", "--revoke", "nothing"]).exits(2).reports("tools grants");
    assert!(program.run(["tools", "grants", "--revoke", &grant.id()]).exits(0).printed().starts_with("revoked"));
    program.run(["run", "a.toml"]).exits(1).reports("tool_denied");
    assert_eq!(calls(&program), 2);
}
