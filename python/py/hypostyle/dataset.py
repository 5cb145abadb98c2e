"""Tables as datasets of pyarrow, which DuckDB and polars push projections and filters into.

>>> import duckdb, hypostyle.dataset
>>> flights = hypostyle.dataset.open("flights.csv.at1")                       # doctest: +SKIP
>>> duckdb.sql("select carrier, count(*) from flights where month = 7 group by 1")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from ._hypostyle import Table
from ._hypostyle import open as open_table

__all__ = ["Dataset", "open"]


def open(source: Any, **options: Any) -> Dataset:  # noqa: A001
    """Opens a file of any kind as a dataset; the options are those of ``hypostyle.open``."""
    table = source if isinstance(source, Table) else open_table(source, **options)
    return Dataset(table)


class Dataset(ds.Dataset):
    """A dataset of one table.

    It has those methods of ``pyarrow.dataset.Dataset`` that read: ``schema``, ``scanner``,
    ``to_batches``, ``to_table``, ``head`` and ``count_rows``.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._schema = pa.schema(table.schema)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(self, columns: Any = None, filter: Any = None, batch_size: int | None = None,  # noqa: A002
                **_: Any) -> ds.Scanner:
        """Scans columns and rows. Arguments that only make a difference in speed are ignored."""
        names = self._needed(columns, filter)
        reader = pa.RecordBatchReader.from_batches(
            self._projected(names), self._batches(names, filter, batch_size)
        )
        return ds.Scanner.from_batches(reader, columns=columns, filter=filter)

    def to_batches(self, **arguments: Any) -> Iterator[pa.RecordBatch]:
        return self.scanner(**arguments).to_batches()

    def to_table(self, **arguments: Any) -> pa.Table:
        return self.scanner(**arguments).to_table()

    def head(self, num_rows: int, **arguments: Any) -> pa.Table:
        return self.scanner(**arguments).head(num_rows)

    def count_rows(self, filter: Any = None, **arguments: Any) -> int:  # noqa: A002
        if filter is None:
            return self._table.num_rows
        return self.scanner(columns=[], filter=filter, **arguments).count_rows()

    def _projected(self, names: list[str] | None) -> pa.Schema:
        if names is None:
            return self._schema
        return pa.schema([self._schema.field(name) for name in names])

    def _needed(self, columns: Any, filter: Any) -> list[str] | None:  # noqa: A002
        """Returns the columns that a projection and a filter use; all columns if that is unknown."""
        if not isinstance(columns, (list, tuple)) or len(set(self._schema.names)) < len(self._schema.names):
            return None
        if filter is None:
            return list(columns)
        # pyarrow does not tell which columns an expression uses, but its text contains them.
        text = str(filter)
        return [name for name in self._schema.names if name in columns or name in text]

    def _batches(self, names: list[str] | None, filter: Any, batch_size: int | None  # noqa: A002
                 ) -> Iterator[pa.RecordBatch]:
        try:
            scan = self._table.scan(names, filter, batch_size=batch_size)
        except (TypeError, ValueError):
            # What cannot be translated, pyarrow filters.
            scan = self._table.scan(names, batch_size=batch_size)
        yield from scan.to_reader()
