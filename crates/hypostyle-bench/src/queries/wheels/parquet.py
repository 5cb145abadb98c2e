import pyarrow.parquet

if job["url"] is not None:
    import fsspec

    web = fsspec.filesystem("http")


def ask(place, question):
    if place.startswith("http"):
        # With a cache it would fetch five megabytes at a time.
        place = web.open(place, cache_type="none")
    if question["row"] is None:
        terms = [tuple(term) for term in question["terms"]]
        return pyarrow.parquet.read_table(place, columns=question["columns"], filters=terms)
    file = pyarrow.parquet.ParquetFile(place, pre_buffer=True)
    row = question["row"]
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if row < rows:
            return file.read_row_group(group).slice(row, 1)
        row -= rows
    raise IndexError(row)
