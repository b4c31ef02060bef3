//! Construction checks.

use ptc_workbench::agent::{Agent, Plan};

fn findings(toml: &str) -> Vec<String> {
    let agent = Agent::from_toml(toml, "a.toml").unwrap();
    let list = match Plan::new(&agent) {
        Ok(plan) => plan.warnings,
        Err(found) => found,
    };
    list.iter()
        .map(|d| {
            format!("{:?} {:?} {:?} {} {}", d.severity, d.place, d.span.map(|s| (s.start, s.end)), d.key, d.message)
        })
        .collect()
}

#[test]
fn smoke() {
    for toml in [
        "prompt='{{text}}'\nsignature='(text :string) -> {a :int}'",
        "prompt='{{text}}'\nsignature='{a :int}'",
        "prompt='{{txt}}'\nsignature='(text :string) -> {a :int, _b {_c :int}}'",
        "prompt='{{txt'\nsignature='(text :string -> {a :int}'\nmode='text'\ncompression=true\nrefs={a='b'}\n[tools.x]",
        "prompt='x'\n[tools.x]",
        "prompt='x'\ncompaction=true\nschema={type='objekt'}\nsignature='(a :int) -> :int'",
        "prompt='x'\nschema={'$ref'='http://x.y/z'}\n",
        "prompt='x'\nschema={type='object', properties = { a = {type='integer'}}}\nsignature='(a :string)'",
    ] {
        eprintln!("---\n{toml}\n{:#?}", findings(toml));
    }
}
