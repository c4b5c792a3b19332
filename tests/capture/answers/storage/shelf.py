"""shelve: each access unpickles the whole record again."""

import shelve

from truth import phase


def total(shelf, keys):
    n = 0
    with phase("load"):
        for key in keys:
            n += len(shelf[key]["angles"])  # truth: load
    return n


with phase("store"):
    with shelve.open("scan") as shelf:
        for k in range(20):
            shelf[f"view{k}"] = {"angles": [x * 0.5 for x in range(20000)], "name": f"view {k}"}  # truth: store
with shelve.open("scan", flag="r") as shelf:
    print(total(shelf, [f"view{k % 20}" for k in range(2400)]))
