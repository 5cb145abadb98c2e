"""Lazy frames of polars."""

from __future__ import annotations

import pathlib

import polars as pl
import pytest
from conftest import LARGE_ROWS, table

import hypostyle
import hypostyle.polars

QUERIES = [
    lambda frame: frame,
    lambda frame: frame.select("city", "id"),
    lambda frame: frame.filter(pl.col("group") == 3),
    lambda frame: frame.filter(pl.col("group") == 3, pl.col("city") == "rome").select("id"),
    lambda frame: frame.filter(pl.col("price") > 90.0).head(3),
    lambda frame: frame.head(50).filter(pl.col("city") == "rome"),
    lambda frame: frame.filter(~(pl.col("group") == 3) & pl.col("city").is_not_null()).tail(4),
    lambda frame: frame.filter(pl.col("id").is_between(10, 20, closed="left")),
    lambda frame: frame.filter(pl.col("city").str.starts_with("ro") | (pl.col("id") == 3)).head(9),
    lambda frame: frame.filter(pl.col("city").str.len_chars() > 4, pl.col("group") < 2),
    lambda frame: frame.filter(pl.col("id").is_in([3, 5, 4999])),
    lambda frame: frame.filter(pl.col("price") > float("inf")),
    lambda frame: frame.filter(pl.col("id") >= 4990.5, 3.0 > pl.col("group") - 7),
    lambda frame: frame.filter(pl.col("city").cast(pl.Float64, strict=False) > 3.0),
    lambda frame: frame.filter(pl.col("id").map_elements(lambda it: it % 7 == 0, return_dtype=pl.Boolean)),
    lambda frame: frame.group_by("city").agg(pl.col("price").mean(), pl.len()).sort("city"),
    lambda frame: frame.select(pl.len()),
    lambda frame: frame.sort("price", descending=True).head(5).select("price"),
    lambda frame: frame.slice(7, 5),
    lambda frame: frame.with_row_index().filter(pl.col("index") == 9),
]


@pytest.mark.parametrize("query", range(len(QUERIES)))
def test_queries_give_what_polars_gives(path: pathlib.Path, query: int) -> None:
    ask = QUERIES[query]
    ours = ask(hypostyle.polars.scan(path)).collect()
    theirs = ask(pl.DataFrame(table()).lazy()).collect()
    # Text formats read the integers as 64-bit ones.
    assert ours.cast({pl.Int64: pl.Int32}).to_dicts() == theirs.cast({pl.Int64: pl.Int32}).to_dicts()


def test_pushdown_reads_less(archive: pathlib.Path) -> None:
    class Counting:
        def __init__(self, file) -> None:
            self.file, self.bytes = file, 0

        def seek(self, *args: int) -> int:
            return self.file.seek(*args)

        def read(self, size: int) -> bytes:
            self.bytes += size
            return self.file.read(size)

    source = Counting(archive.open("rb"))
    opened = hypostyle.open(source, name=archive.name)
    frame = hypostyle.polars.scan(opened)
    assert source.bytes < archive.stat().st_size
    assert frame.select(pl.col("id").sum()).collect().item() == LARGE_ROWS * (LARGE_ROWS - 1) // 2
    before = source.bytes
    assert frame.filter(pl.col("group") == 3).select("id").collect().height == 500
    assert source.bytes - before < archive.stat().st_size / 4


def test_errors_keep_their_type(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n" + "1,2\n" * 10)
    frame = hypostyle.polars.scan(path)
    assert frame.collect().height == 10
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        frame.select("zzz").collect()
