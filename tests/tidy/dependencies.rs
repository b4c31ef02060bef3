//! The rules of `deny.toml` that need no network: licences, duplicate versions, sources, forbidden packages.
//!
//! In: `deny.toml`, `Cargo.lock`, `cargo metadata`. Out: one test per rule. Advisories are the part of `cargo deny`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;
use toml::Table;

use super::none;

/// The only place that packages come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn read(name: &str) -> Table {
    let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// Returns the packages of `Cargo.lock` of any platform: name, version, and source of those that are not ours.
fn locked() -> Vec<(String, String, Option<String>)> {
    let text = |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let row = |package| (text(package, "name").unwrap(), text(package, "version").unwrap(), text(package, "source"));
    read("Cargo.lock")["package"].as_array().unwrap().iter().map(row).collect()
}

fn texts(list: &toml::Value) -> BTreeSet<&str> {
    list.as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

/// Returns the `crate` of each row of a list of tables.
fn crates(list: &toml::Value) -> BTreeSet<&str> {
    list.as_array().unwrap().iter().map(|row| row["crate"].as_str().unwrap()).collect()
}

/// Returns whether these licences satisfy an SPDX expression. `AND` binds tighter than `OR`; an old `/` is an `OR`.
fn is_satisfied(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "\u{0}");
    let words: Vec<String> =
        spaced.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('\0', " WITH ")).collect();
    let mut at = 0;
    let satisfied = any_of(&words, &mut at, allowed);
    assert_eq!(at, words.len(), "{expression}");
    satisfied
}

fn any_of(words: &[String], at: &mut usize, allowed: &BTreeSet<&str>) -> bool {
    let mut satisfied = all_of(words, at, allowed);
    while words.get(*at).is_some_and(|word| word == "OR") {
        *at += 1;
        satisfied |= all_of(words, at, allowed);
    }
    satisfied
}

fn all_of(words: &[String], at: &mut usize, allowed: &BTreeSet<&str>) -> bool {
    let mut satisfied = one(words, at, allowed);
    while words.get(*at).is_some_and(|word| word == "AND") {
        *at += 1;
        satisfied &= one(words, at, allowed);
    }
    satisfied
}

fn one(words: &[String], at: &mut usize, allowed: &BTreeSet<&str>) -> bool {
    let word = words[*at].as_str();
    *at += 1;
    if word != "(" {
        return allowed.contains(word);
    }
    let satisfied = any_of(words, at, allowed);
    assert_eq!(words[*at], ")");
    *at += 1;
    satisfied
}

#[test]
fn expressions_of_licences_are_read() {
    let allowed = BTreeSet::from(["MIT", "Apache-2.0 WITH LLVM-exception", "ISC"]);
    for expression in
        ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "MIT AND (GPL-3.0 OR ISC)", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(is_satisfied(expression, &allowed), "{expression}");
    }
    for expression in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "MIT AND (GPL-3.0 OR BSD-3-Clause)"] {
        assert!(!is_satisfied(expression, &allowed), "{expression}");
    }
}

#[test]
fn licences_of_dependencies_are_allowed() {
    let rules = read("deny.toml");
    let allowed = texts(&rules["licenses"]["allow"]);
    let exceptions: BTreeMap<&str, BTreeSet<&str>> = rules["licenses"]["exceptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["crate"].as_str().unwrap(), texts(&row["allow"])))
        .collect();
    // The packages of this platform are here, because this test was built; those of others may not be.
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let platform = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", platform])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    none(metadata["packages"].as_array().unwrap().iter().filter_map(|package| {
        let name = package["name"].as_str().unwrap();
        let Some(licence) = package["license"].as_str() else { return Some(format!("{name}: no licence")) };
        let mut allowed = allowed.clone();
        allowed.extend(exceptions.get(name).into_iter().flatten());
        (!is_satisfied(licence, &allowed)).then(|| format!("{name}: `{licence}` is not allowed by deny.toml"))
    }));
}

#[test]
fn dependencies_have_one_version_unless_listed() {
    let rules = read("deny.toml");
    let skipped = crates(&rules["bans"]["skip"]);
    let locked = locked();
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, version, _) in &locked {
        versions.entry(name).or_default().push(format!("{name}@{version}"));
    }
    let duplicates = versions.values().filter_map(|versions| {
        let unlisted: Vec<_> = versions.iter().filter(|version| !skipped.contains(version.as_str())).collect();
        (unlisted.len() > 1).then(|| format!("two versions of one package: {unlisted:?}; see `skip` of deny.toml"))
    });
    let stale = skipped.iter().filter(|skipped| {
        !versions.values().any(|versions| versions.len() > 1 && versions.iter().any(|version| version == **skipped))
    });
    none(
        duplicates
            .chain(stale.map(|skipped| format!("{skipped} is not a duplicate any more: remove it from deny.toml"))),
    );
}

#[test]
fn dependencies_come_from_the_registry_and_are_not_forbidden() {
    let rules = read("deny.toml");
    let forbidden = crates(&rules["bans"]["deny"]);
    none(locked().into_iter().filter_map(|(name, _, source)| {
        let is_foreign = source.is_some_and(|source| source != REGISTRY);
        (is_foreign || forbidden.contains(name.as_str())).then(|| format!("{name} is not allowed by deny.toml"))
    }));
}
