//! Declarations of tools with external effects: `command`, `http` and `mcp`.
//!
//! In: name and table. Out: the declaration, or the invalid key. A secret written into a header is refused.

use ptc_core::limits::TOOL_OUTPUT;
use ptc_core::signature::{Field, find_field};
use ptc_core::value::Json;

use super::declare::{Wrong, limited};
use super::http::{placeholders, texts_of};
use crate::config::document::advice;
use crate::config::is_plain_secret;
use crate::tool::mcp::{Connection, Mcp};
use crate::tool::{Command, Http, Program};

/// HTTP methods.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// The table of one tool.
struct Table<'a> {
    name: &'a str,
    json: &'a Json,
}

impl Table<'_> {
    fn error(&self, key: &str, message: &str) -> Wrong {
        (key.to_owned(), format!("the tool `{}`: `{key}` {message}", self.name))
    }

    fn text(&self, key: &str) -> Result<Option<String>, Wrong> {
        match self.json.get(key) {
            None => Ok(None),
            Some(json) => match json.as_str() {
                Some(text) if !text.is_empty() => Ok(Some(text.to_owned())),
                _ => Err(self.error(key, "must be a string")),
            },
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, Wrong> {
        let Some(json) = self.json.get(key) else { return Ok(Vec::new()) };
        let texts = json.items().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.ok_or_else(|| self.error(key, "must be a list of strings"))
    }

    fn headers(&self) -> Result<Vec<(String, String)>, Wrong> {
        let Some(json) = self.json.get("headers") else { return Ok(Vec::new()) };
        let pair =
            |member: &ptc_core::value::json::Member| Some((member.key.clone(), member.value.as_str()?.to_owned()));
        let headers: Option<Vec<_>> = json.members().and_then(|members| members.iter().map(pair).collect());
        let headers = headers.ok_or_else(|| self.error("headers", "must be a table of strings"))?;
        match headers.iter().find(|(name, value)| is_plain_secret(name, value)) {
            Some((header, _)) => {
                let message = format!(
                    "contains a key in plain text ({header}); write `${{NAME}}` for a variable of the environment"
                );
                Err(self.error("headers", &message))
            }
            None => Ok(headers),
        }
    }

    fn output_max_bytes(&self) -> Result<u64, Wrong> {
        limited(self.json, "output_max_bytes", &TOOL_OUTPUT)
    }

    /// Reads `command`, `folder` and `env`; `None` without `command`.
    fn program(&self) -> Result<Option<Program>, Wrong> {
        let argv = self.texts("command")?;
        if self.json.get("command").is_some() && argv.first().is_none_or(String::is_empty) {
            return Err(self.error("command", "must name a program: a list of it and its arguments"));
        }
        let variables = self.texts("env")?;
        if let Some(name) = variables.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(self.error("env", &format!("lists names of variables, never values: {name:?}")));
        }
        let folder = self.text("folder")?;
        Ok((!argv.is_empty()).then_some(Program { argv, folder, variables }))
    }
}

/// Reads `kind = "command"`.
pub(super) fn command(name: &str, json: &Json) -> Result<Command, Wrong> {
    let table = Table { name, json };
    let program =
        table.program()?.ok_or_else(|| table.error("command", "is missing: the program and its arguments"))?;
    Ok(Command { program, output_max_bytes: table.output_max_bytes()? })
}

/// Reads `kind = "http"`.
pub(super) fn http(name: &str, json: &Json) -> Result<Http, Wrong> {
    let table = Table { name, json };
    let url = table.text("url")?.ok_or_else(|| table.error("url", "is missing: where the request goes"))?;
    if let Some(problem) = Http::check_url(&url) {
        return Err(table.error("url", &problem));
    }
    let method = table.text("method")?.unwrap_or_else(|| "GET".to_owned());
    if !METHODS.contains(&method.as_str()) {
        return Err(table.error("method", &format!("is `{method}`{}", advice(&method, METHODS))));
    }
    let body = json.get("body").cloned();
    if body.is_some() && matches!(method.as_str(), "GET" | "HEAD") {
        return Err(table.error("body", &format!("is not sent with {method}; use method = \"POST\"")));
    }
    Ok(Http {
        method,
        url,
        headers: table.headers()?,
        body,
        response_path: table.text("response_path")?,
        output_max_bytes: table.output_max_bytes()?,
    })
}

/// The placeholders of a request that are not parameters of its tool, and those where nothing fills them, with their keys.
pub(super) fn misfits_of_http<'a>(
    http: &'a Http,
    params: &'a [Field],
) -> impl Iterator<Item = (&'static str, String)> + 'a {
    let body = http.body.iter().flat_map(texts_of).map(|text| ("body", text));
    let texts = [("url", http.url.as_str())].into_iter().chain(body);
    let unknown = texts.flat_map(|(key, text)| unknown_placeholders(key, text, params));
    let values: Vec<String> = http.headers.iter().map(|(_, value)| value.clone()).collect();
    let instead = "write `${NAME}` for a variable of the environment, or use the argument in `url` or `body`";
    unknown.chain(unfilled(params, "headers", &values, instead))
}

fn unknown_placeholders(key: &'static str, text: &str, params: &[Field]) -> Vec<(&'static str, String)> {
    let Some(names) = placeholders(text) else { return vec![(key, format!("`{{{{` in `{key}` has no `}}}}`"))] };
    let known: Vec<&str> = params.iter().map(|field| field.name.as_str()).collect();
    let unknown = names.into_iter().filter(|name| find_field(params, name).is_none());
    let message = |name: &str| {
        let near = if known.is_empty() { "; its signature has none".to_owned() } else { advice(name, &known) };
        (key, format!("`{{{{{name}}}}}` in `{key}` is not a parameter{near}"))
    };
    unknown.map(message).collect()
}

/// The first parameter that is written as a placeholder in these texts of a key, where nothing fills it.
pub(super) fn unfilled(
    params: &[Field],
    key: &'static str,
    texts: &[String],
    instead: &str,
) -> Option<(&'static str, String)> {
    let mut names = texts.iter().filter_map(|text| placeholders(text)).flatten();
    let param = names.find(|name| find_field(params, name).is_some())?;
    Some((key, format!("`{{{{{param}}}}}` has no meaning in `{key}`; {instead}")))
}

/// Reads `kind = "mcp"`.
pub(super) fn mcp(name: &str, json: &Json) -> Result<Mcp, Wrong> {
    let table = Table { name, json };
    let connection = match (table.program()?, table.text("url")?) {
        (Some(_), Some(_)) => return Err(table.error("url", "and `command` cannot both be set")),
        (Some(program), None) => Some(Connection::Process(program)),
        (None, Some(url)) => match Http::check_url(&url) {
            Some(problem) => return Err(table.error("url", &problem)),
            None => Some(Connection::Http { url, headers: table.headers()? }),
        },
        (None, None) => None,
    };
    let server = table.text("server")?;
    let server = match (server, &connection) {
        (Some(server), _) => server,
        (None, Some(_)) => name.to_owned(),
        (None, None) => {
            return Err(table.error("server", "is missing: the name of a section [mcp.NAME] of the configuration"));
        }
    };
    Ok(Mcp { server, tool: table.text("tool")?, connection })
}
