//! The value type: its variants, kinds, conversions, and lookups.

use std::sync::Arc;

use super::{BigInt, Date, Duration, Function, Instant, Keyword, List, Map, Regex, Set};

/// A value. Containers are shared and copied on write.
///
/// `Eq`, `Ord` and `Hash` are *strict* (the rule for map keys): `1` and `1.0` differ, NaN equals itself.
/// [`Value::same`] is the language's loose equality. Nesting is not bounded: cloning, dropping and comparing are safe
/// at any depth; printing, hashing and conversion to JSON examine a bounded number of levels.
///
/// The tag is a whole word: with a tag of one byte the rest of the first word would be copied in pieces, and reading a
/// value as a whole right after it was written in pieces stalls the processor. Small variants come first, so that one
/// comparison detects values that are shared or need dropping.
#[derive(Default)]
#[repr(u64)]
pub enum Value {
    /// Nothing.
    #[default]
    Nil,
    /// true or false.
    Bool(bool),
    /// An integer that fits 64 bits. An integer that fits is never stored as [`Value::Big`].
    Int(i64),
    /// A double, including infinities and NaN.
    Float(f64),
    /// A keyword, interned process-wide.
    Keyword(Keyword),
    /// A day of the calendar.
    Date(Date),
    /// A duration.
    Duration(Duration),
    /// The result of `def`: `#'name`.
    Var(Keyword),
    /// A quoted symbol: `'name`.
    Symbol(Keyword),
    /// An instant.
    Instant(Instant),
    /// An integer beyond 64 bits.
    Big(Arc<BigInt>),
    /// A string.
    Str(Arc<Box<str>>),
    /// The only sequential type.
    List(Arc<List>),
    /// A map in canonical key order.
    Map(Arc<Map>),
    /// A set, its members in canonical order.
    Set(Arc<Set>),
    /// A function.
    Function(Arc<Function>),
    /// A regular expression.
    Regex(Arc<Regex>),
}

impl Clone for Value {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            // Fast path for the most common variant.
            Self::Int(int) => Self::Int(*int),
            other => clone_slow(other),
        }
    }
}

#[inline(never)]
fn clone_slow(value: &Value) -> Value {
    match value {
        Value::Nil => Value::Nil,
        Value::Bool(truth) => Value::Bool(*truth),
        Value::Int(int) => Value::Int(*int),
        Value::Big(big) => Value::Big(Arc::clone(big)),
        Value::Float(float) => Value::Float(*float),
        Value::Keyword(word) => Value::Keyword(*word),
        Value::Str(text) => Value::Str(Arc::clone(text)),
        Value::List(list) => Value::List(Arc::clone(list)),
        Value::Map(map) => Value::Map(Arc::clone(map)),
        Value::Set(set) => Value::Set(Arc::clone(set)),
        Value::Instant(at) => Value::Instant(at.clone()),
        Value::Date(day) => Value::Date(*day),
        Value::Duration(span) => Value::Duration(*span),
        Value::Function(function) => Value::Function(Arc::clone(function)),
        Value::Regex(pattern) => Value::Regex(Arc::clone(pattern)),
        Value::Var(name) => Value::Var(*name),
        Value::Symbol(name) => Value::Symbol(*name),
    }
}

const _: () = assert!(size_of::<Value>() == 16, "a value is 16 bytes");
const _: () = assert!(size_of::<Option<Value>>() == 16, "results and options of values are no larger");

/// The kind of a value, as named in validation messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// nil
    Nil,
    /// bool
    Bool,
    /// int
    Int,
    /// float
    Float,
    /// keyword
    Keyword,
    /// string
    String,
    /// list
    List,
    /// map
    Map,
    /// set
    Set,
    /// datetime
    Datetime,
    /// date
    Date,
    /// duration
    Duration,
    /// function
    Function,
    /// regex
    Regex,
    /// var
    Var,
    /// symbol
    Symbol,
}

impl Kind {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Keyword => "keyword",
            Self::String => "string",
            Self::List => "list",
            Self::Map => "map",
            Self::Set => "set",
            Self::Datetime => "datetime",
            Self::Date => "date",
            Self::Duration => "duration",
            Self::Function => "function",
            Self::Regex => "regex",
            Self::Var => "var",
            Self::Symbol => "symbol",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Value {
    /// A string value.
    pub fn str(text: impl Into<Box<str>>) -> Self {
        Self::Str(Arc::new(text.into()))
    }

    /// A keyword value; interns the name.
    pub fn keyword(name: &str) -> Self {
        Self::Keyword(Keyword::intern(name))
    }

    /// A list value.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// A list of a key and a value.
    pub(crate) fn pair(key: Self, value: Self) -> Self {
        Self::List(Arc::new(List::pair(key, value)))
    }

    /// A map value; of equal keys the first wins.
    pub fn map(entries: impl IntoIterator<Item = (Self, Self)>) -> Self {
        Self::Map(Arc::new(entries.into_iter().collect()))
    }

    /// A set value.
    pub fn set(members: impl IntoIterator<Item = Self>) -> Self {
        Self::Set(Arc::new(members.into_iter().collect()))
    }

    /// A map value with string keys; of equal keys the first wins.
    pub fn record<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::map(entries.into_iter().map(|(key, value)| (Self::str(key), value)))
    }

    /// An integer of any size, normalized to [`Value::Int`] if it fits.
    pub fn integer(number: BigInt) -> Self {
        i64::try_from(&number).map_or_else(|_| Self::Big(Arc::new(number)), Self::Int)
    }

    /// The kind of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Nil => Kind::Nil,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Big(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Keyword(_) => Kind::Keyword,
            Self::Str(_) => Kind::String,
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
            Self::Set(_) => Kind::Set,
            Self::Instant(_) => Kind::Datetime,
            Self::Date(_) => Kind::Date,
            Self::Duration(_) => Kind::Duration,
            Self::Function(_) => Kind::Function,
            Self::Regex(_) => Kind::Regex,
            Self::Var(_) => Kind::Var,
            Self::Symbol(_) => Kind::Symbol,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The map.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The entry of a map under exactly this string key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.get_str(key)
    }

    /// The entry of a map under this name, looked up flexibly: see [`Map::lookup`].
    pub fn lookup(&self, name: &str) -> Option<&Self> {
        self.as_map()?.lookup(name)
    }

    /// True for every value except nil and false.
    #[inline]
    pub fn is_truthy(&self) -> bool {
        !matches!(self, Self::Nil | Self::Bool(false))
    }

    /// True for nil.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::str(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(Arc::new(items.into()))
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(Arc::new(map))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::str(value)
    }
}
