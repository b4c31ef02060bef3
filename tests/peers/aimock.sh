#!/usr/bin/env bash
# Runs aimock, a mock of model APIs written by others, with this project's fixtures, on loopback; the API begins at /v1.
# The last user message picks the answer: see fixtures/*.json. It ends after SECONDS,
# or, attached, when its standard input closes: then it cannot outlive a test.
# usage: tests/peers/aimock.sh PORT [SECONDS=300|attached]    env PEERS = the folder given to install.sh, FIXTURES = other fixtures
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
peers=${PEERS:-$here/../../target/peers}
cli=$peers/node_modules/@copilotkit/aimock/dist/cli.js
[ -f "$cli" ] || { echo "aimock is not installed: run $here/install.sh" >&2; exit 2; }
run=(node "$cli" --host 127.0.0.1 --port "$1" --fixtures "${FIXTURES:-$here/fixtures}" --log-level warn)
if [ "${2:-}" = attached ]; then
  "${run[@]}" </dev/null & server=$!
  trap 'kill -9 "$server"' EXIT # asked politely, it would wait for idle connections
  cat >/dev/null
else
  exec timeout "${2:-300}" "${run[@]}"
fi
