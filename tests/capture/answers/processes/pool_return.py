"""The tasks of a pool return long lists: these are pickled, sent and unpickled."""

from multiprocessing import Pool

from truth import phase, write


def numbers(n):
    with phase("make"):
        made = list(range(n))  # truth: make
    write()
    return made


if __name__ == "__main__":
    with Pool(2) as pool:
        with phase("map"):
            total = sum(len(r) for k in range(4) for r in pool.map(numbers, [1500000] * 2))  # truth: map
    print(total)
