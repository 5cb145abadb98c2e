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


def run_query(place, query):
    file = opened(place)
    if query["row"] is not None:
        rows = vortex.array([query["row"]])
        return file.scan(indices=rows).read_all().to_arrow_table()
    terms = [OPERATORS[is_](vortex.expr.column(name), value) for name, is_, value in query["terms"]]
    predicate = functools.reduce(operator.and_, terms)
    return file.scan(query["columns"], expr=predicate).read_all().to_arrow_table()
