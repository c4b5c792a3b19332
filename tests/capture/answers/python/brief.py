"""A program of a third of a second."""

from truth import phase


def primes(n):
    found = []
    for k in range(2, n):
        if all(k % p for p in found if p * p <= k):  # truth: primes
            found.append(k)
    return found


with phase("primes"):
    print(len(primes(50000)))
