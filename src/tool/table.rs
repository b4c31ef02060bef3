//! Tools with fixed answers: the first row whose arguments match, else the default, else an error.

use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value, json};

use super::Failure;
use super::declare::Wrong;

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
            let args = row.get("args").map_or_else(|| Value::map([]), Json::to_value);
            let answer = match (row.get("result"), row.get("error").and_then(Json::as_str)) {
                (Some(result), None) => Ok(result.to_value()),
                (None, Some(error)) => Err(error.to_owned()),
                _ => return Err(wrong(format!("row {} needs either `result` or `error` (a text)", place + 1))),
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
                Err(Failure::from_message(format!("no row fits the arguments {}", Json::from(args).to_text())))
            }
        }
    }
}
