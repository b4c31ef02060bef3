//! Events of every kind with every field, made from the schema of the events.
//!
//! In: a kind, and the text for every free text. Out: events. Fields that hold one of several forms have an event for each form.

use schemars::SchemaGenerator;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::event::{Event, KINDS, data_schemas};

/// Forms of one field that are made.
const FORMS: usize = 3;

/// An event of a kind.
pub(super) fn sample(kind: &str) -> Event {
    samples(kind, "text").remove(0).1
}

/// Events of a kind in which every free text is this one, and their data.
pub(super) fn samples(kind: &str, text: &str) -> Vec<(Value, Event)> {
    let mut generator = SchemaGenerator::default();
    let schemas: Vec<Value> =
        data_schemas(&mut generator).into_iter().map(|schema| serde_json::to_value(schema).unwrap()).collect();
    let all = serde_json::to_value(generator.definitions()).unwrap();
    let place = KINDS.iter().position(|(known, ..)| *known == kind).unwrap();
    let mut made: Vec<Value> =
        (0..FORMS).map(|form| Maker { all: &all, text, form }.make(&schemas[place], 0)).collect();
    if kind == "message" {
        for part in [
            json!({"section": text, "text": text}),
            json!({"reply": text}),
            json!({"call": {"id": text, "name": text, "args": text}}),
            json!({"call": text, "name": text, "result": text}),
        ] {
            let mut message = made[0].clone();
            message["parts"] = json!([part]);
            made.push(message);
        }
    }
    let read = |data: Value| {
        let event = Event::read(kind, &to_raw_value(&data).unwrap());
        let event = event.unwrap_or_else(|error| panic!("{kind}: {error}: {data}"));
        (data, event)
    };
    made.into_iter().map(read).collect()
}

struct Maker<'a> {
    all: &'a Value,
    text: &'a str,
    form: usize,
}

impl Maker<'_> {
    fn make(&self, schema: &Value, depth: usize) -> Value {
        if depth > 12 {
            return Value::Null;
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            return self.make(&self.all[name], depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(forms) = schema[key].as_array() {
                let some: Vec<&Value> = forms.iter().filter(|form| form["type"] != "null").collect();
                return self.make(some[self.form % some.len()], depth + 1);
            }
        }
        let mut kinds: Vec<&str> = schema["type"].as_str().into_iter().collect();
        kinds.extend(
            schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str).filter(|kind| *kind != "null"),
        );
        match kinds.first() {
            Some(&"string") => json!(self.text),
            Some(&"integer" | &"number") => json!(1),
            Some(&"boolean") => json!(true),
            Some(&"array") => match schema["prefixItems"].as_array() {
                Some(items) => items.iter().map(|item| self.make(item, depth + 1)).collect(),
                None => json!([self.make(&schema["items"], depth + 1)]),
            },
            Some(&"object") => {
                let members = schema["properties"].as_object().into_iter().flatten();
                Value::Object(members.map(|(name, schema)| (name.clone(), self.make(schema, depth + 1))).collect())
            }
            // Any data: also as the name of a member and deep inside.
            _ => {
                let named = Map::from_iter([(self.text.to_owned(), json!([self.text]))]);
                json!({"a": named, "b": self.text})
            }
        }
    }
}
