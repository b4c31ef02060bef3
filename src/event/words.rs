//! Stored words: enums that a session holds by name, and that read whatever a later version wrote.
//!
//! In: the words of a field with their meanings. Out: an enum with its names, `serde` and the schema of the file format. A word
//! that this program does not know is kept as it was read and written back the same.

/// Defines enums of stored words. The first word of each is its default.
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($variant:ident $word:literal $meaning:literal;)+ })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = $meaning] $variant,)+
            /// A word of another version, kept as it was read.
            Other(Box<str>),
        }

        impl $name {
            /// The words that this program knows.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),+];

            /// The stored name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::KNOWN[0].clone()
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Other(other.into()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|word| Self::from(word.as_str()))
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"oneOf": [$({"type": "string", "const": $word, "description": $meaning}),+]})
            }
        }
    )+};
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use crate::session::ParentKind;

    #[test]
    fn a_word_of_a_later_version_is_preserved() {
        for (text, kind) in [("\"fork\"", ParentKind::Fork), ("\"riddle\"", ParentKind::from("riddle"))] {
            let read: ParentKind = serde_json::from_str(text).unwrap();
            assert_eq!(read, kind);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        assert_eq!(ParentKind::default(), ParentKind::Continue);
    }
}
