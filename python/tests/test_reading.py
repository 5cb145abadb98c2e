"""Tables and scans, in every format."""

from __future__ import annotations

import datetime
import decimal
import io
import pathlib

import duckdb
import fsspec
import nanoarrow
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import LARGE_ROWS, ROWS, rows, table, write_as

import hypostyle
from hypostyle import col


def test_what_a_table_says(path: pathlib.Path, form: str) -> None:
    opened = hypostyle.open(path)
    assert opened.num_rows == len(opened) == ROWS
    assert opened.columns == opened.schema.names == ["id", "group", "price", "city"]
    assert opened.format == form.split("-")[0]
    assert opened.metadata["rows"] == ROWS
    assert opened.metadata["deviations"] == []
    assert len(opened.schema) == 4
    assert set(opened.stats) == set(opened.columns)
    for stats in opened.stats.values():
        assert stats["null_count"] in (None, 0)


def test_all_consumers_get_the_same_rows(path: pathlib.Path) -> None:
    opened, want = hypostyle.open(path), table().to_pylist()
    for _ in range(2):
        assert rows(opened) == want
        assert pl.DataFrame(opened).to_dicts() == want
        assert opened.to_polars().to_dicts() == want
        assert opened.to_pandas().to_dict("records") == want
        assert opened.read().to_pyarrow().to_pylist() == want
        assert rows(opened.to_reader()) == want
        assert duckdb.sql("select * from opened").to_arrow_table().to_pylist() == want
        assert nanoarrow.ArrayStream(opened).read_all().to_pylist() == want
        assert pd.DataFrame.from_arrow(opened).to_dict("records") == want
    assert opened.to_pydict()["id"][:3] == [0, 1, 2]


def test_scans(path: pathlib.Path) -> None:
    opened = hypostyle.open(path)
    scan = opened.scan(["city", "id"], "group = 3 and city = 'rome'", limit=7)
    assert scan.schema.names == ["city", "id"]
    want = [{"city": "rome", "id": row} for row in range(1500, 2000) if row % 5 == 1]
    assert rows(scan) == rows(scan) == want[:7]
    assert opened.scan(filter="group = 3 and city = 'rome'").count() == len(want)
    assert rows(opened.scan([3, 0], limit=1)) == [{"city": "oslo", "id": 0}]
    assert rows(opened.scan(["id"], rows=(4990, 6000))) == [{"id": row} for row in range(4990, ROWS)]
    assert rows(opened.take([4999, 0, 7], ["id"])) == [{"id": 4999}, {"id": 0}, {"id": 7}]
    batches = list(opened.scan(["id"], batch_size=1000))
    assert all(0 < len(batch) <= 1000 for batch in batches)
    assert sum(len(batch) for batch in batches) == ROWS
    assert rows(opened.scan([], limit=2)) == [{}, {}] and opened.scan([]).count() == ROWS


def test_filters_in_all_languages(path: pathlib.Path) -> None:
    opened = hypostyle.open(path)
    want = [row for row in table().to_pylist() if row["price"] > 90 and row["city"] != "rome"]
    same = [
        "price > 90 and city <> 'rome'",
        (col("price") > 90) & (col("city") != "rome"),
        ~((col("price") <= 90) | (col("city") == "rome")),
        hypostyle.parse("price > 90 and city <> 'rome'"),
        (pl.col("price") > 90) & (pl.col("city") != "rome"),
        (pc.field("price") > 90) & (pc.field("city") != "rome"),
        (pc.scalar(90.0) < pc.field("price")) & ~(pc.field("city") == "rome"),
    ]
    for filter_ in same:
        assert rows(opened.scan(filter=filter_)) == want, filter_
    assert rows(opened.scan(["id"], col("id").is_in([3, 5]))) == [{"id": 3}, {"id": 5}]
    assert rows(opened.scan(["id"], pc.field("id").isin([3, 5]))) == [{"id": 3}, {"id": 5}]
    assert rows(opened.scan(["id"], col("id").between(3, 4))) == [{"id": 3}, {"id": 4}]
    assert opened.scan(filter=col("city").like("%onn%")).count() == ROWS // 5
    assert opened.scan(filter=col("city").ilike("ROM_")).count() == ROWS // 5
    assert opened.scan(filter=col("city").is_null()).count() == 0
    assert opened.scan(filter=col("id") + 1 == 10).count() == 1
    assert opened.scan(filter=10 - col("id") > 8).count() == 2


def test_pruning_is_shown(archive: pathlib.Path) -> None:
    scan = hypostyle.open(archive).scan(["id"], "group = 3")
    assert rows(scan) == [{"id": row} for row in range(1500, 2000)]
    stats = scan.stats
    assert stats["row_groups"] >= 5
    assert stats["row_groups_pruned"] >= stats["row_groups"] - 2
    assert stats["rows_returned"] == 500
    assert 0 < stats["bytes_read"] <= stats["bytes"]


def test_sources(path: pathlib.Path, form: str) -> None:
    want, name = table().to_pylist(), path.name
    content = path.read_bytes()
    memory = fsspec.filesystem("memory")
    memory.pipe(f"/{name}", content)
    with path.open("rb") as file:
        assert rows(hypostyle.open(file)) == want
    for source in (str(path), content, bytearray(content), memoryview(content), io.BytesIO(content)):
        assert rows(hypostyle.open(source, name=name)) == want
    assert rows(hypostyle.open(f"memory://{name}", name=name)) == want
    assert rows(hypostyle.open(path, format=form.split("-")[0])) == want
    assert rows(hypostyle.read(path, ["id"], "id < 2")) == [{"id": 0}, {"id": 1}]


def test_bad_sources(tmp_path: pathlib.Path) -> None:
    missing = tmp_path / "missing.csv"
    with pytest.raises(FileNotFoundError) as raised:
        hypostyle.open(missing)
    assert (raised.value.errno, raised.value.filename) == (2, str(missing))
    with pytest.raises(IsADirectoryError):
        hypostyle.open(tmp_path)
    with pytest.raises(TypeError, match="expected a path"):
        hypostyle.open(3)
    with pytest.raises(TypeError, match="binary mode"):
        hypostyle.open(io.StringIO("a,b\n1,2\n"))

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(TypeError, match="cannot seek"):
        hypostyle.open(Pipe(b"a\n1\n"))

    class Broken(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise ZeroDivisionError("broken")

    with pytest.raises(ZeroDivisionError, match="broken"):
        hypostyle.open(Broken(b"a\n1\n"), name="a.csv")


def test_errors_say_where(archive: pathlib.Path, tmp_path: pathlib.Path) -> None:
    opened = hypostyle.open(archive)
    with pytest.raises(hypostyle.InvalidArgument, match="no column `prise`"):
        opened.scan(["prise"])
    with pytest.raises(ValueError, match="prise"):
        opened.scan(filter="prise > 3")
    with pytest.raises(ValueError):
        opened.scan(filter="price >")
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(col("a") == 1)
    with pytest.raises(TypeError, match="cannot be translated"):
        opened.scan(filter=pl.col("id").map_elements(lambda it: it, return_dtype=pl.Int64) > 3)
    with pytest.raises(hypostyle.Unsupported):
        hypostyle.open(b"\x00\x01\x02 no format")
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("a,b\n1,2\n3\n")
    with pytest.raises(hypostyle.CorruptFile) as raised:
        hypostyle.open(ragged).read()
    assert raised.value.format == "csv"
    assert raised.value.row == 1
    import pickle

    assert pickle.loads(pickle.dumps(raised.value)).row == 1


def test_damage(tmp_path: pathlib.Path) -> None:
    path = write_as(table(), tmp_path, "colf")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x55
    opened = hypostyle.open(bytes(content))
    with pytest.raises(hypostyle.CorruptFile) as raised:
        opened.read()
    assert raised.value.format == "colf" and raised.value.column in opened.columns
    with pytest.raises((pa.ArrowInvalid, OSError)):
        pa.table(opened)
    with pytest.raises(Exception, match="column"):
        pl.DataFrame(opened)
    report = hypostyle.verify(bytes(content))
    assert not report["ok"] and report["errors"]
    assert hypostyle.verify(path)["ok"]


def test_a_nul_in_a_message_does_not_end_the_process(tmp_path: pathlib.Path) -> None:
    text = b"a\x00b,c\n" + b"1,2\n" * 10 + b"3\n"
    opened = hypostyle.open(text, name="x.csv", format="csv")
    with pytest.raises(hypostyle.Error):
        opened.read()
    with pytest.raises(Exception):
        pa.table(opened)


def test_types_of_text(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "types.csv"
    path.write_text("day,at,ok,sum,n\n2024-02-29,2024-01-02T03:04:05,true,1.50,NA\n2024-03-01,2024-01-02T03:04:06,false,2.25,3\n")
    first = rows(hypostyle.open(path))[0]
    assert first["day"] == datetime.date(2024, 2, 29)
    assert first["at"] == datetime.datetime(2024, 1, 2, 3, 4, 5)
    assert first["ok"] is True and first["n"] is None
    assert first["sum"] == decimal.Decimal("1.50")
    assert rows(hypostyle.open(path, types={"day": "text"}))[0]["day"] == "2024-02-29"
    assert rows(hypostyle.open(path, null=[""]))[0]["n"] == "NA"
    opened = hypostyle.open(path)
    assert opened.scan(filter=col("day") == datetime.date(2024, 3, 1)).count() == 1
    assert opened.scan(filter=col("at") > datetime.datetime(2024, 1, 2, 3, 4, 5)).count() == 1
    assert opened.scan(filter=col("sum") >= decimal.Decimal("2.25")).count() == 1


def test_dictionaries(archive: pathlib.Path) -> None:
    scan = hypostyle.open(archive).scan(["city"], dictionaries=True)
    read = pa.table(scan)
    assert pa.types.is_dictionary(read.schema.field("city").type)
    assert read["city"].cast(pa.string()).to_pylist() == table(LARGE_ROWS)["city"].to_pylist()
