#!/usr/bin/env bash
# Five places of the program altered, one at a time, in a copy of the source: `replay --check` over the example sessions must find each.
# The copy is built once; the variable MUTATION says which place is altered. Usage: tests/replay/mutations.sh [FOLDER]
# (FOLDER: where the copy and its target directory go; without it a new one, removed at the end.)
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
rm -rf "$folder/source"
mkdir -p "$folder/source"
git ls-files -z | xargs -0 tar -c | tar -x -C "$folder/source"
cd "$folder/source"

# What a place becomes: NAME FILE OLD NEW. Each place must be there exactly once.
mutate() {
    local is="std::env::var(\"MUTATION\").is_ok_and(|name| name == \"$1\")"
    python3 - "$2" "$3" "${4//@/$is}" <<'PYTHON'
import sys
file, old, new = sys.argv[1:]
text = open(file).read()
assert text.count(old) == 1, f"{file}: {text.count(old)} times: {old}"
open(file, "w").write(text.replace(old, new))
PYTHON
}

# The language: `distinct` keeps what it has seen.
mutate language core/src/lisp/builtins/group.rs \
    'items.retain(|_| first.next().unwrap_or(true));' \
    'if !(@) { items.retain(|_| first.next().unwrap_or(true)); }'
# A prompt text: one letter of a heading.
mutate prompt src/prompt/json.rs \
    'vec![ours("task", "# Task\n\n")]' \
    'vec![ours("task", if @ { "# task\n\n" } else { "# Task\n\n" })]'
# A validation rule: a whole number is no number with a point.
mutate validation core/src/signature/check.rs \
    'Type::Float | Type::Number => matches!(value.kind(), Kind::Float | Kind::Int),' \
    'Type::Float | Type::Number => value.kind() == Kind::Float || (value.kind() == Kind::Int && !(@)),'
# Extraction: where a candidate ends.
mutate extraction src/engine/modes/verdict.rs \
    'span: candidate.map(|candidate| (candidate.span.start, candidate.span.end)),' \
    'span: candidate.map(|candidate| (candidate.span.start, candidate.span.end - usize::from(@))),'
# Feedback: one word.
mutate feedback src/prompt/json.rs \
    '"Your answer could not be used.\n\n"' \
    'if @ { "Your answer cannot be used.\n\n" } else { "Your answer could not be used.\n\n" }'

export CARGO_TARGET_DIR="$folder/target"
cargo build -q
program="$folder/target/debug/ptc-workbench"

# How many example sessions differ.
differing() {
    local count=0
    for session in "$here"/sessions/*.jsonl; do
        "$program" --sessions "$folder/none" replay "$session" --check >"$folder/said" 2>&1 || {
            [ $? -eq 3 ] || { cat "$folder/said"; exit 1; }
            [ "$count" -gt 0 ] || head -1 "$folder/said" >"$folder/first"
            count=$((count + 1))
        }
    done
    echo "$count"
}

[ "$(differing)" = 0 ] || { echo "the examples differ without a mutation"; exit 1; }
for name in language prompt validation extraction feedback; do
    export MUTATION=$name
    count=$(differing)
    [ "$count" -gt 0 ] || { echo "$name: not caught"; exit 1; }
    echo "$name: caught in $count of $(ls "$here"/sessions/*.jsonl | wc -l) sessions; $(cat "$folder/first")"
done
