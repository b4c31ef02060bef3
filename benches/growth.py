"""How time grows with the data: each task at 1,000, 10,000 and 100,000 items, and the factor from each size to the next.
About 10 is linear; n log n gives 12 to 13. Ends with 1 when a factor from 10,000 to 100,000 is above 25.

In: the binary in $PTC. Out: a table on stdout.
"""
import json
import os
import subprocess
import sys
import tempfile

SIZES = (1_000, 10_000, 100_000)
MOST = 25

TASKS = {
    "filter": "(count (filter odd? (range {n})))",
    "map": "(count (map inc (range {n})))",
    "group-by": "(count (group-by (fn [x] (mod x 100)) (range {n})))",
    "group-by, many groups": "(count (group-by identity (range {n})))",
    "frequencies": "(count (frequencies (map (fn [x] (mod x 100)) (range {n}))))",
    "into vector": "(count (into [] (range {n})))",
    "into map": "(count (into {{}} (map (fn [x] [x x]) (range {n}))))",
    "into set": "(count (into #{{}} (range {n})))",
    "reduce conj": "(count (reduce (fn [v x] (conj v x)) [] (range {n})))",
    "reduce assoc": "(count (reduce (fn [m x] (assoc m x x)) {{}} (range {n})))",
    "reduce assoc, strings": '(count (reduce (fn [m x] (assoc m (str "k" x) x)) {{}} (range {n})))',
    "reduce update": "(count (reduce (fn [m x] (update m (mod x 100) (fnil inc 0))) {{}} (range {n})))",
    "loop conj": "(count (loop [i 0 v []] (if (< i {n}) (recur (inc i) (conj v i)) v)))",
    "loop assoc": "(count (loop [i 0 m {{}}] (if (< i {n}) (recur (inc i) (assoc m i i)) m)))",
    "for": "(count (for [x (range {n})] x))",
    "distinct": "(count (distinct (range {n})))",
    "sort": "(count (sort (map (fn [x] (mod (* x 7919) 100003)) (range {n}))))",
    "join and split": '(count (split (join "," (map str (range {n}))) ","))',
    "partition": "(count (partition 10 (range {n})))",
    "first of rest": "(loop [v (vec (range {n})) s 0] (if (empty? v) s (recur (rest v) (+ s (first v)))))",
}


def milliseconds(program):
    with tempfile.NamedTemporaryFile("w", suffix=".clj") as file:
        file.write(program)
        file.flush()
        command = [os.environ["PTC"], "lisp", "bench", file.name, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout)["min_ms"] if done.returncode == 0 else None


def main():
    bad = []
    print(f"{'task':24}" + "".join(f"{size:>12,}" for size in SIZES) + f"{'factors':>16}")
    for task, program in TASKS.items():
        times = [milliseconds(program.format(n=size)) for size in SIZES]
        if None in times:
            print(f"{task:24}breaks")
            bad.append(task)
            continue
        factors = [after / before for before, after in zip(times, times[1:])]
        print(f"{task:24}" + "".join(f"{time:12.3f}" for time in times) + "".join(f"{factor:8.1f}" for factor in factors))
        if factors[-1] > MOST:
            bad.append(task)
    if bad:
        print("more than linear: " + ", ".join(bad))
        sys.exit(1)


main()
