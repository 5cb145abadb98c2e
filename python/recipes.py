"""A tour of the package, in the order in which one meets things. A test runs it.

Run it with ``python recipes.py``; it writes to a temporary folder.
"""

# %% Make a file to play with
import pathlib
import random
import tempfile

import duckdb
import polars as pl
import pyarrow as pa

import hypostyle
import hypostyle.dataset
import hypostyle.polars
from hypostyle import col, onpair

folder = pathlib.Path(tempfile.mkdtemp())
csv = folder / "orders.csv"
chance = random.Random(7)
with csv.open("w") as file:
    file.write("id,day,city,amount,note\n")
    for number in range(100_000):
        day = f"2024-{number // 8400 + 1:02}-{number % 28 + 1:02}"
        city = chance.choice(["Oslo", "Rome", "Nice", "Bonn"])
        amount = f"{chance.randrange(100, 99999) / 100:.2f}"
        note = "NA" if number % 3 else "urgent"
        file.write(f"{number},{day},{city},{amount},{note}\n")

# %% Pack it, and look at what it became
archive = folder / "orders.csv.at1"
report = hypostyle.pack(csv, archive)
print(f"{report['original_bytes']} bytes became {report['archive_bytes']}, codec {report['codec']}")
assert hypostyle.unpack(archive) == csv.read_bytes()

# %% Open it: the archive is the same table as the file
orders = hypostyle.open(archive)
print(orders, orders.num_rows, orders.schema)
assert orders.schema == hypostyle.open(csv).schema

# %% Ask it: only the row groups and columns that matter are read
scan = orders.scan(["id", "city", "amount"], "day = date '2024-07-04' and amount > 900")
print(scan.read().to_polars())
print(scan.stats)
assert scan.stats["bytes_read"] < scan.stats["bytes"]

# %% The same condition as an expression
same = orders.scan(filter=(col("day") == "2024-07-04") & (col("amount") > 900))
assert same.count() == len(scan.read())

# %% DuckDB reads the variable; through a dataset it also pushes the filter down
dataset = hypostyle.dataset.open(orders)
query = "select city, sum(amount) from {} where id < 1000 group by city order by city"
assert duckdb.sql(query.format("dataset")).fetchall() == duckdb.sql(query.format("orders")).fetchall()

# %% polars plans the query, and this package reads what the plan needs
frame = hypostyle.polars.scan(archive)
best = frame.filter(pl.col("id") < 1000).group_by("city").agg(pl.col("amount").sum()).sort("city")
print(best.collect())

# %% Keep a result as COLF, and read one column of it back
july = frame.filter(pl.col("city") == "Rome").select("id", "city").collect()
hypostyle.write(july, folder / "rome.colf", types={"id": "int32"})
assert pa.table(hypostyle.open(folder / "rome.colf").scan(["id"])).num_rows == july.height

# %% Add the rows of a new day
hypostyle.append(archive, b"100000,2024-12-31,Rome,1.00,NA\n")
assert hypostyle.open(archive).num_rows == 100_001

# %% Is everything still fine?
assert hypostyle.verify(archive)["ok"]

# %% Short strings in little memory, each within reach
cities = onpair.compress(orders.read(["city"]).to_pyarrow()["city"])
print(cities, cities[0], len(cities.equals("Rome")))
