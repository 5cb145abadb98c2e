//! What the JSON values of a column have in common.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

#[cfg(feature = "json")]
use crate::spelling::NULL_TOKENS;
use crate::text::options::TextOptions;
use crate::text::state::{Infer, InferredState, Resolved};
use crate::types::Capabilities;

/// Objects with more keys than this are maps rather than records, and stay text; the object
/// of a line may have more.
pub(crate) const MAX_NESTED_KEYS: usize = 1000;

/// The length of the longest of [`NULL_TOKENS`].
#[cfg(feature = "json")]
const MAX_TOKEN_BYTES: usize = 4;

/// Objects with more keys are indexed.
const MAX_UNINDEXED: usize = 16;

/// What the values of a key, or the elements of a list, have in common.
///
/// States are merged in the order of the text, because keys keep the order in which they
/// first appeared.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueState {
    /// The number of values that are not null.
    pub count: u64,
    /// The state of the numbers, booleans and strings.
    pub scalars: InferredState,
    /// The one string of `NULL_TOKENS` that occurs, if the other strings are spelled alike; it is
    /// not in the state of the scalars.
    pub null_token: Option<&'static str>,
    /// The keys of the objects, if some value is an object.
    pub object: Option<ObjectState>,
    /// The state of the elements of the arrays, if some value is an array.
    pub list: Option<Box<Self>>,
    /// The values stay text, as they are spelled: they are of several kinds, nested too
    /// deeply, have a key twice or too many keys. Nothing else is then known of them.
    pub is_raw: bool,
}

/// The keys of some objects, in the order in which they first appeared.
#[derive(Clone, Debug, Default)]
pub struct ObjectState {
    fields: Vec<(String, ValueState)>,
    /// The positions of the keys, if they are many.
    index: HashMap<String, usize>,
    /// The number of the last object that had each key, and of the object that is added.
    seen: Vec<u64>,
    objects: u64,
}

impl Default for ValueState {
    fn default() -> Self {
        Self {
            count: 0,
            scalars: InferredState::NONE,
            null_token: None,
            object: None,
            list: None,
            is_raw: false,
        }
    }
}

impl ValueState {
    /// Returns the type of a column of these values, and how they are spelled.
    pub(in crate::text) fn resolve_spelled(&self, options: &TextOptions) -> Resolved {
        let data_type = match (&self.object, &self.list) {
            // A string means null only in the values of a key of the line.
            _ if self.is_raw || self.null_token.is_some() => DataType::Utf8,
            // Arrow can store objects without keys, and most formats cannot.
            (Some(object), _) if object.fields.is_empty() => DataType::Utf8,
            (Some(object), _) => DataType::Struct(object.resolve(options)),
            (None, Some(elements)) => {
                let elements = elements.resolve_spelled(options);
                let field = Field::new_list_field(elements.data_type.clone(), true);
                DataType::List(Arc::new(elements.in_field(field)))
            }
            // JSON itself distinguishes numbers, null and text.
            (None, None) => {
                // Strings are dates if the target has dates.
                let arrow_types = options.capabilities.arrow_types && options.infer != Infer::Text;
                let capabilities = Capabilities { arrow_types, ..Capabilities::EVERYTHING };
                return self.scalars.resolve_spelled(Infer::Numeric, capabilities);
            }
        };
        Resolved::new(data_type)
    }

    /// Adds the state of the values that follow in the text; returns the number of keys
    /// that are new.
    pub fn merge(&mut self, next: Self) -> usize {
        self.count += next.count;
        if self.is_raw {
            return 0;
        }
        if next.is_raw {
            self.make_raw();
            return 0;
        }
        self.scalars.merge(&next.scalars);
        match (self.null_token, next.null_token) {
            (Some(one), Some(other)) if one != other => self.scalars.add_text(),
            (one, other) => self.null_token = one.or(other),
        }
        let mut new_keys = 0;
        if let Some(next) = next.object {
            let object = self.object.get_or_insert_with(ObjectState::default);
            new_keys += object.merge(next);
            if object.fields.len() > MAX_NESTED_KEYS {
                self.make_raw();
            }
        }
        if let Some(next) = next.list {
            new_keys += self.list.get_or_insert_with(Box::default).merge(*next);
        }
        self.normalise();
        new_keys
    }

    /// Calls a function with the state of these values and of all nested ones.
    pub fn each_state(&mut self, change: &mut dyn FnMut(&mut InferredState)) {
        change(&mut self.scalars);
        let members = self.object.iter_mut().flat_map(|object| &mut object.fields);
        members.for_each(|(_, member)| member.each_state(change));
        if let Some(elements) = &mut self.list {
            elements.each_state(change);
        }
    }

    /// Makes the values text if they are of several kinds.
    pub(crate) fn normalise(&mut self) {
        let InferredState { ints, floats, texts, bools, .. } = self.scalars;
        let kinds = u8::from(self.object.is_some())
            + u8::from(self.list.is_some())
            + u8::from(ints || floats || texts || bools || self.null_token.is_some());
        if kinds > 1 {
            self.make_raw();
        }
        // Beside other strings, it is a string.
        if texts && self.scalars.spelled.is_none() {
            self.null_token = None;
        }
    }

    /// Adds a string, of which `raw` is the text with quotes and escapes.
    #[cfg(feature = "json")]
    pub(crate) fn add_string(&mut self, raw: &str, text: &str) {
        let is_text = self.scalars.texts && self.scalars.spelled.is_none();
        let is_plain = raw.len() == text.len() + 2;
        let token = match is_text || !is_plain || text.len() > MAX_TOKEN_BYTES {
            true => None,
            false => NULL_TOKENS.into_iter().find(|token| *token == text),
        };
        match (token, self.null_token) {
            (None, _) => self.scalars.add_string(text.as_bytes()),
            (Some(token), Some(other)) if token != other => self.scalars.add_text(),
            (token, _) => self.null_token = token,
        }
    }

    /// Makes the strings that may mean null ordinary strings, here and in nested values.
    pub fn forget_null_tokens(&mut self) {
        if self.null_token.take().is_some() {
            self.scalars.add_text();
        }
        let members = self.object.iter_mut().flat_map(|object| &mut object.fields);
        members.for_each(|(_, member)| member.forget_null_tokens());
        if let Some(elements) = &mut self.list {
            elements.forget_null_tokens();
        }
    }

    /// Makes the values text.
    pub(crate) fn make_raw(&mut self) {
        *self = Self { count: self.count, is_raw: true, ..Self::default() };
    }
}

impl ObjectState {
    /// Returns the state of objects with these keys, which must differ.
    pub fn new(fields: Vec<(String, ValueState)>) -> Self {
        let mut state = Self::default();
        for (key, value) in fields {
            state.push(key, value);
        }
        state
    }

    /// Returns the keys and the states of their values.
    pub fn fields(&self) -> &[(String, ValueState)] {
        &self.fields
    }

    /// Returns the keys and the states of their values.
    pub fn into_fields(self) -> Vec<(String, ValueState)> {
        self.fields
    }

    /// Returns the fields of a column of these objects.
    fn resolve(&self, options: &TextOptions) -> Fields {
        let field = |(name, state): &(String, ValueState)| {
            let resolved = state.resolve_spelled(options);
            resolved.in_field(Field::new(name, resolved.data_type.clone(), true))
        };
        self.fields.iter().map(field).collect()
    }

    /// Adds the objects that follow in the text; returns the number of keys that are new.
    pub fn merge(&mut self, next: Self) -> usize {
        let mut new_keys = 0;
        for (at, (key, value)) in next.fields.into_iter().enumerate() {
            let (at, is_new) = self.position_or_insert(&key, at);
            new_keys += usize::from(is_new);
            if let Some((_, state)) = self.fields.get_mut(at) {
                new_keys += state.merge(value);
            }
        }
        new_keys
    }

    /// Begins to add an object.
    pub(crate) fn begin(&mut self) {
        self.objects += 1;
    }

    /// Records that the object that was begun has a key, and returns its state; `None` if
    /// the object has the key twice.
    pub(crate) fn mark(&mut self, position: usize) -> Option<&mut ValueState> {
        let seen = self.seen.get_mut(position)?;
        let is_first = std::mem::replace(seen, self.objects) != self.objects;
        self.fields.get_mut(position).filter(|_| is_first).map(|(_, state)| state)
    }

    /// Returns the position of a key, which most likely is `guess`, and whether it is new.
    pub(crate) fn position_or_insert(&mut self, key: &str, guess: usize) -> (usize, bool) {
        if let Some(at) = self.position(key, guess) {
            return (at, false);
        }
        self.push(key.to_owned(), ValueState::default());
        (self.fields.len() - 1, true)
    }

    #[inline]
    fn position(&self, key: &str, guess: usize) -> Option<usize> {
        if self.fields.get(guess).is_some_and(|(name, _)| name == key) {
            return Some(guess);
        }
        if self.fields.len() > MAX_UNINDEXED {
            return self.index.get(key).copied();
        }
        self.fields.iter().position(|(name, _)| name == key)
    }

    fn push(&mut self, key: String, value: ValueState) {
        let at = self.fields.len();
        if at == MAX_UNINDEXED {
            let positions = self.fields.iter().enumerate();
            self.index = positions.map(|(at, (name, _))| (name.clone(), at)).collect();
        }
        if at >= MAX_UNINDEXED {
            self.index.insert(key.clone(), at);
        }
        self.fields.push((key, value));
        self.seen.push(0);
    }
}

impl PartialEq for ObjectState {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}
