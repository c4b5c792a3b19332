"""A job on data frames: polars on its own threads, pandas on one."""

import os

os.environ["POLARS_MAX_THREADS"] = "2"
from truth import phase  # noqa: E402

with phase("import"):
    import numpy as np  # inclusive: import
    import pandas as pd  # inclusive: import
    import polars as pl  # inclusive: import

rng = np.random.default_rng(2)
columns = {"k": rng.integers(0, 5000, 2000000), "v": rng.standard_normal(2000000)}
with phase("polars"):
    lazy = pl.DataFrame(columns)  # inclusive: polars
    for i in range(12):
        a = lazy.lazy().group_by("k").agg(pl.col("v").sum(), pl.col("v").std().alias("s")).sort("k").collect()  # inclusive: polars
with phase("group"):
    frame = pd.DataFrame(columns)  # inclusive: group
    for i in range(10):
        b = frame.groupby("k").v.agg(["sum", "std"])  # inclusive: group
with phase("apply"):
    c = frame.v.head(1500000).apply(lambda x: x * x if x > 0 else -x)  # inclusive: apply
with phase("csv"):
    text = frame.head(300000).to_csv()  # inclusive: csv
print(a.shape, b.shape, f"{a['v'].sum():.3f} {b['sum'].sum():.3f} {c.sum():.3f} {len(text)}")
