//! Reading the cases of an agent one after the other: those of its file, and those of the files that it names.
//!
//! In: an agent, the folder of its file, the access to other files. Out: cases in order, or the first problem with file and row. Rows are
//! read when they are asked for; a file of any length needs the memory of one row.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use ptc_core::text::without_mark;
use ptc_core::value::Json;

use super::Case;
use super::csv::{MOST_ROW_BYTES, Records, trimmed};
use super::fit::{misfit, undeclared_inputs};
use super::read::{Read, case, head, read_entry, tables};
use super::source::{CaseSource, row_of_cells, texts_of_cells};
use super::typed::Types;
use crate::agent::ambiguous::problem_of_case;
use crate::agent::inline::Source;
use crate::agent::input_reader::InputReader;
use crate::agent::{Agent, Diagnostic, InputFile};
use crate::config::document::{self, Entry, Problem, parse_json_text};
use crate::config::open_resolved_file;
use crate::tool::FileAccess;

/// The key in messages about consent.
const KEY: &str = "cases.file";

/// A case with its problems.
#[derive(Debug, Clone)]
pub struct CheckedCase {
    /// The case; of one that cannot be read, only its name and its tags.
    pub case: Case,
    /// The reason why it cannot be read, or can never pass.
    pub problem: Option<Diagnostic>,
    /// Messages about inputs that its agent does not declare.
    pub undeclared_inputs: Vec<String>,
}

impl From<Case> for CheckedCase {
    fn from(case: Case) -> Self {
        Self { case, problem: None, undeclared_inputs: Vec::new() }
    }
}

/// The cases of an agent in order. It ends after the first problem.
pub struct CaseRows {
    types: Types,
    inputs: InputReader,
    folder: PathBuf,
    access: FileAccess,
    entries: VecDeque<(usize, Json)>,
    files: VecDeque<PathBuf>,
    source: CaseSource,
    open: Option<OpenFile>,
    /// Tables of the last row or entry.
    ready: VecDeque<CaseTable>,
    has_failed: bool,
}

impl std::fmt::Debug for CaseRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaseRows").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The table of a case before it is read.
struct CaseTable {
    place: String,
    json: Json,
    /// The problem of a row that could not be made into a whole table: the table has only the keys that select the case.
    problem: Option<String>,
}

impl CaseTable {
    fn new(place: &str, json: Json) -> Self {
        Self { place: place.to_owned(), json, problem: None }
    }
}

/// A file that is being read.
struct OpenFile {
    name: String,
    /// Rows so far.
    place: usize,
    rows: Rows,
}

/// The rows of a file by its kind.
enum Rows {
    Lines(BufReader<File>),
    Table { records: Records<BufReader<File>>, columns: Vec<String> },
    Tables(VecDeque<Json>),
}

impl Agent {
    /// Returns whether the definition names files of cases.
    pub fn has_case_files(&self) -> bool {
        self.case_entries().iter().any(|entry| entry.as_str().is_some() || entry.get("file").is_some())
    }

    /// The same agent with the cases of its files in the definition, so that it names none. Errors: the first that cannot be used.
    pub fn with_case_files_read(self, folder: &Path, access: &FileAccess) -> Result<Self, Diagnostic> {
        if !self.has_case_files() {
            return Ok(self);
        }
        let mut rows = self.case_rows(folder, access);
        let mut tables = Vec::new();
        while let Some(table) = rows.next_table().map_err(of_cases)? {
            match table.problem {
                Some(why) => return Err(of_cases(why)),
                None => tables.push(table.json),
            }
        }
        let mut inputs = InputReader::of(&self, Source::folder(folder, access));
        let mut whole = self.with_option("cases", Json::list(tables));
        for case in whole.cases()?.into_iter().filter(|case| !case.skip) {
            let (files, why) = files_of(&case, &mut inputs);
            if let Some(why) = why {
                return Err(of_cases(why));
            }
            for file in files {
                if whole.files.iter().all(|known| known.path != file.path) {
                    whole.files.push(file);
                }
            }
        }
        Ok(whole)
    }

    /// The cases of this agent, those of files included. `folder` is that of the agent's file.
    pub fn case_rows(&self, folder: &Path, access: &FileAccess) -> CaseRows {
        CaseRows {
            types: Types::of(self),
            inputs: InputReader::of(self, Source::folder(folder, access)),
            folder: folder.to_owned(),
            access: access.clone(),
            entries: self.case_entries().into_iter().enumerate().collect(),
            files: VecDeque::new(),
            source: CaseSource::default(),
            open: None,
            ready: VecDeque::new(),
            has_failed: false,
        }
    }
}

impl Iterator for CaseRows {
    type Item = Result<Case, Diagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_checked()?.and_then(|checked| checked.problem.map_or(Ok(checked.case), Err));
        self.has_failed = next.is_err();
        Some(next)
    }
}

impl CaseRows {
    /// The cases with their problems, for a selection of them. Errors: a row of which not even the name and the tags can be read; it is the
    /// last item.
    pub(crate) fn checked(mut self) -> impl Iterator<Item = Result<CheckedCase, Diagnostic>> {
        std::iter::from_fn(move || self.next_checked())
    }

    /// Skips the next case without reading its expectation. Errors: its row cannot be read.
    pub(crate) fn skip_case(&mut self) -> Result<(), Diagnostic> {
        self.next_table().map(drop).map_err(of_cases)
    }

    fn next_checked(&mut self) -> Option<Result<CheckedCase, Diagnostic>> {
        if self.has_failed {
            return None;
        }
        let next = self.advance().transpose()?;
        self.has_failed = next.is_err();
        Some(next.map_err(of_cases))
    }

    /// The next case.
    fn advance(&mut self) -> Result<Option<CheckedCase>, String> {
        let Some(CaseTable { place, json, problem }) = self.next_table()? else { return Ok(None) };
        let entry = Entry { path: place, key: "cases", ..Entry::root(&json) };
        let read = problem.map_or_else(|| case(&entry).map_err(|problem| problem.message), Err);
        let (case, why) = match read {
            Ok(case) if case.skip => (case, None),
            Ok(case) => {
                let (files, unread) = files_of(&case, &mut self.inputs);
                let why = misfit(&case, &self.types).or(unread);
                (Case { files, ..case }, why)
            }
            Err(why) => match head(&entry) {
                Some(case) => (case, Some(why)),
                None => return Err(why),
            },
        };
        let undeclared_inputs = undeclared_inputs(&case, &self.types);
        Ok(Some(CheckedCase { case, problem: why.map(of_cases), undeclared_inputs }))
    }

    /// The table of the next case.
    fn next_table(&mut self) -> Result<Option<CaseTable>, String> {
        loop {
            if let Some(table) = self.ready.pop_front() {
                return Ok(Some(table));
            }
            if let Some(open) = &mut self.open {
                match open.next_row(&self.source, &self.types)? {
                    Some(found) => self.ready.extend(found),
                    None => self.open = None,
                }
            } else if let Some(path) = self.files.pop_front() {
                self.open = Some(self.open(&path)?);
            } else if let Some((place, json)) = self.entries.pop_front() {
                let entry = Entry { path: format!("cases.{place}"), key: "cases", ..Entry::root(&json) };
                match read_entry(&entry, self.types.own_context()).map_err(|problem| problem.message)? {
                    Read::Tables(found) => {
                        self.ready.extend(found.into_iter().map(|table| CaseTable::new(&entry.path, table)));
                    }
                    Read::Source(source) => {
                        self.files = files(&self.folder, &source.file)?;
                        self.source = *source;
                    }
                }
            } else {
                return Ok(None);
            }
        }
    }

    fn open(&self, path: &Path) -> Result<OpenFile, String> {
        let here = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let root = here.canonicalize().unwrap_or_else(|_| here.to_owned());
        let refused = |why: String| format!("`{KEY}` names the file {}, {why}", path.display());
        let resolved = self.access.resolve(&root, KEY, path).map_err(|refusal| refused(refusal.to_string()))?;
        let name = path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
        let of_file = |error: std::io::Error| format!("{name}: {error}");
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
        let rows = match ending.as_str() {
            "jsonl" | "ndjson" => Rows::Lines(BufReader::new(open_resolved_file(&resolved).map_err(of_file)?)),
            "csv" | "tsv" => {
                let separator = if ending == "csv" { b',' } else { b'\t' };
                let mut records =
                    Records::new(BufReader::new(open_resolved_file(&resolved).map_err(of_file)?), separator);
                let columns = records.next_record().map_err(of_file)?;
                let mut columns =
                    columns.ok_or_else(|| format!("{name}: the file has no first row with the columns"))?;
                if let Some(first) = columns.first_mut() {
                    *first = without_mark(first).to_owned();
                }
                if let Some(twice) = named_twice(&columns) {
                    return Err(format!("{name}: the first row names the column `{twice}` twice"));
                }
                Rows::Table { records, columns }
            }
            "toml" | "json" => Rows::Tables(self.tables(path, &root, &name, &ending)?),
            _ => {
                return Err(refused(
                    "which is not a file of cases; known endings: toml, json, jsonl, csv, tsv".to_owned(),
                ));
            }
        };
        Ok(OpenFile { name, place: 0, rows })
    }

    /// The `[[cases]]` of a TOML file, or the items of a JSON list.
    fn tables(&self, path: &Path, root: &Path, name: &str, ending: &str) -> Result<VecDeque<Json>, String> {
        let text = self.access.read(root, KEY, path).map_err(|refusal| format!("{name}: {refusal}"))?;
        let items = if ending == "json" {
            let json = parse_json_text(without_mark(&text)).map_err(|error| format!("{name}: the file is {error}"))?;
            json.items().map(<[Json]>::to_vec).ok_or_else(|| format!("{name}: must hold a JSON list of cases"))?
        } else {
            let document = document::parse(&text);
            let document = document.map_err(|problem| document::FileError::of(name, &text, &problem).to_string())?;
            let others = document.members().unwrap_or_default().iter().filter(|member| member.key != "cases");
            if let Some(other) = others.map(|member| &member.key).next() {
                return Err(format!("{name}: unknown key `{other}`; a file of cases has only [[cases]]"));
            }
            document.get("cases").and_then(Json::items).map(<[Json]>::to_vec).unwrap_or_default()
        };
        Ok(items.into())
    }
}

impl OpenFile {
    /// The tables of the next row; `None` at the end.
    fn next_row(&mut self, source: &CaseSource, types: &Types) -> Result<Option<Vec<CaseTable>>, String> {
        let row = match &mut self.rows {
            Rows::Lines(reader) => {
                json_line(reader, &mut self.place).map_err(|why| format!("{}:{why}", self.name))?.map(Ok)
            }
            Rows::Table { records, columns } => {
                self.place += 1;
                let here = |why: String| format!("{}: row {}: {why}", self.name, self.place);
                let record = records.next_record().map_err(|error| here(error.to_string()))?;
                record.map(|cells| {
                    let row = row_of_cells(columns, &cells, source, types);
                    row.map_err(|why| (texts_of_cells(columns, &cells), why))
                })
            }
            Rows::Tables(tables) => {
                self.place += 1;
                tables.pop_front().map(Ok)
            }
        };
        let Some(row) = row else { return Ok(None) };
        let here = |why: String| format!("{}: row {}: {why}", self.name, self.place);
        if row.as_ref().is_ok_and(|row| row.members().is_none()) {
            return Err(here("a row must be an object with the keys of a case".to_owned()));
        }
        let place = format!("{} row {}", self.name, self.place);
        let table =
            row.and_then(|row| source.case_table(&row, types, &self.name, self.place).map_err(|why| (Some(row), why)));
        let table = match table {
            Ok(table) => table,
            Err((row, why)) => {
                let head = row.and_then(|row| source.head_table(&row, &self.name, self.place));
                let Some(json) = head else { return Err(here(why)) };
                return Ok(Some(vec![CaseTable { place, json, problem: Some(here(why)) }]));
            }
        };
        let entry = Entry { path: place.clone(), key: "cases", ..Entry::root(&table) };
        if let Some(problem) = problem_of_case(&entry).map(|problem| Some(problem.message)) {
            return Ok(Some(vec![CaseTable { place, json: table, problem }]));
        }
        let tables = tables(&entry, types.own_context()).map_err(|problem| problem.message)?;
        Ok(Some(tables.into_iter().map(|table| CaseTable::new(&place, table)).collect()))
    }
}

/// The first column whose name another one has.
fn named_twice(columns: &[String]) -> Option<&String> {
    let mut seen = HashSet::new();
    columns.iter().find(|column| !column.is_empty() && !seen.insert(*column))
}

/// The files that the inputs of a case name, and the reason why one of them cannot be read.
fn files_of(case: &Case, inputs: &mut InputReader) -> (Vec<InputFile>, Option<String>) {
    let read = case.context.as_ref().map(|context| inputs.read(context)).unwrap_or_default();
    match read.into_iter().collect() {
        Ok(files) => (files, None),
        Err(Problem { message, .. }) => (Vec::new(), Some(format!("the case `{}`: {message}", case.name))),
    }
}

/// A problem of the key `cases`.
fn of_cases(why: String) -> Diagnostic {
    Diagnostic::option("cases", why)
}

/// The next line of JSON that is not blank; counts lines. Errors begin with the line's number.
fn json_line(reader: &mut BufReader<File>, place: &mut usize) -> Result<Option<Json>, String> {
    loop {
        let mut line = Vec::new();
        *place += 1;
        let read = reader.by_ref().take(MOST_ROW_BYTES as u64 + 1).read_until(b'\n', &mut line);
        match read.map_err(|error| format!("{place}: {error}"))? {
            0 => return Ok(None),
            read if read > MOST_ROW_BYTES => return Err(format!("{place}: the line is larger than 4 MiB")),
            _ => {}
        }
        let text = std::str::from_utf8(trimmed(&line)).map_err(|_| format!("{place}: the line is not UTF-8 text"))?;
        let text = without_mark(text);
        if !text.trim().is_empty() {
            return parse_json_text(text)
                .map(Some)
                .map_err(|error| format!("{place}: the line is {} (column {})", error.problem(), error.at.column));
        }
    }
}

/// The files of a path, by name; `*` in the last part matches any text.
fn files(folder: &Path, pattern: &str) -> Result<VecDeque<PathBuf>, String> {
    let path = folder.join(pattern);
    let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    if !last.contains('*') {
        return Ok(VecDeque::from([path]));
    }
    let parent = path.parent().unwrap_or(Path::new(""));
    let here = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let found =
        std::fs::read_dir(here).map_err(|error| format!("`{KEY}` = {pattern:?}: {}: {error}", here.display()))?;
    let names = found.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.') && fits(&last, name)).collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("`{KEY}` = {pattern:?} matches no file"));
    }
    Ok(names.into_iter().map(|name| parent.join(name)).collect())
}

/// Returns whether a name fits a pattern in which `*` matches any text.
fn fits(pattern: &str, name: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_is_a_wildcard() {
        let known = [("*.toml", "a.toml", true), ("a*b*c", "a-b-c", true), ("a*b*c", "ac", false), ("a*", "b", false)];
        for (pattern, name, expected) in known {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
        assert!(!fits("a*a", "a"));
    }
}
