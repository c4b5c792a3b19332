"""Numbers with gaps: each gap raises an exception."""

from truth import phase


def number(word):
    try:
        return float(word)  # truth: parse
    except ValueError:  # truth: parse
        return 0.0


words = [f"{i}.5" if i % 3 else f"n/a {i}" for i in range(2700000)]
with phase("parse"):
    for word in words:
        number(word)  # truth: parse
with phase("sort"):
    words.sort()  # truth: sort
