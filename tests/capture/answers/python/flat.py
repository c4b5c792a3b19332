"""A main() whose time is spread over forty functions, about 2 % each, so neither main() nor start-up is the cause."""

import xml.dom.minidom

from truth import phase

STAGES = [
    lambda n: sum(i * 3 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 4 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 253 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 6]),  # truth: stage
    lambda n: sum(i // 7 for i in range(n)),  # truth: stage
    lambda n: sum(i * 8 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 9 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 248 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 11]),  # truth: stage
    lambda n: sum(i // 3 for i in range(n)),  # truth: stage
    lambda n: sum(i * 13 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 14 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 243 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 7]),  # truth: stage
    lambda n: sum(i // 8 for i in range(n)),  # truth: stage
    lambda n: sum(i * 18 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 19 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 238 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 3]),  # truth: stage
    lambda n: sum(i // 4 for i in range(n)),  # truth: stage
    lambda n: sum(i * 23 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 24 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 233 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 8]),  # truth: stage
    lambda n: sum(i // 9 for i in range(n)),  # truth: stage
    lambda n: sum(i * 28 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 29 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 228 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 4]),  # truth: stage
    lambda n: sum(i // 5 for i in range(n)),  # truth: stage
    lambda n: sum(i * 33 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 34 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 223 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 9]),  # truth: stage
    lambda n: sum(i // 10 for i in range(n)),  # truth: stage
    lambda n: sum(i * 38 % 7 for i in range(n)),  # truth: stage
    lambda n: sum(i ^ 39 for i in range(n)),  # truth: stage
    lambda n: max((i * i) & 218 for i in range(n)),  # truth: stage
    lambda n: len([i for i in range(n) if i % 5]),  # truth: stage
    lambda n: sum(i // 6 for i in range(n)),  # truth: stage
]


def run(rounds):
    total = 0
    for _ in range(rounds):
        with phase("stage"):
            for stage in STAGES:
                total += stage(24000)
    return total


def main():
    print(run(30), xml.dom.minidom.Document)


main()
