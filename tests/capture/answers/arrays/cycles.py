"""Objects that refer to each other, so the garbage collector looks at all of them again and again; its own callbacks time it."""

import gc

from truth import phase

runs = []


def collected(when, _):
    if when == "start":
        runs.append(phase("collect"))
        runs[-1].__enter__()
    else:
        runs[-1].__exit__()


class Node:
    def __init__(self, parent):
        self.parent, self.children = parent, []  # truth: collect


def build(n):
    root = Node(None)
    for _ in range(n):
        node = Node(root)  # truth: collect
        root.children.append(node)  # truth: collect
    return root


gc.callbacks.append(collected)
gc.set_threshold(2000, 3, 3)
trees = []
for _ in range(30):
    with phase("build"):
        trees.append(len(build(60000).children))  # truth: build
print(sum(trees))
