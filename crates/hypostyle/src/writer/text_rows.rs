//! Writes batches as text, as they come.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Schema};

use super::destination::Output;
#[cfg(feature = "csv")]
use super::options::WriterOptions;
use hypostyle_core::cast::cast;
use hypostyle_core::error::{Error, Refusal, Result};
#[cfg(feature = "csv")]
use hypostyle_core::text::csv;
#[cfg(feature = "json")]
use hypostyle_core::text::jsonl;
use hypostyle_core::text::lines;

/// Writes rows of text.
pub(super) enum TextRows<'a> {
    #[cfg(feature = "csv")]
    Delimited(csv::Writer<Output<'a>>),
    #[cfg(feature = "json")]
    Json(jsonl::Writer<Output<'a>>),
    Lines {
        writer: lines::Writer<Output<'a>>,
        rows: u64,
    },
}

impl<'a> TextRows<'a> {
    /// Starts delimited text with its header.
    #[cfg(feature = "csv")]
    pub(super) fn delimited(
        output: Output<'a>,
        delimiter: u8,
        schema: &Schema,
        options: &WriterOptions,
    ) -> Result<Self> {
        let mut writer =
            csv::Writer::new(output, delimiter).with_guarded_formulas(options.guard_formulas);
        if let Some(word) = &options.null_word {
            writer = writer.with_null_word(word);
        }
        writer.header(schema)?;
        Ok(Self::Delimited(writer))
    }

    /// Starts JSON Lines.
    #[cfg(feature = "json")]
    pub(super) fn json(output: Output<'a>) -> Self {
        Self::Json(jsonl::Writer::new(output))
    }

    /// Starts plain lines; the schema must have one column.
    pub(super) fn lines(output: Output<'a>, schema: &Schema) -> Result<Self> {
        if let count @ (0 | 2..) = schema.fields().len() {
            return Err(Error::refused(
                Refusal::SeveralColumns,
                format!("plain text has one column, but the table has {count}"),
                "select one column, or write CSV",
            ));
        }
        Ok(Self::Lines { writer: lines::Writer::new(output), rows: 0 })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            #[cfg(feature = "csv")]
            Self::Delimited(writer) => writer.write(batch),
            #[cfg(feature = "json")]
            Self::Json(writer) => writer.write(batch),
            Self::Lines { writer, rows } => {
                check_lines(batch, *rows)?;
                *rows = rows.saturating_add(batch.num_rows() as u64);
                writer.write(batch)
            }
        }
    }

    pub(super) fn finish(self) -> Result<Output<'a>> {
        Ok(match self {
            #[cfg(feature = "csv")]
            Self::Delimited(writer) => writer.finish()?,
            #[cfg(feature = "json")]
            Self::Json(writer) => writer.finish()?,
            Self::Lines { writer, .. } => writer.finish()?,
        })
    }
}

/// Refuses texts that would be several lines.
fn check_lines(batch: &RecordBatch, before: u64) -> Result<()> {
    let Some(column) = batch.columns().first() else { return Ok(()) };
    let bytes = match column.data_type() {
        DataType::Binary => column.clone(),
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            cast(column, &DataType::Binary)?
        }
        _ => cast(&cast(column, &DataType::Utf8)?, &DataType::Binary)?,
    };
    let bytes = bytes.as_binary::<i32>();
    if !bytes.value_data().contains(&b'\n') {
        return Ok(());
    }
    let has_line_end = |line: Option<&[u8]>| line.is_some_and(|line| line.contains(&b'\n'));
    match bytes.iter().position(has_line_end) {
        None => Ok(()),
        Some(row) => Err(Error::refused(
            Refusal::ValueNotConvertible,
            "the text contains a line end, and plain text would make two lines of it",
            "write CSV or JSON Lines",
        )
        .in_column(0, batch.schema().field(0).name())
        .in_row(before.saturating_add(row as u64))),
    }
}
