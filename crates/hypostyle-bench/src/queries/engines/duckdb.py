import duckdb

connection = duckdb.connect()


def run_query(place, query):
    row = query["row"]
    if place.endswith(".csv"):
        source = f"read_csv('{place}', nullstr='NA')"
        by_number = f"select * from {source} limit 1 offset {row}"
    else:
        source = f"read_parquet('{place}')"
        by_number = (
            "select * exclude (file_row_number) "
            f"from read_parquet('{place}', file_row_number=true) where file_row_number = {row}"
        )
    if row is None:
        columns = ", ".join(query["columns"])
        return connection.sql(
            f"select {columns} from {source} where {query['predicate']}"
        ).to_arrow_table()
    return connection.sql(by_number).to_arrow_table()
