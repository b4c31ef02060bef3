//! Rubrics: how they are written, which questions a Step raises, and what rulings make of the verdict.

use ptc_workbench::agent::{Agent, Case, Judgement, Question, Ruling, Step, Vote};
use ptc_workbench::event::ErrorRecord;

use crate::engine::parsed;

fn read(expect: &str) -> Result<Case, String> {
    let toml = format!("prompt = \"x\"\nmode = \"text\"\n[[cases]]\nname = \"one\"\nexpect = {expect}\n");
    let cases = Agent::from_toml(&toml, "a.toml").map_err(|error| error.to_string())?.cases();
    cases.map(|mut cases| cases.remove(0)).map_err(|found| found.message)
}

fn returned(answer: &str) -> Step {
    Step { answer: Some(parsed(answer)), context: Some(parsed(r#"{"q":"lamp?"}"#)), ..Step::default() }
}

fn vote(model: &str, score: f64) -> Vote {
    Vote {
        model: model.to_owned(),
        score,
        reason: format!("so says {model}"),
        session: None,
        tokens: None,
        cost: None,
        from_cache: ptc_workbench::event::FromCache::default(),
    }
}

/// Rules on every question with these scores, one for each question in order.
fn ruled(case: &Case, step: &Step, scores: &[f64]) -> (Judgement, usize) {
    let questions = case.questions(step);
    let count = questions.len();
    let rulings: Vec<(Question, Ruling)> = questions
        .into_iter()
        .zip(scores)
        .map(|(question, score)| {
            let ruling = question.rubric.ruling(vec![vote("m", *score)]);
            (question, ruling)
        })
        .collect();
    (case.judgement(step, &rulings), count)
}

fn words(expect: &str, answer: &str, scores: &[f64]) -> String {
    let (Judgement { verdict, score }, _) = ruled(&read(expect).unwrap(), &returned(answer), scores);
    [format!("{} {score:.2}", verdict.name())].into_iter().chain(verdict.lines()).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_rubric_has_its_options_next_to_it() {
    for expect in [
        r#"{ rubric = "polite" }"#,
        r#"{ rubric = "polite", model = "a:b", votes = 3, scale = 5, at_least = 0.5, examples = [{ answer = "x", score = 1, reason = "r" }] }"#,
        r#"{ rubric = "polite", model = ["a:b", "c:d"], prompt = "Is {{answer}} {{rubric}}, of {{scale}}?" }"#,
        r#"{ any = [{ not = { rubric = "rude" } }, { at = { a = { rubric = "polite" } } }] }"#,
    ] {
        assert!(read(expect).unwrap().expect.unwrap().has_rubric(), "{expect}");
    }
    let wrong = |expect: &str, words: &str| {
        let error = read(expect).unwrap_err();
        assert!(error.contains(words), "{expect}: {error}");
    };
    wrong(
        r#"{ rubric = "polite", vote = 3 }"#,
        "did you mean `votes`?; where this table is the answer, write expect = { value = … }",
    );
    wrong(r#"{ rubric = " " }"#, "must not be empty");
    wrong(r#"{ rubric = "polite", votes = 0 }"#, "must be between 1 and 100");
    wrong(r#"{ rubric = "polite", at_least = 2 }"#, "must be between 0 and 1");
    wrong(r#"{ rubric = "polite", examples = [{ score = 1 }] }"#, "needs the key `answer`");
    wrong(r#"{ rubric = "polite", prompt = "Is {{#answer}} it?" }"#, "the judge cannot run");
    // An exact answer with that key is still written as a value.
    assert!(!read(r#"{ value = { rubric = "polite", other = 1 } }"#).unwrap().expect.unwrap().has_rubric());
}

#[test]
fn the_mean_of_the_votes_decides_and_the_reasons_are_in_the_mismatch() {
    let expect = r#"{ rubric = "polite", at_least = 0.6 }"#;
    assert_eq!(words(expect, "\"yes\"", &[0.6]), "pass 0.60");
    assert_eq!(
        words(expect, "\"yes\"", &[0.5]),
        "fail 0.50; the judged score is 0.50, expected at least 0.6: so says m"
    );
    let case = read(expect).unwrap();
    let question = case.questions(&returned("1")).remove(0);
    let ruling = question.rubric.ruling(vec![vote("a", 0.2), vote("b", 1.0)]);
    assert!((ruling.score - 0.6).abs() < 1e-12 && ruling.passed, "{ruling:?}");
    assert_eq!(ruling.reasons(), "a 0.20: so says a; b 1.00: so says b");
}

#[test]
fn rubrics_are_parts_like_others() {
    let weighted =
        r#"{ all = [{ weight = 3, expect = { rubric = "polite" } }, { contains = "lamp" }], at_least = 0.7 }"#;
    assert_eq!(words(weighted, "\"no\"", &[0.9]), "pass 0.68");
    assert_eq!(
        words(weighted, "\"lamp\"", &[0.1]),
        "fail 0.33; all: 25 % of the weight is met, expected at least 70 %; all.0.rubric: the judged score is 0.10, expected at least 0.7: \
         so says m"
    );
    assert_eq!(words(r#"{ not = { rubric = "rude" } }"#, "1", &[0.0]), "pass 1.00");
    assert_eq!(words(r#"{ not = { rubric = "rude" } }"#, "1", &[1.0]), "fail 0.00; not: rubric holds");
    assert_eq!(
        words(r#"{ at = { "a.b" = { rubric = "polite" } } }"#, r#"{"a":{"b":"hi"}}"#, &[0.0]),
        "fail 0.00; a.b: the judged score is 0.00, expected at least 0.7: so says m"
    );
}

#[test]
fn a_judge_gets_the_part_that_the_rubric_is_about() {
    let case =
        read(r#"{ at = { "a.b" = { rubric = "polite", scale = 4, examples = [{ answer = "x", score = 0.5 }] } } }"#)
            .unwrap();
    let step = returned(r#"{"a":{"b":"hi"}}"#);
    let question = case.questions(&step).remove(0);
    assert_eq!(question.answer, parsed("\"hi\""));
    let inputs = question.rubric.inputs(&question.answer, &step);
    let expected =
        r#"{"rubric":"polite","scale":4,"inputs":{"q":"lamp?"},"answer":"hi","examples":[{"answer":"x","score":2}]}"#;
    assert_eq!(inputs.to_text(), expected);
}

#[test]
fn no_judge_is_asked_where_the_verdict_does_not_depend_on_it() {
    let count = |expect: &str, step: &Step| read(expect).unwrap().questions(step).len();
    let either = r#"{ any = [{ contains = "lamp" }, { rubric = "polite" }] }"#;
    assert_eq!((count(either, &returned("\"lamp\"")), count(either, &returned("\"x\""))), (0, 1));
    let fail = ErrorRecord { reason: "failed".to_owned(), ..ErrorRecord::default() };
    let failed = Step { fail: Some(fail), ..Step::default() };
    assert_eq!(count(r#"{ rubric = "polite" }"#, &failed), 0);
    // Twice the same question is asked once.
    assert_eq!(count(r#"{ all = [{ rubric = "polite" }, { rubric = "polite" }] }"#, &returned("1")), 1);
}

#[test]
fn without_a_ruling_there_is_no_verdict() {
    let verdict = read(r#"{ rubric = "polite" }"#).unwrap().judge(&returned("1"));
    assert_eq!(
        (verdict.name(), verdict.lines()),
        ("error", vec!["a rubric needs a judge, and none was called".to_owned()])
    );
}

#[test]
fn a_judge_that_does_not_answer_as_asked_gives_no_vote() {
    let rubric = read(r#"{ rubric = "polite", scale = 5 }"#).unwrap().questions(&returned("1")).remove(0).rubric;
    let vote = |answer: &str| rubric.vote(&returned(answer));
    assert_eq!(vote(r#"{"reason":" well ","score":4}"#), Ok((0.8, "well".to_owned())));
    for wrong in [r#"{"score":6}"#, r#"{"score":-1}"#, r#"{"score":"5"}"#, r#"{"reason":"x"}"#, "5"] {
        assert_eq!(vote(wrong), Err("the judge gave no score from 0 to 5".to_owned()), "{wrong}");
    }
}
