import pyarrow.parquet

if task["url"] is not None:
    import fsspec

    web = fsspec.filesystem("http")


def run_query(place, query):
    if place.startswith("http"):
        # With a cache, fsspec would fetch five megabytes at a time.
        place = web.open(place, cache_type="none")
    if query["row"] is None:
        terms = [tuple(term) for term in query["terms"]]
        return pyarrow.parquet.read_table(place, columns=query["columns"], filters=terms)
    file = pyarrow.parquet.ParquetFile(place, pre_buffer=True)
    row = query["row"]
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if row < rows:
            return file.read_row_group(group).slice(row, 1)
        row -= rows
    raise IndexError(row)
