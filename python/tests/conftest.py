"""One table in every format, and helpers."""

from __future__ import annotations

import pathlib
import random

import pyarrow as pa
import pytest

import hypostyle

ROWS = 5000
LARGE_ROWS = 60_000

# Formats that hold the table below as it is.
TABLE_FORMATS = ["colm", "colf", "clmn", "csv", "tsv", "jsonl", "parquet", "arrow", "at1", "at1-query"]


def table(rows: int = ROWS) -> pa.Table:
    """A table whose columns every format but OnPair holds."""
    chance = random.Random(1)
    names = ["oslo", "rome", "nice", "bonn, am rhein", 'a "quoted" town']
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int32()),
            "group": pa.array([row // 500 for row in range(rows)], pa.int32()),
            "price": pa.array([chance.randrange(1000) / 8 for _ in range(rows)], pa.float64()),
            "city": pa.array([names[row % 5] for row in range(rows)], pa.string()),
        }
    )


def write_as(data: pa.Table, folder: pathlib.Path, form: str) -> pathlib.Path:
    """Writes a table in a form, and returns the path."""
    if form.startswith("at1"):
        text = folder / "table.csv"
        hypostyle.write(data, text)
        path = folder / "table.csv.at1"
        hypostyle.pack(text, path, query=form == "at1-query", rows_per_group=500)
        return path
    path = folder / f"table.{'colfile' if form == 'colm' else form}"
    hypostyle.write(data, path, format=form)
    return path


@pytest.fixture(params=TABLE_FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def path(form: str, tmp_path: pathlib.Path) -> pathlib.Path:
    return write_as(table(), tmp_path, form)


@pytest.fixture
def archive(tmp_path: pathlib.Path) -> pathlib.Path:
    """An archive with several row groups."""
    return write_as(table(LARGE_ROWS), tmp_path, "at1-query")


def rows(data: object) -> list[dict[str, object]]:
    """The rows of anything with an Arrow stream."""
    return pa.table(data).to_pylist()
