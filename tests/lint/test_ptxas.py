"""The table of ptxas' work, cuda/ptxas.tsv: it has every kernel of cuda/, for architectures that the builds name. None spills, uses
more registers than its blocks have, or does in float64 what it need not; flushes ask for all that they read. Where this build
has the CUDA back end, its machine code agrees with the table."""

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
FEWER = {"grid_kernel": "(unsigned)(TILES*n->pairs)", "ramp_kernel": "threads"}  # that launch fewer threads than their bound
HOW = "made anew with the commands in docs/internals/cuda.md"
# Instructions in float64, conversions included, by the first pattern that fits. Parallel footprints have none; what is left in
# the gather is the sum of a warp at its end. Cones: the fan (half of it the arc tangent of curved detectors), and pixels beyond
# the window, which are worked out one by one.
FP64 = [(r"tile_kernel|spread_kernel<.*straight_back", 0), (r"gather_kernel<.*straight", 30), (r"spread_kernel<.*fan_back", 150),
        (r"gather_kernel<.*fan_forward", 180), (r"voxel_kernel", 100)]
LOCAL = {"spectrum_kernel", "table_kernel", "axis_kernel", "views_kernel<0>"}  # tables made once: the sine of a large argument, and an axis, index
# an array; outliers: the samples of a window in order
# By architecture: bytes of stack that may be spilled, loads in flight for each row of a flush, stall cycles per instruction of a hot
# loop in projections (what waits for itself cannot be hidden by one warp). ptxas 13.0 does worse for Blackwell, known and to be
# brought down.
LIMITS = {"sm_100": (16, 1.4, 4.7), "sm_120": (24, 1.4, 6)}
OTHERS = (0, 2, 4.7)


def sources():
    return "\n".join(strip(p.read_text()) for p in sorted((ROOT / "cuda").rglob("*.cu*")))


def kernels_of(text):
    return set(re.findall(r"__global__\s+void\s+(?:__launch_bounds__\([^()]*\)\s+)?(\w+)\s*\(", text))


def check_bounds(text):
    return [f"{name}: a kernel without __launch_bounds__" for name in
            re.findall(r"__global__\s+void\s+(?!__launch_bounds__)(\w+)\s*\(", text)]


def arguments(text):
    """The arguments of a call, from behind its bracket, without blanks."""
    depth, found = 0, [""]
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if depth < 0:
            break
        if c == "," and depth == 0:
            found.append("")
        elif not c.isspace():
            found[-1] += c
    return found


def check_launches(text):
    """A launch of more threads than the kernel's bound fails on a GPU alone. Kernels that are launched by a pointer are not seen."""
    bounds = {name: re.sub(r"\s", "", most) for most, name in re.findall(r"__launch_bounds__\(([^(),]*)[^()]*\)\s+(\w+)\s*\(", text)}
    calls = [arguments(text[found.end():found.end() + 1000]) for found in re.finditer(r"\bLAUNCH\(", text)]
    return [f"{name}: launched with {threads} threads, its bound is {bounds[name]}"
            for name, threads in ((re.sub("<.*", "", call[1]), call[3]) for call in calls if len(call) > 4)
            if name in bounds and threads not in (bounds[name], FEWER.get(name))]


def asked_architectures():
    text = (ROOT / "cuda" / "CMakeLists.txt").read_text()
    return ["sm_" + n for n in re.search(r'set\(TP_CUDA_ARCH "([\d;]+)"', text)[1].split(";")]


def check_names(architectures, table, kernels, asked):
    named = {re.sub("<.*", "", name) for name in table}
    problems = [f"{name}: missing in cuda/ptxas.tsv, which is {HOW}" for name in sorted(kernels - named)]
    problems += [f"{name}: in cuda/ptxas.tsv, which is {HOW}, but in no source" for name in sorted(named - kernels)]
    if not architectures or set(architectures) - set(asked):
        problems.append(f"cuda/ptxas.tsv is of {architectures}, cuda/CMakeLists.txt builds {asked}")
    return problems


def check_row(name, row, arch=""):
    """Rules that hold for every architecture and toolkit."""
    problems = []
    stack, loads, stalls = LIMITS.get(arch, OTHERS)
    spills = row["stack"] or row["local"]
    if spills and name not in LOCAL and not (arch in LIMITS and row["stack"] <= stack):
        problems.append(f"{row['stack']} bytes of stack, {row['local']} loads and stores of local memory: ptxas spills")
    if row["registers"] > REGISTERS:
        problems.append(f"{row['registers']} registers, the cap is {REGISTERS}")
    most = next((n for pattern, n in FP64 if re.match(pattern, name)), None)
    if most is not None and row["fp64"] > most:
        problems.append(f"{row['fp64']} instructions in float64, the cap is {most}")
    projection = re.match(r"(gather_kernel|spread_kernel|tile_kernel)<(\d+), (\d+)", name)
    # A flush asks for the error and the weights of all its rows, or, where registers end, of most of them.
    if projection and projection[1] == "gather_kernel" and row["loads"] < loads * int(projection[3]):
        problems.append(f"a flush of {projection[3]} rows has {row['loads']} loads in flight, {loads} a row are asked for")
    if projection and row["stalls"] > stalls * row["instructions"]:
        problems.append(f"{row['stalls']} cycles for {row['instructions']} instructions of its hot loop, the cap is {stalls} each")
    return problems


def check_table(table):
    return [f"{name}, {arch}: {problem}" for name, row in table.items() for arch, numbers in row.items()
            for problem in check_row(name, dict(zip(ptxas.COLUMNS, numbers)), arch)]


def check_object(found, table):
    problems = [f"{name}: in the object, but not in cuda/ptxas.tsv" for name in sorted(set(found) - set(table))]
    for name in sorted(set(found) & set(table)):
        for arch, numbers in found[name].items():
            for what, n, expected in zip(ptxas.COLUMNS, numbers, table[name].get(arch, numbers)):
                if n != expected:
                    problems.append(f"{name}, {arch}: {n} {what}, in cuda/ptxas.tsv, which is {HOW}, {expected}")
    return problems


def of_build(major):
    """(the object of this build, cuobjdump, the version of nvcc) or a reason."""
    folder = pathlib.Path(os.environ.get("TOMOPROF", "nowhere/tomoprof")).parent
    library = folder / f"libtomoprof_cuda{major}.so"
    if not library.exists():
        return f"this build has no back end of CUDA {major}"
    found = re.search(rf"^TP_CUDA{major}_NVCC:INTERNAL=(.+)$", (folder / "CMakeCache.txt").read_text(), re.M)
    nvcc = pathlib.Path(found[1]) if found else pathlib.Path("nvcc")
    tool = nvcc.parent / "cuobjdump"
    if not nvcc.exists() or not tool.exists():
        return f"{nvcc} or {tool} is missing"
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True, timeout=300).stdout
    return library, tool, re.search(r"release [\d.]+", version)[0]


def check_builds(table):
    problems = []
    for major in (13, 12):
        build = of_build(major)
        if isinstance(build, str):
            print(f"machine code of CUDA {major} is not compared: {build}")
            continue
        library, tool, release = build
        if release == RELEASE:
            found = ptxas.read_object(str(tool), str(library))
            problems += check_object(found, table)
            what = "compared with the table"
        else:  # another nvcc: the rules that hold for all
            used = ptxas.read_usage(ptxas.sass.dump(str(tool), "--dump-resource-usage", str(library)))
            found = {name: row for kernels in used.values() for name, row in kernels.items()}
            problems += [f"{name}, {arch}, {release}: {registers} registers, {stack} bytes of stack" for arch, kernels in used.items()
                         for name, (registers, stack) in zip(ptxas.plain_names(kernels), kernels.values())
                         if registers > REGISTERS or (stack and name not in LOCAL)]
            what = "held against registers and stack"
        print(f"{len(found)} kernels of {library.name}, {release}, {what}")
    return problems


# A load, one more that sets the same scoreboard, a sum that waits for it, and back; then one that spills.
CODE = """
\tcode for sm_90
\t\tFunction : _Z1av
        /*0000*/                   LDG.E R1, [R2.64] ;          /* 0x0000000000000000 */
                                                                /* 0x000ea20000000000 */
        /*0010*/                   @P0 LDG.E R3, [R2.64+0x80] ; /* 0x0000000000000000 */
                                                                /* 0x000ea40000000000 */
        /*0020*/                   FFMA R4, R1, R3, R4 ;        /* 0x0000000000000000 */
                                                                /* 0x004fca0000000000 */
        /*0030*/                   @P1 BRA 0x0 ;                /* 0x0000000000000000 */
                                                                /* 0x000fea0000000000 */
        /*0040*/                   DADD R4, R4, R6 ;            /* 0x0000000000000000 */
                                                                /* 0x000fe40000000000 */
        /*0050*/                   STL [R1], R4 ;               /* 0x0000000000000000 */
                                                                /* 0x000fe20000000000 */
"""
USAGE = "arch = sm_90\n Function _Z1av:\n  REG:33 STACK:8 SHARED:0 LOCAL:0\narch = sm_75\n Function _Z1av:\n  REG:32 STACK:0 SHARED:0 LOCAL:0\n"


def check_itself():
    """Each rule sees its violation."""
    row = dict(zip(ptxas.COLUMNS, (40, 0, 0, 0, 18, 100, 300, 9)))
    straight = "spread_kernel<2, 8, straight_back<2, 8> >"
    problems = []
    for name, changed in (("a", {"stack": 8}), ("a", {"local": 1}), ("a", {"registers": 129}), (straight, {"fp64": 1}),
                          ("gather_kernel<2, 9, straight<2, 9> >", {"loads": 17}), (straight, {"stalls": 471})):
        if check_row(name, row) or len(check_row(name, {**row, **changed})) != 1:
            problems.append(f"the check overlooks {changed} of {name}")
    numbers = list(row.values())
    for found in ({"a": {"sm_90": [41] + numbers[1:]}}, {"b": {"sm_90": numbers}}):
        if len(check_object(found, {"a": {"sm_90": numbers}})) != 1:
            problems.append(f"the check overlooks {found}")
    for arguments in ((["sm_90"], {"a": row}, {"a", "b"}, ["sm_90"]), (["sm_90"], {"a<1>": row, "c": row}, {"a"}, ["sm_90"]),
                      (["sm_90"], {"a": row}, {"a"}, ["sm_75", "sm_120"])):
        if len(check_names(*arguments)) != 1:
            problems.append(f"the check overlooks a fault of {arguments}")
    if len(check_bounds("__global__ void a(int)")) != 1 or check_bounds("__global__ void\n    __launch_bounds__(3 * A) a(int)"):
        problems.append("the check misjudges launch bounds")
    kernel = "__global__ void __launch_bounds__(A, 4) a(int)"
    if len(check_launches(kernel + "LAUNCH(be, a<1>, n, B, 0, f(x, y));")) != 1 or check_launches(kernel + "LAUNCH(be, a, f(x, y), A, 0, x);"):
        problems.append("the check misjudges launches")
    used = ptxas.read_usage(USAGE)
    if used != {"sm_90": {"_Z1av": (33, 8)}, "sm_75": {"_Z1av": (32, 0)}}:
        problems.append(f"usage is misread: {used}")
    read = ptxas.row_of(ptxas.functions(CODE)["sm_90"]["_Z1av"], 33, 8)
    if read != [33, 8, 1, 1, 2, 4, 1 + 2 + 5 + 5, 1]:
        problems.append(f"code is misread: {read}")
    return problems


def main():
    architectures, table = ptxas.read_table((ROOT / "cuda" / "ptxas.tsv").read_text())
    text = sources()
    problems = check_itself() + check_bounds(text) + check_launches(text) + check_names(architectures, table, kernels_of(text), asked_architectures())
    return report(problems + check_table(table) + check_builds(table))


if __name__ == "__main__":
    sys.exit(main())
