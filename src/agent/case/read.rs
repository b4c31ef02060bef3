//! Reading the cases of a definition: tables with the keys of a case.
//!
//! In: the key `cases`. Out: cases, or the first problem with its place. Entries that name files are checked and left to `rows`.

use ptc_core::value::Json;
use ptc_core::value::json;

use super::expect::{empty, json_text};
use super::source::CaseSource;
use super::{Case, Expect};
use crate::config::document::{Entry, Problem};

/// Keys of a case.
const KEYS: [&str; 10] =
    ["name", "context", "expect", "cassette", "lenient", "tags", "weight", "skip", "only", "variants"];
/// Maximum number of cases that the variants of one case give.
const MOST_VARIANTS: usize = 10_000;

/// An entry of the key `cases`.
pub(super) enum Read {
    /// Tables of cases: one, or one for each variant.
    Tables(Vec<Json>),
    /// A file of cases.
    Source(Box<CaseSource>),
}

/// The cases of the key `cases`: a list of tables and names of files, or its JSON text. Those of files are not among them. `own` is the
/// context of the agent.
pub(in crate::agent) fn read(entry: &Entry<'_>, own: &Json) -> Result<Vec<Case>, Problem> {
    let mut names = std::collections::HashSet::new();
    let mut cases: Vec<Case> = Vec::new();
    for (place, json) in items(entry)?.iter().enumerate() {
        let entry = Entry { path: format!("cases.{place}"), key: "cases", ..Entry::root(json) };
        let Read::Tables(tables) = read_entry(&entry, own)? else { continue };
        for table in tables {
            let case = case(&Entry { json: &table, ..entry.clone() })?;
            if !names.insert(case.name.clone()) {
                return Err(entry.problem(format!("two cases have the name `{}`; rename one", case.name)));
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

fn items(entry: &Entry<'_>) -> Result<Vec<Json>, Problem> {
    let parsed = entry.json.as_str().and_then(|text| json::parse(text).ok());
    let file = entry.json.as_str().filter(|text| !text.trim_start().starts_with(['[', '{']));
    if let (Some(file), None) = (file, &parsed) {
        return Err(entry.problem(format!("`{0}` is a list; write {0} = [{file:?}]", entry.path)));
    }
    let items = parsed.as_ref().unwrap_or(entry.json).items();
    items.map(<[Json]>::to_vec).ok_or_else(|| entry.expected("a list of tables"))
}

/// Reads one entry: text and a table with the key `file` name files, every other table is a case.
pub(super) fn read_entry(entry: &Entry<'_>, own: &Json) -> Result<Read, Problem> {
    if entry.json.as_str().is_some() || entry.json.get("file").is_some() {
        return CaseSource::read(entry).map(|source| Read::Source(Box::new(source)));
    }
    tables(entry, own).map(Read::Tables)
}

/// The table of a case, or one table for each combination of the values of `variants`, which vary the context of the case or, without one,
/// that of the agent.
pub(super) fn tables(entry: &Entry<'_>, own: &Json) -> Result<Vec<Json>, Problem> {
    let Some(variants) = entry.json.get("variants") else { return Ok(vec![entry.json.clone()]) };
    let entries = entry.entries()?;
    let of_key = |key: &str| entries.iter().find(|entry| entry.key == key);
    let inner = Entry { path: format!("{}.variants", entry.path), key: "variants", json: variants, ..entry.clone() };
    let variants = read_variants(of_key("variants").unwrap_or(&inner))?;
    let name = of_key("name").ok_or_else(|| entry.missing("name"))?.non_blank_text()?;
    let context = of_key("context").map_or_else(|| Ok(own.clone()), context)?;
    let table = entry.json.clone().without("variants").with("context", context);
    Ok(combined(table, &name, &variants))
}

/// The case of a table without variants.
pub(super) fn case(entry: &Entry<'_>) -> Result<Case, Problem> {
    let mut case = Case::default();
    for entry in entry.entries()? {
        match entry.key {
            "name" => case.name = entry.non_blank_text()?,
            "context" => case.context = Some(context(&entry)?),
            "expect" => case.expect = Some(Expect::read(&entry)?),
            "cassette" => case.cassette = Some(entry.non_blank_text()?),
            "lenient" => case.lenient = entry.flag()?,
            "tags" => case.tags = entry.texts()?,
            "weight" => case.weight = weight(&entry)?,
            "skip" => case.skip = entry.flag()?,
            "only" => case.only = entry.flag()?,
            _ => return Err(entry.unknown(&KEYS)),
        }
    }
    if case.name.is_empty() {
        return Err(entry.missing("name"));
    }
    if case.context.is_some() && case.cassette.is_some() {
        let message = format!("the case `{}` has a cassette, which holds its context; remove `context`", case.name);
        return Err(entry.problem(message));
    }
    if case.lenient && case.cassette.is_none() {
        let message = format!("the case `{}` has no cassette; remove `lenient`, which is about one", case.name);
        return Err(entry.problem(message));
    }
    Ok(case)
}

/// The name and the tags of a case that cannot be read, by which it may still be selected. `None`: these cannot be read either.
pub(super) fn head(entry: &Entry<'_>) -> Option<Case> {
    let mut case = Case::default();
    for entry in entry.entries().ok()? {
        match entry.key {
            "name" => case.name = entry.non_blank_text().ok()?,
            "tags" => case.tags = entry.texts().ok()?,
            _ => {}
        }
    }
    (!case.name.is_empty()).then_some(case)
}

/// A weight above 0.
pub(super) fn weight(entry: &Entry<'_>) -> Result<f64, Problem> {
    let weight = entry.amount()?;
    if weight > 0.0 { Ok(weight) } else { Err(entry.problem(format!("`{}` must be above 0", entry.path))) }
}

/// Inputs with the values that they take.
pub(super) type Variants = Vec<(String, Vec<Json>)>;

/// The key `variants`: input names with lists of values.
pub(super) fn read_variants(entry: &Entry<'_>) -> Result<Variants, Problem> {
    let mut variants = Variants::new();
    for input in entry.entries()? {
        let values = input.json.items().ok_or_else(|| input.expected("a list of values"))?;
        if values.is_empty() {
            return Err(empty(&input));
        }
        variants.push((input.key.to_owned(), values.to_vec()));
    }
    let count = variants.iter().try_fold(1_usize, |count, (_, values)| count.checked_mul(values.len()));
    match count {
        Some(count) if count <= MOST_VARIANTS => Ok(variants),
        _ => Err(entry.problem(format!("`{}` gives more than {MOST_VARIANTS} cases; use fewer values", entry.path))),
    }
}

/// The table once for each combination; the name shows the values.
fn combined(table: Json, name: &str, variants: &Variants) -> Vec<Json> {
    let first = vec![(table, name.to_owned())];
    let all = variants.iter().fold(first, |tables, (input, values)| {
        let each = |(table, name): (Json, String)| {
            let with = |value: &Json| {
                let shown = value.as_str().map_or_else(|| value.to_text(), str::to_owned);
                let context = table.get("context").cloned().unwrap_or_else(Json::empty);
                (table.clone().with("context", context.with(input, value.clone())), format!("{name} · {input}={shown}"))
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        tables.into_iter().flat_map(each).collect()
    });
    all.into_iter().map(|(table, name)| table.with("name", Json::str(name))).collect()
}

/// A table, or JSON text for what TOML cannot express.
fn context(entry: &Entry<'_>) -> Result<Json, Problem> {
    let json = match entry.json.as_str() {
        // Its values have no position in the file; they get that of the text.
        Some(text) => json_text(entry, text)?.map_members(|_, value| Json { span: entry.json.span, ..value.clone() }),
        None => entry.json.clone(),
    };
    if json.members().is_some() { Ok(json) } else { Err(entry.expected("a table, or JSON text of an object")) }
}
