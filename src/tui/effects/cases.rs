//! Executes requests about the cases of the draft: reads them, runs one.
//!
//! In: a [`TestRequest`] as an effect of `update`. Out: its [`TestResponse`] as a message. No request changes a file; runs write their sessions.

use super::EffectResult;
use crate::agent::{Agent, Diagnostic};
use crate::port::Stop;
use crate::tui::cases::{TestRequest, TestResponse};
use crate::tui::message::Msg;
use crate::tui::services::{Services, wait};
use crate::workbench::suite::{CaseOutline, TestedCase};

/// Executes a request; a stop ends the case that runs. Must be called on a blocking thread, inside of the runtime.
pub(super) fn execute(request: TestRequest, services: &Services, stop: &Stop) -> EffectResult {
    let workbench = &services.workbench;
    let response = match request {
        TestRequest::List(version, texts, folder) => {
            let agent = texts.to_agent_with(&Agent::default(), workbench.file_access());
            let listed = agent.and_then(|agent| {
                let cases = workbench.listed_cases(&agent, &folder).map_err(|found| vec![found])?;
                let outlines = cases.iter().map(|case| CaseOutline::of(case, &agent)).collect();
                services.keep_cases(*texts, folder, cases);
                Ok(outlines)
            });
            TestResponse::Listed(version, listed.map_err(|found| first(&found)))
        }
        TestRequest::Run { batch, texts, folder, name } => {
            let agent = texts.to_agent_with(&Agent::default(), workbench.file_access());
            let tried = agent.and_then(|agent| match services.kept_case(&texts, &folder, &name) {
                Some(case) => wait(workbench.try_listed_case(&agent, folder, case, stop)),
                None => wait(workbench.try_case_of(&agent, folder, &name, stop)),
            });
            let tried = tried.unwrap_or_else(|found| Some(TestedCase::untried(&name, first(&found))));
            TestResponse::Tested(batch, name, tried.map(Box::new))
        }
    };
    EffectResult::Msg(Msg::Tests(response))
}

/// The first finding that makes a draft unusable.
fn first(findings: &[Diagnostic]) -> String {
    let first = findings.iter().find(|finding| finding.is_error()).or(findings.first());
    first.map(|finding| finding.message.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::agent::DraftTexts;
    use crate::config::{Config, Folders};
    use crate::workbench::Workbench;

    use super::*;

    const AGENT: &str = "name = \"odd\"\nmode = \"json\"\nmodel = \"sample\"\nprompt = \"Is {{n}} odd?\"\nsignature = \"(n :int) -> {odd :bool}\"\ncases = [\"rows.jsonl\"]\n";

    #[test]
    fn a_case_that_was_listed_runs_without_its_file_and_one_of_other_texts_is_read() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        let dir = tempfile::tempdir().unwrap();
        let rows = dir.path().join("rows.jsonl");
        std::fs::write(&rows, "{\"name\":\"one\",\"context\":{\"n\":1}}\n{\"name\":\"two\",\"context\":{\"n\":2}}\n")
            .unwrap();
        let workbench =
            Workbench::new(Config::built_in().unwrap(), Folders::at(dir.path().to_owned(), dir.path(), None));
        let agent = Agent::from_toml(AGENT, "odd.toml").unwrap();
        let (services, texts) = (Services::new(workbench, &agent, None), DraftTexts::of(&agent));
        let ask = |request| {
            let EffectResult::Msg(Msg::Tests(response)) = execute(request, &services, &Stop::default()) else {
                panic!("another response")
            };
            response
        };
        let folder = dir.path().to_owned();
        let TestResponse::Listed(7, Ok(listed)) = ask(TestRequest::List(7, Box::new(texts.clone()), folder.clone()))
        else {
            panic!("no cases")
        };
        assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        std::fs::remove_file(&rows).unwrap();
        let run = |texts: &DraftTexts| {
            let (texts, name) = (Box::new(texts.clone()), "two".to_owned());
            match ask(TestRequest::Run { batch: 1, texts, folder: folder.clone(), name }) {
                TestResponse::Tested(1, _, Some(tested)) => tested.trial.verdict.is_pass(),
                other => panic!("{other:?}"),
            }
        };
        assert!(run(&texts), "it is known");
        let other = DraftTexts { prompt: "Odd? {{n}}".to_owned(), ..texts };
        assert!(!run(&other), "its rows are read, and are gone");
    }
}
