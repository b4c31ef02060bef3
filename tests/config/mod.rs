//! The configuration: what a file may contain, the errors when it contains something else, and which model a name means.

use std::path::{Path, PathBuf};

use ptc_core::limits::{CONCURRENT_REQUESTS, MODEL_ATTEMPTS};
use ptc_core::reasons::Reason;
use ptc_workbench::agent::Agent;
use ptc_workbench::config::{
    Config, ConfigError, Folders, HttpModel, KeyCommand, KeySource, ModelChoice, Protocol, Timeouts, options_over,
};
use ptc_workbench::event::{Options, StructuredBy};
use ptc_workbench::model::{Endpoint, StructuredOutput};

fn env(name: &str) -> Option<String> {
    (name == "HOME").then(|| "/home/ann".to_owned())
}

fn config(toml: &str) -> Config {
    Config::from_toml(toml, "conf/config.toml", &env).unwrap()
}

fn error(toml: &str) -> String {
    match Config::from_toml(toml, "config.toml", &env) {
        Ok(config) => format!("no error: {config:?}"),
        Err(error) => error.to_string(),
    }
}

fn http(config: &Config, name: &str) -> HttpModel {
    match config.resolve_model(name) {
        Ok(ModelChoice::Http(model)) => *model,
        other => panic!("{name}: {other:?}"),
    }
}

const EXAMPLE: &str = r#"
default_model = "small"

[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:8080/v1/"
api_key_env = "LOCAL_KEY"
headers = { x-team = "agents" }

[providers.openai]
api_key_file = "~/keys/openai"

[models.small]
provider = "local"
id = "llama-3.2"
structured_output = "json_object"
price = { input = 0.1, output = 0.4, cached_input = 0.05 }
temperature = 0

[retry]
max_attempts = 5

[mcp.files]
command = ["mcp-server-filesystem", "."]

[keys]
"run.start" = ["f5"]
"run.stop" = "esc"
"#;

#[test]
fn a_file_adds_to_the_built_in_tables() {
    let config = config(EXAMPLE);
    assert_eq!(config.default_model, "small");
    let keys =
        [("run.start", "f5"), ("run.stop", "esc")].map(|(action, key)| (action.to_owned(), vec![key.to_owned()]));
    assert_eq!(config.keys, keys);
    let model = http(&config, "small");
    assert_eq!((model.provider.as_str(), model.id.as_str()), ("local", "llama-3.2"));
    assert_eq!(model.base_url, "http://127.0.0.1:8080/v1");
    assert_eq!(model.key, Some(KeySource::Env("LOCAL_KEY".into())));
    assert_eq!(model.headers, [("x-team".to_owned(), "agents".to_owned())]);
    assert_eq!(model.structured_output, Some(StructuredBy::JsonObject));
    assert_eq!(model.price.and_then(|price| price.cached_input), Some(0.05));
    assert_eq!(model.options.temperature, Some(0.0));
    assert_eq!(model.max_attempts, 5);
    let openai = http(&config, "gpt");
    assert_eq!(openai.base_url, "https://api.openai.com/v1");
    assert_eq!(openai.key, Some(KeySource::File(PathBuf::from("/home/ann/keys/openai"))));
}

#[test]
fn a_provider_says_how_many_requests_it_takes_at_a_time() {
    let width = |toml: &str| config(toml).provider("openai").map(|provider| provider.concurrent_requests);
    assert_eq!(width(""), Some(CONCURRENT_REQUESTS.usual()));
    assert_eq!(width("[providers.openai]\nconcurrent_requests = 2"), Some(2));
    let refused = format!(
        "config.toml:2:23: `providers.openai.concurrent_requests` must be between {} and {} requests, found 0",
        CONCURRENT_REQUESTS.min, CONCURRENT_REQUESTS.max
    );
    assert_eq!(error("[providers.openai]\nconcurrent_requests = 0"), refused);
}

#[test]
fn a_provider_says_how_long_it_may_take() {
    let text = "[providers.openai]\nconnect_ms = 5\nfirst_byte_ms = 6\nsilence_ms = 7\nkeep_alive_ms = 8";
    let waits = |toml: &str| Endpoint::from(http(&config(toml), "gpt")).timeouts;
    assert_eq!(waits(text), Timeouts { connect_ms: 5, first_byte_ms: 6, silence_ms: 7, keep_alive_ms: 8 });
    assert_eq!(
        waits(""),
        Timeouts { connect_ms: 10_000, first_byte_ms: 300_000, silence_ms: 120_000, keep_alive_ms: 600_000 }
    );
    let refused = error("[providers.openai]\nsilence_ms = 0");
    assert!(refused.starts_with("config.toml:2:14: `providers.openai.silence_ms` must be between 1 and "), "{refused}");
}

#[test]
fn a_relative_key_file_is_next_to_the_configuration() {
    let config = config("[providers.openai]\napi_key_file = \"openai.key\"");
    assert_eq!(http(&config, "gpt").key, Some(KeySource::File(PathBuf::from("conf/openai.key"))));
}

#[test]
fn a_key_command_is_a_list_with_the_time_of_its_keys() {
    let config = config("[providers.openai]\napi_key_command = [\"~/bin/token\", \"--for=ann b\"]\napi_key_ttl_s = 5");
    let argv = vec!["/home/ann/bin/token".to_owned(), "--for=ann b".to_owned()];
    assert_eq!(http(&config, "gpt").key, Some(KeySource::Command(KeyCommand { argv, ttl_s: Some(5) })));
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[test]
fn slips_are_reported_at_their_place_with_what_to_write() {
    let attempts = format!(
        "config.toml:2:16: `retry.max_attempts` must be between {} and {} attempts, found 0",
        MODEL_ATTEMPTS.min, MODEL_ATTEMPTS.max
    );
    let provider = "kind = \"openai\"\nbase_url = \"http://x\"";
    let cases: [(&str, &str); 29] = [
        (
            "default_model = \"\"\"\nx\nmodels = 1\n",
            "config.toml:1:17: not TOML: the text that begins here is not closed: \"\"\" is missing",
        ),
        (
            "[interface]\ndefault_model = \"x\"",
            "config.toml:2:1: unknown key `default_model` in [interface]; it belongs at the top, above the first [table]",
        ),
        ("theme = \"x\"", "config.toml:1:1: unknown key `theme`; it belongs in [interface]"),
        ("model = \"gpt\"", "config.toml:1:1: unknown key `model`; did you mean `default_model`?"),
        (
            "[models.gpt]\ntop_k = 40",
            "config.toml:2:1: unknown key `top_k` in [models.gpt]; write `extra_body = { top_k = 40 }`",
        ),
        (
            "[models.gpt]\nmax_completion_tokens = 40",
            "config.toml:2:1: unknown key `max_completion_tokens` in [models.gpt]; did you mean `max_tokens`?",
        ),
        ("default_modl = \"x\"", "config.toml:1:1: unknown key `default_modl`; did you mean `default_model`?"),
        (
            "[providers.x]\nbase_ur = \"http://x\"\nkind = \"openai\"\nbase_url = \"http://x\"",
            "config.toml:2:1: unknown key `base_ur` in [providers.x]; did you mean `base_url`?",
        ),
        ("[providers.x]\nkind = \"openai\"", "config.toml:1:12: [providers.x] needs the key `base_url`"),
        (
            "[providers.x]\nkind = \"opnai\"\nbase_url = \"http://x\"",
            "config.toml:2:8: unknown protocol `opnai`; did you mean `openai`?",
        ),
        (
            "[providers.openai]\nbase_url = \"api.openai.com\"",
            "config.toml:2:12: `providers.openai.base_url` must start with http:// or https://, found \"api.openai.com\"",
        ),
        (
            "[providers.openai]\nbase_url = \"http://x/v1/chat/completions/\"",
            "config.toml:2:12: `providers.openai.base_url` must not contain `/chat/completions`, which is appended to it",
        ),
        (
            "[providers.openai]\nbase_url = \"http://x/v1/messages?tenant=a\"",
            "config.toml:2:12: `providers.openai.base_url` must not contain `/v1/messages`, which is appended to it",
        ),
        ("[models.a]\nid = \"b\"", "config.toml:1:9: [models.a] needs the key `provider`"),
        (
            "[models.a]\nid = \"b\"\nprovider = \"opnai\"",
            "config.toml:3:12: unknown provider `opnai`; did you mean `openai`?",
        ),
        ("[models.gpt]\nprice = { input = 1 }", "config.toml:2:1: [models.gpt.price] needs the key `output`"),
        (
            "[models.gpt]\nprice = { input = -1, output = 1 }",
            "config.toml:2:19: `models.gpt.price.input` must not be negative, found -1",
        ),
        (
            "[models.gpt]\nstructured_output = \"jsonschema\"",
            "config.toml:2:21: unknown structured_output `jsonschema`; did you mean `json_schema`?",
        ),
        (
            "[models.demo]\nprovider = \"openai\"\nid = \"x\"",
            "config.toml:1:9: `demo` cannot be an alias: it already names a model; choose another name",
        ),
        ("[retry]\nmax_attempts = 0", &attempts),
        ("[keys]\n\"run.start\" = 5", "config.toml:2:15: `keys.run.start` must be a list of strings, found an integer"),
        (
            "[providers.openai]\napi_key_env = \"sk-abcdef123456\"",
            "config.toml:2:15: `providers.openai.api_key_env` must be the name of an environment variable (letters, digits and `_`), not the secret itself",
        ),
        (
            "[providers.openai]\napi_key_env = \"gsk_abcdef1234567890abcd\"",
            "config.toml:2:15: `providers.openai.api_key_env` must be the name of an environment variable (letters, digits and `_`), not the secret itself",
        ),
        (
            "[mcp.x]\nurl = \"http://x\"\noauth_client_secret_env = \"my secret\"",
            "config.toml:3:27: `mcp.x.oauth_client_secret_env` must be the name of an environment variable (letters, digits and `_`), not the secret itself",
        ),
        (
            "[providers.openai]\napi_key_env = \"A\"\napi_key_file = \"b\"",
            "config.toml:1:12: [providers.openai] names several keys; keep one of `api_key_env`, `api_key_file` and `api_key_command`",
        ),
        (
            "[providers.openai]\napi_key_command = \"gcloud auth\"",
            "config.toml:2:19: `providers.openai.api_key_command` must be a list of the program and its arguments, such as \
             [\"gcloud\", \"auth\", \"print-access-token\"], found text",
        ),
        (
            "[providers.openai]\napi_key_command = []",
            "config.toml:2:19: `providers.openai.api_key_command` must name a program",
        ),
        (
            "[providers.openai]\napi_key_ttl_s = 5",
            "config.toml:1:12: [providers.openai] sets `api_key_ttl_s` without `api_key_command`",
        ),
        ("mcp = 1", "config.toml:1:7: `mcp` must be a table, found an integer"),
    ];
    for (toml, expected) in cases {
        assert_eq!(error(toml), expected, "{toml}");
    }
    assert!(error(&format!("[providers.x]\n{provider}")).starts_with("no error"));
}

#[test]
fn keys_of_other_programs_in_an_agent_file_get_the_right_name() {
    let rows = [
        ("prompt = \"x\"\noutput = \":int\"", "unknown key `output`; did you mean `signature`?"),
        ("prompt = \"x\"\noutput = \"text\"", "unknown key `output`; did you mean `mode`?"),
        ("prompt = \"x\"\n[model_options]\ntop_k = 40", "write `extra_body = { top_k = 40 }`"),
        ("prompt = \"x\"\n[model_options]\ntool_choice = \"none\"", "write `extra_body = { tool_choice = \"none\" }`"),
    ];
    for (toml, words) in rows {
        let error = Agent::from_toml(toml, "a.toml").unwrap_err().to_string();
        assert!(error.contains(words), "{toml}: {error}");
    }
}

#[test]
fn every_slip_of_a_file_is_reported() {
    let shown = error("[providers.bot]\nknd = \"openai\"\n\n[models.m]\nprovder = \"bot\"\nid = \"x\"");
    let expected = [
        "config.toml:1:12: [providers.bot] needs the key `kind`",
        "config.toml:1:12: [providers.bot] needs the key `base_url`",
        "config.toml:2:1: unknown key `knd` in [providers.bot]; did you mean `kind`?",
        "config.toml:4:9: [models.m] needs the key `provider`",
        "config.toml:5:1: unknown key `provder` in [models.m]; did you mean `provider`?",
    ];
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    let many = (0..20).map(|number| format!("unknown_{number} = 1")).collect::<Vec<_>>().join("\n");
    let shown = error(&many);
    assert_eq!(shown.lines().count(), 11, "{shown}");
    assert!(shown.ends_with("config.toml: 10 more"), "{shown}");
}

#[test]
fn a_key_written_into_the_file_is_refused_without_repeating_it() {
    let literal =
        error("[providers.my-host]\nkind = \"openai\"\nbase_url = \"http://x\"\napi_key = \"sk-very-secret\"");
    assert_eq!(
        literal,
        "config.toml:4:1: keys must not be in this file: set an environment variable and write \
         `api_key_env = \"MY_HOST_API_KEY\"`, or keep the key in a file of its own and write `api_key_file = \"PATH\"`"
    );
    let header = error("[providers.openai]\nheaders = { Authorization = \"Bearer sk-very-secret\" }");
    assert_eq!(
        header,
        "config.toml:2:13: `providers.openai.headers.Authorization` contains a key, and keys must not be in this file; use \
         `api_key_env` or `api_key_file`, or write `${NAME}` for a variable of the environment"
    );
    for name in ["cookie", "Proxy-Authorization", "x-goog-api-key", "x-team-token"] {
        let refused = error(&format!("[providers.openai]\nheaders = {{ {name} = \"very-secret\" }}"));
        assert!(refused.contains("contains a key") && !refused.contains("very-secret"), "{refused}");
    }
    let config = config("[providers.openai]\nheaders = { cookie = \"${TEAM_COOKIE}\", x-team = \"agents\" }");
    let openai = config.providers.iter().find(|provider| provider.name == "openai").unwrap();
    assert_eq!(openai.headers[0], ("cookie".to_owned(), "${TEAM_COOKIE}".to_owned()));
}

#[test]
fn a_key_that_is_not_set_is_an_error_that_says_how_to_give_it() {
    let mut model = http(&Config::built_in().unwrap(), "gpt");
    model.key = Some(KeySource::Env("PTC_TEST_KEY_THAT_NOBODY_SETS".to_owned()));
    let error = Endpoint::from(model).key.unwrap().read().unwrap_err();
    assert_eq!(error.message, "no API key: environment variable PTC_TEST_KEY_THAT_NOBODY_SETS is not set");
    assert_eq!(error.hint.as_deref(), Some("set it with: export PTC_TEST_KEY_THAT_NOBODY_SETS=…"));
}

#[test]
fn names_of_models_mean_what_they_say() {
    let config = Config::built_in().unwrap();
    let cases = [
        ("demo", ModelChoice::Demo),
        (" human ", ModelChoice::Human),
        ("sample", ModelChoice::Sample(String::new())),
        ("sample:missing_field,seed=7", ModelChoice::Sample("missing_field,seed=7".into())),
        ("recorded:last", ModelChoice::Recorded("last".into())),
    ];
    for (name, expected) in cases {
        assert_eq!(config.resolve_model(name), Ok(expected), "{name}");
    }
    let local = http(&config, "ollama:llama3.2:1b");
    assert_eq!((local.alias.as_str(), local.id.as_str(), local.key), ("ollama:llama3.2:1b", "llama3.2:1b", None));
    assert_eq!(local.price, None);
    let by_id = http(&config, "openai:gpt-4.1");
    assert_eq!(by_id.price.map(|price| price.input), Some(2.0));
    assert_eq!(http(&config, "openai:no-such-model").price, None);
    assert_eq!(http(&config, "sonnet").kind, Protocol::Anthropic);
}

#[test]
fn names_that_mean_nothing_get_suggestions() {
    let config = Config::built_in().unwrap();
    let cases = [
        (
            "",
            Reason::LlmRequired,
            "no model is named. Name one with `model` in the agent file, `default_model` in the configuration, or --model.",
        ),
        (
            "sonet",
            Reason::LlmNotFound,
            "no model `sonet`; did you mean `sonnet`? (`ptc-workbench models` lists usable models)",
        ),
        (
            "nothing-like-it",
            Reason::LlmNotFound,
            "no model `nothing-like-it`; write an alias or `provider:model` (`ptc-workbench models` lists usable models)",
        ),
        (
            "gpt-4o",
            Reason::LlmNotFound,
            "no model `gpt-4o`; did you mean `openai:gpt-4o`? A similar alias is `gpt` (`ptc-workbench models` lists usable models)",
        ),
        (
            "openai/gpt-4",
            Reason::LlmNotFound,
            "no model `openai/gpt-4`; did you mean `openai:gpt-4`? (`ptc-workbench models` lists usable models)",
        ),
        (
            "groq",
            Reason::LlmNotFound,
            "no model `groq`; it is a provider: write one of its models, as in `groq:MODEL` (`ptc-workbench models` lists usable models)",
        ),
        ("opnai:gpt-4.1", Reason::LlmNotFound, "unknown provider `opnai`; did you mean `openai`?"),
        ("openai:", Reason::LlmNotFound, "write the model's id after the colon, as in `openai:MODEL`"),
        ("recorded", Reason::LlmNotFound, "write the session to use, as in `recorded:last`"),
        ("recorded: ", Reason::LlmNotFound, "write the session to use, as in `recorded:last`"),
        ("demo:x", Reason::LlmNotFound, "`demo` takes nothing after a colon"),
    ];
    for (name, reason, message) in cases {
        assert_eq!(config.resolve_model(name), Err(ConfigError::Model { reason, message: message.into() }), "{name}");
    }
}

#[test]
fn a_configured_model_is_an_endpoint() {
    let endpoint = Endpoint::from(http(&config(EXAMPLE), "small"));
    assert_eq!(endpoint.structured_output, StructuredOutput::Fixed(StructuredBy::JsonObject));
    assert_eq!(endpoint.retry.max_attempts, 5);
    assert_eq!(endpoint.record().alias, "small");
}

#[test]
fn the_options_of_an_agent_win_over_those_of_its_model() {
    let agent = Options { temperature: Some(0.5), ..Options::default() };
    let model = Options { temperature: Some(1.0), max_tokens: Some(9), stop: vec!["x".into()], ..Options::default() };
    assert_eq!(options_over(&agent, &model), Options { temperature: Some(0.5), ..model });
}

#[test]
fn every_built_in_alias_can_be_resolved_and_none_claims_a_price() {
    let config = Config::built_in().unwrap();
    assert!(config.models.iter().all(|model| model.price.is_none()));
    for model in &config.models {
        assert!(config.resolve_model(&model.alias).is_ok(), "{}", model.alias);
    }
}

#[test]
fn without_a_file_the_built_in_tables_count_and_a_named_file_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::at(folder.path().to_owned(), folder.path(), None);
    assert_eq!(Config::load(None, &folders, &env), Ok(Config::built_in().unwrap()));
    let missing = Config::load(Some(Path::new("no/config.toml")), &folders, &env).unwrap_err().to_string();
    assert_eq!(missing, "no/config.toml: cannot be read: No such file or directory (os error 2)");
    std::fs::write(folder.path().join("config.toml"), "default_model = \"human\"").unwrap();
    let loaded = Config::load(None, &folders, &env).unwrap();
    assert_eq!(loaded.default_model, "human");
    assert_eq!(loaded.file, Some(folder.path().join("config.toml")));
}

#[test]
fn the_folder_of_the_sessions_can_be_chosen() {
    let folders = Folders::at(PathBuf::from("c"), Path::new("d"), Some(Path::new("s")));
    assert_eq!(folders.sessions_dir, Path::new("s"));
    assert_eq!(folders.drafts_dir, Path::new("s/drafts"));
    assert_eq!(folders.logs_dir, Path::new("d/logs"));
    assert_eq!(Folders::at(PathBuf::from("c"), Path::new("d"), None).sessions_dir, Path::new("d/sessions"));
}

#[test]
fn further_members_of_bodies_are_merged_agent_over_model_over_provider() {
    let text = "[providers.p]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1/v1\"\nextra_body = { top_k = 1, r = { a = 1, b = 1 } }\n\
        [models.m]\nprovider = \"p\"\nid = \"m\"\nextra_body = { top_k = 2, r = { b = 2 } }\n";
    let config = Config::from_toml(text, "config.toml", &|_| None).unwrap();
    let ModelChoice::Http(model) = config.resolve_model("m").unwrap() else { panic!("no model of a provider") };
    let extra = model.options.extra_body.clone().unwrap();
    assert_eq!(extra.as_str(), r#"{"top_k":2,"r":{"a":1,"b":2}}"#);
    let agent: Agent = Agent::from_toml("prompt = \"x\"\n[model_options.extra_body]\ntop_k = 3\n", "a.toml").unwrap();
    let merged = options_over(&agent.model_options, &model.options).extra_body.unwrap();
    assert_eq!(merged.as_str(), r#"{"top_k":3,"r":{"a":1,"b":2}}"#);
    let refused =
        Config::from_toml("[providers.openai]\nextra_body = { a = { api_key = \"very-secret\" } }", "c", &|_| None);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("carries a key in `api_key`") && !refused.contains("very-secret"), "{refused}");
}

#[test]
fn the_api_of_openai_is_configured_or_known_for_the_service_itself() {
    let protocol = |text: &str, model: &str| {
        let config = Config::from_toml(text, "config.toml", &|_| None).unwrap();
        let ModelChoice::Http(model) = config.resolve_model(model).unwrap() else { panic!("no model of a provider") };
        model.kind
    };
    assert_eq!(protocol("", "openai:gpt-5"), Protocol::Responses);
    assert_eq!(protocol("", "openai:gpt-4.1"), Protocol::OpenAi);
    assert_eq!(protocol("[providers.openai]\napi = \"chat\"", "openai:gpt-5"), Protocol::OpenAi);
    assert_eq!(protocol("[providers.openai]\napi = \"responses\"", "openai:any"), Protocol::Responses);
    assert_eq!(protocol("[providers.openai]\nbase_url = \"http://127.0.0.1/v1\"", "openai:gpt-5"), Protocol::OpenAi);
    let model = "[models.m]\nprovider = \"openai\"\nid = \"gpt-5\"\napi = \"chat\"";
    assert_eq!(protocol(model, "m"), Protocol::OpenAi);
}

#[test]
fn an_error_of_a_server_is_placed_at_its_table_whatever_else_has_its_name() {
    let other =
        "# [mcp.files]\ndefault_model = \"demo\" # files\n[mcp.other]\ncommand = [\"files\", \"[mcp.files]\"]\n";
    let found = error(&format!("{other}[mcp.files]\nlog_level = \"info\"\n"));
    assert!(found.starts_with("config.toml:5:1: [mcp.files] needs either"), "{found}");
    let found = error(&format!("{other}env = [\"log_levl\"]\n[mcp.files]\ncommand = [\"x\"]\nlog_levl = \"info\"\n"));
    assert!(found.starts_with("config.toml:8:1: unknown key `log_levl` in [mcp.files]"), "{found}");
}
