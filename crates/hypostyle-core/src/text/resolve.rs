//! Which type a column of a text gets.

use arrow_schema::{DataType, Field};

use super::line_rows::text_list;
use super::options::TextOptions;
use super::state::Resolved;
use super::summary::{ColumnState, ColumnSummary, ValueState};
use crate::spelling::{self, NULL_TOKENS, Spelling};
use crate::types::RequestedType;

/// The type of a column, and how its cells are spelled.
#[derive(Clone, Debug)]
pub(super) struct ResolvedColumn {
    pub(super) data_type: DataType,
    is_nullable: bool,
    spelling: Option<Spelling>,
    /// The text that means null, besides the empty cell.
    pub(super) null_token: Option<String>,
    /// Whether that text is a JSON string.
    is_null_string: bool,
}

impl ResolvedColumn {
    pub(super) fn of(
        column: &ColumnSummary,
        requested: Option<RequestedType>,
        options: &TextOptions,
    ) -> Self {
        let capabilities = options.capabilities;
        let (inferred, null_token) = match &column.state {
            ColumnState::Cells(_) => of_cells(column, options),
            ColumnState::Values(state) => of_values(state, options),
            ColumnState::Text => (Resolved::new(DataType::Utf8), None),
            ColumnState::Binary => (Resolved::new(DataType::Binary), None),
            ColumnState::TextList => (Resolved::new(text_list()), None),
        };
        let data_type = match requested {
            Some(requested) => requested.data_type(),
            None => inferred.data_type.clone(),
        };
        // A gap in a column with a requested type stays null: the writer of a format without
        // nulls refuses it and names the row.
        let is_nullable = match &column.state {
            ColumnState::Cells(state) => {
                capabilities.nulls || (data_type != DataType::Utf8 && state.gaps)
            }
            _ => true,
        };
        let is_text = data_type == DataType::Utf8;
        let is_inferred = data_type == inferred.data_type;
        Self {
            is_nullable,
            is_null_string: matches!(column.state, ColumnState::Values(_)),
            spelling: inferred.spelling.filter(|_| is_inferred),
            null_token: null_token.filter(|_| !is_text),
            data_type,
        }
    }

    /// Returns the field of the column, whose metadata say how cells are spelled.
    pub(super) fn field(&self, name: &str) -> Field {
        let mut field = Field::new(name, self.data_type.clone(), self.is_nullable);
        if let Some(spelling) = self.spelling {
            field = spelling.in_field(field);
        }
        if let Some(token) = &self.null_token {
            field = match self.is_null_string {
                true => spelling::with_null_string(field, token),
                false => spelling::with_null_token(field, token),
            };
        }
        field
    }
}

/// Returns the type of a column of JSON values, and the string that means null.
fn of_values(state: &ValueState, options: &TextOptions) -> (Resolved, Option<String>) {
    let Some(token) = state.null_token.filter(|_| !state.is_raw) else {
        return (state.resolve_spelled(options), None);
    };
    // With two values for null, a null would not be printed as it was.
    if options.finds_null_tokens() && !state.scalars.gaps {
        let others = ValueState { null_token: None, ..state.clone() }.resolve_spelled(options);
        if others.data_type != DataType::Utf8 {
            return (others, Some(token.to_owned()));
        }
    }
    (Resolved::new(DataType::Utf8), None)
}

/// Returns the type of a column of cells, and the text that means null.
fn of_cells(column: &ColumnSummary, options: &TextOptions) -> (Resolved, Option<String>) {
    let ColumnState::Cells(state) = &column.state else {
        return (Resolved::new(DataType::Utf8), None);
    };
    let (infer, capabilities) = (options.infer, options.capabilities);
    let finds_tokens = options.finds_null_tokens();
    let resolved = state.resolve_spelled(infer, capabilities);
    if resolved.nan_is_null {
        return match finds_tokens {
            true => (resolved, Some("NaN".to_owned())),
            false => (Resolved::new(DataType::Utf8), None),
        };
    }
    // With two different cells for null, a null would not be printed as it was.
    let has_gaps = column.nulls != Some(0) || column.empty_texts > 0;
    let is_token = |text: &str| NULL_TOKENS.contains(&text);
    let odd = column.odd_token.as_ref().filter(|odd| !odd.is_quoted && is_token(&odd.text));
    if let Some(odd) = odd.filter(|_| finds_tokens && !has_gaps) {
        let others = odd.others.resolve_spelled(infer, capabilities);
        if others.data_type != DataType::Utf8 && !others.nan_is_null {
            return (others, Some(odd.text.clone()));
        }
    }
    (resolved, None)
}
