"""Reads what a command writes, line by line, from its pipe."""

import subprocess

from truth import phase

with phase("make"):
    with open("words", "w") as f:
        f.writelines(f"{i * 7919 % 100003} {i}\n" for i in range(150000))  # truth: make
with phase("shuffle"):
    first = []
    with subprocess.Popen(["sort", "-R", "--parallel=1", "words"], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:  # truth: shuffle
            first.append(line.split()[0])
with phase("count"):
    print(len(set(first)))  # truth: count
