//! Names of types: scalar type words, type names in messages, and guesses for wrong words.
//!
//! In: a type or a word. Out: words. The table of scalars is the only list of type names.

use super::Type;
use crate::text::nearest;

/// Scalar type words and their types; of two words for one type the first is canonical.
pub(super) const SCALARS: &[(&str, Type)] = &[
    ("string", Type::String),
    ("int", Type::Int),
    ("float", Type::Float),
    ("number", Type::Number),
    ("bool", Type::Bool),
    ("boolean", Type::Bool),
    ("keyword", Type::Keyword),
    ("any", Type::Any),
    ("map", Type::Map),
    ("datetime", Type::Datetime),
    ("file", Type::File),
];

/// The notation of the other types; part of every message about an unknown type.
pub(super) const COMPOUNDS: &[&str] =
    &[":enum[\"a\" \"b\"]", "[:int] for a list", "{name :string} for a map", "? after a type makes it optional"];

/// The notation of signatures: each form with its meaning, for the reference. Every row is a valid signature.
pub const FORMS: &[(&str, &str)] = &[
    (":string", "Text."),
    (":int", "A whole number of any size."),
    (":float", "A number with a fraction; whole numbers are converted."),
    (":number", "A whole number or one with a fraction, unchanged."),
    (":bool", "true or false; `:boolean` is the same."),
    (":keyword", "A keyword of PTC-Lisp; text in JSON."),
    (":datetime", "A date and time with its offset, as text in this form of ISO 8601: `2026-11-22T10:00:00Z`."),
    (":map", "An object with any content."),
    (":any", "Anything."),
    (
        "(photo :file) -> :string",
        "`:file`: a file that the model gets: an image, a PDF, a sound or a text (docs/files.md); only for parameters.",
    ),
    (
        ":enum[\"new\" \"in use\"]",
        "One of these texts; quotes are optional for texts without spaces, and so are commas.",
    ),
    ("[:int]", "A list, all items of one type."),
    (
        "{name :string, size :int}",
        "An object with these fields; an answer may have others, which are kept; they are listed when it has an error.",
    ),
    (":float?", "It may be missing or nil; `?` follows any type, in lists and fields as well."),
    ("{score :float \"between 0 and 1\"}", "A field or parameter with a description for the model."),
    ("(text :string, top :int?) -> [:string]", "Parameters and output; `(…)` lists what the context must contain."),
    ("() -> :int", "No parameters; like the type alone, it does not restrict the context."),
];

/// Type names of other languages.
const FOREIGN: &[(&str, &str)] = &[
    ("integer", ":int"),
    ("long", ":int"),
    ("double", ":float"),
    ("decimal", ":float"),
    ("real", ":float"),
    ("str", ":string"),
    ("text", ":string"),
    ("symbol", ":keyword"),
    ("atom", ":keyword"),
    ("object", ":map"),
    ("dict", ":map"),
    ("record", ":map"),
    ("date", ":datetime"),
    ("time", ":datetime"),
    ("timestamp", ":datetime"),
    ("instant", ":datetime"),
    ("list", "[:any]"),
    ("array", "[:any]"),
    ("vector", "[:any]"),
    ("null", ":any"),
    ("nil", ":any"),
];

/// The type of a scalar word.
pub(super) fn scalar(word: &str) -> Option<Type> {
    SCALARS.iter().find(|(name, _)| *name == word).map(|(_, ty)| ty.clone())
}

/// The type that a wrong word most likely means, in signature notation.
pub(super) fn guess(word: &str) -> Option<String> {
    let lower = word.to_lowercase();
    if lower == "enum" {
        return Some(":enum[\"a\" \"b\"]".to_owned());
    }
    if scalar(&lower).is_some() {
        return Some(format!(":{lower}"));
    }
    if let Some((_, ours)) = FOREIGN.iter().find(|(name, _)| *name == lower) {
        return Some((*ours).to_owned());
    }
    nearest(&lower, SCALARS.iter().map(|(name, _)| *name)).map(|name| format!(":{name}"))
}

impl Type {
    /// The type in messages: `int`, `list`, `map`, `one of "a", "b"`.
    pub fn word(&self) -> String {
        match self.base() {
            Self::Enum(values) => {
                let quoted: Vec<String> = values.iter().map(|value| super::render::quoted(value)).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::List(_) => "list".to_owned(),
            Self::Record { .. } => "map".to_owned(),
            scalar => SCALARS.iter().find(|(_, ty)| ty == scalar).map_or("any", |(name, _)| name).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_reference_is_a_signature_and_every_type_is_in_it() {
        for (form, _) in FORMS {
            assert!(crate::signature::parse(form).is_ok(), "{form}");
        }
        for (name, _) in SCALARS {
            let word = format!(":{name}");
            let is_listed = |(form, meaning): &(&str, &str)| *form == word || meaning.contains(&format!("`{word}`"));
            assert!(FORMS.iter().any(is_listed), "{word}");
        }
    }
}
