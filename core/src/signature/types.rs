//! The types of signatures.

use super::names::underscored;
use crate::text::Span;
use crate::value::Json;

/// A parsed signature.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// The parameters; `None` without a parameter list (then inputs are not checked).
    pub params: Option<Vec<Field>>,
    /// The output; `None` only when a raw schema replaces it (`(a :string)` without an arrow).
    pub output: Option<Type>,
}

/// A named, typed field of a record, or a parameter.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name as declared.
    pub name: String,
    /// Its type; optional fields have [`Type::Optional`].
    pub ty: Type,
    /// Text after the type, for users and models.
    pub description: Option<String>,
    /// Its span in the signature text (empty if there is no text). Not part of equality.
    pub span: Span,
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.ty == other.ty && self.description == other.description
    }
}

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// `:string`
    String,
    /// `:int`
    Int,
    /// `:float`
    Float,
    /// `:number`, int or float
    Number,
    /// `:bool`
    Bool,
    /// `:keyword`
    Keyword,
    /// `:any`
    Any,
    /// `:map`, any content
    Map,
    /// `:datetime`
    Datetime,
    /// `:file`: a file that is given to an agent; only a parameter of its own has this type
    File,
    /// `:enum["a" "b"]`; never empty, no duplicates
    Enum(Vec<String>),
    /// `[T]`
    List(Box<Type>),
    /// `{name T, …}`
    Record {
        /// The declared fields in order; names are unique.
        fields: Vec<Field>,
        /// Other fields are rejected (only from a JSON Schema).
        closed: bool,
    },
    /// `T?`; never nested directly.
    Optional(Box<Type>),
    /// A type with JSON Schema keywords that only narrow it (format, minimum, maximum, minItems, maxItems).
    Narrowed {
        /// The type.
        base: Box<Type>,
        /// Keyword and its value, in the order of the schema.
        keywords: Vec<(String, Json)>,
    },
}

impl Type {
    /// The type without its optional marker.
    pub fn required(&self) -> &Self {
        match self {
            Self::Optional(inner) => inner,
            other => other,
        }
    }

    /// True if the value may be absent or nil.
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::Optional(_))
    }

    /// The type without optional marker and narrowing keywords.
    pub fn base(&self) -> &Self {
        match self {
            Self::Optional(inner) | Self::Narrowed { base: inner, .. } => inner.base(),
            other => other,
        }
    }

    /// Returns whether its values are files.
    pub fn is_file(&self) -> bool {
        *self.base() == Self::File
    }

    /// The declared fields of a map, or of the maps in a list.
    pub fn fields(&self) -> &[Field] {
        match self.base() {
            Self::Record { fields, .. } => fields,
            Self::List(item) => item.fields(),
            _ => &[],
        }
    }
}

impl Signature {
    /// The parameters and output fields, nested ones too, whose names start with `_`: hidden from models by the
    /// firewall, rejected in modes that cannot hide them.
    pub fn hidden_fields(&self) -> Vec<&Field> {
        let mut open: Vec<&Field> = self.params.iter().flatten().collect();
        open.extend(self.output.iter().flat_map(Type::fields));
        let mut hidden = Vec::new();
        while let Some(field) = open.pop() {
            open.extend(field.ty.fields());
            if field.name.starts_with('_') {
                hidden.push(field);
            }
        }
        hidden.sort_by_key(|field| field.span.start);
        hidden
    }

    /// The parameter of this name; `-` and `_` are the same.
    pub fn param(&self, name: &str) -> Option<&Field> {
        find_field(self.params.as_deref()?, name)
    }
}

/// The field of this name; `-` and `_` are the same.
pub fn find_field<'f>(fields: &'f [Field], name: &str) -> Option<&'f Field> {
    fields.iter().find(|field| field.name == name || underscored(&field.name) == underscored(name))
}
