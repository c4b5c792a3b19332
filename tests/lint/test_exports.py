"""The symbols of libtomoprof are those of exports.txt, each a function of tomoprof.h; `--write` puts them there."""

import os
import pathlib
import re
import subprocess
import sys

from sources import ROOT, report, strip

LIST = pathlib.Path(__file__).with_name("exports.txt")
HEADER = ROOT / "include/tomoprof.h"


def exported(library):
    """{symbol: version} of the functions and variables that the library gives."""
    done = subprocess.run(["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"})
    rows = re.findall(r"^[0-9a-f]+ ([A-Z]) ([^@\s]+)(?:@@?(\S+))?$", done.stdout, re.M)
    return {name: version for kind, name, version in rows if kind != "A"}


def declared(header):
    return set(re.findall(r"^TOMOPROF_API\b[^;(]*?\b(tomoprof_\w+)\(", strip(header), re.M))


def check(symbols, listed, functions):
    problems = [f"{name}: exported, but not in exports.txt" for name in sorted(set(symbols) - listed)]
    problems += [f"{name}: in exports.txt, but not exported: programs that use it stop working" for name in sorted(listed - set(symbols))]
    problems += [f"{name}: exported, but not declared in tomoprof.h" for name in sorted(set(symbols) - functions)]
    problems += [f"{name}: declared in tomoprof.h, but not exported" for name in sorted(functions - set(symbols))]
    return problems + [f"{name}: has the version {version}, not TOMOPROF_0" for name, version in sorted(symbols.items()) if version != "TOMOPROF_0"]


def main():
    library = pathlib.Path(os.environ["TOMOPROF"]).parent / "libtomoprof.so"
    symbols, functions = exported(library), declared(HEADER.read_text())
    planted = check({"tomoprof_a": "TOMOPROF_0", "err_set": ""}, {"tomoprof_a", "tomoprof_b"}, {"tomoprof_a", "tomoprof_c"})
    if len(planted) != 5 or len(functions) < 30:
        return report([f"the test itself is broken: {planted}, {len(functions)} functions"])
    if "--write" in sys.argv:
        LIST.write_text("".join(f"{name}\n" for name in sorted(symbols)))
    module = exported(library.with_name("libtomoprof_files.so"))  # what reads files has one, for libtomoprof alone
    problems = [] if module == {"tomoprof_files": ""} else [f"libtomoprof_files.so exports {sorted(module)}; expected tomoprof_files"]
    return report(problems + check(symbols, set(LIST.read_text().split()), functions))


if __name__ == "__main__":
    sys.exit(main())
