"""C sources look as .clang-format says; every text file ends in one newline and has no trailing blanks."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from sources import ROOT, TOPS, c_files, report

VERSION = "14"  # Debian 12's; other versions lay some lines out differently
TEXT = {".c", ".h", ".cu", ".cuh", ".cpp", ".py", ".sh", ".md", ".txt", ".cmake", ".json"}
SKIP = {"build", "output", "data", "corpus", "__pycache__", ".git", "node_modules", "venv", ".venv"}


def clang_format():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=300).stdout
            if re.search(rf"version {VERSION}\.", said):
                return path
    return None


def check_text(name, text):
    problems = [
        f"{name}:{n}: trailing blanks" for n, line in enumerate(text.split("\n"), 1) if line != line.rstrip()
    ]
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        problems.append(f"{name}: must end in exactly one newline")
    if name.endswith((".c", ".h", ".cu", ".cuh", ".cpp", ".py")) and "\t" in text:
        problems.append(f"{name}: holds a tab")
    return problems


def text_files():
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and path.suffix in TEXT and not any(p in SKIP or p.startswith("build-") for p in parts):
            yield path


def check_c(tool, files):
    done = subprocess.run([tool, "--dry-run", "-Werror", *map(str, files)], capture_output=True, text=True, cwd=ROOT, timeout=300)
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    return lines or ([done.stderr] if done.returncode else [])


def self_test(tool):
    problems = []
    if len(check_text("x.c", "a \n\tb\n\n")) != 3:
        problems.append("the lint test does not see trailing blanks, tabs or newlines")
    if tool:
        with tempfile.TemporaryDirectory(prefix="tomoprof-") as folder:
            shutil.copy(ROOT / ".clang-format", folder)
            (pathlib.Path(folder) / "sample.c").write_text("int f( void ){return 1;}\n")
            if not check_c(tool, [f"{folder}/sample.c"]):
                problems.append("the lint test does not see a badly formatted file")
    return problems


def main():
    tool = clang_format()
    problems = self_test(tool)
    for path in text_files():
        problems += check_text(str(path.relative_to(ROOT)), path.read_text())
    if tool:
        problems += check_c(tool, c_files(*TOPS, "tests"))
    code = report(problems)
    if not code and not tool:
        print(f"skipped: clang-format {VERSION} is not installed, so only blanks and newlines were checked")
        return 77
    return code


if __name__ == "__main__":
    sys.exit(main())
