#!/usr/bin/env bash
# Records the example sessions anew: runs every example agent against aimock, a mock server written by others, which
# streams the replies of recording/replies.json over HTTP. Needs npm once (tests/peers/install.sh). usage: sessions/record.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
cli=target/peers/node_modules/@copilotkit/aimock/dist/cli.js
[ -f "$cli" ] || tests/peers/install.sh
cargo build --quiet
node "$cli" --host 127.0.0.1 --port 4810 --fixtures "$here/recording" --log-level warn & server=$!
trap 'kill -9 "$server"' EXIT
until (exec 3<>/dev/tcp/127.0.0.1/4810) 2>/dev/null; do sleep 0.1; done
rm -f "$here"/*.jsonl
for agent in assets/agents/*.toml; do
  target/debug/ptc-workbench --config "$here/recording/config.toml" --sessions "$here" run "$agent" --model mock
done
rm -rf "$here/drafts"
