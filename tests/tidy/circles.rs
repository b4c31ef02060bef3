//! Circles of imports: files that need each other, directly or through other files.
//!
//! In: the project's files. Out: tests that fail for a circle that is too large or spans folders. A name that a module
//! re-exports counts as an import of the file that declares it; a re-export alone is no import.

use std::collections::{BTreeMap, BTreeSet};

use super::none;
use super::source::{Source, Tree};

/// A circle in `core/src/lisp` has fewer files than this: code runs on a machine, and the machine holds code.
const LISP: &str = "core/src/lisp/";
const LISP_LIMIT: usize = 10;

#[test]
fn circles_of_imports_are_small_and_stay_in_one_folder() {
    let sources = &Tree::project().sources;
    let circles: Vec<Vec<&str>> = ["core/src/", "src/"].iter().flat_map(|root| circles(sources, root)).collect();
    none(circles.iter().filter_map(|files| wrong(files)));
}

/// Returns the error about a circle of imports; `None` for a permitted one.
fn wrong(files: &[&str]) -> Option<String> {
    let is_within = |folder: &str| files.iter().all(|file| file.starts_with(folder));
    if is_within(LISP) && files.len() >= LISP_LIMIT {
        return Some(format!("{} files import each other in a circle: {}", files.len(), files.join(", ")));
    }
    if is_in_one_folder(files) || is_within(LISP) {
        return None;
    }
    Some(format!("a circle of imports spans several folders: {}", files.join(", ")))
}

/// True if one folder holds all files; the file `a.rs` counts as a part of the folder `a`.
fn is_in_one_folder(files: &[&str]) -> bool {
    let folder_of = |file: &str| file.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let first = files.first().copied().unwrap_or_default();
    [folder_of(first), first.trim_end_matches(".rs").to_owned()]
        .iter()
        .any(|folder| files.iter().all(|file| folder_of(file) == *folder || file.strip_suffix(".rs") == Some(folder)))
}

/// The groups of files of one crate that import each other in a circle, tests excluded.
fn circles<'s>(sources: &'s [Source], root: &str) -> Vec<Vec<&'s str>> {
    components(&imports(sources, root)).into_iter().filter(|files| files.len() > 1).collect()
}

/// The files that each file of a crate imports from.
fn imports<'s>(sources: &'s [Source], root: &str) -> BTreeMap<&'s str, BTreeSet<&'s str>> {
    let files = sources.iter().filter(|source| source.path.starts_with(root) && !source.is_test(0));
    let modules = files.map(|source| (module_path(&source.path[root.len()..]), Module::new(source))).collect();
    let all = Modules(modules);
    all.0.iter().map(|(path, module)| (module.source.path.as_str(), all.targets(path, module))).collect()
}

/// The path of a file's module: `value/json/mod.rs` is `value::json`.
fn module_path(file: &str) -> Vec<String> {
    let mut segments: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if segments.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        segments.pop();
    }
    segments
}

struct Module<'s> {
    source: &'s Source,
    /// Names of the items that the file declares, modules excluded.
    items: BTreeSet<&'s str>,
    /// The paths of the names that it imports.
    imports: BTreeMap<String, Vec<String>>,
    /// Paths of modules of which it imports everything.
    globs: Vec<Vec<String>>,
}

impl<'s> Module<'s> {
    fn new(source: &'s Source) -> Self {
        let mut module = Self { source, items: items(source), imports: BTreeMap::new(), globs: Vec::new() };
        for (at, path, name) in source.imports() {
            match name {
                _ if source.is_test(at) => {}
                Some(name) => _ = module.imports.insert(name, path),
                None => module.globs.push(path),
            }
        }
        module
    }
}

/// The names of the items at the top level of a file, tests and modules excluded.
fn items(source: &Source) -> BTreeSet<&str> {
    let keywords = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
    let mut depth = 0_usize;
    let mut names = BTreeSet::new();
    let mut previous = "";
    for (at, word) in source.words() {
        match word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ if depth == 0 && keywords.contains(&previous) && !source.is_test(at) => _ = names.insert(word),
            _ => {}
        }
        previous = word;
    }
    names
}

/// The modules of one crate by their paths.
struct Modules<'s>(BTreeMap<Vec<String>, Module<'s>>);

impl<'s> Modules<'s> {
    /// The other files that the paths and imported names of a module lead to.
    fn targets(&self, own: &[String], module: &Module<'s>) -> BTreeSet<&'s str> {
        let source = module.source;
        let exports = source.re_exports();
        let is_export = |at: usize| exports.iter().any(|range| range.contains(&at));
        let paths = source.paths().into_iter().filter(|(at, _)| !is_export(*at)).map(|(_, path)| path);
        let words = source.words().filter(|(at, _)| !is_export(*at) && !source.is_test(*at)).map(|(_, word)| word);
        let names: BTreeSet<&str> = words.filter(|word| module.imports.contains_key(*word)).collect();
        let names = names.into_iter().map(|name| vec![name.to_owned()]);
        let found = paths.chain(names).filter_map(|path| self.resolve(own, &path, 0));
        found.filter(|file| *file != source.path).collect()
    }

    /// The file that declares the item that a path in a module names; `None` for whole modules and other crates.
    fn resolve(&self, own: &[String], path: &[String], depth: usize) -> Option<&'s str> {
        let up = path.iter().take_while(|segment| *segment == "super").count();
        let (from, path) = match path.first()?.as_str() {
            "crate" => (&own[..0], &path[1..]),
            "self" => (own, &path[1..]),
            _ => (own.get(..own.len().checked_sub(up)?)?, &path[up..]),
        };
        self.member(from, path, depth)
    }

    /// The same for a path that begins with a member of a module.
    fn member(&self, from: &[String], path: &[String], depth: usize) -> Option<&'s str> {
        let (first, rest) = path.split_first()?;
        let module = self.0.get(from)?;
        // Imports that name each other in a circle are not valid Rust: only text that was misread is as deep as this.
        if depth > 20 {
            return None;
        }
        if module.items.contains(first.as_str()) {
            return Some(&module.source.path);
        }
        let child = [from, std::slice::from_ref(first)].concat();
        if self.0.contains_key(&child) {
            return self.member(&child, rest, depth + 1);
        }
        if let Some(import) = module.imports.get(first) {
            return self.resolve(from, &[import, rest].concat(), depth + 1);
        }
        module.globs.iter().find_map(|glob| self.resolve(from, &[glob, path].concat(), depth + 1))
    }
}

/// The strongly connected components of a graph.
fn components<'s>(graph: &BTreeMap<&'s str, BTreeSet<&'s str>>) -> Vec<Vec<&'s str>> {
    let files: Vec<&str> = graph.keys().copied().collect();
    let number = |file: &&str| files.binary_search(file).ok();
    let edges: Vec<Vec<usize>> = graph.values().map(|targets| targets.iter().filter_map(number).collect()).collect();
    let reached: Vec<Vec<bool>> = (0..files.len()).map(|from| reach(&edges, from)).collect();
    let mut placed = vec![false; files.len()];
    let mut components = Vec::new();
    for file in 0..files.len() {
        if !placed[file] {
            let is_member = |other: &usize| *other == file || reached[file][*other] && reached[*other][file];
            let members: Vec<usize> = (0..files.len()).filter(is_member).collect();
            for member in &members {
                placed[*member] = true;
            }
            components.push(members.into_iter().map(|member| files[member]).collect());
        }
    }
    components
}

/// Marks the files that a file imports, directly or through others.
fn reach(edges: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut pending = edges[from].clone();
    while let Some(file) = pending.pop() {
        if !std::mem::replace(&mut reached[file], true) {
            pending.extend(&edges[file]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::{circles, is_in_one_folder, wrong};
    use crate::tidy::source::Tree;

    #[test]
    fn re_exports_are_followed_to_the_file_that_declares_the_name() {
        let files = [
            ("src/lib.rs", "mod a;\nmod b;"),
            ("src/a/mod.rs", "mod one;\nmod two;\npub use one::{One, Other as Named};\npub use two::*;"),
            ("src/a/one.rs", "use super::Two;\npub struct One;\npub enum Other { Two(&'static Two) }"),
            ("src/a/two.rs", "pub struct Two;\nimpl Two { fn one() -> crate::b::Again { todo() } }"),
            ("src/b.rs", "pub(crate) use crate::a::Named as Again;"),
            ("src/c.rs", "use crate::a;\nfn f() { a::One }\n#[cfg(test)]\nmod tests { use crate::d::D; }"),
            ("src/d.rs", "use super::c::f;\npub struct D;"),
        ];
        let tree = Tree::of(files.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!(circles(&tree.sources, "src/"), [["src/a/one.rs", "src/a/two.rs"]]);
    }

    #[test]
    fn a_circle_may_fill_one_folder_and_a_small_part_of_the_language() {
        assert!(is_in_one_folder(&["src/a/b.rs", "src/a/mod.rs"]) && is_in_one_folder(&["src/a.rs", "src/a/b.rs"]));
        assert!(!is_in_one_folder(&["src/a/b.rs", "src/a/c/d.rs"]) && !is_in_one_folder(&["src/a/b.rs", "src/c.rs"]));
        assert_eq!(wrong(&["src/a/b.rs", "src/a/c.rs"]), None);
        assert_eq!(
            wrong(&["src/a/b.rs", "src/c/d.rs"]).as_deref(),
            Some("a circle of imports spans several folders: src/a/b.rs, src/c/d.rs")
        );
        let lisp = ["core/src/lisp/a/b.rs", "core/src/lisp/c.rs"].repeat(5);
        assert_eq!(wrong(&lisp[..9]), None);
        assert!(wrong(&lisp).is_some_and(|finding| finding.starts_with("10 files import each other in a circle")));
    }
}
