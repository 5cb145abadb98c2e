//! Expressions for filters.

use hypostyle::predicate::{self, Predicate};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use crate::errors;

/// A condition on rows, or a value in one.
///
/// Compare with `==`, `<` and so on, combine conditions with `&`, `|` and `~`.
#[pyclass(frozen, module = "hypostyle")]
#[derive(Clone, Debug)]
pub(crate) struct Expr(pub(crate) predicate::Expr);

/// The column with this name, or a path into a nested column such as `a.b[0]`.
#[pyfunction]
pub(crate) fn col(name: &str) -> PyResult<Expr> {
    if name.is_empty() {
        return Err(errors::invalid("a column needs a name"));
    }
    Ok(Expr(predicate::col(name)))
}

/// A literal: None, a bool, an int, a float, a str, a Decimal, a date or a datetime.
#[pyfunction]
pub(crate) fn lit(value: &Bound<'_, PyAny>) -> PyResult<Expr> {
    literal(value).map(Expr)
}

/// A condition from a text in the predicate language.
#[pyfunction]
pub(crate) fn parse(text: &str) -> PyResult<Expr> {
    Ok(Expr(Predicate::parse(text).map_err(errors::to_py)?.into()))
}

fn literal(value: &Bound<'_, PyAny>) -> PyResult<predicate::Expr> {
    if let Ok(expr) = value.cast::<Expr>() {
        return Ok(expr.get().0.clone());
    }
    if value.is_none() {
        return parsed("null");
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().into());
    }
    if value.is_instance_of::<PyInt>() {
        return match value.extract::<i64>() {
            Ok(number) => Ok(number.into()),
            // The library computes with decimals of any length.
            Err(err) if err.is_instance_of::<PyOverflowError>(value.py()) => {
                parsed(value.str()?.to_str()?)
            }
            Err(err) => Err(err),
        };
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.value().into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    let kind = value.get_type().name()?.to_string();
    match kind.as_str() {
        "Decimal" => parsed(value.call_method1("__format__", ("f",))?.extract()?),
        // The library casts text to the type of the column.
        "date" => Ok(value.call_method0("isoformat")?.extract::<String>()?.into()),
        "datetime" | "Timestamp" => {
            Ok(value.call_method1("isoformat", (" ",))?.extract::<String>()?.into())
        }
        _ => match value.call_method0("item") {
            // A scalar of numpy.
            Ok(item) if !item.get_type().is(value.get_type()) => literal(&item),
            _ => Err(PyTypeError::new_err(format!("`{kind}` cannot be compared with a column"))),
        },
    }
}

fn parsed(text: &str) -> PyResult<predicate::Expr> {
    Ok(Predicate::parse(text).map_err(errors::to_py)?.into())
}

#[pymethods]
impl Expr {
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Self> {
        let (left, right) = (self.0.clone(), literal(other)?);
        Ok(Self(match op {
            CompareOp::Eq => left.eq(right),
            CompareOp::Ne => left.ne(right),
            CompareOp::Lt => left.lt(right),
            CompareOp::Le => left.le(right),
            CompareOp::Gt => left.gt(right),
            CompareOp::Ge => left.ge(right),
        }))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone().and(literal(other)?)))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone().or(literal(other)?)))
    }

    fn __invert__(&self) -> Self {
        Self(!self.0.clone())
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone() + literal(other)?))
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(literal(other)? + self.0.clone()))
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone() - literal(other)?))
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(literal(other)? - self.0.clone()))
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone() * literal(other)?))
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(literal(other)? * self.0.clone()))
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone() / literal(other)?))
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(literal(other)? / self.0.clone()))
    }

    fn __neg__(&self) -> Self {
        Self(-self.0.clone())
    }

    fn __bool__(&self) -> PyResult<bool> {
        let why = "a condition on rows is neither true nor false: use &, | and ~ in place of and, or and not";
        Err(PyTypeError::new_err(why))
    }

    /// Whether the value is null.
    fn is_null(&self) -> Self {
        Self(self.0.clone().is_null())
    }

    /// Whether the value is not null.
    fn is_not_null(&self) -> Self {
        Self(self.0.clone().is_not_null())
    }

    /// Whether the value equals one of these.
    fn is_in(&self, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        if values.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("`is_in` takes a list of values, not a text"));
        }
        let values: Vec<predicate::Expr> =
            values.try_iter()?.map(|value| literal(&value?)).collect::<PyResult<_>>()?;
        Ok(Self(self.0.clone().is_in(values)))
    }

    /// Whether the value lies between these, inclusively.
    fn between(&self, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.clone().between(literal(low)?, literal(high)?)))
    }

    /// Whether the text matches a pattern: `%` is any run of characters, `_` is one.
    fn like(&self, pattern: &str) -> Self {
        Self(self.0.clone().like(pattern))
    }

    /// Whether the text matches a pattern with letters in either case.
    fn ilike(&self, pattern: &str) -> Self {
        Self(self.0.clone().ilike(pattern))
    }

    /// The names of the columns in the expression.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let predicate = Predicate::from(self.0.clone());
        predicate.columns().into_iter().map(str::to_owned).collect()
    }

    fn __str__(&self) -> String {
        Predicate::from(self.0.clone()).to_string()
    }

    fn __repr__(&self) -> String {
        format!("Expr({})", Predicate::from(self.0.clone()))
    }
}
