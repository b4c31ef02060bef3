//! The project's files as the tidy rules see them: code apart from comments and literals, tests apart from the rest.
//!
//! In: a folder, or text given a path. Out: [`Source`]s and [`Data`] files. It reads Rust only as far as the rules need.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

/// A Rust file.
pub(super) struct Source {
    /// Path from the root of the project, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// The text with comments and the insides of literals blanked out; lines and offsets are those of the text.
    pub(super) code: String,
    /// The text with everything but comments blanked out.
    pub(super) comments: String,
    /// Byte ranges that are compiled for tests only.
    tests: Vec<Range<usize>>,
}

/// Any other text file.
pub(super) struct Data {
    pub(super) path: String,
    pub(super) text: String,
}

/// The files of the project.
pub(super) struct Tree {
    pub(super) sources: Vec<Source>,
    pub(super) data: Vec<Data>,
}

impl Tree {
    /// The project's files, sorted by path; build output and version control are left out.
    pub(super) fn project() -> &'static Self {
        static PROJECT: LazyLock<Tree> = LazyLock::new(|| {
            let mut files = Vec::new();
            walk(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut files);
            files.sort();
            Tree::of(files)
        });
        &PROJECT
    }

    /// The tree of these files (path and text).
    pub(super) fn of(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let (rust, other): (Vec<_>, Vec<_>) = files
            .into_iter()
            .partition(|(path, _)| Path::new(path).extension().is_some_and(|extension| extension == "rs"));
        let mut sources: Vec<Source> = rust.into_iter().map(|(path, text)| Source::new(path, text)).collect();
        let test_modules: Vec<String> = sources.iter().flat_map(Source::test_modules).collect();
        for source in &mut sources {
            let folder =
                |name: &str| source.path.starts_with(&format!("{name}/")) || source.path.contains(&format!("/{name}/"));
            let module =
                |stem: &String| source.path == format!("{stem}.rs") || source.path.starts_with(&format!("{stem}/"));
            if folder("tests") || folder("benches") || test_modules.iter().any(module) {
                source.tests.clear();
                source.tests.push(0..source.text.len());
            }
        }
        let data = other.into_iter().map(|(path, text)| Data { path, text }).collect();
        Self { sources, data }
    }
}

fn walk(folder: &Path, path: &str, files: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if name != "target" && name != ".git" {
                walk(&entry.path(), &below, files);
            }
        } else if name != ".git"
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push((below, text));
        }
    }
}

impl Source {
    pub(super) fn new(path: String, text: String) -> Self {
        let (code, comments) = separate(&text);
        let tests = test_items(&code);
        Self { path, text, code, comments, tests }
    }

    /// Returns whether the byte at `offset` is compiled for tests only.
    pub(super) fn is_test(&self, offset: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&offset))
    }

    /// The 1-based line of a byte, after the path: `src/lib.rs:3`.
    pub(super) fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.path, self.code[..offset].matches('\n').count() + 1)
    }

    /// The parts of the text that are compiled for tests only.
    pub(super) fn test_text(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|range| &self.text[range.clone()])
    }

    /// Returns the offsets of `needle` in code outside of tests.
    pub(super) fn find<'s>(&'s self, needle: &'s str) -> impl Iterator<Item = usize> + 's {
        self.code.match_indices(needle).map(|(offset, _)| offset).filter(|offset| !self.is_test(*offset))
    }

    /// All paths of two or more segments in code outside of tests, groups expanded, and where each ends.
    pub(super) fn paths(&self) -> Vec<(usize, Vec<String>)> {
        let mut paths = Vec::new();
        let mut at = 0;
        while let Some(offset) = self.code[at..].find(is_name_start) {
            at += offset;
            let continued = self.code[..at].ends_with("::") || self.code[..at].ends_with(is_name);
            at = if continued { name_end(&self.code, at) } else { path_tree(&self.code, at, &[], &mut paths) };
        }
        paths.retain(|(offset, segments)| segments.len() > 1 && !self.is_test(*offset));
        paths
    }

    /// The imported names: offset of the declaration, path, and the name in this file (`None` for `*`).
    pub(super) fn imports(&self) -> Vec<(usize, Vec<String>, Option<String>)> {
        let mut imports = Vec::new();
        for (start, _) in self.code.match_indices("use ") {
            let end = self.code[start..].find(';').map_or(self.code.len(), |length| start + length);
            if !self.code[..start].ends_with(is_name) {
                import_tree(self.code[start + 4..end].trim(), &[], start, &mut imports);
            }
        }
        imports
    }

    /// The byte ranges of re-exports (`pub use`, `pub(crate) use`).
    pub(super) fn re_exports(&self) -> Vec<Range<usize>> {
        let starts = self.code.match_indices("use ").map(|(start, _)| start).filter(|start| {
            let before = self.code[..*start].trim_end();
            before.ends_with("pub") || before.ends_with(')')
        });
        starts
            .map(|start| start..self.code[start..].find(';').map_or(self.code.len(), |length| start + length))
            .collect()
    }

    /// The words and braces of the code with their offsets; lifetimes keep their `'`.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let offset = self.code[at..].find(|c| is_name(c) || matches!(c, '{' | '}' | '\''))?;
            let start = at + offset;
            at = name_end(&self.code, start + 1).max(start + 1);
            Some((start, &self.code[start..at]))
        })
    }

    /// The files (without `.rs`) of modules that this file declares for tests only.
    fn test_modules(&self) -> Vec<String> {
        let folder = match self.path.rsplit_once('/') {
            Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder,
            _ => self.path.trim_end_matches(".rs"),
        };
        let items = test_items(&self.code);
        let names = items.iter().filter_map(|item| self.code[item.clone()].strip_suffix(';')?.rsplit_once("mod "));
        names.map(|(_, name)| format!("{folder}/{}", name.trim())).collect()
    }
}

/// The items marked `#[cfg(test)]`: from the attribute to the closing brace or semicolon.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mark = "#[cfg(test)]";
    code.match_indices(mark)
        .map(|(start, _)| start..start + mark.len() + item_length(&code[start + mark.len()..]))
        .collect()
}

fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && c == '}' {
                    return offset + 1;
                }
            }
            ';' if depth == 0 => return offset + 1,
            _ => {}
        }
    }
    code.len()
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn name_end(code: &str, at: usize) -> usize {
    code[at..].find(|c| !is_name(c)).map_or(code.len(), |length| at + length)
}

fn skip_space(code: &str, at: usize) -> usize {
    code.len() - code[at..].trim_start().len()
}

/// Reads a path or a tree of paths at `at`; answers where it ends.
fn path_tree(code: &str, at: usize, prefix: &[String], paths: &mut Vec<(usize, Vec<String>)>) -> usize {
    let mut segments = prefix.to_vec();
    let mut at = at;
    loop {
        let end = name_end(code, at);
        segments.push(code[at..end].to_owned());
        let Some(rest) = code[end..].strip_prefix("::") else {
            paths.push((at, segments));
            return end;
        };
        let next = skip_space(code, code.len() - rest.len());
        if code[next..].starts_with('{') {
            return group(code, next + 1, &segments, paths);
        }
        if !code[next..].starts_with(is_name_start) {
            paths.push((at, segments));
            return next;
        }
        at = next;
    }
}

/// Reads the members of a group up to its closing brace.
fn group(code: &str, at: usize, prefix: &[String], paths: &mut Vec<(usize, Vec<String>)>) -> usize {
    let mut at = skip_space(code, at);
    while at < code.len() && !code[at..].starts_with('}') {
        at = if code[at..].starts_with(is_name_start) {
            path_tree(code, at, prefix, paths)
        } else {
            at + code[at..].chars().next().map_or(1, char::len_utf8)
        };
        // A new name for a member (`as`) is not a path.
        at = skip_space(code, at);
        if let Some(name) = code[at..].strip_prefix("as ") {
            at = name_end(code, code.len() - name.len());
        }
        at = skip_space(code, at);
    }
    (at + 1).min(code.len())
}

/// Reads one member of a `use` declaration: a path, a group, or everything of a module.
fn import_tree(text: &str, prefix: &[String], at: usize, imports: &mut Vec<(usize, Vec<String>, Option<String>)>) {
    if let Some((path, group)) = text.split_once('{') {
        let segments = path.split("::").map(|segment| segment.trim().to_owned()).filter(|segment| !segment.is_empty());
        let prefix: Vec<String> = prefix.iter().cloned().chain(segments).collect();
        for member in members(group.trim_end().trim_end_matches('}')) {
            import_tree(member.trim(), &prefix, at, imports);
        }
        return;
    }
    let (path, name) = text.split_once(" as ").map_or((text, None), |(path, name)| (path, Some(name)));
    let segments = path.split("::").map(|segment| segment.trim().to_owned()).filter(|segment| !segment.is_empty());
    let mut path: Vec<String> = prefix.iter().cloned().chain(segments).collect();
    match path.last().map(String::as_str) {
        None => return,
        Some("*") => {
            path.pop();
            imports.push((at, path, None));
            return;
        }
        Some("self") => _ = path.pop(),
        Some(_) => {}
    }
    let name = name.map_or_else(|| path.last().cloned().unwrap_or_default(), |name| name.trim().to_owned());
    imports.push((at, path, Some(name)));
}

/// The members of a group, inner groups whole.
fn members(group: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    group
        .split(|c| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .collect()
}

/// Splits a text into code and comments of the same length; literals are blank in both, but for their quotes.
fn separate(text: &str) -> (String, String) {
    let mut code = String::with_capacity(text.len());
    let mut comments = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let comment = comment_length(rest);
        let literal = if comment == 0 && !text[..at].ends_with(is_name) { literal_length(rest) } else { 0 };
        let length = if comment + literal > 0 { comment + literal } else { plain_length(rest) };
        let part = &rest[..length];
        if comment + literal > 0 {
            push_blank(&mut code, part);
        } else {
            code.push_str(part);
        }
        if comment > 0 {
            comments.push_str(part);
        } else {
            push_blank(&mut comments, part);
        }
        at += length;
    }
    (code, comments)
}

/// The length of the code that starts here, up to the next place where a comment or a literal may start: a word, or what is between words.
fn plain_length(rest: &str) -> usize {
    let first = rest.chars().next().map_or(1, char::len_utf8);
    if rest.starts_with(is_name) {
        return name_end(rest, first);
    }
    let end = rest[first..].find(|c| is_name(c) || matches!(c, '/' | '"' | '\''));
    end.map_or(rest.len(), |length| first + length)
}

fn push_blank(out: &mut String, part: &str) {
    for (number, line) in part.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        out.push_str(&" ".repeat(line.len()));
    }
}

fn comment_length(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if !rest.starts_with("/*") {
        return 0;
    }
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let (step, change) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth += change;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of the string or character literal that starts here, 0 when none does (a lifetime is none).
fn literal_length(rest: &str) -> usize {
    let body = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - body.len();
    if prefix > 1 {
        return 0;
    }
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let Some(inside) = raw[hashes..].strip_prefix('"') else { return 0 };
        let end = format!("\"{}", "#".repeat(hashes));
        return inside.find(&end).map_or(rest.len(), |length| rest.len() - inside.len() + length + end.len());
    }
    if let Some(inside) = body.strip_prefix('"') {
        return prefix + 1 + quoted_length(inside, '"');
    }
    let Some(inside) = body.strip_prefix('\'') else { return 0 };
    let mut chars = inside.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => prefix + 1 + quoted_length(inside, '\''),
        (Some(c), Some('\'')) => prefix + 2 + c.len_utf8(),
        _ => 0,
    }
}

/// Bytes up to and including the closing quote.
fn quoted_length(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (offset, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return offset + 1,
            _ => {}
        }
    }
    inside.len()
}

#[cfg(test)]
mod tests {
    use super::{Source, Tree};

    fn source(text: &str) -> Source {
        let tree = Tree::of([("src/a.rs".to_owned(), text.to_owned())]);
        tree.sources.into_iter().next().expect("one source")
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        let text =
            "a // b \"\n/* c /* d */ e */ f(\"g \\\" // h\", r#\"i \"j\"#, b'k', '\\'', '\"') && l::<'m>(n) //! o\n";
        let source = source(text);
        let words: Vec<&str> =
            source.code.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        assert_eq!(words, ["a", "f", "l", "m", "n"]);
        let words: Vec<&str> =
            source.comments.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        assert_eq!(words, ["b", "c", "d", "e", "o"]);
        assert_eq!((source.code.len(), source.comments.len()), (text.len(), text.len()));
    }

    #[test]
    fn groups_of_paths_are_expanded() {
        let source = source(
            "use crate::{a, b::{self, C as D, e::*}, f};\nfn g() { std::fs::read(h) + <T as i::J>::k::<l::M>() }",
        );
        let paths: Vec<String> = source.paths().iter().map(|(_, segments)| segments.join("::")).collect();
        let expected =
            ["crate::a", "crate::b::self", "crate::b::C", "crate::b::e", "crate::f", "std::fs::read", "i::J", "l::M"];
        assert_eq!(paths, expected);
        let (offset, _) = source.paths()[5];
        assert_eq!(source.place(offset), "src/a.rs:2");
    }

    #[test]
    fn what_is_compiled_for_tests_only_is_known() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { c::d() }\n}\n#[cfg(test)]\nmod spec;\nfn e() { f::g() }\n";
        let file = |path: &str| (path.to_owned(), text.to_owned());
        let tree =
            Tree::of(["src/a.rs", "src/a/spec.rs", "src/a/tests/x.rs", "src/b/mod.rs", "src/b/spec/y.rs"].map(file));
        let paths = |place: usize| tree.sources[place].paths().len();
        assert_eq!([0, 1, 2, 3, 4].map(paths), [1, 0, 0, 1, 0]);
    }
}
