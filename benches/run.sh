#!/bin/sh
# Speed beside CPython and the reference: builds the release binary, measures each program of benches/perf with
# `lisp bench` and with benches/cpython.py, and prints times, ratios and their geometric means.
#   benches/run.sh [PROGRAM...]     PTC=path/to/ptc-workbench uses a binary that is already built
set -eu
cd "$(dirname "$0")/.."
if [ -z "${PTC:-}" ]; then
    cargo build --release --bin ptc-workbench
    PTC="${CARGO_TARGET_DIR:-target}/release/ptc-workbench"
fi
export PTC
exec python3 benches/compare.py "$@"
