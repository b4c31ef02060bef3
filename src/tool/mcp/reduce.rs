//! Reduces the JSON Schema of a server to what a signature can express: resolves references, drops unions and
//! restricting keywords.
//!
//! In: any schema. Out: a schema of the supported subset, and the paths where something was dropped. The depth is
//! limited, because schemas may be recursive, and so is the size, because references multiply it.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

/// Maximum depth; deeper values may be anything.
const MAX_DEPTH: usize = 12;
/// Maximum number of subschemas after references are replaced; further values may be anything.
const MAX_PARTS: usize = 5_000;
/// Maximum number of reported losses.
const MAX_LOSSES: usize = 50;

/// Keywords without influence on values.
const ANNOTATIONS: &[&str] =
    &["$schema", "$id", "$defs", "definitions", "title", "examples", "$comment", "deprecated", "readOnly"];
/// Supported keywords.
const SUPPORTED: &[&str] = &["type", "enum", "items", "properties", "required", "description"];

/// Reduces a schema. `place` is its path in reported losses.
pub(super) fn reduce_schema(schema: &Json, place: &str, lost: &mut Vec<String>) -> Json {
    let mut reducer = Reducer { root: schema, lost, parts: 0 };
    reducer.schema(schema, place, 0)
}

/// Returns a valid field name: letters, digits and `_`, a letter first.
pub(super) fn field_name(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain
    } else {
        format!("x{}{plain}", if plain.starts_with('_') { "" } else { "_" })
    }
}

struct Reducer<'a> {
    root: &'a Json,
    lost: &'a mut Vec<String>,
    parts: usize,
}

impl Reducer<'_> {
    fn add_loss(&mut self, place: &str, what: &str) {
        let text = format!("{place}: {what}");
        if self.lost.len() < MAX_LOSSES && !self.lost.contains(&text) {
            self.lost.push(text);
        }
    }

    fn anything(&mut self, schema: &Json, place: &str, what: &str) -> Json {
        self.add_loss(place, what);
        with_description(Json::empty(), schema)
    }

    fn schema(&mut self, schema: &Json, place: &str, depth: usize) -> Json {
        let Some(members) = schema.members() else { return Json::empty() };
        if depth > MAX_DEPTH {
            return self.anything(schema, place, "too deep");
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return self.anything(schema, "", "too large");
        }
        if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            let path = reference.strip_prefix("#/").map(|path| path.replace('/', "."));
            let root = self.root;
            return match path.and_then(|path| root.at(&path)) {
                Some(meant) => self.schema(meant, place, depth + 1),
                None => self.anything(schema, place, "$ref"),
            };
        }
        for union in ["anyOf", "oneOf", "allOf"] {
            let Some(choices) = schema.get(union).and_then(Json::items) else { continue };
            let is_null = |choice: &&Json| choice.get("type").and_then(Json::as_str) == Some("null");
            let others: Vec<&Json> = choices.iter().filter(|choice| !is_null(choice)).collect();
            return match others.as_slice() {
                [only] => {
                    let inner = self.schema(only, place, depth + 1);
                    merge_description(&inner, schema, others.len() < choices.len())
                }
                _ => self.anything(schema, place, union),
            };
        }
        let mut kept: Vec<(String, Json)> = Vec::new();
        for member in members {
            let key = member.key.as_str();
            match key {
                "type" | "description" => kept.push((key.to_owned(), member.value.clone())),
                "enum" if is_texts(&member.value) => kept.push((key.to_owned(), member.value.clone())),
                "items" if member.value.members().is_some() => {
                    kept.push((key.to_owned(), self.schema(&member.value, &format!("{place}[]"), depth + 1)));
                }
                "properties" if member.value.members().is_some() => {
                    let inner = member.value.members().unwrap_or_default();
                    let nested = depth > 0;
                    if nested && inner.iter().any(|member| field_name(&member.key) != member.key) {
                        return self.anything_of(schema, place);
                    }
                    let properties = inner.iter().map(|member| {
                        let place = format!("{place}.{}", member.key);
                        (member.key.clone(), self.schema(&member.value, &place, depth + 1))
                    });
                    let properties: Vec<_> = properties.collect();
                    kept.push((key.to_owned(), Json::object(properties)));
                }
                "required" => kept.push((key.to_owned(), known(&member.value, schema.get("properties")))),
                "additionalProperties" if matches!(member.value.node, Node::Bool(_)) => {}
                _ if ANNOTATIONS.contains(&key) => {}
                _ => self.add_loss(place, key),
            }
        }
        kept.retain(|(key, _)| SUPPORTED.contains(&key.as_str()));
        match schema.get("type").map(|ty| &ty.node) {
            Some(Node::List(names)) => {
                let others: Vec<&str> = names.iter().filter_map(Json::as_str).filter(|name| *name != "null").collect();
                if others.len() != 1 {
                    return self.anything(schema, place, "several types");
                }
            }
            Some(Node::Str(name)) if name == "null" => return self.anything(schema, place, "null"),
            _ => {}
        }
        Json::object(kept)
    }

    /// A map whose keys a signature cannot express.
    fn anything_of(&mut self, schema: &Json, place: &str) -> Json {
        self.add_loss(place, "names of its fields");
        with_description(Json::empty().with("type", Json::str("object")), schema)
    }
}

/// Returns the schema with the description of another one, if that has one.
fn with_description(schema: Json, described: &Json) -> Json {
    match described.get("description").filter(|text| text.as_str().is_some()) {
        Some(text) => schema.with("description", text.clone()),
        None => schema,
    }
}

/// Returns the inner schema with the description of the outer one; `nullable`: null is allowed as well.
fn merge_description(inner: &Json, outer: &Json, nullable: bool) -> Json {
    let schema = match outer.get("description").filter(|text| text.as_str().is_some()) {
        Some(_) => with_description(inner.clone().without("description"), outer),
        None => inner.clone(),
    };
    match schema.get("type").filter(|ty| nullable && ty.as_str().is_some()).cloned() {
        Some(name) => schema.with("type", Json::list([name, Json::str("null")])),
        None => schema,
    }
}

fn is_texts(json: &Json) -> bool {
    json.items().is_some_and(|items| {
        let texts: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
        !texts.is_empty() && texts.len() == items.len() && (1..texts.len()).all(|at| !texts[..at].contains(&texts[at]))
    })
}

/// Returns the required names that are properties.
fn known(required: &Json, properties: Option<&Json>) -> Json {
    let names = required.items().unwrap_or_default().iter();
    let is_known =
        |name: &&Json| name.as_str().is_some_and(|name| properties.is_some_and(|all| all.get(name).is_some()));
    Json::list(names.filter(is_known).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_core::value::json::parse;

    #[test]
    fn the_size_of_a_reduced_schema_is_bounded() {
        let level = |number: usize| {
            let reference = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, number + 1);
            let members: Vec<String> = (0..20).map(|at| format!("\"p{at}\":{reference}")).collect();
            format!("\"d{number}\":{{\"type\":\"object\",\"properties\":{{{}}}}}", members.join(","))
        };
        let definitions: Vec<String> = (0..4).map(level).collect();
        let text =
            format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d4":{{"type":"string"}}}}}}"##, definitions.join(","));
        let mut lost = Vec::new();
        let reduced = reduce_schema(&parse(&text).expect("JSON"), "t", &mut lost);
        assert!(reduced.to_text().len() < 1_000_000, "{} bytes", reduced.to_text().len());
        assert!(lost.iter().any(|loss| loss.contains("too large")), "{lost:?}");
    }
}
