//! The matrix: what it runs, what it keeps when it is stopped, that nothing depends on how many trials run at once.

mod baseline;
mod command;
mod embedding;
mod gate;
mod jobs;
mod judged;
mod optimize;
mod results;
mod stopped;
mod suggest;

use std::path::Path;

use ptc_workbench::agent::Agent;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::port::Stop;
use ptc_workbench::workbench::Workbench;
use ptc_workbench::workbench::matrix::{MatrixSpec, MatrixState, Trial};

/// A workbench whose sessions lie in this folder.
fn workbench(config: Config, dir: &Path) -> Workbench {
    Workbench::new(config, Folders::at(dir.to_owned(), dir, Some(dir)))
}

fn spec(name: &str, toml: &str, models: &[&str], trials: u32) -> MatrixSpec {
    let agent = Agent::from_toml(toml, name).unwrap();
    let mode = agent.mode;
    MatrixSpec {
        agents: vec![(name.to_owned(), agent)],
        modes: vec![mode],
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        trials,
        seed: 0,
        ..MatrixSpec::default()
    }
}

/// Runs a matrix to its end.
async fn ran(workbench: &Workbench, spec: &MatrixSpec, jobs: usize) -> MatrixState {
    let plan = workbench.plan_matrix(spec).unwrap();
    let (mut file, mut state) = workbench.begin_matrix(plan).unwrap();
    let stop = Stop::default();
    workbench.run_matrix(&mut file, &mut state, jobs, &stop, &mut |_, _| {}).await.unwrap();
    state
}

/// Every finished trial, cell by cell.
fn trials(state: &MatrixState) -> Vec<Trial> {
    (0..state.plan.cells.len()).flat_map(|cell| state.trials_of(cell).cloned().collect::<Vec<_>>()).collect()
}

/// A matrix as JSON without what is different each time: ids and times, at every depth.
fn lasting(mut matrix: serde_json::Value) -> serde_json::Value {
    const DIFFERENT: [&str; 6] = ["matrix", "session", "first_ms", "time_ms", "time_p95_ms", "waited_ms"];
    match &mut matrix {
        serde_json::Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                *value =
                    if DIFFERENT.contains(&key.as_str()) { serde_json::Value::Null } else { lasting(value.take()) };
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| *item = lasting(item.take())),
        _ => {}
    }
    matrix
}
