//! Sample data: a valid, plausible JSON value for any type; equal seeds give equal values.
//!
//! In: a type, a seed, the name of the field. Out: ordered JSON that satisfies the type and its answer schema. It must
//! depend on nothing else: no clock, no randomness.

use super::{Field, Type, narrow};
use crate::value::Json;
use crate::value::json::Node;

/// A value of a type. Seed 0 takes the first alternative everywhere (such as the first choice of an enum); `at` is the
/// name of the field, or empty.
pub fn sample(ty: &Type, seed: u64, at: &str) -> Json {
    SamplePosition { seed, name: at.to_owned(), index: 0, lists: 0 }.value(ty)
}

/// A context for these parameters: an object with a value for each.
pub fn sample_inputs(params: &[Field], seed: u64) -> Json {
    Json::object(params.iter().map(|field| (field.name.as_str(), sample(&field.ty, seed, &field.name))))
}

/// Lists nested deeper than this have one item, which bounds the size of a sample.
const WIDE_LISTS: usize = 3;

/// The position of a value in the sample; decides the choice.
struct SamplePosition {
    seed: u64,
    /// Names from the outside in, joined by dots.
    name: String,
    /// Index in the innermost list.
    index: usize,
    /// Number of enclosing lists.
    lists: usize,
}

impl SamplePosition {
    fn value(&self, ty: &Type) -> Json {
        match ty {
            Type::Optional(inner) => self.value(inner),
            Type::Narrowed { base, keywords } => narrow::fit(keywords, self.value(base)),
            Type::String | Type::Any => Json::str(self.hinted(TEXTS)),
            Type::Keyword => Json::str(self.pick(WORDS)),
            Type::File => Json::empty().with("file", Json::str("FILE.png")),
            Type::Enum(values) if self.seed == 0 => Json::str(values.first().map_or("", String::as_str)),
            Type::Enum(values) => {
                Json::str(self.choose(values.len()).and_then(|at| values.get(at)).map_or("", String::as_str))
            }
            Type::Int => Node::Int(self.hinted(INTS)).into(),
            Type::Float | Type::Number => Node::Float(self.hinted(FLOATS)).into(),
            Type::Bool => Node::Bool(self.pick(&[true, false])).into(),
            Type::Datetime => Json::str(self.datetime()),
            Type::Map => Json::empty().with("key", Json::str("value")),
            Type::List(item) => {
                let size = if self.lists < WIDE_LISTS { 2 } else { 1 };
                Json::list((0..size).map(|index| self.item(index).value(item)))
            }
            Type::Record { fields, .. } => {
                Json::object(fields.iter().map(|field| (field.name.as_str(), self.field(&field.name).value(&field.ty))))
            }
        }
    }

    /// The position of a field of a record here.
    fn field(&self, name: &str) -> Self {
        Self { seed: self.seed, name: format!("{}.{name}", self.name), index: self.index, lists: self.lists }
    }

    /// The position of an item of a list here.
    fn item(&self, index: usize) -> Self {
        Self { seed: self.seed, name: self.name.clone(), index, lists: self.lists + 1 }
    }

    fn datetime(&self) -> String {
        let day = 1 + self.choose(28).unwrap_or(0);
        format!("2026-03-{day:02}T09:30:00Z")
    }

    /// A value for the first hint in the field's name, else one for other names.
    fn hinted<T: Copy>(&self, table: &Hints<T>) -> T {
        let last = self.name.rsplit('.').next().unwrap_or_default().to_lowercase();
        let parts: Vec<&str> = last.split(['_', '-']).collect();
        let named = |hint: &str| parts.iter().any(|part| *part == hint || part.strip_suffix('s') == Some(hint));
        let row = table.named.iter().find(|(hints, _)| hints.split(' ').any(named));
        self.pick(row.map_or(table.other, |(_, values)| values))
    }

    fn pick<T: Copy>(&self, values: &[T]) -> T {
        values[self.choose(values.len()).unwrap_or(0)]
    }

    /// A number below `count`: for seed 0 the list index, else derived from seed, name and index.
    fn choose(&self, count: usize) -> Option<usize> {
        if self.seed == 0 {
            return self.index.checked_rem(count);
        }
        let mut hash = self.seed;
        for byte in self.name.bytes() {
            hash = mix(hash ^ u64::from(byte));
        }
        let count = u64::try_from(count).ok()?;
        usize::try_from((mix(hash) >> 8).checked_add(u64::try_from(self.index).ok()?)?.checked_rem(count)?).ok()
    }
}

/// Values by field name: words that a name may contain, with suitable values, and values for other names.
struct Hints<T: 'static> {
    named: &'static [(&'static str, &'static [T])],
    other: &'static [T],
}

/// One step of the splitmix64 generator.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const WORDS: &[&str] = &["alpha", "bravo", "delta", "echo", "lima", "tango"];

/// Words in field names and suitable texts; for several words in a name the earlier row counts.
const TEXTS: &Hints<&str> = &Hints {
    other: WORDS,
    named: &[
        ("id key code", &["a-1", "a-2", "b-7"]),
        ("email mail", &["ada@example.com", "grace@example.com", "alan@example.com"]),
        ("url link uri website", &["https://example.com/", "https://example.com/docs", "https://example.org/a"]),
        ("product item", &["desk lamp", "headphones", "coffee mug"]),
        ("city town", &["Lisbon", "Oslo", "Nairobi", "Lima"]),
        ("country", &["Portugal", "Norway", "Kenya", "Peru"]),
        ("company organization vendor", &["Acme", "Globex", "Initech"]),
        ("phone", &["+1 555 0100", "+1 555 0101"]),
        ("date day", &["2026-03-14", "2026-04-01", "2026-05-09"]),
        ("time", &["09:30", "14:00", "18:45"]),
        ("file path", &["notes.txt", "report.md", "data.csv"]),
        ("color colour", &["blue", "green", "red"]),
        ("name author user person customer", &["Ada Lovelace", "Grace Hopper", "Alan Turing"]),
        ("currency", &["EUR", "USD", "JPY"]),
        ("language lang", &["en", "pt", "sw"]),
        ("sentiment", &["positive", "negative", "neutral"]),
        ("category label tag topic type kind status", &["general", "billing", "support"]),
        ("title subject headline", &["A small improvement", "Notes from Monday", "What changed"]),
        ("query question search", &["weather in Lisbon", "opening hours", "best price"]),
        (
            "text summary description message comment review reason content body answer note",
            &[
                "It works well and arrived on time.",
                "The first part is clear; the second is not.",
                "Nothing unusual was found.",
            ],
        ),
    ],
};

/// Words in field names and suitable integers.
const INTS: &Hints<i64> = &Hints {
    other: &[3, 7, 42, 12, 1],
    named: &[
        ("year", &[2026, 2024, 1999]),
        ("age", &[34, 52, 27]),
        ("id", &[1, 2, 17, 204]),
        ("percent percentage", &[80, 25, 50]),
        ("price cost amount total", &[20, 5, 149]),
    ],
};

/// Words in field names and suitable floats.
const FLOATS: &Hints<f64> = &Hints {
    other: &[1.5, 2.25, 10.75],
    named: &[
        ("score confidence probability ratio rate", &[0.92, 0.75, 0.4]),
        ("price cost amount total", &[19.99, 4.5, 149.9]),
        ("temp temperature", &[21.5, 18.25, 30.5]),
        ("lat latitude", &[38.72, 59.91, -1.29]),
        ("lon lng longitude", &[-9.14, 10.75, 36.82]),
    ],
};
