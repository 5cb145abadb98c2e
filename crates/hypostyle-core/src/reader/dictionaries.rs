//! Which columns of text a scan returns as dictionaries.

/// A dictionary has at most one value for so many rows of the table.
const ROWS_PER_VALUE: u64 = 8;

/// Which columns of text that are [stored with a dictionary](super::Reader::dictionary_values)
/// are returned as dictionaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dictionaries {
    /// None: all columns have the types of the table.
    #[default]
    None,
    /// All whose dictionary is small for the rows of the table.
    Small,
    /// Those of at most so many values, if that is small for the rows. The others are returned
    /// as string views.
    ///
    /// An engine that looks at all values of a dictionary in each batch is faster with views of
    /// many values.
    UpTo(u64),
}

/// The form of a column of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// Plain arrays.
    Plain,
    /// Arrays of string views.
    Views,
    /// Dictionaries.
    Dictionary,
}

impl Dictionaries {
    /// Returns the form of a column with a dictionary of so many values, if it has one, in a
    /// table of so many rows.
    pub fn form(self, values: Option<u64>, rows: u64) -> TextForm {
        let Some(values) = values else { return TextForm::Plain };
        let is_small = values.saturating_mul(ROWS_PER_VALUE) <= rows;
        match self {
            Self::Small if is_small => TextForm::Dictionary,
            Self::UpTo(most) if is_small && values <= most => TextForm::Dictionary,
            Self::UpTo(_) => TextForm::Views,
            Self::Small | Self::None => TextForm::Plain,
        }
    }
}
