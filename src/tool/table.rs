//! Tools with fixed answers: the first row whose arguments match, else the default, else an error.

use ptc_core::signature::{CoercedValue, Field, Policy, Signature, coerce, find_field};
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};

use super::Failure;
use super::declare::Wrong;
use crate::config::document::advice;

/// Keys of a row.
const ROW_KEYS: [&str; 3] = ["args", "result", "error"];

/// The answers of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Rows in order.
    pub rows: Vec<TableRow>,
    /// The answer when no row matches.
    pub default: Option<Value>,
    /// Duration of each call in ms.
    pub delay_ms: u64,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    /// The arguments it matches: each of these with an equal value.
    pub args: Value,
    /// The answer.
    pub answer: Result<Value, String>,
}

impl Table {
    pub(super) fn read(name: &str, table: &Json) -> Result<Self, Wrong> {
        let wrong = |message: String| ("rows".to_owned(), format!("the tool `{name}`: {message}"));
        // Values that TOML cannot represent are stored as JSON text.
        let written = match table.get("rows") {
            Some(Json { node: Node::Str(text), .. }) => {
                Some(json::parse(text).map_err(|error| wrong(format!("`rows` is not JSON: {}", error.message)))?)
            }
            _ => None,
        };
        let rows = match written.as_ref().or_else(|| table.get("rows")) {
            None => &[],
            Some(rows) => rows.items().ok_or_else(|| wrong("`rows` must be a list of tables".to_owned()))?,
        };
        let row = |(place, row): (usize, &Json)| {
            let mut keys = row.members().unwrap_or_default().iter().map(|member| member.key.as_str());
            if let Some(key) = keys.find(|key| !ROW_KEYS.contains(key)) {
                return Err(wrong(format!("row {} has an unknown key `{key}`{}", place + 1, advice(key, &ROW_KEYS))));
            }
            let args = match row.get("args") {
                None => Value::map([]),
                Some(args) if args.members().is_some() => args.to_value(),
                Some(args) => {
                    let found = args.to_text();
                    return Err(wrong(format!(
                        "row {}: `args` must be a table of arguments, found {found}",
                        place + 1
                    )));
                }
            };
            let answer = match (row.get("result"), row.get("error").and_then(Json::as_str)) {
                (Some(result), None) => Ok(result.to_value()),
                (None, Some(error)) => Err(error.to_owned()),
                _ => return Err(wrong(format!("row {} needs either `result` or `error` (a string)", place + 1))),
            };
            Ok(TableRow { args, answer })
        };
        let delay_ms = table.get("delay_ms").and_then(|json| json.to_text().parse().ok()).unwrap_or_default();
        let default = table.get("default").map(Json::to_value);
        if rows.is_empty() && default.is_none() {
            return Err(wrong("a table needs `rows` or a `default`".to_owned()));
        }
        Ok(Self { rows: rows.iter().enumerate().map(row).collect::<Result<_, _>>()?, default, delay_ms })
    }

    /// Converts the arguments of rows as those of calls are, where they fit.
    pub(super) fn convert_args(&mut self, params: &[Field]) {
        for row in &mut self.rows {
            row.args = converted(&row.args, params);
        }
    }

    /// The rows, and the default, that do not fit the signature, with their keys.
    pub(super) fn misfits<'a>(&'a self, signature: &'a Signature) -> impl Iterator<Item = (&'static str, String)> + 'a {
        let params = signature.params.as_deref();
        let of_rows = self.rows.iter().enumerate().flat_map(move |(place, row)| {
            let unknown = params.and_then(|params| unknown_arg(&row.args, params));
            let misfit = row.answer.as_ref().ok().and_then(|result| misfit(signature, result));
            let misfit = misfit.map(|why| format!("`result`: {why}"));
            unknown.into_iter().chain(misfit).map(move |why| ("rows", format!("row {}: {why}", place + 1)))
        });
        let default = self.default.iter().filter_map(|default| misfit(signature, default));
        of_rows.chain(default.map(|why| ("default", format!("`default`: {why}"))))
    }

    /// Returns the answer to these arguments.
    pub(super) fn answer(&self, args: &Value) -> Result<Value, Failure> {
        let fits = |row: &&TableRow| match &row.args {
            Value::Map(map) => map.iter().all(|(key, value)| {
                key.as_str().and_then(|name| args.lookup(name)).is_some_and(|given| given == value)
            }),
            _ => false,
        };
        match (self.rows.iter().find(fits), &self.default) {
            (Some(row), _) => row.answer.clone().map_err(Failure::from_message),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => {
                Err(Failure::from_message(format!("no row matches the arguments {}", Json::from(args).to_text())))
            }
        }
    }
}

/// Converts arguments to the types of their parameters, where they fit.
fn converted(args: &Value, params: &[Field]) -> Value {
    let fitting = args.as_map().into_iter().flat_map(|map| map.iter()).map(|(key, value)| {
        let Some(field) = param(params, key) else { return (key.clone(), value.clone()) };
        let converted = coerce(&field.ty, value.clone(), Policy::Arguments);
        let value = if error_of(&converted).is_none() { converted.value } else { value.clone() };
        (Value::str(field.name.as_str()), value)
    });
    Value::map(fitting.collect::<Vec<_>>())
}

/// The error of the first argument that the tool does not have.
fn unknown_arg(args: &Value, params: &[Field]) -> Option<String> {
    let key = args.as_map()?.keys().find(|key| param(params, key).is_none())?;
    let name = key.as_str().unwrap_or_default();
    let names: Vec<&str> = params.iter().map(|field| field.name.as_str()).collect();
    let known = if names.is_empty() { "; it has no parameters".to_owned() } else { advice(name, &names) };
    Some(format!("`{name}` is not a parameter of the tool{known}"))
}

fn param<'p>(params: &'p [Field], key: &Value) -> Option<&'p Field> {
    find_field(params, key.as_str()?)
}

/// The error of an answer that is not of the result type.
fn misfit(signature: &Signature, value: &Value) -> Option<String> {
    error_of(&coerce(signature.output.as_ref()?, value.clone(), Policy::AnswerStandard))
}

/// Returns the first error of a converted value.
fn error_of(converted: &CoercedValue) -> Option<String> {
    let issue = converted.issues.iter().find(|issue| issue.is_error())?;
    Some(if issue.path.0.is_empty() { issue.message.clone() } else { issue.to_string() })
}
