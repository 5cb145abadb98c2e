//! Infers the types of JSON values, nested ones included.

use super::raw::{self, NotJson, Parts};
use crate::number;
use crate::text::state::InferredState;
use crate::text::summary::{MAX_NESTED_KEYS, ObjectState, ValueState};

/// Levels of objects and arrays below the value of a key of the line; deeper ones stay text.
const MAX_DEPTH: usize = 64;

/// Adds a value; returns the number of keys that are new.
pub(super) fn add_value(
    state: &mut ValueState,
    value: &str,
    depth: usize,
) -> Result<usize, NotJson> {
    let first = value.as_bytes().first().copied();
    if first == Some(b'n') {
        return Ok(0);
    }
    state.count += 1;
    if state.is_raw {
        return check_text(value, first);
    }
    let new_keys = match first {
        Some(b'{' | b'[') if depth >= MAX_DEPTH => {
            state.make_raw();
            0
        }
        Some(b'{') => {
            let object = state.object.get_or_insert_with(ObjectState::default);
            match add_object(object, value, depth)? {
                Some(new_keys) => new_keys,
                None => {
                    state.make_raw();
                    0
                }
            }
        }
        Some(b'[') => {
            let list = state.list.get_or_insert_with(Box::default);
            let (mut parts, mut new_keys) = (Parts::of(value)?, 0);
            while let Some(element) = parts.element()? {
                list.scalars.gaps |= element.starts_with('n');
                new_keys += add_value(list, element, depth + 1)?;
            }
            new_keys
        }
        _ => {
            match first {
                Some(b'"') => state.add_string(value, &raw::string(value)?),
                _ => add_scalar(&mut state.scalars, value, first)?,
            }
            0
        }
    };
    state.normalise();
    Ok(new_keys)
}

/// Adds the members of a nested object; returns the number of keys that are new, and `None`
/// if the object must stay text.
fn add_object(
    object: &mut ObjectState,
    value: &str,
    depth: usize,
) -> Result<Option<usize>, NotJson> {
    object.begin();
    let (mut parts, mut new_keys, mut guess) = (Parts::of(value)?, 0, 0);
    while let Some((key, value)) = parts.member()? {
        let (at, is_new) = object.position_or_insert(&key, guess);
        new_keys += usize::from(is_new);
        if object.fields().len() > MAX_NESTED_KEYS {
            return Ok(None);
        }
        let Some(state) = object.mark(at) else { return Ok(None) };
        new_keys += add_value(state, value, depth + 1)?;
        guess = at + 1;
    }
    Ok(Some(new_keys))
}

/// Checks the escapes of a string whose column is text.
fn check_text(value: &str, first: Option<u8>) -> Result<usize, NotJson> {
    if first == Some(b'"') {
        raw::string(value)?;
    }
    Ok(0)
}

/// Adds a number or boolean.
#[inline]
fn add_scalar(state: &mut InferredState, value: &str, first: Option<u8>) -> Result<(), NotJson> {
    match first {
        Some(b't' | b'f') => state.add_bool(),
        Some(b'-') if value == "-0" => state.add_float(-0.0),
        Some(b'-' | b'0'..=b'9') => match number::exact_int(value.as_bytes()) {
            Some(int) => state.add_int(int),
            None if value.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => {
                let float = number::exact_float(value.as_bytes()).or_else(|| value.parse().ok());
                match float {
                    Some(float) if float.is_finite() => state.add_float(float),
                    _ => state.add_text(),
                }
            }
            // An integer beyond 64 bits stays text, with all of its digits.
            None => state.add_text(),
        },
        _ => return Err(NotJson),
    }
    Ok(())
}
