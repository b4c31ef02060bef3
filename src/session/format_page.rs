//! Generates `docs/session-format.md` and its JSON Schema from the types of the file format.
//!
//! In: the stored structs, their doc comments and the table of event kinds. Out: the two files; `BLESS=1 cargo test pages` writes
//! them, otherwise they must be current. It must never describe a field that is not in a stored struct.

use std::fmt::Write as _;
use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::header::{FORMAT, Header};
use crate::event::{FIELDS, FieldClass, KINDS, Line, data_schemas};

const HEADING: &str = include_str!("format_page.md");

/// Units of numbers, by the name of the field. A number that is in no row fails the test below.
const UNITS: &[(&str, &[&str])] = &[
    ("ms", &["ms", "wait_ms", "queued_ms", "first_ms", "mission_ms", "waited_ms"]),
    ("ms since 1970, UTC", &["t", "now", "created_ms", "deadline"]),
    ("bytes", &["bytes", "lens", "schema_bytes", "b", "head", "tail", "size"]),
    ("byte offset in the text", &["span", "fixes", "error_at"]),
    (
        "tokens",
        &[
            "tokens",
            "input",
            "output",
            "cache_creation",
            "cache_read",
            "reasoning",
            "tokens_before",
            "tokens_after",
            "system_prompt_tokens",
        ],
    ),
    ("currency per million tokens", &["Price.input", "Price.output", "cached_input", "cache_write"]),
    ("currency", &["cost"]),
    ("HTTP status", &["status"]),
    ("as in docs/reference.md", &["limits"]),
    (
        "count",
        &[
            "masked",
            "turns",
            "tree",
            "requests",
            "candidates",
            "messages_before",
            "messages_after",
            "max_tokens",
            "of",
            "depth",
            "counts",
            "redacted",
        ],
    ),
    ("number", &["s", "seq", "m", "attempt", "from_turn", "messages", "version", "min_reader", "seed", "after"]),
    ("factor", &["temperature", "top_p"]),
];

/// The schema of a line, with the types that it refers to.
fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let header = generator.subschema_for::<Header>();
    let line = generator.subschema_for::<Line<'_>>();
    let data = data_schemas(&mut generator).into_iter().zip(KINDS);
    let data = data.map(
        |(data, (kind, ..))| json!({"if": {"properties": {"k": {"const": kind}}}, "then": {"properties": {"d": data}}}),
    );
    let event: Vec<Value> = [json!(line)].into_iter().chain(data).collect();
    let mut types = generator.take_definitions(true);
    for value in types.values_mut() {
        tidy(value);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a ptc-workbench session file",
        "description": "The first line of a file is a header, each other line an event. Kinds that are not listed are valid.",
        "if": {"required": ["format"]},
        "then": header,
        "else": {"allOf": event},
        "$defs": types,
    })
}

/// Removes what the file format does not have: optional fields are absent and never null, and integers have no formats.
fn tidy(value: &mut Value) {
    let Value::Object(object) = value else {
        value.as_array_mut().into_iter().flatten().for_each(tidy);
        return;
    };
    object.remove("format");
    object.remove("default");
    let required: Vec<String> =
        object.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(as_text).collect();
    if let Some(Value::Object(fields)) = object.get_mut("properties") {
        for (name, field) in fields.iter_mut() {
            if !required.contains(name) {
                remove_null(field);
            }
            tidy(field);
        }
    }
    for (key, value) in object.iter_mut().filter(|(key, _)| *key != "properties") {
        if key == "description" {
            *value = as_text(value).unwrap_or_default().replace('\n', " ").into();
        }
        tidy(value);
    }
}

fn remove_null(field: &mut Value) {
    let Some(object) = field.as_object_mut() else { return };
    if let Some(Value::Array(names)) = object.get_mut("type") {
        names.retain(|name| name != "null");
        let only = names.first().cloned().unwrap_or_default();
        object.insert("type".to_owned(), only);
    }
    if let Some(Value::Array(types)) = object.get_mut("anyOf") {
        types.retain(|ty| ty["type"] != "null");
        if let [Value::Object(only)] = types.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            object.extend(only);
        }
    }
}

fn as_text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

/// The definition that a schema refers to.
fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// A type in words, definitions as links.
fn type_name(schema: &Value) -> String {
    if let Some(name) = referred(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(all) = schema["anyOf"].as_array() {
        return all.iter().map(type_name).collect::<Vec<_>>().join(" or ");
    }
    match schema["type"].as_str() {
        Some("array") => match schema["prefixItems"].as_array() {
            Some(items) => format!("[{}]", items.iter().map(type_name).collect::<Vec<_>>().join(", ")),
            None => format!("list of {}", type_name(&schema["items"])),
        },
        Some("string") => "text".to_owned(),
        Some(name) => name.to_owned(),
        None => "JSON".to_owned(),
    }
}

/// Returns whether a field holds numbers, directly or in lists.
fn is_number(schema: &Value) -> bool {
    match schema["type"].as_str() {
        Some("integer" | "number") => true,
        Some("array") => match schema["prefixItems"].as_array() {
            Some(items) => items.iter().any(is_number),
            None => is_number(&schema["items"]),
        },
        _ => false,
    }
}

/// The unit of a field; `None` for a number without one.
fn unit(owner: &str, name: &str, schema: &Value) -> Option<&'static str> {
    if !is_number(schema) {
        return Some("");
    }
    let full = format!("{owner}.{name}");
    let row = |wanted: &str| UNITS.iter().find(|(_, names)| names.contains(&wanted)).map(|(unit, _)| *unit);
    row(&full).or_else(|| row(name))
}

fn description(schema: &Value) -> String {
    as_text(&schema["description"]).unwrap_or_default()
}

/// The tables of a definition: fields, values or forms.
fn write_definition(page: &mut String, owner: &str, definition: &Value) {
    if definition["properties"].is_object() {
        write_fields(page, owner, definition);
        return;
    }
    let Some(forms) = ["oneOf", "anyOf"].iter().find_map(|key| definition[*key].as_array()) else {
        _ = writeln!(page, "\nType: {}.", type_name(definition));
        return;
    };
    if forms.iter().all(|form| form["const"].is_string()) {
        page.push_str("\n| value | meaning |\n|---|---|\n");
        for form in forms {
            _ = writeln!(page, "| `{}` | {} |", as_text(&form["const"]).unwrap_or_default(), description(form));
        }
        return;
    }
    for form in forms {
        _ = writeln!(page, "\n{}", description(form));
        if form["properties"].is_object() {
            write_fields(page, owner, form);
        } else {
            _ = writeln!(page, "\nType: {}.", type_name(form));
        }
    }
}

fn write_fields(page: &mut String, owner: &str, definition: &Value) {
    let fields = definition["properties"].as_object().into_iter().flatten();
    let required: Vec<String> = definition["required"].as_array().into_iter().flatten().filter_map(as_text).collect();
    page.push_str("\n| field | type | unit | meaning |\n|---|---|---|---|\n");
    for (name, field) in fields {
        let optional = if required.contains(name) { "" } else { ", optional" };
        let unit = unit(owner, name, field).unwrap_or_else(|| panic!("{owner}.{name} is a number without a unit"));
        _ = writeln!(page, "| `{name}` | {}{optional} | {unit} | {} |", type_name(field), description(field));
    }
}

/// The fields of a kind that have another class than their event.
fn write_field_classes(page: &mut String, kind: &str) {
    let rows: Vec<&FieldClass> = FIELDS.iter().filter(|row| row.kind == kind).collect();
    if rows.is_empty() {
        return;
    }
    page.push_str("\n| field | class | reason |\n|---|---|---|\n");
    for FieldClass { path, class, why, .. } in rows {
        _ = writeln!(page, "| `{path}` | {class} | {why} |");
    }
}

fn page(schema: &Value) -> String {
    let mut page =
        String::from("<!-- @generated by `BLESS=1 cargo test pages` from src/event and src/session/header.rs -->\n\n");
    page.push_str(HEADING);
    let types = schema["$defs"].as_object().unwrap();
    let mut events = vec!["Header", "Line"];
    page.push_str("\n## Header\n");
    write_fields(&mut page, "Header", &types["Header"]);
    page.push_str("\n## Event\n");
    write_fields(&mut page, "Line", &types["Line"]);
    page.push_str("\n## Kinds\n\n| kind | class | meaning |\n|---|---|---|\n");
    for (kind, class, meaning) in KINDS {
        _ = writeln!(page, "| [`{kind}`](#{}) | {class} | {meaning} |", kind.replace('.', ""));
    }
    let rows = schema["else"]["allOf"].as_array().unwrap();
    for ((kind, class, meaning), row) in KINDS.iter().zip(&rows[1..]) {
        let name = referred(&row["then"]["properties"]["d"]).unwrap();
        _ = writeln!(page, "\n### `{kind}`\n\nClass: {class}. {}{}.", meaning[..1].to_uppercase(), &meaning[1..]);
        write_definition(&mut page, name, &types[name]);
        write_field_classes(&mut page, kind);
        events.push(name);
    }
    page.push_str("\n## Types\n");
    for (name, definition) in types.iter().filter(|(name, _)| !events.contains(&name.as_str())) {
        _ = writeln!(page, "\n### {name}\n\n{}", description(definition));
        write_definition(&mut page, name, definition);
    }
    page
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a generated file with the one in the repository, or writes it when `BLESS` is set.
fn assert_current(file: &str, content: &str) {
    let path = root().join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, content).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == content, "{file} is stale: run `BLESS=1 cargo test pages`");
}

#[test]
fn pages_of_the_session_format_are_current() {
    let schema = schema();
    assert_current("docs/session-format.schema.json", &format!("{schema:#}\n"));
    assert_current("docs/session-format.md", &page(&schema));
}

/// Every line of the recorded sessions and of the scenes.
fn example_lines() -> Vec<(String, Value)> {
    let files = ["sessions", "assets/scenes"].iter().flat_map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let files =
        files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let lines = files.flat_map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let place = |number: usize| format!("{}:{}", path.display(), number + 1);
        let is_session = text.lines().next().is_some_and(|header| header.contains(FORMAT));
        let lines = text.lines().enumerate().filter(|_| is_session);
        lines.map(|(number, line)| (place(number), serde_json::from_str(line).unwrap())).collect::<Vec<_>>()
    });
    lines.collect()
}

#[test]
fn example_sessions_validate_against_the_schema() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let lines = example_lines();
    assert!(lines.len() > 500, "{} lines", lines.len());
    for (place, line) in &lines {
        let errors: Vec<String> =
            validator.iter_errors(line).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{place}: {}", errors.join("; "));
    }
}

#[test]
fn the_schema_refuses_events_with_missing_or_unfit_fields() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let event = |kind: &str, data: Value| json!({"s": 1, "t": 1, "r": "r0/t1", "k": kind, "d": data});
    assert!(validator.is_valid(&event("plan.of.later", json!({"x": 1}))), "unknown kinds are valid");
    assert!(validator.is_valid(&event("notice", json!({"level": "info", "text": "a", "more": 1}))));
    assert!(!validator.is_valid(&event("notice", json!({"level": "info"}))));
    assert!(!validator.is_valid(&event("tool.end", json!({"status": "done", "ms": 1}))));
    assert!(!validator.is_valid(&json!({"s": 1, "t": 1, "r": "r0", "d": {}})), "the kind is missing");
    assert!(!validator.is_valid(&json!({"format": "ptc-workbench-session"})), "the header has no id");
}

#[test]
fn the_rows_of_field_classes_name_fields_of_their_kinds() {
    let schema = schema();
    let types = schema["$defs"].as_object().unwrap();
    let rows = schema["else"]["allOf"].as_array().unwrap();
    for row in FIELDS {
        let place = KINDS.iter().position(|(kind, ..)| *kind == row.kind).unwrap();
        assert_eq!(
            KINDS[place].1,
            crate::event::Class::Input,
            "{}: only inputs have fields of other classes",
            row.kind
        );
        let mut owner = referred(&rows[place + 1]["then"]["properties"]["d"]).map(str::to_owned);
        for key in row.path.split('.') {
            let field = &types[&owner.take().unwrap()]["properties"][key];
            assert!(field.is_object(), "{}: {}", row.kind, row.path);
            let inner = [field, &field["anyOf"][0], &field["items"]];
            owner = inner.into_iter().find_map(referred).map(str::to_owned);
        }
    }
}
