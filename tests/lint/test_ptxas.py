"""The table of ptxas: it has every kernel of cuda/, none spills registers, and where this build has the CUDA back end, its
machine code agrees with the table."""

import os
import pathlib
import re
import subprocess
import sys

from sources import ROOT, report, strip

sys.path.insert(0, str(ROOT / "cuda"))
import ptxas  # noqa: E402

REGISTERS = 128  # more, and fewer than 4 blocks of 4 warps fit
RELEASE = "release 13.0"  # of the nvcc that made the table: another one may give other figures
HOW = "made anew with the commands in docs/internals/cuda.md"


def sources():
    return "\n".join(strip(p.read_text()) for p in sorted((ROOT / "cuda").rglob("*.cu*")))


def kernels_of(text):
    return set(re.findall(r"__global__\s+void\s+(?:__launch_bounds__\([^()]*\)\s+)?(\w+)\s*\(", text))


def check_bounds(text):
    return [f"{name}: a kernel without __launch_bounds__" for name in
            re.findall(r"__global__\s+void\s+(?!__launch_bounds__)(\w+)\s*\(", text)]


def check_table(table, kernels):
    named = {re.sub("<.*", "", name) for name in table}
    problems = [f"{name}: missing in cuda/ptxas.tsv, which is {HOW}" for name in sorted(kernels - named)]
    problems += [f"{name}: in cuda/ptxas.tsv, which is {HOW}, but in no source" for name in sorted(named - kernels)]
    for name, row in table.items():
        if row["spill_stores"] or row["spill_loads"]:
            problems.append(f"{name}: spills {row['spill_stores']} and {row['spill_loads']} bytes")
        if row["registers"] > REGISTERS:
            problems.append(f"{name}: {row['registers']} registers, the cap is {REGISTERS}")
    return problems


def read_usage(text):
    found = re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)", text)
    names = ptxas.plain([f[0] for f in found])
    return {name: {"registers": int(f[1]), "stack": int(f[2])} for name, f in zip(names, found)}


def check_usage(usage, table):
    """What the object says; its shared memory includes 1 KiB of the system, and is not compared."""
    problems = [f"{name}: in the object, but not in cuda/ptxas.tsv" for name in sorted(set(usage) - set(table))]
    for name in sorted(set(usage) & set(table)):
        for what, n in usage[name].items():
            if n != table[name][what]:
                problems.append(f"{name}: {n} {what}, in cuda/ptxas.tsv, which is {HOW}, {table[name][what]}")
    return problems


def usage_of_build(architecture):
    """(usage, "") or (None, why not)"""
    folder = pathlib.Path(os.environ.get("TOMOPROF", "nowhere/tomoprof")).parent
    library = folder / "libtomoprof_cuda13.so"
    if not library.exists():
        return None, "this build has no back end of CUDA 13"
    found = re.search(r"^TP_CUDA13_NVCC:INTERNAL=(.+)$", (folder / "CMakeCache.txt").read_text(), re.M)
    nvcc = pathlib.Path(found[1]) if found else pathlib.Path("nvcc")
    tool = nvcc.parent / "cuobjdump"
    if not nvcc.exists() or not tool.exists():
        return None, f"{nvcc} or {tool} is missing"
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True, timeout=300).stdout
    if RELEASE not in version:
        return None, f"nvcc is not of {RELEASE}"
    done = subprocess.run([tool, "-arch", architecture, "--dump-resource-usage", library], capture_output=True, text=True, timeout=300)
    usage = read_usage(done.stdout)
    return (usage, "") if usage else (None, f"the object has no code for {architecture}")


def check_itself():
    """Each rule sees its violation."""
    row = dict(zip(ptxas.COLUMNS[1:], (40, 0, 0, 0, 0)))
    problems = []
    for table, kernels in (({"a": row}, {"a", "b"}), ({"a": row, "c": row}, {"a"}), ({"a": dict(row, spill_loads=8)}, {"a"}),
                           ({"a<1>": dict(row, registers=129)}, {"a"})):
        if len(check_table(table, kernels)) != 1:
            problems.append(f"the check overlooks a fault of {table}")
    if check_table({"a<2, x<2> >": row}, {"a"}) or check_usage({"a": {"registers": 40, "stack": 0}}, {"a": row}):
        problems.append("the check finds faults where none are")
    for usage in ({"a": {"registers": 41, "stack": 0}}, {"b": {"registers": 40, "stack": 0}}):
        if len(check_usage(usage, {"a": row})) != 1:
            problems.append(f"the check overlooks {usage}")
    if len(check_bounds("__global__ void a(int)")) != 1 or check_bounds("__global__ void\n    __launch_bounds__(3 * A) a(int)"):
        problems.append("the check misjudges launch bounds")
    log = ("ptxas info : Compiling entry function '_Z1av' for 'sm_90'\nptxas info : Function properties for _Z1av\n"
           " 8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\nptxas info : Used 33 registers, 16 bytes smem\n")
    if ptxas.read_log(log) != ("sm_90", [["a", 33, 8, 4, 12, 16]]):
        problems.append(f"a log is misread: {ptxas.read_log(log)}")
    return problems


def main():
    architecture, table = ptxas.read_table((ROOT / "cuda" / "ptxas.tsv").read_text())
    problems = check_itself() + check_bounds(sources()) + check_table(table, kernels_of(sources()))
    usage, why = usage_of_build(architecture)
    if usage is None:
        print(f"machine code is not compared: {why}")
    else:
        print(f"{len(usage)} kernels of {architecture} compared")
        problems += check_usage(usage, table)
    return report(problems)


if __name__ == "__main__":
    sys.exit(main())
