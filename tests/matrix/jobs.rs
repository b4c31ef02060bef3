//! The result of a trial does not depend on the trials that run at the same time.

use ptc_workbench::agent::{Agent, BundledExample, Mode};
use ptc_workbench::config::Config;
use ptc_workbench::workbench::matrix::{MatrixSpec, MatrixState, Measures, Trial};

use super::{ran, trials, workbench};

fn sentiment() -> Agent {
    BundledExample::find("sentiment").unwrap().agent().unwrap()
}

/// The trials without ids and times.
fn lasting(state: &MatrixState) -> Vec<Trial> {
    let timeless = |measures: Measures| Measures { first_ms: None, time_ms: 0, waited_ms: 0, ..measures };
    let all = trials(state).into_iter();
    all.map(|trial| Trial { session: String::new(), measures: timeless(trial.measures.clone()), ..trial }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trials_are_the_same_whatever_the_jobs() {
    let trials = if crate::is_long() { 50 } else { 20 };
    let spec = MatrixSpec {
        agents: vec![("sentiment".to_owned(), sentiment())],
        modes: vec![Mode::PtcLisp, Mode::Json],
        models: vec!["sample".to_owned(), "sample:wrong_type".to_owned()],
        trials,
        seed: 7,
        ..MatrixSpec::default()
    };
    let config = || Config::built_in().unwrap();
    let all = 4 * usize::try_from(trials).unwrap();
    let (few, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = ran(&workbench(config(), few.path()), &spec, 5).await;
    let other = ran(&workbench(config(), many.path()), &spec, 40).await;
    assert_eq!((one.done(), one.total(), one.running().len()), (all, all, 0));
    assert_eq!(lasting(&one), lasting(&other));
    let answers: Vec<_> = one.reports().iter().map(|report| report.answers.len()).collect();
    assert!(answers.iter().all(|groups| *groups > 3), "seeds differ: {answers:?}");
    assert!(one.reports()[3].errors.values().sum::<u32>() >= trials);
}
