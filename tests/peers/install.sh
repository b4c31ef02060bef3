#!/usr/bin/env bash
# Brings the independent servers that some tests talk to into DIR (default target/peers): a mock of model services, and servers of
# tools. Needs npm, and python3 for one of them; installs nothing elsewhere.
# usage: tests/peers/install.sh [DIR]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${1:-$root/target/peers}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
servers=@modelcontextprotocol/server
npm install --prefix "$dir" --no-audit --no-fund --silent @copilotkit/aimock@1.43.0 \
  "$servers-everything@2026.8.31" "$servers-filesystem@2026.8.31" "$servers-memory@2026.8.31"
if [ ! -x "$dir/venv/bin/mcp-server-time" ]; then
  python3 -m venv "$dir/venv"
  "$dir/venv/bin/pip" -q install mcp-server-time==2026.10.19
fi
echo "installed in $dir"
