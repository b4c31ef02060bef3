//! Agents of tools in files of their own: found, bounded, recorded, and never written into the parent's file.

use std::path::PathBuf;

use ptc_workbench::agent::{Agent, Mode, Plan};

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let first = dir.path().join(files[0].0);
    (dir, first)
}

fn parent(file: &str) -> String {
    format!(
        "# mine\nname = \"a\"\nmode = \"text\"\nprompt = \"go\"\n\n[tools.b]\nkind = \"agent\"\nfile = \"{file}\" # next door\ndescription = \"B\"\n"
    )
}

const CHILD: &str = "mode = \"json\"\nprompt = \"Say {{x}}\"\nsignature = \"(x :string)\"\nschema = \"@s.json\"\n";
const SCHEMA: &str = r#"{"type":"object","properties":{"y":{"type":"integer"}}}"#;

#[test]
fn the_file_is_found_next_to_its_parent_and_the_definition_needs_no_other_file() {
    let (dir, first) = folder(&[("a.toml", &parent("sub/b.toml")), ("sub/b.toml", CHILD), ("sub/s.json", SCHEMA)]);
    let agent = Agent::read(&first).unwrap();
    drop(dir);
    let again = Agent::from_toml(&agent.to_toml(), "the recorded agent").unwrap();
    assert_eq!(again.to_toml(), agent.to_toml());
    let plan = Plan::new(&again).unwrap();
    let child = plan.child("b").unwrap();
    assert_eq!((child.agent.mode, child.agent.prompt.as_str()), (Mode::Json, "Say {{x}}"));
    assert!(child.agent.schema.is_some());
    assert_eq!(plan.tools[0].signature_text.as_deref(), Some("(x :string)"));
}

#[test]
fn saving_leaves_the_file_a_file() {
    let text = parent("b.toml");
    let (_dir, first) = folder(&[("a.toml", &text), ("b.toml", CHILD), ("s.json", SCHEMA)]);
    let name = first.display().to_string();
    let agent = Agent::read(&first).unwrap();
    assert_eq!(agent.rewrite(&text, &name), text);
    let changed = Agent { prompt: "went".to_owned(), ..agent.clone() };
    assert_eq!(changed.rewrite(&text, &name), text.replace("\"go\"", "\"went\""));
    let anew = changed.rewrite("", &name);
    assert!(anew.contains("file = \"b.toml\"") && !anew.contains("Say"), "{anew}");
    assert_eq!(Agent::from_toml(&anew, &name).unwrap().to_toml(), changed.to_toml());
    // The child's file may have changed meanwhile; the parent's is not touched for that.
    std::fs::write(first.with_file_name("b.toml"), CHILD.replace("Say", "Tell")).unwrap();
    assert_eq!(agent.rewrite(&text, &name), text);
}

#[test]
fn sections_of_modes_may_name_files_too() {
    let text = "mode = \"json\"\nprompt = \"go\"\nsignature = \":string\"\n[modes.text.tools.b]\nkind = \"agent\"\nfile = \"b.toml\"\ndescription = \"B\"\n";
    let (dir, first) = folder(&[("a.toml", text), ("b.toml", CHILD), ("s.json", SCHEMA)]);
    let agent = Agent::read(&first).unwrap();
    let name = first.display().to_string();
    assert_eq!(agent.rewrite(text, &name), text);
    drop(dir);
    let plan = Plan::new(&agent.for_mode(Mode::Text).unwrap()).unwrap();
    assert_eq!(plan.children.len(), 1);
}

#[test]
fn circles_depth_and_missing_files_are_reported() {
    let refused = |files: &[(&str, &str)]| {
        let (_dir, first) = folder(files);
        Agent::read(&first).unwrap_err().to_string()
    };
    let circle = refused(&[("a.toml", &parent("b.toml")), ("b.toml", &parent("a.toml"))]);
    assert!(circle.contains("refers back to itself: a.toml → b.toml → a.toml"), "{circle}");
    let missing = refused(&[("a.toml", &parent("none.toml"))]);
    assert!(missing.contains("none.toml, which cannot be read"), "{missing}");
    let broken = refused(&[("a.toml", &parent("b.toml")), ("b.toml", "prompt = 1\n")]);
    assert!(broken.contains("a.toml:6:1") || broken.contains("b.toml:1:10"), "{broken}");
    let names: Vec<String> = (0..12).map(|n| format!("{n}.toml")).collect();
    let texts: Vec<String> = (1..13).map(|n| parent(&format!("{n}.toml"))).collect();
    let chain: Vec<(&str, &str)> =
        names.iter().zip(&texts).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let deep = refused(&chain);
    assert!(deep.contains("more than 8 files deep"), "{deep}");
}

#[test]
fn an_agent_may_name_itself() {
    let text = parent("self").replace("prompt", "signature = \"() -> :string\"\nprompt");
    let agent = Agent::from_toml(&text, "nowhere/a.toml").unwrap();
    let plan = Plan::new(&agent).unwrap();
    assert!(plan.children.is_empty());
    assert_eq!(plan.tools[0].signature_text.as_deref(), Some("() -> :string"));
}

#[test]
fn an_agent_of_a_tool_must_say_what_it_is_for() {
    let found = |tool: &str| {
        let text = format!("prompt = \"x\"\nsignature = \"() -> :int\"\n[tools.b]\nkind = \"agent\"\n{tool}\n");
        let plan = Plan::new(&Agent::from_toml(&text, "a.toml").unwrap());
        plan.map(|plan| plan.warnings).map_err(|found| found[0].message.clone())
    };
    let inner = |more: &str| format!("agent = {{ prompt = \"y\", signature = \"{{a :int}}\"{more} }}");
    let message = "the tool `b` has no description; describe what its agent does";
    assert_eq!(found(&inner("")), Err(message.to_owned()));
    assert_eq!(found(&inner(", description = \"Y\"")), Ok(Vec::new()));
    assert_eq!(found(&format!("description = \"Y\"\n{}", inner(""))), Ok(Vec::new()));
    // With `returns = "delegate"` a tool takes any task and needs no description.
    let task = "agent = { prompt = \"y\" }\nreturns = \"delegate\"";
    assert!(found(task).is_ok(), "{:?}", found(task));
}
