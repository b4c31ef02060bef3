//! The example agents: each one loads, passes its checks without a warning, and runs on its own context.

use ptc_workbench::agent::{BUNDLED, BundledExample, Plan};

#[test]
fn every_example_is_ready_to_run() {
    for bundled in BUNDLED {
        let agent = bundled.agent().unwrap();
        assert_eq!(agent.name, bundled.name);
        assert_eq!(agent.model.as_deref(), Some("demo"));
        let plan = Plan::new(&agent).unwrap();
        assert_eq!(plan.warnings, [], "{}", bundled.name);
        assert_eq!(plan.check_context(&agent.context).1, [], "{}", bundled.name);
    }
}

#[test]
fn examples_are_found_by_name() {
    assert!(BundledExample::find("sentiment").is_some());
    assert!(BundledExample::find("nothing").is_none());
}
