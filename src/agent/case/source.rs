//! Files of cases: an entry of the key `cases` that names a file, and how a row of it becomes a case.
//!
//! In: an entry, the types of the agent, rows. Out: a [`CaseSource`], and of each row the table of a case. A row without a mapping has the
//! keys of a `[[cases]]` entry. It never reads a file itself.

use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};

use super::read::{Variants, read_variants, weight};
use super::typed::Types;
use crate::config::document::{Entry, Problem, parse_json_text};

/// Keys of an entry that names a file.
const KEYS: [&str; 12] = [
    "file",
    "inputs",
    "expected",
    "name",
    "tags_from",
    "weight_from",
    "expect",
    "tags",
    "weight",
    "skip",
    "only",
    "variants",
];
/// Columns of a text table that are not inputs.
const CASE_COLUMNS: [&str; 9] = ["name", "context", "expect", "cassette", "lenient", "tags", "weight", "skip", "only"];
/// The prefix of columns that are inputs.
const CONTEXT: &str = "context.";

/// A file of cases, or several by a pattern.
#[derive(Debug, Clone, Default)]
pub(super) struct CaseSource {
    /// The path from the folder of the definition; `*` in the last part stands for any text.
    pub(super) file: String,
    /// Inputs with the columns that they come from.
    inputs: Vec<(String, String)>,
    /// Paths in the answer with the columns that they are compared with; the empty path is all of it.
    expected: Vec<(String, String)>,
    /// The column of the name.
    name: Option<String>,
    tags_from: Option<String>,
    weight_from: Option<String>,
    /// Members that each case has which does not name its own.
    defaults: Vec<(String, Json)>,
    variants: Variants,
}

impl CaseSource {
    /// Reads an entry: the name of a file, or a table with the key `file`.
    pub(super) fn read(entry: &Entry<'_>) -> Result<Self, Problem> {
        let mut source = Self::default();
        if entry.json.as_str().is_some() {
            source.file = entry.non_blank_text()?;
            return Ok(source);
        }
        for entry in entry.entries()? {
            let keep = || (entry.key.to_owned(), entry.json.clone());
            match entry.key {
                "file" => source.file = entry.non_blank_text()?,
                "inputs" => source.inputs = entry.text_table()?,
                "expected" if entry.json.as_str().is_some() => {
                    source.expected = vec![(String::new(), entry.non_blank_text()?)];
                }
                "expected" => source.expected = entry.text_table()?,
                "name" => source.name = Some(entry.non_blank_text()?),
                "tags_from" => source.tags_from = Some(entry.non_blank_text()?),
                "weight_from" => source.weight_from = Some(entry.non_blank_text()?),
                "variants" => source.variants = read_variants(&entry)?,
                "tags" => {
                    entry.texts()?;
                    source.defaults.push(keep());
                }
                "weight" => {
                    weight(&entry)?;
                    source.defaults.push(keep());
                }
                "skip" | "only" => {
                    entry.flag()?;
                    source.defaults.push(keep());
                }
                "expect" => {
                    super::Expect::read(&entry)?;
                    source.defaults.push(keep());
                }
                _ => return Err(entry.unknown(&KEYS)),
            }
        }
        Ok(source)
    }

    /// Returns whether the columns have a mapping.
    fn is_mapped(&self) -> bool {
        let is_selected = [&self.name, &self.tags_from, &self.weight_from].into_iter().any(Option::is_some);
        is_selected || !self.inputs.is_empty() || !self.expected.is_empty()
    }

    /// The table of the case that a row is: number `place` of the file called `file`.
    pub(super) fn case_table(&self, row: &Json, types: &Types, file: &str, place: usize) -> Result<Json, String> {
        let table = if self.is_mapped() { self.mapped(row, types)? } else { row.clone() };
        let mut table = self.named(table, row, file, place)?;
        if let Some(column) = &self.weight_from {
            let weight = cell(row, column)?;
            table =
                table.with("weight", number(weight).ok_or_else(|| format!("the column `{column}` is not a number"))?);
        }
        for (key, value) in &self.defaults {
            table = match (key.as_str(), table.get(key).cloned()) {
                (_, None) => table.with(key, value.clone()),
                ("expect", Some(own)) => {
                    let both = Json::list([value.clone(), own]);
                    table.with(key, Json::empty().with("all", both))
                }
                _ => table,
            };
        }
        if self.variants.is_empty() {
            return Ok(table);
        }
        let variants = self.variants.iter().map(|(input, values)| (input.clone(), Json::list(values.clone())));
        Ok(table.with("variants", Json::object(variants)))
    }

    /// The table with the name and the tags that the columns give; a row without a name is called by its place.
    fn named(&self, mut table: Json, row: &Json, file: &str, place: usize) -> Result<Json, String> {
        if let Some(column) = &self.name {
            table = table.without("name").with("name", Json::str(text_of(cell(row, column)?)));
        }
        if table.get("name").is_none() {
            table = Json::empty().with("name", Json::str(format!("{file}:{place}"))).merged(table);
        }
        if let Some(column) = &self.tags_from {
            table = table.with("tags", Json::list(words(cell(row, column)?)));
        }
        Ok(table)
    }

    /// The table with only the name and the tags of the case that a row would be, by which it is selected. `None` if they cannot be read.
    pub(super) fn head_table(&self, row: &Json, file: &str, place: usize) -> Option<Json> {
        if !self.variants.is_empty() || row.get("variants").is_some() {
            // Each variant has a name of its own.
            return None;
        }
        let own = ["name", "tags"].into_iter().filter_map(|key| Some((key, row.get(key)?.clone())));
        let own = Json::object(own.filter(|_| !self.is_mapped()));
        let table = self.named(own, row, file, place).ok()?;
        let usual = self.defaults.iter().find(|(key, _)| key == "tags" && table.get("tags").is_none());
        Some(match usual {
            Some((key, tags)) => table.with(key, tags.clone()),
            None => table,
        })
    }

    fn mapped(&self, row: &Json, types: &Types) -> Result<Json, String> {
        let mut context = Json::empty();
        let params = types.params().filter(|name| self.inputs.is_empty() && row.get(name).is_some());
        let same: Vec<(String, String)> = params.map(|name| (name.to_owned(), name.to_owned())).collect();
        for (input, column) in self.inputs.iter().chain(&same) {
            if let Some(value) = types.input(input, cell(row, column)?)? {
                context = context.with(input, value);
            }
        }
        let table = Json::empty().with("context", context);
        let value = |path: &str, column: &str| {
            let expected = types.expected(path, cell(row, column)?)?;
            Ok::<_, String>(Json::empty().with("value", expected))
        };
        match self.expected.as_slice() {
            [] => Ok(table),
            [(path, column)] if path.is_empty() => Ok(table.with("expect", value("", column)?)),
            parts => {
                let mut at = Json::empty();
                for (path, column) in parts {
                    at = at.with(path, value(path, column)?);
                }
                Ok(table.with("expect", Json::empty().with("at", at)))
            }
        }
    }
}

/// The row of a text table as the keys of a case: columns that begin with `context.` are inputs.
pub(super) fn row_of_cells(
    columns: &[String],
    cells: &[String],
    source: &CaseSource,
    types: &Types,
) -> Result<Json, String> {
    if cells.len() != columns.len() {
        return Err(format!("the row has {} cells, and the first row names {} columns", cells.len(), columns.len()));
    }
    let cells = columns.iter().zip(cells).map(|(column, cell)| (column.as_str(), Json::str(cell)));
    if source.is_mapped() {
        return Ok(Json::object(cells));
    }
    let (mut table, mut context) = (Json::empty(), None);
    for (column, cell) in cells {
        let text = cell.as_str().unwrap_or_default();
        if let Some(input) = column.strip_prefix(CONTEXT) {
            if let Some(value) = types.input(input, &cell)? {
                context = Some(context.unwrap_or_else(Json::empty).with(input, value));
            }
            continue;
        }
        let is_named =
            [&source.name, &source.tags_from, &source.weight_from].into_iter().flatten().any(|name| name == column);
        if !CASE_COLUMNS.contains(&column) && !is_named {
            return Err(format!(
                "unknown column `{column}`; a column is one of {}, or `{CONTEXT}` with the name of an input; `inputs` and `expected` in \
                 [[cases]] map other columns",
                CASE_COLUMNS.join(", ")
            ));
        }
        if text.is_empty() {
            continue;
        }
        let value = match column {
            "tags" => Json::list(words(&cell)),
            "weight" => number(&cell).ok_or_else(|| format!("the weight {text:?} is not a number"))?,
            "skip" | "only" | "lenient" => {
                json::parse(text).map_err(|_| format!("`{column}` must be true or false"))?
            }
            "expect" if !text.trim_start().starts_with('(') => match parse_json_text(text) {
                Ok(json) if json.members().is_some() => json,
                Err(error) if error.is_ambiguous() => return Err(format!("the column `expect` is {error}")),
                _ => Json::empty().with("value", types.expected("", &cell)?),
            },
            _ => cell.clone(),
        };
        table = table.with(column, value);
    }
    Ok(match context {
        Some(context) => table.with("context", context),
        None => table,
    })
}

/// The cells of a row that is not a case, as texts without the empty ones; the tags as a list. `None`: there is not one for each column.
pub(super) fn texts_of_cells(columns: &[String], cells: &[String]) -> Option<Json> {
    let filled = columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    let texts = filled.map(|(column, cell)| {
        let cell = Json::str(cell);
        (column.as_str(), if column == "tags" { Json::list(words(&cell)) } else { cell })
    });
    (columns.len() == cells.len()).then(|| Json::object(texts))
}

fn cell<'r>(row: &'r Json, column: &str) -> Result<&'r Json, String> {
    row.get(column).ok_or_else(|| {
        let known: Vec<&str> = row.members().unwrap_or_default().iter().map(|member| member.key.as_str()).collect();
        let near = ptc_core::text::did_you_mean(column, known.iter().copied());
        format!("the row has no column `{column}`{near} (columns: {})", known.join(", "))
    })
}

fn text_of(cell: &Json) -> String {
    cell.as_str().map_or_else(|| cell.to_text(), str::to_owned)
}

/// The words of a cell, separated by commas, semicolons or spaces; the texts of a list.
fn words(cell: &Json) -> Vec<Json> {
    match (cell.items(), cell.as_str()) {
        (Some(items), _) => items.to_vec(),
        (None, Some(text)) => {
            let words = text.split([',', ';', ' ']).map(str::trim).filter(|word| !word.is_empty());
            words.map(Json::str).collect()
        }
        (None, None) => vec![cell.clone()],
    }
}

/// A number, also as text.
fn number(cell: &Json) -> Option<Json> {
    let number = match cell.as_str() {
        Some(text) => json::parse(text.trim()).ok()?,
        None => cell.clone(),
    };
    matches!(number.node, Node::Int(_) | Node::Float(_)).then_some(number)
}

/// Adding the members of another object.
trait Merged {
    fn merged(self, other: Json) -> Json;
}

impl Merged for Json {
    fn merged(self, other: Json) -> Json {
        let members = other.members().unwrap_or_default().iter();
        members.fold(self, |table, member| table.with(&member.key, member.value.clone()))
    }
}
