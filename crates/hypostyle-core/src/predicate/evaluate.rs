//! Evaluates a bound predicate on the columns of a window of rows, in three-valued logic.

use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, is_null, not, or_kleene};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Datum, Float32Array, Float64Array, StringArray,
    UInt32Array, downcast_run_array, new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::DataType;
use arrow_select::take::take;
use hashbrown::HashMap;

use super::arithmetic;
use super::bound::{Condition, NumberKernel, Test, TestKind, Value};
use super::expr::{ColumnTest, CompareOp, Literal};
use super::filter::ColumnFilter;
use super::functions;
use super::input::PredicateInput;
use super::value_type::{Kind, plain_array};
use crate::cast::cast as cast_to_text;
use crate::concat::concat;
use crate::error::{Error, Result};
use crate::number::decimal::Decimal;

/// The rows that a predicate is evaluated on.
pub(super) struct Window<'a> {
    pub(super) rows: usize,
    source: Source<'a>,
}

enum Source<'a> {
    Input {
        input: &'a mut dyn PredicateInput,
        loaded: HashMap<usize, ArrayRef>,
    },
    /// The only column that is read.
    Column(ArrayRef),
}

impl<'a> Window<'a> {
    pub(super) fn new(rows: usize, input: &'a mut dyn PredicateInput) -> Self {
        Self { rows, source: Source::Input { input, loaded: HashMap::new() } }
    }

    fn column(&mut self, index: usize) -> Result<ArrayRef> {
        match &mut self.source {
            Source::Column(array) => Ok(array.clone()),
            Source::Input { input, loaded } => {
                if let Some(array) = loaded.get(&index) {
                    return Ok(array.clone());
                }
                let array = input.column(index)?;
                if array.len() != self.rows {
                    let (found, rows) = (array.len(), self.rows);
                    let why = format!("column {} has {found} cells for {rows} rows", index + 1);
                    return Err(Error::invalid_argument(why));
                }
                loaded.insert(index, array.clone());
                Ok(array)
            }
        }
    }

    /// Asks the input to test encoded values, unless the column is decoded already.
    fn evaluate_encoded(
        &mut self,
        index: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        let Source::Input { input, loaded } = &mut self.source else { return Ok(None) };
        if loaded.contains_key(&index) {
            return Ok(None);
        }
        let Some(found) = input.evaluate_encoded(index, filter)? else { return Ok(None) };
        if found.len() != self.rows {
            let (found, rows) = (found.len(), self.rows);
            let why = format!("column {} has {found} results for {rows} rows", index + 1);
            return Err(Error::invalid_argument(why));
        }
        Ok(Some(found))
    }
}

/// Evaluates a condition that reads one column on the entries of its dictionary.
pub(super) fn on_entries(condition: &Condition, entries: &ArrayRef) -> Result<BooleanArray> {
    let mut window = Window { rows: entries.len(), source: Source::Column(entries.clone()) };
    self::condition(condition, &mut window, false)
}

/// Evaluates a condition.
///
/// With `only_true`, a row that is not true may be false or unknown, whatever it really is. This
/// saves the columns that cannot make a row true.
pub(super) fn condition(
    condition: &Condition,
    window: &mut Window<'_>,
    only_true: bool,
) -> Result<BooleanArray> {
    match condition {
        Condition::Constant(truth) => Ok(constant_mask(*truth, window.rows)),
        Condition::And(parts) => {
            let mut total: Option<BooleanArray> = None;
            for part in parts {
                let part = self::condition(part, window, only_true)?;
                let joined = match total {
                    Some(total) => and_kleene(&total, &part)?,
                    None => part,
                };
                let settled = match only_true {
                    true => joined.true_count() == 0,
                    false => joined.null_count() == 0 && joined.true_count() == 0,
                };
                if settled {
                    return Ok(joined);
                }
                total = Some(joined);
            }
            Ok(total.unwrap_or_else(|| constant_mask(Some(true), window.rows)))
        }
        Condition::Or(parts) => {
            let mut total: Option<BooleanArray> = None;
            for part in parts {
                let part = self::condition(part, window, only_true)?;
                let joined = match total {
                    Some(total) => or_kleene(&total, &part)?,
                    None => part,
                };
                if joined.true_count() == window.rows {
                    return Ok(joined);
                }
                total = Some(joined);
            }
            Ok(total.unwrap_or_else(|| constant_mask(Some(false), window.rows)))
        }
        Condition::Not(part) => Ok(not(&self::condition(part, window, false)?)?),
        Condition::Test(test) => self::test(test, window),
    }
}

/// Evaluates an expression without columns.
pub(super) fn constant(value: &Value) -> Result<ArrayRef> {
    let array: ArrayRef = Arc::new(arrow_array::NullArray::new(1));
    let mut window = Window { rows: 1, source: Source::Column(array) };
    Ok(self::value(value, &mut window)?.array)
}

fn constant_mask(truth: Option<bool>, rows: usize) -> BooleanArray {
    match truth {
        Some(true) => BooleanArray::new(BooleanBuffer::new_set(rows), None),
        Some(false) => BooleanArray::new(BooleanBuffer::new_unset(rows), None),
        None => BooleanArray::new_null(rows),
    }
}

fn test(test: &Test, window: &mut Window<'_>) -> Result<BooleanArray> {
    if let TestKind::Filter(value, column_test) = &test.kind
        && let Some(column) = value.whole_column()
        && let Some(found) = encoded(column.index, column_test, window)?
    {
        return Ok(found);
    }
    if let [index] = test.columns[..]
        && let Source::Input { .. } = window.source
    {
        let array = window.column(index)?;
        // Each distinct value is tested once.
        if let Some((values, places)) = distinct(&array, window.rows)? {
            return per_value(test, &values, &places);
        }
    }
    let found = kind(&test.kind, window)?;
    // A test of constants has one result for all rows.
    if found.len() == 1 && window.rows != 1 {
        let truth = found.is_valid(0).then(|| found.value(0));
        return Ok(constant_mask(truth, window.rows));
    }
    Ok(found)
}

/// Tests encoded values if the input can do that.
fn encoded(
    index: usize,
    test: &ColumnTest,
    window: &mut Window<'_>,
) -> Result<Option<BooleanArray>> {
    // `<>` is the negation of `=`, and unknown for the same rows.
    if let ColumnTest::Compare(CompareOp::NotEqual, literal) = test {
        let mut filter = ColumnFilter::compare(CompareOp::Equal, literal);
        let found = window.evaluate_encoded(index, &mut filter)?;
        return Ok(found.map(|found| not(&found)).transpose()?);
    }
    let mut filter = ColumnFilter::new(test);
    window.evaluate_encoded(index, &mut filter)
}

/// Returns the distinct values of an encoded array, and the place of each row's value; a row
/// that has none is null. Returns `None` for other arrays, and if that would not save work.
fn distinct(array: &ArrayRef, rows: usize) -> Result<Option<(ArrayRef, UInt32Array)>> {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(None) };
            if dictionary.values().len() > rows {
                return Ok(None);
            }
            let places = arrow_cast::cast(dictionary.keys(), &DataType::UInt32)?;
            Ok(Some((dictionary.values().clone(), places.as_primitive().clone())))
        }
        DataType::RunEndEncoded(..) => {
            let array = array.as_ref();
            downcast_run_array!(
                array => {
                    let physical = array.run_ends();
                    let places = (0..rows).map(|row| {
                        u32::try_from(physical.get_physical_index(row)).ok()
                    });
                    Ok(Some((array.values().clone(), places.collect())))
                },
                _ => Ok(None)
            )
        }
        _ => Ok(None),
    }
}

/// Tests each distinct value, and null, once.
fn per_value(test: &Test, values: &ArrayRef, places: &UInt32Array) -> Result<BooleanArray> {
    let on = |array: ArrayRef| -> Result<BooleanArray> {
        let mut window = Window { rows: array.len(), source: Source::Column(array) };
        self::test(test, &mut window)
    };
    let found = on(values.clone())?;
    if places.null_count() == 0 {
        let rows = take(&found, places, None)?;
        return Ok(rows.as_boolean().clone());
    }
    let for_null = on(new_null_array(values.data_type(), 1))?;
    let all = concat(&[&found, &for_null])?;
    let null_place = u32::try_from(found.len()).ok();
    let places: UInt32Array = places.iter().map(|place| place.or(null_place)).collect();
    Ok(take(&all, &places, None)?.as_boolean().clone())
}

fn kind(kind: &TestKind, window: &mut Window<'_>) -> Result<BooleanArray> {
    match kind {
        TestKind::Filter(tested, test) => {
            let tested = value(tested, window)?;
            filter(&tested.array, test)
        }
        TestKind::Number(tested, number) => {
            let tested = value(tested, window)?;
            match &number.kernel {
                NumberKernel::Compare(op, literal) => {
                    compare(*op, &tested, &Evaluated::constant(literal.clone()))
                }
                NumberKernel::All(truth) => {
                    let mask = constant_mask(Some(*truth), tested.array.len());
                    let (mask, _) = mask.into_parts();
                    Ok(BooleanArray::new(mask, tested.array.logical_nulls()))
                }
            }
        }
        TestKind::Compare(op, left, right) => {
            compare(*op, &value(left, window)?, &value(right, window)?)
        }
        TestKind::TextNumber(op, left, right) => {
            text_number(*op, &value(left, window)?, &value(right, window)?)
        }
        TestKind::Same(left, right) => {
            let (left, right) = (value(left, window)?, value(right, window)?);
            let (left, right) = unified(&left, &right)?;
            Ok(cmp::not_distinct(&left, &right)?)
        }
        TestKind::In(tested, members) => {
            let tested = value(tested, window)?;
            let found = members.contain(&tested.array);
            found.ok_or_else(|| Error::internal("a list of values without keys"))
        }
        TestKind::IsNull(tested) => Ok(is_null(value(tested, window)?.array.as_ref())?),
        TestKind::IsBool(tested, truth) => {
            let tested = condition(tested, window, false)?;
            let wanted = if *truth { tested } else { not(&tested)? };
            let (bits, nulls) = wanted.into_parts();
            Ok(BooleanArray::new(nulls.map_or(bits.clone(), |nulls| &bits & nulls.inner()), None))
        }
        TestKind::Truth(tested) => Ok(value(tested, window)?.array.as_boolean().clone()),
    }
}

/// The values of an expression: an array, or one value that stands for all rows.
struct Evaluated {
    array: ArrayRef,
    is_constant: bool,
}

impl Evaluated {
    fn constant(array: ArrayRef) -> Self {
        Self { array, is_constant: true }
    }

    fn with(&self, array: ArrayRef) -> Self {
        Self { array, is_constant: self.is_constant }
    }
}

impl Datum for Evaluated {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array.as_ref(), self.is_constant)
    }
}

fn value(value: &Value, window: &mut Window<'_>) -> Result<Evaluated> {
    Ok(match value {
        Value::Column(path) => {
            let array = path.extract(&window.column(path.index)?)?;
            let (found, wanted) = (array.data_type(), &path.data_type);
            // Texts and bytes are tested in whatever layout they come.
            let layout = Kind::of(found) == Kind::of(wanted)
                && matches!(Kind::of(found), Kind::Text | Kind::Bytes);
            let legacy = Kind::of(wanted) == Kind::Text && Kind::of(found) == Kind::Bytes;
            let array = match found == wanted || layout || legacy {
                true => array,
                false => arithmetic::cast(&array, wanted, false)?,
            };
            Evaluated { array, is_constant: false }
        }
        Value::Literal(array) => Evaluated::constant(array.clone()),
        Value::Cast { value, to, null_on_failure } => {
            let found = self::value(value, window)?;
            found.with(arithmetic::cast(&found.array, to, *null_on_failure)?)
        }
        Value::TextToNumber(value) => {
            let found = self::value(value, window)?;
            found.with(arithmetic::text_to_number(&found.array)?)
        }
        Value::Arithmetic { op, left, right, to } => {
            let (left, right) = (self::value(left, window)?, self::value(right, window)?);
            let is_constant = left.is_constant && right.is_constant;
            Evaluated { array: arithmetic::compute(*op, &left, &right, to)?, is_constant }
        }
        Value::Minus(value) => {
            let found = self::value(value, window)?;
            found.with(arithmetic::negative(&found.array)?)
        }
        Value::Call { function, arguments, .. } => {
            let arguments = arguments.iter().map(|argument| self::value(argument, window));
            let arguments = arguments.collect::<Result<Vec<_>>>()?;
            let is_constant = arguments.iter().all(|argument| argument.is_constant);
            let rows = if is_constant { 1 } else { window.rows };
            let arrays = arguments.into_iter().map(|argument| argument.repeated(rows));
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            Evaluated { array: functions::call(*function, &arrays)?, is_constant }
        }
        Value::Condition(condition) => {
            let array = Arc::new(self::condition(condition, window, false)?);
            Evaluated { array, is_constant: false }
        }
    })
}

impl Evaluated {
    /// Returns the values, one for each row.
    fn repeated(self, rows: usize) -> Result<ArrayRef> {
        if !self.is_constant || rows == 1 {
            return Ok(self.array);
        }
        let places = UInt32Array::from_value(0, rows);
        Ok(take(&self.array, &places, None)?)
    }
}

/// Compares one value, after a cast to a type, with a literal of that type; `None` if that is
/// not possible or unknown.
pub(super) fn holds(
    op: CompareOp,
    value: &ArrayRef,
    literal: &ArrayRef,
    data_type: &DataType,
) -> Option<bool> {
    let value = plain_array(value).ok()?;
    let value = arithmetic::cast(&value, data_type, true).ok()?;
    let compared =
        compare(op, &Evaluated::constant(value), &Evaluated::constant(literal.clone())).ok()?;
    compared.iter().next().flatten()
}

/// Compares two values of the same type.
fn compare(op: CompareOp, left: &Evaluated, right: &Evaluated) -> Result<BooleanArray> {
    let (left, right) = unified(left, right)?;
    Ok(match op {
        CompareOp::Equal => cmp::eq(&left, &right)?,
        CompareOp::NotEqual => cmp::neq(&left, &right)?,
        CompareOp::Less => cmp::lt(&left, &right)?,
        CompareOp::LessOrEqual => cmp::lt_eq(&left, &right)?,
        CompareOp::Greater => cmp::gt(&left, &right)?,
        CompareOp::GreaterOrEqual => cmp::gt_eq(&left, &right)?,
    })
}

/// Gives both sides one layout, in which Arrow's order of floats is that of SQL.
fn unified(left: &Evaluated, right: &Evaluated) -> Result<(Evaluated, Evaluated)> {
    let right_array = match left.array.data_type() == right.array.data_type() {
        true => right.array.clone(),
        false => arrow_cast::cast(&right.array, left.array.data_type())?,
    };
    Ok((left.with(one_zero_one_nan(&left.array)), right.with(one_zero_one_nan(&right_array))))
}

/// Makes both zeros equal, and every NaN equal to every other and greater than all numbers.
fn one_zero_one_nan(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            let one: Float64Array = array
                .as_primitive::<Float64Type>()
                .unary(|value| if value.is_nan() { f64::NAN } else { value + 0.0 });
            Arc::new(one)
        }
        DataType::Float32 => {
            let one: Float32Array = array
                .as_primitive::<Float32Type>()
                .unary(|value| if value.is_nan() { f32::NAN } else { value + 0.0 });
            Arc::new(one)
        }
        _ => array.clone(),
    }
}

/// Compares cells of text with numbers exactly; other cells are unknown.
fn text_number(op: CompareOp, left: &Evaluated, right: &Evaluated) -> Result<BooleanArray> {
    let numbers = |side: &Evaluated| -> Result<Vec<Option<Decimal>>> {
        let texts = cast_to_text(&side.array, &DataType::Utf8)?;
        let cells = texts.as_string::<i32>().iter();
        Ok(cells.map(|cell| cell.and_then(|cell| Decimal::parse(cell.as_bytes()))).collect())
    };
    let (left_numbers, right_numbers) = (numbers(left)?, numbers(right)?);
    let rows = if left.is_constant { right_numbers.len() } else { left_numbers.len() };
    let at = |numbers: &[Option<Decimal>], is_constant: bool, row: usize| {
        numbers.get(if is_constant { 0 } else { row }).copied().flatten()
    };
    let compared = (0..rows).map(|row| {
        let left = at(&left_numbers, left.is_constant, row)?;
        let right = at(&right_numbers, right.is_constant, row)?;
        Some(op.accepts(left.cmp(&right)))
    });
    Ok(compared.collect())
}

/// Tests cells of text or bytes.
fn filter(array: &ArrayRef, test: &ColumnTest) -> Result<BooleanArray> {
    match test {
        ColumnTest::IsNull => return Ok(is_null(array.as_ref())?),
        ColumnTest::Compare(op, literal @ (Literal::Text(_) | Literal::Bytes(_))) => {
            let bytes: &[u8] = match literal {
                Literal::Text(text) => text.as_bytes(),
                Literal::Bytes(bytes) => bytes,
                _ => b"",
            };
            let one: ArrayRef = match (literal, Kind::of(array.data_type())) {
                (Literal::Text(text), Kind::Text) => {
                    Arc::new(StringArray::from(vec![text.as_str()]))
                }
                _ => Arc::new(BinaryArray::from(vec![bytes])),
            };
            let one = arrow_cast::cast(&one, array.data_type())?;
            let left = Evaluated { array: array.clone(), is_constant: false };
            return compare(*op, &left, &Evaluated::constant(one));
        }
        _ => {}
    }
    let mut filter = ColumnFilter::new(test);
    let mut values = Vec::with_capacity(array.len());
    let mut known = Vec::with_capacity(array.len());
    let mut each = |cell: Option<&[u8]>| {
        let found = filter.test(cell);
        values.push(found == Some(true));
        known.push(found.is_some());
    };
    match array.data_type() {
        DataType::Utf8 => {
            array.as_string::<i32>().iter().for_each(|cell| each(cell.map(str::as_bytes)));
        }
        DataType::LargeUtf8 => {
            array.as_string::<i64>().iter().for_each(|cell| each(cell.map(str::as_bytes)));
        }
        DataType::Utf8View => {
            array.as_string_view().iter().for_each(|cell| each(cell.map(str::as_bytes)));
        }
        DataType::Binary => array.as_binary::<i32>().iter().for_each(each),
        DataType::LargeBinary => array.as_binary::<i64>().iter().for_each(each),
        DataType::BinaryView => array.as_binary_view().iter().for_each(each),
        other => return Err(Error::internal(format!("a test of text for {other}"))),
    }
    Ok(BooleanArray::new(BooleanBuffer::from(values), Some(NullBuffer::from(known))))
}
