//! Summarises the cells of a column.

use super::split::{CellSpan, RowBlock};
use crate::text::state::{InferredState, SpelledRange};
use crate::text::summary::{ColumnState, ColumnSummary, OddToken, TextRange, TextRangeFinder};

/// What the cells of a column have in common, so far.
#[derive(Debug, PartialEq)]
pub(super) struct CellSummary {
    /// The state of the cells that are numbers; all others are in `words`.
    numbers: InferredState,
    words: Texts,
    nulls: u64,
    empty_texts: u64,
    texts: Option<TextRange>,
}

/// What a cell holds.
enum Kind {
    Null,
    Empty,
    Filled,
}

impl Kind {
    #[inline]
    fn of(cell: CellSpan, bytes: &[u8], null_words: &[&[u8]]) -> Self {
        if bytes.is_empty() {
            return if cell.quoted() { Self::Empty } else { Self::Null };
        }
        if !null_words.is_empty() && !cell.quoted() && null_words.contains(&bytes) {
            return Self::Null;
        }
        Self::Filled
    }
}

/// The texts of a column: the cells that are not numbers.
///
/// It depends on which texts there are, and not on their order, so that blocks of any size are
/// summarised alike.
#[derive(Clone, Debug, PartialEq)]
enum Texts {
    None,
    One(OneText),
    /// Several, all spelled alike but at most one, which has no spelling.
    Spelled(SpelledRange, Option<OneText>),
    /// Any others: the column is text.
    Several,
}

/// A text that occurs in a column.
#[derive(Clone, Debug, PartialEq)]
struct OneText {
    text: Vec<u8>,
    count: u64,
    /// Whether some of its cells are quoted.
    is_quoted: bool,
}

impl OneText {
    /// Adds the cells of another column with the same text; returns whether it is the same.
    fn add(&mut self, other: &Self) -> bool {
        if self.text != other.text {
            return false;
        }
        self.count += other.count;
        self.is_quoted |= other.is_quoted;
        true
    }
}

impl Texts {
    fn merged(self, other: Self) -> Self {
        match (self, other) {
            (texts, Self::None) | (Self::None, texts) => texts,
            (Self::Several, _) | (_, Self::Several) => Self::Several,
            (Self::One(mut one), Self::One(other)) => {
                if one.add(&other) {
                    return Self::One(one);
                }
                match (SpelledRange::of(&one.text), SpelledRange::of(&other.text)) {
                    (Some(spelled), None) => Self::Spelled(spelled, Some(other)),
                    (None, Some(spelled)) => Self::Spelled(spelled, Some(one)),
                    (Some(spelled), Some(other)) => match spelled.merged(&other) {
                        Some(spelled) => Self::Spelled(spelled, None),
                        None => Self::Several,
                    },
                    (None, None) => Self::Several,
                }
            }
            (Self::Spelled(spelled, odd), Self::One(one))
            | (Self::One(one), Self::Spelled(spelled, odd)) => match SpelledRange::of(&one.text) {
                Some(other) => match spelled.merged(&other) {
                    Some(spelled) => Self::Spelled(spelled, odd),
                    None => Self::Several,
                },
                None => Self::with_odd(spelled, odd, Some(one)),
            },
            (Self::Spelled(spelled, odd), Self::Spelled(other, other_odd)) => {
                match spelled.merged(&other) {
                    Some(spelled) => Self::with_odd(spelled, odd, other_odd),
                    None => Self::Several,
                }
            }
        }
    }

    fn with_odd(spelled: SpelledRange, odd: Option<OneText>, more: Option<OneText>) -> Self {
        match (odd, more) {
            (odd, None) | (None, odd) => Self::Spelled(spelled, odd),
            (Some(mut odd), Some(more)) => match odd.add(&more) {
                true => Self::Spelled(spelled, Some(odd)),
                false => Self::Several,
            },
        }
    }
}

impl Default for CellSummary {
    fn default() -> Self {
        Self {
            numbers: InferredState::NONE,
            words: Texts::None,
            nulls: 0,
            empty_texts: 0,
            texts: None,
        }
    }
}

/// A text of a block, the number of its cells, and whether some of them are quoted.
type BlockText<'a> = (&'a [u8], u64, bool);

fn owned((text, count, is_quoted): BlockText<'_>) -> OneText {
    OneText { text: text.to_vec(), count, is_quoted }
}

impl CellSummary {
    pub(super) fn of(rows: &RowBlock, column: usize, null_words: &[&[u8]]) -> Self {
        let mut found = Self::default();
        let mut odd: Option<BlockText<'_>> = None;
        let cells = rows.cells.get(column..).unwrap_or_default();
        for cell in cells.iter().step_by(rows.width.max(1)) {
            // Most cells are short integers. A null word may be one.
            if null_words.is_empty()
                && let Some(value) = rows.short_int(*cell)
            {
                found.numbers.add_int(value);
                continue;
            }
            let bytes = cell.bytes(rows);
            match Kind::of(*cell, bytes, null_words) {
                Kind::Null => found.nulls += 1,
                Kind::Empty => found.empty_texts += 1,
                Kind::Filled => match &mut odd {
                    Some((text, count, is_quoted)) if *text == bytes => {
                        *count += 1;
                        *is_quoted |= cell.quoted();
                    }
                    _ if found.numbers.add_number_cell(bytes) => {
                        // A quoted cell never means null.
                        found.numbers.has_other_numbers |= cell.quoted() && bytes == b"NaN";
                    }
                    None => odd = Some((bytes, 1, cell.quoted())),
                    Some(_) => {
                        let spelled = match found.numbers.has_no_numbers() {
                            true => Self::of_spelled(rows, column, null_words),
                            false => None,
                        };
                        return spelled.unwrap_or_else(|| Self::of_texts(rows, column, null_words));
                    }
                },
            }
        }
        if let Some(odd) = odd {
            found.words = Texts::One(owned(odd));
        }
        found.numbers.normalise_decimals();
        found
    }

    /// Summarises a column of which several cells are spelled alike, and all others are the same
    /// text or `NaN`; `None` if it is none.
    fn of_spelled(rows: &RowBlock, column: usize, null_words: &[&[u8]]) -> Option<Self> {
        let mut found = Self::default();
        let (mut range, mut odd): (Option<SpelledRange>, Option<BlockText<'_>>) = (None, None);
        let cells = rows.cells.get(column..).unwrap_or_default();
        for cell in cells.iter().step_by(rows.width.max(1)) {
            let bytes = cell.bytes(rows);
            match Kind::of(*cell, bytes, null_words) {
                Kind::Null => found.nulls += 1,
                Kind::Empty => found.empty_texts += 1,
                Kind::Filled => {
                    if range.as_mut().is_some_and(|range| range.add(bytes)) {
                        continue;
                    }
                    if range.is_none() {
                        range = SpelledRange::of(bytes);
                        if range.is_some() {
                            continue;
                        }
                    }
                    match &mut odd {
                        Some((text, count, is_quoted)) if *text == bytes => {
                            *count += 1;
                            *is_quoted |= cell.quoted();
                        }
                        _ if bytes == b"NaN" && !cell.quoted() => {
                            found.numbers.add_number_cell(bytes);
                        }
                        None if is_odd(bytes) => odd = Some((bytes, 1, cell.quoted())),
                        _ => return None,
                    }
                }
            }
        }
        found.words = Texts::Spelled(range?, odd.map(owned));
        Some(found)
    }

    /// Summarises a column of which several different cells are not numbers.
    fn of_texts(rows: &RowBlock, column: usize, null_words: &[&[u8]]) -> Self {
        let mut found = Self { words: Texts::Several, ..Self::default() };
        let mut range = TextRangeFinder::default();
        let cells = rows.cells.get(column..).unwrap_or_default();
        for cell in cells.iter().step_by(rows.width.max(1)) {
            let bytes = cell.bytes(rows);
            match Kind::of(*cell, bytes, null_words) {
                Kind::Null => found.nulls += 1,
                Kind::Empty => found.empty_texts += 1,
                Kind::Filled => range.add(bytes),
            }
        }
        found.texts = range.finish();
        found
    }

    /// Makes the column text if it has numbers beside texts that are spelled alike, and forgets
    /// the numbers of a text column: which of them were seen depends on the blocks.
    fn normalise(&mut self) {
        if matches!(self.words, Texts::Spelled(..)) && !self.numbers.has_no_numbers() {
            self.words = Texts::Several;
        }
        if self.words == Texts::Several {
            self.numbers = InferredState::NONE;
        }
    }

    /// Returns whether no cell has been added that is neither null nor empty.
    fn is_new(&self) -> bool {
        let InferredState { ints, floats, texts, .. } = self.numbers;
        !(ints || floats || texts) && self.words == Texts::None
    }

    pub(super) fn merge(&mut self, next: Self) {
        let is_next_new = next.is_new();
        // The bounds are unknown if some block had numbers and looked for no bounds.
        self.texts = match (self.texts.take(), next.texts) {
            (Some(one), Some(other)) => Some(one.merged(other)),
            (None, Some(first)) if self.is_new() => Some(first),
            (Some(known), None) if is_next_new => Some(known),
            _ => None,
        };
        self.numbers.merge(&next.numbers);
        self.nulls += next.nulls;
        self.empty_texts += next.empty_texts;
        self.words = std::mem::replace(&mut self.words, Texts::None).merged(next.words);
        self.normalise();
    }

    pub(super) fn finish(self, name: String) -> ColumnSummary {
        let gaps = self.nulls > 0 || self.empty_texts > 0;
        let numbers = InferredState { gaps, ..self.numbers };
        // A column of one text may be a column of dates.
        let words = match self.words {
            Texts::One(one) if numbers.has_no_numbers() => match SpelledRange::of(&one.text) {
                Some(spelled) => Texts::Spelled(spelled, None),
                None => Texts::One(one),
            },
            words => words,
        };
        let (mut state, mut odd) = (numbers.clone(), None);
        let mut others = numbers;
        match words {
            Texts::None => {}
            Texts::Several => state.add_text(),
            Texts::One(one) => {
                state.add_text();
                odd = Some(one);
            }
            Texts::Spelled(spelled, one) => {
                state = state.with_spelled(spelled);
                if one.is_some() {
                    others = state.clone();
                    state.add_text();
                    odd = one;
                }
            }
        }
        let odd_token = odd.map(|OneText { text, count, is_quoted }| {
            let text = String::from_utf8_lossy(&text).into_owned();
            Box::new(OddToken { text, count, is_quoted, others })
        });
        ColumnSummary {
            name,
            state: ColumnState::Cells(state),
            nulls: Some(self.nulls),
            empty_texts: self.empty_texts,
            texts: self.texts,
            odd_token,
        }
    }
}

/// Returns whether a text is neither a number nor spelled like a value of another type.
fn is_odd(text: &[u8]) -> bool {
    let mut none = InferredState::NONE;
    !none.add_number_cell(text) && SpelledRange::of(text).is_none()
}
