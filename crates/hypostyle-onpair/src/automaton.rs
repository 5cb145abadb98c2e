//! Cutting strings into the longest tokens, byte by byte.
//!
//! A trie of all tokens says for each string that starts a token which bytes may
//! follow. Where the next byte does not, the longest token that the string starts with
//! is given out, and what is left of the string after it is where the search goes on:
//! each node knows both, so that no byte is looked at twice. This is the idea of
//! Aho and Corasick, with failure links that give out tokens.
//!
//! The trie is a double array: the child of node `n` for byte `b` is at place `n ^ b`,
//! if the entry there names `b`.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::MAX_TOKEN_SIZE;

/// Where every string begins.
pub(crate) const ROOT: u32 = 0;

/// A step to a child: its place, and in the lowest eight bits the byte that leads there.
///
/// Since every place is that of one node only, the byte tells whose child it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step(u32);

impl Step {
    /// The step of a place that no byte leads to: the byte is the one that would lead
    /// there from a node that is none.
    fn none(place: usize) -> Self {
        let [low, ..] = offset(place).to_le_bytes();
        Self::new(low ^ NO_NODE, ROOT)
    }

    fn new(byte: u8, child: u32) -> Self {
        Self(child << 8 | u32::from(byte))
    }

    #[inline]
    pub(crate) fn byte(self) -> u8 {
        let [byte, ..] = self.0.to_le_bytes();
        byte
    }

    #[inline]
    pub(crate) fn child(self) -> u32 {
        self.0 >> 8
    }
}

/// A place in every block that is that of no node.
const NO_NODE: u8 = u8::MAX;

/// What is given out where there is no step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fall {
    /// The node of what is left.
    pub(crate) node: u32,
    pub(crate) token: u16,
}

/// Cuts strings into the longest tokens of a dictionary.
///
/// # Invariants
///
/// Set up by [`Automaton::new`], the only constructor; no method breaks them.
///
/// 1. `steps` and `falls` have equally many entries, a multiple of 256.
/// 2. Every node that either names is an index into both. So is every node with its
///    lowest eight bits changed.
/// 3. A step leads from the root for every byte.
/// 4. Every fall from a node other than the root gives out a token, and as many bytes
///    of what led to the node as that token has are done with. So a string gives out
///    at most as many tokens as it has bytes.
#[derive(Clone, Debug)]
pub(crate) struct Automaton {
    pub(crate) steps: Vec<Step>,
    pub(crate) falls: Vec<Fall>,
    /// Bytes that are in no token but that of the byte alone, those first that are rare
    /// in most strings.
    pub(crate) alone: Vec<u8>,
}

impl Automaton {
    /// The automaton of a dictionary that has every single byte.
    ///
    /// Tokens are numbered in the order in which they come; of equal ones the last
    /// counts. Bytes that are no tokens count as the last token.
    pub(crate) fn new<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let trie = Trie::new(tokens);
        let mut places = Places::default();
        let ids = trie.place(&mut places);
        let id = |node: usize| ids.get(node).copied().unwrap_or(ROOT);
        let alone = trie.alone();
        let mut automaton = Self { steps: Vec::new(), falls: Vec::new(), alone };
        automaton.resize(places.len());
        for (index, node) in trie.nodes.iter().enumerate().skip(1) {
            let parent = id(node.parent as usize);
            if let Some(step) = automaton.steps.get_mut((parent ^ u32::from(node.byte)) as usize) {
                *step = Step::new(node.byte, id(index));
            }
        }
        automaton.link(&trie, &ids, &mut places);
        automaton
    }

    fn resize(&mut self, places: usize) {
        self.steps.extend((self.steps.len()..places).map(Step::none));
        self.falls.resize(places, Fall { node: ROOT, token: 0 });
    }

    /// Says for each node what is given out where no step leads on.
    fn link(&mut self, trie: &Trie, ids: &[u32], places: &mut Places) {
        // What is given out, and where that leads, if a node is left: the token of the
        // node, or what its parent gives out and then its byte.
        let mut known: HashMap<(u16, u32), u32, BuildHasherDefault<Mixer>> = HashMap::default();
        let mut given: Vec<u16> = Vec::new();
        for index in trie.by_depth() {
            let (Some(node), Some(&id)) = (trie.nodes.get(index), ids.get(index)) else { continue };
            if let Some(token) = node.token {
                self.fall(id, Fall { node: ROOT, token });
                continue;
            }
            given.clear();
            // What the parent gives out, and then the byte that led here.
            let mut at = ids.get(node.parent as usize).copied().unwrap_or(ROOT);
            at = self.falls_once(at, &mut given);
            at = self.next(at, node.byte, &mut given);
            // Several tokens are given out by as many nodes in a row.
            let mut next = at;
            let Some((&first, rest)) = given.split_first() else { continue };
            for &token in rest.iter().rev() {
                next = *known.entry((token, next)).or_insert_with(|| {
                    let id = places.id();
                    self.resize(places.len());
                    self.fall(id, Fall { node: next, token });
                    id
                });
            }
            self.fall(id, Fall { node: next, token: first });
        }
    }

    fn fall(&mut self, id: u32, fall: Fall) {
        if let Some(place) = self.falls.get_mut(id as usize) {
            *place = fall;
        }
    }

    #[inline]
    pub(crate) fn step(&self, node: u32, byte: u8) -> Option<u32> {
        let step = self.steps.get((node ^ u32::from(byte)) as usize)?;
        (step.byte() == byte).then_some(step.child())
    }

    /// Falls from a node, which gives out one token.
    fn falls_once(&self, node: u32, given: &mut Vec<u16>) -> u32 {
        let fall = self.falls.get(node as usize).copied();
        let fall = fall.unwrap_or(Fall { node: ROOT, token: 0 });
        given.push(fall.token);
        fall.node
    }

    /// Falls from a node until a byte leads on.
    fn next(&self, mut node: u32, byte: u8, given: &mut Vec<u16>) -> u32 {
        loop {
            match self.step(node, byte) {
                Some(child) => return child,
                None => node = self.falls_once(node, given),
            }
        }
    }

    /// Appends the tokens of a string.
    pub(crate) fn cut(&self, string: &[u8], out: &mut Vec<u16>) {
        self.cut_from(ROOT, string, out);
    }

    /// Appends the tokens of what led to a node and of the rest of a string.
    pub(crate) fn cut_from(&self, mut node: u32, string: &[u8], out: &mut Vec<u16>) {
        for &byte in string {
            node = self.next(node, byte, out);
        }
        while node != ROOT {
            node = self.falls_once(node, out);
        }
    }

    /// The token of a node, if it is one and not only the start of others.
    #[inline]
    pub(crate) fn token(&self, node: u32) -> Option<u16> {
        let fall = self.falls.get(node as usize)?;
        (fall.node == ROOT && node != ROOT).then_some(fall.token)
    }

    /// Appends the tokens of a string, as few as there can be; of several such ways
    /// the one whose first tokens are longest.
    pub(crate) fn cut_fewest(&self, string: &[u8], out: &mut Vec<u16>, room: &mut Vec<(u32, u16)>) {
        // Long strings in pieces, which costs at most a token for each.
        for piece in string.chunks(PIECE) {
            self.cut_piece(piece, out, room);
        }
    }

    fn cut_piece(&self, piece: &[u8], out: &mut Vec<u16>, room: &mut Vec<(u32, u16)>) {
        // For each place how many tokens are left from there on, and the first of them.
        room.clear();
        room.resize(piece.len() + 1, (0, 0));
        let mut lengths = vec![0_u8; piece.len()];
        for start in (0..piece.len()).rev() {
            let (mut node, mut best) = (ROOT, (u32::MAX, 0, 0));
            for (len, &byte) in (1..).zip(piece.iter().skip(start).take(MAX_TOKEN_SIZE)) {
                let Some(child) = self.step(node, byte) else { break };
                node = child;
                if let Some(token) = self.token(node) {
                    let left = room.get(start + usize::from(len)).map_or(0, |it| it.0) + 1;
                    if left <= best.0 {
                        best = (left, token, len);
                    }
                }
            }
            if let (Some(place), Some(length)) = (room.get_mut(start), lengths.get_mut(start)) {
                (*place, *length) = ((best.0, best.1), best.2);
            }
        }
        let mut at = 0;
        while let (Some(&(_, token)), Some(&len)) = (room.get(at), lengths.get(at)) {
            out.push(token);
            at += usize::from(len.max(1));
        }
    }
}

/// Bytes of a string that are cut into the fewest tokens at once.
const PIECE: usize = 1 << 16;

/// Mixes a token and a node.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u32(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(26) ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// All tokens by their bytes.
#[derive(Debug)]
struct Trie {
    nodes: Vec<Node>,
}

/// A node while the trie is made.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    /// The first child and the next one of the same parent; 0 if there is none.
    child: u32,
    next: u32,
    byte: u8,
    depth: u8,
    token: Option<u16>,
}

impl Node {
    fn new(parent: u32, byte: u8, depth: u8) -> Self {
        Self { parent, child: 0, next: 0, byte, depth, token: None }
    }
}

impl Trie {
    fn new<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut sorted: Vec<(&[u8], u16)> = tokens.zip(0..=u16::MAX).collect();
        sorted.sort_unstable();
        let mut trie = Self { nodes: vec![Node::new(0, 0, 0)] };
        let count = u16::try_from(sorted.len().saturating_sub(1)).unwrap_or(u16::MAX);
        // The nodes of the token before: neighbours share most of them.
        let mut path: Vec<usize> = vec![0];
        let mut last: &[u8] = &[];
        for (token, number) in sorted {
            let token = token.get(..MAX_TOKEN_SIZE).unwrap_or(token);
            let shared = last.iter().zip(token).take_while(|(a, b)| a == b).count();
            path.truncate(shared + 1);
            for &byte in token.iter().skip(shared) {
                let parent = path.last().copied().unwrap_or(0);
                path.push(trie.add(parent, byte));
            }
            if let Some(node) = path.last().and_then(|&node| trie.nodes.get_mut(node)) {
                node.token = Some(number);
            }
            last = token;
        }
        // Invariant 3 of the automaton, whatever the dictionary.
        let mut bytes = Vec::new();
        trie.children(0, &mut bytes);
        for byte in (0..=u8::MAX).filter(|byte| !bytes.contains(byte)) {
            trie.add(0, byte);
        }
        for node in trie.nodes.iter_mut().filter(|node| node.depth == 1) {
            node.token = node.token.or(Some(count));
        }
        trie
    }

    fn add(&mut self, parent: usize, byte: u8) -> usize {
        let index = self.nodes.len();
        let depth = self.nodes.get(parent).map_or(0, |node| node.depth) + 1;
        let mut node = Node::new(offset(parent), byte, depth);
        if let Some(parent) = self.nodes.get_mut(parent) {
            node.next = parent.child;
            parent.child = offset(index);
        }
        self.nodes.push(node);
        index
    }

    /// Bytes that lead only from the root, and to where nothing leads on. Text in UTF-8 has
    /// no bytes from 0xF8 on, so the last come first.
    fn alone(&self) -> Vec<u8> {
        let mut alone = [true; 256];
        for node in self.nodes.iter().skip(1).filter(|node| node.depth > 1 || node.child != 0) {
            if let Some(alone) = alone.get_mut(usize::from(node.byte)) {
                *alone = false;
            }
        }
        let is_alone = |&byte: &u8| alone.get(usize::from(byte)) == Some(&true);
        (0..=u8::MAX).rev().filter(is_alone).collect()
    }

    /// All nodes but the root, those nearer to it first.
    fn by_depth(&self) -> Vec<usize> {
        let mut levels: [Vec<usize>; MAX_TOKEN_SIZE] = Default::default();
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if let Some(level) = levels.get_mut(usize::from(node.depth) - 1) {
                level.push(index);
            }
        }
        levels.concat()
    }

    /// The bytes of the children of a node.
    fn children(&self, index: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        let mut child = self.nodes.get(index).map_or(0, |node| node.child);
        while let Some(node) = self.nodes.get(child as usize).filter(|_| child != 0) {
            bytes.push(node.byte);
            child = node.next;
        }
    }

    /// A place for every node.
    fn place(&self, places: &mut Places) -> Vec<u32> {
        let mut ids = vec![ROOT; self.nodes.len()];
        let mut bytes = Vec::new();
        // Every string passes those near the root, so they are put together.
        let order = [0].into_iter().chain(self.by_depth());
        for index in order {
            self.children(index, &mut bytes);
            let id = places.of_children(&bytes);
            if let Some(place) = ids.get_mut(index) {
                *place = id;
            }
        }
        ids
    }
}

/// Which places of the double array are taken.
///
/// A node and its children lie in one block of 256 places.
#[derive(Debug, Default)]
struct Places {
    blocks: Vec<Block>,
    /// The first block in which there may be room.
    first: usize,
}

#[derive(Clone, Debug)]
struct Block {
    /// Places that hold no step, and those that name no node.
    steps: Bits,
    nodes: Bits,
}

/// Blocks that are searched for room.
const SEARCHED: usize = 12;

impl Places {
    fn len(&self) -> usize {
        self.blocks.len() * 256
    }

    /// A place for a node without children.
    fn id(&mut self) -> u32 {
        self.of_children(&[])
    }

    /// A place for a node with such children, which then have theirs.
    fn of_children(&mut self, bytes: &[u8]) -> u32 {
        while self.blocks.get(self.first).is_some_and(|block| block.nodes.is_empty()) {
            self.first += 1;
        }
        let start = self.first.max(self.blocks.len().saturating_sub(SEARCHED));
        // The oldest first: what is left over there would stay empty.
        let open = [self.first].into_iter().chain(start..self.blocks.len());
        for index in open {
            if let Some(block) = self.blocks.get_mut(index)
                && let Some(place) = block.room(bytes)
            {
                block.take(place, bytes);
                return offset(index * 256) + u32::from(place);
            }
        }
        let mut nodes = Bits::FULL;
        nodes.remove(NO_NODE);
        self.blocks.push(Block { steps: Bits::FULL, nodes });
        match self.blocks.last_mut() {
            Some(block) => {
                let place = block.room(bytes).unwrap_or(0);
                block.take(place, bytes);
                offset((self.blocks.len() - 1) * 256) + u32::from(place)
            }
            None => ROOT,
        }
    }
}

impl Block {
    fn room(&self, bytes: &[u8]) -> Option<u8> {
        let mut room = self.nodes;
        for &byte in bytes {
            room = room.and(self.steps.exchanged(byte));
            if room.is_empty() {
                return None;
            }
        }
        room.first()
    }

    fn take(&mut self, place: u8, bytes: &[u8]) {
        self.nodes.remove(place);
        bytes.iter().for_each(|&byte| self.steps.remove(place ^ byte));
    }
}

/// A set of bytes.
#[derive(Clone, Copy, Debug)]
struct Bits([u64; 4]);

impl Bits {
    const FULL: Self = Self([u64::MAX; 4]);

    fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    fn and(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & e, b & f, c & g, d & h])
    }

    fn first(self) -> Option<u8> {
        let word = self.0.iter().position(|&word| word != 0)?;
        let bit = self.0.get(word)?.trailing_zeros();
        u8::try_from(word * 64 + bit as usize).ok()
    }

    fn remove(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte / 64)) {
            *word &= !(1 << (byte % 64));
        }
    }

    /// The bytes that become members of this set if `byte` is added without carry.
    fn exchanged(self, byte: u8) -> Self {
        const MASKS: [u64; 6] = [
            0x5555_5555_5555_5555,
            0x3333_3333_3333_3333,
            0x0F0F_0F0F_0F0F_0F0F,
            0x00FF_00FF_00FF_00FF,
            0x0000_FFFF_0000_FFFF,
            0x0000_0000_FFFF_FFFF,
        ];
        let mut words = self.0;
        if byte & 0x40 != 0 {
            let [a, b, c, d] = words;
            words = [b, a, d, c];
        }
        if byte & 0x80 != 0 {
            let [a, b, c, d] = words;
            words = [c, d, a, b];
        }
        for (bit, mask) in MASKS.iter().enumerate() {
            if byte >> bit & 1 != 0 {
                words = words.map(|word| (word & mask) << (1 << bit) | word >> (1 << bit) & mask);
            }
        }
        Self(words)
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;

    #[test]
    fn sets_are_exchanged_as_their_bytes() {
        let mut set = Bits::FULL;
        (0..=255).filter(|byte| byte % 7 != 3).for_each(|byte| set.remove(byte));
        for byte in [0, 1, 2, 5, 63, 64, 128, 200, 255] {
            let mut expected = Bits::FULL;
            (0..=255_u8).filter(|it| (it ^ byte) % 7 != 3).for_each(|it| expected.remove(it));
            assert_eq!(set.exchanged(byte).0, expected.0);
        }
        assert_eq!(set.first(), Some(3));
    }

    #[test]
    fn what_falls_back_is_cut_again() {
        let bytes: Vec<[u8; 1]> = (0..=255).map(|byte| [byte]).collect();
        let long: [&[u8]; 7] = [b"ab", b"abcdefgh", b"cde", b"ef", b"fg", b"fgx", b"gxyz"];
        let tokens: Vec<&[u8]> = bytes.iter().map(|byte| &byte[..]).chain(long).collect();
        let automaton = Automaton::new(tokens.iter().copied());
        for text in
            ["", "a", "abcdefgx", "abcdefgxyz", "abcdefgxy", "abcdef", "abcdefghabc", "cdefgxyzz"]
        {
            let mut codes = Vec::new();
            automaton.cut(text.as_bytes(), &mut codes);
            assert_eq!(codes, naive::cut(&tokens, text.as_bytes()), "{text}");
        }
    }
}
