"""Threads, memory, hostile bytes, conformance files, stubs."""

from __future__ import annotations

import concurrent.futures
import gc
import pathlib
import resource
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest
from conftest import table, write_as

import hypostyle

CONFORMANCE = pathlib.Path(__file__).parents[2] / "conformance"


def test_eight_threads_scan_one_table(path: pathlib.Path) -> None:
    opened, want = hypostyle.open(path), table().to_pylist()

    def work(index: int) -> bool:
        if index % 2:
            return pa.table(opened).to_pylist() == want
        got = pa.table(opened.scan(["id"], f"group = {index}"))["id"].to_pylist()
        return got == [row["id"] for row in want if row["group"] == index]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, list(range(8)) * 4))


def test_eight_threads_scan_one_file_object(archive: pathlib.Path) -> None:
    with archive.open("rb") as file:
        opened = hypostyle.open(file)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            sums = list(pool.map(lambda _: sum(pa.table(opened.scan(["id"]))["id"].to_pylist()), range(16)))
    assert len(set(sums)) == 1


def test_other_threads_run_meanwhile(tmp_path: pathlib.Path) -> None:
    text = "".join(f"{row * 7919 % 1_000_003},{row}\n" for row in range(200_000)).encode()
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    hypostyle.pack(text)
    seconds = time.monotonic() - start
    stop.set()
    thread.join()
    longest = max(b - a for a, b in zip(ticks, ticks[1:], strict=False))
    assert longest < max(0.5, seconds / 2)


def test_a_thousand_opens_leak_nothing(tmp_path: pathlib.Path) -> None:
    paths = [write_as(table(1000), tmp_path / form, form) for form in ("colf", "at1", "parquet") if
             (tmp_path / form).mkdir() is None]

    def opens(count: int) -> None:
        for index in range(count):
            opened = hypostyle.open(paths[index % len(paths)])
            assert pa.table(opened.scan(["id"], "id < 3")).num_rows == 3
            assert hypostyle.open(paths[0].read_bytes()).num_rows == 1000

    opens(200)
    gc.collect()
    files, before = len(list(pathlib.Path("/proc/self/fd").iterdir())), resident()
    opens(1000)
    gc.collect()
    assert len(list(pathlib.Path("/proc/self/fd").iterdir())) <= files + 1
    assert resident() - before < 20 << 20


def resident() -> int:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_hostile_bytes_raise(tmp_path: pathlib.Path, form: str) -> None:
    content = write_as(table(50), tmp_path, form).read_bytes()
    name = {"at1-query": "t.csv.at1", "at1": "t.csv.at1"}.get(form, f"t.{form}")
    for at in range(0, len(content), max(1, len(content) // 150)):
        for damaged in (content[:at], content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]):
            try:
                opened = hypostyle.open(damaged, name=name)
                pa.table(opened)
            except (hypostyle.Error, OSError, ValueError, NotImplementedError, MemoryError, pa.ArrowException):
                continue


@pytest.mark.parametrize("kind", ["colm", "colf", "clmn", "onpair", "at1"])
def test_conformance_files(kind: str) -> None:
    import json

    tested = 0
    for expected in sorted((CONFORMANCE / kind / "valid").rglob("*.json")):
        path = expected.with_suffix(f".{kind}")
        facts = json.loads(expected.read_text())
        if kind == "at1":
            original = expected.with_suffix(".original")
            if original.exists():
                assert hypostyle.unpack(path) == original.read_bytes(), path
            else:
                names = [it["name"] for it in facts["entries"]]
                assert [it.name for it in hypostyle.Archive(path).members] == names, path
        else:
            opened = hypostyle.open(path)
            assert opened.num_rows == facts["rows"], path
            read = pa.table(opened)
            assert read.schema.names == [it["name"] for it in facts["columns"]], path
            for index, column in enumerate(facts["columns"]):
                if column["type"] != "float64":
                    got = read.column(index).to_pylist()
                    if all(not isinstance(it, bytes) for it in got):
                        assert got == column["values"], (path, column["name"])
        tested += 1
    for path in sorted((CONFORMANCE / kind / "invalid").rglob(f"*.{kind}")):
        # Some files are only too large when all columns are read together.
        if hypostyle.verify(path)["ok"]:
            with pytest.raises(hypostyle.LimitExceeded):
                hypostyle.open(path).read()
        tested += 1
    assert tested > 20


def test_the_stubs_are_those_of_the_module() -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "hypostyle._hypostyle", "--ignore-missing-stub", "--ignore-disjoint-bases"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:]
