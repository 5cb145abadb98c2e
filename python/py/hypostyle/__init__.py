"""Reads and writes column files: COLM, COLF, CLMN, AT-1 and OnPair, with Arrow in memory.

>>> import hypostyle
>>> flights = hypostyle.open("flights.csv.at1")                              # doctest: +SKIP
>>> flights.read(["carrier", "dep_delay"], "month = 7 and dep_delay > 120")  # doctest: +SKIP

``open`` opens a file of any kind: these formats, CSV, JSON Lines, logs, Parquet and Arrow. What it
returns speaks the Arrow PyCapsule protocol, so ``pyarrow.table(flights)``,
``polars.DataFrame(flights)`` and ``duckdb.sql("select ... from flights")`` take it as it is.
"""

from __future__ import annotations

from . import _frames, onpair
from ._errors import CorruptFile, Error, InvalidArgument, LimitExceeded, Refused, Unsupported
from ._hypostyle import (
    Archive,
    Expr,
    Member,
    MemoryTable,
    Scan,
    Schema,
    Table,
    __version__,
    append,
    col,
    formats,
    lit,
    open,  # noqa: A004
    pack,
    parse,
    unpack,
    verify,
)
from ._reading import read
from ._writing import write

for _class in (Table, Scan, MemoryTable):
    for _name in ("to_pyarrow", "to_pandas", "to_polars", "to_reader", "to_pydict"):
        setattr(_class, _name, getattr(_frames, _name))
del _class, _name

__all__ = [
    "Archive",
    "CorruptFile",
    "Error",
    "Expr",
    "InvalidArgument",
    "LimitExceeded",
    "Member",
    "MemoryTable",
    "Refused",
    "Scan",
    "Schema",
    "Table",
    "Unsupported",
    "__version__",
    "append",
    "col",
    "formats",
    "lit",
    "onpair",
    "open",
    "pack",
    "parse",
    "read",
    "unpack",
    "verify",
    "write",
]
