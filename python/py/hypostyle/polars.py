"""Lazy frames of polars.

>>> import polars as pl, hypostyle.polars
>>> frame = hypostyle.polars.scan("flights.csv.at1")           # doctest: +SKIP
>>> frame.filter(pl.col("month") == 7).select("carrier").collect()  # doctest: +SKIP

Columns, the filter and the number of rows are pushed down: only what they need is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from ._hypostyle import Table
from ._hypostyle import open as open_table
from ._translate import wider

__all__ = ["scan"]


def scan(source: Any, **options: Any) -> pl.LazyFrame:
    """Scans a file of any kind as a lazy frame.

    Args:
        source: What ``hypostyle.open`` takes, or an open ``Table``.
        options: Those of ``hypostyle.open``.
    """
    table = source if isinstance(source, Table) else open_table(source, **options)
    empty = pl.DataFrame(table.scan(limit=0))

    def batches(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        # The number of rows counts before the predicate, so that a limit of the scan would be too
        # small with one.
        rows = (0, n_rows) if n_rows is not None and predicate is not None else None
        limit = n_rows if predicate is None else None
        filter_ = None if predicate is None else wider(predicate)
        if filter_ is not None:
            try:
                scanned = table.scan(with_columns, filter_, rows=rows, batch_size=batch_size)
            except (ValueError, TypeError):
                # Polars compares types that the library does not.
                scanned = table.scan(with_columns, rows=rows, batch_size=batch_size)
        else:
            scanned = table.scan(with_columns, None, limit, rows=rows, batch_size=batch_size)
        for batch in scanned:
            frame = pl.DataFrame(batch)
            # The library may return more rows: polars trusts a source to filter.
            yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(batches, schema=empty.schema, validate_schema=False, is_pure=True)
