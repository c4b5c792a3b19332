"""What the servers here do for a request: each in its own phase, on the thread that serves."""

import hashlib

from truth import phase


def total():
    with phase("sum"):
        s = 0
        for i in range(400000):  # truth: sum
            s += i & 3  # truth: sum
    return str(s)


def digest():
    with phase("hash"):
        h = hashlib.pbkdf2_hmac("sha256", b"x", b"y", 40000)  # truth: hash
    return h.hex()


def ordered():
    with phase("sort"):
        v = sorted((i * 2654435761) % 1000003 for i in range(150000))  # truth: sort
    return str(v[100])
