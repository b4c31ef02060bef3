//! Tools of every kind, called natively in mode `text`: what they get, what comes back, what is refused, what is recorded.

use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_core::value::Value;
use ptc_workbench::agent::AgentBuilder;
use ptc_workbench::engine::{ModelList, Models};
use ptc_workbench::event::{CallStatus, Role};
use ptc_workbench::model::{ClosureModel, Reply, script};
use ptc_workbench::port::{Human, Question};
use ptc_workbench::tool::{ConsentDecision, Expose, Failure, Invocation, Tool, Tools};
use tokio_util::sync::CancellationToken;

use super::*;

/// An agent in mode `text` from the rest of its file.
fn with(rest: &str) -> Agent {
    Agent::from_toml(&format!("name = \"asker\"\nmode = \"text\"\nprompt = \"Do it.\"\n{rest}"), "asker.toml").unwrap()
}

/// A reply that makes these calls: name and arguments.
fn calls(calls: &[(&str, &str)]) -> Reply {
    Reply::calling(calls.iter().copied())
}

/// A model that makes these calls, one reply for each, and then replies `done`.
fn calling(all: &[(&str, &str)]) -> ClosureModel {
    script(all.iter().map(|one| calls(&[*one])).chain([Reply::from("done")]))
}

/// Runs a plan with other models in addition to the root's.
async fn run_plan(plan: &Plan, model: &dyn Model, models: &dyn Models) -> Ran {
    let sink = Memory::default();
    let ports = Ports { models, ..Ports::new(model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(plan, Input::new(parsed("{}")), &ports).await;
    let ran = Ran { step, events: sink.events() };
    replays(&ran.events).await;
    assert_eq!(fold(&ran.events).calls, ran.step.calls);
    ran
}

/// Runs an agent and replays what was recorded.
async fn run_agent(agent: &Agent, model: &dyn Model) -> Ran {
    run_plan(&Plan::new(agent).unwrap(), model, &ModelList::default()).await
}

/// Returns the outcome of each call of a run: `status result-or-reason`.
fn came_out(ran: &Ran) -> Vec<String> {
    let text = |call: &ptc_workbench::agent::CallEntry| {
        let what = match (&call.result, &call.error) {
            (Some(result), _) => result.as_str().to_owned(),
            (None, Some(error)) => error.reason.clone(),
            (None, None) => String::new(),
        };
        let status = format!("{:?}", call.status.unwrap_or(CallStatus::Unknown)).to_lowercase();
        format!("{status}{} {what}", if call.cached { " cached" } else { "" })
    };
    ran.step.calls.iter().map(text).collect()
}

/// The texts of all tool messages.
fn results(ran: &Ran) -> Vec<String> {
    ran.step
        .messages
        .iter()
        .filter(|message| message.role == Role::Tool)
        .map(ptc_workbench::event::SentMessage::text)
        .collect()
}

/// Returns the errors about an agent.
fn refusal(rest: &str) -> String {
    let found = Plan::new(&with(rest)).unwrap_err();
    found.iter().filter(|f| f.is_error()).map(|f| f.message.clone()).collect::<Vec<_>>().join("\n")
}

const PEOPLE: &str = r#"
[tools.find]
kind = "table"
signature = "(id :int, year :int?) -> {name :string}"
rows = [
  { args = { id = 1, year = 1843 }, result = { name = "Ada, then" } },
  { args = { id = 1 }, result = { name = "Ada" } },
  { args = { id = 2 }, error = "the record is locked" },
]
"#;

#[tokio::test]
async fn a_table_answers_with_its_first_row_that_fits() {
    let model = calling(&[
        ("find", r#"{"id":1}"#),
        ("find", r#"{"year":1843,"id":1}"#),
        ("find", r#"{"id":2}"#),
        ("find", r#"{"id":3}"#),
    ]);
    let ran = run_agent(&with(PEOPLE), &model).await;
    assert_eq!(ran.outcome(), r#""done""#);
    let expected = [r#"ok {"name":"Ada"}"#, r#"ok {"name":"Ada, then"}"#, "error tool_error", "error tool_error"];
    assert_eq!(came_out(&ran), expected);
    let shown = results(&ran);
    assert!(
        shown[2].starts_with(r#"{"error":"the record is locked","tool":"find","args_received":{"id":2}"#),
        "{}",
        shown[2]
    );
    assert!(shown[3].contains("no row matches the arguments"), "{}", shown[3]);
    let default = with(&PEOPLE.replace("rows = [", "default = { name = \"nobody\" }\nrows = ["));
    assert_eq!(came_out(&run_agent(&default, &calling(&[("find", r#"{"id":3}"#)])).await), [r#"ok {"name":"nobody"}"#]);
}

#[tokio::test]
async fn arguments_are_converted_or_refused_before_the_call() {
    let model = calling(&[
        ("find", r#"{"id":"1"}"#),
        ("find", "{}"),
        ("find", r#"{"id":"x"}"#),
        ("find", "[1]"),
        ("find", "{broken"),
        ("fnid", "{}"),
    ]);
    let ran = run_agent(&Agent { max_turns: 9, ..with(PEOPLE) }, &model).await;
    let expected = [
        r#"ok {"name":"Ada"}"#,
        "refused invalid_tool_args",
        "refused invalid_tool_args",
        "refused args_error",
        "refused args_error",
        "refused unknown_tool",
    ];
    assert_eq!(came_out(&ran), expected);
    assert_eq!(ran.step.calls[0].args.as_str(), r#"{"id":1}"#);
    assert!(results(&ran)[5].contains("did you mean `find`"), "{}", results(&ran)[5]);
    assert_eq!(ran.outcome(), r#""done""#);
}

#[tokio::test]
async fn a_snippet_is_a_program_over_its_arguments() {
    let agent = with(
        "[tools.total]\nkind = \"snippet\"\nsignature = \"(xs [:int]) -> :int\"\ncode = \"(if (empty? data/xs) (fail \\\"nothing\\\") (reduce + 0 data/xs))\"\n",
    );
    let ran = run_agent(&agent, &calling(&[("total", r#"{"xs":[1,2,3]}"#), ("total", r#"{"xs":[]}"#)])).await;
    assert_eq!(came_out(&ran), ["ok 6", "error tool_error"]);
    assert!(results(&ran)[1].contains("nothing"), "{}", results(&ran)[1]);
}

#[tokio::test]
async fn builtin_tools_search_texts() {
    let agent = with("builtin_tools = [\"grep\"]\n");
    let args = r#"{"pattern":"B","text":"abc\nxyz"}"#;
    let ran = run_agent(&agent, &calling(&[("grep", args), ("grep_n", args)])).await;
    assert_eq!(came_out(&ran), [r#"ok ["abc"]"#, r#"ok [{"line":1,"match":true,"text":"abc"}]"#]);
}

const CHILD: &str = r#"
[tools.greet]
kind = "agent"
agent = { mode = "text", description = "Greets", prompt = "Greet {{who}}.", signature = "(who :string) -> :string" }
"#;

#[tokio::test]
async fn an_agent_below_is_a_run_inside_the_call() {
    let model = script([calls(&[("greet", r#"{"who":"Ada"}"#)]), Reply::from("Hello Ada"), Reply::from("done")]);
    let ran = run_agent(&with(CHILD), &model).await;
    assert_eq!(came_out(&ran), [r#"ok "Hello Ada""#]);
    let child = &ran.step.children[0];
    assert_eq!((child.name.as_str(), child.prompt.as_deref()), ("greet", Some("Greet Ada.")));
    assert_eq!(ran.step.usage.total.turns - ran.step.usage.own.turns, 1);
    let below = ran.events.iter().filter(|event| event.run() == Address::from("r0/t1/c0")).count();
    assert!(below > 5, "{below}");
    let plan = Plan::new(&with(CHILD)).unwrap();
    let schema = plan.tools[0].schema();
    assert_eq!(schema.description.as_deref(), Some("Greets"));
    assert!(schema.parameters.as_str().contains(r#""required":["who"]"#), "{}", schema.parameters.as_str());
}

#[tokio::test]
async fn the_failure_of_an_agent_below_is_a_failed_call() {
    let child = CHILD.replace("-> :string", "-> {n :int}").replace("mode = \"text\"", "mode = \"json\", max_turns = 1");
    let model = script([calls(&[("greet", r#"{"who":"Ada"}"#)]), Reply::from("no JSON"), Reply::from("done")]);
    let ran = run_agent(&with(&child), &model).await;
    assert_eq!((came_out(&ran), ran.outcome()), (vec!["error json_parse_error".to_owned()], r#""done""#.to_owned()));
    assert!(results(&ran)[0].contains("the agent `greet` failed with json_parse_error"), "{}", results(&ran)[0]);
}

#[tokio::test]
async fn a_child_agent_with_a_program_is_answered_by_its_own_program() {
    let child = r#"
[tools.calc]
kind = "agent"
description = "Doubles"
agent = { mode = "ptc_lisp", prompt = "Double {{n}}.", signature = "(n :int) -> :int", program = "(return (* 2 data/n))" }
"#;
    let model = script([calls(&[("calc", r#"{"n":21}"#)]), Reply::from("done")]);
    let ran = run_agent(&with(child), &model).await;
    assert_eq!((came_out(&ran), ran.outcome()), (vec!["ok 42".to_owned()], r#""done""#.to_owned()));
    replays(&ran.events).await;
}

#[tokio::test]
async fn timeout_ms_of_an_agent_tool_limits_its_run() {
    let child = CHILD.replace("kind = \"agent\"", "kind = \"agent\"\ntimeout_ms = 40");
    let child = child.replace("-> :string", "-> {n :int}").replace("mode = \"text\"", "mode = \"json\"");
    let model = ClosureModel::new(|request: &Request| {
        if request.messages[0].joined().contains("Greet") {
            std::thread::sleep(std::time::Duration::from_millis(60));
            return Reply::from("no JSON");
        }
        let is_answered = request.messages.iter().any(|message| message.role == Role::Tool);
        if is_answered { Reply::from("done") } else { calls(&[("greet", r#"{"who":"Ada"}"#)]) }
    });
    let ran = run_agent(&with(&child), &model).await;
    assert_eq!((came_out(&ran), ran.outcome()), (vec!["error mission_timeout".to_owned()], r#""done""#.to_owned()));
}

#[tokio::test]
async fn agents_call_agents_only_so_deep() {
    let shallow = with(&format!("max_depth = 1\n{CHILD}"));
    let ran = run_agent(&shallow, &calling(&[("greet", r#"{"who":"Ada"}"#)])).await;
    assert_eq!((came_out(&ran), ran.step.children.len()), (vec!["error max_depth_exceeded".to_owned()], 0));
}

#[tokio::test]
async fn an_agent_may_call_itself_until_it_is_too_deep() {
    let agent = with(
        "signature = \"(n :int) -> :string\"\nmax_depth = 3\n[context]\nn = 0\n[tools.again]\nkind = \"agent\"\nfile = \"self\"\ndescription = \"Once more\"\n",
    );
    let agent = Agent { prompt: "Do {{n}}.".to_owned(), ..agent };
    let model = ClosureModel::new(|request: &Request| {
        let task = request.messages[0].joined();
        let n: u32 = task.trim_start_matches("Do ").split('.').next().unwrap().parse().unwrap();
        match request.messages.iter().find(|message| message.role == Role::Tool) {
            None => calls(&[("again", &format!("{{\"n\":{}}}", n + 1))]),
            Some(result) => Reply::from(format!("{n}: {}", result.joined())),
        }
    });
    let plan = Plan::new(&agent).unwrap();
    assert!(plan.children.is_empty());
    let sink = Memory::default();
    let input = Input::new(parsed(r#"{"n":0}"#));
    let step = engine::run(&plan, input, &Ports::new(&model, &Ticks(10), &sink, Stop::default())).await;
    replays(&sink.events()).await;
    let deepest = &step.children[0].children[0];
    assert_eq!(deepest.calls[0].error.as_ref().unwrap().reason, "max_depth_exceeded");
    assert!(step.answer.unwrap().to_text().starts_with(r#""0: \"1: "#));
    let unsigned = refusal("[tools.again]\nkind = \"agent\"\nfile = \"self\"\n");
    assert!(unsigned.contains("needs a signature"), "{unsigned}");
}

#[tokio::test]
async fn the_turns_of_the_whole_tree_are_counted_together() {
    let agent = with(&format!("turn_budget = 1\n{CHILD}"));
    let ran = run_agent(&agent, &calling(&[("greet", r#"{"who":"Ada"}"#)])).await;
    assert_eq!(
        (came_out(&ran), ran.outcome()),
        (vec!["error turn_budget_exhausted".to_owned()], "turn_budget_exhausted".to_owned())
    );
}

const ASK: &str = r#"
[tools.judge]
kind = "llm"
model = "other"
description = "Judges"
prompt = "Judge {{text}}."
signature = "(text :string) -> {good :bool}"
"#;

#[tokio::test]
async fn a_question_to_another_model_goes_to_the_model_of_that_name() {
    let plan = Plan::new(&with(ASK)).unwrap();
    let asks = || calling(&[("judge", r#"{"text":"it"}"#)]);
    let models = ModelList::default().with("other", script([r#"{"good":true}"#]));
    let ran = run_plan(&plan, &asks(), &models).await;
    assert_eq!(came_out(&ran), [r#"ok {"good":true}"#]);
    let without = run_plan(&plan, &asks(), &ModelList::default()).await;
    assert_eq!((came_out(&without), without.step.children.len()), (vec!["error llm_registry_required".to_owned()], 0));
    let unknown = run_plan(&plan, &asks(), &ModelList::default().with("others", script(["x"]))).await;
    assert_eq!(came_out(&unknown), ["error llm_not_found"]);
    assert!(results(&unknown)[0].contains("did you mean `others`"), "{}", results(&unknown)[0]);
}

#[tokio::test]
async fn a_query_brings_its_own_prompt_and_signature() {
    let agent = with("llm_query = true\n");
    let args = r#"{"prompt":"Count {{word}}.","signature":"(word :string) -> :int","word":"abc"}"#;
    let model = script([calls(&[("llm_query", args)]), Reply::from("3"), Reply::from("done")]);
    let ran = run_agent(&agent, &model).await;
    assert_eq!(came_out(&ran), ["ok 3"]);
    assert!(ran.step.children[0].prompt.as_deref().is_some_and(|prompt| prompt.contains("Count abc.")));
}

#[tokio::test]
async fn functions_of_a_library_are_tools() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let plan = AgentBuilder::default()
        .name("asker")
        .mode(ptc_workbench::agent::Mode::Text)
        .prompt("Do it.")
        .tool_fn("double", "(n :int) -> :int", "Twice as much", move |args| {
            count.fetch_add(1, Ordering::Relaxed);
            match args.lookup("n") {
                Some(Value::Int(n)) if *n < 100 => Ok(Value::Int(2 * n)),
                _ => Err("too large".to_owned()),
            }
        })
        .cached()
        .tool_fn("hidden", "() -> :int", "Only for programs", |_| Ok(Value::Int(1)))
        .exposed(Expose::PtcLisp)
        .plan()
        .unwrap();
    let args = [r#"{"n":4}"#, r#"{"n":"4"}"#, r#"{"n":500}"#, r#"{"n":500}"#];
    let ran = run_plan(&plan, &calling(&args.map(|args| ("double", args))), &ModelList::default()).await;
    assert_eq!(came_out(&ran), ["ok 8", "ok cached 8", "error tool_error", "error tool_error"]);
    assert_eq!(made.load(Ordering::Relaxed), 3);
    assert!(ran.step.calls.iter().all(|call| call.kind == "closure"));
    let offered: Vec<_> = plan.tools.iter().filter(|tool| tool.is_native()).map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["double"]);
}

#[tokio::test]
async fn an_equal_call_is_answered_from_memory_when_that_was_asked_for() {
    let cached = with(&PEOPLE.replace("kind =", "cache = true\nkind ="));
    let model = calling(&[
        ("find", r#"{"id":1}"#),
        ("find", r#"{"id":"1"}"#),
        ("find", r#"{"id":2}"#),
        ("find", r#"{"id":2}"#),
    ]);
    let ran = run_agent(&cached, &model).await;
    let ada = r#"{"name":"Ada"}"#;
    assert_eq!(
        came_out(&ran),
        [format!("ok {ada}"), format!("ok cached {ada}"), "error tool_error".into(), "error tool_error".into()]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn equal_calls_of_parallel_branches_replay_whatever_was_remembered() {
    let made = AtomicUsize::new(0);
    let plan = AgentBuilder::default()
        .name("asker")
        .mode(ptc_workbench::agent::Mode::PtcLisp)
        .prompt("Do it.")
        .signature("() -> [:int]")
        .tool_fn("next", "() -> :int", "Counts", move |_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            Ok(Value::Int(i64::try_from(made.fetch_add(1, Ordering::Relaxed)).unwrap_or_default()))
        })
        .cached()
        .plan()
        .unwrap();
    let program = "```clojure\n(return (pmap (fn [x] (tool/next {})) (range 8)))\n```";
    let ran = run_plan(&plan, &script([program]), &ModelList::default()).await;
    assert_eq!((ran.step.calls.len(), ran.step.fail), (8, None));
}

/// The answer that came last is the one that is remembered: which that was is chance, and recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_remembered_then_is_remembered_on_replay() {
    let made = AtomicUsize::new(0);
    let plan = AgentBuilder::default()
        .name("asker")
        .mode(ptc_workbench::agent::Mode::PtcLisp)
        .prompt("Do it.")
        .signature("() -> :int")
        .tool_fn("next", "() -> :int", "Counts", move |_| {
            let number = made.fetch_add(1, Ordering::Relaxed);
            // The first call ends after the second one.
            let waits = (0..50).take_while(|_| number == 0 && made.load(Ordering::Relaxed) < 2);
            waits.chain((0..5).take_while(|_| number == 0)).for_each(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
            });
            Ok(Value::Int(i64::try_from(number).unwrap_or_default()))
        })
        .cached()
        .plan()
        .unwrap();
    let program = "```clojure\n(pmap (fn [x] (tool/next {})) (range 2)) (return (tool/next {}))\n```";
    let ran = run_plan(&plan, &script([program]), &ModelList::default()).await;
    assert!(ran.step.is_ok() && ran.step.calls.iter().any(|call| call.cached), "{:?}", ran.step.fail);
}

#[tokio::test]
async fn calls_beyond_the_limit_are_not_made_and_count() {
    let agent = with(&format!("max_tool_calls = 2\n{PEOPLE}"));
    let one = ("find", r#"{"id":1}"#);
    let model = script([calls(&[one, ("nothing", "{}"), one]), calls(&[one]), Reply::from("done")]);
    let ran = run_agent(&agent, &model).await;
    let over = "refused tool_call_limit_exceeded";
    assert_eq!(came_out(&ran), [r#"ok {"name":"Ada"}"#, "refused unknown_tool", over, over]);
    assert!(results(&ran)[2].contains("the limit of 2 tool calls"), "{}", results(&ran)[2]);
}

#[tokio::test]
async fn a_tool_has_only_its_time() {
    let slow = with("[tools.wait]\nkind = \"table\"\ndefault = 1\ndelay_ms = 60000\ntimeout_ms = 20\n");
    let ran = run_agent(&slow, &calling(&[("wait", "{}")])).await;
    assert_eq!(came_out(&ran), ["error tool_error"]);
    assert!(results(&ran)[0].contains("did not answer within timeout_ms = 20"), "{}", results(&ran)[0]);
}

#[test]
fn declarations_that_cannot_be_are_refused_by_key() {
    let cases = [
        ("[tools.a]\nkind = \"tabel\"\n", "did you mean `table`"),
        ("[tools.a]\nkind = \"table\"\n", "needs `rows` or a `default`"),
        ("[tools.a]\nkind = \"table\"\nrows = [{ args = {} }]\n", "needs either `result` or `error`"),
        ("[tools.a]\nkind = \"table\"\ndefault = 1\nrow = []\n", "unknown key `row`"),
        ("[tools.a]\nkind = \"table\"\ndefault = 1\ntimeout_ms = 0\n", "timeout_ms"),
        ("[tools.a]\nkind = \"table\"\ndefault = 1\nexpose = \"all\"\n", "unknown `expose`"),
        ("[tools.a]\nkind = \"table\"\ndefault = 1\nsignature = \"(x\"\n", "tool `a`"),
        ("[tools.lisp_eval]\nkind = \"table\"\ndefault = 1\n", "the name `lisp_eval` is reserved"),
        (
            "[tools.a-b]\nkind = \"table\"\ndefault = 1\n[tools.a_b]\nkind = \"table\"\ndefault = 1\n",
            "two tools are named",
        ),
        ("[tools.\"1a\"]\nkind = \"table\"\ndefault = 1\n", "is not a valid tool name"),
        ("[tools.a]\nkind = \"snippet\"\n", "needs `code`"),
        ("[tools.a]\nkind = \"agent\"\n", "needs `file`"),
        ("[tools.a]\nkind = \"agent\"\nagent = { prompt = \"\" }\n", "tool `a`"),
        ("[tools.a]\nkind = \"http\"\n", "`url` is missing"),
        ("[tools.a]\nkind = \"http\"\nurl = \"https://{{host}}/\"\n", "an argument in its host"),
        ("[tools.a]\nkind = \"http\"\nurl = \"https://h.example/\"\nmethod = \"PSOT\"\n", "did you mean `POST`"),
        ("[tools.a]\nkind = \"http\"\nurl = \"https://h.example/\"\nbody = {}\n", "is not sent with GET"),
        (
            "[tools.a]\nkind = \"http\"\nurl = \"https://h.example/\"\nheaders = { authorization = \"Bearer abc\" }\n",
            "a key in plain text (authorization)",
        ),
        ("[tools.a]\nkind = \"command\"\n", "`command` is missing"),
        ("[tools.a]\nkind = \"command\"\ncommand = \"wc -l\"\n", "must be a list of strings"),
        ("[tools.a]\nkind = \"command\"\ncommand = [\"wc\"]\nenv = [\"A=1\"]\n", "never values"),
        ("[tools.a]\nkind = \"command\"\ncommand = [\"wc\"]\noutput_max_bytes = 0\n", "output_max_bytes"),
        ("[tools.a]\nkind = \"mcp\"\n", "`server` is missing"),
        ("[tools.a]\nkind = \"mcp\"\ncommand = [\"x\"]\nurl = \"http://h/\"\n", "cannot both be set"),
        ("builtin_tools = [\"grpe\"]\n", "did you mean `grep`"),
    ];
    for (rest, expected) in cases {
        let text = refusal(rest);
        assert!(text.contains(expected), "{rest}: {text}");
    }
    let long = refusal(&format!("[tools.{}]\nkind = \"table\"\ndefault = 1\n", "x".repeat(65)));
    assert!(long.contains("up to 64"), "{long}");
}

/// A user who thinks for a minute before every answer.
struct Slow(&'static str);

impl Human for Slow {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_mins(1)).await;
            Some(self.0.to_owned())
        })
    }
}

/// Tools that need consent and take two seconds.
struct TwoSeconds;

impl Tools for TwoSeconds {
    fn call<'a>(&'a self, _: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            Ok(Value::str("made"))
        })
    }

    fn consent_decision(&self, _: &Tool) -> Option<ConsentDecision> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_in_which_a_user_decides_is_not_the_tool_s() {
    let plan = Plan::new(&with("max_turns = 2\n[tools.t]\nkind = \"command\"\ncommand = [\"/no/such\"]\n")).unwrap();
    let (model, sink) = (calling(&[("t", "{}")]), Memory::default());
    let human = Slow("once");
    let ports = Ports { human: &human, tools: &TwoSeconds, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    assert!(step.fail.is_none(), "{:?}", step.fail);
    let ends = sink.events().into_iter().filter_map(|envelope| match envelope.event {
        Event::ToolEnd(end) => Some((end.status, end.ms)),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(CallStatus::Ok, 2_000)]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_decision_denies_the_call_and_says_so_in_a_replay_too() {
    let plan = Plan::new(&with("max_turns = 2\n[tools.t]\nkind = \"command\"\ncommand = [\"/no/such\"]\n")).unwrap();
    let (model, sink, human) = (calling(&[("t", "{}")]), Memory::default(), Slow("maybe"));
    let ports = Ports { human: &human, tools: &TwoSeconds, ..Ports::new(&model, &Ticks(10), &sink, Stop::default()) };
    let step = engine::run(&plan, Input::new(parsed("{}")), &ports).await;
    let error = step.calls[0].error.clone().unwrap_or_default();
    assert!(error.message.ends_with("(`maybe` is not one of once, run, always, deny)"), "{}", error.message);
    super::replays(&sink.events()).await;
}
