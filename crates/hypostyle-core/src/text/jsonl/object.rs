//! One line: the keys of an object, and its values as they are spelled.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a JSON object, in order, with values unread.
#[derive(Debug)]
pub(super) struct Object<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl Object<'_> {
    /// Whether no key stands there twice.
    pub(super) fn has_unique_keys(&self) -> bool {
        let mut keys: Vec<&str> = self.0.iter().map(|(key, _)| &**key).collect();
        keys.sort_unstable();
        keys.windows(2).all(|pair| pair.first() != pair.last())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

struct Members<'a>(std::marker::PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
    type Value = Object<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            members.push((key, value));
        }
        Ok(Object(members))
    }
}

/// A string, borrowed from the line unless it has escapes.
#[derive(Debug)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(AnyText(std::marker::PhantomData))
    }
}

struct AnyText<'a>(std::marker::PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for AnyText<'a> {
    type Value = Text<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}
