//! The names and places of everything in an object.

use std::ops::Range;

use hashbrown::HashSet;

use super::walk::{JsonVisitor, walk_object};

/// Bytes that the names of a line may have together.
const MAX_NAME_BYTES: usize = 1 << 22;

/// The members of an object, named as in `a.b[0].c`.
#[derive(Debug, Default)]
pub(crate) struct JsonMembers {
    /// The names of strings, numbers, `true`, `false` and `null`, and their byte ranges.
    pub(crate) values: Vec<(String, Range<usize>)>,
    /// The names of objects and arrays and their byte ranges, the outermost object first.
    containers: Vec<(String, Range<usize>)>,
}

impl JsonMembers {
    /// Returns the members of the object that a line is; `None` if the line is not an object,
    /// if the outermost object repeats a key, or if all names take over [`MAX_NAME_BYTES`].
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
        let mut names = MemberNames { line, ..MemberNames::default() };
        walk_object(line, &mut Vec::new(), &mut names)?;
        Some(names.found)
    }

    /// Returns the names of objects and arrays inside the outermost object, which has no name.
    pub(crate) fn nested(&self) -> impl Iterator<Item = &String> {
        self.containers.iter().skip(1).map(|(name, _)| name)
    }

    /// Returns whether two members share a name.
    pub(crate) fn has_twins(&self) -> bool {
        let mut names = HashSet::new();
        let values = self.values.iter().map(|(name, _)| name);
        !values.chain(self.nested()).all(|name| names.insert(name))
    }
}

/// Returns the names of the values of a line; `None` if two members share a name, and where
/// [`JsonMembers::of`] returns `None`.
pub(crate) fn paths(line: &[u8]) -> Option<Vec<String>> {
    let members = JsonMembers::of(line)?;
    if members.has_twins() {
        return None;
    }
    Some(members.values.into_iter().map(|(name, _)| name).collect())
}

/// An object or an array whose end has not been reached.
struct OpenMember {
    name: String,
    /// Its index in [`JsonMembers::containers`].
    index: usize,
    /// The number of the next element, if it is an array.
    element: Option<usize>,
}

/// Collects the members of a line.
#[derive(Default)]
struct MemberNames<'a> {
    line: &'a [u8],
    found: JsonMembers,
    open: Vec<OpenMember>,
    /// Keys of the outermost object.
    keys: HashSet<String>,
    /// The latest key.
    key: String,
    /// Bytes of all names so far.
    name_bytes: usize,
}

impl MemberNames<'_> {
    /// Returns the name of the value that starts here; `None` if the names get too long.
    fn name(&mut self) -> Option<String> {
        let name = match self.open.last() {
            None => String::new(),
            Some(OpenMember { name, element: Some(element), .. }) => format!("{name}[{element}]"),
            Some(OpenMember { name, element: None, .. }) => joined(name, &self.key),
        };
        self.name_bytes += name.len();
        (self.name_bytes <= MAX_NAME_BYTES).then_some(name)
    }
}

impl JsonVisitor for MemberNames<'_> {
    fn open(&mut self, at: usize) -> Option<()> {
        let name = self.name()?;
        let element = (self.line.get(at) == Some(&b'[')).then_some(0);
        let index = self.found.containers.len();
        self.open.push(OpenMember { name: name.clone(), index, element });
        self.found.containers.push((name, at..at));
        Some(())
    }

    fn close(&mut self, at: usize) -> Option<()> {
        if let Some(OpenMember { index, .. }) = self.open.pop()
            && let Some((_, range)) = self.found.containers.get_mut(index)
        {
            range.end = at + 1;
        }
        Some(())
    }

    fn comma(&mut self) -> Option<()> {
        if let Some(OpenMember { element: Some(element), .. }) = self.open.last_mut() {
            *element += 1;
        }
        Some(())
    }

    fn key(&mut self, token: Range<usize>) -> Option<()> {
        let token = self.line.get(token).unwrap_or_default();
        self.key = serde_json::from_slice(token)
            .unwrap_or_else(|_| String::from_utf8_lossy(token).into_owned());
        // The reader of JSON Lines refuses repeated keys of the outermost object only, and so does this.
        let is_outermost = self.open.len() == 1;
        (!is_outermost || self.keys.insert(self.key.clone())).then_some(())
    }

    fn value(&mut self, token: Range<usize>) -> Option<()> {
        let name = self.name()?;
        self.found.values.push((name, token));
        Some(())
    }
}

/// Appends a key to a name; a key with special characters is quoted in brackets.
fn joined(before: &str, key: &str) -> String {
    let is_plain = !key.is_empty() && !key.contains(['.', '[', ']', '"']);
    match (before.is_empty(), is_plain) {
        // The names of a flat object are its keys, whatever they contain.
        (true, _) => key.to_owned(),
        (false, true) => format!("{before}.{key}"),
        (false, false) => {
            let quoted = serde_json::to_string(key).unwrap_or_default();
            format!("{before}[{quoted}]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_values() {
        let names = paths(br#"{"a":1,"b":{"c":2,"x.y":[3,{"d":4}]},"e":[[5],[6]],"":7,"p.q":8}"#);
        let want =
            ["a", "b.c", r#"b["x.y"][0]"#, r#"b["x.y"][1].d"#, "e[0][0]", "e[1][0]", "", "p.q"];
        assert_eq!(names.unwrap(), want);
        assert_eq!(paths(br#"{"a":1,"a":2}"#), None);
        assert_eq!(paths(br#"{"a":1,"\u0061":2}"#), None);
        assert!(paths(br#"{"a":{"b":1},"b":2}"#).is_some());
    }
}
