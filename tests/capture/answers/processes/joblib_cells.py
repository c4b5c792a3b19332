"""joblib: cells of a grid in two worker processes."""

from joblib import Parallel, delayed
from truth import phase, write


def cell(n):
    s = 0
    with phase("cell"):
        for i in range(n):  # truth: cell
            s += i & 7  # truth: cell
    write()
    return s


if __name__ == "__main__":
    print(sum(Parallel(n_jobs=2)(delayed(cell)(4000000) for _ in range(10))))
