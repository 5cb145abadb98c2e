# Runs statements, one per line of the input, each as JSON, and prints times and rows as JSON.
import datetime
import json
import sys
import time

import duckdb

task = json.loads(sys.argv[1])
connection = duckdb.connect()
connection.execute(f"set threads = {task['threads']}")
# The bar would be printed between the answers if a query takes seconds.
connection.execute("set enable_progress_bar = false")
for name, source in task["tables"].items():
    connection.execute(f"create view {name} as select * from {source}")


def cell(value):
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc)
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return None if value is None else str(value)


def run(sql):
    wall, cpu = time.perf_counter(), time.process_time()
    table = connection.sql(sql).to_arrow_table()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    columns = [column.to_pylist() for column in table.columns]
    rows = [[cell(value) for value in row] for row in zip(*columns)]
    return {"wall": wall, "cpu": cpu, "rows": rows}


for line in sys.stdin:
    try:
        answer = run(json.loads(line))
    except Exception as error:
        answer = {"failed": str(error).splitlines()[0]}
    print(json.dumps(answer), flush=True)
