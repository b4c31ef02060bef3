//! The rules of tidiness find what breaks them: small made-up files, one rule each.

use super::source::{Source, Tree};
use super::{
    COLOURS, CORE, DECISIONS, PACKAGE, PROCESSES, PURITY, SOCKETS, TABLE_OF_LIMITS, panics, silenced, todo_marks,
    too_long, trespasses, untested, vague_name, wrong_file_imports, wrong_imports,
};

fn tree<const N: usize>(files: [(&str, &str); N]) -> Tree {
    Tree::of(files.map(|(path, text)| (path.to_owned(), text.to_owned())))
}

/// The findings of a rule about one file.
fn findings(path: &str, text: &str, rule: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    tree([(path, text)]).sources.iter().flat_map(rule).collect()
}

#[test]
fn an_import_upwards_or_sideways_is_found() {
    let package = |source: &Source| wrong_imports(source, "src/", PACKAGE);
    let text = "use crate::model::Model;\nuse crate::{event::Event, tui::Screen};\nfn f() { crate::session::open() }\n";
    let expected =
        ["src/engine/turn.rs:2: `engine` must not use `tui`", "src/engine/turn.rs:3: `engine` must not use `session`"];
    assert_eq!(findings("src/engine/turn.rs", text, package), expected);
    assert_eq!(findings("src/tui.rs", "use crate::{workbench, event, tui::keys};", package), [""; 0]);
    assert_eq!(findings("src/main.rs", "use crate::tui;", package), [""; 0]);
    let expected = ["src/extra/mod.rs:1: the module `extra` has no place in the layers of tests/tidy.rs"];
    assert_eq!(findings("src/extra/mod.rs", "", package), expected);

    let core = |source: &Source| wrong_imports(source, "core/src/", CORE);
    let expected = ["core/src/value/mod.rs:1: `value` must not use `signature`"];
    assert_eq!(findings("core/src/value/mod.rs", "use crate::signature::Type;", core), expected);
    let expected = ["core/src/reply/mod.rs:1: `reply` must not use `template`"];
    assert_eq!(findings("core/src/reply/mod.rs", "use crate::{signature, template};", core), expected);
}

#[test]
fn an_import_against_the_order_of_files_is_found() {
    let rows: &[&[&str]] = &[&["mod"], &["run"], &["parts/mod"], &["parts/one", "parts/two"], &["base"]];
    let engine = |source: &Source| wrong_file_imports(source, "src/engine/", rows);
    let text = "use super::two::Two;\nuse super::Both;\nuse crate::engine::{base::Base, run};\npub(in crate::engine) fn f() {}\n";
    let expected = [
        "src/engine/parts/one.rs:1: `parts/one` must not use `parts/two`",
        "src/engine/parts/one.rs:2: `parts/one` must not use `parts/mod`",
        "src/engine/parts/one.rs:3: `parts/one` must not use `run`",
    ];
    assert_eq!(findings("src/engine/parts/one.rs", text, engine), expected);
    let fine = "use super::base::Base;\nuse super::parts::{Both, one};\nuse crate::event::Event;\n";
    assert_eq!(findings("src/engine/run.rs", fine, engine), [""; 0]);
    let expected = ["src/engine/base.rs:1: `base` must not use `mod`"];
    assert_eq!(findings("src/engine/base.rs", "use super::Ports;", engine), expected);
    let expected = ["src/engine/more.rs:1: the file `more` has no place in the order of src/engine/ in tests/tidy.rs"];
    assert_eq!(findings("src/engine/more.rs", "", engine), expected);
    assert_eq!(findings("src/tui/more.rs", "use super::run;", engine), [""; 0]);
}

#[test]
fn a_reserved_path_outside_its_place_is_found() {
    let sockets = |source: &Source| trespasses(source, &SOCKETS);
    let expected = ["src/tool/http.rs:1: `reqwest::Client`: only src/model opens sockets, and src/server listens"];
    assert_eq!(findings("src/tool/http.rs", "use reqwest::Client;", sockets), expected);
    assert_eq!(findings("src/model/http.rs", "use tokio::net::TcpStream;", sockets), [""; 0]);

    let decisions = |source: &Source| trespasses(source, &DECISIONS);
    let found = findings("src/engine/modes/json.rs", "use crate::{event::Event, port::Clock};", decisions);
    assert_eq!(found.len(), 1, "{found:?}");

    let processes = |source: &Source| trespasses(source, &PROCESSES);
    let expected = ["src/cli/run.rs:2: `std::process::Command`: only src/tool starts processes"];
    assert_eq!(findings("src/cli/run.rs", "//! x\nuse std::process::{Command, ExitCode};", processes), expected);
    assert_eq!(
        findings("src/cli/run.rs", "// process::Command\nfn f() -> std::process::ExitCode {}", processes),
        [""; 0]
    );
    assert_eq!(findings("src/tui/terminal.rs", "use std::process::Command;", processes), [""; 0]);

    let colours = |source: &Source| trespasses(source, &COLOURS);
    assert_eq!(findings("src/tui/keys.rs", "let red = Color::Red;", colours).len(), 1);
    assert_eq!(findings("src/tui/theme/dark.rs", "let red = Color::Red;", colours), [""; 0]);

    let purity = |source: &Source| trespasses(source, &PURITY);
    assert_eq!(findings("core/src/a.rs", "use std::{fs, time::{Duration, Instant, SystemTime}};", purity).len(), 3);
    assert_eq!(findings("core/src/a.rs", "use crate::value::Instant;\n#[cfg(test)]\nuse std::fs;", purity), [""; 0]);
}

#[test]
fn panics_and_silenced_lints_and_marks_are_found() {
    let text = "fn f() { a.unwrap(); b.unwrap_or(c) }\n#[cfg(test)]\nmod tests { fn g() { a.unwrap() } }\n";
    assert_eq!(findings("src/a.rs", text, panics), ["src/a.rs:1: `.unwrap()`; errors are values"]);
    assert_eq!(findings("src/a.rs", "fn f() { todo!() }\nfn g() { dbg!(\"panic!\") }", panics).len(), 2);
    assert_eq!(findings("tests/a.rs", "fn f() { panic!() }", panics), [""; 0]);

    let found = findings(
        "tests/a.rs",
        "#[allow(unused)]\nfn f() {}\n#[expect(unused, reason = \"#[allow(\")]\nfn g() {}",
        silenced,
    );
    assert_eq!(found, ["tests/a.rs:1: `#[allow(…`; write #[expect(…, reason = …)]"]);

    let mark = ["TO", "DO"].concat();
    let text = format!("fn f() {{ \"{mark}\" }}\n// {mark} later");
    assert_eq!(findings("src/a.rs", &text, todo_marks), [format!("src/a.rs:2: {mark}; do it or leave it out")]);
}

#[test]
fn long_files_and_vague_names_are_found() {
    let long = "\n".repeat(501);
    let short = "\n".repeat(500);
    let length = |text: &str| findings("src/a.rs", text, |source| too_long(source).into_iter().collect());
    assert_eq!(length(&long), ["src/a.rs:500: 501 lines, 500 are allowed; split it by topic"]);
    assert_eq!(length(&short), [""; 0]);
    assert_eq!(length(&format!("//! @generated by a test{long}")), [""; 0]);
    assert_eq!(length(&format!("//! Table data: names of colours{long}")), [""; 0]);

    let name = |path: &str| findings(path, "", |source| vague_name(source).into_iter().collect());
    assert_eq!(name("src/utils/a.rs"), ["src/utils/a.rs:1: `utils` says nothing; name the thing"]);
    assert_eq!(name("src/a/common.rs").len(), 1);
    assert_eq!(name("src/commons.rs"), [""; 0]);
}

#[test]
fn rows_without_a_test_are_found() {
    let table = (
        "core/src/limits.rs",
        "limits! {\n    FIRST \"first\" \"turns\";\n    SECOND_TIMEOUT \"second_ms\" \"ms\";\n}\n",
    );
    let rows = ["first", "second_ms"];
    let used = ("src/agent.rs", "fn f() { SECOND_TIMEOUT.max }");
    let first = "core/src/limits.rs:2: no test mentions `first` or `FIRST`";
    let second = "core/src/limits.rs:3: no test mentions `second_ms` or `SECOND_TIMEOUT`";

    assert_eq!(untested(&tree([table]), &TABLE_OF_LIMITS, rows), [first, second]);
    assert_eq!(untested(&tree([table, used]), &TABLE_OF_LIMITS, rows), [first, second]);
    let tested = ("tests/a.rs", "FIRST.max");
    assert_eq!(untested(&tree([table, tested]), &TABLE_OF_LIMITS, rows), [second]);
    let data = ("tests/a/b.toml", "second_ms = 3");
    assert_eq!(untested(&tree([table, tested, data]), &TABLE_OF_LIMITS, rows), [""; 0]);
    let longer = ("tests/a/b.toml", "second_ms_more = 3");
    assert_eq!(untested(&tree([table, tested, longer]), &TABLE_OF_LIMITS, rows), [second]);
    let gone = "core/src/limits.rs: no line declares `third`";
    assert_eq!(untested(&tree([table]), &TABLE_OF_LIMITS, ["third"]), [gone]);
}
