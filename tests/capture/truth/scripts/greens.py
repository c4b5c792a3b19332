"""Greenlets that switch stacks under the interpreter, and generators within generators."""

import greenlet

from truth import phase


def first(n):
    s = 0
    while True:
        with phase("first"):
            for i in range(3 * n):  # truth: first
                s += i & 3  # truth: first
        other.switch(s)


def second(n):
    s = 0
    for _ in range(60):
        with phase("second"):
            for i in range(n):  # truth: second
                s += i & 7  # truth: second
        s += one.switch(n) & 1
    return s


def nested(depth):
    if depth:
        yield from nested(depth - 1)
    else:
        yield from range(400000)  # the values come up through all generators


one, other = greenlet.greenlet(first), greenlet.greenlet(second)
print(other.switch(100000))
with phase("generators"):
    print(sum(nested(40)))  # inclusive: generators
