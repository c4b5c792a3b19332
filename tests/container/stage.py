#!/usr/bin/env python3
"""Prints what a stage of docker/Dockerfile does, and the stages below it, as a shell script: stage.py STAGE. Where no engine can pull images, as root:

    packaging/release/root.sh make bookworm ROOT
    tests/container/stage.py toolkit | packaging/release/root.sh run ROOT --bind . /source sh

The checkout is read from /source. Mounts of RUN are left out: the caches and secrets that this file has need not be there."""

import pathlib
import re
import shlex
import sys

DOCKERFILE = pathlib.Path(__file__).resolve().parents[2] / "docker/Dockerfile"


def read_stages():
    """{name: (parent, [(instruction, words)])}; what is before the first stage belongs to ""."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.M)
    text = re.sub(r"\\\n\s*", "", text)
    stages, name = {"": (None, [])}, ""
    for line in filter(None, map(str.strip, text.splitlines())):
        instruction, rest = line.split(None, 1)
        if instruction == "FROM":
            words = rest.split()
            name = words[2] if len(words) == 3 else "(the last)"
            stages[name] = (words[0], [])
        else:
            stages[name][1].append((instruction, rest))
    return stages


def shell_of(instruction, rest):
    """What RUN runs; none for other instructions."""
    return re.sub(r"^(--mount=\S+ +)+", "", rest) if instruction == "RUN" else None


def command_of(instruction, rest):
    """Shell for an instruction; none for what only says how an image is run."""
    if instruction == "RUN":
        return "sh -c " + shlex.quote(shell_of(instruction, rest))
    if instruction == "WORKDIR":
        return f"mkdir -p {rest} && cd {rest}"
    if instruction == "ARG":
        name, _, value = rest.partition("=")
        return f"export {name}=\"${{{name}-{value.strip(chr(34))}}}\""
    if instruction == "COPY" and not rest.startswith("--from="):
        *names, to = rest.split()
        return f"mkdir -p {to} && cp -r {' '.join(f'/source/{name}' for name in names)} {to}"
    return None


def script_of(stages, name):
    parent, instructions = stages[name]
    below = script_of(stages, parent) if parent in stages else ["set -e"]
    return below + [command for row in instructions if (command := command_of(*row))]


def main():
    stages = read_stages()
    if len(sys.argv) != 2 or sys.argv[1] not in stages:
        print(f"{__doc__}\nStages: {' '.join(filter(None, stages))}", file=sys.stderr)
        return 2
    print("\n".join(script_of(stages, sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
