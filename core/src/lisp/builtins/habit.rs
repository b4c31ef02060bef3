//! Qualified names of Clojure and Java that the dialect `reference` does not have, and the ways for namespaces that stay
//! out.

use super::namespaces::{Constant, Members, Namespace};

/// Packages of Java classes, which may be written before their names.
const PACKAGES: &[&str] =
    &["java.time.format.", "java.time.temporal.", "java.time.", "java.lang.", "java.math.", "java.util."];

/// A namespace without its Java package.
pub(super) fn without_package(namespace: &str) -> &str {
    PACKAGES.iter().find_map(|package| namespace.strip_prefix(package)).unwrap_or(namespace)
}

/// Namespaces, and further members of those that the reference has.
pub(crate) const NAMESPACES: &[Namespace] = &[
    Namespace {
        names: &["cheshire.core", "cheshire", "clojure.data.json", "data.json"],
        members: Members::Named(JSON),
    },
    Namespace { names: &["json"], members: Members::Named(JSON) },
    Namespace { names: &["Math", "clojure.math", "math"], members: Members::Constants(NUMBERS) },
];

/// The functions of JSON libraries.
const JSON: &[(&str, &str)] = &[
    ("parse-string", "json/parse-string"),
    ("generate-string", "json/generate-string"),
    ("decode", "json/parse-string"),
    ("encode", "json/generate-string"),
];

const NUMBERS: &[(&str, Constant)] =
    &[("PI", Constant::Float(std::f64::consts::PI)), ("E", Constant::Float(std::f64::consts::E))];

/// Namespaces that stay out, and the way to their purpose.
const WAYS: &[(&str, &str)] = &[];

/// The way to the purpose of a namespace that does not exist.
pub(super) fn way(namespace: &str) -> Option<&'static str> {
    WAYS.iter().find(|(name, _)| *name == namespace).map(|(_, way)| *way)
}
