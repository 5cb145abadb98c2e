"""Compressed strings."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypostyle import onpair

CITIES = ["berlin-mitte", "berlin-wedding", None, "", "rome", "berlin-spandau"] * 200
URLS = [f"https://example.org/a/long/path/to/page-{number}.html" for number in range(5000)]


@pytest.mark.parametrize("make", [list, pa.array, lambda it: pa.chunked_array([it[:7], it[7:]]), pl.Series])
def test_strings(make) -> None:
    strings = onpair.compress(make(CITIES))
    assert len(strings) == len(CITIES)
    assert strings[1] == "berlin-wedding" and strings[-1] == "berlin-spandau" and strings[2] is None
    assert strings[3:20:4] == CITIES[3:20:4] and strings[::-1] == CITIES[::-1]
    assert strings.take([5, 0, -2]) == ["berlin-spandau", "berlin-mitte", "rome"]
    with pytest.raises(IndexError):
        strings[len(CITIES)]
    where = lambda test: [row for row, it in enumerate(CITIES) if it is not None and test(it)]  # noqa: E731
    assert strings.contains("lin-") == where(lambda it: "lin-" in it)
    assert strings.contains("LIN-", ignore_case=True) == where(lambda it: "lin-" in it)
    assert strings.startswith("ber") == where(lambda it: it.startswith("ber"))
    assert strings.endswith("e") == where(lambda it: it.endswith("e"))
    assert strings.equals("rome") == where(lambda it: it == "rome")
    assert strings.startswith("") == where(lambda _: True)
    assert pa.array(strings).to_pylist() == CITIES
    array = strings.to_arrow()
    assert pa.array(array).to_pylist() == CITIES and len(array) == len(CITIES)
    assert "LargeUtf8" in repr(array) and pl.Series(array).to_list() == CITIES
    assert strings.decoded_nbytes == sum(len(it or "") for it in CITIES)
    urls = onpair.compress(make(URLS))
    assert 0 < urls.nbytes < urls.decoded_nbytes / 2 and urls[77] == URLS[77]


def test_bytes_and_wrong_types() -> None:
    strings = onpair.compress([b"\xff\x00", b"abc", None])
    assert list(strings) == [b"\xff\x00", b"abc", None]
    with pytest.raises(TypeError):
        onpair.compress(["a", b"b"])
    with pytest.raises(TypeError):
        onpair.compress([1])
    with pytest.raises(TypeError):
        onpair.compress(pa.array([1, 2]))
    assert len(onpair.compress([])) == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)), max_size=60))
def test_any_strings_come_back(strings: list[str | None]) -> None:
    assert list(onpair.compress(strings)) == strings
