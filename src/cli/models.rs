//! `models`: what can be named as a model, what is missing for it, and what the servers say that they have.

use ptc_core::text::width;
use ptc_core::value::Json;

use super::arguments::ModelsFlags;
use super::json::printable;
use super::{UsageError, exit, out, safe_line};
use crate::config::{Catalog, Facts};
use crate::workbench::format::{Marks, SIGNS, WORDS, plural};
use crate::workbench::{ModelLine, ModelState, ProviderLine, ServerLine, Workbench};

/// Models of a local server that are named in its line.
const NAMED: usize = 5;

pub(super) async fn models(flags: &ModelsFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    if let Some(provider) = &flags.provider {
        let server = workbench.models_at(provider).await?;
        return Ok(listed(&server, flags.json));
    }
    let lines = workbench.models();
    let servers = if flags.check { workbench.check_servers().await } else { workbench.local_servers().await };
    if flags.json {
        let models = Json::list(lines.iter().map(model));
        let date = Json::str(Catalog::shipped().date.as_str());
        let json = Json::object([
            ("prices_of", date),
            ("models", models),
            ("providers", Json::list(workbench.providers().iter().map(provider))),
            ("servers", Json::list(servers.iter().map(server))),
        ]);
        out(&printable(&json));
        return Ok(exit::OK);
    }
    if plain {
        for line in &lines {
            out(&safe_line(&spoken(line)));
        }
        for server in &servers {
            out(&format!("server {}: {}", safe_line(&server.name), said(server)));
        }
    } else {
        for line in &lines {
            out(&drawn(line));
        }
        for server in &servers {
            out(&format!("  {}  {}", width::pad(&safe_line(&server.name), 22), said(server)));
        }
        let Marks { good, none, bad, .. } = SIGNS;
        out(&format!("{good} can be used now, {none} key missing, {bad} provider unknown"));
    }
    if !flags.check {
        out("--check asks the servers of all providers whose key is there; models PROVIDER lists what one has");
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

/// The same as a sentence: whether it can be used first, no columns.
fn spoken(line: &ModelLine) -> String {
    let (mark, why) = match line.state {
        ModelState::Ready => (WORDS.good, "can be used now"),
        ModelState::NoKey => (WORDS.none, "key missing"),
        ModelState::Unknown => (WORDS.bad, "provider unknown"),
    };
    let id = if line.id == line.name { "" } else { &line.id };
    let facts = format!("{}{}", sizes(&line.facts), line.note);
    let parts = [line.name.as_str(), id, why].into_iter().chain(facts.split(SIGNS.dot));
    WORDS.line(mark, &parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(WORDS.dot))
}

/// The list of one server; why there is none goes to stderr.
fn listed(line: &ServerLine, as_json: bool) -> u8 {
    match &line.models {
        _ if as_json => out(&printable(&server(line))),
        Ok(names) => names.iter().for_each(|name| out(&safe_line(&format!("{}:{name}", line.name)))),
        Err(why) => super::tell_error(why),
    }
    if line.models.is_ok() { exit::OK } else { exit::FAILED }
}

fn said(server: &ServerLine) -> String {
    let words = match &server.models {
        // An error that tells what was tried has the address already.
        Err(why) if why.contains(&server.url) => return safe_line(why),
        Err(why) => why.clone(),
        Ok(names) if names.is_empty() => "answers, without models".to_owned(),
        Ok(names) => {
            let more = if names.len() > NAMED { ", …" } else { "" };
            let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
            let count = plural(u64::try_from(names.len()).unwrap_or(u64::MAX), "model");
            format!("answers, {count} ({}{more})", first.join(", "))
        }
    };
    safe_line(&format!("{words} at {}", server.url))
}

/// Context and price where they are known, as in `1000000 tokens, 2/10 per million · `.
fn sizes(facts: &Facts) -> String {
    let context = facts.context.map(|tokens| format!("{tokens} tokens"));
    let price = facts.price.map(|price| format!("{}/{} per million", price.input, price.output));
    let known: Vec<String> = context.into_iter().chain(price).collect();
    if known.is_empty() { String::new() } else { format!("{} · ", known.join(", ")) }
}

fn model(line: &ModelLine) -> Json {
    let state = match line.state {
        ModelState::Ready => "ready",
        ModelState::NoKey => "no_key",
        ModelState::Unknown => "unknown",
    };
    let price = line.facts.price.map(|price| {
        let cached = [("cached_input", price.cached_input), ("cache_write", price.cache_write)];
        let cached = cached.into_iter().filter_map(|(name, price)| Some((name, price?.into())));
        Json::object([("input", price.input.into()), ("output", price.output.into())].into_iter().chain(cached))
    });
    let texts = [("name", &line.name), ("provider", &line.provider), ("id", &line.id), ("note", &line.note)];
    let members = texts.into_iter().map(|(key, text)| (key, Json::str(text.as_str())));
    let facts = [
        line.facts.context.map(|tokens| ("context", tokens.into())),
        line.facts.max_output.map(|tokens| ("max_output", tokens.into())),
        line.facts.structured_output.map(|way| ("structured_output", Json::str(way.name()))),
        price.map(|price| ("price", price)),
    ];
    Json::object(members.chain([("state", Json::str(state))]).chain(facts.into_iter().flatten()))
}

fn provider(line: &ProviderLine) -> Json {
    let key = line.key.as_ref().map(|(source, is_present)| {
        let key = [("source", Json::str(source.as_str())), ("present", (*is_present).into())];
        ("key", Json::object(key))
    });
    let members = [
        ("name", Json::str(line.name.as_str())),
        ("kind", Json::str(line.kind.name())),
        ("url", Json::str(line.url.as_str())),
        ("concurrent_requests", line.concurrent_requests.into()),
        ("connect_ms", line.timeouts.connect_ms.into()),
        ("first_byte_ms", line.timeouts.first_byte_ms.into()),
        ("silence_ms", line.timeouts.silence_ms.into()),
    ];
    Json::object(members.into_iter().chain(key))
}

fn server(line: &ServerLine) -> Json {
    let models = match &line.models {
        Ok(names) => ("models", Json::list(names.iter().map(|name| Json::str(name.as_str())))),
        Err(why) => ("error", Json::str(why.as_str())),
    };
    Json::object([("provider", Json::str(line.name.as_str())), ("url", Json::str(line.url.as_str())), models])
}
