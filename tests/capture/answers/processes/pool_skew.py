"""A pool of two processes; one of its tasks is long."""

from multiprocessing import Pool

from truth import phase, write


def long(n):
    return sum([i * i % 7 for i in range(n)])  # truth: long


def short(n):
    return sum([i * i % 5 for i in range(n)])  # truth: short


def task(k):
    work = long if k == 3 else short
    with phase(work.__name__):
        total = work(20000000 if k == 3 else 200000)
    write()
    return total


if __name__ == "__main__":
    with Pool(2) as pool:
        print(sum(pool.map(task, range(8), chunksize=1)))  # truth: wait
