#!/usr/bin/env python3
"""Runs the predicates of cases.jsonl in DuckDB and compares the rows that match.

    python3 check_duckdb.py            compare; exits with 1 if any case differs
    python3 check_duckdb.py --write    replace the expectations by what DuckDB returns

It needs the packages duckdb (2.0) and pyarrow. README.md describes the files.
"""

import json
import re
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa

HERE = Path(__file__).parent
CASES = HERE / "cases.jsonl"


def split_list(text):
    """Splits a text at the commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return parts + [text[start:].strip()]


def arrow_type(name):
    plain = {
        "boolean": pa.bool_(), "text": pa.string(), "binary": pa.binary(), "date": pa.date32(),
        "float32": pa.float32(), "float64": pa.float64(),
        "time(us)": pa.time64("us"), "time(ms)": pa.time32("ms"),
    }
    if name in plain:
        return plain[name]
    if re.fullmatch(r"u?int\d+", name):
        return getattr(pa, name)()
    kind, inner = re.fullmatch(r"(\w+)\((.*)\)", name).groups()
    if kind == "decimal":
        return pa.decimal128(*map(int, split_list(inner)))
    if kind == "timestamp":
        return pa.timestamp(*split_list(inner))
    if kind == "list":
        return pa.list_(arrow_type(inner))
    fields = (part.split(" ", 1) for part in split_list(inner))
    return pa.struct([(field, arrow_type(type_name)) for field, type_name in fields])


def since_epoch(text, unit):
    """Returns the units since the epoch; Python's own timestamps end at microseconds."""
    day, _, clock = text.partition(" ")
    seconds, _, fraction = clock.partition(".")
    whole = datetime.fromisoformat(f"{day} {seconds}").replace(tzinfo=timezone.utc)
    whole = (whole - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(seconds=1)
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[unit]
    return whole * 10**digits + int((fraction + "0" * 9)[:digits] or "0")


def value(cell, to):
    if cell is None:
        return None
    if pa.types.is_list(to):
        return [value(element, to.value_type) for element in cell]
    if pa.types.is_struct(to):
        return {field.name: value(cell[field.name], field.type) for field in to}
    if pa.types.is_integer(to):
        return int(cell)
    if pa.types.is_floating(to):
        return float(cell)
    if pa.types.is_decimal(to):
        return Decimal(cell)
    if pa.types.is_date(to):
        return date.fromisoformat(cell)
    if pa.types.is_time(to):
        return time.fromisoformat(cell)
    if pa.types.is_timestamp(to):
        return since_epoch(cell, to.unit)
    if pa.types.is_binary(to):
        return bytes.fromhex(cell)
    return cell


def load_table():
    described = json.loads((HERE / "table.json").read_text())
    columns = {}
    for column in described["columns"]:
        to = arrow_type(column["type"])
        cells = [value(cell, to) for cell in column["values"]]
        columns[column["name"]] = pa.array(cells, type=to)
    return pa.table(columns)


def run(connection, predicate):
    """Returns the rows that match, or None if DuckDB refuses the predicate, and its message."""
    try:
        found = connection.execute(f"select id from t where {predicate} order by id").fetchall()
        return [row[0] for row in found], ""
    except duckdb.Error as error:
        return None, str(error).splitlines()[0]


def main():
    write = "--write" in sys.argv[1:]
    connection = duckdb.connect()
    connection.execute("set TimeZone = 'UTC'")
    connection.register("arrow_table", load_table())
    # A table of DuckDB's own, so that its reader of Arrow evaluates no predicate itself.
    connection.execute("create table t as select * from arrow_table")
    lines, differences, count = [], 0, 0
    for number, line in enumerate(CASES.read_text().splitlines(), 1):
        if not line.strip():
            lines.append(line)
            continue
        case, count = json.loads(line), count + 1
        found, message = run(connection, case.get("duckdb", case["predicate"]))
        # With a reason, our rows differ on purpose, and `duckdb_rows` are those of DuckDB.
        key = "duckdb_rows" if "reason" in case else "rows"
        if write:
            if found is None and key == "rows":
                print(f"cases.jsonl:{number}: {case['predicate']}: {message}")
                differences += 1
            case[key] = found
            lines.append(json.dumps(case, ensure_ascii=False))
        elif found != case[key]:
            differences += 1
            print(f"cases.jsonl:{number}: {case['predicate']}")
            print(f"    expected {case[key]}")
            print(f"    DuckDB   {found} {message}")
        elif "reason" in case and case["rows"] == found:
            differences += 1
            print(f"cases.jsonl:{number}: {case['predicate']}: a reason, but no difference")
    if write:
        CASES.write_text("\n".join(lines) + "\n")
    print(f"{count} predicates in DuckDB {duckdb.__version__}: {differences} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
