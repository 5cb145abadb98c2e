//! Where values stand in JSON: behind which keys, and in how many arrays.

use hashbrown::HashMap;

/// Keys of an object that get paths of their own. Where there are more, keys are data,
/// and those to come share one path.
const WIDEST: u32 = 512;

/// Keys and paths that there may be, so that others can use the bits above.
pub(in crate::pack) const MOST: u32 = 1 << 30;

/// The path of what is in nothing else.
pub(in crate::pack) const ROOT: u32 = 0;

/// In place of a key: elements of arrays, and keys beyond [`WIDEST`].
pub(in crate::pack) const ELEMENT: u32 = u32::MAX;
const OTHER: u32 = u32::MAX - 1;

/// Keys and paths, numbered in the order in which they were met.
#[derive(Debug)]
pub(in crate::pack) struct Paths<'a> {
    /// Keys as they are written.
    pub(in crate::pack) keys: Vec<&'a [u8]>,
    numbers: HashMap<&'a [u8], u32>,
    children: HashMap<(u32, u32), u32>,
    nodes: Vec<Node>,
}

/// A path.
#[derive(Clone, Copy, Debug)]
struct Node {
    before: u32,
    key: u32,
    /// How many keys there are behind it.
    width: u32,
}

impl<'a> Paths<'a> {
    pub(in crate::pack) fn new() -> Self {
        let root = Node { before: ROOT, key: ELEMENT, width: 0 };
        let (numbers, children) = (HashMap::new(), HashMap::new());
        Self { keys: Vec::new(), numbers, children, nodes: vec![root] }
    }

    /// How many paths there are.
    pub(in crate::pack) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Each path: the path before it, which comes earlier, and its key.
    pub(in crate::pack) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.nodes.iter().map(|node| (node.before, node.key))
    }

    /// The number of a key; `None` if there are too many.
    pub(in crate::pack) fn key(&mut self, token: &'a [u8]) -> Option<u32> {
        if let Some(&key) = self.numbers.get(token) {
            return Some(key);
        }
        let key = u32::try_from(self.keys.len()).ok().filter(|&key| key < MOST)?;
        self.numbers.insert(token, key);
        self.keys.push(token);
        Some(key)
    }

    /// The path of a key behind a path; `None` if there are too many.
    pub(in crate::pack) fn behind(&mut self, before: u32, key: u32) -> Option<u32> {
        if let Some(&path) = self.children.get(&(before, key)) {
            return Some(path);
        }
        let node = self.nodes.get_mut(before as usize)?;
        node.width = node.width.saturating_add(1);
        let key = if node.width > WIDEST { OTHER } else { key };
        if let Some(&path) = self.children.get(&(before, key)) {
            return Some(path);
        }
        let path = u32::try_from(self.nodes.len()).ok().filter(|&path| path < MOST)?;
        self.nodes.push(Node { before, key, width: 0 });
        self.children.insert((before, key), path);
        Some(path)
    }
}

/// The length of a string with its quotes, if `text` starts with one.
pub(in crate::pack) fn string(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_again() {
        let mut paths = Paths::new();
        let (a, b) = (paths.key(b"\"a\"").unwrap(), paths.key(b"\"b\"").unwrap());
        assert_eq!(paths.key(b"\"a\""), Some(a));
        let list = paths.behind(ROOT, a).unwrap();
        let element = paths.behind(list, ELEMENT).unwrap();
        assert_eq!(paths.behind(list, ELEMENT), Some(element));
        assert_ne!(paths.behind(ROOT, b), Some(list));
        assert_ne!(paths.behind(list, b), paths.behind(ROOT, b));
        assert_eq!(paths.iter().nth(element as usize), Some((list, ELEMENT)));
    }

    #[test]
    fn keys_without_end_share_a_path() {
        let mut paths = Paths::new();
        let all: Vec<u32> = (0..5000).map(|key| paths.behind(ROOT, key).unwrap()).collect();
        assert_eq!(paths.len(), WIDEST as usize + 2);
        assert_eq!(all[4000], all[4999]);
        assert_eq!(paths.behind(ROOT, 3), Some(all[3]));
    }
}
