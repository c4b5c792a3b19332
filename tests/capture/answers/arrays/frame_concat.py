"""pandas: a table that grows by one row at a time."""

from truth import phase

with phase("import"):
    import pandas as pd  # truth: import


def measured(k):
    return {"angle": k * 0.5, "dose": k % 7, "name": f"view {k}"}


table = pd.DataFrame({"angle": [0.0], "dose": [0], "name": ["dark"]})
for k in range(2500):
    row = measured(k)
    with phase("grow"):
        table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)  # truth: grow
with phase("means"):
    print(table.groupby("dose")["angle"].mean().sum())  # truth: means
