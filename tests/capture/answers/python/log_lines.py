"""Each row of a volume writes a line to a log file."""

import logging

from truth import phase

logging.basicConfig(filename="log.txt", level=logging.DEBUG, format="%(asctime)s %(levelname)s %(funcName)s %(message)s")


def scale(rows):
    with phase("compute"):
        sums = [sum(range(i % 100)) for i in rows]  # truth: compute
    with phase("log"):
        for i, total in zip(rows, sums):
            logging.debug("row %d of %d: %d", i, len(rows), total)  # truth: log
    return sum(sums)


print(sum(scale(range(4000)) for _ in range(25)))
