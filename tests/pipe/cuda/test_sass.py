"""cuda/sass.py on machine code whose loop is known: what one turn executes, with and without a way around a part of it."""

import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main

SASS = pathlib.Path(__file__).resolve().parents[3] / "cuda/sass.py"
# A turn: 2 loads and 2 multiply-adds, then either 0x50 (taken by few) or past it, a counter, back to 0x10.
CODE = ["S2R R0, SR_TID.X", "LDG.E R1, [R2.64]", "LDG.E R3, [R2.64+0x80]", "FFMA R4, R1, R5, R4", "@P0 BRA 0x70",
        "MUFU.RSQ R6, R4", "FFMA R4, R6, R6, R4", "FFMA R4, R3, R5, R4", "IADD3 R7, R7, -0x1, RZ",
        "ISETP.NE.AND P1, PT, R7, RZ, PT", "@P1 BRA 0x10", "STG.E [R2.64], R4", "EXIT"]


def pretend(folder):
    """A cuobjdump that knows one object."""
    rows = "\n".join(f"        /*{16 * i:04x}*/                   {text} ;" for i, text in enumerate(CODE))
    answers = {"-sass": f"\t\tFunction : turn_kernel\n{rows}\n", "--dump-resource-usage": " Function turn_kernel:\n  REG:8 STACK:0\n",
               "--list-elf": "ELF file    1: object.sm_90.cubin\n"}
    tool = folder / "cuobjdump"
    tool.write_text(f"#!{sys.executable}\nimport sys\nprint({answers!r}[sys.argv[1]])\n")
    tool.chmod(0o755)
    return tool


def sass(*words):
    return subprocess.run([sys.executable, SASS, *map(str, words)], text=True, capture_output=True, timeout=300)


def a_walk_is_the_shortest_that_does_so_much(check, folder):
    tool = pretend(folder)
    for wanted, count, part in (("LDG=2 FFMA=2", 8, "2 loads, 2 branches, 2 integer"),
                                ("LDG=2 FFMA=3 MUFU.RSQ=1", 10, "1 special, 2 loads")):
        done = sass("--walk", wanted, "object", tool, "turn")
        check.that(done.returncode == 0 and f"turn_kernel: {count} instructions:" in done.stdout, f"{wanted}: {done}")
        check.that(part in done.stdout, f"{wanted}: {done.stdout}")
    done = sass("--walk", "LDG=3 FFMA=2", "object", tool, "turn")
    check.that("turn_kernel: no such way" in done.stdout, f"{done}")


def the_busiest_loop_is_told(check, folder):
    done = sass("--json", "object", pretend(folder))
    check.that(done.returncode == 0, f"{done}")
    said = json.loads(done.stdout)
    check.that(said["arch"] == "sm_90" and [k["registers"] for k in said["kernels"]] == [8], f"{said}")
    loop = said["kernels"][0]["loop"]
    wanted = {"float32": 3, "special": 1, "loads": 2, "branches": 2, "integer": 2, "flops": 6, "stores": 0}
    check.that({k: loop[k] for k in wanted} == wanted, f"{loop}")


if not shutil.which("c++filt"):
    print("skipped: c++filt (binutils) is missing")
    sys.exit(77)
main(a_walk_is_the_shortest_that_does_so_much, the_busiest_loop_is_told)
