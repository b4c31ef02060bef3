;; Programs whose time goes into one call of one builtin, each within the benchmark's memory: a stop must end them in the
;; middle of that call. A block: `;; the builtin`, then the program.

;; sort
(let [xs (map (fn [x] (mod (* x 7919) 1000003)) (range 200000))] (sort xs))

;; sort, texts
(let [xs (map (fn [x] (str "item number " (mod (* x 7919) 1000003))) (range 80000))] (sort xs))

;; sort, rows
(let [xs (map (fn [x] {:a (mod (* x 7919) 1000003) :b [x]}) (range 60000))] (sort compare xs))

;; sort with a comparator
(sort (fn [a b] (> a b)) (map (fn [x] (mod (* x 7919) 1000003)) (range 60000)))

;; sort-by
(sort-by (fn [x] (mod (* x 7919) 1000003)) (range 200000))

;; sort-by with a comparator
(sort-by (fn [x] (mod (* x 7919) 1000003)) (fn [a b] (> a b)) (range 60000))

;; range
(count (vec (range 1200000)))

;; range of fractions
(count (range 0 600000 0.5))

;; reduce
(reduce + (range 4000000))

;; map and filter
(count (filter odd? (map inc (range 1200000))))

;; re-find
(let [s (apply str (repeat 16000 "ab"))] (doseq [i (range 100)] (re-find #"(?:a|b|ab)*?c" s)))

;; re-find that goes back far
(let [s (apply str (repeat 32000 "a"))] (doseq [i (range 100)] (re-seq #"a*?a*?b" s)))

;; re-seq
(let [s (apply str (repeat 16000 "a "))] (doseq [i (range 100)] (re-seq #"\p{L}" s)))

;; replace with a regex
(let [s (apply str (repeat 16000 "a "))] (doseq [i (range 100)] (replace s #"(\w)\s" "$1$1")))

;; replace with a function
(let [s (apply str (repeat 16000 "a "))] (doseq [i (range 100)] (replace s #"\w" (fn [m] (str m m)))))

;; replace of a text
(let [s (apply str (repeat 2000000 "ab"))] (replace s "b" "xyz"))

;; re-pattern
(doseq [i (range 100000)] (re-pattern (str "[\\pL" i "]" "([\\pL\\pN].){4000}" i)))

;; re-pattern, any case
(doseq [i (range 100000)] (re-pattern (str "(?i)" (apply str (map (fn [n] (str "[\\pL" (subs "abcdefghijklmnopqrstuvwxyzABCDEFGH" n (inc n)) "]")) (range 34))) i)))

;; re-pattern, nothing many times
(doseq [i (range 100000)] (re-pattern (str i "(?:(?:(?:){999999}){999999}){999999}")))

;; re-pattern, sets of sets
(doseq [i (range 100000)] (re-pattern (str i "[\\pL&&[\\w&&[^\\pN&&[\\pL--[\\w~~[\\s\\S&&[\\pL&&[\\w&&[^\\pN&&[\\pL&&[\\w&&[\\s\\S]]]]]]]]]]]]")))

;; str of many
(apply str (range 800000))

;; str of something large
(str (vec (range 600000)))

;; join
(join ", " (range 800000))

;; join, long texts
(let [s (apply str (repeat 100000 "é"))] (join s (range 1500)))

;; split
(split (apply str (repeat 600000 "a,")) ",")

;; split by a regex
(let [s (apply str (repeat 16000 "a "))] (doseq [i (range 100)] (split s #"\s")))

;; split into lines
(split-lines (apply str (repeat 600000 "a\n")))

;; json/parse-string
(json/parse-string (str "[" (join "," (repeat 400000 "{\"a\":1}")) "]"))

;; json/parse-string, a long text
(json/parse-string (str "\"" (apply str (repeat 2000000 "a\\n")) "\""))

;; json/generate-string
(json/generate-string (map (fn [i] {:a i :b [i "x"]}) (range 120000)))

;; json/generate-string, a long text
(json/generate-string (apply str (repeat 2000000 "a\n")))

;; group-by, few groups
(group-by (fn [x] (mod x 7)) (range 800000))

;; group-by, many groups
(group-by identity (map (fn [x] (mod (* x 7919) 1000003)) (range 200000)))

;; group-by, groups of texts
(group-by (fn [x] (str "number " x)) (range 80000))

;; frequencies
(frequencies (map (fn [x] (mod (* x 7919) 1000003)) (range 200000)))

;; frequencies of characters
(frequencies (apply str (repeat 1200000 "xyz")))

;; distinct
(distinct (map (fn [x] (mod (* x 7919) 1000003)) (range 200000)))

;; distinct-by
(distinct-by (fn [x] [x]) (range 120000))

;; dedupe of long lists
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) xs (mapcat (fn [i] [a b]) (range 5000))] (dedupe xs))

;; filter by a set of long lists
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) s #{a b} xs (mapcat (fn [i] [a b]) (range 5000))] (filter s xs))

;; some in a set of long lists
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) s #{a b} xs (mapcat (fn [i] [a b]) (range 5000))] (every? s xs))

;; partition-by of long lists
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1) xs (mapcat (fn [i] [a b]) (range 5000))] (partition-by identity xs))

;; comparing long lists
(let [a (vec (range 100000)) b (conj (vec (range 99999)) -1)] (map (fn [i] (= a b)) (range 100000)))

;; comparing one very long list
(let [a (vec (range 2000000)) b (vec (range 2000000))] (= a b))

;; hashing one very long list
(let [a (vec (range 2000000))] (count #{a [a]}))

;; combinations
(combinations (range 30) 5)

;; combinations, counted
(count (combinations (range 22) 8))

;; interleave
(let [xs (range 600000)] (interleave xs xs))

;; interpose
(interpose 0 (range 800000))

;; multiplying large integers
(let [b (dec (bit-shift-left 1 149990))] (doseq [i (range 100000)] (* b b)))

;; growing a product
(reduce * (range 1 25000))

;; pow
(map (fn [i] (pow 3 100000)) (range 100000))

;; adding large integers
(let [b (dec (bit-shift-left 1 290000))] (reduce + (repeat 200000 b)))

;; inc of large integers
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (inc b)))

;; dec of large integers
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (dec b)))

;; minus of large integers
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (- b)))

;; abs of large integers
(let [b (- (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (abs b)))

;; bit-not of large integers
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (bit-not b)))

;; shifts of large integers
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (bit-shift-right b 1)))

;; bits of large integers
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (bit-flip b 1)))

;; one bit of large integers
(let [b (- (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (bit-test b 1)))

;; comparing large integers
(let [b (dec (bit-shift-left 1 290000)) c (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (= b c) (< b c) (compare b c)))

;; large integers and fractions
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 2000000)] (< b 0.5) (= b 0.5) (double b) (even? b) (pos? b)))

;; quot of large integers
(let [b (dec (bit-shift-left 1 290000)) c (dec (bit-shift-left 1 145000))] (doseq [i (range 100000)] (quot b c)))

;; writing large integers
(let [b (dec (bit-shift-left 1 290000))] (doseq [i (range 100000)] (str b)))

;; reading large integers
(let [s (apply str (repeat 90000 "9"))] (doseq [i (range 100000)] (parse-long s)))

;; pmap
(pmap (fn [i] (reduce + (range 200000))) (range 100))

;; pmap, many small
(pmap inc (range 60000))

;; pcalls
(pcalls (fn [] (sort (fn [a b] (> a b)) (range 60000))) (fn [] (vec (range 600000))))

;; flatten
(flatten (repeat 300 (range 10000)))

;; postwalk
(postwalk identity (map (fn [i] [i {:a i}]) (range 60000)))

;; prewalk
(prewalk identity (map (fn [i] [i {:a i}]) (range 60000)))

;; tree-seq
(tree-seq vector? identity (map (fn [i] [i [i]]) (range 100000)))

;; format
(format "%s" (vec (range 600000)))

;; format, many
(map (fn [i] (format "%05d %8.3f %s %x" i (* i 1.5) i i)) (range 200000))

;; union
(let [a (set (range 120000)) b (set (range 60000 180000))] (union a b))

;; intersection
(let [a (set (range 120000)) b (set (range 60000 180000))] (intersection a b))

;; difference
(let [a (set (range 120000)) b (set (range 60000 180000))] (difference a b))

;; subset?
(let [a (set (range 180000)) b (set (range 180000))] (map (fn [i] (subset? a b)) (range 100)))

;; a set of lists
(set (map (fn [i] [i i]) (range 140000)))

;; dedupe
(dedupe (range 1000000))

;; partition
(partition 3 1 (range 200000))

;; partition-by
(partition-by odd? (range 200000))

;; into a map
(into {} (map (fn [i] [i i]) (range 160000)))

;; merge
(let [a (zipmap (range 100000) (range 100000)) b (zipmap (range 60000 160000) (range 100000))] (merge a b))

;; update-vals
(update-vals (zipmap (range 160000) (range 160000)) inc)

;; select-keys
(select-keys (zipmap (range 160000) (range 160000)) (range 160000))

;; keys and vals of a large map
(let [m (zipmap (map str (range 60000)) (range 60000))] [(keys m) (vals m) (seq m)])

;; a copy of a large map
(let [m (zipmap (range 200000) (range 200000))] (doseq [i (range 100)] (assoc m i 1)))

;; a copy of a large vector
(let [v (vec (range 1000000))] (doseq [i (range 100)] (assoc v i 1)))

;; a copy of many texts
(let [v (map str (range 400000))] (doseq [i (range 100)] (assoc v i 1)))

;; reverse, shuffle-like
(let [v (vec (range 1000000))] (doseq [i (range 100)] (reverse v) (rest v) (take 800000 v) (drop 5 v) (concat v [1])))

;; max and min
(let [v (vec (range 1000000))] (doseq [i (range 100)] (apply max v) (apply min-key identity v)))

;; case of a long text
(let [s (apply str (repeat 2000000 "é"))] (doseq [i (range 100)] (upper-case s) (count s) (reverse s)))

;; searching a long text
(let [s (apply str (repeat 2000000 "a"))] (doseq [i (range 100)] (index-of s "ab") (includes? s "aaab") (last-index-of s "ba")))

;; describe
(describe (map (fn [i] {:a i :b (str i)}) (range 60000)))

;; dropping many small values
(do (count (map (fn [i] {:a i :b [i (str i)]}) (range 200000))) 1)

;; dropping something deep
(do (count (reduce (fn [v i] [v]) [] (range 400000))) 1)

;; dropping a large map of texts
(do (count (reduce (fn [m i] (assoc m (str "key " i) [i])) {} (range 100000))) 1)

;; println
(println (vec (range 600000)))

;; compiling a regex from a text in each row
(map (fn [i] (extract (str "(\\w+)" i "([\\pL\\pN]{2,80})+") "some text 12345")) (range 60000))
