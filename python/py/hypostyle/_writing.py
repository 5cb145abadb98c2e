"""Writes tables of any kind."""

from __future__ import annotations

from typing import Any

from ._hypostyle import _write


def write(data: Any, to: Any, **options: Any) -> int:
    """Writes a table to a file, and returns the number of rows.

    A path gets the file when it is complete. Values that the format cannot hold without loss are
    refused.

    Args:
        data: Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas,
            DuckDB relations, tables of this package), a polars LazyFrame, or a dictionary of lists.
        to: A path, or a binary file object that can seek.
        format: The format; by default that of the extension.
        level: The compression level, where the format has one.
        threads: The number of threads to work with; by default one per core.
        types: Types of columns, such as ``{"id": "int64"}``.
        null: The text for null in CSV and in formats without nulls, which else refuse them.
        keep_names: Whether equal names are written, where the format allows it; else refused.
        replace: Whether a file with the same path is replaced.
        memory_limit: The bytes of rows that wait in memory; more wait in a temporary file.
    """
    if isinstance(data, dict):
        data = _from_lists(data)
    elif not hasattr(data, "__arrow_c_stream__") and hasattr(data, "collect"):
        data = data.collect()
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise TypeError(f"`{type(data).__name__}` has no Arrow stream; expected a table or a dict of lists")
    return _write(data, to, **options)


def _from_lists(columns: dict[str, Any]) -> Any:
    """Makes a table of lists with the package that is there."""
    try:
        import pyarrow

        return pyarrow.table(columns)
    except ImportError:
        pass
    try:
        import polars

        return polars.DataFrame(columns)
    except ImportError:
        raise ImportError("a dict of lists needs the package pyarrow or polars") from None
