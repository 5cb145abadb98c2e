//! What the JSON values of a column have in common.

use std::collections::HashMap;

use crate::text::state::InferredState;

/// What the values of a key, or the elements of a list, have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueState {
    /// The number of values that are not null.
    pub count: u64,
    /// The state of the numbers, booleans and strings.
    pub scalars: InferredState,
    /// The keys of the objects, if some value is an object.
    pub object: Option<ObjectState>,
    /// The state of the elements of the arrays, if some value is an array.
    pub list: Option<Box<Self>>,
    /// Some object or array stays text: it is nested too deeply, or a key occurs twice.
    pub is_raw: bool,
}

/// The keys of some objects, in the order in which they first appeared.
#[derive(Clone, Debug, Default)]
pub struct ObjectState {
    fields: Vec<(String, ValueState)>,
    /// The positions of the keys, if they are many.
    index: HashMap<String, usize>,
}

/// Objects with more keys are indexed.
const MAX_UNINDEXED: usize = 16;

impl Default for ValueState {
    fn default() -> Self {
        Self { count: 0, scalars: InferredState::NONE, object: None, list: None, is_raw: false }
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

    /// Returns the position of a key; most likely it is `guess`.
    #[inline]
    pub(crate) fn position(&self, key: &str, guess: usize) -> Option<usize> {
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
    }
}

impl PartialEq for ObjectState {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}
