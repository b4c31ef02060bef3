//! `inspect`: every effect of a file is in the report, nothing of it happens, and odd things are named.

use serde_json::Value;

use super::program::Program;

fn lines<'v>(report: &'v Value, effect: &str) -> Vec<&'v Value> {
    report["lines"].as_array().unwrap().iter().filter(|line| line["effect"] == effect).collect()
}

fn odd(report: &Value) -> String {
    report["odd"].to_string()
}

const AGENT: &str = r#"
name = "deploy"
mode = "ptc_lisp"
prompt = "Deploy {{what}} now\u200B"
signature = "(what :string) -> :string"
model = "openai:gpt-5"
schema = "@../outside.json"
memory = { start = "(+ 1 2)" }

[context]
what = "all"

[tools.shell]
kind = "command"
command = ["./tool.sh", "--all"]
folder = "/"
env = ["AWS_SECRET_ACCESS_KEY"]

[tools.post]
kind = "http"
method = "POST"
url = "https://collect.example/in"
headers = { Authorization = "Bearer ${TOKEN}" }

[tools.helper]
kind = "agent"

[tools.helper.agent]
prompt = "Help"
mode = "text"
model = "anthropic:claude-x"

[tools.helper.agent.tools.inner]
kind = "mcp"
command = ["server", "--stdio"]
signature = "() -> :string"
"#;

#[test]
fn a_report_names_every_file_program_host_variable_and_key_of_an_agent() {
    let program = Program::new();
    std::fs::create_dir(program.dir().join("agents")).unwrap();
    program.file("outside.json", "{\"description\": \"PLANTED\"}");
    program.file("agents/a.toml", AGENT);
    let done = program.run(["inspect", "agents/a.toml", "--json"]);
    let report = done.exits(1).json();
    assert_eq!((&report["kind"], &report["needs_consent"]), (&"agent".into(), &true.into()));
    let reads = lines(&report, "reads");
    let outside = program.dir().canonicalize().unwrap().join("outside.json").display().to_string();
    assert_eq!((reads[0]["what"].as_str(), reads[0]["consent"].as_str()), (Some(outside.as_str()), Some("needed")));
    let starts = lines(&report, "starts");
    assert_eq!(starts.len(), 2, "{starts:?}");
    assert!(starts.iter().any(|line| line.to_string().contains("AWS_SECRET_ACCESS_KEY")));
    assert!(starts.iter().any(|line| line["key"] == "tools.helper.agent.tools.inner"), "{starts:?}");
    let contacts: String = lines(&report, "contacts").iter().map(ToString::to_string).collect();
    for words in
        ["https://collect.example/in", "TOKEN", "https://api.openai.com", "OPENAI_API_KEY", "https://api.anthropic.com"]
    {
        assert!(contacts.contains(words), "{words}: {contacts}");
    }
    assert!(lines(&report, "sends").iter().any(|line| line.to_string().contains("context: what")));
    assert_eq!(lines(&report, "computes")[0]["key"], "memory");
    assert!(odd(&report).contains("U+200B"), "{}", odd(&report));
    assert!(!done.stdout.contains("PLANTED") && !done.stdout.contains("Bearer"));
    let text = program.run(["inspect", "agents/a.toml"]);
    assert!(text.exits(1).stdout.contains("needs consent"), "{}", text.stdout);
    assert_eq!(program.session_files().len(), 0);
}

#[test]
fn a_file_without_effects_that_need_consent_exits_with_0() {
    let program = Program::new();
    program.file("a.toml", "mode = \"text\"\nprompt = \"x\"\nmodel = \"demo\"\n");
    assert_eq!(program.run(["inspect", "a.toml", "--json"]).exits(0).json()["needs_consent"], false);
    program.file("theme.toml", "base = \"ansi\"\n");
    assert_eq!(program.run(["inspect", "theme.toml", "--json"]).exits(0).json()["kind"], "theme");
    program.run(["inspect", "gone.toml"]).exits(2).reports("cannot be read");
    program.file("cut.toml", "prompt = [");
    program.run(["inspect", "cut.toml"]).exits(2);
}

#[test]
fn the_steps_of_a_pipeline_and_the_servers_of_a_configuration_are_reported() {
    let program = Program::new();
    program.file("step.toml", "mode = \"text\"\nprompt = \"x\"\n[tools.t]\nkind = \"command\"\ncommand = [\"cc\"]\n");
    program.file("p.toml", "[[steps]]\nfile = \"step.toml\"\n[[steps]]\nfile = \"/etc/hostname\"\n");
    let report = program.run(["inspect", "p.toml", "--json"]).exits(1).json();
    assert_eq!(report["kind"], "pipeline");
    let files: Vec<&str> = lines(&report, "reads").iter().filter_map(|line| line["consent"].as_str()).collect();
    assert_eq!(files, ["not_needed", "needed"]);
    program.file("only.toml", "[[steps]]\nfile = \"step.toml\"\n");
    let report = program.run(["inspect", "only.toml", "--json"]).exits(1).json();
    assert_eq!(lines(&report, "starts")[0]["key"], "steps.0.tools.t");
    let config = "[providers.mine]\nkind = \"openai\"\nbase_url = \"https://mine.example/v1\"\napi_key_env = \"MINE\"\n\
                  [mcp.files]\ncommand = [\"file-server\"]\nenv = [\"HOME_KEY\"]\n";
    program.file("config.toml", config);
    let report = program.run(["inspect", "config.toml", "--json"]).exits(1).json();
    assert_eq!(report["kind"], "configuration");
    let shown = report["lines"].to_string();
    for words in ["https://mine.example/v1", "the variable MINE", "file-server", "HOME_KEY"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn an_edited_recording_and_what_its_agent_would_start_are_reported() {
    let program = Program::new();
    let agent = "mode = \"json\"\nprompt = \"x\"\nsignature = \"() -> {n :int}\"\n";
    program.file("a.toml", agent);
    program.run(["run", "a.toml", "--model", "sample"]).exits(0);
    let file = program.session_file();
    let path = file.display().to_string();
    let report = program.run(["inspect", &path, "--json"]).exits(0).json();
    assert_eq!(report["kind"], "session");
    assert!(!odd(&report).contains("edited"), "{}", odd(&report));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("prompt = \\\"x\\\"", "prompt = \\\"y\\\"")).unwrap();
    let report = program.run(["inspect", &path, "--json"]).exits(0).json();
    assert!(odd(&report).contains("edited recording"), "{}", odd(&report));
    let tool = "signature = \\\"() -> {n :int}\\\"\\ntools = { t = { kind = \\\"command\\\", command = [\\\"touch\\\", \\\"PWNED\\\"] } }\\n";
    std::fs::write(&file, text.replace("signature = \\\"() -> {n :int}\\\"\\n", tool)).unwrap();
    let report = program.run(["inspect", &path, "--json"]).exits(1).json();
    assert_eq!(lines(&report, "starts")[0]["what"], "touch");
    assert!(!program.dir().join("PWNED").exists());
}

#[test]
fn a_bundle_is_inspected_as_a_whole() {
    let program = Program::new();
    program.file("a.toml", "mode = \"json\"\nprompt = \"x\"\nsignature = \"() -> {n :int}\"\n");
    program.run(["run", "a.toml", "--model", "sample"]).exits(0);
    program.run(["sessions", "export", "last", "-f", "bundle", "-o", "bundle"]).exits(0);
    let report = program.run(["inspect", "bundle", "--json"]).exits(0).json();
    assert_eq!(report["kind"], "bundle");
    assert!(!odd(&report).contains("edited"), "{}", odd(&report));
    program.file("bundle/run.sh", "echo");
    let report = program.run(["inspect", "bundle", "--json"]).exits(0).json();
    assert!(odd(&report).contains("is not a part of a bundle"));
    std::fs::remove_file(program.dir().join("bundle/run.sh")).unwrap();
    // The folder of input files is a part of a bundle; what is in it is checked by its name.
    std::fs::create_dir(program.dir().join("bundle/files")).unwrap();
    program.file("bundle/files/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "hello");
    let report = program.run(["inspect", "bundle", "--json"]).exits(0).json();
    assert!(!odd(&report).contains("files"), "{}", odd(&report));
    program.file("bundle/files/run.sh", "echo");
    let report = program.run(["inspect", "bundle", "--json"]).exits(0).json();
    assert!(odd(&report).contains("files/run.sh") && odd(&report).contains("not an input file"), "{}", odd(&report));
    std::fs::create_dir(program.dir().join("empty")).unwrap();
    program.run(["inspect", "empty"]).exits(2).reports("it is not a bundle");
}
