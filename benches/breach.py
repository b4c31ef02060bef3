"""How long after a limit a program ends: time beyond the deadline for endless work of many kinds, and the time that
memory, depth and step breaches take. Ends with 1 when a program takes longer than 50 ms beyond its deadline.

In: the binary in $PTC. Out: a table on stdout.
"""
import json
import os
import subprocess
import sys
import time

DEADLINE_MS = 200
MOST_MS = 50
# Starting the process and its threads.
START_MS = 20

ENDLESS = {
    "recursion of closures": "(defn f [n] (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (f 90)",
    "map over a range": "(map (fn [x] (reduce + (range 100000))) (range 1000000))",
    "nested for": "(for [x (range 100000) y (range 100000)] nil)",
    "sort with comparator": "(map (fn [_] (sort (fn [a b] (> a b)) (range 20000))) (range 100000))",
    "string building": '(reduce (fn [s i] (str s i)) "" (range 10000000))',
    "regex": '(map (fn [i] (re-find #"(a|b|ab)*c" (join (map (fn [_] "ab") (range 2000))))) (range 100000))',
    "big integers": "(reduce (fn [a i] (* a 1234567890123456789)) 1 (range 1000000))",
    "combinations": "(map (fn [_] (count (combinations (range 22) 6))) (range 1000))",
    "group-by": "(map (fn [_] (group-by identity (range 50000))) (range 100000))",
    "tree walk": "(map (fn [_] (postwalk identity [[1 2 [3 4]] (range 10000)])) (range 100000))",
    "json": '(map (fn [_] (json/parse-string (json/generate-string (range 20000)))) (range 100000))',
    "comparison": "(map (fn [_] (= (range 50000) (range 50000))) (range 1000000))",
}
BREACHES = {
    "memory: range": ("(vec (range 100000000))", "memory_exceeded"),
    "memory: doubling": ("(reduce (fn [v _] (into v v)) [1] (range 60))", "memory_exceeded"),
    "memory: text": ('(reduce (fn [s _] (str s s)) "xxxxxxxx" (range 60))', "memory_exceeded"),
    "depth": ("(defn f [n] (+ 1 (f n))) (f 1)", "memory_exceeded"),
    "jumps": ("(loop [] (recur))", "loop_limit_exceeded"),
}


def run(program, **options):
    case = json.dumps({"id": 1, "program": program, "opts": options})
    started = time.perf_counter()
    done = subprocess.run([os.environ["PTC"], "lisp", "batch"], input=case, capture_output=True, text=True, timeout=60)
    took = (time.perf_counter() - started) * 1e3
    return took, json.loads(done.stdout).get("reason", "no error") if done.stdout else "no answer"


def main():
    bad = []
    for name, program in ENDLESS.items():
        took, reason = run(program, timeout=DEADLINE_MS, max_memory_bytes=1_000_000_000)
        beyond = took - DEADLINE_MS - START_MS
        print(f"{name:28}{reason:22}{max(beyond, 0):8.0f} ms beyond the deadline")
        if beyond > MOST_MS:
            bad.append(name)
    for name, (program, expected) in BREACHES.items():
        took, reason = run(program, timeout=10_000)
        print(f"{name:28}{reason:22}{took:8.0f} ms in all")
        if reason != expected:
            bad.append(name)
    if bad:
        print("not as it must be: " + ", ".join(bad))
        sys.exit(1)


main()
