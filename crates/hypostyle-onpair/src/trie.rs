//! Tokens by their bytes, while more are being learned.

use crate::MAX_TOKEN_SIZE;
use crate::train::{BYTES, Token};

/// No token, and no node.
const NONE: u32 = u32::MAX;

/// Tokens by their bytes, to which more can be added.
#[derive(Debug)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
    /// The node of every two bytes.
    pairs: Vec<u32>,
    /// Steps to children that are not the first of their parent: node and byte in the
    /// upper half, child in the lower.
    steps: Vec<u64>,
    used: usize,
}

/// A node, with the first of its children, which mostly is the only one.
///
/// The nodes of a token were made one after the other and lie so in memory.
#[derive(Clone, Copy, Debug)]
struct Node {
    token: u32,
    child: u32,
    byte: u8,
    /// Whether there are other children.
    more: bool,
}

impl Node {
    const EMPTY: Self = Self { token: NONE, child: NONE, byte: 0, more: false };
}

impl Trie {
    pub(crate) fn new(tokens: &[Token]) -> Self {
        let mut trie = Self {
            // The nodes of single bytes.
            nodes: vec![Node::EMPTY; BYTES],
            pairs: vec![NONE; BYTES * BYTES],
            steps: vec![u64::MAX; 1 << 12],
            used: 0,
        };
        for (index, token) in tokens.iter().enumerate() {
            trie.insert(token.bytes(), index);
        }
        trie
    }

    /// Adds a token by this number, unless it is there; says which number it has.
    pub(crate) fn insert(&mut self, bytes: &[u8], token: usize) -> u32 {
        let mut node = match *bytes {
            [] => return NONE,
            [byte] => usize::from(byte),
            [one, other, ..] => {
                let next = self.nodes.len();
                match self.pairs.get_mut(usize::from(one) << 8 | usize::from(other)) {
                    Some(node) if *node == NONE => {
                        *node = number(next);
                        self.nodes.push(Node::EMPTY);
                        next
                    }
                    Some(node) => *node as usize,
                    None => return NONE,
                }
            }
        };
        for &byte in bytes.iter().skip(2) {
            node = self.add(node, byte);
        }
        match self.nodes.get_mut(node) {
            Some(node) if node.token == NONE => {
                node.token = number(token);
                node.token
            }
            Some(node) => node.token,
            None => NONE,
        }
    }

    fn add(&mut self, index: usize, byte: u8) -> usize {
        let next = self.nodes.len();
        let Some(node) = self.nodes.get_mut(index) else { return index };
        if node.child == NONE {
            (node.child, node.byte) = (number(next), byte);
        } else if node.byte == byte {
            return node.child as usize;
        } else {
            let key = (index as u64) << 8 | u64::from(byte);
            node.more = true;
            if let Some(child) = self.step(key) {
                return child as usize;
            }
            if self.used * 2 > self.steps.len() {
                let old = std::mem::take(&mut self.steps);
                self.steps = vec![u64::MAX; old.len() * 2];
                old.into_iter().filter(|&step| step != u64::MAX).for_each(|step| self.put(step));
            }
            self.put(key << 32 | next as u64);
            self.used += 1;
        }
        self.nodes.push(Node::EMPTY);
        next
    }

    fn put(&mut self, step: u64) {
        let mask = self.steps.len() - 1;
        let mut at = hash(step >> 32);
        while let Some(place) = self.steps.get_mut(at & mask) {
            if *place == u64::MAX {
                *place = step;
                return;
            }
            at += 1;
        }
    }

    #[inline]
    fn step(&self, key: u64) -> Option<u32> {
        let mask = self.steps.len() - 1;
        let mut at = hash(key);
        loop {
            let step = *self.steps.get(at & mask)?;
            if step >> 32 == key {
                return u32::try_from(step & 0xFFFF_FFFF).ok();
            }
            if step == u64::MAX {
                return None;
            }
            at += 1;
        }
    }

    /// The longest token that bytes start with, and its length.
    #[inline]
    pub(crate) fn longest(&self, bytes: &[u8]) -> (u32, usize) {
        self.longest_within(bytes, MAX_TOKEN_SIZE)
    }

    /// The longest token of at most so many bytes.
    #[inline]
    fn longest_within(&self, bytes: &[u8], most: usize) -> (u32, usize) {
        let Some((&first, rest)) = bytes.split_first() else { return (NONE, 0) };
        let mut best = (self.nodes.get(usize::from(first)).map_or(NONE, |node| node.token), 1);
        let Some((&second, rest)) = rest.split_first().filter(|_| most > 1) else { return best };
        let pair = self.pairs.get(usize::from(first) << 8 | usize::from(second));
        let Some((&pair, mut node)) =
            pair.and_then(|pair| Some((pair, self.nodes.get(*pair as usize)?)))
        else {
            return best;
        };
        if node.token != NONE {
            best = (node.token, 2);
        }
        let mut index = u64::from(pair);
        for (len, &byte) in (3..=most).zip(rest) {
            let child = if node.byte == byte && node.child != NONE {
                node.child
            } else if node.more {
                match self.step(index << 8 | u64::from(byte)) {
                    Some(child) => child,
                    None => break,
                }
            } else {
                break;
            };
            let Some(next) = self.nodes.get(child as usize) else { break };
            (index, node) = (child.into(), next);
            if node.token != NONE {
                best = (node.token, len);
            }
        }
        best
    }

    /// The codes that the bytes of a token would take without it.
    pub(crate) fn without(&self, token: &[u8]) -> u64 {
        let (mut rest, mut codes) = (token, 0);
        let mut most = token.len().saturating_sub(1).max(1);
        while !rest.is_empty() {
            let (_, len) = self.longest_within(rest, most);
            rest = rest.get(len.max(1)..).unwrap_or_default();
            codes += 1;
            most = MAX_TOKEN_SIZE;
        }
        codes
    }
}

/// A place in a table, from which the lowest bits are taken.
#[inline]
pub(crate) fn hash(key: u64) -> usize {
    // The upper bits depend on all bits of the key.
    usize::try_from(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).unwrap_or(0)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}
