//! Cutting several strings at once.
//!
//! [`Automaton::cut`] waits for memory at every byte, and does not know at which one a
//! token ends. Here some texts are cut in step, so that the wait for one is the work on
//! another, and no step depends on a guess. Nor does the end of a string: strings stand
//! in these texts with a byte between them that is in no token but its own, and are told
//! apart by its code afterwards.

#![expect(unsafe_code, reason = "a bounds check for each byte would take half of the time")]

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::Strings;
use crate::automaton::{Automaton, ROOT};

/// Texts that are cut at the same time.
const LANES: usize = 12;

/// The longest text: places in it and in the codes have 31 bits.
const LONGEST: usize = 1 << 30;

/// Bytes that are tried between strings.
const TRIED: usize = 8;

/// Codes of some strings.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    pub(crate) codes: Vec<u16>,
    /// How many each string has.
    pub(crate) counts: Vec<u32>,
    /// Strings, each with the byte that stands between them behind it.
    text: Vec<u8>,
    /// Where lanes write.
    room: Vec<u16>,
    /// How many of the bytes that could stand between strings were found in one.
    met: usize,
}

impl Cut {
    /// Forgets all codes.
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.counts.clear();
    }

    /// Appends the codes of some rows.
    pub(crate) fn rows(
        &mut self,
        automaton: &Automaton,
        strings: &(impl Strings + ?Sized),
        rows: Range<usize>,
    ) {
        while let Some(&between) = automaton.alone.get(self.met).filter(|_| self.met < TRIED) {
            self.text.clear();
            for row in rows.clone() {
                self.text.extend_from_slice(strings.get(row));
                self.text.push(between);
            }
            if self.text.len() > LONGEST {
                break;
            }
            if self.joined(automaton, between, rows.len()) {
                return;
            }
            self.met += 1;
        }
        for row in rows {
            let before = self.codes.len();
            automaton.cut(strings.get(row), &mut self.codes);
            // A row has less than 4 GiB.
            self.counts.push(u32::try_from(self.codes.len() - before).unwrap_or(u32::MAX));
        }
    }

    /// Cuts the text, which has so many strings; says whether it could be told where they
    /// end. If not, nothing is appended.
    fn joined(&mut self, automaton: &Automaton, between: u8, strings: usize) -> bool {
        // A text gives out at most as many codes as it has bytes; one more may be written
        // before it is known not to be wanted.
        let room = self.text.len() + LANES;
        if self.room.len() < room {
            self.room.resize(room, 0);
        }
        let parts = split(&self.text, between);
        let mut lane = 0;
        let firsts = parts.each_ref().map(|part| {
            lane += 1;
            part.start + lane - 1
        });
        let mut at = [0; LANES];
        for ((at, part), first) in at.iter_mut().zip(&parts).zip(firsts) {
            *at = place(first, part.start);
        }
        let mut lanes = Lanes { nodes: [ROOT; LANES], at };
        loop {
            let left = parts.iter().zip(lanes.at).map(|(part, at)| part.end - low(at));
            let steps = left.min().unwrap_or(0);
            if steps == 0 {
                break;
            }
            // SAFETY: every lane has so many bytes left. In all, it writes no more codes than
            // it has bytes (invariant 4 of the automaton), and one in advance; it starts where
            // the lane before it must have ended.
            unsafe { lanes.run(automaton, &self.text, &mut self.room, steps) };
        }
        let code = automaton.step(ROOT, between).and_then(|node| automaton.token(node));
        let (codes, counts) = (self.codes.len(), self.counts.len());
        self.counts.resize(counts + strings, 0);
        let mut ends = Ends { code: code.unwrap_or(0), string: counts, count: 0 };
        let mut rest = Vec::new();
        for ((part, first), (node, at)) in
            parts.iter().zip(firsts).zip(lanes.nodes.into_iter().zip(lanes.at))
        {
            let cut = self.room.get(first..high(at)).unwrap_or_default();
            ends.tell(cut, &mut self.codes, &mut self.counts);
            // One lane was done, and little was left for the others.
            rest.clear();
            let text = self.text.get(low(at)..part.end).unwrap_or_default();
            automaton.cut_from(node, text, &mut rest);
            ends.tell(&rest, &mut self.codes, &mut self.counts);
        }
        let told = ends.string == counts + strings;
        if !told {
            self.codes.truncate(codes);
            self.counts.truncate(counts);
        }
        told
    }
}

/// Finds the ends of strings.
struct Ends {
    /// The code that stands there.
    code: u16,
    /// The string, and its codes so far.
    string: usize,
    count: u32,
}

impl Ends {
    /// Appends codes without those at the ends of strings, and counts them.
    fn tell(&mut self, cut: &[u16], codes: &mut Vec<u16>, counts: &mut [u32]) {
        let mut to = codes.len();
        codes.resize(to + cut.len(), 0);
        for &code in cut {
            // Both are written over until they are right.
            if let Some(place) = codes.get_mut(to) {
                *place = code;
            }
            if let Some(count) = counts.get_mut(self.string) {
                *count = self.count;
            }
            let is_end = code == self.code;
            to += usize::from(!is_end);
            self.string += usize::from(is_end);
            self.count = select_unpredictable(is_end, 0, self.count + 1);
        }
        codes.truncate(to);
    }
}

/// Parts of about the same size, each of which ends where a string does.
fn split(text: &[u8], between: u8) -> [Range<usize>; LANES] {
    let mut start = 0;
    std::array::from_fn(|lane| {
        let from = start;
        let share = (text.len() / LANES * (lane + 1)).max(from);
        let rest = text.get(share..).unwrap_or_default();
        let end = rest.iter().position(|&byte| byte == between).map(|at| share + at + 1);
        start = if lane + 1 == LANES { text.len() } else { end.unwrap_or(text.len()) };
        from..start
    })
}

/// How far each lane is.
struct Lanes {
    nodes: [u32; LANES],
    /// Where the next code is written, and in the lower half where the next byte is read.
    at: [u64; LANES],
}

fn place(out: usize, read: usize) -> u64 {
    (out as u64) << 32 | read as u64
}

#[inline(always)]
fn low(at: u64) -> usize {
    usize::try_from(at & 0xFFFF_FFFF).unwrap_or(0)
}

#[inline(always)]
fn high(at: u64) -> usize {
    usize::try_from(at >> 32).unwrap_or(0)
}

impl Lanes {
    /// Takes steps in all lanes, of which each reads at most a byte.
    ///
    /// # Safety
    ///
    /// From where each lane reads there are `steps` bytes in `text`, and from where it writes
    /// there is a place in `room` for every code that these give out, with what led to its
    /// node, and for one more.
    #[inline(never)]
    unsafe fn run(&mut self, automaton: &Automaton, text: &[u8], room: &mut [u16], steps: usize) {
        let (steps_of, falls) = (&automaton.steps[..], &automaton.falls[..]);
        let (mut nodes, mut places) = (self.nodes, self.at);
        for _ in 0..steps {
            for (node, at) in nodes.iter_mut().zip(&mut places) {
                // SAFETY: at most one byte is read in each step, and there are as many.
                let byte = *unsafe { text.get_unchecked(low(*at)) };
                let index = (*node ^ u32::from(byte)) as usize;
                // SAFETY: invariant 2 of the automaton.
                let step = *unsafe { steps_of.get_unchecked(index) };
                // SAFETY: the same.
                let fall = *unsafe { falls.get_unchecked(*node as usize) };
                // SAFETY: invariant 1: there are 256 entries at least.
                let home = *unsafe { steps_of.get_unchecked(usize::from(byte)) };
                // SAFETY: at most one code is written in each step, and there is room for it.
                *unsafe { room.get_unchecked_mut(high(*at)) } = fall.token;
                let (hit, fell_home) = (step.byte() == byte, fall.node == ROOT);
                // From the root every byte leads on, so that step is taken at once.
                let fallen = select_unpredictable(fell_home, home.child(), fall.node);
                *node = select_unpredictable(hit, step.child(), fallen);
                *at += select_unpredictable(hit, 1, (1 << 32) + u64::from(fell_home));
            }
        }
        (self.nodes, self.at) = (nodes, places);
    }
}
