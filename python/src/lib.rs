//! The extension module of the Python package `hypostyle`.
//!
//! | module | content |
//! |---|---|
//! | `arguments` | arguments that several functions take |
//! | `errors` | errors of the library as Python exceptions |
//! | `interrupt` | long work on a thread, so that Ctrl-C ends the call |
//! | `source` | paths, bytes and file objects as sources of bytes |
//! | `sink` | paths and file objects that are written to |
//! | `stream` | batches as Arrow streams |
//! | `schema`, `memory_table`, `scan`, `table` | the classes of tables |
//! | `expr` | expressions for filters |
//! | `write`, `archive`, `strings` | writing, archives, compressed strings |
//! | `command` | the command `hyp` |
//!
//! The package `hypostyle` in `py/` adds what needs other packages: polars, pandas and pyarrow.

use pyo3::prelude::*;

mod archive;
mod arguments;
mod command;
mod errors;
mod expr;
mod interrupt;
mod memory_table;
mod scan;
mod schema;
mod sink;
mod source;
mod stream;
mod strings;
mod table;
mod write;

#[pymodule(name = "_hypostyle")]
mod module {
    #[pymodule_export]
    use super::archive::{Archive, PyMember, append, pack, unpack, verify};
    #[pymodule_export]
    use super::arguments::formats;
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::expr::{Expr, col, lit, parse};
    #[pymodule_export]
    use super::memory_table::MemoryTable;
    #[pymodule_export]
    use super::scan::{BatchIterator, Scan};
    #[pymodule_export]
    use super::schema::Schema;
    #[pymodule_export]
    use super::strings::{ArrowArray, Strings, compress};
    #[pymodule_export]
    use super::table::{Table, open};
    #[pymodule_export]
    use super::write::write;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
