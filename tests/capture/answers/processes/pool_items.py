"""ProcessPoolExecutor: a task for each small item, so handing over takes longer than the work."""

import concurrent.futures

from truth import phase


def square(k):
    return k * k


def main():
    with phase("own"):
        expected = sum(k * k for k in range(9000))  # truth: own
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        with phase("map"):
            got = sum(pool.map(square, range(9000)))  # truth: map
    print(expected == got)


if __name__ == "__main__":
    main()
