"""Two tests for pytest."""

from truth import phase


def smooth(rows):
    for _ in range(8):
        rows = [(a + b + c) / 3 for a, b, c in zip(rows, rows[1:] + rows[:1], rows[-1:] + rows[:-1])]  # truth: smooth
    return rows


def test_smooth():
    with phase("smooth"):
        for _ in range(100):
            smooth([float(i) for i in range(20000)])


def test_other():
    with phase("other"):
        assert sum(i * i for i in range(9000000))  # truth: other
