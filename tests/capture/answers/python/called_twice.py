"""main() calls one function twice; its line is the answer, not the calls."""

from truth import phase


def smooth(rows):
    for _ in range(8):
        rows = [(a + b + c) / 3 for a, b, c in zip(rows, rows[1:], rows[2:])]  # truth: smooth
    return rows


def main():
    rows = [float(i % 1000) for i in range(600000)]
    with phase("smooth"):
        a = smooth(rows)
        b = smooth(rows[::-1])
    print(a[7] + b[7])


if __name__ == "__main__":
    main()
