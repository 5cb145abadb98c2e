import lance


def make(csv, file):
    lance.write_dataset(table(csv), file)


def run_query(place, query):
    dataset = lance.dataset(place)
    if query["row"] is not None:
        return dataset.take([query["row"]])
    return dataset.to_table(columns=query["columns"], filter=query["predicate"])
