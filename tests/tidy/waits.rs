//! Loops that poll pause between two polls.

use super::none;
use super::source::Tree;

#[test]
fn nothing_waits_in_a_loop_without_a_pause() {
    let spins = [["thread::yield", "now"], ["spin", "loop"]].map(|parts| parts.join("_"));
    none(Tree::project().sources.iter().flat_map(|source| {
        let lines = source.text.lines().enumerate();
        let found = lines.filter(|(_, line)| spins.iter().any(|spin| line.contains(spin)));
        found
            .map(|(at, _)| format!("{}:{}: polls without a pause: sleep for `crate::POLL`", source.path, at + 1))
            .collect::<Vec<_>>()
    }));
}
