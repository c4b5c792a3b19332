"""multiprocessing: the same work in a pool of forked and one of spawned processes."""

import multiprocessing

from truth import phase, write


def forked(n):
    with phase("forked"):
        s = 0
        for i in range(n):  # truth: forked
            s += i & 3  # truth: forked
    write()
    return s


def spawned(n):
    with phase("spawned"):
        s = 0
        for i in range(n):  # truth: spawned
            s += i & 7  # truth: spawned
    write()
    return s


if __name__ == "__main__":
    for kind, work in (("fork", forked), ("spawn", spawned)):
        with multiprocessing.get_context(kind).Pool(2) as pool:
            print(sum(pool.map(work, [3000000] * 8, chunksize=1)))
