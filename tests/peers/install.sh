#!/usr/bin/env bash
# Brings the independent servers that some tests talk to into DIR (default target/peers). Needs npm; installs nothing elsewhere.
# usage: tests/peers/install.sh [DIR]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${1:-$root/target/peers}
mkdir -p "$dir"
npm install --prefix "$dir" --no-audit --no-fund --silent @copilotkit/aimock@1.43.0
echo "installed in $dir"
