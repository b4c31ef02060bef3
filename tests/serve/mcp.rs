//! The MCP server: what a client of the protocol sees, and that it gets all its replies.

use std::sync::Arc;

use ptc_workbench::agent::{Agent, Mode};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::serve::ServedAgent;
use ptc_workbench::serve::mcp::{AgentTools, McpOptions, serve};
use ptc_workbench::workbench::Workbench;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ASK, DOUBLE, FREE};

/// A client of one server.
pub(super) struct Client {
    pub(super) lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(super) input: WriteHalf<DuplexStream>,
    task: JoinHandle<Result<(), String>>,
    pub(super) workbench: Workbench,
    last: u64,
    /// Its answer to a question; `None` for a client that cannot be asked.
    reply: Option<Value>,
    _dir: Arc<TempDir>,
}

/// A text of a result, and whether it is an error.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub(super) is_error: bool,
    pub(super) text: String,
    pub(super) structured: Value,
}

impl ToolResult {
    pub(super) fn of(reply: &Value) -> Self {
        let result = &reply["result"];
        Self {
            is_error: result["isError"].as_bool().unwrap_or_default(),
            text: result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            structured: result["structuredContent"].clone(),
        }
    }
}

impl Client {
    pub(super) async fn start(agents: &[(&str, &str)], options: McpOptions, reply: Option<Value>) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let config = Config::from_toml("", "config.toml", &|_: &str| None).unwrap();
        let workbench = Workbench::new(config, Folders::at(dir.path().to_owned(), dir.path(), Some(dir.path())));
        let agents = agents.iter().map(|(name, toml)| {
            let agent = Agent::from_toml(toml, name).unwrap();
            ServedAgent::new((*name).to_owned(), format!("{name}.toml"), agent, &workbench).unwrap()
        });
        let tools = AgentTools::new(agents.collect()).unwrap();
        let (own, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let task = tokio::spawn(serve(workbench.clone(), tools, options, read, write, CancellationToken::new()));
        let (read, input) = tokio::io::split(own);
        let lines = BufReader::new(read).lines();
        let mut client = Self { lines, input, task, workbench, last: 0, reply, _dir: dir };
        let capabilities = if client.reply.is_some() { json!({"elicitation": {}}) } else { json!({}) };
        let version = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}});
        let begun = client.request("initialize", version).await;
        assert_eq!(begun["result"]["serverInfo"]["name"], "ptc-workbench");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// The reply to a request; questions of the server are answered before.
    async fn wait(&mut self, id: u64) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the server answers");
            let message: Value = serde_json::from_str(&line).unwrap();
            match message["method"].as_str() {
                None if message["id"] == id => return message,
                Some("elicitation/create") => {
                    let reply = self.reply.clone().expect("a client that can be asked");
                    self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": reply})).await;
                }
                _ => {}
            }
        }
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.wait(id).await
    }

    pub(super) async fn call(&mut self, name: &str, arguments: Value) -> ToolResult {
        let reply = self.request("tools/call", json!({"name": name, "arguments": arguments})).await;
        assert!(reply["result"].is_object(), "{name} {arguments}: {reply}");
        ToolResult::of(&reply)
    }

    pub(super) async fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", json!({})).await["result"]["tools"].as_array().unwrap().clone()
    }
}

pub(super) const READS: McpOptions = McpOptions { allow_runs: false };
pub(super) const RUNS: McpOptions = McpOptions { allow_runs: true };

/// The word after this one in a text.
pub(super) fn word_after<'t>(text: &'t str, before: &str) -> &'t str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("`{before}` is not in: {text}")).1;
    rest.split([' ', '\n', ':', ';']).next().unwrap()
}

#[tokio::test]
async fn without_the_flag_a_client_only_reads() {
    let mut client = Client::start(&[], READS, None).await;
    let tools = client.tools().await;
    let read_only = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true;
    assert!(tools.len() >= 5 && tools.iter().filter(read_only).count() == tools.len(), "{tools:?}");
    for name in ["agent_run", "session_fork", "session_resume", "cases_run", "matrix_run"] {
        assert!(tools.iter().all(|tool| tool["name"] != name), "{name}");
        let refused = client.call(name, json!({"agent": "sentiment"})).await;
        assert!(refused.is_error && refused.text.contains("--allow-runs"), "{name}: {}", refused.text);
    }
    assert!(!client.workbench.folders.sessions_dir.join("x").exists());
    let mut client = Client::start(&[], RUNS, None).await;
    assert!(client.tools().await.iter().any(|tool| tool["name"] == "session_fork"));
}

#[tokio::test]
async fn a_client_finds_why_an_example_run_failed_and_proves_a_fix_by_a_fork() {
    let mut client = Client::start(&[], RUNS, None).await;
    // The replies that did not fit, of the example `sentiment`.
    let failures = client.call("failures_list", json!({"query": "agent:sentiment"})).await.text;
    let session = word_after(&failures, "newest ").to_owned();
    let turn = word_after(&failures, &format!("{session} ")).to_owned();
    let shown = client.call("session_show", json!({"session": session})).await.text;
    assert!(shown.contains(&format!("{turn} failed")), "{shown}");
    let why =
        client.call("turn_show", json!({"session": session, "turn": turn, "parts": ["reply", "check"]})).await.text;
    assert!(why.contains("validation_error") && why.contains("score"), "{why}");
    let reply = json!({"sentiment": "positive", "score": 0.5}).to_string();
    let fork = json!({"session": session, "at": format!("{turn}:reply"), "changes": {"reply": reply}, "model": "demo"});
    let fixed = client.call("session_fork", fork).await;
    assert!(
        !fixed.is_error && fixed.text.contains("returned: {\"sentiment\":\"positive\",\"score\":0.5}"),
        "{}",
        fixed.text
    );
    let id = word_after(&fixed.text, "session: ").to_owned();
    let replayed = client.call("session_replay", json!({"session": id})).await.text;
    assert!(replayed.contains("identical"), "{replayed}");
    let compared = client.call("sessions_compare", json!({"sessions": [session, id]})).await.text;
    assert!(compared.contains("0.5"), "{compared}");
}

#[tokio::test]
async fn a_name_never_leads_out_of_the_folders_of_the_server() {
    let mut client = Client::start(&[], RUNS, None).await;
    let outside = ["/etc/passwd", "../../../../../../etc/passwd", "tests/../../../../../../etc/hostname", "/", ".."];
    for name in outside {
        for tool in ["agent_read", "agent_preview", "agent_check", "agent_run", "cases_run"] {
            let got = client.call(tool, json!({"agent": name})).await;
            assert!(got.is_error, "{tool} {name}: {}", got.text);
        }
        for tool in ["session_show", "session_replay", "session_resume"] {
            let got = client.call(tool, json!({"session": name})).await;
            assert!(got.is_error, "{tool} {name}: {}", got.text);
        }
        assert!(client.call("sessions_compare", json!({"sessions": [name, "last"]})).await.is_error, "{name}");
        assert!(client.call("matrix_show", json!({"matrix": name})).await.is_error, "{name}");
        assert!(client.call("matrix_run", json!({"agents": [name]})).await.is_error, "{name}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_errors_of_the_tool_and_the_server_continues() {
    let mut client = Client::start(&[("double", DOUBLE)], RUNS, None).await;
    let names: Vec<String> =
        client.tools().await.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    for name in names {
        for arguments in [json!({"unknown_member": 1}), json!({"offset": -1}), json!({"agent": 7, "session": 7})] {
            let got = client.call(&name, arguments.clone()).await;
            assert!(got.is_error && !got.text.is_empty(), "{name} {arguments}: {}", got.text);
        }
    }
    assert!(client.call("double", json!({"n": "many"})).await.text.contains("invalid_context"));
    assert_eq!(client.call("lisp_run", json!({"program": "(+ data/a 1)", "data": {"a": 1}})).await.text, "2");
    let unknown = client.call("lisp_run", json!({"program": "(fitler odd? [1])"})).await.text;
    assert_eq!(unknown.matches("Did you mean").count(), 1, "the hint appears once: {unknown}");
}

#[tokio::test]
async fn inputs_that_an_agent_does_not_declare_are_refused_with_the_nearest_name() {
    let mut client = Client::start(&[("double", DOUBLE), ("free", FREE)], RUNS, None).await;
    let tools = client.tools().await;
    let schema = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"].clone();
    assert_eq!(schema("double")["additionalProperties"], false);
    let got = client.call("double", json!({"n": 1, "nn": "INJECTED"})).await;
    assert!(got.is_error && got.text.contains("no input `nn`; did you mean `n`? (inputs: n)"), "{}", got.text);
    for tool in ["agent_run", "agent_preview"] {
        let got = client.call(tool, json!({"agent": "sentiment", "context": {"text": "a", "txt": "INJECTED"}})).await;
        assert!(got.is_error && got.text.contains("no input `txt`; did you mean `text`?"), "{tool}: {}", got.text);
    }
    let failures = client.call("failures_list", json!({"query": "agent:sentiment"})).await.text;
    let session = word_after(&failures, "newest ").to_owned();
    let turn = word_after(&failures, &format!("{session} ")).to_owned();
    let near = "no input `txt`; did you mean `text`?";
    for (changes, words) in [
        (json!({"context": {"text": "a", "txt": "INJECTED"}}), near),
        (json!({"context.txt": "INJECTED"}), near),
        (json!({"signature": "(txt :string) -> {a :int}", "context": {"txt": "a", "text": "b"}}), "(inputs: txt)"),
        (json!({"signature": "(text :file) -> {a :int}", "context.text": {"name": "a"}}), "`text` is a file"),
    ] {
        let fork = json!({"session": session, "at": turn, "changes": changes, "model": "demo"});
        let got = client.call("session_fork", fork).await;
        assert!(got.is_error && got.text.contains(words), "{changes}: {}", got.text);
    }
    assert_eq!(client.workbench.sessions().iter().filter(|session| !session.example).count(), 0);
    // An agent that declares no inputs takes any, and its schema says so.
    assert!(schema("free").get("additionalProperties").is_none(), "{}", schema("free"));
    let free = client.call("free", json!({"any": 1})).await;
    assert!(!free.text.contains("no input"), "{}", free.text);
}

#[tokio::test]
async fn a_run_that_has_ended_is_not_resumed_and_the_answer_names_tools_of_the_server() {
    let mut client = Client::start(&[("double", DOUBLE)], RUNS, None).await;
    client.call("double", json!({"n": 1})).await;
    let refused = client.call("session_resume", json!({"session": "last", "answers": ["1"]})).await;
    assert!(
        refused.is_error && refused.text.contains("has ended: no question waits for an answer"),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("session_show") && !refused.text.contains("`continue`"), "{}", refused.text);
}

#[tokio::test]
async fn a_matrix_runs_each_agent_in_its_own_mode_unless_modes_are_named() {
    let mut client = Client::start(&[], RUNS, None).await;
    let tools = client.tools().await;
    let schema = &tools.iter().find(|tool| tool["name"] == "matrix_run").unwrap()["inputSchema"];
    let described = schema["properties"]["modes"]["description"].as_str().unwrap();
    assert!(described.ends_with("default: each agent's own"), "{described}");
    let modes = |text: &str| {
        Mode::ALL.map(Mode::name).into_iter().filter(|name| text.contains(&format!("· {name} ·"))).collect::<Vec<_>>()
    };
    let own = client.call("matrix_run", json!({"agents": ["sentiment"], "models": ["sample"]})).await.text;
    assert_eq!(modes(&own), ["json"], "{own}");
    let named = json!({"agents": ["sentiment"], "models": ["sample"], "modes": ["json", "ptc_lisp"]});
    let named = client.call("matrix_run", named).await.text;
    assert_eq!(modes(&named).len(), 2, "{named}");
}

#[tokio::test]
async fn a_served_agent_is_a_tool_with_the_schema_of_its_signature() {
    let mut client = Client::start(&[("double", DOUBLE)], READS, None).await;
    let tools = client.tools().await;
    let tool = tools.iter().find(|tool| tool["name"] == "double").unwrap();
    assert_eq!(tool["inputSchema"]["required"], json!(["n"]));
    assert_eq!(tool["outputSchema"]["properties"]["twice"]["type"], "integer");
    let got = client.call("double", json!({"n": 21})).await;
    assert_eq!((got.structured, got.text.as_str()), (json!({"twice": 42}), "{\"twice\":42}"));
}

#[tokio::test]
async fn every_answer_of_a_served_agent_fits_the_schema_that_its_tool_declares() {
    let rows = [
        ("{twice :int}", "{:twice 2}", json!({"twice": 2})),
        ("[:int]", "[1 2]", json!({"items": [1, 2]})),
        (":string", "\"a\"", json!({"value": "a"})),
        (":int", "3", json!({"value": 3})),
        ("{a :int}?", "nil", json!({"value": null})),
        ("{o :string?, n :int}", "{:o nil :n 1}", json!({"o": null, "n": 1})),
        ("{o :string?, n :int}", "{:n 1}", json!({"n": 1})),
        (
            "{in {e :enum[x]?}, l [{a :int?}]}",
            "{:in {:e nil} :l [{:a nil}]}",
            json!({"in": {"e": null}, "l": [{"a": null}]}),
        ),
        ("[{a :int?}]?", "[{:a nil}]", json!({"items": [{"a": null}]})),
        ("{a-b :int}", "{:a-b 1}", json!({"a_b": 1})),
        ("{n :int}", "{:n 1 :more 2}", json!({"n": 1, "more": 2})),
        ("{k :keyword}", "{:k \"gr\u{fc}n\"}", json!({"k": "gr\u{fc}n"})),
        (":any", "[1]", Value::Null),
    ];
    for (output, value, expected) in rows {
        let toml = format!(
            "name = \"gives\"\nmode = \"ptc_lisp\"\nprompt = \"Go\"\nsignature = \"() -> {output}\"\nmax_turns = 1\nprogram = '(return {value})'\n"
        );
        let mut client = Client::start(&[("gives", &toml)], READS, None).await;
        let tools = client.tools().await;
        let schema = &tools.iter().find(|tool| tool["name"] == "gives").unwrap()["outputSchema"];
        let got = client.call("gives", json!({})).await;
        assert_eq!(got.structured, expected, "{output}: {}", got.text);
        assert_eq!(schema.is_null(), expected.is_null(), "{output}: {schema}");
        if !schema.is_null() {
            assert_eq!(schema["type"], "object", "{output}");
            assert!(jsonschema::is_valid(schema, &got.structured), "{output}: {schema} {}", got.structured);
        }
    }
}

#[tokio::test]
async fn questions_of_an_agent_are_asked_of_the_clients_user_else_the_run_waits() {
    let accept = json!({"action": "accept", "content": {"answer": "blue"}});
    let mut client = Client::start(&[("ask", ASK)], RUNS, Some(accept)).await;
    assert_eq!(client.call("ask", json!({})).await.structured, json!({"colour": "blue", "size": "blue"}));
    for reply in [None, Some(json!({"action": "decline"})), Some(json!({"action": "cancel"}))] {
        let mut client = Client::start(&[("ask", ASK)], RUNS, reply).await;
        let waits = client.call("ask", json!({})).await;
        assert!(
            waits.is_error && waits.text.contains("waits for an answer") && waits.text.contains("Which colour?"),
            "{}",
            waits.text
        );
        let session = word_after(&waits.text, "session: ").to_owned();
        let answers = json!({"session": session, "answers": ["red", "small"]});
        let done = client.call("session_resume", answers).await;
        assert!(done.text.contains("{\"colour\":\"red\",\"size\":\"small\"}"), "{}", done.text);
    }
}

#[tokio::test]
async fn requests_before_the_end_of_the_input_are_answered() {
    // One of them waits for an answer that cannot come any more.
    let accept = json!({"action": "accept", "content": {"answer": "never sent"}});
    let mut client = Client::start(&[("ask", ASK), ("double", DOUBLE)], RUNS, Some(accept)).await;
    let mut ids = vec![client.begin("tools/call", json!({"name": "ask", "arguments": {}})).await];
    for n in 0..20 {
        ids.push(client.begin("tools/call", json!({"name": "double", "arguments": {"n": n}})).await);
    }
    client.input.shutdown().await.unwrap();
    let mut answered = Vec::new();
    while let Some(line) = client.lines.next_line().await.unwrap() {
        let message: Value = serde_json::from_str(&line).unwrap();
        answered.extend(message["id"].as_u64().filter(|_| message.get("result").is_some()));
    }
    answered.sort_unstable();
    assert_eq!(answered, ids);
    assert_eq!(client.task.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_long_result_is_read_page_by_page() {
    let mut client = Client::start(&[], READS, None).await;
    let first = client.call("models_list", json!({"max_chars": 50})).await.text;
    assert!(first.contains("the next page: offset 50"), "{first}");
    let second = client.call("models_list", json!({"max_chars": 50, "offset": 50})).await.text;
    let whole = client.call("models_list", json!({})).await.text;
    let part = |page: &str| page.rsplit_once("\n[").unwrap().0.to_owned();
    assert!(whole.starts_with(&format!("{}{}", part(&first), part(&second))), "{first} {second}");
}

#[tokio::test]
async fn sessions_are_resources_in_pages() {
    let mut client = Client::start(&[], READS, None).await;
    let (mut uris, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let listed = client.request("resources/list", params).await["result"].clone();
        let page = listed["resources"].as_array().unwrap();
        assert!(!page.is_empty() && page.len() <= 50, "{listed}");
        uris.extend(page.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()));
        cursor = listed["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(uris.len(), client.workbench.sessions().len());
    let read = async |client: &mut Client, uri: String| {
        let reply = client.request("resources/read", json!({"uri": uri})).await;
        reply["result"]["contents"][0]["text"]
            .as_str()
            .map_or_else(|| Err(reply["error"]["message"].clone()), |text| Ok(text.to_owned()))
    };
    let session = read(&mut client, uris[0].clone()).await.unwrap();
    assert!(session.contains("r0/t1"), "{session}");
    let turn = read(&mut client, format!("{}/r0/t1", uris[0])).await.unwrap();
    assert!(turn.starts_with("r0/t1 of ") && turn.contains("# reply"), "{turn}");
    let rest = read(&mut client, format!("{}?offset=10", uris[0])).await.unwrap();
    assert!(rest.starts_with(&session.chars().skip(10).take(20).collect::<String>()), "{rest}");
    for uri in ["session:///../../etc/passwd", "session:///", "file:///etc/passwd", "session:///none/r0/t1"] {
        assert!(read(&mut client, uri.to_owned()).await.is_err(), "{uri}");
    }
    let refused = client.request("resources/list", json!({"cursor": "x"})).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("not a cursor"), "{refused}");
}

#[tokio::test]
async fn a_served_agent_is_a_prompt_with_its_inputs_as_arguments() {
    let toml = "name = \"greet\"\nmode = \"text\"\nprompt = \"Greet {{name}} {{times}} times\"\nsignature = \"(name :string, times :int?) -> :string\"\n";
    let mut client = Client::start(&[("greet", toml)], READS, None).await;
    let listed = client.request("prompts/list", json!({})).await["result"]["prompts"].clone();
    assert_eq!(listed[0]["name"], "greet");
    let arguments: Vec<_> = listed[0]["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| (&argument["name"], &argument["required"]))
        .collect();
    assert_eq!(arguments, [(&json!("name"), &json!(true)), (&json!("times"), &json!(false))]);
    let got = client.request("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada", "times": "2"}})).await;
    assert!(got["result"]["messages"].to_string().contains("Greet Ada 2 times"), "{got}");
    let wrong = client.request("prompts/get", json!({"name": "greet", "arguments": {"nme": "Ada"}})).await;
    assert!(wrong["error"]["message"].as_str().unwrap().contains("no input `nme`"), "{wrong}");
    let twice = json!({"name": "greet", "arguments": {"name": "Ada", "times": r#"{"a": 1, "a": 2}"#}});
    let twice = client.request("prompts/get", twice).await;
    let message = twice["error"]["message"].as_str().unwrap();
    assert!(message.contains("the input `times` is ambiguous at line 1, column 10"), "{twice}");
    let missing = client.request("prompts/get", json!({"name": "other"})).await;
    assert!(missing["error"]["message"].as_str().unwrap().contains("no agent `other`"), "{missing}");
}
