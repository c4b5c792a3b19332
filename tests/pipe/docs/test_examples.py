"""The programs in examples/ get the answers that examples/README.md prints, at the lines that their sources mark as slow."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from pages import printed
from tool import TOMOPROF, main

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "examples/README.md"


def blocks():
    """[(command, [lines that it prints])]"""
    found = []
    for line in PAGE.read_text().splitlines():
        if re.match(r"    (build/tomoprof|cc) ", line):
            found.append((line.strip(), []))
        elif line.startswith("    "):
            found[-1][1].append(line.strip())
    return found


def slow_lines(name):
    return [n for n, line in enumerate((ROOT / name).read_text().splitlines(), 1) if re.search(r"(#|/\*) slow\b", line)]


def answers_are_true(check, folder):
    (folder / "build").mkdir()
    (folder / "build/tomoprof").symlink_to(TOMOPROF)
    shutil.copytree(ROOT / "examples", folder / "examples")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_")} | {"XDG_STATE_HOME": str(folder / "state")}
    answers = 0
    for command, lines in blocks():
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        check.must(done.returncode == 0, f"{command}: {done.stderr}")
        for line in lines:
            check.that(printed(line, done.stdout + done.stderr), f"{command}: {line!r} is not in {(done.stdout + done.stderr)[:600]}")
        named = re.search(r"(examples/\w+\.\w+):(\d+).*?(?:takes|holds)", done.stderr)
        if "record" in command and lines:
            answers += 1
            lines_ = slow_lines(named[1]) if named else []
            check.that(named and any(abs(int(named[2]) - n) <= (1 if "lock" in command else 0) for n in lines_), f"{command}: not at {lines_}: {done.stderr}")
    check.that(answers == 5, f"{answers} answers on the page")
    sources = {p.name for p in (ROOT / "examples").iterdir() if p.suffix in (".py", ".c", ".cpp")}
    check.that(all(name in PAGE.read_text() for name in sources), f"the page names all of {sources}")


if __name__ == "__main__":
    main(answers_are_true)
