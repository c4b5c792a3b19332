"""A table of numbers is split and converted in Python."""

from truth import phase


def parse(path):
    rows = []
    with open(path) as f:
        for line in f:  # truth: parse
            rows.append([float(word) for word in line.split(",")])  # truth: parse
    return rows


def columns(rows):
    return [sum(column) for column in zip(*rows)]  # truth: columns


with phase("write"):
    with open("table.csv", "w") as f:
        f.writelines(",".join(f"{(i * k) % 97 / 7:.3f}" for k in range(12)) + "\n" for i in range(40000))  # truth: write
for _ in range(8):
    with phase("parse"):
        rows = parse("table.csv")
    with phase("columns"):
        sums = columns(rows)
print(sums)
