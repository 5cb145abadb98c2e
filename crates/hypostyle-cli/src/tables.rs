//! The table that a command reads: the rows of one file, or of several one after the other.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hypostyle::cast::{cast, common_type, spelled_text};
use hypostyle::projection::Selector;
use hypostyle::{Batches, DamagedRowGroup, FileKind, Scan, ScanStats, Table};
use hypostyle_view::type_name;

use crate::args::ReadArgs;
use crate::failure::{Failure, InFile, Result};
use crate::hint;
use crate::input::Input;
use crate::output::{note, warn};
use crate::paths::expanded;
use crate::table_args::{InputArgs, ShapeArgs};

/// The column that `--filename` adds.
const FILENAME: &str = "filename";

/// The files of a table, open.
#[derive(Debug)]
pub(crate) struct Tables {
    parts: Vec<TablePart>,
    read: ReadArgs,
}

/// One file.
#[derive(Debug)]
pub(crate) struct TablePart {
    pub(crate) name: String,
    pub(crate) kind: FileKind,
    pub(crate) table: Table,
}

impl Tables {
    /// Opens all files.
    pub(crate) fn open(args: &InputArgs) -> Result<Self> {
        Self::open_for(args, None)
    }

    /// Opens all files, with types of text that `target` can store.
    pub(crate) fn open_for(args: &InputArgs, target: Option<FileKind>) -> Result<Self> {
        let mut parts = Vec::new();
        for path in expanded(&args.files)? {
            let input = Input::open_any(&path, &args.read)?;
            let (name, kind) = (input.name(), input.kind(args.read.from)?);
            parts.push(TablePart { name, kind, table: input.into_table(&args.read, target)? });
        }
        Ok(Self { parts, read: args.read.clone() })
    }

    pub(crate) fn parts(&self) -> &[TablePart] {
        &self.parts
    }

    /// Returns the number of rows of all files.
    pub(crate) fn num_rows(&self) -> Result<u64> {
        let rows = self.parts.iter().map(|part| part.table.num_rows().in_file(&part.name));
        rows.sum()
    }

    /// Returns the columns of a request.
    pub(crate) fn schema(&self, shape: &ShapeArgs) -> Result<SchemaRef> {
        Ok(self.columns(shape)?.schema)
    }

    /// Starts to read columns and rows.
    pub(crate) fn scan(&self, shape: &ShapeArgs, batch_rows: usize) -> Result<Rows<'_>> {
        self.select(shape, batch_rows, None)
    }

    /// Starts to read the rows with these numbers, in this order.
    ///
    /// # Errors
    ///
    /// Fails for a row that does not exist, and if the rows of several files are not in order.
    pub(crate) fn get(&self, shape: &ShapeArgs, rows: &[u64]) -> Result<Rows<'_>> {
        self.select(shape, DEFAULT_BATCH_ROWS, Some(rows))
    }

    fn select(
        &self,
        shape: &ShapeArgs,
        batch_rows: usize,
        take: Option<&[u64]>,
    ) -> Result<Rows<'_>> {
        let columns = self.columns(shape)?;
        let total = if self.parts.len() > 1 || shape.rows.is_some() { self.num_rows()? } else { 0 };
        let range = shape.rows.map(|rows| rows.resolve(total));
        let (mut scans, mut before) = (VecDeque::new(), 0);
        for (part, columns) in self.parts.iter().zip(columns.parts) {
            let rows = if self.parts.len() > 1 || take.is_some() || range.is_some() {
                part.table.num_rows().in_file(&part.name)?
            } else {
                0
            };
            let mut scan = part.table.scan().batch_size(batch_rows);
            scan = scan.threads_or_all(self.read.threads()).skip_damaged(shape.skip_damaged);
            if let Some(selectors) = &columns.selectors {
                scan = scan.columns(selectors.clone());
            }
            if let Some(filter) = &shape.filter {
                scan = scan.filter(filter.clone());
            }
            let here = before..before + rows;
            if let Some(range) = &range {
                scan = scan.rows(overlap(range, &here));
            }
            if let (Some(take), 1) = (take, self.parts.len()) {
                scan = scan.take(take);
            } else if let Some(take) = take {
                let from = take.partition_point(|&row| row < here.start);
                let to = take.partition_point(|&row| row < here.end);
                let local: Vec<u64> =
                    take.get(from..to).into_iter().flatten().map(|row| row - here.start).collect();
                scan = scan.take(&local);
            }
            before = here.end;
            scans.push_back(PartScan { name: &part.name, scan, columns });
        }
        Ok(Rows {
            schema: columns.schema,
            scans,
            current: None,
            left: shape.limit,
            print_stats: shape.print_stats,
            stats: ScanStats::default(),
            damaged: Vec::new(),
        })
    }

    /// Returns the columns of a request, and where each file has them.
    fn columns(&self, shape: &ShapeArgs) -> Result<Columns> {
        let names = shape.columns.names();
        let (mut schemas, mut selectors) = (Vec::new(), Vec::new());
        let mut filename_at = shape.filename.then_some(usize::MAX);
        if let Some(at) = names.iter().flatten().position(|&name| name == FILENAME)
            && shape.filename
        {
            filename_at = Some(at);
        }
        for part in &self.parts {
            let schema = part.table.schema().in_file(&part.name)?;
            if shape.filename && schema.fields().iter().any(|field| field.name() == FILENAME) {
                let why = "has a column `filename` itself, so --filename cannot add one";
                return Err(Failure::usage(why).in_file(&part.name));
            }
            let chosen: Option<Vec<Selector>> = names.as_ref().map(|names| {
                let names = names.iter().filter(|&&name| !shape.filename || name != FILENAME);
                names.map(|name| selector(name, &schema)).collect()
            });
            let projected = match &chosen {
                None => schema,
                Some(chosen) => {
                    let scan = part.table.scan().columns(chosen.clone()).limit(0);
                    scan.batches().in_file(&part.name)?.schema()
                }
            };
            schemas.push(projected);
            selectors.push(chosen);
        }
        let names: Vec<&str> = self.parts.iter().map(|part| part.name.as_str()).collect();
        let (mut schema, mut places) = merged(&schemas, &names)?;
        if let Some(at) = filename_at {
            let mut fields: Vec<Field> =
                schema.fields().iter().map(|field| field.as_ref().clone()).collect();
            let at = at.min(fields.len());
            fields.insert(at, Field::new(FILENAME, DataType::Utf8, false));
            schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
            places.iter_mut().for_each(|places| places.insert(at, Place::Filename));
        }
        let parts = selectors.into_iter().zip(places).zip(schemas);
        let parts = parts.map(|((selectors, places), from)| {
            // Batches of a file that has all columns as they are need no change.
            let places = (*from != *schema).then_some(places);
            PartColumns { selectors, from, places }
        });
        let parts = parts.collect();
        Ok(Columns { schema, parts })
    }
}

/// The default number of rows of a batch.
pub(crate) const DEFAULT_BATCH_ROWS: usize = 8192;

/// Returns the part of a range of all rows that lies in a file, counted from its first row.
fn overlap(range: &Range<u64>, file: &Range<u64>) -> Range<u64> {
    let bound = |row: u64| row.clamp(file.start, file.end) - file.start;
    bound(range.start)..bound(range.end)
}

/// Parses a column: `#3` is the third one, unless a column has that name.
pub(crate) fn selector(name: &str, schema: &Schema) -> Selector {
    let position = name.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
    match position.and_then(|number| number.checked_sub(1)) {
        Some(index) if schema.fields().iter().all(|field| field.name() != name) => {
            Selector::Position(index)
        }
        _ => Selector::Name(name.to_owned()),
    }
}

struct Columns {
    schema: SchemaRef,
    parts: Vec<PartColumns>,
}

/// The columns of one file.
#[derive(Debug)]
struct PartColumns {
    selectors: Option<Vec<Selector>>,
    /// The schema of the batches of the file.
    from: SchemaRef,
    /// Where each column of the table comes from; `None` if the batches have its schema.
    places: Option<Vec<Place>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A column of the batches of the file.
    Column(usize),
    /// The file does not have the column.
    Missing,
    /// The name of the file.
    Filename,
}

impl PartColumns {
    /// Makes a batch of the table of one of the file.
    fn adapt(&self, batch: RecordBatch, schema: &SchemaRef, name: &str) -> Result<RecordBatch> {
        let Some(places) = &self.places else { return Ok(batch) };
        let rows = batch.num_rows();
        let columns = places.iter().zip(schema.fields()).map(|(&place, field)| {
            let to = field.data_type();
            Ok(match place {
                Place::Column(index) => {
                    let array = batch.column(index);
                    match to {
                        _ if array.data_type() == to => array.clone(),
                        DataType::Utf8 => spelled_text(array, self.from.field(index))?,
                        _ => cast(array, to)?,
                    }
                }
                Place::Missing => new_null_array(to, rows),
                Place::Filename => {
                    Arc::new(std::iter::repeat_n(Some(name), rows).collect::<StringArray>())
                }
            })
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
    }
}

/// Merges the schemas of files: columns by position if all files have the same names in the same
/// order, else by name.
///
/// A column that a file does not have is null there. Types widen if that loses nothing; otherwise
/// the cells are text as they are spelled.
fn merged(schemas: &[SchemaRef], files: &[&str]) -> Result<(SchemaRef, Vec<Vec<Place>>)> {
    let Some((first, rest)) = schemas.split_first() else {
        return Err(Failure::usage("there is no file to read"));
    };
    let all = |schema: &Schema| (0..schema.fields().len()).map(Place::Column).collect::<Vec<_>>();
    if rest.iter().all(|schema| schema == first) {
        return Ok((first.clone(), schemas.iter().map(|schema| all(schema)).collect()));
    }
    let names = |schema: &SchemaRef| -> Vec<String> {
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    let by_position = rest.iter().all(|schema| names(schema) == names(first));
    let mut columns: Vec<MergedColumn> = Vec::new();
    for (file, schema) in schemas.iter().enumerate() {
        for (index, field) in schema.fields().iter().enumerate() {
            let same = |column: &MergedColumn| column.field.name() == field.name();
            let known = if by_position {
                (file > 0).then_some(index)
            } else {
                let twice = schema.fields().iter().take(index).any(|it| it.name() == field.name());
                if twice {
                    let name = field.name();
                    let why =
                        format!("has two columns `{name}`, so columns cannot be matched by name");
                    return Err(Failure::usage(why).in_file(files.get(file).unwrap_or(&"")));
                }
                columns.iter().position(same)
            };
            match known.and_then(|known| columns.get_mut(known)) {
                Some(column) => column.add(file, index, field, files),
                None => columns.push(MergedColumn::new(schemas.len(), file, index, field)),
            }
        }
    }
    for column in &mut columns {
        column.finish(files);
    }
    let places = (0..schemas.len())
        .map(|file| {
            let place = |column: &MergedColumn| column.places.get(file).copied();
            columns.iter().map(|column| place(column).unwrap_or(Place::Missing)).collect()
        })
        .collect();
    let fields: Vec<Field> = columns.into_iter().map(|column| column.field).collect();
    Ok((Arc::new(Schema::new(fields)), places))
}

struct MergedColumn {
    field: Field,
    places: Vec<Place>,
    first: usize,
}

impl MergedColumn {
    fn new(files: usize, file: usize, index: usize, field: &Field) -> Self {
        let mut places = vec![Place::Missing; files];
        places.iter_mut().skip(file).take(1).for_each(|place| *place = Place::Column(index));
        Self { field: field.clone(), places, first: file }
    }

    fn add(&mut self, file: usize, index: usize, field: &Field, files: &[&str]) {
        self.places.iter_mut().skip(file).take(1).for_each(|place| *place = Place::Column(index));
        let (mine, other) = (self.field.data_type(), field.data_type());
        let common = common_type(mine, other).unwrap_or_else(|| {
            let name = |file: usize| files.get(file).copied().unwrap_or_default();
            note(format_args!(
                "column `{}` is text: it is {} in `{}` and {} in `{}`",
                self.field.name(),
                type_name(mine),
                name(self.first),
                type_name(other),
                name(file),
            ));
            DataType::Utf8
        });
        // Metadata say how values and nulls are spelled, which must hold for both files.
        if self.field.metadata() != field.metadata() {
            let one = (!self.field.is_nullable()).then_some(field.metadata());
            let other = (!field.is_nullable()).then_some(self.field.metadata());
            let metadata = one.filter(|_| self.field.metadata().is_empty());
            let metadata = metadata.or(other.filter(|_| field.metadata().is_empty()));
            self.field.set_metadata(metadata.cloned().unwrap_or_default());
        }
        let nullable = self.field.is_nullable() || field.is_nullable();
        self.field = self.field.clone().with_data_type(common).with_nullable(nullable);
    }

    /// Says which files lack the column.
    fn finish(&mut self, files: &[&str]) {
        let lacking = self.places.iter().zip(files).filter(|(place, _)| **place == Place::Missing);
        let lacking: Vec<&str> = lacking.map(|(_, file)| *file).collect();
        let Some(first) = lacking.first() else { return };
        self.field = self.field.clone().with_nullable(true);
        let more = match lacking.len() - 1 {
            0 => String::new(),
            1 => " and one more file".to_owned(),
            more => format!(" and {more} more files"),
        };
        note(format_args!("`{first}`{more}: no column `{}`, null there", self.field.name()));
    }
}

struct PartScan<'a> {
    name: &'a str,
    scan: Scan,
    columns: PartColumns,
}

/// The rows of a request, batch by batch.
pub(crate) struct Rows<'a> {
    schema: SchemaRef,
    scans: VecDeque<PartScan<'a>>,
    current: Option<(&'a str, PartColumns, Batches)>,
    /// The rows that may still be returned.
    left: Option<u64>,
    print_stats: bool,
    stats: ScanStats,
    damaged: Vec<(&'a str, DamagedRowGroup)>,
}

impl Rows<'_> {
    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns the next batch; `None` after the last one.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.current.is_none() {
                let Some(PartScan { name, mut scan, columns }) = self.scans.pop_front() else {
                    return Ok(None);
                };
                if let Some(left) = self.left {
                    scan = scan.limit(left);
                }
                self.current = Some((name, columns, scan.batches().in_file(name)?));
            }
            let Some((name, columns, batches)) = &mut self.current else { return Ok(None) };
            match batches.next_batch().map_err(hint::reading).in_file(*name)? {
                Some(batch) => {
                    let rows = batch.num_rows() as u64;
                    self.left = self.left.map(|left| left.saturating_sub(rows));
                    return columns.adapt(batch, &self.schema, name).map(Some);
                }
                None => self.end_part(),
            }
        }
    }

    /// Adds what the scan of a file read.
    fn end_part(&mut self) {
        let Some((name, _, batches)) = self.current.take() else { return };
        let part = batches.stats();
        self.stats.row_groups += part.row_groups;
        self.stats.row_groups_read += part.row_groups_read;
        self.stats.rows_returned += part.rows_returned;
        self.stats.bytes += part.bytes;
        self.stats.bytes_read += part.bytes_read;
        self.damaged.extend(part.damaged.into_iter().map(|damage| (name, damage)));
    }

    /// Prints what was read, if the user asked for it, and warns of what was left out; returns
    /// whether nothing was.
    pub(crate) fn finish(mut self) -> Result<bool> {
        self.end_part();
        if self.print_stats {
            io::stderr().write_all(described(&self.stats).as_bytes())?;
        }
        for (name, DamagedRowGroup { rows, error, .. }) in &self.damaged {
            let lost = match rows.end.saturating_sub(rows.start) {
                1 => format!("1 row is left out, {}", rows.start),
                count => {
                    let last = rows.end.saturating_sub(1);
                    format!("{count} rows are left out, {} to {last}", rows.start)
                }
            };
            warn(format_args!("`{name}`: {lost}: {error}"));
        }
        Ok(self.damaged.is_empty())
    }
}

/// Describes how much of the files a scan read.
fn described(stats: &ScanStats) -> String {
    let ScanStats { row_groups, row_groups_read, bytes, bytes_read, .. } = stats;
    let skipped = row_groups.saturating_sub(*row_groups_read);
    let share = 100.0 * *bytes_read as f64 / (*bytes).max(1) as f64;
    let rows = crate::output::counted(stats.rows_returned, "row");
    let groups = crate::output::counted(*row_groups, "row group");
    format!(
        "{rows}; {row_groups_read} of {groups} read, {skipped} skipped; \
         {bytes_read} of {bytes} bytes read, {share:.2} %\n"
    )
}
