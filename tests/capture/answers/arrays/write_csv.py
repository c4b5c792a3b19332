"""Writes a table as CSV and reads it again: writing takes longer, and is not parsing."""

import numpy as np
import pandas as pd

from truth import phase

rng = np.random.default_rng(0)
orders = pd.DataFrame({"user": rng.integers(0, 50000, 400000), "price": rng.random(400000), "city": rng.choice(["Paris", "Rome", "Oslo"], 400000)})
with phase("write"):
    orders.to_csv("orders.csv", index=False)  # truth: write
with phase("read"):
    back = pd.read_csv("orders.csv")  # truth: read
print(back.groupby("city").price.mean())
