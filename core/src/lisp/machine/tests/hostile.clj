;; Programs that try to run for ever, to eat all memory or to fall off the stack, and how each must end.
;; A block: `;; reason or value | words of the message | options`, then the program.
;; `timeout` means steps in the tests, which have no clock, and time in the benchmark.

;; memory_exceeded | 10000
(defn f [n] (+ 1 (f n))) (f 1)

;; 9998
(defn f [n] (if (= n 0) 0 (+ 1 (f (dec n))))) (f 9998)

;; memory_exceeded | 10000
(defn f [n] (if (= n 0) 0 (+ 1 (f (dec n))))) (f 10001)

;; memory_exceeded | 10000
(defn f [n] (first (map f [n]))) (f 1)

;; memory_exceeded | 10000
(defn f [n] (reduce (fn [a x] (f x)) 0 [n n])) (f 1)

;; memory_exceeded | 10000
(defn f [n] (first (sort-by f [n 2]))) (f 1)

;; memory_exceeded | 10000
(defn f [a b] (first (sort f [a b]))) (f 1 2)

;; memory_exceeded | 10000
(defn f [m] (update-in m [:a] (fn [x] (f m)))) (f {:a 1})

;; memory_exceeded | 10000
(defn f [m] (update m :a (fn [x] (f m)))) (f {:a 1})

;; memory_exceeded | 10000
(defn f [x] ((juxt f f) x)) (f 1)

;; memory_exceeded | 10000
(defn f [x] ((comp f inc) x)) (f 1)

;; memory_exceeded | 10000
(defn f [x] ((partial f) x)) (f 1)

;; memory_exceeded | 10000
(defn f [x] (apply f [x])) (f 1)

;; memory_exceeded | 10000
(defn f [x] (tree-seq (fn [y] (f y)) identity [x])) (f 1)

;; memory_exceeded | 10000
(defn f [x] (postwalk f [x])) (f 1)

;; memory_exceeded | 10000
(defn f [x] (prewalk (fn [y] [y]) x)) (def g (fn [x] (walk g identity [x]))) (g 1)

;; memory_exceeded | 10000
(defn f [s] (replace s #"a" f)) (f "a")

;; memory_exceeded | 10000
(defn f [x] (filter f [x])) (f 1)

;; memory_exceeded | 10000
(defn f [x] (group-by f [x])) (f 1)

;; memory_exceeded | 10000
(defn f [x] (mapcat f [x])) (f 1)

;; memory_exceeded | 10000
(defn f [x] (some f [x])) (f 1)

;; memory_exceeded | 10000
(defn f [x] (for [y [x]] (f y))) (f 1)

;; memory_exceeded | 10000
(defn f [x] (doseq [y [x]] (f y))) (f 1)

;; memory_exceeded
(defn f [x] (first (pmap f [x]))) (f 1)

;; memory_exceeded | 10000
(defn f [x] (let [[a [b {:keys [c]}]] [1 [2 {:c x}]]] (if a (when b (cond c (+ 1 (f c))))))) (f 1)

;; memory_exceeded
(defn f [n] [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[(f n)]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]) (f 1)

;; memory_exceeded
(def f (reduce (fn [f i] (fn [x] (inc (f x)))) inc (range 50000))) (f 1)

;; memory_exceeded
(def f (reduce (fn [f i] (comp inc f)) inc (range 50000))) (f 1)

;; memory_exceeded
(def f (reduce (fn [f i] (partial f)) inc (range 50000))) (f 1)

;; true
(let [f (reduce (fn [f i] (fn [] f)) inc (range 50000))] (= f f))

;; true
(let [f (reduce (fn [f i] (comp f)) inc (range 50000))] (string? (str f [f] #{f})))

;; 1
(count (reduce (fn [v i] [v]) [] (range 50000)))

;; true
(let [d (fn [] (reduce (fn [v i] [v]) [] (range 25000)))] (= (d) (d)))

;; 1
(let [d (fn [] (reduce (fn [v i] [v]) [] (range 30000)))] (count (frequencies [(d) (d)])))

;; 1
(let [d (fn [] (reduce (fn [v i] #{v}) #{} (range 20000)))] (count (set [(d) (d)])))

;; 1
(let [d (fn [] (reduce (fn [v i] {v v}) {} (range 20000)))] (count (set [(d) (d)])))

;; 2
(let [d (fn [] (reduce (fn [v i] [v]) [] (range 30000)))] (count (sort [(d) (d)])))

;; runtime_error | deeper than 512 levels
(let [d (reduce (fn [v i] {:a v}) {} (range 50000))] (string? (str d)))

;; nil
(let [d (reduce (fn [v i] {"a" v}) {} (range 50000))] (json/generate-string d))

;; 20001
(count (tree-seq vector? identity (reduce (fn [v i] [v]) [] (range 20000))))

;; 0
(count (flatten (reduce (fn [v i] [v]) [] (range 50000))))

;; 1
(do (describe (reduce (fn [v i] [v]) [] (range 50000))) 1)

;; 1
(count (postwalk identity (reduce (fn [v i] [v]) [] (range 50000))))

;; memory_exceeded | 10000000
(println (reduce (fn [v i] [v v]) [] (range 60)))

;; memory_exceeded | 10000000
(str (reduce (fn [v i] [v v]) [] (range 60)))

;; memory_exceeded | 10000000
(pr-str (reduce (fn [v i] {:a v :b v}) {} (range 60)))

;; memory_exceeded | 10000000
(json/generate-string (reduce (fn [v i] [v v]) [] (range 60)))

;; memory_exceeded | 10000000
(format "%s" (reduce (fn [v i] [v v]) [] (range 60)))

;; memory_exceeded | 10000000
(join "," [(reduce (fn [v i] [v v]) [] (range 60))])

;; true
(let [d (fn [] (reduce (fn [v i] [v v]) [] (range 60)))] (= (d) (d)))

;; 0
(let [d (fn [] (reduce (fn [v i] [v v]) [] (range 60)))] (compare (d) (d)))

;; 1
(let [d (fn [] (reduce (fn [v i] [v v]) [] (range 60)))] (count (frequencies [(d) (d)])))

;; 1
(let [d (fn [] (reduce (fn [v i] {v v}) {} (range 60)))] (count (group-by identity [(d) (d)])))

;; 1
(do (describe (reduce (fn [v i] [v v]) [] (range 60))) 1)

;; memory_exceeded | 10000000
(reduce (fn [v i] [v v]) [] (range 60))

;; memory_exceeded | 10000000
(return (reduce (fn [v i] {:a v :b v}) {} (range 60)))

;; memory_exceeded | 10000000
(fail (reduce (fn [v i] [v v]) [] (range 60)))

;; memory_exceeded | 10000000
(def kept (reduce (fn [v i] [v v]) [] (range 60))) 1

;; memory_exceeded | 10000000
(let [s (apply str (repeat 100000 "x"))] (repeat 1000 s))

;; memory_exceeded | 10000000
(tool/echo {:a (reduce (fn [v i] [v v]) [] (range 60))})

;; memory_exceeded | 10000000
(tool/echo {(reduce (fn [v i] [v v]) [] (range 60)) 1})

;; memory_exceeded | 10000000
(task "id" (reduce (fn [v i] [v v]) [] (range 60))) 1

;; pmap_error
(pmap (fn [_] (fail (reduce (fn [v i] [v v]) [] (range 60)))) [1])

;; timeout | | {"max_steps": 400000}
(count (flatten (reduce (fn [v i] [v v]) [[]] (range 60))))

;; memory_exceeded | 10000000
(postwalk identity (reduce (fn [v i] [v v]) [] (range 60)))

;; memory_exceeded | 10000000
(tree-seq vector? identity (reduce (fn [v i] [v v]) [] (range 60)))

;; loop_limit_exceeded | 1000
(loop [i 0] (recur (inc i)))

;; loop_limit_exceeded | 1000
((fn [n] (recur n)) 1)

;; timeout | | {"max_steps": 400000, "loop_limit": 10000}
(defn spin [] (loop [i 0] (if (< i 9999) (recur (inc i)) i))) (doseq [a (range 100000)] (spin))

;; timeout | | {"max_steps": 400000}
(defn f [n] (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (f 90)

;; timeout | | {"max_steps": 400000}
(doseq [a (range 10000) b (range 10000)] (+ a b))

;; timeout | | {"max_steps": 400000}
(defn twice [n] (if (< n 40) (do (twice (inc n)) (twice (inc n))))) (twice 0)

;; memory_exceeded | 10000000
(range 1000000000000)

;; memory_exceeded
(range 0 1e18 0.5)

;; memory_exceeded
(range 0 100000000000000000000000000000 1)

;; memory_exceeded
(range 1e16 1.1e16 1e-5)

;; memory_exceeded | 10000000
(repeat 1000000000000 1)

;; memory_exceeded | 10000000
(vec (repeat 9223372036854775807 nil))

;; memory_exceeded | 10000000
(combinations (range 40) 20)

;; memory_exceeded | 10000000
(partition 5000 1 (range 10000))

;; memory_exceeded | 10000000
(partition-all 5000 1 (range 10000))

;; memory_exceeded | 10000000
(let [x (range 100000)] (interleave x x x x x x x x))

;; memory_exceeded | 10000000
(interpose 1 (range 400000))

;; memory_exceeded | 10000000
(for [a (range 5000) b (range 5000)] [a b])

;; memory_exceeded | 10000000
(reduce (fn [v _] (concat v v)) [1] (range 60))

;; memory_exceeded | 10000000
(reduce (fn [v _] (into v v)) [1] (range 60))

;; memory_exceeded | 10000000
(reduce (fn [v _] (mapcat (fn [x] [x x]) v)) [1] (range 60))

;; memory_exceeded | 10000000
(reduce (fn [v _] (flatten [v v])) [1] (range 60))

;; memory_exceeded | 10000000
(reductions conj [] (range 10000))

;; memory_exceeded | 10000000
(reductions (fn [m i] (assoc m i i)) {} (range 10000))

;; memory_exceeded | 10000000
(reductions (fn [s i] (conj s i)) #{} (range 10000))

;; memory_exceeded | 10000000
(reduce (fn [m i] (assoc m i (range 10))) {} (range 1000000))

;; memory_exceeded | 10000000
(zipmap (range 200000) (map vector (range 200000)))

;; memory_exceeded | 10000000
(assoc-in {} (range 400000) 1)

;; memory_exceeded | 10000000
(reduce (fn [s _] (str s s)) "xxxxxxxx" (range 60))

;; memory_exceeded | 10000000
(apply str (repeat 600000 "0123456789012345678901234567890123456789"))

;; memory_exceeded | 10000000
(join (apply str (repeat 100000 "x")) (range 1000))

;; memory_exceeded | 10000000
(let [s (apply str (repeat 100000 "x"))] (replace s "" s))

;; memory_exceeded | 10000000
(let [s (apply str (repeat 100000 "x"))] (replace s "x" s))

;; memory_exceeded | 10000000
(let [s (apply str (repeat 30000 "x"))] (replace s #"x" s))

;; memory_exceeded | 10000000
(let [s (apply str (repeat 30000 "x"))] (replace s #"x" (fn [m] s)))

;; memory_exceeded
(format "%999999999d" 1)

;; memory_exceeded
(format "%99999999999999999999999s" 1)

;; memory_exceeded
(format "%.999999999f" 1.5)

;; memory_exceeded | 10000000
(seq (apply str (repeat 1000 (apply str (repeat 1000 "xy")))))

;; memory_exceeded | 10000000
(set (apply str (repeat 1000 (apply str (repeat 1000 "xy")))))

;; memory_exceeded | 10000000
(join "," (apply str (repeat 1000 (apply str (repeat 1000 "xy")))))

;; memory_exceeded | 10000000
(split (apply str (repeat 1000 (apply str (repeat 1000 "xy")))) "")

;; {"x" 1000000 "y" 1000000}
(frequencies (apply str (repeat 1000 (apply str (repeat 1000 "xy")))))

;; memory_exceeded | 10000000
(map identity (apply str (repeat 1000 (apply str (repeat 1000 "xy")))))

;; memory_exceeded | 10000000
(pmap identity (apply str (repeat 1000 (apply str (repeat 1000 "xy")))))

;; memory_exceeded | 10000000
(re-seq #"." (apply str (repeat 1000 (apply str (repeat 1000 "xy"))))) (split (apply str (repeat 1000 (apply str (repeat 1000 "x,")))) ",")

;; memory_exceeded | bits
(reduce (fn [a i] (* a a)) 3 (range 60))

;; memory_exceeded | bits
(reduce (fn [a i] (* a 1234567890123456789)) 1 (range 100000))

;; memory_exceeded | bits
(bit-shift-left 1 100000000000)

;; memory_exceeded | bits
(reduce * (range 1 100000))

;; memory_exceeded
(let [s (apply str (repeat 60 "9999999999999999999999999999999999999999999"))] (reduce (fn [a i] (* a a)) (parse-long "999999999999999999") (range 60)))

;; timeout | | {"max_steps": 400000}
(let [b (bit-shift-left 1 200000)] (doseq [i (range 100000)] (str b)))

;; timeout | | {"max_steps": 400000}
(let [b (dec (bit-shift-left 1 140000))] (doseq [i (range 50000)] (quot (* b b) 12345678901234567890123)))

;; timeout | | {"max_steps": 400000}
(let [b (dec (bit-shift-left 1 200000))] (doseq [i (range 50000)] (format "%d %x" b b)))

;; timeout | | {"max_steps": 400000}
(let [b (dec (bit-shift-left 1 200000))] (map (fn [i] (sum (repeat 1000 b))) (range 100000)))

;; timeout | | {"max_steps": 400000}
(let [b (dec (bit-shift-left 1 200000))] (doseq [i (range 50000)] (/ b 3)))

;; timeout | | {"max_steps": 400000}
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 50000)] (bit-not b) (inc b) (dec b) (- b) (abs (- b)) (bit-flip b 5)))

;; timeout | | {"max_steps": 400000}
(let [b (dec (bit-shift-left 1 200000))] (doseq [i (range 50000)] (bit-shift-right b 1) (bit-test b 7) (bit-and b 1) (bit-set b 100)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 50000 "9"))] (doseq [i (range 50000)] (parse-long s) (parse-double s)))

;; timeout | | {"max_steps": 400000}
(let [s (str (bit-shift-left 1 200000))] (doseq [i (range 50000)] (json/parse-string s)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 1000 (apply str (repeat 1000 "xy"))))] (doseq [i (range 50000)] (upper-case s) (count s)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 800 (apply str (repeat 1000 "é"))))] (doseq [i (range 50000)] (lower-case s) (count s)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 800 (apply str (repeat 1000 "é"))))] (doseq [i (range 50000)] (subs s 5 20) (index-of s "x") (last-index-of s "x") (reverse "ab")))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 800 (apply str (repeat 1000 "é"))))] (doseq [i (range 50000)] (last s) (first s) (nth s 700000) (trim s) (blank? s) (capitalize s)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 2000 (apply str (repeat 1000 " "))))] (doseq [i (range 50000)] (trim s) (blank? s) (starts-with? s "x") (includes? s "xx")))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 1000 (apply str (repeat 1000 "a")))) t (str (subs s 1) "b")] (doseq [i (range 50000)] (= s t) (compare s t) (< s t)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 1000 (apply str (repeat 1000 "a")))) t (str (subs s 1) "a") m {(str (subs s 1) "b") 1 s 2}] (doseq [i (range 50000)] (get m t) (contains? m t)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 1000 (apply str (repeat 1000 "a")))) t (str (subs s 1) "b") xs (flatten (repeat 10000 [s t]))] (doseq [i (range 50000)] (frequencies xs)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 1000 (apply str (repeat 1000 "a")))) t (str (subs s 1) "b") xs (flatten (repeat 10000 [s t]))] (doseq [i (range 50000)] (set xs) (distinct xs) (group-by identity xs)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) xs (mapcat (fn [i] [a b]) (range 5000))] (doseq [i (range 50000)] (frequencies xs)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) xs (mapcat (fn [i] [a b]) (range 5000))] (doseq [i (range 50000)] (group-by identity xs)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) xs (mapcat (fn [i] [a b]) (range 5000))] (doseq [i (range 50000)] (set xs) (union #{a} #{b}) (distinct xs)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) m {a 1 b 2}] (doseq [i (range 50000)] (get m a) (contains? m b) (m a) (assoc m a 2) (dissoc m b)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) xs (mapcat (fn [i] [a b]) (range 5000))] (doseq [i (range 50000)] (apply max xs) (max-by identity xs) (apply max-key identity xs)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) s #{a b} xs (mapcat (fn [i] [a b]) (range 5000))] (doseq [i (range 50000)] (filter s xs) (dedupe xs) (partition-by identity xs) (some s xs)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) xs (mapcat (fn [i] [a b]) (range 5000))] (doseq [i (range 50000)] (sort xs) (sort-by identity xs) (zipmap xs xs) (into #{} xs)))

;; timeout | | {"max_steps": 400000}
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1)] (doseq [i (range 50000)] (replace {a 1} [a b a b a b]) (every? (fn [x] (= a b)) [1 2 3])))

;; timeout | | {"max_steps": 400000}
(let [xs (range 100000)] (doseq [i (range 50000)] (sort (fn [a b] (> a b)) xs)))

;; timeout | | {"max_steps": 400000}
(sort (fn [a b] (reduce + (range 1000)) (< a b)) (range 100000))

;; timeout | | {"max_steps": 400000}
(sort-by (fn [a] (reduce + (range 1000))) (range 100000))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 100000)] (sort (map (fn [x] (mod (* x 7919) 100003)) (range 100000))))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 100000)] (set (map (fn [x] (mod (* x 7919) 100003)) (range 100000))))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 100000)] (set (map (fn [x] [(mod (* x 7919) 100003)]) (range 60000))))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 100000)] (difference (set (range 100000)) (set (range 50000 150000))) (intersection (set (range 100000)) (set (range 50000 150000))))

;; type_error | 100000
(let [s (apply str (repeat 16000 "ab"))] (doseq [i (range 100000)] (re-find #"(a|b|ab)*c" s)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 32000 "a"))] (doseq [i (range 100000)] (re-seq #"a*a*a*b" s)))

;; type_error | 100000
(let [s (apply str (repeat 32000 "a"))] (doseq [i (range 100000)] (re-matches #"(a*)*\1b" s)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 32000 "a"))] (doseq [i (range 100000)] (re-seq #"(?=a)" s) (split s #"") (replace s #"a" "b")))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 50000)] (json/parse-string (json/generate-string (range 50000))))

;; timeout | | {"max_steps": 400000}
(let [s (str "[" (join "," (repeat 30000 "[]")) "]")] (doseq [i (range 50000)] (json/parse-string s)))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 100000)] (describe (map (fn [i] {:a i :b (str i)}) (range 10000))))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 100000)] (count (combinations (range 22) 3)))

;; memory_exceeded | 10000000
(doseq [i (range 1000000)] (println "line" i))

;; memory_exceeded | 10000000
(map (fn [i] (tool/echo {:a i})) (range 1000000))

;; tool_call_limit_exceeded | 5 | {"max_tool_calls": 5}
(doseq [i (range 10)] (tool/echo {:i i}))

;; symbol_limit_exceeded | 10000
(map (fn [i] (keyword (str "k" i))) (range 50000))

;; memory_exceeded
(pmap (fn [_] (pmap (fn [_] (pmap (fn [_] (vec (range 100000))) (range 10))) (range 10))) (range 10))

;; memory_exceeded
(pmap (fn [_] (reduce (fn [v x] (conj v (str x "0123456789"))) [] (range 400000))) (range 8))

;; timeout | | {"max_steps": 400000}
(pmap (fn [i] (if (= i 3) (doseq [a (range 100000) b (range 100000)] a) i)) (range 8))

;; timeout | | {"max_steps": 400000}
(pcalls (fn [] 1) (fn [] (doseq [a (range 100000) b (range 100000)] a)))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 50000)] (pmap inc (range 100)))

;; timeout | | {"max_steps": 400000}
(pmap (fn [i] (pmap (fn [j] (pmap (fn [k] (reduce + (range 1000))) (range 10))) (range 20))) (range 20))

;; memory_exceeded
(reduce (fn [e i] [e (pmap identity (range 1000))]) [] (range 1000))

;; memory_exceeded | 10000000
(reduce (fn [m i] (merge m {i [i]})) {} (range 1000000))

;; memory_exceeded | 10000000
(def a []) (doseq [i (range 1000000)] (def a (conj a [i])))

;; timeout | | {"max_steps": 400000}
(def a {}) (doseq [i (range 50000)] (def a (assoc a (mod i 60000) 1)) a)

;; timeout | | {"max_steps": 400000}
(let [m (zipmap (range 50000) (range 50000))] (doseq [i (range 50000)] (assoc m i 1)))

;; timeout | | {"max_steps": 400000}
(let [m (zipmap (range 30000) (range 30000))] (doseq [i (range 50000)] (merge m m) (update-vals m inc) (select-keys m (keys m)) (vals m)))

;; timeout | | {"max_steps": 400000}
(let [s (set (range 150000))] (doseq [i (range 50000)] (disj s i) (conj s -1)))

;; timeout | | {"max_steps": 400000}
(let [v (vec (range 150000))] (doseq [i (range 50000)] (assoc v 5 1) (conj v 1) (rest v) (butlast v)))

;; timeout | | {"max_steps": 400000}
(let [v (vec (range 150000))] (doseq [i (range 50000)] (let [[a & r] v] (count r))))

;; timeout | | {"max_steps": 400000}
(defn f [& xs] (count xs)) (let [v (vec (range 100000))] (doseq [i (range 50000)] (apply f v) (apply + v) (apply vector v)))

;; program_too_large | 100 | {"max_program_bytes": 100}
"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

;; symbol_limit_exceeded | 3 | {"max_symbols": 3}
[:a :b :c :d]

;; parse_error | 64
[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]

;; parse_error | 100
99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999

;; program_too_large | 512
(-> 1 inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc)

;; 501
(-> 1 inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc inc)

;; memory_exceeded
(defn f [n] (-> n f (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1) (+ 1))) (f 1)

;; timeout | | {"max_steps": 400000}
(let [b (bit-shift-left 1 299998)] (doseq [i (range 100000)] (str b)))

;; timeout | | {"max_steps": 400000}
(let [b (bit-shift-left 1 149990)] (doseq [i (range 100000)] (* b b)))

;; timeout | | {"max_steps": 400000}
(let [b (dec (bit-shift-left 1 290000)) c (dec (bit-shift-left 1 145000))] (doseq [i (range 100000)] (quot b c) (mod b c)))

;; timeout | | {"max_steps": 400000}
(let [s (apply str (repeat 90000 "9"))] (doseq [i (range 100000)] (parse-long s) (json/parse-string s)))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 50000)] (re-pattern (str "(?i)[\\pL" i "]")))

;; timeout | | {"max_steps": 400000}
(doseq [i (range 50000)] (extract (str "([\\pL\\pN].){300}" i) "text"))

;; runtime_error | too large
(re-pattern "([\\pL\\pN].){9000}")

;; runtime_error | regex
(re-pattern "(?:(?:(?:){999999}){999999}){999999}")

;; memory_exceeded | more than 10^19 bytes
(reduce (fn [a i] [a a]) [1] (range 80))

;; timeout | steps | {"max_steps": 20000}
(defn f [n] (if (> n 14) 1 (do (pmap (fn [_] (f (inc n))) [1 2 3]) 1))) (f 0)

;; timeout | steps | {"max_steps": 20000}
(defn f [n] (if (> n 25) 1 (do (pcalls (fn [] (f (inc n))) (fn [] (f (inc n)))) 1))) (f 0)

;; timeout | steps | {"max_steps": 20000}
(defn f [n] (if (> n 25) 1 (do (pmap f (map (fn [_] (inc n)) [1 2])) 1))) (f 0)

;; memory_exceeded | 10000
(defn f [n] (try (f n) (catch Throwable e (f n)))) (f 1)

;; memory_exceeded | memory limit
(let [a (atom [])] (loop [] (swap! a conj (vec (range 10000))) (recur)))

;; loop_limit_exceeded | 1000
(while true (try (throw (ex-info "x" {})) (catch Exception e nil)))

;; runtime_error | contains itself
(let [a (atom nil) b (atom [a])] (reset! a [b]) a)

;; memory_exceeded | printed
(let [a (atom [1])] (dotimes [i 60] (swap! a (fn [v] [v v]))) a)

;; memory_exceeded | memory limit
(let [a (atom [1])] (dotimes [i 60] (swap! a (fn [v] [v v]))) (println a))

;; memory_exceeded | memory limit
(let [a (atom [1])] (dotimes [i 60] (swap! a (fn [v] [v v]))) (str a))

;; memory_exceeded | 10000
(letfn [(f [n] (g n)) (g [n] (inc (f n)))] (f 1))

;; memory_exceeded | 10000
(defmulti f identity) (defmethod f :default [n] (inc (f n))) (f 1)
