//! The schema of a table.

use std::collections::BTreeMap;

use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::to_schema_pycapsule;

/// The names and types of the columns of a table.
///
/// Other packages take it through the Arrow PyCapsule protocol, such as `pyarrow.schema(schema)`.
#[pyclass(frozen, eq, module = "hypostyle")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schema(pub(crate) SchemaRef);

impl Schema {
    /// Returns the schema for the Arrow C interface.
    pub(crate) fn capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.0.as_ref())?)
    }
}

#[pymethods]
impl Schema {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The types of the columns, as Arrow names them.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// The metadata of the table.
    #[getter]
    fn metadata(&self) -> BTreeMap<String, String> {
        let metadata = self.0.metadata().iter();
        metadata.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __repr__(&self) -> String {
        let column = |(name, kind): (String, String)| format!("{name}: {kind}");
        let columns: Vec<String> = self.names().into_iter().zip(self.types()).map(column).collect();
        format!("Schema({})", columns.join(", "))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.capsule(py)
    }
}
