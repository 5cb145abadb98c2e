//! Parses a line: the keys of an object, and its values as raw JSON text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Parses an object into members, whose memory is reused.
pub(super) struct MembersSeed<'v, 'a>(pub(super) &'v mut Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for MembersSeed<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for MembersSeed<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((JsonText(key), value)) = map.next_entry::<JsonText<'de>, &'de RawValue>()? {
            self.0.push((key, value));
        }
        Ok(())
    }
}

/// A JSON string, borrowed from the line unless it has escapes.
#[derive(Debug)]
pub(super) struct JsonText<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(JsonTextVisitor(std::marker::PhantomData))
    }
}

struct JsonTextVisitor<'a>(std::marker::PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for JsonTextVisitor<'a> {
    type Value = JsonText<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(JsonText(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(JsonText(Cow::Owned(text.to_owned())))
    }
}
