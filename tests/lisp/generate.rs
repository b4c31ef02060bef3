//! Generated programs: made from the table of builtins, or by damaging written programs.
//!
//! In: a seed. Out: a text, the same for the same seed. Shared by the property tests and by the fuzzing driver.

use std::fmt::Write as _;

use ptc_core::lisp::builtins::{Builtin, rows};

/// A small generator of random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const SCALARS: &[&str] = &[
    "nil",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2",
    "7",
    "1000000",
    "9223372036854775807",
    "-9223372036854775808",
    "100000000000000000000000000000",
    "0.5",
    "-2.5",
    "1e308",
    "1e-300",
    "##Inf",
    "##-Inf",
    "##NaN",
    "\"\"",
    "\"a\"",
    "\"héllo wörld\"",
    "\"👩‍👩‍👧‍👦e\\u0301\"",
    "\"12\"",
    "\"2024-02-29T12:00:00Z\"",
    "\"{\\\"a\\\": [1]}\"",
    ":a",
    ":b-c",
    "'sym",
    "#\"(a+)(b)?\"",
    "\\x",
    "[]",
    "{}",
    "#{}",
];
const DATA: &[&str] = &[
    "data/n",
    "data/xs",
    "data/m",
    "data/s",
    "data/rows",
    "data/none",
    "*1",
    "(range 5)",
    "(range 1000)",
    "[3 1 2]",
    "[[1 2] [3 4]]",
    "{:a 1 :b {:c [2]}}",
    "{\"a\" 1 nil 2 1.5 3}",
    "#{1 :a \"x\"}",
    "(LocalDate/parse \"2024-01-31\")",
];
const FUNCTIONS: &[&str] = &[
    "inc",
    "str",
    "identity",
    ":a",
    "#{1 2}",
    "(fn [x] x)",
    "(fn [& xs] xs)",
    "#(vector % %2)",
    "#(= % 1)",
    "(fn [x y] (conj x y))",
    "(fn [x] (return x))",
    "(fn f [x] (f x))",
    "(constantly nil)",
    "(partial + 1)",
    "(comp inc inc)",
    "(juxt inc dec)",
    "compare",
    ">",
    "tool/echo",
];
const LOCALS: &[&str] = &["x", "y", "zs"];

/// A program made from the grammar and the table of builtins.
pub(crate) fn program(random: &mut Random) -> String {
    let table: Vec<&Builtin> = rows().collect();
    let mut made = Made { random, table, text: String::new(), locals: 0 };
    for _ in 0..=made.random.below(3) {
        made.form(5);
        made.text.push('\n');
    }
    made.text
}

struct Made<'r> {
    random: &'r mut Random,
    table: Vec<&'static Builtin>,
    text: String,
    locals: usize,
}

impl Made<'_> {
    fn form(&mut self, depth: usize) {
        let choice = if depth == 0 { self.random.below(3) } else { self.random.below(16) };
        match choice {
            0 => self.text.push_str(self.random.pick(SCALARS)),
            1 => self.text.push_str(self.random.pick(DATA)),
            2 if self.locals > 0 => {
                let at = self.random.below(self.locals);
                self.text.push_str(LOCALS[at]);
            }
            2 => self.text.push_str(self.random.pick(FUNCTIONS)),
            3 => self.parts("[", "]", 3, depth),
            4 => self.parts("#{", "}", 2, depth),
            5 => self.pairs(depth),
            6 => self.special(depth),
            _ => self.call(depth),
        }
    }

    fn forms(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            self.text.push(' ');
            self.form(depth - 1);
        }
    }

    fn parts(&mut self, open: &str, close: &str, most: usize, depth: usize) {
        self.text.push_str(open);
        let count = self.random.below(most + 1);
        self.forms(count, depth);
        self.text.push_str(close);
    }

    fn pairs(&mut self, depth: usize) {
        self.text.push('{');
        for _ in 0..self.random.below(3) {
            self.forms(2, depth);
        }
        self.text.push('}');
    }

    /// A call of a builtin with an allowed number of arguments, a function in front where there often is one.
    fn call(&mut self, depth: usize) {
        let row = self.random.pick(&self.table);
        let (min, max) =
            (usize::from(row.arity.min), row.arity.max.map_or(usize::from(row.arity.min) + 2, usize::from));
        let count = min + self.random.below(max - min + 1);
        self.text.push('(');
        self.text.push_str(row.name);
        let takes_function =
            row.signatures.first().is_some_and(|signature| signature.contains(" f") || signature.contains("pred"));
        for at in 0..count {
            self.text.push(' ');
            if at == 0 && takes_function && self.random.below(4) > 0 {
                self.text.push_str(self.random.pick(FUNCTIONS));
            } else {
                self.form(depth - 1);
            }
        }
        self.text.push(')');
    }

    fn special(&mut self, depth: usize) {
        let local = LOCALS[self.locals.min(LOCALS.len() - 1)];
        let (before, parts, after) = match self.random.below(12) {
            0 => ("(if", 3, ")".to_owned()),
            1 => ("(let [", 1, format!("] {local})")),
            2 => ("(do", 2, ")".to_owned()),
            3 => ("(loop [n 0 acc nil] (if (< n 50) (recur (inc n)", 1, ") acc))".to_owned()),
            4 => ("(for [v", 1, "] v)".to_owned()),
            5 => ("(doseq [v", 1, "] (println v))".to_owned()),
            6 => ("(->>", 3, ")".to_owned()),
            7 => ("(cond", 4, ")".to_owned()),
            8 => ("(pmap (fn [v] [v", 1, "]) [1 2 3])".to_owned()),
            9 => ("(def kept", 1, ")".to_owned()),
            10 => ("(tool/echo {:k", 1, "})".to_owned()),
            _ => ("(let [{:keys [a] :as x} ", 1, "] [a x])".to_owned()),
        };
        self.text.push_str(before);
        if before == "(let [" {
            _ = write!(self.text, "{local} ");
        }
        self.forms(parts, depth);
        self.text.push_str(&after);
    }
}

const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "#{",
    "#(",
    "\"",
    "'",
    "#'",
    "%",
    "%&",
    "&",
    ";",
    "\\",
    "#_",
    "@",
    "nil",
    "99999999999999999999",
    "-1",
    "1e400",
    ":k",
    "fn",
    "let",
    "loop",
    "recur",
    "for",
    ":when",
    ":while",
    "->",
    "->>",
    "def",
    "defn",
    "map",
    "reduce",
    "range",
    "repeat",
    "(range 100000)",
    "return",
    "fail",
    "data/x",
    "tool/echo",
    "\u{0}",
    "\u{feff}",
    "é",
    "👩‍👩‍👧‍👦",
];

/// The text with one to four random changes; `other` lends a part.
pub(crate) fn mutated(text: &str, other: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(4) {
        let (from, to) = (place(&text, random), place(&text, random));
        let (from, to) = (from.min(to), from.max(to));
        match random.below(6) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(from, random.pick(TOKENS)),
            2 => text.replace_range(from..to, random.pick(TOKENS)),
            3 => {
                let part = text[from..to].to_owned();
                text.insert_str(to, &part);
            }
            4 => {
                let (start, end) = (place(other, random), place(other, random));
                text.insert_str(from, &other[start.min(end)..start.max(end)]);
            }
            _ => text.insert(from, char::from_u32(u32::try_from(random.below(0x3000)).unwrap_or(0)).unwrap_or(' ')),
        }
    }
    text
}

/// A place between two characters.
fn place(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
