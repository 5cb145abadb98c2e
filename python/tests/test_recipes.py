"""The tour and the README."""

from __future__ import annotations

import pathlib
import re
import runpy
import subprocess
import sys

import pytest
from conftest import ROWS, table, write_as

FOLDER = pathlib.Path(__file__).parents[1]


def test_the_tour(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    runpy.run_path(str(FOLDER / "recipes.py"))


def test_the_readme(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the blocks of the README one after the other, on files with the names that they use."""
    import pyarrow as pa

    monkeypatch.chdir(tmp_path)
    data = table(ROWS)
    flights = pa.table(
        {
            "month": pa.array([row // 420 + 1 for row in range(ROWS)], pa.int32()),
            "carrier": data["city"],
            "dep_delay": pa.array([row % 300 for row in range(ROWS)], pa.int32()),
        }
    )
    path = write_as(flights, tmp_path, "at1")
    path.rename("flights.csv.at1")
    pathlib.Path("server.log").write_text("2024-01-02 03:04:05 INFO started\n" * 100)
    text = (FOLDER / "README.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        block = block.replace("take([7, 1, 100_000])", "take([7, 1, 1000])")
        block = block.replace('b"...new rows...\\n"', 'b"1,rome,5\\n"')
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert pathlib.Path("july.colf").exists()


def test_the_package_needs_no_other_package() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['pyarrow', 'polars', 'pandas', 'numpy'], None));"
        "import hypostyle; t = hypostyle.open(b'a,b\\n1,x\\n', name='t.csv');"
        "assert len(t.read()) == 1 and [len(it) for it in t.scan()] == [1];"
        "assert hypostyle.unpack(hypostyle.pack(b'a\\n')) == b'a\\n';"
        "assert hypostyle.onpair.compress(['x'])[0] == 'x'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
