//! Qualified names of Clojure and Java that the dialect `reference` does not have, and the ways for namespaces that stay
//! out.

use super::calendar::{DAYS, MONTHS};
use super::namespaces::{Constant, Members, Namespace};

/// Packages of Java classes, which may be written before their names.
const PACKAGES: &[&str] =
    &["java.time.format.", "java.time.temporal.", "java.time.", "java.lang.", "java.math.", "java.util."];

/// A namespace without its Java package.
pub(super) fn without_package(namespace: &str) -> &str {
    PACKAGES.iter().find_map(|package| namespace.strip_prefix(package)).unwrap_or(namespace)
}

/// Namespaces, and further members of those that the reference has.
pub(crate) const NAMESPACES: &[Namespace] = &[
    Namespace {
        names: &["cheshire.core", "cheshire", "clojure.data.json", "data.json", "json", "jsonista.core"],
        members: Members::Named(&[
            ("parse-string", "json/parse-string"),
            ("parse-str", "json/parse-string"),
            ("read-str", "json/read-str"),
            ("read-json", "json/read-str"),
            ("decode", "json/parse-string"),
            ("read-value", "json/parse-string"),
            ("generate-string", "json/generate-string"),
            ("encode", "json/generate-string"),
            ("write-str", "json/generate-string"),
            ("write-value-as-string", "json/generate-string"),
        ]),
    },
    Namespace {
        names: &["clojure.edn", "edn", "clojure.tools.reader.edn"],
        members: Members::Named(&[("read-string", "read-string")]),
    },
    Namespace { names: &["clojure.pprint", "pprint", "pp"], members: Members::Named(&[("pprint", "println")]) },
    Namespace {
        names: &["clojure.string", "str", "string"],
        members: Members::Named(&[("reverse", "clojure.string/reverse"), ("escape", "clojure.string/escape")]),
    },
    Namespace {
        names: &["clojure.set", "set"],
        members: Members::Named(&[
            ("join", "clojure.set/join"),
            ("project", "clojure.set/project"),
            ("index", "clojure.set/index"),
            ("select", "clojure.set/select"),
            ("rename", "clojure.set/rename"),
            ("rename-keys", "clojure.set/rename-keys"),
            ("map-invert", "clojure.set/map-invert"),
        ]),
    },
    Namespace {
        names: &["clojure.walk", "walk"],
        members: Members::Named(&[
            ("keywordize-keys", "clojure.walk/keywordize-keys"),
            ("stringify-keys", "clojure.walk/stringify-keys"),
            ("prewalk-replace", "clojure.walk/prewalk-replace"),
            ("postwalk-replace", "clojure.walk/postwalk-replace"),
        ]),
    },
    Namespace { names: MATHS, members: Members::Constants(NUMBERS) },
    Namespace { names: MATHS, members: Members::Named(SHARED_MATH) },
    Namespace { names: &["Math", "StrictMath"], members: Members::Named(JAVA_MATH) },
    Namespace { names: &["clojure.math", "math"], members: Members::Named(CLOJURE_MATH) },
    Namespace {
        names: &["Integer", "Long", "Short", "BigInteger"],
        members: Members::Named(&[
            ("parseInt", "Integer/parseInt"),
            ("parseLong", "Integer/parseInt"),
            ("valueOf", "Integer/valueOf"),
            ("toString", "Integer/toString"),
            ("toBinaryString", "Integer/toBinaryString"),
            ("toHexString", "Integer/toHexString"),
            ("compare", "compare"),
            ("max", "max"),
            ("min", "min"),
            ("sum", "+"),
        ]),
    },
    Namespace {
        names: &["Integer"],
        members: Members::Constants(&[
            ("MAX_VALUE", Constant::Integer(i32::MAX as i64)),
            ("MIN_VALUE", Constant::Integer(i32::MIN as i64)),
        ]),
    },
    Namespace {
        names: &["Long"],
        members: Members::Constants(&[
            ("MAX_VALUE", Constant::Integer(i64::MAX)),
            ("MIN_VALUE", Constant::Integer(i64::MIN)),
        ]),
    },
    Namespace {
        names: &["Double", "Float"],
        members: Members::Named(&[
            ("parseDouble", "Double/parseDouble"),
            ("parseFloat", "Double/parseDouble"),
            ("valueOf", "Double/valueOf"),
            ("toString", "str"),
            ("compare", "compare"),
            ("isNaN", "NaN?"),
            ("isInfinite", "infinite?"),
        ]),
    },
    Namespace {
        names: &["Double"],
        members: Members::Constants(&[
            ("MAX_VALUE", Constant::Float(f64::MAX)),
            ("MIN_VALUE", Constant::Float(5e-324)),
        ]),
    },
    Namespace {
        names: &["Boolean"],
        members: Members::Named(&[("valueOf", "Boolean/parseBoolean"), ("toString", "str")]),
    },
    Namespace {
        names: &["String"],
        members: Members::Named(&[("format", "String/format"), ("valueOf", "str"), ("join", "String/join")]),
    },
    Namespace {
        names: &["Character"],
        members: Members::Named(&[
            ("isDigit", "Character/isDigit"),
            ("isLetter", "Character/isLetter"),
            ("isAlphabetic", "Character/isLetter"),
            ("isLetterOrDigit", "Character/isLetterOrDigit"),
            ("isUpperCase", "Character/isUpperCase"),
            ("isLowerCase", "Character/isLowerCase"),
            ("isWhitespace", "Character/isWhitespace"),
            ("getNumericValue", "Character/getNumericValue"),
            ("digit", "Character/digit"),
            ("toUpperCase", "upper-case"),
            ("toLowerCase", "lower-case"),
            ("toString", "str"),
        ]),
    },
    Namespace {
        names: &["Objects"],
        members: Members::Named(&[("equals", "="), ("isNull", "nil?"), ("nonNull", "some?")]),
    },
    Namespace {
        names: &["LocalDate"],
        members: Members::Named(&[
            ("parse", "LocalDate/parse"),
            ("of", "LocalDate/of"),
            ("now", "LocalDate/now"),
            ("ofEpochDay", "LocalDate/ofEpochDay"),
            ("from", ".toLocalDate"),
            ("ofInstant", "LocalDate/ofInstant"),
        ]),
    },
    Namespace {
        names: &["LocalDateTime"],
        members: Members::Named(&[
            ("parse", "LocalDateTime/parse"),
            ("of", "LocalDateTime/of"),
            ("now", "Instant/now"),
            ("ofInstant", "LocalDateTime/ofInstant"),
        ]),
    },
    Namespace {
        names: &["ZonedDateTime", "OffsetDateTime"],
        members: Members::Named(&[
            ("parse", "OffsetDateTime/parse"),
            ("of", ".atZone"),
            ("now", "Instant/now"),
            ("ofInstant", ".atZone"),
        ]),
    },
    Namespace {
        names: &["Instant"],
        members: Members::Named(&[
            ("parse", "Instant/parse"),
            ("now", "Instant/now"),
            ("ofEpochMilli", "Instant/ofEpochMilli"),
            ("ofEpochSecond", "Instant/ofEpochSecond"),
        ]),
    },
    Namespace {
        names: &["Duration"],
        members: Members::Named(&[
            ("between", "Duration/between"),
            ("ofDays", "Duration/ofDays"),
            ("ofHours", "Duration/ofHours"),
            ("ofMinutes", "Duration/ofMinutes"),
            ("ofSeconds", "Duration/ofSeconds"),
            ("ofMillis", "Duration/ofMillis"),
        ]),
    },
    Namespace {
        names: &["Period"],
        members: Members::Named(&[
            ("between", "Period/between"),
            ("ofDays", "Period/ofDays"),
            ("ofMonths", "Period/ofMonths"),
        ]),
    },
    Namespace {
        names: &["ChronoUnit"],
        members: Members::Constants(&[
            ("NANOS", Constant::Text("NANOS")),
            ("MICROS", Constant::Text("MICROS")),
            ("MILLIS", Constant::Text("MILLIS")),
            ("SECONDS", Constant::Text("SECONDS")),
            ("MINUTES", Constant::Text("MINUTES")),
            ("HOURS", Constant::Text("HOURS")),
            ("DAYS", Constant::Text("DAYS")),
            ("WEEKS", Constant::Text("WEEKS")),
            ("MONTHS", Constant::Text("MONTHS")),
            ("YEARS", Constant::Text("YEARS")),
        ]),
    },
    Namespace { names: &["DayOfWeek"], members: Members::Constants(&texts(DAYS)) },
    Namespace { names: &["Month"], members: Members::Constants(&texts(MONTHS)) },
    Namespace { names: &["ZoneId"], members: Members::Named(&[("of", "ZoneId/of")]) },
    Namespace { names: &["ZoneOffset"], members: Members::Constants(&[("UTC", Constant::Text("Z"))]) },
    Namespace {
        names: &["ZoneOffset"],
        members: Members::Named(&[
            ("of", "ZoneId/of"),
            ("ofHours", "ZoneOffset/ofHours"),
            ("ofHoursMinutes", "ZoneOffset/ofHours"),
        ]),
    },
    Namespace {
        names: &["DateTimeFormatter"],
        members: Members::Named(&[("ofPattern", "DateTimeFormatter/ofPattern")]),
    },
    Namespace {
        names: &["DateTimeFormatter"],
        members: Members::Constants(&[
            ("ISO_DATE", Constant::Text("yyyy-MM-dd")),
            ("ISO_LOCAL_DATE", Constant::Text("yyyy-MM-dd")),
            ("BASIC_ISO_DATE", Constant::Text("yyyyMMdd")),
            ("ISO_LOCAL_TIME", Constant::Text("HH:mm:ss")),
            ("ISO_LOCAL_DATE_TIME", Constant::Text("yyyy-MM-dd'T'HH:mm:ss")),
            ("ISO_DATE_TIME", Constant::Text("yyyy-MM-dd'T'HH:mm:ssXXX")),
            ("ISO_OFFSET_DATE_TIME", Constant::Text("yyyy-MM-dd'T'HH:mm:ssXXX")),
            ("ISO_INSTANT", Constant::Text("yyyy-MM-dd'T'HH:mm:ssXXX")),
        ]),
    },
];

/// Constants that are their own names.
const fn texts<const N: usize>(names: [&'static str; N]) -> [(&'static str, Constant); N] {
    let mut made = [("", Constant::Text("")); N];
    let mut at = 0;
    while at < N {
        made[at] = (names[at], Constant::Text(names[at]));
        at += 1;
    }
    made
}

/// The namespaces of mathematics.
const MATHS: &[&str] = &["Math", "StrictMath", "clojure.math", "math"];

const NUMBERS: &[(&str, Constant)] =
    &[("PI", Constant::Float(std::f64::consts::PI)), ("E", Constant::Float(std::f64::consts::E))];

/// Functions with the same name in `Math` and `clojure.math`.
const SHARED_MATH: &[(&str, &str)] = &[
    ("log", "Math/log"),
    ("log10", "Math/log10"),
    ("log1p", "Math/log1p"),
    ("exp", "Math/exp"),
    ("sin", "Math/sin"),
    ("cos", "Math/cos"),
    ("tan", "Math/tan"),
    ("asin", "Math/asin"),
    ("acos", "Math/acos"),
    ("atan", "Math/atan"),
    ("atan2", "Math/atan2"),
    ("sinh", "Math/sinh"),
    ("cosh", "Math/cosh"),
    ("tanh", "Math/tanh"),
    ("cbrt", "Math/cbrt"),
    ("rint", "Math/rint"),
    ("hypot", "Math/hypot"),
    ("signum", "Math/signum"),
];

/// Further functions of `Math`.
const JAVA_MATH: &[(&str, &str)] = &[
    ("toRadians", "Math/toRadians"),
    ("toDegrees", "Math/toDegrees"),
    ("floorDiv", "Math/floorDiv"),
    ("floorMod", "Math/floorMod"),
    ("addExact", "+"),
    ("subtractExact", "-"),
    ("multiplyExact", "*"),
    ("incrementExact", "inc"),
    ("decrementExact", "dec"),
    ("negateExact", "-"),
];

/// Further functions of `clojure.math`.
const CLOJURE_MATH: &[(&str, &str)] = &[
    ("to-radians", "Math/toRadians"),
    ("to-degrees", "Math/toDegrees"),
    ("floor-div", "Math/floorDiv"),
    ("floor-mod", "Math/floorMod"),
    ("abs", "abs"),
    ("sqrt", "sqrt"),
    ("pow", "pow"),
    ("floor", "floor"),
    ("ceil", "ceil"),
    ("round", "round"),
];

const FILES: &str = "Programs have no files: read data/name or call a tool";
const PROCESSES: &str = "Programs start no processes: call a tool, (tool/name {…})";
const NETWORK: &str = "Programs have no network: call a tool, (tool/name {…})";
const PARALLEL: &str = "There are no threads: (pmap f coll) calls f in parallel";
const CSV: &str = "Split the text: (map (fn [line] (str/split line #\",\")) (str/split-lines text))";
const RANDOM: &str = "Random numbers are not supported: equal inputs give equal results";

/// Namespaces that stay out, and the way to their purpose.
const WAYS: &[(&str, &str)] = &[
    ("clojure.java.io", FILES),
    ("io", FILES),
    ("File", FILES),
    ("java.io.File", FILES),
    ("Files", FILES),
    ("java.nio.file.Files", FILES),
    ("clojure.java.shell", PROCESSES),
    ("shell", PROCESSES),
    ("sh", PROCESSES),
    ("babashka.process", PROCESSES),
    ("Runtime", PROCESSES),
    ("clj-http.client", NETWORK),
    ("http", NETWORK),
    ("babashka.http-client", NETWORK),
    ("java.net.URL", NETWORK),
    ("Thread", PARALLEL),
    ("clojure.core.async", PARALLEL),
    ("async", PARALLEL),
    ("UUID", RANDOM),
    ("clojure.data.csv", CSV),
    ("data.csv", CSV),
    ("csv", CSV),
    ("clojure.test", "Check with (assert condition)"),
    ("clojure.spec.alpha", "Check values with predicates such as int? and string?"),
];

/// The way to the purpose of a namespace that does not exist.
pub(super) fn way(namespace: &str) -> Option<&'static str> {
    WAYS.iter().find(|(name, _)| *name == namespace).map(|(_, way)| *way)
}

/// Methods of Java that stay out, and the way to their purpose.
const METHODS: &[(&str, &str)] = &[
    (".put", "Values do not change: use (assoc m key value)"),
    (".add", "Values do not change: use (conj coll x)"),
    (".addAll", "Values do not change: use (into coll more)"),
    (".remove", "Values do not change: use (dissoc m key), (disj s x) or (remove pred coll)"),
    (".set", "Values do not change: use (assoc list index x)"),
    (".append", "Values do not change: use (str a b)"),
    (".sort", "Values do not change: use (sort coll)"),
    (".forEach", "Use (doseq [x coll] …) or (run! f coll)"),
    (".stream", "Collections need no stream: use map, filter and reduce"),
    (".iterator", "Collections need no iterator: use map, filter and reduce"),
    (".getClass", "Use (type x)"),
    (".hashCode", "Use the value itself as a key: all values can be keys"),
    (".toArray", "Use (vec coll)"),
    (".getBytes", "Use the text itself: (count s), (seq s)"),
];

/// The way to the purpose of a method that does not exist.
pub(crate) fn way_of_method(name: &str) -> Option<&'static str> {
    METHODS.iter().find(|(method, _)| *method == name).map(|(_, way)| *way)
}
