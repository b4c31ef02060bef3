//! A key from the environment appears nowhere: not in the session, stdout, stderr or the log, whatever the server does with it.

use ptc_workbench::event::Event;
use ptc_workbench::model::unpack;

use crate::cli::program::{Done, Program};
use crate::openai::server::{Play, Received, Server, delta, ending};

const KEY: &str = "sk-live-0a1b2c3d4e5f6a7b";

fn echoed(received: &Received) -> String {
    received.header("authorization").replace("Bearer ", "")
}

/// Runs `sentiment` against the server and looks for the key in everything that it left.
async fn leaves_no_key(server: &Server) -> (Program, Done) {
    let provider = format!(
        "[providers.echo]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"ECHO_KEY\"\n",
        server.base_url
    );
    let program = Program::new().with_env("ECHO_KEY", KEY).with_env("RUST_LOG", "trace");
    program.file("config.toml", format!("{provider}[retry]\nmax_attempts = 2\n"));
    let ran = tokio::task::spawn_blocking(move || {
        let arguments =
            ["--config", "config.toml", "--log", "log.txt", "run", "sentiment", "--model", "echo:m", "--json"];
        let done = program.run(arguments);
        (program, done)
    });
    let (program, done) = ran.await.unwrap();
    assert_eq!(server.received().first().map(echoed).as_deref(), Some(KEY));
    let session = program.session();
    let mut everything = vec![
        done.stdout.clone().into_bytes(),
        done.stderr.clone().into_bytes(),
        std::fs::read(program.dir().join("log.txt")).unwrap(),
        std::fs::read(program.session_file()).unwrap(),
    ];
    for envelope in session.events() {
        if let Event::Wire(wire) = &envelope.event {
            everything.push(unpack(wire).unwrap().into_iter().flat_map(|(_, bytes)| bytes).collect());
        }
    }
    for bytes in &everything {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(KEY) && !text.contains(&KEY[..16]), "{text}");
        let letters: String = text.replace("\\u200b", "").chars().filter(char::is_ascii_alphanumeric).collect();
        assert!(!letters.contains("0a1b2c3d4e5f"), "{text}");
    }
    let session = program.session_file().display().to_string();
    for arguments in [
        &["sessions", "show", &session][..],
        &["sessions", "export", &session, "-f", "svg"],
        &["sessions", "export", &session, "-f", "asciicast"],
        &["sessions", "export", &session, "-f", "json"],
    ] {
        let shown = program.run(["--config", "config.toml"].iter().chain(arguments));
        let letters: String = (shown.stdout + &shown.stderr).chars().filter(char::is_ascii_alphanumeric).collect();
        assert!(!letters.contains("0a1b2c3d4e5f"), "{arguments:?}");
    }
    (program, done)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_a_reply_is_masked_before_anything_is_written() {
    let server = Server::script(|_, received| {
        let key = echoed(received);
        Play::events([
            delta("{\"sentiment\": \"positive\", \"score\": 1, \"key\": \""),
            delta(&key),
            delta("\"}"),
            ending("stop"),
        ])
    })
    .await;
    let (program, done) = leaves_no_key(&server).await;
    assert_eq!(done.exits(0).json()["return"]["sentiment"], "positive");
    assert!(done.stdout.contains("[secret]"), "{}", done.stdout);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_an_error_is_masked_too() {
    let server = Server::script(|_, received| {
        Play::json(
            "500 Internal Server Error",
            format!(r#"{{"error":{{"message":"no luck with {}"}}}}"#, echoed(received)),
        )
    })
    .await;
    let (program, done) = leaves_no_key(&server).await;
    assert_eq!(done.exits(1).json()["fail"]["reason"], "llm_error");
    assert!(done.stdout.contains("no luck with [secret]"), "{}", done.stdout);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_key_that_a_user_wrote_into_context_or_prompt_is_refused_before_anything_is_written() {
    let provider =
        "[providers.echo]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"ECHO_KEY\"\n";
    let program = Program::new().with_env("ECHO_KEY", KEY);
    program.file("config.toml", provider);
    let by_context = format!("text=my key is {KEY}");
    let by_prompt = format!("say {KEY}");
    let cases: [(&[&str], &str); 2] = [
        (&["sentiment", "--set", &by_context], "the context contains the key of the provider `echo`"),
        (&["--prompt", &by_prompt, "--signature", ":int"], "the agent contains the key of the provider `echo`"),
    ];
    for (arguments, text) in cases {
        let mut all = vec!["--config", "config.toml", "run", "--model", "sample"];
        all.extend(arguments);
        let done = program.run(all);
        done.exits(2).reports(text);
        assert!(!done.stderr.contains(KEY) && !done.stdout.contains(KEY));
    }
    let sessions = std::fs::read_dir(program.dir().join("sessions")).map_or(0, Iterator::count);
    assert_eq!(sessions, 0, "nothing was written");
}

/// The key as a server may hide it.
fn disguises(key: &str) -> Vec<Vec<String>> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let joined = |c: char| key.chars().map(|letter| letter.to_string()).collect::<Vec<_>>().join(&c.to_string());
    let mut all: Vec<Vec<String>> = ['\u{200b}', '\u{feff}', '\u{ad}', '\u{2060}', '\u{fe0f}', '\u{202e}']
        .into_iter()
        .map(|c| vec![joined(c)])
        .collect();
    all.push(key.chars().map(|letter| format!("{letter}\u{200b}")).collect());
    all.push(vec![STANDARD.encode(format!("x{key}y"))]);
    all.push(vec![key.chars().rev().collect()]);
    all.push(vec![key[..12].to_owned(), " and ".to_owned(), key[12..].to_owned()]);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_a_server_hides_in_its_reply_is_masked_everywhere() {
    for number in 0..disguises(KEY).len() {
        let server = Server::script(move |_, received| {
            let pieces = disguises(&echoed(received)).swap_remove(number);
            let start = delta("{\"sentiment\": \"positive\", \"score\": 1, \"key\": \"");
            let hidden = pieces.iter().map(|piece| delta(piece));
            Play::events([start].into_iter().chain(hidden).chain([delta("\"}"), ending("stop")]).collect::<Vec<_>>())
        })
        .await;
        let (program, done) = leaves_no_key(&server).await;
        assert_eq!(done.exits(0).json()["return"]["sentiment"], "positive");
        assert!(done.stdout.contains("[secret]"), "{number}: {}", done.stdout);
        program.run(["replay", "last", "--check"]).exits(0);
    }
}

#[test]
fn no_line_of_a_session_or_log_holds_a_character_that_acts() {
    let acting = "a\u{9b}b\u{7f}c\u{202e}d\u{200b}e\u{3164}f\u{e0041}g\u{1b}h";
    let program = Program::new().with_env("RUST_LOG", "trace");
    let (set, prompt) = (format!("text={acting}"), format!("Look at {{{{text}}}} {acting}"));
    let arguments =
        ["--log", "log.txt", "run", "--mode", "text", "--prompt", &prompt, "--set", &set, "--model", "sample"];
    program.run(arguments).exits(0);
    let acts = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{3164}' | '\u{e0000}'..='\u{e0fff}')
    };
    for file in [program.session_file(), program.dir().join("log.txt")] {
        let text = std::fs::read_to_string(&file).unwrap();
        let found: Vec<char> = text.chars().filter(acts).collect();
        assert!(found.is_empty(), "{found:?} in {}", file.display());
    }
    let contexts: Vec<String> = program
        .session()
        .events()
        .filter_map(|envelope| match envelope.event {
            Event::RunStart(start) => Some(start.context.json().get("text")?.as_str()?.to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(contexts, [acting], "the reader decodes it");
    program.run(["replay", "last", "--check"]).exits(0);
}
