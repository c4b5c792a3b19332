"""scikit-learn in two worker processes of joblib: a feature made in Python takes longer than the fit."""

from truth import phase, write

with phase("import"):
    import numpy as np  # truth: import
    from joblib import Parallel, delayed  # truth: import
    from sklearn.linear_model import Ridge  # truth: import


def feature(row):
    total = 0.0
    for a, b in zip(row, row[1:]):  # truth: feature
        total += abs(a - b) * a  # truth: feature
    return total


def fold(x, y, seed):
    with phase("feature"):
        extra = np.array([feature(row) for row in x.tolist()])  # truth: feature
    with phase("fit"):
        model = Ridge(alpha=seed + 1).fit(np.c_[x, extra], y)  # truth: fit
    write()
    return model.coef_.sum()


if __name__ == "__main__":
    random = np.random.default_rng(0)
    x, y = random.random((15000, 60)), random.random(15000)
    print(sum(Parallel(n_jobs=2)(delayed(fold)(x, y, k) for k in range(20))))
