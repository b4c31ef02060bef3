#!/usr/bin/env bash
# Makes the files that the scenes of `ptc-workbench screenshot` show beside the examples: two forks, a matrix, marks.
# assets/scenes/record.sh [PROGRAM]; then `BLESS=1 cargo test pages` draws the pictures of the documentation again.
set -euo pipefail
cd "$(dirname "$0")"
program=$(realpath "${1:-../../target/release/ptc-workbench}")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME=$home XDG_CONFIG_HOME= XDG_DATA_HOME=
sessions=$home/.local/share/ptc-workbench/sessions
example=2026-11-22T00-00-18Z-a93239d7 # sentiment in json

newest() { find "$sessions" -maxdepth 1 -name '20*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2; }

"$program" fork $example --at r0/t2:reply --reply '{"sentiment": "neutral", "score": 0.55}' --model demo
cp "$(newest)" fork-reply.jsonl
"$program" sessions tag last +edited +review
"$program" sessions note last "What if the model were less sure?"
"$program" fork $example --at r0/t1:request --set text='It broke after a day.' --model sample
cp "$(newest)" fork-context.jsonl
cp "$sessions/marks.jsonl" marks.jsonl
"$program" compare sentiment --modes json,ptc_lisp,text --models demo,sample --trials 10 --jobs 1
cp "$sessions"/matrix/m-*.jsonl matrix.jsonl
