"""A regular expression that backtracks."""

import re

from truth import phase

lines = [f"view {i:05d} exposure={i % 90}ms aaaaaaaaaaaaaaa! angle={i * 0.25:.3f}" for i in range(12000)]
with phase("split"):
    words = [line.split() for line in lines]  # truth: split
with phase("match"):
    found = [line for line in lines if re.search(r"(a|aa)+b", line)]  # truth: match
print(len(words), len(found))
