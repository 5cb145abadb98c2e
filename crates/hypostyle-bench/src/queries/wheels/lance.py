import lance


def make(csv, file):
    lance.write_dataset(table(csv), file)


def ask(place, question):
    dataset = lance.dataset(place)
    if question["row"] is not None:
        return dataset.take([question["row"]])
    return dataset.to_table(columns=question["columns"], filter=question["test"])
