//! Files that a definition names: every key that can name one, with every kind of file that it must not reach.
//!
//! A stranger's agent or pipeline may name files of its own folder. Everything else needs consent, and a file that is no
//! regular one, or too large, is an error at once.

use std::path::{Path, PathBuf};

use ptc_workbench::agent::Agent;
use ptc_workbench::tool::FileAccess;
use ptc_workbench::workbench::Source;

use super::program::Program;

/// The content that must not get anywhere.
const SECRET: &str = "{\"description\": \"PLANTED-CONTENT\"}";
/// A child agent with it.
const SECRET_AGENT: &str = "mode = \"text\"\nprompt = \"PLANTED-CONTENT\"\n";

const HEAD: &str = "name = \"a\"\nmode = \"json\"\nprompt = \"x\"\n";

/// A key of a definition that can name a file.
struct NamingKey {
    name: &'static str,
    /// The definition, with `FILE` for the file.
    definition: &'static str,
    /// It names an agent file, not a schema.
    is_agent: bool,
}

const KEYS: &[NamingKey] = &[
    NamingKey { name: "schema", definition: "schema = '@FILE'", is_agent: false },
    NamingKey { name: "a mode's schema", definition: "[modes.text]\nschema = '@FILE'", is_agent: false },
    NamingKey {
        name: "a tool's file",
        definition: "signature = \"() -> :int\"\n[tools.t]\nkind = \"agent\"\nfile = 'FILE'",
        is_agent: true,
    },
    NamingKey {
        name: "a tool's file in a mode",
        definition: "signature = \"() -> :int\"\n[modes.ptc_lisp.tools.t]\nkind = \"agent\"\nfile = 'FILE'",
        is_agent: true,
    },
    NamingKey {
        name: "the schema of a child agent",
        definition: "[tools.t]\nkind = \"agent\"\nagent = { mode = \"json\", prompt = \"x\", schema = '@FILE' }",
        is_agent: false,
    },
    NamingKey {
        name: "the schema of a child agent's mode",
        definition: "[tools.t]\nkind = \"agent\"\nagent = { prompt = \"x\", modes = { json = { schema = '@FILE' } } }",
        is_agent: false,
    },
    NamingKey {
        name: "the tool of a child agent",
        definition: "[tools.t]\nkind = \"agent\"\nagent = { prompt = \"x\", tools = { u = { kind = \"agent\", file = 'FILE' } } }",
        is_agent: true,
    },
    NamingKey {
        name: "the tool of a question to a model",
        definition: "[tools.t]\nkind = \"llm\"\nprompt = \"x\"\ntools = { u = { kind = \"agent\", file = 'FILE' } }",
        is_agent: true,
    },
];

const STEPS: &[NamingKey] = &[
    NamingKey { name: "a step's file", definition: "[[steps]]\nfile = 'FILE'", is_agent: true },
    NamingKey {
        name: "a step's schema",
        definition: "[[steps]]\nname = \"s\"\nmode = \"json\"\nprompt = \"x\"\nschema = '@FILE'",
        is_agent: false,
    },
    NamingKey {
        name: "a step's tool",
        definition: "[[steps]]\nname = \"s\"\nprompt = \"x\"\n[steps.tools.t]\nkind = \"agent\"\nfile = 'FILE'",
        is_agent: true,
    },
];

/// A folder `own` with links out of it, and a folder `other` with what they lead to.
struct Folders {
    _dir: tempfile::TempDir,
    own: PathBuf,
    other: PathBuf,
}

fn folders() -> Folders {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (own, other) = (root.join("own"), root.join("other"));
    for folder in [&own, &other] {
        std::fs::create_dir(folder).unwrap();
    }
    for (name, text) in [("secret.json", SECRET), ("secret.toml", SECRET_AGENT)] {
        std::fs::write(other.join(name), text).unwrap();
        std::os::unix::fs::symlink(other.join(name), own.join(format!("link-{name}"))).unwrap();
        std::fs::hard_link(other.join(name), own.join(format!("hard-{name}"))).unwrap();
    }
    std::os::unix::fs::symlink(&other, own.join("folder")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", own.join("zero")).unwrap();
    std::fs::create_dir(own.join("inside")).unwrap();
    std::fs::File::create(own.join("huge")).unwrap().set_len(1 << 40).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(own.join("pipe")).status().unwrap().success());
    Folders { _dir: dir, own, other }
}

/// Reads the definition of a key; the text of all agents in it.
fn read(folders: &Folders, key: &NamingKey, file: &str, access: &FileAccess) -> Result<String, String> {
    let definition = key.definition.replace("FILE", file);
    let text = if definition.starts_with("[[steps]]") { definition } else { format!("{HEAD}{definition}\n") };
    let path = folders.own.join("a.toml");
    std::fs::write(&path, text).unwrap();
    let agents = match Source::find("a.toml", &path, access)? {
        Source::Agent(agent) => vec![*agent],
        Source::Pipeline(pipeline) => pipeline.steps,
    };
    Ok(agents.iter().map(Agent::to_toml).collect())
}

#[test]
fn no_key_of_a_definition_reaches_a_file_outside_of_its_folder_without_consent() {
    let folders = folders();
    for key in KEYS.iter().chain(STEPS) {
        let name = if key.is_agent { "secret.toml" } else { "secret.json" };
        let outside = [
            folders.other.join(name).display().to_string(),
            format!("../other/{name}"),
            format!("./inside/../../other/{name}"),
            format!("link-{name}"),
            format!("folder/{name}"),
            "zero".to_owned(),
            "/dev/zero".to_owned(),
            format!("hard-{name}"),
        ];
        for file in &outside {
            let message = read(&folders, key, file, &FileAccess::default()).unwrap_err();
            assert!(!message.contains("PLANTED"), "{}: {message}", key.name);
            assert!(message.contains("needs consent; give it with --allow-files"), "{}: {message}", key.name);
        }
        let access = FileAccess::default();
        access.allow(&folders.other).unwrap();
        for file in &outside[..5] {
            let read = read(&folders, key, file, &access).unwrap();
            assert!(read.contains("PLANTED"), "{}: {file}: {read}", key.name);
        }
    }
}

#[test]
fn no_key_of_a_definition_waits_for_a_pipe_or_reads_a_device_a_folder_or_an_endless_file() {
    let folders = folders();
    let everywhere = FileAccess::default();
    everywhere.allow(Path::new("/")).unwrap();
    for key in KEYS.iter().chain(STEPS) {
        for (file, problem) in [
            ("pipe", "a pipe or a device"),
            ("zero", "a pipe or a device"),
            ("/dev/zero", "a pipe or a device"),
            ("inside", "a folder"),
            ("huge", "`file_bytes`"),
            ("gone", "cannot be read"),
        ] {
            let message = read(&folders, key, file, &everywhere).unwrap_err();
            assert!(message.contains(problem), "{}: {file}: {message}", key.name);
        }
    }
}

#[test]
fn a_file_outside_is_a_usage_error_that_names_the_flag_and_is_read_with_it() {
    let program = Program::new();
    let folders = folders();
    let secret = folders.other.join("secret.json");
    program.file("a.toml", format!("{HEAD}schema = '@{}'\n", secret.display()));
    for command in ["prompt", "tools", "run", "test", "compare"] {
        let done = program.run([command, "a.toml"]);
        done.exits(2);
        assert!(done.stderr.contains(&format!("--allow-files {}", folders.other.display())), "{}", done.stderr);
        assert!(!done.stderr.contains("PLANTED") && !done.stdout.contains("PLANTED"));
    }
    assert_eq!(program.session_files().len(), 0);
    let other = folders.other.display().to_string();
    let sent = program.run(["--allow-files", &other, "prompt", "a.toml"]);
    sent.exits(0);
    assert!(sent.stdout.contains("PLANTED-CONTENT"));
    program.run(["--allow-files", "gone", "prompt", "a.toml"]).exits(2).reports("--allow-files gone");
}

#[test]
fn a_cassette_or_a_recorded_model_outside_of_the_folder_needs_consent() {
    let program = Program::new();
    let folders = folders();
    let head = "name = \"a\"\nmode = \"text\"\nprompt = \"x\"\n";
    program.file("plain.toml", head);
    program.run(["run", "plain.toml", "--model", "sample"]).exits(0);
    let recording = folders.other.join("session.jsonl");
    std::fs::copy(program.session_file(), &recording).unwrap();
    let path = recording.display();
    program.file("case.toml", format!("{head}[[cases]]\nname = \"one\"\ncassette = '{path}'\n"));
    program.file("model.toml", format!("{head}model = 'recorded:{path}'\n"));
    let refused = program.run(["test", "case.toml"]);
    assert!(refused.exits(1).stdout.contains("needs consent"), "{}", refused.stdout);
    program.run(["run", "model.toml"]).exits(2).reports("needs consent");
    let other = folders.other.display().to_string();
    program.run(["--allow-files", &other, "test", "case.toml"]).exits(0);
    program.run(["--allow-files", &other, "run", "model.toml"]).exits(0);
    // What the user names needs no consent.
    program.run(["run", "plain.toml", "--model", &format!("recorded:{path}")]).exits(0);
    for file in ["pipe", "zero", "inside"] {
        let file = folders.own.join(file).display().to_string();
        program.file("case.toml", format!("{head}[[cases]]\nname = \"one\"\ncassette = '{file}'\n"));
        let refused = program.run(["--allow-files", "/", "test", "case.toml"]);
        assert!(refused.exits(1).stdout.contains("cannot be played"), "{}", refused.stdout);
    }
    program.file("case.toml", format!("{head}[[cases]]\nname = \"one\"\ncassette = 'absent.jsonl'\n"));
    let absent = program.run(["test", "case.toml"]);
    let words = "the cassette absent.jsonl cannot be played: it cannot be read";
    assert!(absent.exits(1).stdout.contains(words), "{}", absent.stdout);
}

#[test]
fn a_recorded_definition_names_no_file() {
    let program = Program::new();
    let folders = folders();
    program.file("a.toml", HEAD.to_owned() + "signature = \"() -> {n :int}\"\n");
    program.run(["run", "a.toml", "--model", "sample"]).exits(0);
    let file = program.session_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let secret = folders.other.join("secret.json");
    let edited = text
        .replace("prompt = \\\"x\\\"\\n", &format!("prompt = \\\"x\\\"\\nschema = \\\"@{}\\\"\\n", secret.display()));
    assert_ne!(text, edited);
    std::fs::write(&file, edited).unwrap();
    let path = file.display().to_string();
    for command in [
        &["replay", &path] as &[&str],
        &["--allow-files", "/", "replay", &path],
        &["sessions", "show", &path],
        &["rerun", &path, "--model", "sample"],
        &["fork", &path, "--at", "r0/t1", "--model", "sample"],
        &["sessions", "export", &path, "-f", "markdown"],
    ] {
        let done = program.run(command);
        assert!(!done.stdout.contains("PLANTED") && !done.stderr.contains("PLANTED"), "{command:?}");
    }
}

#[test]
fn files_that_the_user_names_may_lie_anywhere_and_be_pipes() {
    let program = Program::new();
    let folders = folders();
    program
        .file("a.toml", "name = \"a\"\nmode = \"text\"\nprompt = \"{{x}}\"\nsignature = \"(x :string) -> :string\"\n");
    let context = folders.other.join("context.json");
    std::fs::write(&context, "{\"x\": \"given\"}").unwrap();
    let sent = program.run(["prompt", "a.toml", "--context", &format!("@{}", context.display())]);
    sent.exits(0);
    assert!(sent.stdout.contains("given"));
    let sent = program.fed(["prompt", "a.toml", "--context", "@/dev/stdin"], "{\"x\": \"piped\"}");
    sent.exits(0);
    assert!(sent.stdout.contains("piped"));
    let sent = program.fed(["prompt", "/dev/stdin"], "name = \"a\"\nmode = \"text\"\nprompt = \"of a pipe\"\n");
    sent.exits(0);
    assert!(sent.stdout.contains("of a pipe"));
}
