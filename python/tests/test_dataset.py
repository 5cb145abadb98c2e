"""Datasets of pyarrow, and DuckDB's pushdown into them."""

from __future__ import annotations

import pathlib

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import ROWS, table

import hypostyle.dataset

FILTERS = [
    "\"group\" = 3",
    "city = 'rome' and price > 90",
    "id in (3, 5, 4999)",
    "id not in (3, 5) and id < 10",
    "city is null or id = 1",
    "not (price <= 90)",
    "id % 7 = 0",
    "city like 'ro%'",
    "price > 'inf'::double",
]


@pytest.mark.parametrize("condition", FILTERS)
def test_duckdb_gives_the_same(path: pathlib.Path, condition: str) -> None:
    ours, theirs = hypostyle.dataset.open(path), table()
    assert ours.count_rows() == ROWS and theirs.num_rows == ROWS
    query = f"select id, city from {{}} where {condition} order by id"
    got = duckdb.sql(query.format("ours")).fetchall()
    assert got == duckdb.sql(query.format("theirs")).fetchall()


def test_pyarrow_gives_the_same(path: pathlib.Path) -> None:
    opened = hypostyle.dataset.open(path)
    field = pc.field
    for filter_ in (field("group") == 3, field("price") >= 95, ~field("id").isin([1]), field("city") < "nice"):
        got = opened.to_table(columns=["id"], filter=filter_)
        assert got["id"].to_pylist() == table().filter(filter_)["id"].to_pylist()
        assert opened.count_rows(filter=filter_) == got.num_rows
    assert opened.head(3, columns=["city"]).to_pydict() == {"city": ["oslo", "rome", "nice"]}
    assert isinstance(opened.schema, pa.Schema)


def test_nan_is_compared_as_pyarrow_does() -> None:
    nan = float("nan")
    data = pa.table({"x": pa.array([1.0, nan, 5.0, None])})
    text = hypostyle.dataset.open(hypostyle_bytes(data))
    for filter_ in (
        pc.field("x") > 3,
        pc.field("x") < 3,
        ~(pc.field("x") > 3),
        ~(pc.field("x") <= 3),
        pc.field("x") != 5,
        pc.scalar(3.0) < pc.field("x"),
    ):
        got = text.to_table(filter=filter_)["x"].to_pylist()
        assert str(got) == str(data.filter(filter_)["x"].to_pylist()), filter_


def hypostyle_bytes(data: pa.Table) -> bytes:
    import io

    file = io.BytesIO()
    hypostyle.write(data, file, format="parquet")
    return file.getvalue()
