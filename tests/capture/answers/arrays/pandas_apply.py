"""pandas: a Python function for each row, beside a groupby."""

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    import pandas as pd  # truth: import


def distance(row):
    return (row["x"] ** 2 + row["y"] ** 2) ** 0.5 if row["x"] > 0.1 else 0.0  # truth: apply


with phase("make"):
    random = np.random.default_rng(1)
    table = pd.DataFrame({"x": random.random(150000), "y": random.random(150000), "k": random.integers(0, 9, 150000)})  # truth: make
with phase("group"):
    means = table.groupby("k").mean()  # truth: group
with phase("apply"):
    table["r"] = table.apply(distance, axis=1)  # truth: apply
print(means.shape, table["r"].sum())
