#!/usr/bin/env bash
# Makes the files that the scenes of `ptc-workbench screenshot` show beside the examples: runs by other models, forks, a matrix, marks.
# assets/scenes/record.sh [PROGRAM]; then `BLESS=1 cargo test pages` draws the pictures of the documentation again.
set -euo pipefail
cd "$(dirname "$0")"
program=$(realpath "${1:-../../target/release/ptc-workbench}")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME=$home XDG_CONFIG_HOME= XDG_DATA_HOME=
sessions=$home/.local/share/ptc-workbench/sessions
example=2026-11-22T00-00-18Z-a93239d7 # sentiment in json

# keep NAME: the session that was made last becomes NAME.jsonl.
keep() {
  cp "$(find "$sessions" -maxdepth 1 -name '20*.jsonl' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)" "$1.jsonl"
}

"$program" run sentiment --mode json --model sample:missing_field,every && exit 1
keep failed
"$program" run sentiment --mode json --model sample:provider_error
keep retried
"$program" run sentiment --mode ptc_lisp --model sample:slow
keep slow
python3 audit.py >"$home/audit.port" &
server=$!
while [ ! -s "$home/audit.port" ]; do sleep 0.1; done
printf '[providers.local]\nkind = "openai"\nbase_url = "http://127.0.0.1:%s/v1"\n[models.audit]\nprovider = "local"\nid = "scripted"\n' \
  "$(cat "$home/audit.port")" >"$home/audit-config.toml"
"$program" --config "$home/audit-config.toml" run audit.toml --model audit
kill "$server"
keep audit
"$program" run sentiment --mode json --model demo
keep both-json
"$program" run sentiment --mode ptc_lisp --model demo
keep both-lisp
"$program" fork $example --at r0/t2:reply --reply '{"sentiment": "neutral", "score": 0.55}' --model demo
keep fork-reply
"$program" sessions tag last +edited +review
"$program" sessions note last "What if the model were less sure?"
"$program" fork $example --at r0/t1:request --set text='It broke after a day.' --model sample
keep fork-context
cp "$sessions/marks.jsonl" marks.jsonl
"$program" compare sentiment --modes json,ptc_lisp,text --models demo,sample --trials 10 --jobs 1
cp "$sessions"/matrix/m-*.jsonl matrix.jsonl
