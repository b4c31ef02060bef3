#!/usr/bin/env bash
# Records the example sessions anew. usage: sessions/record.sh [replies [NAME] | server | accept]
#   replies  what recording/replies/NAME[.MODE].txt says, given to the model `human` on standard input; needs nothing else;
#            with NAME only the sessions of this example
#   server   `sentiment` and `extract` in mode json against aimock, a mock server written by others, which streams the replies
#            of recording/replies.json over HTTP; needs npm once (tests/peers/install.sh)
#   accept   the recorded inputs of each example, with everything that is computed from them computed again
# Without an argument: both. BIN names another build of the program than the one that is made here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
if [ -z "${BIN:-}" ]; then
  cargo build --quiet
  BIN=target/debug/ptc-workbench
fi
fresh=$(mktemp -d)
server=
trap 'rm -rf "$fresh"; [ -z "$server" ] || kill -9 "$server"' EXIT

# keep NUMBER NAME: the only session in $fresh becomes an example, under an id (and its time) that stays the same.
keep() {
  local id
  id=2026-11-22T00-$(printf '%02d-%02d' $(($1 / 60)) $(($1 % 60)))Z-$(printf '%s' "$2" | sha256sum | head -c 8)
  sed -e "1s/\"id\":\"[^\"]*\"/\"id\":\"$id\"/" -e "1s/\"created_ms\":[0-9]*/\"created_ms\":$((1795305600 + $1))000/" \
    "$fresh"/*.jsonl >"$here/$id.jsonl"
  rm -rf "${fresh:?}"/*
  echo "$id $2"
}

from_replies() {
  local number=20 file name mode
  for file in "$here"/recording/replies/*.txt; do
    name=$(basename "$file" .txt)
    if [ -n "${1:-}" ] && [ "${name%%.*}" != "$1" ]; then
      number=$((number + 1))
      continue
    fi
    mode=()
    source=assets/pipelines/$name.toml
    if [ ! -f "$source" ]; then
      source=assets/agents/${name%.*}.toml
      mode=(--mode "${name##*.}")
    fi
    "$BIN" --sessions "$fresh" run "$source" "${mode[@]}" --model human <"$file" >/dev/null 2>"$fresh/told" ||
      { cat "$fresh/told"; echo "$name failed"; exit 1; }
    keep "$number" "$name"
    number=$((number + 1))
  done
}

from_server() {
  local cli=target/peers/node_modules/@copilotkit/aimock/dist/cli.js number=17 name
  [ -f "$cli" ] || tests/peers/install.sh
  node "$cli" --host 127.0.0.1 --port 4810 --fixtures "$here/recording" --log-level warn & server=$!
  until (exec 3<>/dev/tcp/127.0.0.1/4810) 2>/dev/null; do sleep 0.1; done
  for name in extract sentiment; do
    "$BIN" --config "$here/recording/config.toml" --sessions "$fresh" run "assets/agents/$name.toml" --mode json --model mock
    keep "$number" "$name.json"
    number=$((number + 1))
  done
}

from_inputs() {
  local file
  for file in "$here"/*.jsonl; do
    # Without a difference there is nothing to accept.
    sed -e '0,/"totals":{"turns":1/s/"totals":{"turns":1/"totals":{"turns":9/' "$file" >"$fresh.changed"
    "$BIN" --sessions "$fresh" replay "$fresh.changed" --accept >/dev/null
    { head -1 "$file"; tail -n +2 "$fresh"/*.jsonl; } >"$fresh.accepted"
    mv "$fresh.accepted" "$file"
    rm -rf "${fresh:?}"/* "$fresh.changed"
  done
}

case ${1:-both} in
  accept) from_inputs ;;
  replies | server) "from_$1" "${2:-}" ;;
  both) rm -f "$here"/*.jsonl && from_replies && from_server ;;
  *) sed -n '2,8s/^# *//p' "$0" >&2 && exit 2 ;;
esac
