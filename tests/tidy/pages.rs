//! Pages for developers name only files that exist.

use super::none;
use super::source::Tree;

#[test]
fn pages_for_developers_name_files_that_exist() {
    let tree = Tree::project();
    let paths: Vec<&str> =
        tree.sources.iter().map(|source| &*source.path).chain(tree.data.iter().map(|data| &*data.path)).collect();
    let pages = tree.data.iter().filter(|data| matches!(&*data.path, "ARCHITECTURE.md" | "CONTRIBUTING.md"));
    none(pages.flat_map(|page| {
        let names = page
            .text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.strip_suffix(".rs").is_some_and(|stem| !stem.contains("NAME")));
        let missing =
            names.filter(|name| !paths.iter().any(|path| path.ends_with(&format!("/{name}")) || path == name));
        missing.map(|name| format!("{}: there is no file {name}", page.path)).collect::<Vec<_>>()
    }));
}
