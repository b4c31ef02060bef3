"""The work of the programs in benches/perf, written as one would in Python, and its time.

In: `cpython.py [NAME...]`. Out: JSON lines {"program", "min_ms", "median_ms", "runs"} on stdout. What is measured includes
compiling the text each time, as `lisp bench` measures a full run; the data is loaded before.
"""
import json
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).parent / "perf"
BUDGET_S = 0.8
LEAST_RUNS = 5

PIPELINE = """
kept = [r for r in rows if r["active"] and r["salary"] > 50000]
groups = {}
for r in kept:
    groups.setdefault(r["dept"], []).append(r)
out = [
    {"dept": d, "n": len(rs), "total": sum(r["salary"] for r in rs), "top": sorted(rs, key=lambda r: -r["salary"])[0]}
    for d, rs in groups.items()
]
out.sort(key=lambda m: -m["total"])
result = [[m["dept"], m["n"], m["total"], m["top"]["name"]] for m in out]
"""

FIB = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
result = fib(%d)
"""


def steps():
    """40-odd functions and calls, the shape of the program of 200 lines."""
    text = (HERE / "e1_program_200_lines.clj").read_text()
    parts = []
    for i in range(text.count("(defn step")):
        parts.append(
            f"""
def step{i}(row, factor):
    base = row["amount"] * factor
    bonus = 50 if base > 1000 else {i + 1} if base > 100 else 0
    return {{**row, "total": base + bonus, "label": "s{i}-" + str(row["id"]) + "-" + str(len(row["tags"]))}}
out{i} = [r["label"] for r in [step{i}(r, 2) for r in [{{"id": {i}, "amount": {5 + 10 * i}, "tags": ["a", "b"]}}]] if r["total"] > 10]
"""
        )
    return "".join(parts) + "result = 0\n"


PROGRAMS = {
    "a1_reduce_map_range_10k": "result = sum(map(lambda x: x + 1, range(10000)))",
    "a2_reduce_map_range_100k": "result = sum(map(lambda x: x + 1, range(100000)))",
    "a3_reduce_closure_10k": """
acc = 0
for x in filter(lambda x: x % 2, map(lambda x: x + 1, range(10000))):
    acc = (lambda a, x: a + x * x)(acc, x)
result = acc
""",
    "b1_pipeline_10k_rows": PIPELINE,
    "b2_pipeline_500_rows": PIPELINE,
    "b3_sort_by_10k_rows": 'result = [r["id"] for r in sorted(rows, key=lambda r: -r["salary"])[:5]]',
    "c1_loop_999": """
i = acc = 0
while i < 999:
    i, acc = i + 1, acc + i
result = acc
""",
    "c2_loop_100x999": """
def once(_):
    i = acc = 0
    while i < 999:
        i, acc = i + 1, acc + i
    return acc
result = sum(map(once, range(100)))
""",
    "d1_fib15": FIB % 15,
    "d2_fib20": FIB % 20,
    "e1_program_200_lines": steps(),
    "f1_string_build_regex": r"""
words = [f"item-{i}:{i * 7}" for i in range(500)]
s = ",".join(words)
result = [
    len(s),
    len(re.findall(r"\d+", s[:2000])),
    sum(int(w.split(":")[1]) for w in s.split(",")),
    len([w for w in words if re.search(r"-1\d*:", w)]),
    s.replace("item", "X")[:20].upper(),
]
""",
    "g1_for_destructure": "result = len([[x, y, x * y] for x in range(100) for y in range(100) if (x + y) % 2])",
    "h1_build_map_reduce": """
m = {}
for i in range(5000):
    m.setdefault(i % 97, []).append(i)
result = len(m)
""",
    "i1_nested_update_in": """
m = {}
for i in range(2000):
    inner = m.setdefault("a", {}).setdefault("x" if i % 2 == 0 else "y", {})
    inner["n"] = inner.get("n", 0) + 1
result = m["a"]["x"]["n"]
""",
    "j1_tiny": "result = 1 + 2",
    "j2_let_tiny": """
x = 5
y = x * 2
result = {"y": y, "xs": [1, 2, 3]} if y > 5 else None
""",
    "k1_sieve": """
def is_prime(n):
    return all(n % d != 0 for d in range(2, int(n ** 0.5) + 1))
result = len([n for n in range(2, 2000) if is_prime(n)])
""",
    "l1_frequencies_words": """
counts = {}
for r in rows:
    key = str(r["dept"]) + "/" + str(r.get("city") or "")
    counts[key] = counts.get(key, 0) + 1
result = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]
""",
    "m1_matrix_mult_30": """
n = 30
a = [[i + j for j in range(n)] for i in range(n)]
b = [[i - j for j in range(n)] for i in range(n)]
bt = [[row[j] for row in b] for j in range(n)]
result = sum(sum(x * y for x, y in zip(row, col)) for row in a for col in bt)
""",
}


def measure(code, names):
    def once():
        started = time.perf_counter()
        exec(compile(code, "program", "exec"), dict(names))
        return time.perf_counter() - started

    for _ in range(3):
        once()
    times = []
    started = time.perf_counter()
    while len(times) < LEAST_RUNS or time.perf_counter() - started < BUDGET_S:
        times.append(once())
    times.sort()
    return {"min_ms": times[0] * 1e3, "median_ms": times[len(times) // 2] * 1e3, "runs": len(times)}


def main():
    tables = {name: json.loads((HERE / f"{name}.json").read_text())["rows"] for name in ("rows500", "rows10k")}
    for name, code in PROGRAMS.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        rows = tables["rows500" if "500" in name else "rows10k"]
        print(json.dumps({"program": name, **measure(code, {"rows": rows, "re": re})}), flush=True)


main()
