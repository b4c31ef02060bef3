//! `models`: the names of models, missing settings, and the models that servers list.

use ptc_core::text::width;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::arguments::{ModelsAction, ModelsFlags};
use super::output::{UsageError, exit, print_json, print_line, safe_line};
use crate::config::{Catalog, ModelFacts};
use crate::workbench::format::{Marks, SIGNS, WORDS, plural};
use crate::workbench::{ModelLine, ModelState, ProviderLine, ServerLine, Workbench};

/// Models of a local server that are named in its line.
const NAMED: usize = 5;

/// Output of `--json`.
#[derive(Serialize)]
struct ModelsJson<'a> {
    prices_of: &'a str,
    models: &'a [ModelLine],
    providers: Vec<ProviderJson<'a>>,
    servers: Vec<ServerJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct ProviderJson<'a> {
    name: &'a str,
    kind: &'static str,
    url: &'a str,
    concurrent_requests: u32,
    connect_ms: u64,
    first_byte_ms: u64,
    silence_ms: u64,
    key: Option<KeyJson<'a>>,
}

#[derive(Serialize)]
struct KeyJson<'a> {
    source: &'a str,
    present: bool,
}

#[derive(Serialize)]
struct ServerJson<'a> {
    provider: &'a str,
    url: &'a str,
    #[serde(flatten)]
    models: ServerModels<'a>,
}

/// The models of a server, or why there are none.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum ServerModels<'a> {
    Models(&'a [String]),
    Error(&'a str),
}

pub(super) async fn models(flags: &ModelsFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(ModelsAction::Check(flags)) = &flags.action {
        return super::model_check::check(flags, plain, workbench).await;
    }
    if let Some(provider) = &flags.provider {
        let server = workbench.models_at(provider).await?;
        return Ok(listed(&server, flags.json));
    }
    let lines = workbench.models();
    let servers = if flags.check { workbench.check_servers().await } else { workbench.local_servers().await };
    if flags.json {
        print_json(&ModelsJson {
            prices_of: &Catalog::shipped().date,
            models: &lines,
            providers: workbench.providers().iter().map(provider).collect(),
            servers: servers.iter().map(server).collect(),
        });
        return Ok(exit::OK);
    }
    if plain {
        for line in &lines {
            print_line(&safe_line(&spoken(line)));
        }
        for server in &servers {
            print_line(&format!("server {}: {}", safe_line(&server.name), server_text(server)));
        }
    } else {
        for line in &lines {
            print_line(&drawn(line));
        }
        for server in &servers {
            print_line(&format!("  {}  {}", width::pad(&safe_line(&server.name), 22), server_text(server)));
        }
        let Marks { good, none, bad, .. } = SIGNS;
        print_line(&format!("{good} can be used now, {none} key missing, {bad} provider unknown"));
    }
    if !flags.check {
        print_line(
            "--check queries the servers of all providers with a key; `models PROVIDER` lists the models of one",
        );
    }
    Ok(exit::OK)
}

/// A model on one line of a table.
fn drawn(line: &ModelLine) -> String {
    let mark = match line.state {
        ModelState::Ready => SIGNS.good,
        ModelState::NoKey => SIGNS.none,
        ModelState::Unknown => SIGNS.bad,
    };
    let (name, id) = (width::pad(&safe_line(&line.name), 22), width::pad(&safe_line(&line.id), 26));
    format!("{mark} {name}  {id}  {}{}", sizes(&line.facts), safe_line(&line.note))
}

/// Like `drawn`, as a sentence without columns; it begins with the availability.
fn spoken(line: &ModelLine) -> String {
    let mark = match line.state {
        ModelState::Ready => WORDS.good,
        ModelState::NoKey => WORDS.none,
        ModelState::Unknown => WORDS.bad,
    };
    let why = line.state.meaning();
    let id = if line.id == line.name { "" } else { &line.id };
    let facts = format!("{}{}", sizes(&line.facts), line.note);
    let parts = [line.name.as_str(), id, why].into_iter().chain(facts.split(SIGNS.dot));
    WORDS.line(mark, &parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(WORDS.dot))
}

/// The list of one server; why there is none goes to stderr.
fn listed(line: &ServerLine, as_json: bool) -> u8 {
    match &line.models {
        _ if as_json => print_json(&server(line)),
        Ok(names) => names.iter().for_each(|name| print_line(&safe_line(&format!("{}:{name}", line.name)))),
        Err(why) => super::output::print_error(why),
    }
    if line.models.is_ok() { exit::OK } else { exit::FAILED }
}

fn server_text(server: &ServerLine) -> String {
    let words = match &server.models {
        // An error that names the address already.
        Err(why) if why.contains(&server.url) => return safe_line(why),
        Err(why) => why.clone(),
        Ok(names) if names.is_empty() => "reachable, no models".to_owned(),
        Ok(names) => {
            let more = if names.len() > NAMED { ", …" } else { "" };
            let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
            let count = plural(u64::try_from(names.len()).unwrap_or(u64::MAX), "model");
            format!("reachable, {count} ({}{more})", first.join(", "))
        }
    };
    safe_line(&format!("{words} at {}", server.url))
}

/// Context and price where they are known, as in `1000000 tokens, 2/10 per million · `.
fn sizes(facts: &ModelFacts) -> String {
    let context = facts.context.map(|tokens| format!("{tokens} tokens"));
    let price = facts.price.map(|price| format!("{}/{} per million", price.input, price.output));
    let known: Vec<String> = context.into_iter().chain(price).collect();
    if known.is_empty() { String::new() } else { format!("{} · ", known.join(", ")) }
}

fn provider(line: &ProviderLine) -> ProviderJson<'_> {
    ProviderJson {
        name: &line.name,
        kind: line.kind.name(),
        url: &line.url,
        concurrent_requests: line.concurrent_requests,
        connect_ms: line.timeouts.connect_ms,
        first_byte_ms: line.timeouts.first_byte_ms,
        silence_ms: line.timeouts.silence_ms,
        key: line.key.as_ref().map(|(source, present)| KeyJson { source, present: *present }),
    }
}

fn server(line: &ServerLine) -> ServerJson<'_> {
    let models = line.models.as_deref().map_or_else(|why| ServerModels::Error(why), ServerModels::Models);
    ServerJson { provider: &line.name, url: &line.url, models }
}
