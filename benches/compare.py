"""Ours, CPython and the reference side by side.

In: programs' names (all without), the binary in $PTC. Out: a table on stdout: program, ours, CPython, CPython/ours,
reference, reference/ours (milliseconds; the fastest run of each, as in BASELINE.md).
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PERF = HERE / "perf"


def data(name):
    table = "rows500" if "500" in name else "rows10k" if "10k" in name or name.startswith("l1") else None
    return ["--context", f"@{PERF / table}.json"] if table else []


def reference():
    rows = re.findall(r"^\| (\w+)[^|]*\| ([\d.]+) \|", (PERF / "BASELINE.md").read_text(), re.MULTILINE)
    return {name: float(figure) for name, figure in rows}


def ours(name):
    command = [os.environ["PTC"], "lisp", "bench", str(PERF / f"{name}.clj"), "--json", *data(name)]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}


def cpython(name):
    done = subprocess.run([sys.executable, str(HERE / "cpython.py"), name], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def main():
    names = sys.argv[1:] or sorted(path.stem for path in PERF.glob("*.clj"))
    known = reference()
    to_cpython, to_reference = [], []
    print(f"{'program':26}{'ours':>10}{'cpython':>10}{'ratio':>8}{'reference':>11}{'ratio':>8}")
    for name in names:
        mine = ours(name)
        if "error" in mine:
            print(f"{name:26}{mine['error'].splitlines()[0]}")
            continue
        mine, other = mine["min_ms"], cpython(name)["min_ms"]
        to_cpython.append(other / mine)
        line = f"{name:26}{mine:10.4f}{other:10.4f}{other / mine:8.2f}"
        if name in known:
            to_reference.append(known[name] / mine)
            line += f"{known[name]:11.3f}{known[name] / mine:8.1f}"
        print(line, flush=True)
    print(f"{'geometric mean':26}{'':20}{mean(to_cpython):8.2f}{'':11}{mean(to_reference):8.1f}")


main()
