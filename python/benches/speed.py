"""Measures the package beside its rivals, in one run, and prints ratios.

    python benches/speed.py TABLE.csv [--rounds N] [--columns A,B] [--filter 'A = 1']

`Scan.read` is the Rust scan: it calls the library without the interpreter lock, and keeps the batches.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import duckdb
import polars as pl
import pyarrow as pa

import hypostyle
import hypostyle.polars


def best(rounds: int, work: Callable[[], object]) -> float:
    """The least seconds of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def memory(program: str) -> int:
    """The peak of resident memory of a Python program, in bytes."""
    # The peak that `getrusage` tells includes that of the parent process.
    probe = program + "\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    ran = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return int(ran.stdout.split()[-1]) << 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("csv", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--columns", default="carrier,dep_delay")
    parser.add_argument("--filter", default="dep_delay > 190")
    options = parser.parse_args()
    columns, rounds = options.columns.split(","), options.rounds
    folder = pathlib.Path(tempfile.mkdtemp())
    csv = options.csv
    colf, packed, query = folder / "t.colf", folder / f"{csv.name}.at1", folder / f"q-{csv.name}.at1"
    hypostyle.write(hypostyle.open(csv), colf)
    hypostyle.pack(csv, packed)
    hypostyle.pack(csv, query, query=True)

    print("| full read into pyarrow | seconds | of the Rust scan |\n|---|---|---|")
    for path in (colf, packed, csv):
        seconds = best(rounds, lambda: pa.table(hypostyle.open(path)))
        rust = best(rounds, lambda: hypostyle.open(path).scan().read())
        print(f"| {path.suffix} | {seconds:.3f} | {seconds / rust:.2f} |")

    print(f"\n| {len(columns)} columns | seconds | ratio to COLF | ratio to AT-1 |\n|---|---|---|---|")
    rivals = {
        "COLF": lambda: pa.table(hypostyle.open(colf).scan(columns)),
        "AT-1": lambda: pa.table(hypostyle.open(packed).scan(columns)),
        "polars on CSV": lambda: pl.read_csv(csv, columns=columns, null_values="NA"),
        "DuckDB on CSV": lambda: duckdb.sql(
            f"select {options.columns} from read_csv('{csv}', nullstr='NA')"
        ).to_arrow_table(),
    }
    seconds = {name: best(rounds, work) for name, work in rivals.items()}
    for name, took in seconds.items():
        print(f"| {name} | {took:.4f} | {took / seconds['COLF']:.2f} | {took / seconds['AT-1']:.2f} |")

    name, op, value = options.filter.split()
    number = float(value) if "." in value else int(value)
    condition = {">": pl.col(name) > number, "=": pl.col(name) == number}[op]
    ours = best(rounds, lambda: pa.table(hypostyle.open(query).scan(columns, options.filter)))
    lazy = best(rounds, lambda: hypostyle.polars.scan(query).filter(condition).select(columns).collect())
    print(f"\npolars.scan with `{options.filter}`: {lazy:.4f} s, {lazy / ours:.2f} of our scan ({ours:.4f} s)")

    # A small read loads what is loaded once.
    imports = "import pyarrow as pa, hypostyle; pa.table(hypostyle.open(b'a\\n1\\n', name='a.csv'))\n"
    base = memory(imports)
    nbytes = pa.table(hypostyle.open(colf)).nbytes
    peak = memory(imports + f"t = pa.table(hypostyle.open({str(colf)!r}))")
    print(f"memory: {(peak - base) / nbytes:.2f} of the {nbytes >> 20} MiB of batches")


if __name__ == "__main__":
    main()
