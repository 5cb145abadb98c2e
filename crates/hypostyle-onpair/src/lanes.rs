//! Cutting several strings at once.
//!
//! [`Automaton::cut`] waits for memory at every byte, and does not know at which one a
//! token ends. Here some strings are cut in step, so that the wait for one is the work
//! on another, and no step depends on a guess.

#![expect(unsafe_code, reason = "a bounds check for each byte would take half of the time")]

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::Strings;
use crate::automaton::{Automaton, ROOT};

/// Strings that are cut at the same time.
const LANES: usize = 6;

/// Codes of some strings.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    pub(crate) codes: Vec<u16>,
    /// How many each string has.
    pub(crate) counts: Vec<u32>,
    /// Where lanes write.
    room: Vec<u16>,
}

/// The strings that a lane cuts, one after the other.
struct Lane<'s> {
    rows: Range<usize>,
    /// The row that is cut.
    row: usize,
    /// What is left of it.
    rest: &'s [u8],
    /// Where its codes start in the room of all lanes, and where those of the lane do.
    start: usize,
    first: usize,
}

impl<'s> Lane<'s> {
    /// Goes on to the next row that is not empty; says whether there is one.
    fn next(&mut self, strings: &'s (impl Strings + ?Sized)) -> bool {
        while self.row < self.rows.end {
            self.rest = strings.get(self.row);
            if !self.rest.is_empty() {
                return true;
            }
            self.row += 1;
        }
        false
    }
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
        let bytes: usize = rows.clone().map(|row| strings.get(row).len()).sum();
        let counted = self.counts.len();
        self.counts.resize(counted + rows.len(), 0);
        let mut count = |row: usize, codes: usize| {
            if let Some(count) = self.counts.get_mut(counted + row - rows.start) {
                // A row has less than 4 GiB.
                *count += u32::try_from(codes).unwrap_or(u32::MAX);
            }
        };
        // A string gives out at most as many codes as it has bytes; one more may be
        // written before it is known not to be wanted.
        self.room.clear();
        self.room.resize(bytes + LANES, 0);
        let mut lanes = split(strings, &rows, bytes);
        let mut live = true;
        lanes.iter_mut().for_each(|lane| live &= lane.next(strings));
        let mut nodes = [ROOT; LANES];
        let mut outs = lanes.each_ref().map(|lane| lane.start);
        while live {
            let steps = lanes.iter().map(|lane| lane.rest.len()).min().unwrap_or(0);
            let texts = lanes.each_ref().map(|lane| lane.rest);
            // SAFETY: every text has `steps` bytes. In all, a lane writes no more codes
            // than its rows have bytes (invariant 4), and one in advance; it starts
            // where the lane before it must have ended.
            let read =
                unsafe { run(automaton, &texts, steps, &mut nodes, &mut self.room, &mut outs) };
            let states = nodes.iter_mut().zip(&mut outs).zip(read);
            for (lane, ((node, out), read)) in lanes.iter_mut().zip(states) {
                lane.rest = lane.rest.get(read..).unwrap_or_default();
                if !lane.rest.is_empty() {
                    continue;
                }
                while *node != ROOT {
                    let Some(fall) = automaton.falls.get(*node as usize) else { break };
                    if let Some(place) = self.room.get_mut(*out) {
                        *place = fall.token;
                    }
                    *out += 1;
                    *node = fall.node;
                }
                count(lane.row, *out - lane.start);
                lane.start = *out;
                lane.row += 1;
                live &= lane.next(strings);
            }
        }
        // One lane is done, and little is left for the others.
        for ((lane, &out), node) in lanes.iter_mut().zip(&outs).zip(nodes) {
            self.codes.extend_from_slice(self.room.get(lane.first..out).unwrap_or_default());
            if lane.row < lane.rows.end {
                let before = self.codes.len();
                automaton.cut_from(node, lane.rest, &mut self.codes);
                count(lane.row, out - lane.start + self.codes.len() - before);
                for row in lane.row + 1..lane.rows.end {
                    let before = self.codes.len();
                    automaton.cut(strings.get(row), &mut self.codes);
                    count(row, self.codes.len() - before);
                }
            }
        }
    }
}

/// Rows for each lane, of about as many bytes.
fn split<'s>(
    strings: &'s (impl Strings + ?Sized),
    rows: &Range<usize>,
    bytes: usize,
) -> [Lane<'s>; LANES] {
    let (mut row, mut seen) = (rows.start, 0);
    std::array::from_fn(|index| {
        let (first, start) = (row, seen + index);
        let share = bytes / LANES * (index + 1);
        while row < rows.end && (seen < share || index + 1 == LANES) {
            seen += strings.get(row).len();
            row += 1;
        }
        Lane { rows: first..row, row: first, rest: &[], start, first: start }
    })
}

/// Takes steps in all lanes; says how many bytes each has read.
///
/// # Safety
///
/// Every text has `steps` bytes, and `room` has from each of `outs` on a place for every
/// code that these give out, with what led to the node, and one more.
#[inline(never)]
unsafe fn run(
    automaton: &Automaton,
    texts: &[&[u8]; LANES],
    steps: usize,
    nodes: &mut [u32; LANES],
    room: &mut [u16],
    outs: &mut [usize; LANES],
) -> [usize; LANES] {
    let (steps_of, falls) = (&automaton.steps[..], &automaton.falls[..]);
    let mut node = *nodes;
    let mut out = *outs;
    let mut read = [0; LANES];
    for _ in 0..steps {
        for lane in 0..LANES {
            #[expect(clippy::indexing_slicing, reason = "a lane is below LANES")]
            let (text, read, node, out) =
                (texts[lane], &mut read[lane], &mut node[lane], &mut out[lane]);
            // SAFETY: at most one byte is read in each step, and there are as many.
            let byte = u32::from(*unsafe { text.get_unchecked(*read) });
            // SAFETY: invariant 2 of the automaton.
            let step = *unsafe { steps_of.get_unchecked((*node ^ byte) as usize) };
            // SAFETY: the same.
            let fall = *unsafe { falls.get_unchecked(*node as usize) };
            // SAFETY: invariant 1: there are 256 entries at least.
            let home = *unsafe { steps_of.get_unchecked(byte as usize) };
            let (hit, fell_home) = (step.byte() == byte, fall.node == ROOT);
            // SAFETY: at most one code is written in each step, and there is room for it.
            *unsafe { room.get_unchecked_mut(*out) } = fall.token;
            *out += usize::from(!hit);
            // From the root every byte leads on, so that step is taken at once.
            let fallen = select_unpredictable(fell_home, home.child(), fall.node);
            *node = select_unpredictable(hit, step.child(), fallen);
            *read += usize::from(hit | fell_home);
        }
    }
    (*nodes, *outs) = (node, out);
    read
}
