//! Keys and paths of JSON values, numbered in order of first appearance.

use hashbrown::HashMap;

/// Keys of an object that get paths of their own. An object with more keys uses keys as data:
/// further ones share one path.
const MAX_CHILD_KEYS: u32 = 512;

/// Keys, paths and counts stay below this number, so that two bits of a `u32` remain free.
pub(in crate::pack) const MAX_NUMBER: u32 = 1 << 30;

/// The path of the outermost value.
pub(in crate::pack) const ROOT: u32 = 0;

/// Replaces a key in the path of an array element.
pub(in crate::pack) const ELEMENT: u32 = u32::MAX;

/// Replaces the keys beyond [`MAX_CHILD_KEYS`].
const OTHER_KEY: u32 = u32::MAX - 1;

/// The keys and paths of a text.
#[derive(Debug)]
pub(in crate::pack) struct JsonPaths<'a> {
    /// Key tokens, by number.
    pub(in crate::pack) keys: Vec<&'a [u8]>,
    key_numbers: HashMap<&'a [u8], u32>,
    /// Paths by parent and key.
    children: HashMap<(u32, u32), u32>,
    nodes: Vec<PathNode>,
}

/// A path.
#[derive(Clone, Copy, Debug)]
struct PathNode {
    parent: u32,
    key: u32,
    /// How many different keys were asked for below it.
    width: u32,
}

impl<'a> JsonPaths<'a> {
    /// Starts with the root only.
    pub(in crate::pack) fn new() -> Self {
        let root = PathNode { parent: ROOT, key: ELEMENT, width: 0 };
        let (key_numbers, children) = (HashMap::new(), HashMap::new());
        Self { keys: Vec::new(), key_numbers, children, nodes: vec![root] }
    }

    /// Returns how many paths there are.
    pub(in crate::pack) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the parent and the key of each path; a parent precedes its children.
    pub(in crate::pack) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.nodes.iter().map(|node| (node.parent, node.key))
    }

    /// Returns the number of a key; `None` if there are too many keys.
    pub(in crate::pack) fn key(&mut self, token: &'a [u8]) -> Option<u32> {
        if let Some(&key) = self.key_numbers.get(token) {
            return Some(key);
        }
        let key = u32::try_from(self.keys.len()).ok().filter(|&key| key < MAX_NUMBER)?;
        self.key_numbers.insert(token, key);
        self.keys.push(token);
        Some(key)
    }

    /// Returns the path of a key below a parent; `None` if there are too many paths.
    pub(in crate::pack) fn child(&mut self, parent: u32, key: u32) -> Option<u32> {
        if let Some(&path) = self.children.get(&(parent, key)) {
            return Some(path);
        }
        let node = self.nodes.get_mut(parent as usize)?;
        node.width = node.width.saturating_add(1);
        let key = if node.width > MAX_CHILD_KEYS { OTHER_KEY } else { key };
        if let Some(&path) = self.children.get(&(parent, key)) {
            return Some(path);
        }
        let path = u32::try_from(self.nodes.len()).ok().filter(|&path| path < MAX_NUMBER)?;
        self.nodes.push(PathNode { parent, key, width: 0 });
        self.children.insert((parent, key), path);
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_and_paths_have_equal_numbers() {
        let mut paths = JsonPaths::new();
        let (a, b) = (paths.key(b"\"a\"").unwrap(), paths.key(b"\"b\"").unwrap());
        assert_eq!(paths.key(b"\"a\""), Some(a));
        let list = paths.child(ROOT, a).unwrap();
        let element = paths.child(list, ELEMENT).unwrap();
        assert_eq!(paths.child(list, ELEMENT), Some(element));
        assert_ne!(paths.child(ROOT, b), Some(list));
        assert_ne!(paths.child(list, b), paths.child(ROOT, b));
        assert_eq!(paths.iter().nth(element as usize), Some((list, ELEMENT)));
    }

    #[test]
    fn keys_beyond_the_limit_share_a_path() {
        let mut paths = JsonPaths::new();
        let all: Vec<u32> = (0..5000).map(|key| paths.child(ROOT, key).unwrap()).collect();
        assert_eq!(paths.len(), MAX_CHILD_KEYS as usize + 2);
        assert_eq!(all[4000], all[4999]);
        assert_eq!(paths.child(ROOT, 3), Some(all[3]));
    }
}
