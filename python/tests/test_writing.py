"""Writers: what is written is read back."""

from __future__ import annotations

import io
import pathlib

import duckdb
import hypothesis.strategies as st
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ROWS, rows, table
from hypothesis import given, settings

import hypostyle

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r\n"), max_size=12)
COLUMNS = {
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "float64": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.string(), TEXT),
}


@st.composite
def tables(draw: st.DrawFn, nulls: bool) -> pa.Table:
    """Random tables with the types that column files have."""
    count, height = draw(st.integers(1, 4)), draw(st.integers(0, 40))
    columns = {}
    for index in range(count):
        kind, values = COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))]
        if nulls:
            values = st.one_of(st.none(), values)
        cells = draw(st.lists(values, min_size=height, max_size=height))
        columns[f"c{index}"] = pa.array(cells, kind)
    return pa.table(columns)


@settings(max_examples=60, deadline=None)
@given(data=tables(nulls=True), form=st.sampled_from(["colf", "parquet", "arrow"]))
def test_random_tables_come_back(data: pa.Table, form: str) -> None:
    file = io.BytesIO()
    assert hypostyle.write(data, file, format=form) == data.num_rows
    back = hypostyle.open(file.getvalue())
    assert back.num_rows == data.num_rows
    assert rows(back) == data.to_pylist()


@settings(max_examples=60, deadline=None)
@given(data=tables(nulls=False), form=st.sampled_from(["colm", "colf", "clmn", "parquet", "arrow"]))
def test_random_tables_without_nulls_come_back(data: pa.Table, form: str) -> None:
    file = io.BytesIO()
    hypostyle.write(data, file, format=form)
    assert rows(hypostyle.open(file.getvalue())) == data.to_pylist()


@settings(max_examples=60, deadline=None)
@given(data=tables(nulls=False), form=st.sampled_from(["csv", "tsv", "jsonl"]))
def test_random_tables_come_back_from_text(data: pa.Table, form: str) -> None:
    file = io.BytesIO()
    assert hypostyle.write(data, file, format=form) == data.num_rows
    names = {pa.int32(): "int32", pa.float64(): "float64", pa.string(): "text"}
    types = {field.name: names[field.type] for field in data.schema}
    if data.num_rows == 0 and form == "jsonl":
        # No line names a column.
        return
    # The only token for null in these tables is no text of theirs.
    back = hypostyle.open(file.getvalue(), name=f"t.{form}", types=types, null=["\\0"])
    assert [list(row.values()) for row in rows(back)] == [list(row.values()) for row in data.to_pylist()]


@settings(max_examples=40, deadline=None)
@given(strings=st.lists(st.one_of(st.none(), TEXT), min_size=1, max_size=50))
def test_random_strings_come_back(strings: list[str | None]) -> None:
    file = io.BytesIO()
    hypostyle.write(pa.table({"s": pa.array(strings, pa.string())}), file, format="onpair")
    assert rows(hypostyle.open(file.getvalue())) == [{"s": it} for it in strings]


def test_everything_with_a_stream_is_taken(tmp_path: pathlib.Path) -> None:
    data, want = table(), table().to_pylist()
    path = tmp_path / "out.colf"
    source = hypostyle.open(io_bytes(data, "parquet"))
    relation = duckdb.sql("select * from data")
    sources = [
        data,
        data.to_batches()[0],
        pa.RecordBatchReader.from_batches(data.schema, data.to_batches()),
        pl.DataFrame(data),
        pl.DataFrame(data).lazy(),
        pd.DataFrame.from_arrow(data),
        relation,
        source,
        source.scan(),
        source.read(),
        data.to_pydict(),
    ]
    for it in sources:
        types = {"id": "int32", "group": "int32"}
        assert hypostyle.write(it, path, types=types) == ROWS, type(it)
        assert rows(hypostyle.open(path)) == want, type(it)


def io_bytes(data: object, form: str, **options: object) -> bytes:
    file = io.BytesIO()
    hypostyle.write(data, file, format=form, **options)
    return file.getvalue()


def test_a_failure_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "kept.colm"
    hypostyle.write({"a": [1, 2]}, path, format="colm", types={"a": "int32"})
    before = path.read_bytes()

    def batches() -> object:
        yield pa.record_batch({"a": pa.array([1], pa.int32())})
        raise ZeroDivisionError("in the middle")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int32()}), batches())
    with pytest.raises(Exception, match="in the middle"):
        hypostyle.write(reader, path, format="colm")
    with pytest.raises(hypostyle.Refused) as raised:
        hypostyle.write({"a": [1, None]}, path, format="colm")
    assert raised.value.column == "a" and raised.value.format == "colm"
    assert path.read_bytes() == before
    assert [it.name for it in tmp_path.iterdir()] == ["kept.colm"]
    with pytest.raises(FileExistsError):
        hypostyle.write({"a": [1]}, path, format="colm", replace=False)


def test_arguments_are_checked(tmp_path: pathlib.Path) -> None:
    with pytest.raises(hypostyle.InvalidArgument, match="extension"):
        hypostyle.write({"a": [1]}, tmp_path / "x.unknown")
    with pytest.raises(hypostyle.InvalidArgument, match="there is no format"):
        hypostyle.write({"a": [1]}, tmp_path / "x", format="nope")
    with pytest.raises(TypeError):
        hypostyle.write(3, tmp_path / "x.csv")
    with pytest.raises(hypostyle.Refused, match="AT-1"):
        hypostyle.write({"a": [1]}, tmp_path / "x.at1")
    with pytest.raises(FileNotFoundError):
        hypostyle.write({"a": [1]}, tmp_path / "no" / "x.csv")


def test_rows_beyond_memory_wait_on_disk(tmp_path: pathlib.Path) -> None:
    data = table(50_000)
    hypostyle.write(data, tmp_path / "big.colf", memory_limit=1 << 16)
    assert rows(hypostyle.open(tmp_path / "big.colf")) == data.to_pylist()
