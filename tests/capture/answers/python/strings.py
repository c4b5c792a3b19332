"""A text that grows at its front: each step copies it."""

from truth import phase


def report(n):
    text = ""
    for i in range(n):
        text = f"row {i}: ok\n" + text  # truth: grow
    return text


with phase("grow"):
    text = report(36000)
with phase("count"):
    print(sum(len(line) for line in text.splitlines()))  # truth: count
