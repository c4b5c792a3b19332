"""The repository's own C sources, and C text without comments and strings."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOPS = ("base", "host", "cuda", "profiler", "cli")  # where the program's own sources are


def c_files(*tops):
    """Every C, C++ and CUDA source and header below the named top-level folders, sorted. Not the templates that are
    handed to FPGA engineers: they are compiled elsewhere."""
    files = []
    for top in tops:
        files += [p for p in (ROOT / top).rglob("*.*") if p.suffix in (".c", ".h", ".cu", ".cuh", ".cpp") and p.is_file()]
    return sorted(p for p in files if ROOT / "profiler" / "fpga" / "hls" / "templates" not in p.parents)


_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S
)


def strip(text, strings=True):
    """`text` with comments blanked, and the insides of strings too when asked; line numbers are kept."""

    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] * 2 if strings else token
        return "\n" * token.count("\n") or " "

    return _TOKEN.sub(blank, text)


def report(problems):
    """Prints the problems; the exit code for the test."""
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem(s)" if problems else "ok")
    return 1 if problems else 0
