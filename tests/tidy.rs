//! The rules of the source tree: what each file starts with, who may import whom, who may touch the outside world.
//!
//! In: the project's files. Out: one test per rule, whose message lists each place that breaks it.

mod broken;
mod circles;
mod comments;
mod dependencies;
mod pages;
mod source;
mod waits;

use std::fmt::Write as _;

use ptc_core::limits::LIMITS;
use ptc_core::reasons::REASONS;

use source::{Source, Tree};

const LONGEST: usize = 500;

/// Modules of the package from the top; each row may use the rows below it, and nothing at the same level or above.
const PACKAGE: &[&[&str]] = &[
    &["app"],
    &["tui", "cli"],
    &["serve", "proxy"],
    &["workbench", "library"],
    &["replay", "export"],
    &["session", "engine"],
    &["prompt"],
    &["agent"],
    &["tool"],
    &["model"],
    &["program"],
    &["port"],
    &["config"],
    &["record"],
    &["event"],
    &["server"],
];

/// The same for the pure core.
const CORE: &[&[&str]] =
    &[&["template", "reply", "lisp"], &["signature"], &["value"], &["text", "heap"], &["limits"], &["reasons"]];

/// The files of the engine from the top, by path without `.rs`; each row may use the rows below it, and nothing at the same level or above.
const ENGINE: &[&[&str]] = &[
    &["mod"],
    &["preview", "reader"],
    &["driver/mod"],
    &["driver/run"],
    &["driver/perform"],
    &["driver/call"],
    &[
        "driver/breakpoints",
        "driver/child",
        "driver/consent",
        "driver/gate",
        "driver/program",
        "driver/questions",
        "driver/request",
        "driver/sample",
        "driver/turn",
    ],
    &["driver/state"],
    &["driver/clock", "driver/conversation", "driver/hidden", "driver/parts", "driver/usage"],
    &["modes/mod"],
    &["modes/json", "modes/json_loop", "modes/ptc_lisp", "modes/text"],
    &["modes/conclusion", "modes/programs", "modes/returned"],
    &["modes/workspace"],
    &["modes/machine"],
    &["modes/digest", "modes/judgement", "modes/progress"],
    &["modes/calls", "modes/refs", "modes/verdict"],
    &["modes/answer", "modes/decision"],
    &["ports"],
    &["history"],
    &["input"],
    &["tree"],
];

/// Paths that only some places may use.
struct Reserved {
    rule: &'static str,
    /// Folder in which the rule holds.
    within: &'static str,
    /// Neighbouring segments of a path.
    paths: &'static [&'static [&'static str]],
    /// Files or folders that may use them, and why.
    places: &'static [(&'static str, &'static str)],
}

const SOCKETS: Reserved = Reserved {
    rule: "only src/model opens sockets, and src/server listens",
    within: "src/",
    paths: &[&["reqwest"], &["tokio", "net"], &["TcpStream"], &["TcpListener"], &["UdpSocket"], &["UnixStream"]],
    places: &[("src/model", "speaks to the services"), ("src/server", "listens")],
};

const PROCESSES: Reserved = Reserved {
    rule: "only src/tool starts processes",
    within: "src/",
    paths: &[&["process", "Command"], &["tokio", "process"], &["process", "Child"]],
    places: &[
        ("src/tool", "runs commands and tool servers"),
        ("src/model/key_command", "runs api_key_command of the user's configuration"),
        ("src/proxy/program", "runs the command after `proxy --`"),
        ("src/tui/terminal", "hands the screen to $EDITOR, and to the shell when stopped"),
    ],
};

const SERVERS: Reserved = Reserved {
    rule: "only src/tool/mcp speaks to servers of tools, with the client of src/model; only src/serve/mcp is one",
    within: "src/",
    paths: &[&["rmcp"]],
    places: &[("src/tool/mcp", "the client of the protocol"), ("src/serve/mcp", "the server of the protocol")],
};

const DECISIONS: Reserved = Reserved {
    rule: "modes decide, the driver acts: no tasks, clocks, locks or ports in src/engine/modes",
    within: "src/engine/modes/",
    paths: &[
        &["tokio"],
        &["futures"],
        &["std", "sync"],
        &["std", "time"],
        &["std", "fs"],
        &["crate", "port"],
        &["engine", "driver"],
        &["engine", "history"],
        &["engine", "ports"],
    ],
    places: &[],
};

const COLOURS: Reserved = Reserved {
    rule: "raw colours stand in src/tui/theme only; ask the theme for a style",
    within: "src/",
    paths: &[&["Color"]],
    places: &[("src/tui/theme", "the themes")],
};

const PURITY: Reserved = Reserved {
    rule: "the core knows no tasks, files, processes, sockets or clocks",
    within: "core/src/",
    paths: &[
        &["tokio"],
        &["std", "fs"],
        &["TcpStream"],
        &["TcpListener"],
        &["UdpSocket"],
        &["ToSocketAddrs"],
        &["std", "process"],
        &["std", "env"],
        &["SystemTime"],
        &["std", "time", "Instant"],
        &["Timestamp", "now"],
        &["Zoned", "now"],
        &["ptc_workbench"],
    ],
    places: &[],
};

const CREATION: Reserved = Reserved {
    rule: "files of the program are created by src/config/private.rs, so that only their owner may read them",
    within: "src/",
    paths: &[&["File", "create"], &["fs", "write"], &["create_dir_all"], &["create_dir"], &["DirBuilder"]],
    places: &[
        ("src/config/private", "creates them"),
        ("src/workbench/files", "files that the user names follow the umask"),
        ("src/workbench/bundle", "an export"),
        ("src/workbench/doctor", "tries whether a folder can be written"),
        ("src/cli/screenshot", "an export"),
        ("src/tui/scenes", "the folder of generated screens"),
    ],
};

/// A table whose rows each need a test.
struct Table {
    path: &'static str,
    /// Text before the name of a row in code.
    prefix: &'static str,
}

const TABLE_OF_LIMITS: Table = Table { path: "core/src/limits.rs", prefix: "" };
const TABLE_OF_REASONS: Table = Table { path: "core/src/reasons.rs", prefix: "Reason::" };

/// Folders whose files (other than code) are data of tests.
const DATA: &[&str] = &["tests/", "sessions/", "src/", "core/src/"];

#[test]
fn each_file_starts_with_its_role() {
    let silent = Tree::project().sources.iter().filter(|source| !source.text.starts_with("//!"));
    none(silent.map(|source| format!("{}:1: the file does not start with `//!`", source.path)));
}

#[test]
fn files_are_short() {
    none(Tree::project().sources.iter().filter_map(too_long));
}

#[test]
fn imports_of_the_package_point_one_way() {
    none(Tree::project().sources.iter().flat_map(|source| wrong_imports(source, "src/", PACKAGE)));
}

#[test]
fn imports_of_the_core_point_one_way() {
    none(Tree::project().sources.iter().flat_map(|source| wrong_imports(source, "core/src/", CORE)));
}

#[test]
fn imports_of_the_engine_point_one_way() {
    none(Tree::project().sources.iter().flat_map(|source| wrong_file_imports(source, "src/engine/", ENGINE)));
}

#[test]
fn the_modes_decide_and_do_not_act() {
    none(Tree::project().sources.iter().flat_map(|source| trespasses(source, &DECISIONS)));
    let modes = Tree::project().sources.iter().filter(|source| source.path.starts_with(DECISIONS.within));
    none(modes.flat_map(|source| {
        ["async ", ".await"].iter().flat_map(|word| source.find(word)).map(|at| source.place(at)).collect::<Vec<_>>()
    }));
}

#[test]
fn only_the_models_open_sockets() {
    none(Tree::project().sources.iter().flat_map(|source| trespasses(source, &SOCKETS)));
}

#[test]
fn only_one_place_speaks_to_servers_of_tools() {
    none(Tree::project().sources.iter().flat_map(|source| trespasses(source, &SERVERS)));
}

#[test]
fn only_the_tools_start_processes() {
    none(Tree::project().sources.iter().flat_map(|source| trespasses(source, &PROCESSES)));
}

#[test]
fn raw_colours_are_in_the_theme_only() {
    none(Tree::project().sources.iter().flat_map(|source| trespasses(source, &COLOURS)));
}

#[test]
fn files_of_the_program_are_private() {
    none(Tree::project().sources.iter().flat_map(|source| trespasses(source, &CREATION)));
}

#[test]
fn the_core_is_pure() {
    none(Tree::project().sources.iter().flat_map(|source| trespasses(source, &PURITY)));
}

#[test]
fn nothing_panics_on_purpose_outside_of_tests() {
    none(Tree::project().sources.iter().flat_map(panics));
}

#[test]
fn no_lint_is_silenced_without_a_reason() {
    none(Tree::project().sources.iter().flat_map(silenced));
}

#[test]
fn nothing_is_left_for_later() {
    none(Tree::project().sources.iter().flat_map(todo_marks));
}

#[test]
fn modules_have_names_that_say_something() {
    none(Tree::project().sources.iter().filter_map(vague_name));
}

#[test]
fn the_folder_of_shared_material_is_not_named() {
    let name = ["work", "shared"].join("/");
    let tree = Tree::project();
    let rust = tree.sources.iter().map(|source| (&source.path, &source.text));
    let files = rust.chain(tree.data.iter().map(|data| (&data.path, &data.text)));
    none(files.flat_map(|(path, text)| {
        let lines = text.lines().enumerate().filter(|(_, line)| line.contains(&name));
        lines.map(|(at, _)| format!("{path}:{}: names the folder of shared material", at + 1)).collect::<Vec<_>>()
    }));
}

/// Entries of the project's root.
const ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".dockerignore",
    ".editorconfig",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "LICENSE",
    "README.md",
    "assets",
    "benches",
    "build.rs",
    "clippy.toml",
    "core",
    "deny.toml",
    "docs",
    "examples",
    "fuzz",
    "proptest-regressions",
    "rustfmt.toml",
    "sessions",
    "src",
    "tests",
];

#[test]
fn nothing_but_the_project_is_tracked_at_its_root() {
    let listed =
        std::process::Command::new("git").args(["ls-files", "-z"]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    // A package of the sources has no repository.
    let Ok(listed) = listed else { return };
    let paths = String::from_utf8_lossy(&listed.stdout).into_owned();
    let foreign = paths.split('\0').filter_map(|path| path.split('/').next()).filter(|first| !first.is_empty());
    none(foreign.filter(|first| !ROOT.contains(first)).map(str::to_owned).collect::<std::collections::BTreeSet<_>>());
}

#[test]
fn each_limit_has_a_test() {
    none(untested(Tree::project(), &TABLE_OF_LIMITS, LIMITS.iter().map(|limit| limit.name)));
}

#[test]
fn each_reason_has_a_test() {
    none(untested(Tree::project(), &TABLE_OF_REASONS, REASONS.iter().map(|row| row.name)));
}

/// Fails with all findings, one per line.
fn none(findings: impl IntoIterator<Item = String>) {
    let mut list = String::new();
    for finding in findings {
        _ = write!(list, "\n  {finding}");
    }
    assert!(list.is_empty(), "{list}");
}

fn too_long(source: &Source) -> Option<String> {
    let first = source.text.lines().next().unwrap_or_default().to_lowercase();
    let lines = source.text.lines().count();
    let exempt = first.contains("@generated") || first.contains("table data");
    (lines > LONGEST && !exempt)
        .then(|| format!("{}:{LONGEST}: {lines} lines, {LONGEST} are allowed; split it by topic", source.path))
}

/// The module right below the crate root that a path belongs to.
fn module<'s>(path: &'s str, root: &str) -> Option<&'s str> {
    let inside = path.strip_prefix(root)?;
    let name = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
    (!matches!(name, "lib" | "main")).then_some(name)
}

fn wrong_imports(source: &Source, root: &str, layers: &[&[&str]]) -> Vec<String> {
    let layer = |name: &str| layers.iter().position(|row| row.contains(&name));
    let Some(own) = module(&source.path, root) else { return Vec::new() };
    let Some(own_layer) = layer(own) else {
        return vec![format!("{}:1: the module `{own}` has no place in the layers of tests/tidy.rs", source.path)];
    };
    let paths = source.paths();
    let imports = paths.iter().filter_map(|(offset, segments)| match segments.as_slice() {
        [first, target, ..] if first == "crate" => Some((offset, target)),
        _ => None,
    });
    let upward = imports.filter(|(_, target)| *target != own && layer(target).is_some_and(|layer| layer <= own_layer));
    let mut findings: Vec<String> =
        upward.map(|(at, target)| format!("{}: `{own}` must not use `{target}`", source.place(*at))).collect();
    // A group of names from one module is one import.
    findings.dedup();
    findings
}

/// Imports between the files of a folder that go against their order. `rows`: the files, by path without `.rs`.
fn wrong_file_imports(source: &Source, folder: &str, rows: &[&[&str]]) -> Vec<String> {
    let row = |name: &str| rows.iter().position(|row| row.contains(&name));
    let Some(own) = source.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs")) else {
        return Vec::new();
    };
    let Some(own_row) = row(own) else {
        return vec![format!(
            "{}:1: the file `{own}` has no place in the order of {folder} in tests/tidy.rs",
            source.path
        )];
    };
    let module: Vec<&str> = own.split('/').filter(|part| *part != "mod").collect();
    let root: Vec<&str> = folder.trim_end_matches('/').split('/').skip(1).collect();
    let mut findings = Vec::new();
    for (at, segments) in source.paths() {
        let names: Vec<&str> = segments.iter().map(String::as_str).collect();
        let ups = names.iter().take_while(|name| **name == "super").count();
        let named = match names.strip_prefix(&["crate"]).and_then(|names| names.strip_prefix(root.as_slice())) {
            Some([]) => continue,
            Some(names) => names.to_vec(),
            None if ups > 0 && ups <= module.len() => [&module[..module.len() - ups], &names[ups..]].concat(),
            None => continue,
        };
        // The file that holds what is named: the longest start of the path that is one.
        let starts = (0..=named.len()).rev().map(|end| named[..end].join("/"));
        let mut files = starts.flat_map(|start| [format!("{start}/mod").trim_start_matches('/').to_owned(), start]);
        let target = files.find(|file| row(file).is_some()).unwrap_or_default();
        if target != own && row(&target).is_none_or(|row| row <= own_row) {
            findings.push(format!("{}: `{own}` must not use `{target}`", source.place(at)));
        }
    }
    // A group of names from one file is one import.
    findings.dedup();
    findings
}

fn trespasses(source: &Source, reserved: &Reserved) -> Vec<String> {
    let path = source.path.as_str();
    let inside = |(place, _): &(&str, &str)| path == format!("{place}.rs") || path.starts_with(&format!("{place}/"));
    if !path.starts_with(reserved.within) || reserved.places.iter().any(inside) {
        return Vec::new();
    }
    let is_reserved = |segments: &[String]| {
        reserved.paths.iter().any(|names| segments.windows(names.len()).any(|part| part.iter().eq(names.iter())))
    };
    let paths = source.paths();
    let found = paths.iter().filter(|(_, segments)| is_reserved(segments));
    found.map(|(at, segments)| format!("{}: `{}`: {}", source.place(*at), segments.join("::"), reserved.rule)).collect()
}

fn panics(source: &Source) -> Vec<String> {
    let words = [".unwrap()", "todo!", "unimplemented!", "dbg!", "panic!"];
    let found = words.iter().flat_map(|word| source.find(word).map(move |at| (at, word)));
    found.map(|(at, word)| format!("{}: `{word}`; errors are values", source.place(at))).collect()
}

fn silenced(source: &Source) -> Vec<String> {
    let marks = ["#[allow(", "#![allow("];
    let found = marks.iter().flat_map(|mark| source.code.match_indices(mark));
    found.map(|(at, mark)| format!("{}: `{mark}…`; write #[expect(…, reason = …)]", source.place(at))).collect()
}

fn todo_marks(source: &Source) -> Vec<String> {
    let marks = ["TODO", "FIXME"];
    let found = marks.iter().flat_map(|mark| source.comments.match_indices(mark));
    found.map(|(at, mark)| format!("{}: {mark}; do it or leave it out", source.place(at))).collect()
}

fn vague_name(source: &Source) -> Option<String> {
    let vague = ["util", "utils", "helper", "helpers", "manager", "common", "misc"];
    let mut names = source.path.trim_end_matches(".rs").split('/');
    let name = names.find(|name| vague.contains(name))?;
    Some(format!("{}:1: `{name}` says nothing; name the thing", source.path))
}

/// The rows that no test and no data file mentions.
fn untested<'r>(tree: &Tree, table: &Table, rows: impl IntoIterator<Item = &'r str>) -> Vec<String> {
    let (own, others): (Vec<&Source>, Vec<&Source>) = tree.sources.iter().partition(|source| source.path == table.path);
    let data = tree.data.iter().filter(|data| DATA.iter().any(|folder| data.path.starts_with(folder)));
    let test_texts: Vec<&str> =
        others.iter().flat_map(|source| source.test_text()).chain(data.map(|data| data.text.as_str())).collect();
    let mut findings = Vec::new();
    for name in rows {
        let Some((line, word)) = own.iter().find_map(|source| declaration(&source.text, name)) else {
            findings.push(format!("{}: no line declares `{name}`", table.path));
            continue;
        };
        let code = format!("{}{word}", table.prefix);
        if !test_texts.iter().any(|text| mentions(text, name) || mentions(text, &code)) {
            findings.push(format!("{}:{line}: no test mentions `{name}` or `{code}`", table.path));
        }
    }
    findings
}

/// The line of a table that declares a row, and the word before the row's name: its name in code.
fn declaration<'t>(table: &'t str, name: &str) -> Option<(usize, &'t str)> {
    let quoted = format!(" \"{name}\" ");
    let (at, line) = table.lines().enumerate().find(|(_, line)| line.contains(&quoted))?;
    Some((at + 1, line.split_whitespace().next()?))
}

/// Returns whether the text contains the word, not as a part of a longer one.
fn mentions(text: &str, word: &str) -> bool {
    let apart = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word)
        .any(|(at, _)| apart(text[..at].chars().next_back()) && apart(text[at + word.len()..].chars().next()))
}
