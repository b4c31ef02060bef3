//! The cast of a play: agents of every mode with tools and child agents, and what a model may reply in each.

use std::fmt::Write as _;

use proptest::prelude::*;
use ptc_workbench::agent::Agent;
use ptc_workbench::model::{Reply, Request};

/// One turn of the model.
#[derive(Debug, Clone)]
pub(super) struct Act {
    /// Index into the replies of the mode, modulo their number.
    pub(super) reply: u16,
    /// 0–4: what goes wrong; anything else: nothing.
    pub(super) fault: u8,
    /// Counted tokens.
    pub(super) usage: Option<(u64, u64)>,
}

/// A case.
#[derive(Debug, Clone)]
pub(super) struct Play {
    pub(super) toml: String,
    pub(super) acts: Vec<Act>,
    pub(super) seed: u64,
    /// Questions that are answered.
    pub(super) answers: i64,
    /// Events after which the run is stopped.
    pub(super) stop_after: Option<u32>,
    /// Selects the position at which the session is cut afterwards, and the edits of its fork.
    pub(super) cut: usize,
    pub(super) retry_turns: u32,
    pub(super) max_depth: u32,
    pub(super) turn_budget: u32,
    pub(super) max_tool_calls: u64,
}

impl Play {
    pub(super) fn agent(&self) -> Agent {
        Agent::from_toml(&self.toml, "play.toml").unwrap_or_else(|error| panic!("{error}\n{}", self.toml))
    }
}

const TOOLS: &str = r#"
[tools.lookup]
kind = "table"
signature = "(k :string) -> :any"
rows = [{ args = { k = "a" }, result = 1 }, { args = { k = "bad" }, error = "no such row" }]
default = { n = 2, _secret = "hush" }
[tools.cached]
kind = "table"
cache = true
signature = "(k :string) -> :any"
default = "kept"
[tools.slow]
kind = "table"
delay_ms = 15
default = 1
[tools.ask_user]
kind = "builtin"
[tools.snip]
kind = "snippet"
signature = "(n :int) -> :int"
code = "(* 2 data/n)"
[tools.child]
kind = "agent"
description = "answers"
cache = CACHED
[tools.child.agent]
mode = "json"
prompt = "Say {{q}}"
signature = "(q :string) -> {a :string}"
max_turns = 2
[tools.deep]
kind = "agent"
description = "works"
[tools.deep.agent]
mode = "ptc_lisp"
prompt = "Do {{q}}"
signature = "(q :string) -> :any"
max_turns = 2
MISSION
[tools.deep.agent.tools.ask_user]
kind = "builtin"
[tools.deep.agent.tools.lookup]
kind = "table"
default = 3
[tools.deep.agent.tools.child]
kind = "agent"
description = "answers"
[tools.deep.agent.tools.child.agent]
mode = "text"
prompt = "Say {{q}}"
signature = "(q :string) -> :string"
[tools.talker]
kind = "agent"
description = "talks"
[tools.talker.agent]
mode = "json_loop"
prompt = "Talk about {{q}}"
signature = "(q :string) -> :string"
max_turns = 3
"#;

/// Programs; `ENDLESS` computes until something ends it.
const PROGRAMS: &[&str] = &[
    "(return {:r 1})",
    "(return {:r \"x\"})",
    "{:r 2}",
    "(fail {:reason :bad :message \"m\"})",
    "(def a 1) (println \"sum\" {:_hidden 1 :b 2}) a",
    "(tool/lookup {:k \"a\"})",
    "(tool/lookup {:k 5})",
    "(tool/nothing {})",
    "(pmap (fn [k] (tool/lookup {:k k})) [\"a\" \"b\" \"bad\" \"c\"])",
    "(pmap (fn [k] [(tool/lookup {:k k}) (tool/cached {:k k}) (tool/lookup {:k k})]) [\"a\" \"b\" \"c\" \"a\"])",
    "(def xs (pmap (fn [n] (tool/child {:q (str n)})) [1 2 3])) (return {:r (count xs)})",
    "(pmap (fn [n] (tool/deep {:q (str n)})) [1 2])",
    "(pcalls #(tool/slow {}) #(tool/child {:q \"z\"}) #(tool/ask_user {:question \"which\"}))",
    "(return {:r (count (tool/ask_user {:question \"colour\" :options [\"red\" \"blue\"]}))})",
    "(pmap (fn [n] [(tool/lookup {:k \"a\"}) (tool/ask_user {:question (str n)}) (tool/lookup {:k \"b\"})]) [1 2 3])",
    "(tool/deep {:q \"one\"})",
    "(tool/talker {:q \"one\"})",
    "(pmap (fn [n] (tool/talker {:q (str n)})) [1 2])",
    "(step-done \"1\" \"ok\") (def _s \"hush\") nil",
    "(task \"t\" (tool/snip {:n 4}))",
    "(task \"u\" (tool/child {:q \"t\"}))",
    "(vec (range 100000))",
    "(def big (vec (range 3000))) (count big)",
    "(foo",
    "(nonsense)",
    "(return (budget/remaining))",
    "(return {:r (count (str data/fail *1 *2))})",
    "(loop [i 0] (recur (inc i)))",
    "(do (tool/child {:q \"x\"}) (tool/cached {:k \"a\"}) ENDLESS)",
    "(pmap (fn [n] (tool/child {:q (str n)}) ENDLESS) [1 2])",
    "ENDLESS",
    "(tool/slow {}) (tool/slow {}) (return {:r 3})",
    "(tool/cached {:k \"a\"}) (tool/cached {:k \"a\"})",
];

const ENDLESS: &str = "(reduce (fn [a x] (reduce (fn [b y] (reduce + (range 1000))) 0 (range 1000))) 0 (range 1000))";

const CALLS: &[(&str, &str)] = &[
    ("lookup", r#"{"k":"a"}"#),
    ("lookup", r#"{"k":"bad"}"#),
    ("lookup", r#"{"k":5}"#),
    ("lookup", "not json"),
    ("nothing", "{}"),
    ("cached", r#"{"k":"a"}"#),
    ("slow", "{}"),
    ("child", r#"{"q":"z"}"#),
    ("deep", r#"{"q":"z"}"#),
    ("talker", r#"{"q":"z"}"#),
    ("ask_user", r#"{"question":"colour"}"#),
    ("snip", r#"{"n":2}"#),
];

const TEXTS: &[&str] = &[
    r#"{"r":1}"#,
    r#"{"a":"yes"}"#,
    r#"{"a":5}"#,
    "```json\n{'r': 1, a: 'x',}\n```",
    "prose without anything",
    "",
    "{\"r\": 1",
    "[1,2]",
    "<result>7</result> } ``` ((",
];

/// Returns the replies that a model may give to this request.
pub(super) fn replies(request: &Request) -> Vec<Reply> {
    let texts = TEXTS.iter().map(|text| Reply::from(*text));
    let programs = || PROGRAMS.iter().map(|program| program.replace("ENDLESS", ENDLESS));
    let native = || CALLS.iter().map(|(name, args)| Reply::calling([(*name, (*args).to_owned())]));
    let several = Reply::calling(CALLS.iter().take(3).map(|(name, args)| (*name, (*args).to_owned())));
    match request.mode.as_str() {
        "ptc_lisp" if request.tools.is_empty() => {
            let blocks = programs().map(|program| Reply::from(format!("```clojure\n{program}\n```")));
            blocks.chain([Reply::from("no code"), Reply::from("```clojure\n1\n```\n```clojure\n2\n```")]).collect()
        }
        "ptc_lisp" => {
            let eval = |program: String| {
                let args = serde_json::json!({ "program": program }).to_string();
                Reply::calling([("lisp_eval", args)])
            };
            programs()
                .map(eval)
                .chain([several, Reply::calling([("lisp_eval", "{}".to_owned())])])
                .chain(texts)
                .collect()
        }
        "text" => texts.chain(native()).chain([several]).collect(),
        "json_loop" => {
            let call = |(name, args): &(&str, &str)| {
                Reply::from(format!(r#"{{"thought":"t","tool_call":{{"name":"{name}","arguments":{args}}}}}"#))
            };
            let ends = [
                r#"{"thought":"t","final_answer":"done"}"#,
                r#"{"thought":"t","final_answer":{"r":1}}"#,
                r#"{"thought":"t","awaiting_user_input":{"kind":"text","prompt":"Which colour?"}}"#,
                r#"{"thought":"","final_answer":null}"#,
            ];
            CALLS.iter().map(call).chain(ends.map(Reply::from)).chain(texts).chain(native().take(2)).collect()
        }
        _ => texts.collect(),
    }
}

fn acts() -> impl Strategy<Value = Act> {
    let fault = prop_oneof![12 => Just(9u8), 1 => 0..6u8, 1 => Just(1u8)];
    (any::<u16>(), fault, prop::option::of((0..50u64, 0..50u64))).prop_map(|(reply, fault, usage)| Act {
        reply,
        fault,
        usage,
    })
}

/// A line of an agent file, or none.
fn maybe(lines: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::option::weighted(0.3, prop::sample::select(lines)).prop_map(|line| line.unwrap_or_default().to_owned())
}

fn options() -> impl Strategy<Value = String> {
    let lines = (
        maybe(&["mission_timeout_ms = 10", "mission_timeout_ms = 40"]),
        maybe(&["token_limit = 60", "cost_limit = 0.00005"]),
        maybe(&["on_budget_exceeded = \"return_partial\""]),
        maybe(&["recovery = \"strict\"", "recovery = \"lenient\""]),
    );
    lines.prop_map(|(a, b, c, d)| [a, b, c, d].join("\n"))
}

fn for_programs() -> impl Strategy<Value = String> {
    let lines = (
        maybe(&["completion = \"explicit\"", "completion = \"answer_without_code\""]),
        maybe(&["transport = \"tool_call\""]),
        maybe(&[
            "compaction = { strategy = \"trim\", trigger = { turns = 1 }, keep_recent_turns = 1 }",
            "compression = true",
        ]),
        maybe(&["memory_bytes = 200", "memory_bytes = 200\nmemory_strategy = \"rollback\""]),
        maybe(&["journaling = true", "journaling = true\nplan = [\"gather\", \"tell\"]"]),
        maybe(&["firewall = true"]),
        maybe(&["max_tool_calls_per_program = 2", "program_memory_bytes = 100000"]),
    );
    lines.prop_map(|(a, b, c, d, e, f, g)| {
        [a, b, c, d, e, f, g, "program_timeout_ms = 15\npmap_timeout_ms = 2000".to_owned()].join("\n")
    })
}

pub(super) fn plays() -> impl Strategy<Value = Play> {
    let limits = (1..5u32, 0..3u32, 1..4u32, 1..9u32, 1..8u64);
    let mode = prop::sample::select(vec!["ptc_lisp", "ptc_lisp", "ptc_lisp", "text", "json", "json_loop"]);
    let texts = (options(), for_programs(), prop::bool::ANY, maybe(&["mission_timeout_ms = 8"]));
    let signature =
        prop::sample::select(vec!["(x :string) -> {r :int}", "(x :string) -> :string", "(x :string) -> :any"]);
    let fate = (any::<u64>(), 0..3i64, prop::option::weighted(0.25, 1..60u32), any::<u16>());
    (limits, mode, texts, signature, fate, prop::collection::vec(acts(), 1..7)).prop_map(
        |((max_turns, retry_turns, max_depth, turn_budget, max_tool_calls), mode, texts, signature, fate, acts)| {
            let (options, for_programs, cached, mission) = texts;
            let (seed, answers, stop_after, cut) = fate;
            let is_ptc = mode == "ptc_lisp";
            let mut toml = format!(
                "mode = \"{mode}\"\nprompt = \"do {{{{x}}}}\"\nsignature = \"{signature}\"\nmax_turns = {max_turns}\n\
                 turn_budget = {turn_budget}\nmax_depth = {max_depth}\n{options}\n"
            );
            if is_ptc {
                _ = writeln!(toml, "retry_turns = {retry_turns}\n{for_programs}");
            }
            if mode != "json" {
                let tools = TOOLS.replace("CACHED", if cached { "true" } else { "false" }).replace("MISSION", &mission);
                _ = write!(toml, "max_tool_calls = {max_tool_calls}\n{tools}");
            }
            let retry_turns = if is_ptc { retry_turns } else { 0 };
            let cut = usize::from(cut);
            Play { toml, acts, seed, answers, stop_after, cut, retry_turns, max_depth, turn_budget, max_tool_calls }
        },
    )
}
