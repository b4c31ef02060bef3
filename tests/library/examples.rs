//! The documentation of the library: its programs, and the size of its documented part.

use std::fs;
use std::path::Path;

/// Doctests compile and run the programs of the page, so the programs of `examples/` work too.
#[test]
fn the_page_contains_each_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/library.md")).unwrap();
    let files = fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let programs: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect();
    assert!(programs.len() >= 5, "{programs:?}");
    for path in programs {
        let text = fs::read_to_string(&path).unwrap();
        let (_, program) = text.split_once("\n\n").unwrap();
        assert!(page.contains(&format!("\n{program}```\n")), "docs/library.md lacks {} as it is", path.display());
    }
}

#[test]
fn at_most_four_modules_are_documented() {
    let root = include_str!("../../src/lib.rs");
    let lines: Vec<&str> = root.lines().collect();
    let is_documented = |pair: &&[&str]| pair[1].starts_with("pub mod ") && pair[0] != "#[doc(hidden)]";
    let documented: Vec<&str> = lines.windows(2).filter(is_documented).map(|pair| pair[1]).collect();
    assert!((1..=4).contains(&documented.len()), "{documented:?}");
}
