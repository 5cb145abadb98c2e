import functools
import operator

import vortex
import vortex.expr
import vortex.store

OPERATORS = {"=": operator.eq, ">": operator.gt, "<": operator.lt}


def make(csv, file):
    vortex.io.write(table(csv), file)


def opened(place):
    if not place.startswith("http"):
        return vortex.open(place)
    folder, name = place.rsplit("/", 1)
    store = vortex.store.HTTPStore(folder, client_options={"allow_http": True})
    return vortex.open(name, store=store)


def ask(place, question):
    file = opened(place)
    if question["row"] is not None:
        rows = vortex.array([question["row"]])
        return file.scan(indices=rows).read_all().to_arrow_table()
    terms = [OPERATORS[is_](vortex.expr.column(name), value) for name, is_, value in question["terms"]]
    test = functools.reduce(operator.and_, terms)
    return file.scan(question["columns"], expr=test).read_all().to_arrow_table()
