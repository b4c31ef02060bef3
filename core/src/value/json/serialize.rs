//! JSON trees and serde: a tree is data that serde writes, and whatever derives `Serialize` becomes a tree.
//!
//! In: trees, or data. Out: what a serializer makes of a tree, or the tree of the data: fields in their order, every digit
//! kept, infinite numbers as in [`Json::from`](Json). Raw JSON text of `serde_json` is read into the tree; text nested deeper
//! than the reader allows is null.

use std::fmt::Display;

use serde_core::ser::{
    self, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{Json, Member, Members, Node, parse};
use crate::text::Span;

/// The name under which `serde_json` passes JSON text through unchanged. A test holds it to `RawValue`.
const RAW: &str = "$serde_json::private::RawValue";

/// Returns the tree of `data`; null where an implementation of `Serialize` fails, which derived ones never do.
pub fn to_json(data: &(impl Serialize + ?Sized)) -> Json {
    data.serialize(TreeSerializer).unwrap_or_default()
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.node {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(*value),
            Node::Int(value) => serializer.serialize_i64(*value),
            Node::Big(value) => {
                let mut raw = serializer.serialize_struct(RAW, 1)?;
                raw.serialize_field(RAW, &value.to_string())?;
                raw.end()
            }
            Node::Float(value) => serializer.serialize_f64(*value),
            Node::Str(text) => serializer.serialize_str(text),
            Node::List(items) => serializer.collect_seq(items),
            Node::Object(members) => serializer.collect_map(members.iter().map(|member| (&member.key, &member.value))),
        }
    }
}

/// The error of an implementation of `Serialize`.
#[derive(Debug)]
struct Failure(String);

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl ser::Error for Failure {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Makes a tree of whatever it is given.
struct TreeSerializer;

/// An array under construction, or `{variant: [...]}` of an enum.
struct ListBuilder {
    variant: Option<&'static str>,
    items: Vec<Json>,
}

/// An object under construction, `{variant: {...}}` of an enum, or raw text.
#[derive(Default)]
struct ObjectBuilder {
    variant: Option<&'static str>,
    is_raw: bool,
    key: String,
    members: Members,
}

/// The content of a variant under its name.
fn tagged(variant: Option<&'static str>, content: Json) -> Json {
    match variant {
        Some(name) => Json::empty().with(name, content),
        None => content,
    }
}

impl ListBuilder {
    fn new(variant: Option<&'static str>) -> Self {
        Self { variant, items: Vec::new() }
    }

    fn push(&mut self, item: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        self.items.push(item.serialize(TreeSerializer)?);
        Ok(())
    }

    fn finish(self) -> Json {
        tagged(self.variant, Json::list(self.items))
    }
}

impl ObjectBuilder {
    fn push(&mut self, key: String, value: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        let value = value.serialize(TreeSerializer)?;
        self.members.push(Member { key, key_span: Span::default(), value });
        Ok(())
    }

    fn finish(self) -> Json {
        let members = self.members.finish();
        if self.is_raw {
            let text = members.first().and_then(|member| member.value.as_str()).unwrap_or_default();
            return parse(text).unwrap_or_default();
        }
        tagged(self.variant, Node::Object(members).into())
    }
}

macro_rules! leaves {
    ($($method:ident: $type:ty as $wide:ty),*) => {
        $(fn $method(self, value: $type) -> Result<Json, Failure> {
            Ok(Json::from(<$wide>::from(value)))
        })*
    };
}

impl Serializer for TreeSerializer {
    type Ok = Json;
    type Error = Failure;
    type SerializeSeq = ListBuilder;
    type SerializeTuple = ListBuilder;
    type SerializeTupleStruct = ListBuilder;
    type SerializeTupleVariant = ListBuilder;
    type SerializeMap = ObjectBuilder;
    type SerializeStruct = ObjectBuilder;
    type SerializeStructVariant = ObjectBuilder;

    leaves! {
        serialize_bool: bool as bool, serialize_i8: i8 as i64, serialize_i16: i16 as i64, serialize_i32: i32 as i64,
        serialize_i64: i64 as i64, serialize_u8: u8 as u64, serialize_u16: u16 as u64, serialize_u32: u32 as u64,
        serialize_u64: u64 as u64, serialize_f32: f32 as f64, serialize_f64: f64 as f64
    }

    fn serialize_char(self, value: char) -> Result<Json, Failure> {
        Ok(Json::str(value))
    }

    fn serialize_str(self, value: &str) -> Result<Json, Failure> {
        Ok(Json::str(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Json, Failure> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<Json, Failure> {
        Ok(Json::default())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Json, Failure> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Json, Failure> {
        Ok(Json::default())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Json, Failure> {
        Ok(Json::default())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Json, Failure> {
        Ok(Json::str(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Json, Failure> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Json, Failure> {
        Ok(tagged(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListBuilder, Failure> {
        Ok(ListBuilder::new(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<ListBuilder, Failure> {
        Ok(ListBuilder::new(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ListBuilder, Failure> {
        Ok(ListBuilder::new(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ListBuilder, Failure> {
        Ok(ListBuilder::new(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ObjectBuilder, Failure> {
        Ok(ObjectBuilder::default())
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<ObjectBuilder, Failure> {
        Ok(ObjectBuilder { is_raw: name == RAW, ..ObjectBuilder::default() })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ObjectBuilder, Failure> {
        Ok(ObjectBuilder { variant: Some(variant), ..ObjectBuilder::default() })
    }
}

macro_rules! builds_lists {
    ($($role:ident $method:ident),*) => {
        $(impl $role for ListBuilder {
            type Ok = Json;
            type Error = Failure;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Failure> {
                self.push(item)
            }

            fn end(self) -> Result<Json, Failure> {
                Ok(self.finish())
            }
        })*
    };
}

macro_rules! builds_objects {
    ($($role:ident),*) => {
        $(impl $role for ObjectBuilder {
            type Ok = Json;
            type Error = Failure;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failure> {
                self.push(key.to_owned(), value)
            }

            fn end(self) -> Result<Json, Failure> {
                Ok(self.finish())
            }
        })*
    };
}

builds_lists! {
    SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
}
builds_objects! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for ObjectBuilder {
    type Ok = Json;
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failure> {
        let key = key.serialize(TreeSerializer)?;
        self.key = key.as_str().map_or_else(|| key.to_text(), ToOwned::to_owned);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let key = std::mem::take(&mut self.key);
        self.push(key, value)
    }

    fn end(self) -> Result<Json, Failure> {
        Ok(self.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::value::RawValue;

    use super::*;

    const TEXT: &str = r#"{"b":[null,true,-7,1.5,"x"],"a":123456789012345678901234567890,"c":{}}"#;

    #[test]
    fn a_tree_is_written_and_read_without_a_loss() {
        let tree = parse(TEXT).unwrap();
        assert_eq!(to_json(&tree).to_text(), TEXT);
        assert_eq!(serde_json::to_string(&tree).unwrap(), TEXT);
    }

    #[test]
    fn raw_text_becomes_part_of_the_tree() {
        let raw = RawValue::from_string(TEXT.to_owned()).unwrap();
        let data = BTreeMap::from([("raw", Some(raw)), ("none", None)]);
        assert_eq!(to_json(&data).to_text(), format!(r#"{{"none":null,"raw":{TEXT}}}"#));
    }

    #[test]
    fn data_becomes_the_tree_that_serde_json_writes() {
        let data = (1_u8, -2_i64, u64::MAX, 'c', "t", Some(2.5_f32), (), [Ok("f"), Err(BTreeMap::from([(7, true)]))]);
        assert_eq!(to_json(&data).to_text(), serde_json::to_string(&data).unwrap());
        assert_eq!(to_json(&f64::INFINITY).to_text(), r#""Infinity""#);
    }
}
