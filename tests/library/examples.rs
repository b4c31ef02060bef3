//! The programs of `examples/`: the page about the library contains each of them, where doctests compile and run them.

use std::fs;
use std::path::Path;

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
