# Asks one rival every question. The rival's own text comes behind this and defines `ask`,
# and `make` unless its file is Parquet; `main` is called behind that.
import json
import os
import sys
import time

job = json.loads(sys.argv[1])


def table(csv):
    import pyarrow.csv

    convert = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    return pyarrow.csv.read_csv(csv, convert_options=convert)


def make(csv, file):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table(csv), file, compression="zstd", compression_level=19)


def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return sum(map(os.path.getsize, files))


def place(index, turn):
    if job["url"] is None:
        return job["file"]
    return f"{job['url']}/{job['key']}-{index}-{turn}/{os.path.basename(job['file'])}"


def answers():
    if not os.path.exists(job["file"]):
        make(job["csv"], job["file"])
    for index, question in enumerate(job["questions"]):
        best, rows = float("inf"), None
        for turn in range(job["rounds"]):
            at = place(index, turn)
            start = time.perf_counter()
            found = ask(at, question)
            best = min(best, time.perf_counter() - start)
            rows = found.num_rows
        yield {"seconds": best, "rows": rows}


def main():
    try:
        told = {"answers": list(answers()), "bytes": size(job["file"])}
    except Exception as error:
        told = {"failed": str(error).splitlines()[0]}
    print(json.dumps(told))
